"""A program's port to JAX, differentiated: its function freed of `jax.jit`, its results found by their values."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.published.loss import Loss
from benchmarks.published.program import Program

AGREEMENT = 1e-6
BOUNDED = "loops with run-time bounds, which JAX does not differentiate, run to their largest bound with lax.cond"

Place = tuple[str, int]


class NoPort(Exception):
    """A port is missing, cannot be differentiated, or computes something else; the message says which."""


class Port:
    """The port of one program.

    All that is no float is static, whatever the port declares, so that loops over a number of steps have known
    bounds; that is what makes most ports differentiable. Where it names single precision it gets double, as its
    arguments have. `loss` has those results that the port computes.
    """

    def __init__(self, program: Program, loss: Loss, module: ModuleType, name: str) -> None:
        self.program, self.function = program, getattr(module, name)
        if vars(module).get("jnp") is jnp:
            vars(module)["jnp"] = WideNumPy("jax.numpy")
        self.note = ""
        arguments = list(program.arguments.values())
        found = self.leaves([arguments[k] for k in program.positions])
        places: list[int | None] = []
        for wanted in loss.plain:  # equal results come in the program's order
            places.append(position(wanted, found, places))
        kept = tuple(k for k, place in enumerate(places) if place is not None)
        if not kept:
            raise NoPort("the port computes none of the program's results")
        self.places = [place for place in places if place is not None]
        self.loss = Loss(program, kept=kept)
        if len(kept) < len(places):
            self.note = f"the port computes {len(kept)} of {len(places)} results"

    def varied(self, arguments: Iterable[Any]) -> list[Any]:
        """Those of all arguments that gradients are taken with respect to."""
        given = list(arguments)
        return [given[k] for k in self.program.positions]

    def leaves(self, varied: Any) -> list[Any]:
        """The arrays that the port returns."""
        arguments = [jnp.asarray(v) if isinstance(v, np.ndarray) else v for v in self.program.arguments.values()]
        for k, value in zip(self.program.positions, varied, strict=True):
            arguments[k] = jnp.asarray(value)
        return [jnp.asarray(leaf) for leaf in jax.tree.leaves(self.function(*arguments))]

    def value(self, varied: Any, weights: Any) -> Any:
        """The same loss as that of the program."""
        leaves = self.leaves(varied)
        return sum(jnp.real(jnp.sum(weight * leaves[k])) for weight, k in zip(weights, self.places, strict=True))

    def differentiated(self) -> Callable[..., Any]:
        """The loss and its gradient, compiled when it is called first."""
        varied = self.varied(self.program.arguments.values())
        try:
            jax.eval_shape(jax.grad(self.value), varied, self.loss.weights)
        except ValueError as error:
            if "Reverse-mode differentiation does not work" not in str(error):
                raise
        else:
            return jax.jit(with_gradient(self.value))
        bounds = recorded(lambda: jax.jit(self.leaves)(varied))
        self.note = "; ".join(filter(None, [self.note, BOUNDED]))

        def value(varied: Any, weights: Any) -> Any:
            with exchanged(lambda *given: bounded(bounds, *given)):
                return self.value(varied, weights)

        return jax.jit(with_gradient(value))


def with_gradient(value: Callable[..., Any]) -> Callable[..., Any]:
    """A loss and its gradient, which of a complex argument is the conjugate of what JAX calls so."""

    def both(varied: Any, weights: Any) -> Any:
        found, gradient = jax.value_and_grad(value)(varied, weights)
        return found, [jnp.conj(each) for each in gradient]

    return both


class WideNumPy(ModuleType):
    """`jax.numpy` in which the names of single precision mean double."""

    def __getattr__(self, name: str) -> Any:
        return getattr(jnp, {"float32": "float64", "complex64": "complex128"}.get(name, name))


def position(wanted: Any, found: list[Any], taken: list[int | None]) -> int | None:
    """Which of the port's results, those taken left out, one of the program's is."""
    scale = np.max(np.abs(wanted), initial=0.0) or 1.0
    for k, leaf in enumerate(found):
        if k not in taken and leaf.shape == np.shape(wanted):
            difference = np.abs(np.asarray(leaf) - np.asarray(wanted, np.result_type(leaf)))
            if np.all(difference <= AGREEMENT * scale):
                return k
    return None


@contextmanager
def uncompiled() -> Iterator[None]:
    """Let a module be loaded whose functions `jax.jit` leaves as they are, to be compiled as one with the gradient."""
    jit = jax.jit

    def as_it_is(function: Any = None, **options: Any) -> Any:
        return functools.partial(as_it_is, **options) if function is None else function

    jax.jit = as_it_is
    try:
        yield
    finally:
        jax.jit = jit


@contextmanager
def exchanged(loop: Callable[..., Any]) -> Iterator[None]:
    """Let `lax.fori_loop` be another function; its first argument is the line that calls it."""
    original = lax.fori_loop

    def called(lower: Any, upper: Any, body: Any, init: Any) -> Any:
        frame = sys._getframe(1)
        return loop((inspect.getfile(frame), frame.f_lineno), original, lower, upper, body, init)

    lax.fori_loop = called
    try:
        yield
    finally:
        lax.fori_loop = original


def recorded(run: Callable[[], Any]) -> dict[Place, tuple[int, int]]:
    """The least lower and the largest upper bound of each loop whose bounds are known at run time only, by a run."""
    seen: dict[Place, tuple[int, int]] = {}

    def note(place: Place, lower: Any, upper: Any) -> None:
        least, largest = seen.get(place, (int(lower), int(upper)))
        seen[place] = min(least, int(lower)), max(largest, int(upper))

    def loop(place: Place, original: Any, lower: Any, upper: Any, body: Any, init: Any) -> Any:
        if isinstance(lower, jax.core.Tracer) or isinstance(upper, jax.core.Tracer):
            jax.debug.callback(functools.partial(note, place), lower, upper)
        return original(lower, upper, body, init)

    with exchanged(loop):
        jax.block_until_ready(run())
        jax.effects_barrier()
    return seen


def bounded(
    bounds: dict[Place, tuple[int, int]], place: Place, original: Any, lower: Any, upper: Any, body: Any, init: Any
) -> Any:
    """A loop with run-time bounds as one over all indices there may be, which does nothing outside of its bounds."""
    if place not in bounds:
        return original(lower, upper, body, init)

    def step(k: Any, carried: Any) -> Any:
        return lax.cond((lower <= k) & (k < upper), lambda given: body(k, given), lambda given: given, carried)

    return original(*bounds[place], step, init)
