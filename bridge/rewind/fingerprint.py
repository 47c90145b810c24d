"""What a body did when it was run, so that it can be told whether it did the same when it was run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from bridge.calls import operation_name
from bridge.rewind.places import Root, is_place
from bridge.rewind.rule import Rule

Step = tuple[Any, ...]
_TOLD = ("result", "unpulled", "copied", "write", "update", "scatter_add")


class Trail:
    """The operations of one run, as its context was told of them: plain operands by value, memory by number.

    Memory that existed before the body, up to the serial number `since`, is known by its own number, other memory by
    the order in which it appears. `around` is the trail of a body around this one.
    """

    def __init__(self, since: int, around: Trail | None) -> None:
        self.since = since
        self.around = around
        self.steps: list[Step] = []
        self._young: dict[Root, int] = {}

    @contextmanager
    def listening(self, context: Any) -> Iterator[None]:
        """Inside, note what a context is told."""
        before = {name: vars(context).get(name) for name in _TOLD}
        for name in _TOLD:
            setattr(context, name, partial(self._heard, name, getattr(type(context), name).__get__(context)))
        try:
            yield
        finally:
            for name, method in before.items():
                if method is None:
                    delattr(context, name)
                else:
                    setattr(context, name, method)

    def _heard(self, name: str, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.steps.append((name, *map(self._told, args), self._told(kwargs)))
        return method(*args, **kwargs)

    def close(self) -> None:
        """Tell the trail around this one what was done in it, once where it is done several times."""
        if self.around is not None:
            step = ("body", *self.steps)
            if not self.around.steps or self.around.steps[-1] != step:
                self.around.steps.append(step)

    def _told(self, x: Any) -> Any:
        """What a context is told, in a form that can be compared; values that are not known count by their look."""
        if is_place(x):
            return self._place(x)
        if hasattr(x, "place"):
            return "tracked", x.shape, x.dtype
        if isinstance(x, np.ndarray):
            return x.shape, x.dtype.str, hash(x.tobytes()) if x.dtype.kind in "fciub" else None
        if isinstance(x, (bool, int, float, complex, np.generic)):
            return type(x), np.asarray(x).tobytes()
        if isinstance(x, (list, tuple)):
            return tuple(map(self._told, x))
        if isinstance(x, dict):
            return tuple((name, self._told(part)) for name, part in x.items())
        if isinstance(x, slice):
            return tuple(map(self._told, (x.start, x.stop, x.step)))
        if isinstance(x, (str, bytes, type(None), type(Ellipsis))):
            return x
        return operation_name(x.function) if isinstance(x, Rule) else operation_name(x) if callable(x) else type(x)

    def _place(self, place: Any) -> Step:
        steps: list[Any] = []
        while place is not place.root:
            steps.append(self._told(getattr(place, "key", None)))
            place = place.parent
        return (*self._number(place), *steps)

    def _number(self, root: Root) -> Step:
        if root.serial > self.since:
            return ("young", self._young.setdefault(root, len(self._young)))
        return ("old", root.serial) if self.around is None else ("around", *self.around._number(root))


def parting(one: Trail, other: Trail) -> str | None:
    """Where two runs of a body part, for a message; None if they did the same."""
    for number, (a, b) in enumerate(zip(one.steps, other.steps, strict=False)):
        if a != b:
            what = a[1] if a[0] in ("result", "unpulled") else a[0]
            return f"operation {number + 1} of {len(one.steps)} ({what}) differs"
    if len(one.steps) != len(other.steps):
        return f"{len(one.steps)} operations before, {len(other.steps)} now"
    return None
