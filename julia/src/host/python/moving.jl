# Values with tangents: dual numbers, nested one level for each direction.

const TAG = Level{1}

dual(x, dx) = dual(TAG, x, dx)
dual(::Type{L}, x::T, dx) where {L,T<:Real} = ForwardDiff.Dual{L}(x, T(dx))
dual(::Type{L}, x::Complex, dx) where {L} = Complex(dual(L, real(x), real(dx)), dual(L, imag(x), imag(dx)))
along(::Type{L}, x::Number, dx::Number) where {L} = dual(L, x, dx)
along(::Type{L}, x::AbstractArray, dx::AbstractArray) where {L} = map((a, b) -> dual(L, a, b), x, dx)

const Moving = ForwardDiff.Dual{<:ForwardDiff.Tag{<:Along}}

"The part of a value that tangents did not touch."
primal(x::Moving) = primal(ForwardDiff.value(x))
primal(x::Complex{<:Moving}) = Complex(primal(real(x)), primal(imag(x)))
primal(x::Union{Tuple,NamedTuple}) = map(primal, x)
primal(x::AbstractArray{<:Union{ForwardDiff.Dual,Complex{<:ForwardDiff.Dual}}}) = map(primal, dense(x))
primal(x::AbstractArray{T}) where {T>:Nothing} = map(primal, x)
primal(x) = x

"The tangent of a value at one level."
tangent(x) = tangent(TAG, x)
tangent(::Type{Level{K}}, x::ForwardDiff.Dual{Level{K}}) where {K} = ForwardDiff.partials(x, 1)
tangent(::Type{L}, x::Complex{<:ForwardDiff.Dual}) where {L} = Complex(tangent(L, real(x)), tangent(L, imag(x)))
tangent(::Type{L}, x::Union{AbstractFloat,Complex,Moving}) where {L} = zero(x)
tangent(::Type{L}, x::Union{Tuple,NamedTuple}) where {L} = map(part -> tangent(L, part), x)
tangent(::Type{L}, x::AbstractArray) where {L} = map(part -> tangent(L, part), x)
tangent(::Type{L}, x::AbstractThunk) where {L} = tangent(L, unthunk(x))
tangent(::Type{L}, x::Tangent) where {L} = tangent(L, ChainRulesCore.backing(canonicalize(x)))
tangent(::Type{L}, x::Base.RefValue) where {L} = tangent(L, x[])
tangent(::Type{L}, x) where {L} = nothing

"The derivative of a value once along each of the first `order` directions."
mixed(x, order::Int) = order == 0 ? x : mixed(tangent(Level{order}, x), order - 1)

"""
The leaves moved along the first `order` of some directions, each a tuple of arrays or numbers, one for each leaf, or None for none:
one level of dual numbers for each direction.
"""
function moved(plan::Plan, values::Vector{Any}, directions::PyPtr, order::Int=tuple_size(directions))
    result = copy(values)
    for k in 1:order
        direction = tuple_item(directions, k)
        for (i, x) in enumerate(values)
            item = tuple_item(direction, i)
            item == OBJECTS.none && continue
            differentiable(x) || throw(NotDifferentiable(i))
            result[i] = along(Level{k}, result[i], x isa Number ? entering_number(item) : entering(item, :own).value)
        end
    end
    return result
end
