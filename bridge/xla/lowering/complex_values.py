"""What functions of complex numbers are where parts are infinite, NaN or zero, and on branch cuts: NumPy's values.

XLA computes them where both parts are finite. Elsewhere C says what they are, by the kinds of the parts alone; a table
of what NumPy gives for each pair of kinds is made once. Derivatives are JAX's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.xla.lowering.register import entry

Values = Callable[..., Any]

_KINDS = np.array([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan])


def valued(values: Values, plain: Values) -> Values:
    """A function with the values of one and the derivatives of another."""

    @jax.custom_jvp
    def found(*operands: Any) -> Any:
        return values(*operands)

    @found.defjvp
    def _moves(primals: Any, tangents: Any) -> Any:
        return found(*primals), jax.jvp(plain, primals, tangents)[1]

    made: Values = found
    return made


def of_complex(name: str, **how: Any) -> Callable[[Values], Any]:
    """The decorated function gives the values of a ufunc of complex numbers; of real ones it is what it was."""
    plain = getattr(jnp, name)

    def register(values: Values) -> Any:
        complex_one = valued(values, plain)

        def run(*operands: Any) -> Any:
            return (complex_one if operands[0].dtype.kind == "c" else plain)(*operands)

        # Of the file that says what it is of complex numbers.
        run.__module__ = values.__module__
        entry(f"np.{name}", direct=True, **how)(run)
        return values

    return register


def joined(re: Any, im: Any) -> Any:
    """A complex number of its parts."""
    return lax.complex(*jnp.broadcast_arrays(re, im))


def is_finite(z: Any) -> Any:
    """Whether both parts are."""
    return jnp.isfinite(z.real) & jnp.isfinite(z.imag)


@cache
def table_of(name: str, dtype: Any) -> np.ndarray:
    """What NumPy gives for each kind of real part, a row, and of imaginary part."""
    z = np.empty((_KINDS.size, _KINDS.size), dtype)
    z.real, z.imag = _KINDS[:, np.newaxis], _KINDS
    with np.errstate(all="ignore"):
        found: np.ndarray = getattr(np, name)(z)
    return found


def tabled(name: str, z: Any, found: Any) -> Any:
    """`found` where both parts are finite, and elsewhere what the table says."""
    table = table_of(name, z.dtype)
    row, column = kind_of(z.real), kind_of(z.imag)
    return jnp.where(is_finite(z), found, jnp.asarray(table.reshape(-1))[row * _KINDS.size + column])


def kind_of(x: Any) -> Any:
    """The row or the column of the table for a part."""
    sign = jnp.where(jnp.signbit(x), -1, 1)
    size = jnp.where(jnp.isinf(x), 3, jnp.where(x == 0, 1, 2))
    # -inf, negative, -0, 0, positive, inf: 0 to 5.
    ordered = jnp.where(sign < 0, 3 - size, 2 + size)
    return jnp.where(jnp.isnan(x), 6, ordered)


def finite(z: Any) -> Any:
    """The same where both parts are finite, and elsewhere a number that harms nobody."""
    return jnp.where(is_finite(z), z, jnp.asarray(0.5 + 0.5j, z.dtype))


def signed(size: Any, like: Any) -> Any:
    """A size with the sign of something else, which may be zero."""
    return jnp.copysign(jnp.abs(size), like)


def in_a_quadrant(z: Any) -> Any:
    """The same with positive parts: on a branch cut, the signs of zeros say on which side it is."""
    z = finite(z)
    return joined(jnp.abs(z.real), jnp.abs(z.imag))


def where_it_turns(name: str, z: Any, found: Any) -> Any:
    """`found` if the part that says how far it turns is finite and the other is a number, else what the table says."""
    table = jnp.asarray(table_of(name, z.dtype).reshape(-1))
    turns, grows = (z.real, z.imag) if name in ("sin", "cos", "tan") else (z.imag, z.real)
    special = ~jnp.isfinite(turns) | jnp.isnan(grows)
    return jnp.where(special, table[kind_of(z.real) * _KINDS.size + kind_of(z.imag)], found)
