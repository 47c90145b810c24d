# Draws: the noise is fixed by the key and has no derivative, the parameters enter by arithmetic or at their quantile.

"""
    RandomGradientError(msg)

A discrete draw has a parameter under differentiation, or a draw with `gradient = :error` has one. `msg` says which, and
the remedy.
"""
struct RandomGradientError <: Exception
    msg::String
end
Base.showerror(io::IO, error::RandomGradientError) = print(io, "RandomGradientError: ", error.msg)

noise(::Type{T}, key, shape::Dims, f = identity) where {T} = (own = checked(key); in_order(n -> f(unit(T, block(own, n))), shape))

@non_differentiable noise(::Any...)

exponential_of(u) = -log1p(-u)
gumbel_of(u::T) where {T} = (least = floatmin(T); -log(-log(max(u * (1 - least) + least, least))))

"""
    normal(key, shape = (); T = Float64)

Normal numbers of mean 0 and variance 1; write `mean .+ deviation .* normal(key, shape)`.
"""
normal(key, shape::Dims = (); T::Type = Float64) = noise(T, key, shape, from_uniform)

"""
    exponential(key, shape = (); T = Float64)

Exponential numbers of mean 1; write `exponential(key, shape) ./ rate`.
"""
exponential(key, shape::Dims = (); T::Type = Float64) = noise(T, key, shape, exponential_of)

"""
    gumbel(key, shape = (); T = Float64)

Gumbel numbers of location 0 and scale 1.
"""
gumbel(key, shape::Dims = (); T::Type = Float64) = noise(T, key, shape, gumbel_of)

"""
    uniform(key, shape = (); T = Float64, minval = 0, maxval = 1, gradient = :pathwise)

Uniform numbers in [minval, maxval). `gradient` says what they are to those who differentiate with respect to the bounds:
`:pathwise`, `minval + u * (maxval - minval)` with u fixed; `:frozen`, constants; `:error`, not to be differentiated.
"""
function uniform(key, shape::Dims = (); T::Type = Float64, minval = nothing, maxval = nothing, gradient::Symbol = :pathwise)
    u = noise(T, key, shape)
    isnothing(minval) && isnothing(maxval) && return u
    low, high = bound(minval, zero(T), T, gradient, "minval"), bound(maxval, one(T), T, gradient, "maxval")
    return max.(low, u .* (high .- low) .+ low)
end

bound(::Nothing, default, T, gradient, name) = default
bound(x, default, T, gradient, name) = rounded(T, parameter(x, gradient, "uniform", name))

# Dual numbers keep their partials: only plain ones are rounded to the type of the draw.
rounded(::Type{T}, x::Union{Integer,AbstractFloat,Rational}) where {T} = T(x)
rounded(::Type, x::Real) = x
rounded(::Type{T}, x::AbstractArray) where {T} = rounded.(T, x)

"""
    gamma(key, a; shape = size(a), gradient = :pathwise)

Gamma numbers of scale 1 and shape parameters `a > 0`; `:pathwise` moves each with its quantile (implicit
reparameterisation), which is not the derivative of the sampler: that accepts and refuses, and jumps.
"""
function gamma(key, a; shape::Dims = size(a), gradient::Symbol = :pathwise)
    own, chosen = checked(key), parameter(a, gradient, "gamma", "a")
    wide = size(chosen) == shape ? chosen : chosen .+ zeros(eltype(chosen), shape)
    return gamma_numbers(own, wide isa Union{Integer,AbstractArray{<:Integer}} ? float(wide) : wide)
end

"""
    bernoulli(key; shape = ())
    bernoulli(key, p; shape = size(p), gradient = :pathwise)

Booleans that are true with probability 1/2, or `p`. They have no derivative along their path: under differentiation this is
a [`RandomGradientError`](@ref), unless `gradient = :frozen` says that the draw is data.
"""
bernoulli(key; shape::Dims = ()) = drawn_below(checked(key), 0.5, shape)
function bernoulli(key, p; shape::Dims = size(p), gradient::Symbol = :pathwise)
    chosen = parameter(p, gradient, "bernoulli", "p", true)
    return drawn_below(checked(key), chosen, shape)
end

drawn_below(key, p, shape) = noise(basetype(p), key, shape) .< p
@non_differentiable drawn_below(::Any...)

"""
    categorical(key, logits; dims = ndims(logits), gradient = :pathwise)

Indices, counted from 1, drawn along one axis with the probabilities of softmax. As for `bernoulli`, an error under
differentiation unless `gradient = :frozen`.
"""
function categorical(key, logits::AbstractArray; dims::Integer = ndims(logits), gradient::Symbol = :pathwise)
    return largest(checked(key), parameter(logits, gradient, "categorical", "logits", true), dims)
end

function largest(key, logits, dims)
    noisy = noise(basetype(logits), key, size(logits), gumbel_of) .+ logits
    found = dropdims(map(index -> index[dims], last(findmax(noisy; dims))); dims)
    return ndims(found) == 0 ? found[] : found
end
@non_differentiable largest(::Any...)

basetype(x) = basetype(eltype(x))
basetype(::Type{T}) where {T<:Real} = float(T)
basetype(::Type{<:Dual{Tag,V}}) where {Tag,V} = basetype(V)

"""
    permutation(key, n)
    permutation(key, x)

1 to `n` in random order, or a vector with the elements of `x` in random order, through which their gradient goes.
"""
permutation(key, x::AbstractVector) = x[permutation(key, length(x))]
function permutation(key, n::Integer)
    order, own = collect(1:n), checked(key)
    # JAX sorts so often by 32 random bits that equal ones no longer matter.
    for _ in 1:ceil(Int, 3 * log(max(1, n)) / log(2^32 - 1))
        own, other = block(own, 0), block(own, 1)
        order = order[sortperm(bits(other, (n,)); alg = MergeSort)]
    end
    return order
end
@non_differentiable permutation(::Any, ::Integer)

"A parameter of a draw: as it is, or a constant."
function parameter(x, gradient::Symbol, draw, name, discrete = false)
    gradient === :frozen && return plain(ignore_derivatives(x))
    gradient in (:pathwise, :error) || throw(ArgumentError("gradient = :$gradient: one of :pathwise, :frozen, :error"))
    return gradient === :error || discrete ? refusing(x, draw, name, discrete) : x
end

refusing(x, draw, name, discrete) = (eltype(x) <: Dual && refuse(draw, name, discrete); x)
ChainRulesCore.rrule(::typeof(refusing), x, draw, name, discrete) = refuse(draw, name, discrete)

@noinline refuse(draw, name, discrete) = throw(RandomGradientError(
    "$draw: it has a parameter $name under differentiation, " *
    (discrete ? "and a discrete draw has no derivative along its path. " : "and was told to refuse it. ") *
    "Write gradient = :frozen if the draw is a constant to whoever differentiates" *
    (discrete ? "; else a relaxation with gumbel noise, or the score function." : ".")))

plain(x) = x
plain(x::Dual) = plain(value(x))
plain(x::AbstractArray{<:Dual}) = plain.(x)
