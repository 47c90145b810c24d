# Gamma numbers by rejection, and how they move with their shape parameter at their quantile.
# Sources: G. Marsaglia, W. W. Tsang, ACM TOMS 26, 2000; M. Figurnov, S. Mohamed, A. Mnih, NeurIPS 2018; for the slope
# the series and the continued fraction of dlmf.nist.gov 8.7.1 and 8.9.2, differentiated term by term.

const START = (0x00000000, 0x00000000)

"A gamma number of scale 1 and shape parameter `a`, with the keys that `jax.random.gamma` uses for its proposals."
function gamma_number(key::Key, a::T) where {T<:Union{Float32,Float64}}
    own, boosting = block(key, 0), block(key, 1)
    d = (a >= 1 ? a : a + 1) - T(1 / 3)
    c = T(1 / 3) / sqrt(abs(d))
    d > 0 || return T(NaN)
    cube = accepted(own, c, d)
    return d * cube * (a >= 1 ? one(T) : (1 - unit(T, block(boosting, 0)))^(1 / a))
end

# At its quantile a number moves with its parameter: all orders of derivatives that dual numbers ask for.
function gamma_number(key::Key, a::Dual{Tag}) where {Tag}
    x = gamma_number(key, value(a))
    return Dual{Tag}(x, gamma_slope(value(a), x) * partials(a))
end

function accepted(key::Key, c, d::T) where {T}
    while true
        x, v = proposed(block(key, 1), c)
        square, cube, u = x * x, v * v * v, unit(T, block(block(key, 2), 0))
        refused = u >= 1 - T(0.0331) * (square * square) && log(u) >= square / 2 + d * ((1 - cube) + log(cube))
        refused || return cube
        key = block(key, 0)
    end
end

function proposed(key::Key, c::T) where {T}
    while true
        x = from_uniform(unit(T, block(block(key, 1), 0)))
        v = 1 + x * c
        v <= 0 || return x, v
        key = block(key, 0)
    end
end

const BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)

"The derivative of log gamma, for x > 0: by its asymptotic series at x + 12."
function digamma(x)
    y = x + 12
    tail = sum(BERNOULLI[k] / (2k * y^(2k)) for k in eachindex(BERNOULLI))
    return log(y) - 1 / (2y) - tail - sum(1 / (x + k) for k in 0:11)
end

"""
    gamma_slope(a, x)

dx/da of a gamma number `x` at its quantile; 0 at 0. Computed in Float64; dual numbers give its derivatives.
"""
function gamma_slope(a::Real, x::Real)
    T = promote_type(typeof(a), typeof(x))
    (isnan(a) || isnan(x) || !isfinite(x) || a <= 0) && return T(NaN)
    x == 0 && return zero(T)
    wide, number = widened(a), widened(x)
    a >= 1e5 && return T(slope_by_expansion(wide, number))
    return T(x > max(a, 1) ? slope_by_fraction(wide, number) : slope_by_series(wide, number))
end

widened(x::Union{Float32,Float64}) = Float64(x)
widened(x::Real) = x

function slope_by_series(a, x)
    total, slope, term, once = one(x * a), zero(x * a), one(x * a), zero(x * a)
    n = 0
    while true
        n += 1
        term *= x / (a + n)
        once += 1 / (a + n)
        total += term
        slope -= term * once
        (term * max(once^2, 1) > 1e-17 * total || x >= a + n) || break
    end
    return -x / a * (total * (log(x) - digamma(a + 1)) + slope)
end

function slope_by_fraction(a, x)
    terms = floor(Int, 100 + 12 * sqrt(a))
    found, slope = x + 2terms + 1 - a, -one(x * a)
    for n in terms:-1:1
        ratio = 1 / found
        found, slope = x + 2n - 1 - a - n * (n - a) * ratio, -1 + n * ratio + n * (n - a) * slope * ratio^2
    end
    total = 1 / found
    return x * (total * (log(x) - digamma(a)) - slope * total^2)
end

# The expansion of Cornish and Fisher for chi-square with 2a degrees of freedom: exact to rounding for large a.
function slope_by_expansion(a, x)
    root = sqrt(a)
    quantile(z) = a + z * root + (z^2 - 1) / 3 + (z^3 - 7z) / (36root) - (3z^4 + 7z^2 - 16) / (810a) +
        (9z^5 + 256z^3 - 433z) / (38880 * a * root)
    z = (x - a) / root
    for _ in 1:20
        z -= (quantile(z) - x) / root
    end
    return 1 + z / (2root) - (z^3 - 7z) / (72 * a * root) + (3z^4 + 7z^2 - 16) / (810a^2) -
        (9z^5 + 256z^3 - 433z) / (25920 * a^2 * root)
end

"Gamma numbers for the elements of `a`, element number n from key number n."
gamma_numbers(key::Key, a::Real) = gamma_number(block(key, 0), a)
gamma_numbers(key::Key, a::AbstractArray) = (b = permutedims(a, ndims(a):-1:1); permutedims(
    reshape([gamma_number(block(key, n - 1), b[n]) for n in eachindex(vec(b))], size(b)), ndims(a):-1:1))

function ChainRulesCore.rrule(::typeof(gamma_numbers), key, a)
    x = gamma_numbers(key, a)
    pull(ct) = (NoTangent(), NoTangent(), unthunk(ct) .* gamma_slope.(a, x))
    return x, pull
end
