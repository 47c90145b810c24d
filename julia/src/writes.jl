# Writes to a Buffer: outside of differentiation they advance the version, inside they are logged.

"""Note that the memory of `b` was written without a log entry: pullbacks that come later must not trust it."""
function untracked!(b::Buffer)
    b.r.version += 1
    b.r.untracked = UNTRACKED[] += 1
    return nothing
end

function Base.setindex!(b::Buffer, x, i...)
    setindex!(value(b), incoming(b, x), i...)
    untracked!(b)
    return b
end

function Base.fill!(b::Buffer, x)
    fill!(value(b), incoming(b, x))
    untracked!(b)
    return b
end

function Base.copyto!(b::Buffer, x)
    copyto!(value(b), incoming(b, x))
    untracked!(b)
    return b
end

function Base.copyto!(b::Buffer, start::Integer, x, rest::Integer...)
    copyto!(value(b), start, incoming(b, x), rest...)
    untracked!(b)
    return b
end

for T in (:Any, :(Base.Broadcast.Broadcasted{<:Any}))
    @eval function Base.materialize!(b::Buffer, x::$T)
        Base.materialize!(value(b), incoming(b, x))
        untracked!(b)
        return b
    end
end

"""What a write puts into `b`: the array behind a Buffer, anything else as it is; refused if `b` cannot hold it."""
@inline incoming(b::Buffer, x) = (check_holds(b, x); x)
@inline incoming(b::Buffer, x::Buffer) = incoming(b, value(x))

@inline check_holds(b::Buffer{T}, x) where {T} = has_dual(eltype(x)) && !holds_duals(T) ? not_widened(x) : nothing

has_dual(::Type{T}) where {T} = T <: Union{ForwardDiff.Dual,Complex{<:ForwardDiff.Dual}} && T !== Union{}
holds_duals(::Type{T}) where {T} = has_dual(T) || !isconcretetype(T) || !(T <: Number)

# --- one element

"""The pullback of a write of one element, whose index has `N` parts."""
struct ScalarWrite{N,C,R<:Root,P} <: Function
    context::C
    root::R
    index::Int
    position::Int
    version::Int
    project::P
end

ScalarWrite{N}(cx::C, r::R, index, position, version, project::P) where {N,C,R,P} =
    ScalarWrite{N,C,R,P}(cx, r, index, position, version, project)

@inline function ZygoteRules._pullback(cx::AContext, ::typeof(setindex!), b::Buffer, x, i::Vararg{ScalarIndex,N}) where {N}
    conjugates(b.a) && return write_region(cx, b, x, i)
    poll()
    r, a = b.r, value(b)
    index = scalar_index(b, i...)
    old = r.data[index]
    setindex!(a, incoming(b, x), i...)
    touch!(cx, r)
    drop_redo!(r)
    push_saved!(r, old)
    position, version = note!(cx, r, index)
    return b, ScalarWrite{N}(cx, r, index, position, version, projection(x))
end

@inline function (write::ScalarWrite{N})(_) where {N}
    poll()
    r = write.root
    check_entry(write.context, r, write.position, write.version, "setindex!")
    ct = take_cotangent!(r, write.index)
    undo!(r)
    return (nothing, nothing, projected(write.project, ct), ntuple(_ -> nothing, Val(N))...)
end

@inline function take_cotangent!(r::Root{T,N,S}, i::Int) where {T,N,S}
    s = r.shadow
    s === nothing && return nothing
    ct = s[i]
    s[i] = nought(S)
    return ct
end

@inline function push_saved!(r::Root, x)
    r.top += 1
    r.top <= length(r.saved) ? (r.saved[r.top] = x) : push!(r.saved, x)
    return nothing
end

"""How a cotangent is brought to the type of the number `x` that was written."""
projection(x::Number) = ProjectTo(x)
projection(x) = nothing
@inline projected(project::ProjectTo, ct) = Zygote.wrap_chainrules_output(project(ct))
@inline projected(::Nothing, ct) = ct
@inline projected(::ProjectTo, ::Nothing) = nothing
@inline projected(::Nothing, ::Nothing) = nothing

# --- regions

"""
    source(cx, x) -> (value, back)

What a write reads: `back(ct)` is the cotangent for `x`, where `ct` is that of the region, of as many elements.
"""
source(cx, x) = x, ct -> source_cotangent(x, ct)
function source(cx, b::Buffer)
    read = track_read(cx, b, "write from a Buffer")
    return value(b), ct -> read(ct)
end

source_cotangent(x, ct) = ct
source_cotangent(x, ::Nothing) = nothing
source_cotangent(x::Number, ct::Number) = projected(ProjectTo(x), ct)
source_cotangent(x::Tuple, ct::AbstractArray) = ntuple(i -> ct[i], length(x))
source_cotangent(x::AbstractArray, ct::AbstractArray) = reshape(ct, size(x))
source_cotangent(x::AbstractArray{<:Number}, ct::AbstractArray{<:Number}) = Zygote._project(x, reshape(ct, size(x)))

ZygoteRules._pullback(cx::AContext, ::typeof(setindex!), b::Buffer, x, i...) = write_region(cx, b, x, i)

function write_region(cx, b::Buffer, x, i::Tuple)
    new, back = source(cx, x)
    check_holds(b, new)
    entry = record!(cx, view(b, i...), () -> setindex!(value(b), new, i...), "setindex!")
    write_pullback(_) = (nothing, nothing, back(element_or_region(i, rewind!(cx, entry))), map(_ -> nothing, i)...)
    return b, write_pullback
end

element_or_region(i, ct) = ct
element_or_region(::Tuple{Vararg{ScalarIndex}}, ct::AbstractArray) = ct[]

function ZygoteRules._pullback(cx::AContext, ::typeof(fill!), b::Buffer, x)
    check_holds(b, x)
    entry = record!(cx, b, () -> fill!(value(b), x), "fill!")
    fill_pullback(_) = (nothing, nothing, fill_cotangent(x, rewind!(cx, entry)))
    return b, fill_pullback
end

fill_cotangent(x, ::Nothing) = nothing
fill_cotangent(x::Number, ct::AbstractArray) = projected(ProjectTo(x), sum(ct))
fill_cotangent(x, ct::AbstractArray) = reduce(Zygote.accum, ct; init = nothing)

# `b .= ...`: the right hand side is a broadcast like any other; then its value is written.
function ZygoteRules._pullback(cx::AContext, ::typeof(Base.materialize!), b::Buffer, x)
    y, back = right_hand_side(cx, x)
    check_holds(b, y)
    entry = record!(cx, b, () -> Base.materialize!(value(b), lazily(y)), ".=")
    assign_pullback(_) = (nothing, nothing, back(rewind!(cx, entry)))
    return b, assign_pullback
end

lazily(y) = Base.broadcasted(identity, y)

function right_hand_side(cx, x::Base.Broadcast.Broadcasted)
    y, back = ZygoteRules._pullback(cx, Base.materialize, x)
    return y, ct -> last_part(back(spread_cotangent(y, ct)))
end
right_hand_side(cx, x::Buffer) = source(cx, x)
right_hand_side(cx, x) = x, ct -> spread_cotangent(x, ct)

last_part(::Nothing) = nothing
last_part(cts::Tuple) = last(cts)

spread_cotangent(y, ::Nothing) = nothing
spread_cotangent(y, ct::AbstractArray) = Zygote.unbroadcast(y, ct)
spread_cotangent(y::Number, ct::AbstractArray) = projected(ProjectTo(y), sum(ct))
spread_cotangent(y::Tuple{Any}, ct::AbstractArray) = (sum(ct),)

# --- copyto!

function ZygoteRules._pullback(cx::AContext, ::typeof(copyto!), b::Buffer, x)
    new, back = copy_source(cx, x)
    check_holds(b, new)
    region = length(new) == length(b) ? b : view(b, 1:length(new))
    entry = record!(cx, region, () -> copyto!(value(b), new), "copyto!")
    copy_pullback(_) = (nothing, nothing, back(rewind!(cx, entry)))
    return b, copy_pullback
end

copy_source(cx, x) = source(cx, x)
function copy_source(cx, x::Base.Generator)
    y, back = ZygoteRules._pullback(cx, collect, x)
    return y, ct -> last_part(back(ct === nothing ? nothing : reshape(ct, size(y))))
end

function ZygoteRules._pullback(cx::AContext, ::typeof(copyto!), b::Buffer, start::Integer, x, rest::Integer...)
    first_read = isempty(rest) ? 1 : Int(rest[1])
    count = length(rest) == 2 ? Int(rest[2]) : length(x) - first_read + 1
    new, back = part_source(cx, x, first_read:first_read+count-1)
    check_holds(b, new)
    entry = record!(cx, view(b, start:start+count-1), () -> copyto!(value(b), start, new, rest...), "copyto!")
    copy_pullback(_) = (nothing, nothing, nothing, back(rewind!(cx, entry)), map(_ -> nothing, rest)...)
    return b, copy_pullback
end

function part_source(cx, b::Buffer, part)
    read = track_read(cx, view(b, part), "copyto!")
    return value(b), ct -> read(ct)
end
function part_source(cx, x, part)
    function back(ct)
        ct === nothing && return nothing
        whole = fill!(Vector{eltype(ct)}(undef, length(x)), nought(eltype(ct)))
        whole[part] = ct
        return source_cotangent(x, whole)
    end
    return x, back
end
