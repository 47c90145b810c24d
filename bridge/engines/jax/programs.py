"""Functions of arrays that JAX compiles and differentiates, to any order, and that a context can log.

A program maps leaves to a tuple of float or complex arrays. Its pull and its push are programs again: a derivative
of a derivative needs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.arrays.operands import context_of, unwrapped
from bridge.engines.jax.call_forms import Form, slots_of
from bridge.engines.protocol import EngineRule
from bridge.errors import BridgeError, NoRuleError, RefusedError
from bridge.rewind.interpreter import Call
from bridge.rewind.lifetime import forgive
from bridge.rewind.memory import grounded
from bridge.xla.equations.special_values import keeping
from bridge.xla.lowering.lower import lower, x64
from bridge.xla.lowering.register import Lowering

# How many compiled functions are kept of each kind; those that were not used for longest go first.
KEPT = 1024


class Program:
    """One function of leaves, compiled by its first call."""

    def __init__(self, name: str, function: Callable[..., tuple[Any, ...]]) -> None:
        self.name = name
        self.function = function
        self.compiled: Any = jax.jit(keeping(function))
        self.compared = False

    def __call__(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs, as NumPy arrays and numbers that are the caller's own."""
        try:
            with x64():
                return tuple([np.array(x)[()] for x in self._run(leaves)])
        except BridgeError:
            raise
        except (NotImplementedError, TypeError, ValueError) as error:
            first = str(error).partition("\n")[0]
            raise NoRuleError(
                f"JAX does not differentiate {self.name} as it is called here: {first}",
                remedy='use engine="native", or write the operation with others',
            ) from error

    def _run(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        native = [_native(x) for x in leaves]
        if self.compiled is not None:
            try:
                return self.compiled(*native)
            except RefusedError as error:
                forgive(error)
                # The shape of its result depends on values: operation by operation, JAX knows them.
                self.compiled = None
        return self.function(*native)

    @lru_cache(maxsize=KEPT)  # noqa: B019, bounded, and programs are kept in bounded caches themselves
    def pulled(self, wanted: tuple[int, ...], count: int) -> Program:
        """The program of `(*cotangents, *leaves)` whose outputs are the cotangents of the `wanted` leaves.

        Cotangents are the package's: conjugates of JAX's.
        """

        def function(*operands: Any) -> tuple[Any, ...]:
            cts, leaves = operands[:count], operands[count:]
            outputs, back = jax.vjp(_of(self.function, leaves, wanted), *(leaves[k] for k in wanted))
            found = back(tuple(_conj(_as(ct, out)) for ct, out in zip(cts, outputs, strict=True)))
            return tuple(map(_conj, found))

        return Program(f"the pull of {self.name}", function)

    @lru_cache(maxsize=KEPT)  # noqa: B019, likewise
    def pushed(self, moved: tuple[int, ...]) -> Program:
        """The program of `(*tangents, *leaves)` whose outputs are the tangents of the outputs."""

        def function(*operands: Any) -> tuple[Any, ...]:
            tangents, leaves = operands[: len(moved)], operands[len(moved) :]
            primals = [jnp.asarray(leaves[k]) for k in moved]
            along = [jnp.broadcast_to(_as(t, p), p.shape) for t, p in zip(tangents, primals, strict=True)]
            return jax.jvp(_of(self.function, leaves, moved), primals, along)[1]

        return Program(f"the derivative of {self.name}", function)


def applied(program: Program, leaves: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a program; an entry in the log of the context whose Buffers are among the leaves."""
    context = context_of(tuple(leaves))
    if context is None:
        return program(leaves)
    values, inputs, plain = unwrapped(context, tuple(leaves))
    outputs = applied(program, values)
    rule = ProgramRule(program)
    return tuple(context.result(Call(rule.function, rule, values, inputs, plain=plain), outputs))


class ProgramRule(EngineRule):
    """The rule of a program."""

    __slots__ = ("program",)

    def __init__(self, program: Program) -> None:
        super().__init__(lambda *leaves: applied(program, leaves), program.name, None)
        self.program = program

    def pull(
        self, ct: Any, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int, ...]
    ) -> Iterator[tuple[int, Any]]:
        """Yield `(position, cotangent)` for the leaves at the `wanted` positions."""
        cts = [zeros_like(one) if c is None else c for c, one in zip(ct, out, strict=True)]
        found = applied(self.program.pulled(tuple(wanted), len(cts)), [*cts, *args])
        yield from zip(wanted, found, strict=True)

    def pushed(self, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tangents: tuple[Any, ...]) -> Any:
        """The tangents of the outputs."""
        moved = tuple(k for k, tangent in enumerate(tangents) if tangent is not None)
        return applied(self.program.pushed(moved), [*(tangents[k] for k in moved), *args])


def zeros_like(x: Any) -> Any:
    """Zeros of the shape and dtype of an array or a Buffer."""
    ground = np.asarray(grounded(x))
    return np.zeros(ground.shape, ground.dtype)


def _native(x: Any) -> Any:
    swapped = isinstance(x, np.ndarray) and not x.dtype.isnative
    return x.astype(x.dtype.newbyteorder("=")) if swapped else x


def _of(function: Callable[..., Any], leaves: Sequence[Any], chosen: tuple[int, ...]) -> Callable[..., Any]:
    """The function of the chosen leaves alone."""

    def of_chosen(*given: Any) -> Any:
        every = list(leaves)
        for k, x in zip(chosen, given, strict=True):
            every[k] = x
        return function(*every)

    return of_chosen


def _conj(x: Any) -> Any:
    return jnp.conj(x) if x.dtype.kind == "c" else x


def _as(x: Any, like: Any) -> Any:
    """In the dtype of `like`; the real part where that is real."""
    x = jnp.asarray(x)
    x = jnp.real(x) if x.dtype.kind == "c" and like.dtype.kind != "c" else x
    return jax.lax.convert_element_type(x, like.dtype)


@lru_cache(maxsize=KEPT)
def program_of(function: Any, lowering: Lowering, form: Form, looks: tuple[Any, ...], real: bool) -> Program:
    """The program of one signature: its outputs are the float and complex ones of the function."""
    count = max(_every_slot(form), default=-1) + 1

    def outputs(*leaves: Any) -> tuple[Any, ...]:
        args, kwargs = form.filled(leaves)
        if lowering.in_complex:
            args = (jnp.asarray(args[0]) + 0j, *args[1:])
        found = lower(function, args, kwargs)
        if lowering.gauge is not None:
            found = lowering.gauge(found, leaves[count:])
        parts = found if isinstance(found, (tuple, list)) else (found,)
        if lowering.in_complex and real:
            parts = tuple(map(jnp.real, parts))
        return tuple(x for x in parts if x.dtype.kind in "fc")

    return Program(form.name, outputs)


def _every_slot(form: Form) -> list[int]:
    """Every leaf of a form."""
    return [n for part in (*form.positional, *form.keywords) for n in slots_of(part)]
