"""Bessel, Airy, hypergeometric and elliptic functions, and integrals, of `scipy.special`.

Derivatives with respect to orders are not known in closed form and have no pull.
Formulas are those of the NIST Digital Library of Mathematical Functions, dlmf.nist.gov.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, conj, needs, pulls

sp = needs("scipy.special")


def _outputs(ct, *derivatives):
    """The cotangent through those of a function's outputs that have one; derivatives are given as thunks."""
    return sum(one * conj(derivative()) for one, derivative in zip(ct, derivatives, strict=True) if one is not None)


def _ive(ct, out, v, z):
    """The factor exp(-|Re z|) makes it a function of the real and the imaginary part, not of z."""
    slope = (sp.ive(v - 1, z) + sp.ive(v + 1, z)) / 2
    return ct * conj(slope) - np.sign(np.real(z)) * np.real(conj(ct) * out)


# Bessel functions: of integer order 0 and 1, of any order, exponentially scaled.
pulls(sp.j0, lambda ct, out, x: -ct * sp.j1(x))
pulls(sp.j1, lambda ct, out, x: ct * (sp.j0(x) - sp.jv(2.0, x)) / 2)
pulls(sp.y0, lambda ct, out, x: -ct * sp.y1(x))
pulls(sp.y1, lambda ct, out, x: ct * (sp.y0(x) - sp.yv(2.0, x)) / 2)
pulls(sp.i0, lambda ct, out, x: ct * sp.i1(x))
pulls(sp.i1, lambda ct, out, x: ct * (sp.i0(x) + sp.iv(2.0, x)) / 2)
pulls(sp.k0, lambda ct, out, x: -ct * sp.k1(x))
pulls(sp.k1, lambda ct, out, x: -ct * (sp.k0(x) + sp.kv(2.0, x)) / 2)
pulls(sp.i0e, lambda ct, out, x: ct * (sp.i1e(x) - np.sign(x) * out))
pulls(sp.i1e, lambda ct, out, x: ct * ((sp.i0e(x) + sp.ive(2.0, x)) / 2 - np.sign(x) * out))
pulls(sp.k0e, lambda ct, out, x: ct * (out - sp.k1e(x)))
pulls(sp.k1e, lambda ct, out, x: ct * (out - (sp.k0e(x) + sp.kve(2.0, x)) / 2))
pulls(sp.yn, None, lambda ct, out, n, x: ct * (sp.yv(n - 1.0, x) - sp.yv(n + 1.0, x)) / 2)
pulls(sp.kn, None, lambda ct, out, n, x: -ct * (sp.kv(n - 1.0, x) + sp.kv(n + 1.0, x)) / 2)
pulls(sp.jv, None, lambda ct, out, v, z: ct * conj(sp.jv(v - 1, z) - sp.jv(v + 1, z)) / 2)
pulls(sp.yv, None, lambda ct, out, v, z: ct * conj(sp.yv(v - 1, z) - sp.yv(v + 1, z)) / 2)
pulls(sp.iv, None, lambda ct, out, v, z: ct * conj(sp.iv(v - 1, z) + sp.iv(v + 1, z)) / 2)
pulls(sp.kv, None, lambda ct, out, v, z: -ct * conj(sp.kv(v - 1, z) + sp.kv(v + 1, z)) / 2)
pulls(sp.kve, None, lambda ct, out, v, z: ct * conj(out - (sp.kve(v - 1, z) + sp.kve(v + 1, z)) / 2))
pulls(sp.ive, None, _ive)
pulls(sp.hankel1, None, lambda ct, out, v, z: ct * conj(sp.hankel1(v - 1, z) - sp.hankel1(v + 1, z)) / 2)
pulls(sp.hankel2, None, lambda ct, out, v, z: ct * conj(sp.hankel2(v - 1, z) - sp.hankel2(v + 1, z)) / 2)


def _airy(ct, out, z):
    """Of Ai, Ai', Bi, Bi': each is the derivative of the one before, and f'' = z f."""
    ai, ai_slope, bi, bi_slope = out
    return _outputs(ct, lambda: ai_slope, lambda: z * ai, lambda: bi_slope, lambda: z * bi)


pulls(sp.airy, _airy)

# Integrals.
pulls(sp.exp1, lambda ct, out, x: ct * conj(-np.exp(-x) / x))
pulls(sp.expi, lambda ct, out, x: ct * conj(np.exp(x) / x))
pulls(
    sp.expn,
    None,
    lambda ct, out, n, x: ct * np.where(n == 0, -out * (1 + 1 / x), -sp.expn(np.maximum(n - 1, 0), x)),
)
pulls(
    sp.sici,
    lambda ct, out, x: _outputs(ct, lambda: np.sinc(x / np.pi), lambda: np.cos(x) / x),
)
pulls(
    sp.shichi,
    lambda ct, out, x: _outputs(ct, lambda: sp.hyp0f1(1.5, x * x / 4), lambda: np.cosh(x) / x),
)


def _spence_slope(z):
    near = np.abs(z - 1) < 0.5
    series = sp.hyp2f1(1.0, 1.0, 2.0, np.where(near, 1 - z, 0))
    return np.where(near, -series, np.log(z) / np.where(near, 1, 1 - z))


pulls(sp.spence, lambda ct, out, z: ct * conj(_spence_slope(z)).astype(ct.dtype))

# Hypergeometric functions, and the elliptic integrals that are such.
pulls(sp.hyp0f1, None, lambda ct, out, b, z: ct * conj(sp.hyp0f1(b + 1, z) / b))
pulls(sp.hyp1f1, None, None, lambda ct, out, a, b, z: ct * conj(sp.hyp1f1(a + 1, b + 1, z) * a / b))
pulls(
    sp.hyp2f1,
    *(None, None, None),
    lambda ct, out, a, b, c, z: ct * conj(sp.hyp2f1(a + 1, b + 1, c + 1, z) * (a * b / c)),
)
pulls(sp.hyperu, None, None, lambda ct, out, a, b, x: -ct * a * sp.hyperu(a + 1, b + 1, x))


def _ellipk_slope(m):
    return np.pi / 8 * sp.hyp2f1(1.5, 1.5, 2.0, m)


def _agm_slope(ct, out, a, b):
    """Derivative in `a` of pi (a + b) / (4 K(m)), where sqrt(m) = (a - b) / (a + b)."""
    zero = out == 0
    total = np.where(zero, 1, a + b)
    ratio = np.where(zero, 0, a - b) / total
    inner = 1 - _ellipk_slope(ratio * ratio) / sp.ellipk(ratio * ratio) * 4 * ratio * b / total
    return np.where(zero, np.where(a == 0, np.inf, 0), out / total * inner).astype(ct.dtype)


pulls(sp.ellipk, lambda ct, out, m: ct * _ellipk_slope(m).astype(ct.dtype))
pulls(sp.ellipe, lambda ct, out, m: ct * (-np.pi / 8 * sp.hyp2f1(0.5, 1.5, 2.0, m)).astype(ct.dtype))
pulls(
    sp.agm,
    lambda ct, out, a, b: ct * _agm_slope(ct, out, a, b),
    lambda ct, out, a, b: ct * _agm_slope(ct, out, b, a),
)

# The inverse of w exp(w), and that of w + log(w).
pulls(sp._ufuncs._lambertw, lambda ct, out, z, k, tolerance: ct / conj(np.exp(out) * (1 + out)))
pulls(sp.wrightomega, lambda ct, out, z: ct * conj(out / (1 + out)))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.2, 0.9, (2, 3))
    z = rng.uniform(0.3, 1.0, 3) + 1j * rng.normal(size=3)
    for function in (sp.j0, sp.j1, sp.y0, sp.y1, sp.i0, sp.i1, sp.k0, sp.k1, sp.i0e, sp.i1e, sp.k0e, sp.k1e):
        yield Case(function, (3 * x,))
        yield Case(function, (x[:, ::2].astype(np.float32),), tolerance=2e-2)
    for function in (sp.j0, sp.j1, sp.i0, sp.i1):
        yield Case(function, (np.array([0.0, -0.7, 5.0]),))
    for function in (sp.jv, sp.yv, sp.iv, sp.kv, sp.kve, sp.ive, sp.hankel1, sp.hankel2):
        yield Case(function, (1.5, 3 * x))
        yield Case(function, (2, x[0]))
    for function in (sp.jv, sp.yv, sp.iv, sp.kv, sp.kve, sp.ive, sp.hankel1, sp.hankel2):
        yield Case(function, (1.5, z))
    for function in (sp.yn, sp.kn, sp.expn):
        yield Case(function, (np.array([0, 1, 3]), x))
    for function in (sp.airy, sp.exp1, sp.expi, sp.sici, sp.shichi, sp.spence, sp.wrightomega):
        yield Case(function, (2 * x,))
        yield Case(function, (z,))
    yield Case(sp.spence, (np.float64(1.0),))
    for array in (x, z):
        yield Case(sp.hyp0f1, (1.5, array))
        yield Case(sp.hyp1f1, (0.5, 1.5, array))
        yield Case(sp.hyp2f1, (0.5, 1.2, 2.5, array / 2))
        yield Case(sp._ufuncs._lambertw, (array, 0, 1e-8))
    yield Case(sp.hyperu, (0.5, 1.2, x))
    yield Case(sp.ellipk, (np.array([-3.0, 0.0, 0.6]),))
    yield Case(sp.ellipe, (np.array([-3.0, 0.0, 0.6]),))
    yield Case(sp.ellipkinc, (x, 0.4))
    yield Case(sp.ellipeinc, (x, 0.4))
    yield Case(sp.agm, (x, np.array([0.2, 1.0, 2.5])))
    yield Case(sp.agm, (np.array([1.0, -2.0]), np.array([1.0, -0.5])))
