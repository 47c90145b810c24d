"""Entries that overwrote memory: assignments, ufuncs with `out=`, calls of functions with mutating rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.position import Position
from bridge.rewind.log import Cotangents, Entry, Operation, forget_shadows_at
from bridge.rewind.places import Root
from bridge.rewind.rule import Rule

if TYPE_CHECKING:
    from bridge.rewind.rule import MutatingRule


class Write(Entry):
    """An assignment `array[key] = source` into existing memory."""

    __slots__ = ("activates", "array", "key", "saved", "source")

    overwrites = True

    def __init__(
        self, position: Position, out: Any, array: Any, key: Any, saved: Any, source: Any, activates: bool
    ) -> None:
        self.position = position
        self.out = out
        self.array = array
        self.key = key
        self.saved = saved
        self.source = source
        self.activates = activates

    @property
    def name(self) -> str:
        return "setitem"

    def undo(self) -> None:
        self.saved = self.out.context.memory.swap(self.array, self.key, self.saved)

    def pull(self, ct: Any) -> Cotangents:
        return () if self.source is None else ((self.source, ct),)


class Scatter(Write):
    """`np.add.at` and `np.subtract.at`: the target's own cotangent stays where it is."""

    __slots__ = ("negative",)

    def __init__(self, *write: Any) -> None:
        super().__init__(*write[:-1])
        self.negative = write[-1]

    @property
    def name(self) -> str:
        return "np.subtract.at" if self.negative else "np.add.at"

    def take(self) -> Any:
        return None if self.source is None else self.out.peek()

    def pull(self, ct: Any) -> Cotangents:
        return ((self.source, -ct if self.negative else ct),)


class Update(Operation):
    """A ufunc that wrote its result into existing memory (`+=`, `out=`), everywhere or under a mask."""

    __slots__ = ("activates", "array", "keeps", "mask", "saved")

    overwrites = True

    def __init__(
        self,
        position: Position,
        rule: Rule,
        out: Any,
        output: Any,
        inputs: tuple[Any, ...],
        wanted: tuple[int, ...],
        args: tuple[Any, ...],
        array: Any,
        saved: Any,
        mask: Any,
        activates: bool,
    ) -> None:
        self.position = position
        self.rule = rule
        self.out = out
        self.output = output
        self.inputs = inputs
        self.wanted = wanted
        self.args = args
        self.kwargs = _NO_KEYWORDS
        self.array = array
        self.saved = saved
        self.mask = mask
        self.activates = activates
        self.keeps = mask is None and rule.function in KEEPS_FIRST and inputs[0] is out

    def undo(self) -> None:
        self.saved = self.out.context.memory.swap(self.array, Ellipsis, self.saved)

    def take(self) -> Any:
        if not self.keeps:
            return self.out.take()
        return None if self.inputs[1] is None else self.out.peek()

    push = Entry.push

    def pull(self, ct: Any) -> Cotangents:
        if self.keeps:
            return ((self.inputs[1], ct if self.rule.function is np.add else -ct),)
        if self.output is not None:
            self.output = self.saved
        return super().pull(ct) if self.mask is None else self._pull_masked(ct)

    def _pull_masked(self, ct: Any) -> Iterator[tuple[Any, Any]]:
        zero = np.zeros_like(ct)
        yield self.out, np.where(self.mask, zero, ct)
        if self.wanted:
            for place, cotangent in super().pull(np.where(self.mask, ct, zero)):
                # One that a rule has summed already was made from nothing but what lies under the mask.
                yield place, np.where(self.mask, cotangent, zero) if cotangent.shape == ct.shape else cotangent

    def forget(self) -> None:
        forget_shadows_at(self.out)


_NO_KEYWORDS: dict[str, Any] = {}
KEEPS_FIRST = (np.add, np.subtract)


class MutatingCall(Entry):
    """A call of a function with a mutating rule: the arguments that it writes were saved whole."""

    __slots__ = ("activated", "args", "arrays", "inputs", "rule", "saved")

    overwrites = True

    def __init__(
        self,
        position: Position,
        rule: MutatingRule,
        out: tuple[Any, ...],
        arrays: tuple[Any, ...],
        saved: tuple[Any, ...],
        inputs: tuple[Any, ...],
        args: tuple[Any, ...],
    ) -> None:
        self.position = position
        self.rule = rule
        self.out = out
        self.arrays = arrays
        self.saved = saved
        self.inputs = inputs
        self.args = args
        self.activated: tuple[Root, ...] = ()

    @property
    def activates(self) -> bool:  # type: ignore[override]
        return bool(self.activated)

    @property
    def name(self) -> str:
        return self.rule.name

    def undo(self) -> None:
        self.saved = tuple(
            place.context.memory.swap(array, Ellipsis, saved)
            for place, array, saved in zip(self.out, self.arrays, self.saved, strict=True)
        )

    def take(self) -> Any:
        cts = tuple(place.take() if place.dtype.kind in "fc" else None for place in self.out)
        if all(ct is None for ct in cts):
            return None
        return tuple(
            place.context.memory.alloc(place.shape, place.dtype) if ct is None else ct
            for place, ct in zip(self.out, cts, strict=True)
        )

    def pull(self, ct: Any) -> Cotangents:
        from bridge.arrays.mutating import cotangents_of_call

        return cotangents_of_call(self, ct)

    def woken(self) -> tuple[Root, ...]:
        return self.activated
