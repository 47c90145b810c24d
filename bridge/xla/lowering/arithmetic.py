"""Arithmetic with the derivatives of docs/conventions.md at kinks and poles, and with NumPy's values.

XLA's values differ for complex numbers, and for integers at zero divisors, long exponents and the least integer.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.xla.lowering.complex_values import finite, joined, of_complex, signed, tabled, valued
from bridge.xla.lowering.elementwise import converted
from bridge.xla.lowering.register import entry
from bridge.xla.lowering.transcendental import exp, log_of


@entry("np.power", keeps_integers=True)
def power(x: Any, y: Any) -> Any:
    """Raise to a power; the exponent 0.5 of an array is a root, which is NaN of -inf."""
    return jnp.sqrt(x) if type(y) is float and y == 0.5 and x.dtype.kind == "f" and x.ndim else float_power(x, y)


@entry("np.float_power", keeps_integers=True)
def float_power(x: Any, y: Any) -> Any:
    """Known integer exponents are products; `0**y` with `y >= 0` depends on nothing, also where inf arrives."""
    if x.dtype.kind == "c":
        if type(y) is float and y == 0.5:
            return complex_sqrt(x)
        if type(y) is float:
            y = int(y) if y in (0.0, 1.0, 2.0) else jnp.asarray(y, x.dtype)
        if type(y) is int:
            return valued(partial(whole_power, n=y), lambda x: lax.integer_pow(x, y))(x)
        return valued(complex_power, _power)(x, y)
    if type(y) is int:
        return lax.integer_pow(x, y)
    return integer_power(x, y) if x.dtype.kind != "f" else _power(x, y)


def _power(x: Any, y: Any) -> Any:
    constant = (x == 0) & (jnp.real(y) >= 0)
    exponent = jnp.where(constant, jax.lax.stop_gradient(y), y)
    return jnp.power(jnp.where(constant & (y == 0), jax.lax.stop_gradient(x), x), exponent)


@entry("np.floor_divide")
def floor_divide(x: Any, y: Any) -> Any:
    """Divide and round down: 0 where integers are divided by 0; floats from the remainder, rounded as in NumPy."""
    if x.dtype.kind in "iu":
        found = jnp.floor_divide(x, y)
        return jnp.where(y == 0, np.zeros((), found.dtype), found)
    x, y = lax.stop_gradient(x), lax.stop_gradient(y)
    rest = lax.rem(*jnp.broadcast_arrays(x, y))
    quotient = (x - rest) / y - jnp.where((rest != 0) & ((y < 0) != (rest < 0)), 1, 0).astype(x.dtype)
    whole = jnp.floor(quotient)
    whole = jnp.where(quotient - whole > 0.5, whole + 1, whole)
    return jnp.where(y == 0, x / y, jnp.where(quotient == 0, jnp.copysign(0, x / y).astype(x.dtype), whole))


@entry("np.divmod")
def divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the quotient, as `floor_divide` rounds it, and the remainder."""
    return floor_divide(x, y), jnp.remainder(x, y)


@entry("np.reciprocal")
def reciprocal(x: Any) -> Any:
    """Return 1 / x; of integers, that of floats, cast."""
    if x.dtype.kind == "c":
        return complex_reciprocal(x)
    return jnp.reciprocal(x) if x.dtype.kind == "f" else converted(1.0 / x.astype(float), x.dtype)


@entry("np.absolute", "np.fabs")
def absolute(x: Any) -> Any:
    """Return magnitudes, whose derivative at 0 is 0, also of complex numbers."""
    if x.dtype.kind == "f":
        return x * jax.lax.stop_gradient(jnp.sign(x))
    if x.dtype.kind != "c":
        return jnp.abs(x)
    away = x != 0
    found = jnp.where(away, jnp.abs(jnp.where(away, x, 1)), 0)
    return jnp.where(jnp.isinf(x), jnp.inf, found)


@entry("np.sign")
def sign(x: Any) -> Any:
    """Return signs; of a complex number with one infinite part the sign of that part, with two of them NaN."""
    if x.dtype.kind != "c":
        return jnp.sign(x)
    is_real, is_imaginary = jnp.isinf(x.real), jnp.isinf(x.imag)
    zero = jnp.zeros_like(x.real)
    finite = jnp.where(is_real | is_imaginary, 1, x)
    found = jnp.where(is_real, lax.complex(jnp.sign(x.real), zero), jnp.sign(finite))
    found = jnp.where(is_imaginary, lax.complex(zero, jnp.sign(x.imag)), found)
    return jnp.where(is_real & is_imaginary, jnp.asarray(complex(np.nan, np.nan), x.dtype), found)


@entry("np.nextafter")
@jax.custom_jvp
def _nextafter(x: Any, y: Any) -> Any:
    return jnp.nextafter(x, y)


@_nextafter.defjvp
def _nextafter_moves_with_x(primals: Any, tangents: Any) -> Any:
    out = _nextafter(*primals)
    return out, jnp.broadcast_to(tangents[0], out.shape)


@of_complex("sqrt")
def _sqrt(z: Any) -> Any:
    found = jnp.sqrt(finite(z))
    return tabled("sqrt", z, joined(found.real, signed(found.imag, z.imag)))


complex_sqrt = valued(_sqrt, jnp.sqrt)


@of_complex("square")
def _square(z: Any) -> Any:
    x, y = z.real, z.imag
    return joined(x * x - y * y, x * y + y * x)


def _reciprocal(z: Any) -> Any:
    """Return 1 / z by the larger part, as NumPy does."""
    x, y = z.real, z.imag
    is_real = jnp.abs(y) <= jnp.abs(x)
    ratio = jnp.where(is_real, y / x, x / y)
    below = jnp.where(is_real, x + y * ratio, x * ratio + y)
    return joined(jnp.where(is_real, 1, ratio) / below, jnp.where(is_real, -ratio, -1) / below)


complex_reciprocal = valued(_reciprocal, jnp.reciprocal)


@of_complex("divide")
def _divide(a: Any, b: Any) -> Any:
    """Divide complex numbers by the larger part of the divisor, as NumPy does."""
    x, y = b.real, b.imag
    is_real = jnp.abs(x) >= jnp.abs(y)
    is_zero = (x == 0) & (y == 0)
    ratio = jnp.where(is_real, y / x, x / y)
    scale = 1 / jnp.where(is_real, x + y * ratio, y + x * ratio)
    re = jnp.where(is_real, a.real + a.imag * ratio, a.real * ratio + a.imag) * scale
    im = jnp.where(is_real, a.imag - a.real * ratio, a.imag * ratio - a.real) * scale
    return joined(jnp.where(is_zero, a.real / jnp.abs(x), re), jnp.where(is_zero, a.imag / jnp.abs(x), im))


def complex_power(a: Any, b: Any) -> Any:
    """As NumPy has it: integers up to 100 by squares, others through the logarithm, as C does."""
    a, b = jnp.broadcast_arrays(a, b)
    whole = jnp.where(jnp.abs(b.real) < 100, b.real, 0).astype(np.int32)
    by_squares = (b.imag == 0) & (whole == b.real) & (whole != 0)
    square, found = a, jnp.ones_like(a)
    for bit in range(7):
        found = jnp.where((jnp.abs(whole) >> bit) & 1 == 1, _product(found, square), found)
        square = square * square
    found = jnp.where(whole < 0, _divide(jnp.ones_like(found), found), found)
    found = jnp.where(whole == 1, a, jnp.where(whole == 2, a * a, jnp.where(whole == 3, a * (a * a), found)))
    found = jnp.where(by_squares, found, exp(_product_of_c(b, log_of(a))))
    undefined = jnp.asarray(complex(np.nan, np.nan), found.dtype)
    found = jnp.where(a == 0, jnp.where(b.real > 0, jnp.zeros_like(found), undefined), found)
    return jnp.where(b == 0, jnp.ones_like(found), found)


def _product(a: Any, b: Any) -> Any:
    """By parts: of complex numbers XLA leaves out a factor 1, which makes NaNs of infinities."""
    return joined(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def whole_power(a: Any, n: int) -> Any:
    """Raise to a known integer exponent by products of parts."""
    known = {0: jnp.ones_like, 1: lambda a: a, 2: _square, 3: lambda a: a * (a * a), -1: _reciprocal}
    if n in known:
        return known[n](a)
    if abs(n) >= 100:
        return complex_power(a, jnp.asarray(n, a.dtype))
    square, found, left = a, jnp.ones_like(a), abs(n)
    while left:
        found = _product(found, square) if left & 1 else found
        square, left = square * square, left >> 1
    found = _divide(jnp.ones_like(found), found) if n < 0 else found
    return jnp.where(a == 0, jnp.asarray(0 if n > 0 else complex(np.nan, np.nan), found.dtype), found)


def _product_of_c(a: Any, b: Any) -> Any:
    """A product as C has it: an infinite number times one that is not zero is infinite."""
    plain = a * b
    lost = jnp.isnan(plain.real) & jnp.isnan(plain.imag)
    far_a, far_b = (jnp.isinf(z.real) | jnp.isinf(z.imag) for z in (a, b))
    parts = [x * y for x in (a.real, a.imag) for y in (b.real, b.imag)]
    overflows = jnp.isinf(parts[0]) | jnp.isinf(parts[1]) | jnp.isinf(parts[2]) | jnp.isinf(parts[3])
    a = jnp.where(far_a, _boxed(a), jnp.where(far_b | overflows, _without_nans(a), a))
    b = jnp.where(far_b, _boxed(b), jnp.where(far_a | overflows, _without_nans(b), b))
    re = jnp.inf * (a.real * b.real - a.imag * b.imag)
    im = jnp.inf * (a.real * b.imag + a.imag * b.real)
    return jnp.where(lost & (far_a | far_b | overflows), joined(re, im), plain)


def _boxed(z: Any) -> Any:
    """Which parts are infinite, with their signs."""
    return joined(*(jnp.copysign(jnp.where(jnp.isinf(x), 1.0, 0.0).astype(x.dtype), x) for x in (z.real, z.imag)))


def _without_nans(z: Any) -> Any:
    return joined(*(jnp.where(jnp.isnan(x), jnp.copysign(jnp.zeros_like(x), x), x) for x in (z.real, z.imag)))


@entry("np.gcd")
def gcd(x: Any, y: Any) -> Any:
    """Return greatest common divisors of unsigned magnitudes: that of the least integer is not in its dtype."""
    a, b = jnp.broadcast_arrays(_magnitude(x), _magnitude(y))

    def step(state: Any) -> Any:
        a, b = state
        return jnp.where(b == 0, a, b), jnp.where(b == 0, b, lax.rem(a, jnp.maximum(b, 1)))

    found, _ = lax.while_loop(lambda state: jnp.any(state[1] != 0), step, (a, b))
    return lax.convert_element_type(found, x.dtype)


@entry("np.lcm")
def lcm(x: Any, y: Any) -> Any:
    """Return least common multiples, 0 where an operand is 0."""
    a, b = _magnitude(x), _magnitude(y)
    common = gcd(a, b)
    return lax.convert_element_type(jnp.where(common == 0, 0, a // jnp.maximum(common, 1) * b), x.dtype)


def _magnitude(x: Any) -> Any:
    unsigned = lax.convert_element_type(x, f"u{x.dtype.itemsize}")
    return jnp.where(x < 0, -unsigned, unsigned) if x.dtype.kind == "i" else unsigned


def integer_power(x: Any, y: Any) -> Any:
    """A power of integers, by squares: as many as the longest exponent has digits."""
    x, y = jnp.broadcast_arrays(x, y)

    def step(state: Any) -> Any:
        found, square, left = state
        return jnp.where(left & 1 == 1, found * square, found), square * square, left >> 1

    start = jnp.ones_like(x), x, jnp.maximum(y, 0)
    found, _, _ = lax.while_loop(lambda state: jnp.any(state[2] != 0), step, start)
    return found


entry("np.fix")(jnp.trunc)
