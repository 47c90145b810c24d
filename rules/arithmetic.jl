# Arithmetic: sums, products, powers, remainders, magnitudes, and the parts of complex numbers.

@elementwise np.positive(x) = +x
@elementwise np.negative(x) = -x
@elementwise np.conjugate(x) = conj(x)
@elementwise np.add(x, y) = x + y
@elementwise np.subtract(x, y) = x - y
@elementwise np.multiply(x, y) = x * y
@elementwise np.divide(x, y) = x / y
@elementwise np.reciprocal(x) = inv(x)
@elementwise np.square(x) = x * x
@elementwise np.sqrt(x) = sqrt(x)
@elementwise np.cbrt(x) = cbrt(x)
@elementwise np.absolute(x) = abs(x)
@elementwise np.fabs(x) = abs(x)
@elementwise np.sign(x) = sign(x)
@elementwise np.ldexp(x, exponent) = x * oftype(x, 2)^exponent

# ChainRules: `x^y` has no derivative in `y` at a base of 0, and none at all at a negative base with a float exponent.
# docs/conventions.md: `0^y` does not depend on `y >= 0`, and `x^0` does not depend on `x`.
power(x::Real, y::Integer) = float(x)^y
power(x::Real, y::Real) = isinteger(y) && abs(y) < 2^31 ? float(x)^Int(y) : x < 0 ? oftype(float(x) * y, NaN) : x^y
power(x::Number, y::Number) = iszero(x) && iszero(y) ? one(x * y) : y isa Integer ? x^y : float(x)^y
function ChainRulesCore.rrule(::typeof(power), x::Number, y::Number)
    value = power(x, y)
    function back(ct)
        # Nothing, not a product with 0, which is NaN where the cotangent is not finite.
        by_x = iszero(x) && iszero(y) ? zero(ct) : ct * conj(y * power(x, y - one(y)))
        fixed = iszero(x) && real(y) >= 0
        logarithm = fixed || (value isa Real && x < 0) ? oftype(value, NaN) : log(complex_if(x, value))
        return NoTangent(), by_x, fixed ? zero(ct) : ct * conj(value * logarithm)
    end
    return value, back
end
complex_if(x, value) = value isa Complex ? complex(x) : x
@elementwise np.power(x, y) = power(x, y)
@same np.float_power = np.power

# ChainRules has NaN at the jumps of remainders; docs/conventions.md: the quotient that was taken.
truncated_remainder(x, y) = rem(x, y)
floored_remainder(x, y) = mod(x, y)
ChainRulesCore.rrule(::typeof(truncated_remainder), x::Real, y::Real) =
    rem(x, y), ct -> (NoTangent(), ct, -ct * round((x - rem(x, y)) / y))
ChainRulesCore.rrule(::typeof(floored_remainder), x::Real, y::Real) =
    mod(x, y), ct -> (NoTangent(), ct, -ct * round((x - mod(x, y)) / y))
@elementwise np.fmod(x, y) = truncated_remainder(x, y)
@elementwise np.remainder(x, y) = floored_remainder(x, y)

# ChainRules has no rule for a neighbouring number, which moves as the number does.
neighbour(x, towards) = x == towards ? towards : x < towards ? nextfloat(x) : prevfloat(x)
ChainRulesCore.rrule(::typeof(neighbour), x::Real, towards::Real) =
    neighbour(x, towards), ct -> (NoTangent(), ct, zero(ct))
@elementwise np.nextafter(x, towards) = neighbour(x, towards)

exponents_of(x) = map(v -> last(frexp(v)), at_rest(x))
@non_differentiable exponents_of(::Any)

@numpy np.divmod(x, y) = (nondifferentiable(each(fld, x, y)), each(floored_remainder, x, y))
@numpy np.modf(x) = (x .- nondifferentiable(trunc.(x)), nondifferentiable(trunc.(x)))
@numpy function np.frexp(x)
    exponents = exponents_of(x)
    return x ./ nondifferentiable(exp2.(exponents)), exponents
end

nondifferentiable(x) = at_rest(x)
@non_differentiable nondifferentiable(::Any)

@numpy np.real(val) = each(real, val)
@numpy np.imag(val) = each(imag, val)
@numpy np.real_if_close(a) = a
# ChainRules divides by zero in the angle of 0, which has no direction.
@numpy np.angle(z; deg=false) = deg ? each(direction, z) .* (180 / π) : each(direction, z)
direction(z) = angle(z)
ChainRulesCore.rrule(::typeof(direction), z::Number) =
    angle(z), ct -> (NoTangent(), z isa Real || iszero(z) ? zero(z) : ct * im * (z / abs(z) / abs(z)))
