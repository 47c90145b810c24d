# Whatever a pullback returns for an argument, as a dense array (or number) of the argument's shape and type.

"A gradient in the shape and element type of the leaf that it belongs to; fresh, or marked as shared by `fresh`."
conformed(::Nothing, x::AbstractArray{T}) where {T} = zeros(T, size(x))
conformed(::AbstractZero, x::AbstractArray{T}) where {T} = zeros(T, size(x))
conformed(gradient::AbstractThunk, x::AbstractArray) = conformed(unthunk(gradient), x)
conformed(gradient::Array{T,N}, x::AbstractArray{T,N}) where {T,N} =
    size(gradient) == size(x) ? gradient : reshaped(gradient, x)
conformed(gradient::AbstractArray, x::AbstractArray) = reshaped(gradient, x)
conformed(gradient::Number, x::AbstractArray{T,0}) where {T} = fill(in_type(T, gradient))
conformed(gradient::Tangent, x::AbstractArray) = conformed(ChainRulesCore.backing(canonicalize(gradient)), x)

# The fields of a wrapper (a transpose, a permuted view) where a function took it apart.
conformed(gradient::NamedTuple{(:parent,)}, x::Transpose) =
    dense(transpose(conformed(gradient.parent, parent(x))))
conformed(gradient::NamedTuple{(:parent,)}, x::PermutedDimsArray{T,N}) where {T,N} =
    dense(axes_reversed(conformed(gradient.parent, parent(x))))
conformed(gradient::Base.RefValue, x::AbstractArray) = conformed(gradient[], x)

conformed(::Nothing, x::T) where {T<:Number} = zero(T)
conformed(::AbstractZero, x::T) where {T<:Number} = zero(T)
conformed(gradient::AbstractThunk, x::Number) = conformed(unthunk(gradient), x)
conformed(gradient::Number, x::T) where {T<:Number} = in_type(T, gradient)
conformed(gradient::AbstractArray{<:Any,0}, x::T) where {T<:Number} = in_type(T, gradient[])
conformed(gradient::Tangent{<:Complex}, x::Complex) = conformed(ChainRulesCore.backing(canonicalize(gradient)), x)
conformed(gradient::NamedTuple{(:re, :im)}, x::T) where {T<:Complex} =
    T(conformed(gradient.re, real(x)), conformed(gradient.im, imag(x)))

conformed(gradient, x) = throw(
    ArgumentError("a pullback returned a $(typeof(gradient)) as the gradient of an argument of type $(typeof(x))")
)

function reshaped(gradient::AbstractArray, x::AbstractArray{T}) where {T}
    length(gradient) == length(x) || throw(
        DimensionMismatch("a pullback returned a gradient of size $(size(gradient)) for an argument of size $(size(x))")
    )
    result = Array{T}(undef, size(x))
    for (k, part) in zip(eachindex(result), gradient)
        result[k] = in_type(T, part)
    end
    return result
end

in_type(::Type{T}, ::Nothing) where {T} = zero(T)
in_type(::Type{T}, ::AbstractZero) where {T} = zero(T)
in_type(::Type{T}, x::Number) where {T<:Real} = T(real(x))
in_type(::Type{T}, x::Number) where {T} = T(x)

"The memory below an array as a range of addresses; empty for anything else."
addresses(x) = UInt(0):UInt(0)
function addresses(x::Array)
    isempty(x) && return UInt(1):UInt(0)
    start = UInt(pointer(x))
    return start:(start + sizeof(x) - 1)
end
overlap(a, b) = max(first(a), first(b)) <= min(last(a), last(b))
