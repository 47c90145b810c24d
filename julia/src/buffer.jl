# Tracked arrays: a Root owns memory and its shadow, a Buffer is a view of a Root.

"""
    Root(data)

Memory that the log writes: `data`, its `shadow` (the reference gradient; `nothing` until the first
contribution), and what is needed to undo and redo every write. `version` counts the writes in effect, untracked
ones too, so that it names the content of the memory. The writes are kept in order in `places`: the linear
index of a scalar write, or 0 for a change of any other kind, which is in `changes`. Overwritten values
of regions and scalars lie on the stack `saved`; an undo swaps them with memory, so that a redo is a swap too.
"""
mutable struct Root{T,N,S}
    const data::Array{T,N}
    shadow::Union{Nothing,Array{S,N}}
    version::Int
    epoch::Int              # names the length of a resizable vector: views of another epoch are stale
    epochs::Int
    const saved::Vector{T}
    top::Int                # values of `saved` in effect
    const places::Vector{Int}
    applied::Int            # entries of `places` in effect
    const changes::Vector{Any}
    changed::Int            # entries of `changes` in effect
    owner::Any              # the Context that logs this root, or nothing
    guest::Bool             # born outside of its owner: its gradient is nobody's but an argument's
    untracked::Int          # when it was last written where nothing is differentiated, by the clock UNTRACKED

    Root(data::Array{T,N}) where {T,N} =
        new{T,N,shadow_type(T)}(data, nothing, 0, 0, 0, T[], 0, Int[], 0, Any[], 0, nothing, true, 0)
end

"""Element type of the shadow of an array of `T`: floating point for numbers, else anything or `nothing`."""
shadow_type(::Type) = Any
shadow_type(::Type{T}) where {T<:Number} = isconcretetype(T) ? float(T) : Any

"""
    Buffer(x::AbstractArray)
    Buffer{T}(undef, dims...)

A tracked, mutable copy of `x`. Inside [`gradient`](@ref) reads and writes of it are differentiated: writes
are logged and undone on the way back, so that every pullback sees memory as it was. The initial contents carry
gradient to `x`. A view, transpose or reshape of a Buffer is a Buffer on the same memory; `copy(b)`,
`b[:]` and `collect(b)` give an `Array`. A Buffer is not an `AbstractArray`.

Raises `ArgumentError` if the indices of `x` do not begin at one, and [`MutationError`](@ref) for `undef` elements that are no plain bits.

```jldoctest
julia> b = Buffer([1.0 2.0; 3.0 4.0]);

julia> b[:, 1] .= b[:, 2]; copy(b)
2×2 Matrix{Float64}:
 2.0  2.0
 4.0  4.0

julia> gradient(x -> (b = Buffer(x); b[:, 1] .= b[:, 2]; sum(copy(b))), [1.0 2.0; 3.0 4.0])
([0.0 2.0; 0.0 2.0],)
```
"""
struct Buffer{T,N,A<:AbstractArray{T,N},R<:Root}
    a::A
    r::R
    epoch::Int

    Buffer(a::A, r::R) where {T,N,A<:AbstractArray{T,N},R<:Root} = new{T,N,A,R}(a, r, r.epoch)
end

Buffer(x::AbstractArray{T}) where {T} = Buffer{T}(x)
Buffer(b::Buffer) = Buffer(copy(b))
Buffer{T}(x::AbstractArray) where {T} = wrap(contents_of(T, x))
Buffer{T}(::UndefInitializer, dims::Integer...) where {T} = wrap(Array{T}(undef, dims...))
Buffer{T}(::UndefInitializer, dims::Tuple{Vararg{Integer}}) where {T} = wrap(Array{T}(undef, dims))

"""The elements of `x`, whose indices begin at one, in a new `Array`."""
function contents_of(::Type{T}, x::AbstractArray) where {T}
    Base.require_one_based_indexing(x)
    return copyto!(Array{T,ndims(x)}(undef, size(x)), x)
end

"""
    wrap(x::Array)

A Buffer whose memory is `x` itself, not a copy.
"""
function wrap(x::Array)
    isbitstype(eltype(x)) || all(i -> isassigned(x, i), eachindex(x)) || throw(MutationError(
        "a Buffer{$(eltype(x))} needs contents from the start, since an undefined element cannot be saved; give it an array"))
    return Buffer(x, Root(x))
end

"""
    value(b::Buffer)

The array behind `b`, without a copy: memory that the next write changes.
"""
@inline function value(b::Buffer)
    b.epoch == b.r.epoch || b.a === b.r.data || stale_view(b)
    return b.a
end

@noinline stale_view(b) = throw(MutationError("a view of a Buffer is used after its vector was resized \
    (push!, pop!, resize!, ...). Take the view after the resize, or index the vector itself."))

# What depends on the shape only.
Base.size(b::Buffer, d...) = size(value(b), d...)
Base.length(b::Buffer) = length(value(b))
Base.axes(b::Buffer, d...) = axes(value(b), d...)
Base.ndims(::Type{<:Buffer{<:Any,N}}) where {N} = N
Base.ndims(::Buffer{<:Any,N}) where {N} = N
Base.eltype(::Type{<:Buffer{T}}) where {T} = T
Base.isempty(b::Buffer) = isempty(value(b))
Base.eachindex(b::Buffer) = eachindex(value(b))
Base.keys(b::Buffer) = keys(value(b))
Base.firstindex(b::Buffer, d...) = firstindex(value(b), d...)
Base.lastindex(b::Buffer, d...) = lastindex(value(b), d...)
Base.CartesianIndices(b::Buffer) = CartesianIndices(value(b))
Base.LinearIndices(b::Buffer) = LinearIndices(value(b))
Base.IteratorSize(::Type{<:Buffer{<:Any,N}}) where {N} = Base.HasShape{N}()
Base.IteratorEltype(::Type{<:Buffer}) = Base.HasEltype()

for f in (:isempty, :keys, :firstindex, :lastindex)
    @eval ChainRulesCore.@non_differentiable Base.$f(::Buffer, ::Any...)
end
ChainRulesCore.@non_differentiable Base.CartesianIndices(::Buffer)
ChainRulesCore.@non_differentiable Base.LinearIndices(::Buffer)

Base.:(==)(a::Buffer, b::Buffer) = value(a) == value(b)
Base.:(==)(a::Buffer, b::AbstractArray) = value(a) == b
Base.:(==)(a::AbstractArray, b::Buffer) = a == value(b)
Base.hash(b::Buffer, h::UInt) = hash(objectid(b.r), h)
Base.show(io::IO, b::Buffer) = print(io, "Buffer(", value(b), ")")
function Base.show(io::IO, mime::MIME"text/plain", b::Buffer)
    print(io, "Buffer of ")
    show(io, mime, value(b))
end

# Views: Buffers on the same root.
Base.view(b::Buffer, i...) = Buffer(view(value(b), i...), b.r)
Base.dotview(b::Buffer, i...) = view(b, i...)
Base.dotview(b::Buffer, i::Number...) = getindex(b, i...)
Base.maybeview(b::Buffer, i...) = view(b, i...)
Base.maybeview(b::Buffer, i::Number...) = getindex(b, i...)
Base.transpose(b::Buffer{<:Number}) = Buffer(transpose(value(b)), b.r)
Base.adjoint(b::Buffer{<:Number}) = Buffer(adjoint(value(b)), b.r)
Base.PermutedDimsArray(b::Buffer, dims) = Buffer(PermutedDimsArray(value(b), dims), b.r)
Base.reshape(b::Buffer, dims::Union{Integer,Colon}...) = reshape(b, dims)
Base.reshape(b::Buffer, dims::Tuple{Vararg{Union{Integer,Colon}}}) = Buffer(reshape(resizable(value(b)), dims), b.r)
Base.vec(b::Buffer{<:Any,1}) = b
Base.vec(b::Buffer) = reshape(b, :)
Base.selectdim(b::Buffer, d::Integer, i) = Buffer(selectdim(value(b), d, i), b.r)
Base.eachcol(b::Buffer{<:Any,2}) = (view(b, :, j) for j in axes(b, 2))
Base.eachrow(b::Buffer{<:Any,2}) = (view(b, i, :) for i in axes(b, 1))

"""A reshape shares a `Vector`'s memory, which can then not be resized; a reshape of a view leaves it free."""
resizable(a::Vector) = view(a, :)
resizable(a::AbstractArray) = a

"""The view of `s` (an array of the root's shape) that `a` is of the root's data."""
mirror(a::Array{<:Any,N}, s::AbstractArray{<:Any,N}) where {N} = size(a) == size(s) ? s : reshape(s, size(a))
mirror(a::Array, s::AbstractArray) = reshape(s, size(a))
mirror(a::SubArray, s) = view(mirror(parent(a), s), parentindices(a)...)
mirror(a::Base.ReshapedArray, s) = reshape(mirror(parent(a), s), size(a))
mirror(a::Transpose, s) = transpose(mirror(parent(a), s))
mirror(a::Adjoint, s) = adjoint(mirror(parent(a), s))
mirror(a::PermutedDimsArray{<:Any,<:Any,P}, s) where {P} = PermutedDimsArray(mirror(parent(a), s), P)

"""Linear index into the root's data of the element `i...` of `b`."""
@inline root_index(b::Buffer, i::Integer...) = mirror(value(b), LinearIndices(b.r.data))[i...]

"""The shadow of the root, made of zeros if there is none yet."""
@inline function shadow(r::Root{T,N,S}) where {T,N,S}
    s = r.shadow
    s === nothing || return s
    return r.shadow = fill!(Array{S,N}(undef, size(r.data)), nought(S))
end
shadow(b::Buffer) = mirror(value(b), shadow(b.r))

nought(::Type{S}) where {S<:Number} = zero(S)
nought(::Type) = nothing

"""Whether every element of `a` lies in memory of its own: no index array can name an element twice."""
distinct(::AbstractArray) = true
distinct(a::SubArray) = all(i -> i isa Union{Integer,AbstractRange,Base.Slice}, parentindices(a)) && distinct(parent(a))
distinct(a::Union{Base.ReshapedArray,Transpose,Adjoint,PermutedDimsArray}) = distinct(parent(a))

"""Whether `a` conjugates elements, so that one of them is not simply an element of the root."""
conjugates(::AbstractArray) = false
conjugates(a::Union{SubArray,Base.ReshapedArray,Transpose,PermutedDimsArray}) = conjugates(parent(a))
conjugates(a::Adjoint) = eltype(a) <: Complex || conjugates(parent(a))
