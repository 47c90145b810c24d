"""Forward mode: tangents carried through the same mutations.

A forward context keeps no log. The shadow of a root holds its tangent, and every operation writes the
tangent of what it writes, at the same place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import setitem
from typing import Any

import numpy as np

from bridge.code_position import here
from bridge.rewind.context import Context
from bridge.rewind.cotangents import numpy_numbers, places_of
from bridge.rewind.handed_out import HandedOut
from bridge.rewind.indices import scatter
from bridge.rewind.interpreter import ARRAYS, Call, current_context
from bridge.rewind.interrupted import completed
from bridge.rewind.lifetime import suspended
from bridge.rewind.log import placed
from bridge.rewind.memory import in_dtype, numpy_number
from bridge.rewind.ownership import KeepsArguments, wrap
from bridge.rewind.places import Place
from bridge.rewind.roots import Root
from bridge.rewind.writes import MutatingCall


class ForwardContext(KeepsArguments, Context):
    """One forward differentiation: primal and tangent memory move together.

    `tangents_seen` are the roots whose tangents were read while a compiled body is tried out, `roots_written` those
    that it has written; None if nobody asks.
    """

    checkpoints = False

    def __init__(self, *, zeros: str = "strong") -> None:
        super().__init__(zeros=zeros)
        self.tangents_seen: set[Root] = set()
        self.roots_written: set[Root] | None = None

    def writable(self, target: Any) -> Root:
        root = super().writable(target)
        if self.roots_written is not None:
            self.roots_written.add(root)
        return root

    def shows_memory_of(self, root: Root) -> bool:
        """There is no log: what is written through a plain array has no tangent."""
        is_outermost = self.outer is None and not self.home.is_abstract
        return is_outermost and self.listener is None and current_context() is self and not root.active

    def expose(self, tracked: Any) -> None:
        self.writable(tracked)

    def take_in_write(self, one: HandedOut) -> None:
        if self.listener is not None:
            one.refuse_search()
        one.follow()

    def seed(self, buffer: Any, tangent: Any) -> None:
        """Give an argument its tangent."""
        set_tangent(buffer.place, tangent)

    def result(self, call: Call, value: Any) -> Any:
        tangents = () if call.rule is None else tuple([tangents_at(place) for place in call.inputs])
        if all(tangent is None for tangent in tangents):
            return wrap(self, value, False)
        out = wrap(self, value, True)
        places = places_of(out)
        if places is None:
            return out
        if type(value) in (float, complex):
            value = out.value
        args, kwargs = call.spelled(call.args)
        if not call.rule.broadcasts:
            args = numpy_numbers(args, call.inputs[: len(args)])
        with suspended(self):
            tangent = pushed(call.rule, value, args, kwargs, tangents)
        if isinstance(places, tuple):
            for place, one in zip(places, tangent, strict=True):
                if place is not None and one is not None:
                    place.shadow = one
        elif tangent is not None:
            places.accumulate(tangent)
        return out

    def copied(self, value: Any, source: Place) -> Any:
        tangent = tangent_at(source)
        out = wrap(self, value, tangent is not None)
        if tangent is not None and out.place.active:
            out.place.accumulate(tangent)
        return out

    def write(self, target: Any, key: Any, place: Place, value: Any, source: Place | None) -> None:
        self.writable(target)
        note = partial(set_tangent, place, None if source is None else tangent_at(source))
        self.overwrite(note, target, key, None, setitem, target.value, key, value)

    def update(self, call: Call, target: Any, mask: Any, run: Callable[[tuple[Any, ...]], Any]) -> None:
        self.writable(target)
        followed = call.rule is not None and target.dtype.kind in "fc"
        tangents = tuple([tangents_at(place) for place in call.inputs]) if followed else ()
        tangent = None
        if any(one is not None for one in tangents):
            with suspended(self):
                tangent = _tangent_of_update(call, tangents)
        if mask is not None:
            old, zero = tangent_at(target.place), np.zeros(target.shape, target.dtype)
            tangent = np.where(mask, zero if tangent is None else tangent, zero if old is None else old)
        self.overwrite(partial(set_tangent, target.place, tangent), target, Ellipsis, None, run, call.args)

    def scatter_add(self, call: Call, target: Any, key: Any) -> None:
        self.writable(target)
        (value,), (source,) = call.args, call.inputs
        tangent = None if source is None or not self.carries(target.dtype) else tangent_at(source)
        note = partial(_add_tangent, call.function, target.place, key, tangent)
        self.overwrite(note, target, key, None, scatter, call.function, target.value, key, value)

    def check_written(self, error: Exception, target: Any, key: Any, saved: Any, again: Callable[[], Any]) -> None:
        # What NumPy says of numbers, it says when it has written.
        is_of_numbers = isinstance(error, (FloatingPointError, RuntimeWarning))
        if not is_of_numbers or isinstance(error, np.exceptions.ComplexWarning):
            raise error

    def note_written(self, entry: Callable[[], None]) -> None:
        entry()

    def mutated(self, call: Call, targets: tuple[Any, ...], saved: tuple[Any, ...]) -> None:
        if self.roots_written is not None:
            self.roots_written.update(target.place.root for target in targets)
        for target in targets:
            self.follow_written(target.place.root)
        tangents = [tangents_at(place) for place in call.inputs]
        if all(tangent is None for tangent in tangents):
            return
        places, arrays = tuple(target.place for target in targets), tuple(target.value for target in targets)
        entry = MutatingCall(here(), call, places, arrays, saved)
        entry.undo()
        with suspended(self):
            moved = _transposed(lambda ct: _pulled_call(entry, ct), arrays, tangents, True)
        entry.undo()
        for place, tangent in zip(places, moved, strict=True):
            set_tangent(place, tangent)


def tangent_at(place: Any) -> Any:
    """The tangent of the value at `place`; None if it is structurally zero. Not to be written."""
    root = place.root
    if root.context.touched is not None:
        root.context.tangents_seen.add(root)
    if root.shadow is None or not place.active:
        return None
    if type(place) is Root:
        root.owned = False
        return root.shadow
    return place.peek()


def tangents_at(places: Any) -> Any:
    """Tangents of an argument: one, or a list for a sequence of arrays."""
    if places is None:
        return None
    if isinstance(places, (list, tuple)):
        found = [tangents_at(place) for place in places]
        return None if all(one is None for one in found) else found
    return tangent_at(places)


def set_tangent(place: Any, tangent: Any) -> None:
    """Overwrite the tangent at `place`."""
    root = place.root
    if tangent is None and root.shadow is None:
        return
    if root.context.touched is not None:
        root.context.touched.setdefault(root, (root.shadow, root.owned, root.active))
    place.take()
    if tangent is not None:
        root.context.shown_elsewhere(root, True)
        root.active = True
        surplus = len(tangent.shape) - len(place.shape)
        if surplus > 0:
            tangent = np.reshape(tangent, tangent.shape[surplus:])
        place.store(np.broadcast_to(tangent, place.shape) if tangent.shape != place.shape else tangent)


def _add_tangent(function: np.ufunc, place: Any, key: Any, tangent: Any) -> None:
    if tangent is not None:
        place.root.context.shown_elsewhere(place.root, True)
        place.root.active = True
        scatter(function, place.region(), key, tangent)


def _tangent_of_update(call: Call, tangents: tuple[Any, ...]) -> Any:
    # The update itself raises when it has written.
    value, _ = completed(partial(call.rule.function, *call.args))
    return pushed(call.rule, value, call.args, {}, tangents)


def pushed(rule: Any, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tangents: tuple[Any, ...]) -> Any:
    """The tangent of an operation's output.

    A linear function is applied to the tangents; an elementwise pull is its own transpose, up to conjugation;
    any other pull is linear in the cotangent, and its transpose is the gradient of `sum(pull(ct) * tangent)`.
    """
    if rule.linear:
        return _linear(rule, args, kwargs, tangents)
    if hasattr(rule, "pushed"):
        return rule.pushed(value, args, kwargs, tangents)
    if type(value) in (float, complex):
        value = numpy_number(value)
    real = not isinstance(value, (tuple, list)) and value.dtype.kind == "f"
    if rule.structure == "elementwise" and rule.per_argument is not None and real and _all_real(args):
        total: Any = None
        for k, tangent in enumerate(tangents):
            if tangent is not None:
                part = rule.per_argument[k](tangent, value, *args)
                total = part if total is None else total if part is None else total + part
        if total is not None and total.shape != value.shape:
            total = np.broadcast_to(total, value.shape)
        return total
    wanted = tuple(k for k, tangent in enumerate(tangents) if tangent is not None)

    def pull(ct: Any) -> list[Any]:
        found = dict(rule.pull(ct, value, args, kwargs, wanted))
        return [found.get(k) for k in range(len(tangents))]

    several = isinstance(value, (tuple, list))
    result = _transposed(pull, tuple(value) if several else (value,), list(tangents), several)
    return tuple(result) if several else result[0]


def _all_real(args: tuple[Any, ...]) -> bool:
    return all(_kind(x) != "c" for x in args)


def _kind(x: Any) -> str:
    """The kind of an array's dtype, or of a number of Python's."""
    return np.dtype(getattr(x, "dtype", type(x))).kind


def _linear(rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tangents: tuple[Any, ...]) -> Any:
    """A linear function of the tangents; what constants add to it (`initial=`, a constant part) is taken off."""
    positional = tangents[: len(args)]
    moved = tuple(_replaced(x, t, True) for x, t in zip(args, positional, strict=True))
    if rule.supports is not None:
        moved = rule.supports.conformed(moved)
    result = ARRAYS.call(rule.function, moved, kwargs)
    if all(map(_adds_nothing, args, positional)) and not kwargs.keys() & rule.facts.offsets:
        return result
    still = tuple(_replaced(x, t, False) for x, t in zip(args, positional, strict=True))
    return result - ARRAYS.call(rule.function, still, kwargs)


def _adds_nothing(x: Any, tangent: Any) -> bool:
    """Whether a constant operand of a linear function is only a parameter of it (an axis, a shape, a dtype)."""
    if tangent is not None and not isinstance(x, (list, tuple)):
        return True
    if isinstance(x, (list, tuple)):
        parts = tangent if isinstance(tangent, list) else [None] * len(x)
        return all(isinstance(p, (int, np.integer)) or t is not None for p, t in zip(x, parts, strict=True))
    return x is None or isinstance(x, (bool, int, str, type, np.dtype))


def _replaced(x: Any, tangent: Any, move: bool) -> Any:
    if isinstance(x, (list, tuple)) and isinstance(tangent, list):
        return type(x)(_replaced(p, t, move) for p, t in zip(x, tangent, strict=True))
    if tangent is not None:
        return tangent if move else np.zeros_like(tangent)
    array = hasattr(x, "dtype") and hasattr(x, "shape") and not isinstance(x, type)
    return np.zeros_like(x) if array and x.dtype.kind in "fc" else x


def _transposed(
    pull: Callable[[Any], list[Any]], outputs: tuple[Any, ...], tangents: list[Any], several: bool
) -> list[Any]:
    with placed(), Context(zeros="ieee") as context:
        cts = [context.buffer(np.zeros_like(out)) if _kind(out) in "fc" else None for out in outputs]
        seeds = [
            (c.place, in_dtype(t, c.dtype))
            for c, t in _paired(pull(tuple(cts) if several else cts[0]), tangents)
            if getattr(c, "place", None) is not None and c.place.context is context
        ]
    found = iter(context.pull_back(seeds, [ct.place for ct in cts if ct is not None], once=True))
    return [None if ct is None else next(found) for ct in cts]


def _paired(cotangents: Any, tangents: Any) -> list[tuple[Any, Any]]:
    pairs = []
    for c, t in zip(cotangents, tangents, strict=True):
        if isinstance(t, list):
            pairs += _paired(c, t)
        elif c is not None and t is not None:
            pairs.append((c, np.broadcast_to(t, c.shape) if t.shape != c.shape else t))
    return pairs


def _pulled_call(entry: MutatingCall, ct: Any) -> list[Any]:
    found: dict[int, list[Any]] = {}
    for place, c in entry.pull(ct):
        found.setdefault(id(place), []).append(c)
    return [found[id(place)].pop() if found.get(id(place)) else None for place in entry.call.inputs]
