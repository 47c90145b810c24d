"""Further functions of `scipy.special`: Struve, Kelvin, parabolic cylinder, elliptic and other functions, integrals.

Derivatives with respect to orders are not known in closed form and have no pull.
Formulas are those of the NIST Digital Library of Mathematical Functions, dlmf.nist.gov.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, conj, needs, pulls
from bridge.rules.special import ROOT_PI, ROOT_TAU, _outputs, _ratio, _rgamma_slope
from bridge.rules.special_bessel import _ellipk_slope

sp = needs("scipy.special")

# Binomial coefficients and Pochhammer's symbol, also where gamma functions have poles.


def _is_pole(x):
    return (x <= 0) & (np.floor(x) == x)


def _binom_by_top(n, k, out):
    """The coefficient is gamma(n + 1) rgamma(k + 1) rgamma(n - k + 1)."""
    rest = n - k + 1
    pole = _is_pole(rest)
    at = np.where(pole, rest, 1.0)
    whole = sp.gamma(n + 1) * sp.rgamma(k + 1) * (sp.psi(n + 1) * sp.rgamma(at) + _rgamma_slope(at))
    return np.where(pole, whole, out * (sp.psi(n + 1) - sp.psi(np.where(pole, 1, rest))))


def _binom_by_bottom(n, k, out):
    rest, own = n - k + 1, k + 1
    pole = _is_pole(rest) | _is_pole(own)
    upper, lower = np.where(pole, rest, 1.0), np.where(pole, own, 1.0)
    whole = sp.gamma(n + 1) * (_rgamma_slope(lower) * sp.rgamma(upper) - sp.rgamma(lower) * _rgamma_slope(upper))
    return np.where(pole, whole, out * (sp.psi(np.where(pole, 1, rest)) - sp.psi(np.where(pole, 1, own))))


pulls(
    sp.binom,
    lambda ct, out, n, k: ct * _binom_by_top(n, k, out).astype(ct.dtype),
    lambda ct, out, n, k: ct * _binom_by_bottom(n, k, out).astype(ct.dtype),
)


def _poch_by_number(z, m, out):
    pole = _is_pole(z)
    at = np.where(pole, z, 1.0)
    whole = sp.gamma(z + m) * (sp.psi(z + m) * sp.rgamma(at) + _rgamma_slope(at))
    return np.where(pole, whole, out * (sp.psi(z + m) - sp.psi(np.where(pole, 1, z))))


pulls(
    sp.poch,
    lambda ct, out, z, m: ct * _poch_by_number(z, m, out).astype(ct.dtype),
    lambda ct, out, z, m: ct * out * sp.psi(z + m),
)

# Scaled Bessel and Airy functions. The factor exp(-|Im z|) makes them functions of both parts of z.


def _scaled(function):
    def pull(ct, out, v, z):
        found = ct * conj((function(v - 1, z) - function(v + 1, z)) / 2)
        return found if z.dtype.kind != "c" else found - 1j * np.sign(np.imag(z)) * np.real(conj(ct) * out)

    return pull


pulls(sp.jve, None, _scaled(sp.jve))
pulls(sp.yve, None, _scaled(sp.yve))
pulls(
    sp.hankel1e, None, lambda ct, out, v, z: ct * conj((sp.hankel1e(v - 1, z) - sp.hankel1e(v + 1, z)) / 2 - 1j * out)
)
pulls(
    sp.hankel2e, None, lambda ct, out, v, z: ct * conj((sp.hankel2e(v - 1, z) - sp.hankel2e(v + 1, z)) / 2 + 1j * out)
)


def _airye(ct, out, z):
    """Ai and Ai' are scaled by exp(w), Bi and Bi' by exp(-|Re w|), w = 2/3 z sqrt(z)."""
    ai, ai_slope, bi, bi_slope = out
    root = np.sqrt(np.maximum(z, 0)) if z.dtype.kind != "c" else np.sqrt(z)
    found = _outputs(ct[:2], lambda: ai_slope + root * ai, lambda: z * ai + root * ai_slope)
    found = found + _outputs(ct[2:], lambda: bi_slope, lambda: z * bi)
    sign = np.sign(np.real(2 / 3 * z * root))
    for one, value in zip(ct[2:], (bi, bi_slope), strict=True):
        if one is not None:
            found = found - sign * np.real(conj(one) * value) * conj(root)
    return found


pulls(sp.airye, _airye)
pulls(
    sp.besselpoly,
    lambda ct, out, a, power, v: ct * (sp.besselpoly(a, power + 1, v - 1) - sp.besselpoly(a, power + 1, v + 1)),
    None,
    None,
)


def _struve_rest(v, x):
    return (x / 2) ** v * (sp.rgamma(v + 1.5) / ROOT_PI).astype(x.dtype)


pulls(sp.struve, None, lambda ct, out, v, x: ct / 2 * (sp.struve(v - 1, x) - sp.struve(v + 1, x) + _struve_rest(v, x)))
pulls(
    sp.modstruve,
    None,
    lambda ct, out, v, x: ct / 2 * (sp.modstruve(v - 1, x) + sp.modstruve(v + 1, x) + _struve_rest(v, x)),
)

# Kelvin functions: ber + i bei solves x f'' + f' = i x f, and ker + i kei does. At zero, ber'' is 0 and bei'' 1/2.
pulls(sp.ber, lambda ct, out, x: ct * sp.berp(x))
pulls(sp.bei, lambda ct, out, x: ct * sp.beip(x))
pulls(sp.ker, lambda ct, out, x: ct * sp.kerp(x))
pulls(sp.kei, lambda ct, out, x: ct * sp.keip(x))
pulls(sp.berp, lambda ct, out, x: ct * (-sp.bei(x) - _ratio(out, x)))
pulls(sp.beip, lambda ct, out, x: ct * (sp.ber(x) - np.where(x == 0, 0.5, _ratio(out, x))))
pulls(sp.kerp, lambda ct, out, x: ct * (-sp.kei(x) - out / x))
pulls(sp.keip, lambda ct, out, x: ct * (sp.ker(x) - out / x))

# Parabolic cylinder functions come with their slopes, and solve a linear equation of second order.
pulls(sp.pbdv, None, lambda ct, out, v, x: _outputs(ct, lambda: out[1], lambda: (x * x / 4 - v - 0.5) * out[0]))
pulls(sp.pbvv, None, lambda ct, out, v, x: _outputs(ct, lambda: out[1], lambda: (x * x / 4 - v - 0.5) * out[0]))
pulls(sp.pbwa, None, lambda ct, out, a, x: _outputs(ct, lambda: out[1], lambda: (a - x * x / 4) * out[0]))


def _struve_over(x):
    """The Struve function of order 0 over its variable, which is 2 / pi at 0."""
    zero = x == 0
    return np.where(zero, 2 / np.pi, sp.struve(0.0, x) / np.where(zero, 1, x))


# Integrals, whose slopes are what is integrated.
pulls(sp.iti0k0, lambda ct, out, x: _outputs(ct, lambda: sp.i0(x), lambda: sp.k0(x)))
pulls(sp.itj0y0, lambda ct, out, x: _outputs(ct, lambda: sp.j0(x), lambda: sp.y0(x)))
pulls(sp.it2i0k0, lambda ct, out, x: _outputs(ct, lambda: _ratio(sp.i0(x) - 1, x), lambda: -sp.k0(x) / x))
pulls(sp.it2j0y0, lambda ct, out, x: _outputs(ct, lambda: _ratio(1 - sp.j0(x), x), lambda: -sp.y0(x) / x))
pulls(sp.itstruve0, lambda ct, out, x: ct * sp.struve(0.0, x).astype(ct.dtype))
pulls(sp.it2struve0, lambda ct, out, x: -ct * _struve_over(x).astype(ct.dtype))
pulls(sp.itmodstruve0, lambda ct, out, x: ct * sp.modstruve(0.0, x).astype(ct.dtype))
pulls(
    sp.itairy,
    lambda ct, out, x: _outputs(
        ct,
        lambda: sp.airy(x)[0],
        lambda: sp.airy(x)[2],
        lambda: sp.airy(-x)[0],
        lambda: sp.airy(-x)[2],
    ),
)


def _voigt(ct, out, x, sigma, gamma):
    """The profile is Re w(z) / (sigma sqrt(2 pi)), z = (x + i gamma) / (sigma sqrt(2))."""
    z = (x + 1j * gamma) / (sigma * 2**0.5)
    slope = 2j / ROOT_PI - 2 * z * sp.wofz(z)
    scale = ct / (sigma * ROOT_TAU)
    return slope, z, scale / (sigma * 2**0.5), scale / sigma


def _voigt_by_x(ct, out, x, sigma, gamma):
    slope, _, scale, _ = _voigt(ct, out, x, sigma, gamma)
    return scale * np.real(slope)


def _voigt_by_sigma(ct, out, x, sigma, gamma):
    slope, z, _, scale = _voigt(ct, out, x, sigma, gamma)
    return -ct * out / sigma - scale * np.real(slope * z)


def _voigt_by_gamma(ct, out, x, sigma, gamma):
    slope, _, scale, _ = _voigt(ct, out, x, sigma, gamma)
    return -scale * np.imag(slope)


pulls(sp.voigt_profile, _voigt_by_x, _voigt_by_sigma, _voigt_by_gamma)
pulls(sp.wright_bessel, None, None, lambda ct, out, a, b, x: ct * sp.wright_bessel(a, a + b, x))
pulls(sp.log_wright_bessel, None, None, lambda ct, out, a, b, x: ct * np.exp(sp.log_wright_bessel(a, a + b, x) - out))
pulls(
    sp.radian,
    lambda ct, out, d, m, s: ct * (np.pi / 180),
    lambda ct, out, d, m, s: ct * (np.pi / 180 / 60),
    lambda ct, out, d, m, s: ct * (np.pi / 180 / 3600),
)


def _mathieu(values):
    """Mathieu functions of an angle in degrees, with slopes by the angle in radians: y'' = -(a - 2 q cos 2x) y."""

    def pull(ct, out, m, q, x):
        angle = np.pi / 180 * x
        curve = lambda: -(values(m, q) - 2 * q * np.cos(2 * angle)) * out[0]  # noqa: E731
        return np.pi / 180 * _outputs(ct, lambda: out[1], curve)

    return pull


pulls(sp.mathieu_cem, None, None, _mathieu(sp.mathieu_a))
pulls(sp.mathieu_sem, None, None, _mathieu(sp.mathieu_b))

# Elliptic integrals and functions.


def _ellipkm1_slope(p):
    """With p = 1 - m: near m = 0 by a hypergeometric function, near m = 1 by E and K."""
    far = p > 0.5
    near = np.where(far, 0.5, p)
    k = sp.ellipkm1(near)
    by_integrals = (sp.ellipe(1 - near) - near * k) / (2 * (1 - near) * near)
    return -np.where(far, _ellipk_slope(np.where(far, 1 - p, 0)), by_integrals)


pulls(sp.ellipkm1, lambda ct, out, p: ct * _ellipkm1_slope(p).astype(ct.dtype))


_NEAR = 1e-3


def _sine_powers(phi, series):
    """The sum of `series[k] * J[k + 1]`, where J[k] is the integral of sin**(2 k) from 0 to phi."""
    sine, cosine = np.sin(phi), np.cos(phi)
    total, integral = 0.0, phi
    for k, factor in enumerate(series, 1):
        integral = ((2 * k - 1) * integral - sine ** (2 * k - 1) * cosine) / (2 * k)
        total = total + factor * integral
    return total


def _first_kind_by_m(phi, m):
    """19.4.1 and 19.4.5; near m = 0 the slope of the series of (1 - m sin**2)**(-1/2)."""
    near = np.abs(m) < _NEAR
    small, large = np.where(near, m, 0), np.where(near, 0.5, m)
    series = (1 / 2, 3 / 4 * small, 15 / 16 * small**2, 35 / 32 * small**3, 315 / 256 * small**4)
    root = np.sqrt(1 - large * np.sin(phi) ** 2)
    whole = sp.ellipeinc(phi, large) / (1 - large) - sp.ellipkinc(phi, large)
    whole = whole / (2 * large) - np.sin(2 * phi) / (4 * (1 - large) * root)
    return np.where(near, _sine_powers(phi, series), whole)


def _second_kind_by_m(phi, m):
    """19.4.2; near m = 0 the slope of the series of (1 - m sin**2)**(1/2)."""
    near = np.abs(m) < _NEAR
    small, large = np.where(near, m, 0), np.where(near, 0.5, m)
    series = (-1 / 2, -1 / 4 * small, -3 / 16 * small**2, -5 / 32 * small**3, -35 / 256 * small**4)
    whole = (sp.ellipeinc(phi, large) - sp.ellipkinc(phi, large)) / (2 * large)
    return np.where(near, _sine_powers(phi, series), whole)


pulls(
    sp.ellipkinc,
    lambda ct, out, phi, m: ct / np.sqrt(1 - m * np.sin(phi) ** 2),
    lambda ct, out, phi, m: ct * _first_kind_by_m(phi, m).astype(ct.dtype),
)
pulls(
    sp.ellipeinc,
    lambda ct, out, phi, m: ct * np.sqrt(1 - m * np.sin(phi) ** 2),
    lambda ct, out, phi, m: ct * _second_kind_by_m(phi, m).astype(ct.dtype),
)


def _ellipj_by_u(ct, out, u, m):
    sn, cn, dn, _ = out
    return _outputs(ct, lambda: cn * dn, lambda: -sn * dn, lambda: -m * sn * cn, lambda: dn)


def _ellipj_by_m(ct, out, u, m):
    sn, cn, dn, phase = out
    slope = (-dn * _first_kind_by_m(phase, m)).astype(sn.dtype)
    return _outputs(
        ct,
        lambda: cn * slope,
        lambda: -sn * slope,
        lambda: -(sn * sn + 2 * m * sn * cn * slope) / (2 * dn),
        lambda: slope,
    )


pulls(sp.ellipj, _ellipj_by_u, _ellipj_by_m)
pulls(
    sp.elliprf,
    lambda ct, out, x, y, z: ct * conj(-sp.elliprd(y, z, x) / 6),
    lambda ct, out, x, y, z: ct * conj(-sp.elliprd(x, z, y) / 6),
    lambda ct, out, x, y, z: ct * conj(-sp.elliprd(x, y, z) / 6),
)
pulls(
    sp.elliprc,
    lambda ct, out, x, y: ct * conj(-sp.elliprd(y, y, x) / 6),
    lambda ct, out, x, y: ct * conj(-sp.elliprd(x, y, y) / 3),
)


def _elliprg_slope(x, y, z):
    """In x: from 2 RG = x dRG/dx + y dRG/dy + z dRG/dz and the integral that defines it."""
    return (sp.elliprf(x, y, z) - x / 3 * sp.elliprd(y, z, x)) / 4


pulls(
    sp.elliprg,
    lambda ct, out, x, y, z: ct * conj(_elliprg_slope(x, y, z)),
    lambda ct, out, x, y, z: ct * conj(_elliprg_slope(y, x, z)),
    lambda ct, out, x, y, z: ct * conj(_elliprg_slope(z, x, y)),
)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.3, 0.9, 3)
    z = x + 1j * rng.normal(size=3)
    yield Case(sp.binom, (np.array([4.5, 3.0, 2.0]), np.array([1.5, 5.0, -2.0])))
    yield Case(sp.poch, (x, x[::-1]))
    for function in (sp.jve, sp.yve):
        yield Case(function, (1.5, x))
        yield Case(function, (1.5, z))
    for function in (sp.hankel1e, sp.hankel2e):
        yield Case(function, (1.5, z))
    yield Case(sp.airye, (x,))
    yield Case(sp.airye, (z,))
    yield Case(sp.besselpoly, (x, 1.5, 2.0))
    for function in (sp.struve, sp.modstruve):
        yield Case(function, (1.5, 2 * x))
    kelvin = (sp.ber, sp.bei, sp.ker, sp.kei, sp.berp, sp.beip, sp.kerp, sp.keip)
    integrals = (sp.iti0k0, sp.itj0y0, sp.it2i0k0, sp.it2j0y0, sp.itstruve0, sp.it2struve0, sp.itmodstruve0, sp.itairy)
    for function in (*kelvin, *integrals):
        yield Case(function, (2 * x,), tolerance=1e-5)
    for function in (sp.pbdv, sp.pbvv, sp.pbwa):
        yield Case(function, (1.0, x), tolerance=1e-5)
    yield Case(sp.voigt_profile, (x - 0.5, x, x[::-1]))
    yield Case(sp.wright_bessel, (0.5, 1.5, x))
    yield Case(sp.log_wright_bessel, (0.5, 1.5, x))
    yield Case(sp.radian, (x, x[::-1], 3 * x))
    for function in (sp.mathieu_cem, sp.mathieu_sem):
        yield Case(function, (2, 0.7, 40 * x), tolerance=1e-5)
    yield Case(sp.ellipkm1, (np.array([0.01, 0.4, 0.9]),))
    yield Case(sp.ellipj, (2 * x, np.array([0.0, 0.3, 0.8])))
    for function in (sp.ellipkinc, sp.ellipeinc):
        yield Case(function, (np.array([-0.4, 1.1, 2.5]), np.array([0.0, -0.7, 0.6])))
        yield Case(function, (1.3, np.array([1e-4, -5e-4, 2e-3])))
    for function in (sp.elliprf, sp.elliprg):
        yield Case(function, (x, x[::-1], 2 * x))
    yield Case(sp.elliprc, (x, x[::-1]))
