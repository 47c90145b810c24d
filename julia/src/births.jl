# How a Buffer comes to be under differentiation: its birth is an entry of the log, its end hands out the gradient.

"""The pullback of a constructor, which ends the life of a root: its shadow is the cotangent of the initial contents."""
struct Birth{C,R<:Root,X} <: Function
    context::C
    root::R
    source::X       # what the contents were copied from, or nothing
    position::Int
    version::Int
end

function (birth::Birth)(ct)
    refuse_cotangent(ct, "Buffer")
    r = birth.root
    check_entry(birth.context, r, birth.position, birth.version, "Buffer")
    s = r.shadow
    r.shadow = nothing
    (s === nothing || birth.source === nothing) && return nothing
    return (nothing, source_cotangent(birth.source, s))
end

"""A Buffer of the memory `data`, whose birth is an entry of the log."""
function birth(cx, data::Array, source)
    b = wrap(data)
    return b, Birth(cx, b.r, source, born!(cx, b.r), b.r.version)
end

ZygoteRules._pullback(cx::AContext, ::Type{Buffer}, x::AbstractArray{T}) where {T} =
    birth(cx, contents_of(widened(cx, T), x), x)
ZygoteRules._pullback(cx::AContext, ::Type{Buffer{T}}, x::AbstractArray) where {T} =
    birth(cx, contents_of(widened(cx, T), x), x)
ZygoteRules._pullback(cx::AContext, ::Type{Buffer{T}}, ::UndefInitializer, dims::Integer...) where {T} =
    birth(cx, Array{widened(cx, T)}(undef, dims...), nothing)
ZygoteRules._pullback(cx::AContext, ::Type{Buffer{T}}, ::UndefInitializer, dims::Tuple{Vararg{Integer}}) where {T} =
    birth(cx, Array{widened(cx, T)}(undef, dims), nothing)

# A new Buffer like another, as `similar` and `zero` of arrays; its contents depend on nothing.
element_type(b::Buffer, options...) = eltype(b)
element_type(b::Buffer, ::Type{T}, dims...) where {T} = T
new_size(b::Buffer) = size(b)
new_size(b::Buffer, dims::Integer...) = dims
new_size(b::Buffer, dims::Dims) = dims
new_size(b::Buffer, ::Type, dims...) = new_size(b, dims...)

Base.similar(b::Buffer, options...) = wrap(Array{element_type(b, options...)}(undef, new_size(b, options...)))
Base.zero(b::Buffer{T}) where {T<:Number} = wrap(zeros(T, size(b)))
ZygoteRules._pullback(cx::AContext, ::typeof(similar), b::Buffer, options...) =
    birth(cx, Array{widened(cx, element_type(b, options...))}(undef, new_size(b, options...)), nothing)
ZygoteRules._pullback(cx::AContext, ::typeof(zero), b::Buffer{T}) where {T<:Number} =
    birth(cx, zeros(widened(cx, T), size(b)), nothing)

ZygoteRules._pullback(cx::AContext, ::typeof(deepcopy), b::Buffer) = ZygoteRules._pullback(cx, Buffer, b)

"""A copy that nobody logs is a constant, so copying a Buffer inside of a structure would lose its gradient."""
function Base.deepcopy_internal(r::Root, copies::IdDict)
    haskey(copies, r) && return copies[r]
    r.owner isa Context && r.owner.position > 0 && throw(MutationError("deepcopy of a structure that holds a Buffer, \
        under differentiation, would lose the Buffer's gradient. Build the copy with Buffer(copy(b))."))
    return copies[r] = Root(copy(r.data))
end
function Base.deepcopy_internal(b::Buffer, copies::IdDict)
    r = Base.deepcopy_internal(b.r, copies)
    return Buffer(value(b) === b.r.data ? r.data : mirror(b.a, r.data), r)
end
