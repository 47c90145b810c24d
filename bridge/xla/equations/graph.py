"""The equations of a program as a graph: the program with some of them replaced, and equations computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import FunctionType
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from bridge.xla.tracing.kernels import LOOP


@dataclass(frozen=True)
class Replacement:
    """What is to stand for an equation: `function` of the values of `operands` gives the list of its results.

    What it gives beyond these are results of the program.
    """

    function: Callable[..., list[Any]]
    operands: tuple[Any, ...]


class Graph:
    """Which equation makes each value of a program, and which ones use it (None stands for its results)."""

    def __init__(self, jaxpr: Any) -> None:
        self.jaxpr = jaxpr
        self.makers: dict[Any, Any] = {out: one for one in jaxpr.eqns for out in one.outvars}
        self.users: dict[Any, list[Any]] = {}
        for one in jaxpr.eqns:
            for atom in one.invars:
                self._used(atom, one)
        for atom in jaxpr.outvars:
            self._used(atom, None)

    def _used(self, atom: Any, by: Any) -> None:
        if not isinstance(atom, Literal):
            self.users.setdefault(atom, []).append(by)

    def maker(self, atom: Any, *names: str) -> Any:
        """The equation that makes a value, if it is of one of these primitives; None if not."""
        found = None if isinstance(atom, Literal) else self.makers.get(atom)
        return found if found is not None and (not names or found.primitive.name in names) else None


def size_of(atom: Any) -> int:
    """How many elements a value has."""
    return prod(atom.aval.shape)


def is_call_of(equation: Any, name: str) -> bool:
    """Whether an equation calls a jitted function of this name."""
    return equation.primitive.name in ("jit", "pjit") and equation.params["name"] == name


def replaced(jaxpr: Any, replacements: Mapping[int, Replacement]) -> tuple[Any, list[Any]]:
    """A program with replacements of equations, by their numbers; and the constants that are its last arguments now."""
    renamed: dict[Any, Any] = {}
    equations: list[Any] = []
    names: list[Any] = []
    constants: list[Any] = []
    more: list[Any] = []

    def now(atom: Any) -> Any:
        return atom if isinstance(atom, Literal) else renamed.get(atom, atom)

    for number, one in enumerate(jaxpr.eqns):
        other = replacements.get(number)
        if other is None:
            equations.append(one.replace(invars=list(map(now, one.invars))))
            continue
        made = _traced(other)
        names += made.jaxpr.constvars
        constants += made.consts
        operands = [now(atom) for atom in other.operands]
        renamed.update(zip(made.jaxpr.invars, operands, strict=True))
        equations += [inner.replace(invars=list(map(now, inner.invars))) for inner in made.jaxpr.eqns]
        results = list(map(now, made.jaxpr.outvars))
        renamed.update(zip(one.outvars, results, strict=False))
        more += results[len(one.outvars) :]
    invars = [*jaxpr.invars, *names]
    given = tuple(jaxpr.debug_info.safe_arg_names(len(jaxpr.invars)))
    info = jaxpr.debug_info._replace(arg_names=(*given, *[f"constants[{k}]" for k in range(len(names))]))
    outvars = [*map(now, jaxpr.outvars), *more]
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=equations, debug_info=info), constants


def _traced(other: Replacement) -> Any:
    """The equations of a replacement, of names that no other has: nothing of it may come from a cache."""
    avals = [jax.ShapeDtypeStruct(atom.aval.shape, atom.aval.dtype) for atom in other.operands]
    return jax.make_jaxpr(lambda *values: other.function(*values))(*avals)


def everywhere(jaxpr: Any, found: Callable[[Graph], Iterator[tuple[int, Replacement]]]) -> Any:
    """A program with replacements in it and in the bodies of its loops; none of them may hold constants."""
    equations = [
        one.replace(params={**one.params, "body": _in_body(one, found)}) if _is_loop(one) else one for one in jaxpr.eqns
    ]
    changed, constants = replaced(jaxpr.replace(eqns=equations), dict(found(Graph(jaxpr))))
    assert not constants
    return changed


def _is_loop(equation: Any) -> bool:
    return equation.primitive is LOOP


def _in_body(equation: Any, found: Any) -> Any:
    body = equation.params["body"]
    return ClosedJaxpr(everywhere(body.jaxpr, found), body.consts)


def inside(equation: Any) -> Iterator[Any]:
    """The programs that an equation runs."""
    for value in equation.params.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            program = getattr(one, "jaxpr", one)
            if hasattr(program, "eqns"):
                yield program


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
