"""Arithmetic: sums, products, powers, remainders, magnitudes, and the parts of complex numbers.

Kinks (`abs` at 0, powers of 0, remainders at their jumps) are listed in docs/conventions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, computes, conj, pulls, rule

pulls(np.positive, computes("ct", lambda ct, out, x: ct), linear=True)
pulls(np.negative, computes("-ct", lambda ct, out, x: -ct), linear=True)
pulls(np.conjugate, lambda ct, out, x: conj(ct), linear=True)
_same, _negated = computes("ct", lambda ct, out, x, y: ct), computes("-ct", lambda ct, out, x, y: -ct)
pulls(np.add, _same, _same, facts=Facts(adds=1))
pulls(np.subtract, _same, _negated, facts=Facts(adds=-1))
pulls(
    np.multiply,
    computes("ct * y", lambda ct, out, x, y: ct * conj(y)),
    computes("ct * x", lambda ct, out, x, y: ct * conj(x)),
)
pulls(
    np.divide,
    computes("ct / y", lambda ct, out, x, y: ct / conj(y)),
    computes("-ct * (out / y)", lambda ct, out, x, y: -ct * conj(out / y)),
)
pulls(np.reciprocal, lambda ct, out, x: -ct * conj(out * out))
pulls(np.square, lambda ct, out, x: ct * (2 * conj(x)))
pulls(np.sqrt, lambda ct, out, x: 0.5 * ct / conj(out))
pulls(np.cbrt, lambda ct, out, x: ct / (3 * out * out))


def _power_of_base(ct: Any, out: Any, x: Any, y: Any) -> Any:
    """`y * x**(y - 1)`, which is 0 for the exponent 0, also at the base 0."""
    if isinstance(y, (int, float, complex)):
        if y == 0:
            return np.zeros_like(ct)
        if y == 1:
            return ct
        if y == 2:
            return ct * (2 * conj(x))
        if np.ndim(x) == 0:
            # Python's own `0.0 ** -0.5` raises; the difference is complex where a negative base has a complex power.
            return ct * conj(y * np.power(x - np.zeros_like(ct), y - 1))
        return ct * conj(y * x ** (y - 1))
    constant = (x == 0) & (y == 0)
    # A float one, so that an unsigned exponent 0 does not wrap around, in the precision of the power.
    lowered = y - np.ones_like(ct)
    return np.where(constant, 0, ct * conj(y * np.where(constant, 1, x) ** lowered))


def _power_of_exponent(ct: Any, out: Any, x: Any, y: Any) -> Any:
    """`log(x) * x**y`; nothing at the base 0 with `y >= 0`, where `0**y` is constant and does not depend on `y`."""
    constant = (x == 0) & (np.real(y) >= 0)
    # In the dtype of the power: if that is complex, a negative base has a logarithm too, with its zeros' signs.
    base = np.where(constant, 1, x - np.zeros_like(out))
    return np.where(constant, 0, ct * conj(out * np.log(base)))


pulls(np.power, computes("ct * (2 * x)", _power_of_base), _power_of_exponent)
pulls(np.float_power, _power_of_base, _power_of_exponent)


def _absolute_of(ct: Any, out: Any, x: Any) -> Any:
    """The unit number `x / |x|`, 0 at 0."""
    if x.dtype.kind != "c":
        return ct * np.sign(x)
    # Not taken from `out`, which the real case would then keep for nothing.
    magnitude = np.absolute(x)
    return ct * (x / np.where(magnitude == 0, 1, magnitude))


pulls(np.absolute, _absolute_of)
pulls(np.fabs, lambda ct, out, x: ct * np.sign(x))


def _sign_of(ct: Any, out: Any, x: Any) -> Any:
    """Zero for real numbers; for complex ones `sign` is `x / |x|`, which turns with its argument."""
    if x.dtype.kind != "c":
        return np.zeros_like(ct)
    magnitude = np.absolute(x)
    away = magnitude != 0
    turning = ct - out * np.real(ct * np.conj(out))
    return np.where(away, turning, 0) / np.where(away, magnitude, 1)


pulls(np.sign, _sign_of, facts=Facts(jumps=True))

pulls(
    np.fmod,
    lambda ct, out, x, y: ct,
    lambda ct, out, x, y: -ct * np.rint((x - out) / y),
)
pulls(
    np.remainder,
    lambda ct, out, x, y: ct,
    lambda ct, out, x, y: -ct * np.floor_divide(x, y),
)
pulls(np.ldexp, lambda ct, out, x, exponent: np.ldexp(ct, exponent))
pulls(np.nextafter, lambda ct, out, x, towards: ct, lambda ct, out, x, towards: np.zeros_like(ct))


@rule(np.divmod)
def divmod_(ct: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    quotient, of_remainder = out[0], ct[1]
    return of_remainder, None if of_remainder is None else -of_remainder * quotient


@rule(np.modf, structure="linear")
def modf(ct: Any, out: Any, x: Any) -> Any:
    return ct[0]


@rule(np.frexp, structure="linear")
def frexp(ct: Any, out: Any, x: Any) -> Any:
    return None if ct[0] is None else np.ldexp(ct[0], -out[1])


@rule(np.real, linear=True, reads=())
def real(ct: Any, out: Any, val: Any) -> Any:
    return ct


@rule(np.imag, linear=True, reads=())
def imag(ct: Any, out: Any, val: Any) -> Any:
    return ct * 1j if val.dtype.kind == "c" else None


@rule(np.angle, facts=Facts(precision="inexact"))
def angle(ct: Any, out: Any, z: Any, deg: bool = False) -> Any:
    """Turning by `ct` is a step of `ct / |z|` across `z`; 0 at 0, and for real `z`, whose angle jumps."""
    if z.dtype.kind != "c":
        return None
    magnitude = np.absolute(z)
    safe = np.where(magnitude == 0, 1, magnitude)
    return ct * (z / safe / safe) * (180j / math.pi if deg else 1j)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    yield from _unary_cases(rng)
    yield from _binary_cases(rng)
    yield from _power_cases(rng)
    real_array, complex_array = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))
    for function in (np.real, np.imag, np.angle, np.real_if_close):
        yield Case(function, (complex_array,))
        yield Case(function, (complex_array.T[::2],))
        yield Case(function, (real_array,))
    yield Case(np.angle, (complex_array,), {"deg": True})


def _unary_cases(rng: np.random.Generator) -> Iterator[Case]:
    x = rng.uniform(0.5, 2.0, (3, 4))
    everywhere = (np.positive, np.negative, np.conjugate, np.square, np.reciprocal, np.sqrt, np.absolute, np.sign)
    for function in (*everywhere, np.cbrt, np.fabs, np.modf, np.frexp):
        outputs: Callable[..., Any] | None = _first_output if function.nout == 2 else None
        yield Case(function, (x,), loss=outputs)
        yield Case(function, (x.T[::2],), loss=outputs)
        yield Case(function, (np.float64(0.7),), loss=outputs)
        yield Case(function, (np.zeros((0, 2)),), loss=outputs)
        yield Case(function, (x[0].astype(np.float32),), loss=outputs, tolerance=1e-2)
    for function in everywhere:
        yield Case(function, (x + 1j * rng.normal(size=x.shape),))
    for function in (np.absolute, np.fabs, np.negative, np.sign):
        yield Case(function, (-x,))


def _binary_cases(rng: np.random.Generator) -> Iterator[Case]:
    x, y = rng.normal(size=(3, 4)), rng.uniform(0.5, 2.0, 4)
    for function in (np.add, np.subtract, np.multiply, np.divide):
        yield Case(function, (x, y))
        yield Case(function, (x, y[0]))
        yield Case(function, (x[:, :1], y[::-1]))
        yield Case(function, (2.0, y))
        yield Case(function, (x, 3))
        yield Case(function, (x[0], np.arange(1, 5)))
        yield Case(function, (x[:0], y))
        yield Case(function, (x.astype(np.float32), y.astype(np.float32)), tolerance=1e-2)
        yield Case(function, (x + 1j, y * (1 - 2j)))
        yield Case(function, (x, y * (1 - 2j)))
    jumps_apart = np.array([[5.3, -2.2, 0.9], [-7.1, 4.4, 2.9]])
    for function in (np.fmod, np.remainder, np.divmod):
        outputs = _second_output if function.nout == 2 else None
        yield Case(function, (jumps_apart, np.array([1.7, -1.3, 2.5])), loss=outputs)
        yield Case(function, (jumps_apart[:, ::2], 1.5), loss=outputs)
        yield Case(function, (jumps_apart, np.array([[1.7], [-1.3]])), loss=outputs)
    yield Case(np.ldexp, (x, np.array([1, -2, 0, 3])))
    yield Case(np.ldexp, (x[0, 0], 2))
    yield Case(np.nextafter, (x, y))


def _power_cases(rng: np.random.Generator) -> Iterator[Case]:
    x, y = rng.uniform(0.5, 2.0, (2, 3)), rng.normal(size=3)
    for function in (np.power, np.float_power):
        yield Case(function, (x, y))
        yield Case(function, (x[:, :1], y))
        yield Case(function, (2.5, y))
        for exponent in (0, 1, 2, 3, -1, 0.5, -1.5, 2 - 1j):
            yield Case(function, (x, exponent))
        for exponent in (0, 2, 3.0):
            yield Case(function, (y, exponent))
        yield Case(function, (x + 1j, y + 0.5j))
        yield Case(function, (-x, y + 0.5j))
        yield Case(function, (y, np.array([2.0, 3.0, 0.0])[None].repeat(2, 0).astype(np.int64)))
    yield Case(np.power, (x.astype(np.float32), 3), tolerance=1e-2)
    yield Case(np.power, (np.array([0.0, 2.0]), np.array([0, 1], np.uint8)))


def _first_output(out: Any) -> Any:
    return np.sum(out[0] ** 2)


def _second_output(out: Any) -> Any:
    return np.sum(out[1] ** 2)
