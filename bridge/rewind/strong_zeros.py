"""Strong zeros: which cotangents structurally exist, found only where a NaN appeared.

A cotangent is structurally absent where the element was never written after it mattered, or was not
selected (`where`, masks, gathers, `max`, `sort`). There a partial derivative that is not finite must not
make a NaN of it. The number 0.0 is no absence.

The log is walked once with cotangents that say only whether they exist: NaN where they do, 0.0 where they
do not. NaN spreads through a pull to just those inputs that the output depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import Any

import numpy as np

from bridge.rewind.log import Entry, Operation
from bridge.rewind.memory import ON_ARRAYS, grounded
from bridge.rewind.values import Shaped, settled

Pairs = Iterable[tuple[Any, Any]]

_INNER: ContextVar[bool] = ContextVar("inner_sweeps_mend", default=False)


@contextmanager
def inner_sweeps_mend() -> Iterator[None]:
    """Inside, sweeps that an outer context differentiates look for absent cotangents also where they see no NaN.

    The partial of a first derivative may be infinite where that derivative is finite (`x**1.5` at 0): only the
    outer sweep meets the NaN then, and only the inner one knows that no cotangent came.
    """
    token = _INNER.set(True)
    try:
        yield
    finally:
        _INNER.reset(token)


def may_be_born_inside(context: Any, gradients: Iterable[Any]) -> bool:
    """Whether NaNs in the gradients of a context may come from sweeps inside of it, which did not look."""
    if not context.nested or context.zeros != "strong" or context.home.is_abstract or _INNER.get():
        return False
    return any(map(has_nan, gradients))


def has_nan(gradient: Any) -> bool:
    """Whether a gradient holds a NaN, or must be taken to hold one."""
    home = gradient.place.context.home if hasattr(gradient, "place") else None
    if home is not None and not home.is_abstract and _INNER.get():
        return True
    return (home or ON_ARRAYS).has_nan(gradient)


def existing(ct: Any) -> Any:
    """A cotangent that exists everywhere, in the shape and dtype of `ct`."""
    return np.full(ct.shape, np.nan, ct.dtype)[()]


def find(context: Any, seeds: Sequence[tuple[Any, Any]], exists: Any = None) -> list[Any]:
    """For each entry of the log, where the cotangents that its pull yields exist."""
    try:
        with np.errstate(all="ignore"):
            marks = [None] * len(seeds) if exists is None else exists
            return walk(
                context, [(place, _where_seeded(ct, mark)) for (place, ct), mark in zip(seeds, marks, strict=True)]
            )
    finally:
        context.forget_shadows()
        context.play_forward()


def walk(context: Any, seeds: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Walk the log back with marks in place of cotangents; where they exist, entry by entry."""
    before, context.walking = context.walking, True
    try:
        return _walk(context, seeds)
    finally:
        context.walking = before


def _walk(context: Any, seeds: Sequence[tuple[Any, Any]]) -> list[Any]:
    for place, mark in seeds:
        if place.active:
            place.accumulate(mark)
    found: list[Any] = [[] for _ in context.log]
    for number in range(len(context.log) - 1, -1, -1):
        entry = context.log[number]
        ct = entry.take()
        context.exchanging = True
        entry.undo()
        context.undone_from = number
        context.exchanging = False
        if ct is not None and entry.replays:
            found[number] = entry.mark(ct, lambda inner: _walk(context, inner))
        elif ct is not None:
            found[number] = marked(entry, ct)
        if entry.activates:
            entry.forget_before()
    return found


def marked(entry: Entry, ct: Any) -> list[Any]:
    """Where the cotangents exist that an entry's pull yields; the marks are added to the shadows of the inputs."""
    found: list[Any] = []
    for place, mark in _reached(entry, ct):
        found.append(None if mark is None else np.isnan(settled(mark)))
        if mark is not None:
            place.accumulate(mark)
    return found


def _where_seeded(ct: Any, exists: Any) -> Any:
    mark = existing(ct)
    return mark if exists is None else np.where(exists, mark, np.zeros_like(mark))


def _reached(entry: Entry, ct: Any) -> Pairs:
    """The marks of an entry's inputs, given that of its output."""
    if entry.moves:
        return entry.pull(ct)
    if not isinstance(entry, Operation):
        return _or_all(entry, ct, entry)
    entry = _structural(entry)
    structure = entry.call.rule.structure
    if structure == "linear":
        return entry.pull(ct)
    if structure != "elementwise":
        return _or_all(entry, ct, _walked(entry) or _generic(entry))
    if isinstance(ct, tuple):
        ct = sum(np.where(np.isnan(settled(one)), np.nan, 0.0) for one in ct if one is not None)
    return entry.through(_whole(ct))


def _whole(mark: Any) -> Any:
    """A mark of complex numbers of which both parts exist where one does: an operation mixes them (`1j * x`)."""
    if np.dtype(getattr(mark, "dtype", type(mark))).kind != "c":
        return mark
    return np.where(np.isnan(settled(mark)), complex(np.nan, np.nan), 0.0).astype(mark.dtype)[()]


def _structural(entry: Operation) -> Operation:
    """The operation with its native rule, whose coefficients are known, if its pull is an engine's."""
    native = getattr(entry.call.rule, "structural", entry.call.rule)
    return entry if native is entry.call.rule else _ruled(entry, native)


def _ruled(entry: Operation, rule: Any) -> Operation:
    """The same entry with another rule."""
    entry = copy(entry)
    entry.call = entry.call.on(entry.call.args, rule)
    return entry


def _walked(entry: Operation) -> Operation | None:
    """The operation with a pull that walks its composition with marks, if its rule is one."""
    marks = getattr(entry.call.rule.joint, "marks", None)
    if marks is None:
        return None
    rule = copy(entry.call.rule)
    rule.joint = marks
    return _ruled(entry, rule)


def _or_all(entry: Entry, ct: Any, source: Any) -> list[tuple[Any, Any]]:
    """The marks that a pull carries; where it cannot run on marks, every input counts as reached."""
    try:
        return list(source.pull(ct))
    except (MemoryError, OSError):  # the machine's
        raise
    except Exception:  # a rule's own code, on numbers that it was not written for
        return [(place, np.full(place.shape, np.nan, place.dtype)[()]) for place in entry.reads()]


def _generic(entry: Operation) -> Operation | None:
    """The same operation on inputs without special values, so that its pull shows what depends on what."""
    generator = np.random.default_rng(0)

    def replaced(x: Any) -> Any:
        if isinstance(x, (list, tuple)) and any(hasattr(part, "dtype") for part in x):
            return type(x)(replaced(part) for part in x)
        if (isinstance(x, Shaped) or hasattr(grounded(x), "dtype")) and x.dtype.kind in "fc":
            return generator.uniform(0.5, 1.5, x.shape).astype(x.dtype)
        return settled(x)

    operands = tuple(map(replaced, entry.call.args))
    args, kwargs = entry.call.spelled(operands)
    try:
        output = entry.call.rule.function(*args, **kwargs)
    except (MemoryError, OSError):  # the machine's
        raise
    except Exception:  # the function's own, at arguments that it was not called with
        return None
    return entry.at(operands, output)


def push_present(entry: Any, ct: Any, present: list[Any]) -> None:
    """Push an entry's cotangents, with the NaNs removed that stand where none exists."""
    if entry.replays:
        entry.pull(ct, present)
        return
    for place, cotangent in _only_present(entry, ct, present):
        if cotangent is not None:
            place.accumulate(cotangent)


def _only_present(entry: Entry, ct: Any, present: list[Any]) -> Pairs:
    pairs = list(entry.pull(ct))
    cleaned = [
        (place, c if c is None or not has_nan(c) else np.where(_of_shape(exists, c.shape), c, np.zeros_like(c)))
        for (place, c), exists in zip(pairs, present, strict=False)
    ]
    if (
        isinstance(entry, Operation)
        and entry.call.rule.structure == "multilinear"
        and any(c is not None and has_nan(c) for _, c in cleaned)
    ):
        return _products_of_present(_structural(entry), ct, cleaned)
    return cleaned + pairs[len(present) :]


def _of_shape(exists: Any, shape: tuple[int, ...]) -> Any:
    """Where a cotangent exists that was summed to `shape` from the shape of `exists`."""
    surplus = np.ndim(exists) - len(shape)
    if surplus < 0 or exists.shape == shape:
        return exists
    exists = np.any(exists, axis=tuple(range(surplus)))
    short = tuple(k for k, length in enumerate(shape) if length == 1 and exists.shape[k] != 1)
    return np.any(exists, axis=short, keepdims=True) if short else exists


def _products_of_present(entry: Operation, ct: Any, cleaned: list[tuple[Any, Any]]) -> Pairs:
    """Where a product's non-finite operands met only absent cotangents, the sum over the rest."""
    finite = _with_operands(entry, lambda x: np.where(np.isfinite(x), x, np.zeros_like(x)))
    terms = _with_operands(entry, np.ones_like)
    finite_terms = _with_operands(entry, lambda x: np.isfinite(x).astype(x.dtype))
    nonzero = (settled(ct) != 0).astype(ct.dtype)
    counts = zip(terms.pull(nonzero), finite_terms.pull(nonzero), strict=True)
    return [
        (place, np.where(settled(every) == settled(good), c, ieee))
        for (place, ieee), (_, c), ((_, every), (_, good)) in zip(cleaned, finite.pull(ct), counts, strict=True)
    ]


def _with_operands(entry: Operation, change: Any) -> Operation:
    args = tuple(change(x) if hasattr(x, "dtype") and x.dtype.kind in "fc" and not isinstance(x, Shaped) else x
                 for x in entry.call.args)  # fmt: skip
    return entry.at(args, entry.output)
