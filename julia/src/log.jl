# The rewind: every write saves what it overwrites; backward, the log is undone from its end.

"""One write to the region of a Buffer: where the log stood after it."""
struct Entry{B<:Buffer}
    buffer::B
    position::Int
    version::Int
    what::String
end

"""
    record!(cx, b::Buffer, run!, what::String) -> Entry

Save the values of `b`'s region, call `run!()`, which writes `value(b)`, and advance the log.
"""
function record!(cx, b::Buffer, run!, what::String)
    poll()
    r, a = b.r, value(b)
    touch!(cx, r)
    drop_redo!(r)
    save!(r, a)
    try
        run!()
    catch
        restore!(r, a)
        rethrow()
    end
    position, version = note!(cx, r, Overwrite(a))
    return Entry(b, position, version, what)
end

"""Append a change that was made, or a write at a linear index, to the log: its positions in `cx` and in the root."""
@inline function note!(cx, r::Root, change)
    push!(r.changes, change)
    r.changed += 1
    return note!(cx, r, 0)
end
@inline function note!(cx, r::Root, place::Int)
    push!(r.places, place)
    r.applied += 1
    r.version += 1
    return advance!(cx), r.version
end

"""
    rewind!(cx, entry::Entry) -> cotangent

Check that the log ends at `entry`; take the cotangent of its region from the shadow (an `Array` of the region's
shape, or `nothing` if no gradient has arrived), zero that part of the shadow, put the old values back.
"""
function rewind!(cx, entry::Entry)
    poll()
    b = entry.buffer
    check_entry(cx, b.r, entry.position, entry.version, entry.what)
    ct = take_cotangent!(b)
    undo!(b.r)
    return ct
end

"""Check that the log of `cx` and of the root end at an entry, and step the position of `cx` back."""
@inline function check_entry(cx, r::Root, position::Int, version::Int, what)
    check_owner(cx, r, what)
    r.version == version || changed_behind(what, r.version - version)
    retreat!(cx, position, what)
    return nothing
end

check_owner(cx, r, what) = nothing
@inline check_owner(cx::Context, r::Root, what) = r.owner === cx ? nothing : taken_over(what)
@noinline taken_over(what) = throw(LostGradient("$what: the Buffer was used in another differentiation since. \
    Call the pullback before that, or give each differentiation a Buffer of its own."))

"""
    accumulate!(b::Buffer, ct)

Add the cotangent `ct` (an array of `b`'s shape; `nothing`, zeros and thunks are allowed) to the shadow of `b`.
"""
accumulate!(b::Buffer, ::Union{Nothing,AbstractZero}) = nothing
accumulate!(b::Buffer, ct::AbstractThunk) = accumulate!(b, unthunk(ct))
accumulate!(b::Buffer, ct) = (add!(shadow(b), ct); nothing)

"""The version of the memory behind `b`, which a read's pullback checks by [`check_version`](@ref)."""
@inline read_version(b::Buffer) = b.r.version

"""Throw `LostGradient` unless the memory behind `b` is what it was at version `v`."""
@inline check_version(b::Buffer, v::Int, what) = b.r.version == v ? nothing : changed_behind(what, b.r.version - v)

@noinline changed_behind(what, n) = throw(LostGradient("$what: its Buffer holds $(abs(n)) \
    write$(abs(n) == 1 ? "" : "s") $(n > 0 ? "more" : "less") than when this ran forward. Either the pullbacks of writes \
    were skipped (catch blocks, predicates), or the Buffer was written where nothing is differentiated."))

# Changes of memory: each kind has `undo!(change, root)` and `redo!(change, root)`, which swap old and new.

"""The values of a region were overwritten; the old ones lie on the root's stack."""
struct Overwrite{A<:AbstractArray}
    region::A
end

undo!(change::Overwrite, r::Root) = (swap_down!(r, change.region); nothing)
redo!(change::Overwrite, r::Root) = (swap_up!(r, change.region); nothing)

"""Undo the last write of the root that is in effect."""
@inline function undo!(r::Root)
    i = r.places[r.applied]
    if i == 0
        undo!(r.changes[r.changed], r)
        r.changed -= 1
    else
        r.data[i], r.saved[r.top] = r.saved[r.top], r.data[i]
        r.top -= 1
    end
    r.applied -= 1
    r.version -= 1
    return nothing
end

"""Redo the first write of the root that was undone."""
function redo!(r::Root)
    i = r.places[r.applied += 1]
    if i == 0
        redo!(r.changes[r.changed += 1], r)
    else
        r.top += 1
        r.data[i], r.saved[r.top] = r.saved[r.top], r.data[i]
    end
    r.version += 1
    return nothing
end

"""Forget the log of a root, as it stands."""
function forget!(r::Root)
    r.applied = r.changed = r.top = 0
    return drop_redo!(r)
end

"""Forget the writes that were undone: a new one takes their place."""
@inline function drop_redo!(r::Root)
    length(r.places) == r.applied && return nothing
    resize!(r.places, r.applied)
    resize!(r.changes, r.changed)
    return nothing
end

"""Push the values of the region `a` on the stack."""
function save!(r::Root, a::AbstractArray)
    k = r.top
    r.top = k + length(a)
    length(r.saved) < r.top && resize!(r.saved, r.top)
    saved = r.saved
    @inbounds for x in a
        saved[k += 1] = x
    end
    return nothing
end

"""Put the values on the top of the stack back, of a write that failed."""
function restore!(r::Root, a::AbstractArray)
    r.top -= length(a)
    copyto!(a, reshape(view(r.saved, r.top+1:r.top+length(a)), size(a)))
    return nothing
end

# An element that the region names twice was saved twice with one old value: undone from the first to the
# last and redone from the last to the first, its slots end as they were.
function swap_down!(r::Root, a::AbstractArray)
    k = r.top -= length(a)
    saved = r.saved
    @inbounds for i in eachindex(a)
        k += 1
        a[i], saved[k] = saved[k], a[i]
    end
end

function swap_up!(r::Root, a::AbstractArray)
    k = r.top += length(a)
    saved = r.saved
    @inbounds for i in Iterators.reverse(eachindex(a))
        a[i], saved[k] = saved[k], a[i]
        k -= 1
    end
end

"""Take the cotangent of `b`'s region out of the shadow; of an element named twice, the last name has it."""
function take_cotangent!(b::Buffer)
    b.r.shadow === nothing && return nothing
    s = shadow(b)
    distinct(b.a) || return take_last!(s)
    ct = copyto!(Array{eltype(s),ndims(s)}(undef, size(s)), s)
    fill!(s, nought(eltype(s)))
    return ct
end

function take_last!(s::AbstractArray)
    ct = Array{eltype(s),ndims(s)}(undef, size(s))
    for i in Iterators.reverse(eachindex(IndexCartesian(), s))
        ct[i], s[i] = s[i], nought(eltype(s))
    end
    return ct
end

"""Add `ct` to the part `s` of a shadow, element by element, so that an element named twice gets both."""
function add!(s::AbstractArray, ct::AbstractArray)
    length(s) == length(ct) || throw(DimensionMismatch("a cotangent of size $(size(ct)) for a region of size $(size(s))"))
    if axes(s) == axes(ct)
        @inbounds for i in eachindex(s, ct)
            s[i] = plus(s[i], ct[i])
        end
    else
        for (i, x) in zip(eachindex(s), ct)
            s[i] = plus(s[i], x)
        end
    end
    return s
end
add!(s::AbstractArray, ct::Tuple) = add!(s, reshape(collect(Any, ct), size(s)))
add!(s::AbstractArray, ct::Number) = length(s) == 1 ? (s[begin] = plus(s[begin], ct); s) :
    throw(DimensionMismatch("a scalar cotangent for a region of size $(size(s))"))
add!(s::AbstractArray, ct::Base.RefValue) = add!(s, ct[])
add!(s::AbstractArray, ct) = throw(MutationError("a cotangent of type $(typeof(ct)) arrived at a Buffer, \
    which takes arrays. Read the Buffer with copy(b) before the operation that gives it."))

# Sum of a shadow's element and a cotangent: in the type of the shadow, real where that is real.
@inline plus(s::Number, ct::Number) = convert(typeof(s), s + ct)
@inline plus(s::Real, ct::Complex) = plus(s, real(ct))
@inline plus(s::Number, ::Union{Nothing,AbstractZero}) = s
@inline plus(s::Number, ct::AbstractThunk) = plus(s, unthunk(ct))
@inline plus(s::AbstractFloat, ct::ForwardDiff.Dual) = not_widened(ct)
plus(s, ct) = Zygote.accum(s, Zygote.wrap_chainrules_output(unthunk(ct)))

@noinline not_widened(x) = throw(MutationError("a ForwardDiff.Dual meets a Buffer that holds plain numbers. \
    Create the Buffer inside the differentiated function, from MutationBridge.gradient on, or from an array of Duals."))
