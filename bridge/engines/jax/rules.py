"""Rules whose derivatives are JAX's, of the function's lowering; its value is compared with NumPy's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.engines.jax.call_forms import Form, arranged_as, formed, paired, slots_of
from bridge.engines.jax.programs import Program, applied, program_of, zeros_like
from bridge.engines.protocol import EngineRule, is_same_value
from bridge.errors import NoRuleError, ValueDiffersError
from bridge.rewind.memory import grounded
from bridge.rulebook.rule import Rule
from bridge.xla.lowering.lower import has as has
from bridge.xla.lowering.register import Lowering, lowering_of


class JaxRule(EngineRule):
    """A rule whose pull is `jax.vjp`'s, and whose forward derivative is `jax.jvp`'s."""

    __slots__ = ("lowering",)

    def __init__(self, function: Any, name: str, native: Rule | None) -> None:
        super().__init__(function, name, native)
        # What is linear is differentiated by JAX too; strong zeros ask the native rule.
        self.linear = False
        self.lowering = lowering_of(function) or Lowering(function)

    def pull(
        self, ct: Any, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int, ...]
    ) -> Iterator[tuple[int, Any]]:
        """Yield `(position, cotangent)` for the arguments at the `wanted` positions."""
        form, leaves, program = self._program(out, self.spread(args, ct, wanted), kwargs)
        if self.compares:
            self._compare(program, leaves, out)
        numbers = tuple(n for k in wanted for n in slots_of(form.at(k)) if _dtype(leaves[n]).kind in "fc")
        cts = [zeros_like(one) if c is None else c for c, one in _floats(ct, out)]
        found = dict(zip(numbers, applied(program.pulled(numbers, len(cts)), [*cts, *leaves]), strict=True))
        for k in wanted:
            yield k, arranged_as(form.at(k), found)

    def pushed(self, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tangents: tuple[Any, ...]) -> Any:
        """The tangent of the outputs."""
        form, leaves, program = self._program(value, args, kwargs)
        if self.compares:
            self._compare(program, leaves, value)
        pairs = [pair for k, t in enumerate(tangents) if t is not None for pair in paired(form.at(k), t)]
        pairs = [(n, t) for n, t in pairs if t is not None]
        moved = tuple(n for n, _ in pairs)
        found = iter(applied(program.pushed(moved), [*(t for _, t in pairs), *leaves]))
        if not isinstance(value, (tuple, list)):
            return next(found)
        return tuple(next(found) if _dtype(one).kind in "fc" else None for one in value)

    def _program(self, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Form, list[Any], Program]:
        form, leaves = formed(self, args, kwargs, self.lowering.keeps_integers)
        if self.lowering.gauge is not None:
            leaves += [grounded(one) for one in (out if isinstance(out, tuple) else (out,))]
        looks = tuple(_looks(grounded(x)) for x in leaves)
        single = not isinstance(out, (tuple, list))
        real = np.result_type(grounded(out) if single else grounded(out[0])).kind != "c"
        try:
            return form, leaves, program_of(self.function, self.lowering, form, looks, real)
        except TypeError as error:
            if _is_hashable(form):
                raise
            raise NoRuleError(
                f'engine="jax" cannot keep the arguments of {self.name} as a key: {error}',
                remedy='give tuples and numbers, or use engine="native"',
            ) from error

    def _compare(self, program: Program, leaves: list[Any], out: Any) -> None:
        """Raise unless JAX's value is NumPy's: once for a signature, each time where values have a choice."""
        if program.compared and self.lowering.gauge is None:
            return
        found = program([grounded(x) for x in leaves])
        outs = [grounded(one) for _, one in _floats(None, out)]
        for one, expected in zip(found, outs, strict=True):
            if not is_same_value(one, expected):
                raise ValueDiffersError(
                    f"JAX computes {self.name} as {one}, and NumPy as {expected}: its pull would be that of another "
                    "function",
                    remedy='use engine="native" for this operation',
                )
        program.compared = True


def _floats(ct: Any, out: Any) -> list[tuple[Any, Any]]:
    """Cotangents and outputs, of those that may carry a gradient."""
    if not isinstance(out, (tuple, list)):
        return [(ct, out)] if _dtype(out).kind in "fc" else []
    cts = [None] * len(out) if ct is None else ct
    return [(c, one) for c, one in zip(cts, out, strict=True) if _dtype(one).kind in "fc"]


def _dtype(x: Any) -> np.dtype[Any]:
    return np.result_type(grounded(x))


def _looks(x: Any) -> Any:
    return (x.dtype.str, x.shape) if isinstance(x, (np.ndarray, np.generic)) else type(x)


def _is_hashable(form: Form) -> bool:
    try:
        hash(form)
    except TypeError:
        return False
    return True
