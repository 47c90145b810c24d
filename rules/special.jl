# Functions of scipy.special: those of SpecialFunctions, whose rules ChainRules reads, and what is written with Julia's own.
#
# By orders SpecialFunctions has no derivative ("not implemented", which Zygote would take for 0): the rule book has none either, and
# the engine refuses them by name. The incomplete gamma and beta functions, whose shapes the rule book differentiates, are not here.

const SpecialFunctions = loaded("SpecialFunctions")

sqrt2(x) = sqrt(oftype(float(real(x)), 2))
@non_differentiable sqrt2(::Any)
log_normal(x::Real) = x < 0 ? log(SpecialFunctions.erfcx(-x / sqrt2(x)) / 2) - x^2 / 2 : log1p(-SpecialFunctions.erfc(x / sqrt2(x)) / 2)
log_normal(x::Complex) = log(SpecialFunctions.erfc(-x / sqrt2(x)) / 2)

real_only(f, x::Real) = f(x)
real_only(f, x::Complex) = notcovered("SpecialFunctions has it for real numbers alone")

# --- error functions and the normal distribution

@elementwise scipy.special.erf(x) = SpecialFunctions.erf(x)
@elementwise scipy.special.erfc(x) = SpecialFunctions.erfc(x)
@elementwise scipy.special.erfi(x) = SpecialFunctions.erfi(x)
@elementwise scipy.special.erfcx(x) = SpecialFunctions.erfcx(x)
@elementwise scipy.special.dawsn(x) = SpecialFunctions.dawson(x)
@elementwise scipy.special.erfinv(x) = SpecialFunctions.erfinv(x)
@elementwise scipy.special.erfcinv(x) = SpecialFunctions.erfcinv(x)
@elementwise scipy.special.wofz(x) = SpecialFunctions.erfcx(-im * 1.0x)    # NumPy's has double precision
@elementwise scipy.special.ndtr(x) = SpecialFunctions.erfc(-x / sqrt2(x)) / 2
@elementwise scipy.special.ndtri(x) = -sqrt2(x) * SpecialFunctions.erfcinv(2x)
@elementwise scipy.special.log_ndtr(x) = log_normal(x)

# --- logistic functions, entropies, losses

logistic(x) = x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x))
ratio(x, y) = iszero(x) ? zero(x / one(y)) : x / y
# Where x is 0 the product is, whatever the logarithm; its slope in x is the logarithm.
times_log(x, y) = iszero(x) ? zero(x * float(y)) : x * log(y)
times_log1p(x, y) = iszero(x) ? zero(x * float(y)) : x * log1p(y)
ChainRulesCore.rrule(::typeof(times_log), x::Number, y::Number) =
    times_log(x, y), ct -> (NoTangent(), ct * conj(log(y)), ct * conj(ratio(x, y)))
ChainRulesCore.rrule(::typeof(times_log1p), x::Number, y::Number) =
    times_log1p(x, y), ct -> (NoTangent(), ct * conj(log1p(y)), ct * conj(ratio(x, 1 + y)))

@elementwise scipy.special.expit(x) = logistic(x)
@elementwise scipy.special.log_expit(x) = x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x))
@elementwise scipy.special.logit(x) = log(x) - log1p(-x)
@elementwise scipy.special.entr(x) = x >= 0 ? -times_log(x, x) : oftype(x, -Inf)
@elementwise scipy.special.xlogy(x, y) = times_log(x, y)
@elementwise scipy.special.xlog1py(x, y) = times_log1p(x, y)
@elementwise scipy.special.rel_entr(x, y) = times_log(x, x / y)
@elementwise scipy.special.kl_div(x, y) = times_log(x, x / y) - x + y
@elementwise scipy.special.huber(delta, r) = abs(r) <= delta ? r^2 / 2 : delta * (abs(r) - delta / 2)
# Near r = 0 the difference of a root and one cancels.
@elementwise scipy.special.pseudo_huber(delta, r) = r^2 / (1 + sqrt(1 + (r / delta)^2))

# --- powers, logarithms, angles

@elementwise scipy.special.log1p(x) = log1p(x)
@elementwise scipy.special.expm1(x) = (x -> exponential_less_one(x))(x)
@elementwise scipy.special.exp2(x) = exp2(x)
@elementwise scipy.special.exp10(x) = exp10(x)
@elementwise scipy.special.cbrt(x) = cbrt(x)
@elementwise scipy.special.cosm1(x) = -2 * sin(x / 2)^2
@elementwise scipy.special.sindg(x) = sind(x)
@elementwise scipy.special.cosdg(x) = cosd(x)
@elementwise scipy.special.tandg(x) = tand(x)
@elementwise scipy.special.cotdg(x) = cotd(x)
@elementwise scipy.special.powm1(x, y) = x > 0 ? expm1(y * log(x)) : x^y - 1
@elementwise scipy.special.inv_boxcox(x, y) = iszero(y) ? notcovered("the power is zero, where Julia's quotient has no slope") : exp(log1p(y * x) / y)
@elementwise scipy.special.inv_boxcox1p(x, y) = abs(y) < 1e-6 ? notcovered("the power is so small that Julia's quotient cancels") : expm1(log1p(y * x) / y)
@elementwise scipy.special.boxcox(x, y) = iszero(y) ? notcovered("the power is zero, where Julia's quotient has no slope") : expm1(y * log(x)) / y
@elementwise scipy.special.boxcox1p(x, y) = iszero(y) ? notcovered("the power is zero, where Julia's quotient has no slope") : expm1(y * log1p(x)) / y

# --- the gamma function and its kin

@elementwise scipy.special.gamma(x) = SpecialFunctions.gamma(x)
@elementwise scipy.special.rgamma(x) = real(x) < 0.5 ? sinpi(x) * SpecialFunctions.gamma(1 - x) / π : 1 / SpecialFunctions.gamma(x)
@elementwise scipy.special.gammaln(x) = first(SpecialFunctions.logabsgamma(x))
@elementwise scipy.special.loggamma(x) = SpecialFunctions.loggamma(x)
@elementwise scipy.special.psi(x) = SpecialFunctions.digamma(x)
@elementwise scipy.special.beta(a, b) = SpecialFunctions.beta(a, b)
@elementwise scipy.special.betaln(a, b) = SpecialFunctions.logbeta(a, b)

# --- Bessel functions of fixed order, exponential integrals, elliptic integrals

@elementwise scipy.special.j0(x) = SpecialFunctions.besselj0(x)
@elementwise scipy.special.j1(x) = SpecialFunctions.besselj1(x)
@elementwise scipy.special.y0(x) = SpecialFunctions.bessely0(x)
@elementwise scipy.special.y1(x) = SpecialFunctions.bessely1(x)
@elementwise scipy.special.i0(x) = SpecialFunctions.besseli(0, x)
@elementwise scipy.special.i1(x) = SpecialFunctions.besseli(1, x)
@elementwise scipy.special.i0e(x) = SpecialFunctions.besselix(0, x)
@elementwise scipy.special.i1e(x) = SpecialFunctions.besselix(1, x)
@elementwise scipy.special.k0(x) = SpecialFunctions.besselk(0, x)
@elementwise scipy.special.k1(x) = SpecialFunctions.besselk(1, x)
@elementwise scipy.special.k0e(x) = SpecialFunctions.besselkx(0, x)
@elementwise scipy.special.k1e(x) = SpecialFunctions.besselkx(1, x)
@elementwise scipy.special.jv(v, z) = SpecialFunctions.besselj(v, z)
@elementwise scipy.special.yv(v, z) = SpecialFunctions.bessely(v, z)
@elementwise scipy.special.yn(n, x) = SpecialFunctions.bessely(n, x)
@elementwise scipy.special.iv(v, z) = SpecialFunctions.besseli(v, z)
@elementwise scipy.special.ive(v, z) = SpecialFunctions.besselix(v, z)
@elementwise scipy.special.kv(v, z) = SpecialFunctions.besselk(v, z)
@elementwise scipy.special.kn(n, x) = SpecialFunctions.besselk(n, x)
@elementwise scipy.special.kve(v, z) = SpecialFunctions.besselkx(v, z)
@elementwise scipy.special.hankel1(v, z) = SpecialFunctions.hankelh1(v, z)
@elementwise scipy.special.hankel2(v, z) = SpecialFunctions.hankelh2(v, z)
@elementwise scipy.special.hankel1e(v, z) = SpecialFunctions.hankelh1x(v, z)
@elementwise scipy.special.hankel2e(v, z) = SpecialFunctions.hankelh2x(v, z)
@elementwise scipy.special.expn(n, x) = SpecialFunctions.expint(n, x)
@elementwise scipy.special.exp1(x) = SpecialFunctions.expint(x)
@elementwise scipy.special.expi(x) = real_only(SpecialFunctions.expinti, x)
@elementwise scipy.special.ellipk(x) = SpecialFunctions.ellipk(x)
@elementwise scipy.special.ellipe(x) = SpecialFunctions.ellipe(x)
@elementwise scipy.special.ellipkm1(x) = SpecialFunctions.ellipk(1 - x)
@numpy scipy.special.sici(x) = (each(x -> real_only(SpecialFunctions.sinint, x), x), each(x -> real_only(SpecialFunctions.cosint, x), x))
@numpy scipy.special.airy(x) = (each(SpecialFunctions.airyai, x), each(SpecialFunctions.airyaiprime, x),
    each(SpecialFunctions.airybi, x), each(SpecialFunctions.airybiprime, x))
@elementwise np.i0(x) = SpecialFunctions.besseli(0, x)
