# Vectors that grow and shrink: push!, pop!, append!, resize!, insert!, deleteat! and their kind are all splices.

"""`count` elements from `at` on make way for `values`; after a swap the two have changed places."""
mutable struct Splice{T}
    at::Int
    count::Int
    values::Vector{T}
    epoch::Int
end

function swap!(change::Splice, r::Root)
    taken = exchange!(r.data, change.at, change.count, change.values)
    change.count, change.values = length(change.values), taken
    change.epoch, r.epoch = r.epoch, change.epoch
    return nothing
end
undo!(change::Splice, r::Root) = swap!(change, r)
redo!(change::Splice, r::Root) = swap!(change, r)

"""Put `new` in place of `count` elements of `x` from `at` on, which are returned."""
function exchange!(x::Vector, at::Int, count::Int, new)
    at + count == length(x) + 1 || return splice!(x, at:at+count-1, new)
    taken = x[at:end]
    resize!(x, at - 1)
    append!(x, new)
    return taken
end

"""The vector that `b` is, which can change its length; a view or reshape cannot."""
growable(b::Buffer{<:Any,1}, what) = value(b) === b.r.data ? b.r.data : throw(MutationError(
    "$what resizes a vector, and this Buffer is a view or a reshape; resize the Buffer that it is a view of"))
growable(b::Buffer, what) = throw(MutationError("$what needs a vector, not a $(describe(b))"))

"""Splice without a log. Returns the removed values."""
function untracked_splice!(b::Buffer, at::Int, count::Int, new, what)
    taken = exchange!(growable(b, what), at, count, new)
    b.r.epoch = b.r.epochs += 1
    untracked!(b)
    return taken
end

"""
    record_splice!(cx, b, at, count, new, what) -> (removed values, back)

One entry of the log. `back(ct)`, with the cotangent of the removed values, undoes it and returns that of `new`.
"""
function record_splice!(cx, b::Buffer{T}, at::Int, count::Int, new, what) where {T}
    poll()
    r = b.r
    data = growable(b, what)
    checkbounds(data, at:at+count-1)
    1 <= at <= length(data) + 1 || throw(BoundsError(data, at))
    touch!(cx, r)
    drop_redo!(r)
    change = Splice{T}(at, count, collect(T, new), r.epochs += 1)
    swap!(change, r)
    removed = copy(change.values)
    position, version = note!(cx, r, change)
    function back(ct)
        poll()
        check_entry(cx, r, position, version, what)
        of_new = splice_shadow!(r, change)
        undo!(r)
        ct === nothing || accumulate!(view(b, at:at+count-1), ct)
        return of_new
    end
    return removed, back
end

function splice_shadow!(r::Root{T,N,S}, change::Splice) where {T,N,S}
    r.shadow === nothing && return nothing
    return exchange!(r.shadow, change.at, change.count, fill!(Vector{S}(undef, length(change.values)), nought(S)))
end

# --- elements in

grown(b::Buffer{T}, xs) where {T} = T[incoming(b, x) for x in xs]

function Base.push!(b::Buffer, xs...)
    untracked_splice!(b, length(b) + 1, 0, grown(b, xs), "push!")
    return b
end
function Base.pushfirst!(b::Buffer, xs...)
    untracked_splice!(b, 1, 0, grown(b, xs), "pushfirst!")
    return b
end
function Base.insert!(b::Buffer, i::Integer, x)
    untracked_splice!(b, Int(i), 0, grown(b, (x,)), "insert!")
    return b
end
Base.append!(b::Buffer, xs) = (untracked_splice!(b, length(b) + 1, 0, grown(b, xs), "append!"); b)
Base.prepend!(b::Buffer, xs) = (untracked_splice!(b, 1, 0, grown(b, xs), "prepend!"); b)
Base.append!(b::Buffer, xs, more...) = append!(append!(b, xs), more...)
Base.prepend!(b::Buffer, xs, more...) = prepend!(prepend!(b, more...), xs)

for (f, at) in ((:push!, :(length(b) + 1)), (:pushfirst!, 1))
    @eval function ZygoteRules._pullback(cx::AContext, ::typeof($f), b::Buffer, xs...)
        _, back = record_splice!(cx, b, $at, 0, grown(b, xs), $(string(f)))
        grow_pullback(_) = (nothing, nothing, element_cotangents(xs, back(nothing))...)
        return b, grow_pullback
    end
end

element_cotangents(xs::Tuple, ::Nothing) = map(_ -> nothing, xs)
element_cotangents(xs::Tuple, ct) = ntuple(i -> projected(projection(xs[i]), ct[i]), length(xs))

function ZygoteRules._pullback(cx::AContext, ::typeof(insert!), b::Buffer, i::Integer, x)
    _, back = record_splice!(cx, b, Int(i), 0, grown(b, (x,)), "insert!")
    insert_pullback(_) = (nothing, nothing, nothing, element_cotangents((x,), back(nothing))...)
    return b, insert_pullback
end

for (f, at) in ((:append!, :(length(b) + 1)), (:prepend!, 1))
    @eval function ZygoteRules._pullback(cx::AContext, ::typeof($f), b::Buffer, xs)
        new, of_source = copy_source(cx, xs)
        _, back = record_splice!(cx, b, $at, 0, grown(b, new), $(string(f)))
        append_pullback(_) = (nothing, nothing, of_source(back(nothing)))
        return b, append_pullback
    end
end

# --- elements out

Base.pop!(b::Buffer) = only(untracked_splice!(b, nonempty(b, "pop!"), 1, (), "pop!"))
Base.popfirst!(b::Buffer) = (nonempty(b, "popfirst!"); only(untracked_splice!(b, 1, 1, (), "popfirst!")))
Base.popat!(b::Buffer, i::Integer) = (checkbounds(value(b), i); only(untracked_splice!(b, Int(i), 1, (), "popat!")))

nonempty(b::Buffer, what) = isempty(b) ? throw(ArgumentError("$what: the Buffer must be non-empty")) : length(b)

for (f, at) in ((:pop!, :(nonempty(b, "pop!"))), (:popfirst!, :(nonempty(b, "popfirst!"); 1)))
    @eval function ZygoteRules._pullback(cx::AContext, ::typeof($f), b::Buffer)
        removed, back = record_splice!(cx, b, $at, 1, (), $(string(f)))
        pop_pullback(ct) = (back(one_element(ct)); nothing)
        return only(removed), pop_pullback
    end
end

function ZygoteRules._pullback(cx::AContext, ::typeof(popat!), b::Buffer, i::Integer)
    removed, back = record_splice!(cx, b, Int(i), 1, (), "popat!")
    pop_pullback(ct) = (back(one_element(ct)); nothing)
    return only(removed), pop_pullback
end

one_element(::Union{Nothing,AbstractZero}) = nothing
one_element(ct) = [unthunk(ct)]

Base.empty!(b::Buffer) = (untracked_splice!(b, 1, length(b), (), "empty!"); b)
Base.sizehint!(b::Buffer, n::Integer) = (sizehint!(growable(b, "sizehint!"), n); b)

function Base.resize!(b::Buffer, n::Integer)
    at, count, new = resizing(b, Int(n))
    untracked_splice!(b, at, count, new, "resize!")
    return b
end

"""The splice that gives `b` length `n`; new numbers are zero."""
function resizing(b::Buffer{T}, n::Int) where {T}
    n >= 0 || throw(ArgumentError("resize!: the new length must be ≥ 0, got $n"))
    m = length(b)
    n <= m && return n + 1, m - n, T[]
    return m + 1, 0, T <: Number ? zeros(T, n - m) : Vector{T}(undef, n - m)
end

function ZygoteRules._pullback(cx::AContext, ::typeof(resize!), b::Buffer, n::Integer)
    at, count, new = resizing(b, Int(n))
    _, back = record_splice!(cx, b, at, count, new, "resize!")
    resize_pullback(_) = (back(nothing); nothing)
    return b, resize_pullback
end

function ZygoteRules._pullback(cx::AContext, ::typeof(empty!), b::Buffer)
    _, back = record_splice!(cx, b, 1, length(b), (), "empty!")
    empty_pullback(_) = (back(nothing); nothing)
    return b, empty_pullback
end

# Scattered elements leave one run at a time, from the last to the first.
function Base.deleteat!(b::Buffer, i)
    foreach(run -> untracked_splice!(b, first(run), length(run), (), "deleteat!"), runs_from_last(b, i))
    return b
end

function ZygoteRules._pullback(cx::AContext, ::typeof(deleteat!), b::Buffer, i)
    backs = map(run -> record_splice!(cx, b, first(run), length(run), (), "deleteat!")[2], runs_from_last(b, i))
    deleteat_pullback(_) = (foreach(back -> back(nothing), Iterators.reverse(backs)); nothing)
    return b, deleteat_pullback
end

function runs_from_last(b::Buffer, i)
    indices = collect(Int, only(to_indices(growable(b, "deleteat!"), (i isa Integer ? [i] : i,))))
    checkbounds(value(b), indices)
    issorted(indices; lt = <=) || throw(ArgumentError("deleteat!: indices must be unique and sorted"))
    runs = UnitRange{Int}[]
    for k in Iterators.reverse(indices)
        !isempty(runs) && first(runs[end]) == k + 1 ? (runs[end] = k:last(runs[end])) : push!(runs, k:k)
    end
    return runs
end

function Base.splice!(b::Buffer, i::Union{Integer,AbstractUnitRange{<:Integer}}, new = ())
    taken = untracked_splice!(b, Int(first(i)), length(i), grown(b, new), "splice!")
    return i isa Integer ? only(taken) : taken
end

function ZygoteRules._pullback(cx::AContext, ::typeof(splice!), b::Buffer, i::Union{Integer,AbstractUnitRange{<:Integer}}, new...)
    values, of_source = isempty(new) ? ((), _ -> nothing) : copy_source(cx, only(new))
    removed, back = record_splice!(cx, b, Int(first(i)), length(i), grown(b, values), "splice!")
    function splice_pullback(ct)
        of_new = of_source(back(i isa Integer ? one_element(ct) : ct))
        return isempty(new) ? nothing : (nothing, nothing, nothing, of_new)
    end
    return i isa Integer ? only(removed) : removed, splice_pullback
end
