"""The smallest input that still shows a difference: fewer elements, zeros, rounder numbers; as Python text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

from bridge.proof.programs.evidence import Options
from bridge.proof.report.model import Difference, Report
from bridge.proof.subject import Subject, name_of

MOST_ATTEMPTS = 80
SMALL = 40
# Where one attempt takes long, because the program is compiled again, there are fewer.
SECONDS = 8.0


def shrunk(
    subject: Subject, differences: list[Difference], check: Callable[[Report, Subject, Options], None], options: Options
) -> str | None:
    """The smallest input found that still shows the first difference that matters, ready to be pasted.

    `check` fills the report of the program at other arguments; a program that raises there is no candidate.
    """
    shown = next((one for one in differences if one.kind not in ("kink", "precision")), differences[0])
    best = subject
    tried, begin = 0, perf_counter()
    smaller = shown.kind != "random"
    while smaller:
        smaller = False
        for leaves in _candidates(best):
            tried += 1
            if tried > MOST_ATTEMPTS or perf_counter() - begin > SECONDS:
                return written(best)
            candidate, report = best.at(leaves), Report("", "")
            try:
                check(report, candidate, options)
            except Exception:
                # A program may raise anything at arguments that were not meant for it.
                continue
            if any(_like(one, shown) for one in report.differences):
                best, smaller = candidate, True
                break
    return written(best)


def _like(one: Difference, shown: Difference) -> bool:
    return (one.kind, one.engines[0], one.name, one.where) == (shown.kind, shown.engines[0], shown.name, shown.where)


def _candidates(subject: Subject) -> Iterator[list[Any]]:
    """Other arguments, the simplest first."""
    if not subject.holds_views:  # which lie in their array at the place that they have
        yield from _shorter(subject.leaves)
    arrays = [k for k, leaf in enumerate(subject.leaves) if _is_float(leaf)]
    for k in arrays:
        leaf = np.asarray(subject.leaves[k])
        for simple in _simpler(leaf):
            if not np.array_equal(simple, leaf):
                yield _with(subject.leaves, k, simple)


def _shorter(leaves: list[Any]) -> Iterator[list[Any]]:
    """Every axis of one length cut to fewer elements, in all arrays at once."""
    lengths = {n for leaf in leaves if isinstance(leaf, np.ndarray) for n in leaf.shape if n > 1}
    for length in sorted(lengths, reverse=True):
        for fewer in dict.fromkeys((1, 2, 3, length // 2, length - 1)):
            if 0 < fewer < length:
                yield [_cut(leaf, length, fewer) for leaf in leaves]


def _cut(leaf: Any, length: int, fewer: int) -> Any:
    if not isinstance(leaf, np.ndarray) or length not in leaf.shape:
        return leaf
    return leaf[tuple(slice(fewer) if n == length else slice(None) for n in leaf.shape)].copy()


def _simpler(array: np.ndarray) -> Iterator[np.ndarray]:
    yield np.zeros_like(array)
    yield np.ones_like(array)
    for digits in (0, 1, 2):
        yield np.round(array, digits)
    if array.size <= SMALL:
        for index in np.ndindex(array.shape):
            if array[index] != 0:
                changed = array.copy()
                changed[index] = 0
                yield changed


def _with(leaves: list[Any], k: int, array: np.ndarray) -> list[Any]:
    made = list(leaves)
    made[k] = array if isinstance(leaves[k], np.ndarray) else type(leaves[k])(array[()])
    return made


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, (np.ndarray, np.floating, np.complexfloating)) and leaf.dtype.kind in "fc"


def written(subject: Subject) -> str:
    """The call of a program as Python text."""
    args = [_text(arg) for arg in subject.args]
    named = [f"{name}={_text(value)}" for name, value in subject.kwargs.items()]
    return f"{name_of(subject.f)}({', '.join([*args, *named])})"


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        kind = (
            ""
            if value.dtype in (np.float64, np.complex128, np.int64, np.bool_) and value.size
            else f", np.{value.dtype}"
        )
        if value.size > 2000:
            return f"np.zeros({value.shape}{kind})  # of these, the first values: {value.ravel()[:8].tolist()}"
        text = "np.array(" + repr(value.tolist()).replace("nan", "np.nan").replace("inf", "np.inf") + kind + ")"
        return text if value.size else f"np.zeros({value.shape}{kind})"
    if isinstance(value, np.generic):
        return f"np.{value.dtype}({value.item()!r})"
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        inside = ", ".join(map(_text, value))
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if type(value) is dict:
        return "{" + ", ".join(f"{key!r}: {_text(part)}" for key, part in value.items()) + "}"
    return repr(value)
