"""Entries that overwrote memory: assignments, ufuncs with `out=`, calls of functions with mutating rules."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.code_position import Position
from bridge.errors import RuleError
from bridge.rewind.interpreter import Call
from bridge.rewind.log import Cotangents, Entry, Operation, Overwritten
from bridge.rewind.places import Picked, places_in
from bridge.rewind.roots import Root
from bridge.signatures import names_read


class Write(Entry):
    """An assignment `array[key] = source` into existing memory."""

    __slots__ = ("activates", "array", "key", "saved", "source")

    overwrites = True

    def __init__(self, position: Position, out: Any, array: Any, key: Any, saved: Any, source: Any = None) -> None:
        self.position = position
        self.out = out
        self.array = array
        self.key = key
        self.saved = saved
        self.source = source
        self.activates = source is not None and not out.root.active

    @property
    def name(self) -> str:
        return "setitem"

    def reads(self) -> Iterator[Any]:
        return places_in(self.source)

    def overwritten(self) -> Iterator[Overwritten]:
        yield Overwritten(self.out, self.array, self.key, self.saved)

    def held(self) -> Iterator[tuple[Any, str]]:
        yield from ((self, "saved"), (self, "array"), (self, "key"))
        if isinstance(self.out, Picked):
            yield self.out, "key"

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
        self, position: Position, call: Call, target: Any, output: Any, wanted: tuple[int, ...], saved: Any, mask: Any
    ) -> None:
        self.position = position
        self.call = call
        self.out = target.place
        self.output = output
        self.wanted = wanted
        self.array = target.value
        self.saved = saved
        self.mask = mask
        self.activates = not self.out.root.active
        self.keeps = mask is None and call.rule.facts.adds != 0 and call.inputs[0] is self.out

    @property
    def moves(self) -> bool:  # type: ignore[override]
        return self.keeps

    def reads(self) -> Iterator[Any]:
        """Under a mask, what it leaves out is read too."""
        return places_in(self.call.inputs if self.mask is None else (*self.call.inputs, self.out))

    def bore(self) -> Iterator[Root]:
        return iter(())

    def held(self) -> Iterator[tuple[Any, str]]:
        yield from super().held()
        yield from ((self, "saved"), (self, "array"), (self, "mask"))

    def overwritten(self) -> Iterator[Overwritten]:
        yield Overwritten(self.out, self.array, Ellipsis, self.saved)

    def undo(self) -> None:
        self.saved = self.out.context.memory.swap(self.array, Ellipsis, self.saved)

    def take(self) -> Any:
        if not self.keeps:
            return self.out.take()
        return None if self.call.inputs[1] is None else self.out.peek()

    push = Entry.push

    def pull(self, ct: Any) -> Cotangents:
        if self.keeps:
            return ((self.call.inputs[1], ct if self.call.rule.facts.adds > 0 else -ct),)
        if self.output is not None:
            self.output = self.saved
        return super().pull(ct) if self.mask is None else self._masked(ct, super().pull)

    def through(self, ct: Any) -> Cotangents:
        return super().through(ct) if self.mask is None else self._masked(ct, super().through)

    def _masked(self, ct: Any, pull: Any) -> Iterator[tuple[Any, Any]]:
        zero = np.zeros_like(ct)
        yield self.out, np.where(self.mask, zero, ct)
        if self.wanted:
            for place, cotangent in pull(np.where(self.mask, ct, zero)):
                # One that a rule has summed already was made from nothing but what lies under the mask.
                yield place, np.where(self.mask, cotangent, zero) if cotangent.shape == ct.shape else cotangent


class MutatingCall(Entry):
    """A call of a function with a mutating rule: the arguments that it writes were saved whole."""

    __slots__ = ("activated", "arrays", "call", "saved")

    overwrites = True
    moves = False
    call: Call

    def __init__(
        self, position: Position, call: Call, out: tuple[Any, ...], arrays: tuple[Any, ...], saved: tuple[Any, ...]
    ) -> None:
        self.position = position
        self.call = call
        self.out = out
        self.arrays = arrays
        self.saved = saved
        self.activated: tuple[Root, ...] = ()

    @property
    def activates(self) -> bool:  # type: ignore[override]
        return bool(self.activated)

    @property
    def name(self) -> str:
        return self.call.rule.name

    def reads(self) -> Iterator[Any]:
        return places_in(self.call.inputs)

    def overwritten(self) -> Iterator[Overwritten]:
        for place, array, saved in zip(self.out, self.arrays, self.saved, strict=True):
            yield Overwritten(place, array, Ellipsis, saved)

    def held(self) -> Iterator[tuple[Any, str]]:
        yield from ((self, "saved"), (self, "arrays"), (self.call, "args"))

    def undo(self) -> None:
        self.saved = tuple(place.context.memory.swap(*rest) for place, *rest in self.overwritten())

    def take(self) -> Any:
        cts = tuple(place.take() if place.dtype.kind in "fc" else None for place in self.out)
        if all(ct is None for ct in cts):
            return None
        return tuple(
            place.context.memory.alloc(place.shape, place.dtype) if ct is None else ct
            for place, ct in zip(self.out, cts, strict=True)
        )

    def pull(self, ct: Any) -> Cotangents:
        """Cotangents of the arguments before the call; the written ones' shadows were emptied when `ct` was taken."""
        rule, args = self.call.rule, self.call.args
        pull = rule.pull_function
        assert pull is not None
        extra = {}
        if "after" in names_read(pull) and "after" in inspect.signature(pull).parameters:
            extra["after"] = self.saved[0] if len(self.saved) == 1 else self.saved
        result = pull(ct[0] if len(ct) == 1 else ct, *args, **extra)
        wanted = [place is not None for place in self.call.inputs]
        arrays = [k for k, x in enumerate(args) if wanted[k] or (hasattr(x, "dtype") and x.dtype.kind in "fc")]
        results = result if isinstance(result, tuple) else (result,)
        if len(results) == len(args):
            arrays = list(range(len(args)))
        elif len(results) != len(arrays):
            raise RuleError(
                f"the pull of {rule.name} returned {len(results)} cotangents for {len(arrays)} array arguments "
                f"({', '.join(rule.parameters)})",
                remedy="return one for each array argument, in their order: the written ones' from before the call",
            )
        for k, cotangent in zip(arrays, results, strict=True):
            if self.call.inputs[k] is not None and cotangent is not None:
                yield self.call.inputs[k], self._checked(k, cotangent)

    def _checked(self, k: int, cotangent: Any) -> Any:
        rule, shape = self.call.rule, self.call.inputs[k].shape
        if getattr(cotangent, "shape", None) is None:
            cotangent = np.asarray(cotangent)
        if cotangent.shape != shape:
            raise RuleError(
                f"the pull of {rule.name} returned a cotangent of shape {cotangent.shape} for {rule.parameters[k]}, "
                f"which has shape {shape}",
                remedy="return one of the argument's shape",
            )
        return cotangent

    def woken(self) -> tuple[Root, ...]:
        return self.activated
