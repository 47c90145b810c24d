"""Equations computed once more: with other values, or as they are, but each thing once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal

_INLINED = 12
"""Equations of a jitted function that is looked into."""

Values = dict[Any, Any]


def followed(equations: Iterable[Any], values: Values) -> None:
    """Compute equations, adding to the values."""
    for one in equations:
        values.update(zip(one.outvars, _computed(one, [value_of(atom, values) for atom in one.invars]), strict=True))


def value_of(atom: Any, values: Values) -> Any:
    """The value of a number or a name."""
    return _number(atom) if isinstance(atom, Literal) else values[atom]


def _computed(equation: Any, values: Sequence[Any]) -> Sequence[Any]:
    """The results of an equation for these operands."""
    params = equation.primitive.get_bind_params(equation.params)
    # Before JAX 0.10 functions among the parameters come apart from the others.
    functions, params = params if isinstance(params, tuple) else ([], params)
    found = equation.primitive.bind(*functions, *values, **params)
    return found if equation.primitive.multiple_results else [found]


def _number(literal: Any) -> Any:
    return np.asarray(literal.val, literal.aval.dtype)[()]


def plain(jaxpr: Any) -> Any:
    """A body with each thing computed once, and small functions looked into."""
    avals = [jax.ShapeDtypeStruct(one.aval.shape, one.aval.dtype) for one in jaxpr.invars]
    made: dict[Any, Any] = {}
    kept: list[Any] = []

    def known(x: Any) -> Any:
        return (str(x.dtype), x.item()) if isinstance(x, (np.ndarray, np.generic)) and x.ndim == 0 else id(x)

    def run(inner: Any, given: Sequence[Any]) -> list[Any]:
        env = dict(zip(inner.invars, given, strict=True))

        def read(atom: Any) -> Any:
            return _number(atom) if isinstance(atom, Literal) else env[atom]

        for one in inner.eqns:
            values = list(map(read, one.invars))
            called = one.params.get("jaxpr") if one.primitive.name in ("jit", "pjit") else None
            if called is not None and len(called.jaxpr.eqns) <= _INLINED and not called.consts:
                env.update(zip(one.outvars, run(called.jaxpr, values), strict=True))
                continue
            key: Any = (one.primitive, tuple(map(known, values)), repr(one.params))
            if one.effects or any(map(_is_program, one.params.values())):
                key = object()
            if key not in made:
                made[key] = _computed(one, values)
                kept.append(values)
            env.update(zip(one.outvars, made[key], strict=True))
        return list(map(read, inner.outvars))

    found = jax.make_jaxpr(lambda *values: run(jaxpr, values))(*avals)
    assert not found.consts
    return found.jaxpr


def _is_program(parameter: Any) -> bool:
    """Whether a parameter of an equation may hold more than it shows."""
    if isinstance(parameter, (tuple, list)):
        return any(map(_is_program, parameter))
    return hasattr(parameter, "eqns") or hasattr(parameter, "jaxpr") or isinstance(parameter, FunctionType)
