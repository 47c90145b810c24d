# Exponentials, logarithms, trigonometric and hyperbolic functions, with their inverses.

@elementwise np.exp(x) = exp(x)
@elementwise np.exp2(x) = exp2(x)
@elementwise np.log(x) = log(x)
@elementwise np.log2(x) = log2(x)
@elementwise np.log10(x) = log10(x)
@elementwise np.log1p(x) = log1p(x)
@elementwise np.sin(x) = sin(x)
@elementwise np.cos(x) = cos(x)
@elementwise np.tan(x) = tan(x)
@elementwise np.arcsin(x) = asin(x)
@elementwise np.arccos(x) = acos(x)
@elementwise np.arctan(x) = atan(x)
@elementwise np.sinh(x) = sinh(x)
@elementwise np.cosh(x) = cosh(x)
@elementwise np.tanh(x) = tanh(x)
@elementwise np.arccosh(x) = acosh(x)
@elementwise np.arctanh(x) = atanh(x)
@elementwise np.deg2rad(x) = deg2rad(x)
@elementwise np.rad2deg(x) = rad2deg(x)
@same np.radians = np.deg2rad
@same np.degrees = np.rad2deg

# ChainRules takes the slope from the value: 0 far left of the origin, where it is exp(x).
exponential_less_one(x) = expm1(x)
ChainRulesCore.rrule(::typeof(exponential_less_one), x::Number) = expm1(x), ct -> (NoTangent(), ct * conj(exp(x)))
@elementwise np.expm1(x) = exponential_less_one(x)

# ChainRules squares the argument, which overflows.
area_sine(x) = asinh(x)
ChainRulesCore.rrule(::typeof(area_sine), x::Real) = asinh(x), ct -> (NoTangent(), ct / hypot(one(x), x))
ChainRulesCore.rrule(::typeof(area_sine), x::Complex) = asinh(x), ct -> (NoTangent(), ct / conj(sqrt(1 + x * x)))
@elementwise np.arcsinh(x) = area_sine(x)

# ChainRules divides by zero at the origin, where the angle has no direction and the length no slope.
angle_of(y, x) = atan(y, x)
length_of(x, y) = hypot(x, y)
without_zero(x) = iszero(x) ? one(x) : x
function ChainRulesCore.rrule(::typeof(angle_of), y::Real, x::Real)
    radius = without_zero(hypot(y, x))
    return atan(y, x), ct -> (NoTangent(), ct * (x / radius / radius), -ct * (y / radius / radius))
end
function ChainRulesCore.rrule(::typeof(length_of), x::Real, y::Real)
    length = hypot(x, y)
    return length, ct -> (NoTangent(), ct * (x / without_zero(length)), ct * (y / without_zero(length)))
end
@elementwise np.arctan2(y, x) = angle_of(y, x)
@elementwise np.hypot(x, y) = length_of(x, y)

# Julia's base has no logarithm of a sum of powers. A sum that is zero or infinite does not move.
log_of_sum(x, y) = x == y ? x + log(oftype(x, 2)) : max(x, y) + log1p(exp(-abs(x - y)))
log2_of_sum(x, y) = x == y ? x + one(x) : max(x, y) + log1p(exp2(-abs(x - y))) / log(oftype(x, 2))
for (f, grown) in ((:log_of_sum, :exp), (:log2_of_sum, :exp2))
    @eval function ChainRulesCore.rrule(::typeof($f), x::Real, y::Real)
        value = $f(promote(float(x), float(y))...)
        share(term) = $grown(isinf(value) ? oftype(value, -Inf) : term - value)
        return value, ct -> (NoTangent(), ct * share(x), ct * share(y))
    end
end
@elementwise np.logaddexp(x, y) = log_of_sum(x, y)
@elementwise np.logaddexp2(x, y) = log2_of_sum(x, y)
