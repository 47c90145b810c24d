# Gradients by central differences, from plain runs alone: no engine, and nothing of the package's.
module Differences

"The floats of a value in one vector."
floats(x::AbstractFloat) = [float(x)]
floats(x::Complex{<:AbstractFloat}) = [real(x), imag(x)]
floats(x::AbstractArray{<:AbstractFloat}) = vec(collect(x))
floats(x::AbstractArray{<:Complex{<:AbstractFloat}}) = [vec(real(x)); vec(imag(x))]
floats(x::Union{Tuple,NamedTuple}) = reduce(vcat, map(floats, values(x)); init=Float64[])
floats(x) = Float64[]

"The value with the floats that a function takes out of a queue in place of its own; arrays are new ones."
rebuilt(x::T, take) where {T<:AbstractFloat} = T(only(take(1)))
rebuilt(x::Complex{T}, take) where {T} = Complex(T.(take(2))...)
rebuilt(x::AbstractArray{T}, take) where {T<:AbstractFloat} = reshape(T.(take(length(x))), size(x))
rebuilt(x::AbstractArray{Complex{T}}, take) where {T} = reshape(Complex.(T.(take(length(x))), T.(take(length(x)))), size(x))
rebuilt(x::Union{Tuple,NamedTuple}, take) = map(part -> rebuilt(part, take), x)
rebuilt(x, take) = x

function with(x, numbers)
    at = Ref(0)
    return rebuilt(x, n -> (at[] += n; numbers[at[]-n+1:at[]]))
end

"""
    of(f) -> gradient

The gradient of `f` by the floats of its first argument, as a vector, by central differences of fourth order.
"""
of(f) = function (x, others...; keywords...)
    z = Float64.(floats(x))
    step = eltype(floats(x)) === Float32 ? 2e-2 : 1e-3
    at(k, h) = (moved = copy(z); moved[k] += h; Float64(f(with(x, moved), others...; keywords...)))
    return [(8 * (at(k, step) - at(k, -step)) - (at(k, 2step) - at(k, -2step))) / 12step for k in eachindex(z)]
end

end
