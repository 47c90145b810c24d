"""Small programs around one call: used twice, result dropped, arguments overwritten after, aliased, a view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bridge.proof.numerics.arrays import float_leaves, random_like
from bridge.proof.numerics.sampling import Differentiable
from bridge.proof.rules.calls import Call
from bridge.proof.rules.rule_calls import MutatingCall

Run = Callable[[Sequence[Any]], list[Any]]
Body = Callable[[Run, Sequence[Any]], list[Any]]


class Program(Differentiable):
    """A function of a call's differentiated arrays that runs on plain arrays and on Buffers alike.

    `body(run, xs)` gets the call as `run(xs)`, which returns its floating outputs (or its loss), and
    returns the program's outputs. `code` and `remedy` are those of a wrong gradient.
    """

    def __init__(self, call: Call, name: str, code: str, body: Body, remedy: str = "", points: Any = None) -> None:
        self.call, self.name, self.code, self.body, self.remedy = call, name, code, body, remedy
        self.labels = call.labels
        self.points = call.points if points is None else points

    def __str__(self) -> str:
        return f"{self.call}, {self.name}"

    def tracked(self, *xs: Any) -> tuple[Any, ...]:
        """The program on Buffers."""
        return tuple(self.body(lambda ys: self._run(self.call.tracked, ys), xs))

    def measured(self, values: Sequence[Any] | None = None) -> list[Any]:
        given = self.points if values is None else values
        xs = [np.array(x, copy=True, order="K") if isinstance(x, np.ndarray) else x for x in given]
        return list(self.body(lambda ys: self._run(self.call.run, ys), xs))

    def seeds(self, rng: np.random.Generator) -> list[Any]:
        """Cotangents of the program's outputs: random, or 1 where the call has a loss."""
        if self.call.loss is None:
            return [random_like(out, rng) for out in self.measured()]
        return [np.ones_like(out)[()] for out in self.measured()]

    def _run(self, run: Callable[[Any], Any], xs: Sequence[Any]) -> list[Any]:
        call = self.call
        result = run(call.arguments_with(xs))
        if call.loss is not None:
            return [call.loss(result)]
        return float_leaves(result)


def programs(call: Call) -> Iterator[Program]:
    """The programs that every rule is proved in."""
    yield Program(call, "its result unused", "unused-result", _unused, "keep no state that calls share")
    yield Program(call, "called twice on the same arrays", "called-twice", _twice, "keep no state between calls")
    yield Program(
        call,
        "its arguments read before and overwritten after",
        "stale-input",
        _overwritten,
        "compute from the pull's parameters, which hold the values from before the call; keep no references to arrays",
    )
    if _can_alias(call):
        yield Program(
            call,
            "all arrays the same one",
            "ignores-alias",
            lambda run, xs: run([xs[0]] * len(call.paths)),
            "the function treats arguments that share memory otherwise than its pull does: copy what it reads before "
            "it writes, or let its rule say aliased=False",
            points=[call.points[0]],
        )
    if isinstance(call, MutatingCall) and all(np.ndim(point) for point in call.points):
        whole = call.supports.layouts == "C"
        name, body = ("on views", _in_part) if whole else ("on strided views", _in_strides)
        yield Program(call, name, "wrong-in-view", body, "write the argument, not a copy")


def _can_alias(call: Call) -> bool:
    if len(call.points) < 2 or call.loss is not None or not call.supports.aliased:
        return False
    first = call.points[0]
    return all(isinstance(p, np.ndarray) and p.shape == first.shape and p.dtype == first.dtype for p in call.points)


def _copies(xs: Sequence[Any]) -> list[Any]:
    return [x.copy() for x in xs]


def _unused(run: Run, xs: Sequence[Any]) -> list[Any]:
    kept = _copies(xs)
    run(_copies(xs))
    return kept


def _twice(run: Run, xs: Sequence[Any]) -> list[Any]:
    return [*run(xs), *_copied_outputs(run(xs))]


def _overwritten(run: Run, xs: Sequence[Any]) -> list[Any]:
    arguments, before = _copies(xs), _copies(xs)
    outputs = _copied_outputs(run(arguments))
    after = _copies(arguments)
    for argument in arguments:
        if np.ndim(argument):
            argument[...] = 0.5
    return [*before, *outputs, *after]


def _copied_outputs(outputs: Sequence[Any]) -> list[Any]:
    return [out.copy() if np.ndim(out) else out for out in outputs]


def _in_strides(run: Run, xs: Sequence[Any]) -> list[Any]:
    return _in_view(run, xs, slice(1, None, 2))


def _in_part(run: Run, xs: Sequence[Any]) -> list[Any]:
    return _in_view(run, xs, slice(1, -1))


def _in_view(run: Run, xs: Sequence[Any], part: slice) -> list[Any]:
    spaces = [np.zeros((2 * len(x) + 1 if part.step else len(x) + 2, *x.shape[1:]), x.dtype, like=x) for x in xs]
    views = [space[part] for space in spaces]
    for view, x in zip(views, xs, strict=True):
        view[...] = x
    run(views)
    return spaces
