"""Programs that are to be part of a JAX program, and their derivatives, which are programs again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr

from bridge.engines import registry
from bridge.engines.protocol import Settings
from bridge.rewind.values import ground_floor, is_abstract
from bridge.transforms.arguments import Arguments
from bridge.transforms.grad import belongs
from bridge.transforms.jvp import pushed_forward
from bridge.xla.captured import Captured
from bridge.xla.equations.special_values import special_values_kept
from bridge.xla.loops import flow
from bridge.xla.lowering.lower import x64
from bridge.xla.meshes import without_mesh
from bridge.xla.traced import Program, as_we_trace, captured, entered
from bridge.xla.tracing.allowances import Allowances
from bridge.xla.tracing.context import TraceContext

Function = Callable[[list[Any]], list[Any]]
Enter = Callable[[TraceContext, Any], Any]


class Subprogram:
    """A function of a list of traced values, to be one operation of a JAX program.

    Parameters
    ----------
    function : takes and returns lists of Buffers and traced numbers.
    entering : for each input, how it becomes one of these in the context of a trace.
    avals : the inputs' shapes and dtypes.
    captured : takes note of what the function reads that is not among its inputs.
    bounded_loops : takes note of loops that keep less than their whole logs.
    order : of which derivative by JAX this is; from the second on NaNs are IEEE's, as compiling what mends them
        takes too long.
    """

    def __init__(
        self,
        function: Function,
        entering: Sequence[Enter],
        avals: Sequence[Any],
        settings: Settings,
        captured: Captured,
        bounded_loops: dict[str, None],
        order: int = 0,
    ) -> None:
        self.function = function
        self.entering = list(entering)
        self.avals = list(avals)
        self.settings = settings
        self.bounded_loops = bounded_loops
        self.captured = captured
        self.order = order
        self._pulled: dict[tuple[int, ...], Subprogram] = {}
        self._pushed: dict[tuple[int, ...], Subprogram] = {}

    @classmethod
    def of(cls, program: Program) -> Subprogram:
        """The whole of a program."""
        entering = [
            lambda context, contents, leaf=leaf, is_array=is_array: entered(context, leaf, is_array, contents)
            for leaf, is_array in program.inputs
        ]
        avals = [
            jax.ShapeDtypeStruct(leaf.shape if leaf.lies is None else (leaf.span,), leaf.dtype)
            for leaf, _ in program.inputs
        ]
        return cls(program.ran_on, entering, avals, program.settings, program.captured, program.bounded_loops)

    @cached_property
    def plain(self) -> tuple[Any, bool]:
        """The program as JAX sees it, and whether it finds out if a gradient holds a NaN (its last output)."""
        return self._traced(mends=False)

    @cached_property
    def mending(self) -> Any:
        """The program that runs where a gradient holds a NaN: strong zeros at any cost."""
        return self._traced(mends=True)[0]

    @cached_property
    def outputs(self) -> list[Any]:
        """Shapes and dtypes of what it returns."""
        return list(self.plain[0].out_avals[:-1])

    @cached_property
    def floats(self) -> list[int]:
        """The outputs that have derivatives."""
        return [k for k, aval in enumerate(self.outputs) if jnp.issubdtype(aval.dtype, jnp.inexact)]

    def _traced(self, mends: bool) -> tuple[Any, bool]:
        watches, allowances = False, Allowances(self.settings.memory)

        def run(*values: Any) -> list[Any]:
            nonlocal watches
            never, mode = _never(values), self.settings.index_mode
            context = TraceContext(never, mode, mends, self.captured, flow, allowances=allowances)
            with as_we_trace(), context:
                context.faults.open()
                leaves = [enter(context, value) for enter, value in zip(self.entering, values, strict=True)]
                outputs = [_contents(context, leaf) for leaf in self.function(leaves)]
                fault, nan = context.faults.contents
                if context.faults.sites:
                    outputs = [_poisoned(x, fault) for x in outputs]
                watches = context.faults.watches_nan and self.order < 2
            return [*outputs, nan]

        with x64(), without_mesh(), self.captured.noting():
            made = jax.make_jaxpr(run)(*self.avals)
            plan = allowances.plan_for_another()
            if plan is not None:
                self.captured.start_again()
                allowances = Allowances(self.settings.memory, plan)
                made = jax.make_jaxpr(run)(*self.avals)
        self.bounded_loops |= allowances.told
        if any(isinstance(const, jax.core.Tracer) for const in made.consts):
            raise captured()
        return ClosedJaxpr(special_values_kept(made.jaxpr), made.consts), watches

    def pulled(self, moving: tuple[int, ...]) -> Subprogram:
        """Cotangents of the inputs `moving`, from all inputs and the cotangents of the floats."""
        found = self._pulled.get(moving)
        if found is None:
            cotangents = [self.outputs[k] for k in self.floats]
            found = self._pulled[moving] = self._grown(lambda leaves: self._pull(leaves, moving), cotangents)
        return found

    def pushed(self, moving: tuple[int, ...]) -> Subprogram:
        """Tangents of the floats, from all inputs and the tangents of those that are `moving`."""
        found = self._pushed.get(moving)
        if found is None:
            tangents = [self.avals[k] for k in moving]
            found = self._pushed[moving] = self._grown(lambda leaves: self._push(leaves, moving), tangents)
        return found

    def _grown(self, function: Function, avals: list[Any]) -> Subprogram:
        entering = [*self.entering, *map(_as_array, avals)]
        avals, told = [*self.avals, *avals], self.bounded_loops
        return Subprogram(function, entering, avals, self.settings, self.captured, told, self.order + 1)

    def _pull(self, leaves: list[Any], moving: tuple[int, ...]) -> list[Any]:
        own, cts = leaves[: len(self.avals)], leaves[len(self.avals) :]
        with registry.context("eager", "strong") as context:
            arguments = Arguments(context, tuple(own), {}, moving, allow_int=True)
            found = self.function(list(arguments.args))
            seeds = [
                (found[k].place, np.conj(ct) if found[k].dtype.kind == "c" else ct)
                for k, ct in zip(self.floats, cts, strict=True)
                if belongs(context, found[k])
            ]
            gradients = list(arguments.in_containers(context.pull_back(seeds, arguments.places, once=True)))
        # JAX's cotangents of complex values are the conjugates of ours.
        return [np.conj(g) if g.dtype.kind == "c" else g for g in gradients]

    def _push(self, leaves: list[Any], moving: tuple[int, ...]) -> list[Any]:
        own = leaves[: len(self.avals)]
        tangents: list[Any] = [None] * len(own)
        for k, tangent in zip(moving, leaves[len(self.avals) :], strict=True):
            tangents[k] = tangent
        _, found = pushed_forward(lambda *args: self.function(list(args)), own, tangents, False, "eager", "ieee", False)
        return [found[k] for k in self.floats]


def _as_array(aval: Any) -> Enter:
    like = np.zeros((), aval.dtype) if not aval.shape else np.broadcast_to(np.zeros((), aval.dtype), aval.shape)
    return lambda context, contents: context.entered(like, contents)


def _contents(context: TraceContext, leaf: Any) -> Any:
    return context.read(ground_floor(leaf).place) if is_abstract(leaf) else jnp.asarray(leaf)


def _poisoned(x: Any, fault: Any) -> Any:
    return jnp.where(fault[0] == 0, x, jnp.asarray(jnp.nan, x.dtype)) if jnp.issubdtype(x.dtype, jnp.inexact) else x


def _never(values: Sequence[Any]) -> Any:
    """A boolean that is false when the program runs, and that XLA cannot know: no square is 3 modulo 4."""
    for value in values:
        if not value.size or value.dtype == bool:
            continue
        first = value[(0,) * value.ndim]
        if jnp.issubdtype(first.dtype, jnp.complexfloating):
            first = first.real
        if jnp.issubdtype(first.dtype, jnp.inexact):
            first = lax.bitcast_convert_type(first, f"int{8 * first.dtype.itemsize}")
        first = lax.convert_element_type(first, jnp.int32)
        return (first * first) & 3 == 3
    return jnp.zeros((), bool)
