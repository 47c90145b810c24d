"""Pulls from an equivalent composition of operations that have rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.errors import ValueDiffersError
from bridge.rewind.context import Context
from bridge.rewind.memory import grounded, holds_arrays
from bridge.rewind.values import is_abstract


def pull_of_equivalent(
    equivalent: Callable[..., Any], compare: str | None = None, opened: Callable[[], Any] | None = None
) -> Callable[..., Any]:
    """A pull that differentiates `equivalent`, a composition with the same arguments and value.

    With `compare`, the name of the operation, a value that is another than the equivalent's is a ValueDiffersError.
    `opened` makes the context in which the composition runs, where an engine supplies its pulls. The pull's
    attribute `marks` is a pull too: of marks that say where cotangents exist (`bridge.rewind.strong_zeros`).
    """

    def run(make: Callable[[], Any], args: Any, kwargs: Any) -> tuple[Any, Any, list[Any]]:
        with make() as context:
            tracked = [_entered(context, x) for x in args]
            tracked_names = {name: _entered(context, x) for name, x in kwargs.items()}
            value = equivalent(*tracked, **tracked_names)
        return context, value, [_places(x) for x in (*tracked, *tracked_names.values())]

    def pull(ct: Any, out: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        context, value, places = run(_plain if opened is None else opened, args, kwargs)
        if compare is not None and not is_abstract(value) and not is_abstract(out):
            check_agreement(compare, grounded(value), grounded(out), args)
        flat = [place for place in _flat(places) if place is not None]
        found = iter(context.pull_back(_seeds(value, ct), flat, once=True))
        return tuple(_filled(part, found) for part in places)

    def marks(ct: Any, out: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        context, value, places = run(_plain, args, kwargs)
        flat = [place for place in _flat(places) if place is not None]
        found = iter(context.marked(_seeds(value, ct), flat))
        return tuple(_filled(part, found) for part in places)

    pull.__module__ = getattr(equivalent, "__module__", __name__)
    pull.equivalent, pull.compare, pull.marks = equivalent, compare, marks  # type: ignore[attr-defined]
    return pull


def check_agreement(name: str, steps: Any, value: Any, operands: tuple[Any, ...]) -> None:
    """Raise a ValueDiffersError if NumPy's value of an operation is not that of its steps, one by one."""
    if not _agree(steps, value, operands):
        raise ValueDiffersError(
            f"{name} gave {value}, and the same steps one by one give {steps}",
            remedy="write the reduction as a loop: this NumPy computes something else",
        )


def _plain() -> Any:
    return Context(zeros="ieee")


def _agree(value: Any, out: Any, operands: tuple[Any, ...]) -> bool:
    """Whether two orders of rounding can explain the difference, also where large operands cancel."""
    tolerance = np.sqrt(np.finfo(np.asarray(out).dtype).eps)
    sizes = [np.abs(grounded(x)) for x in operands if _is_float(x)]
    largest = max((np.max(size, initial=0, where=np.isfinite(size)) for size in sizes), default=0)
    return bool(np.allclose(value, out, float(tolerance), float(tolerance * largest), equal_nan=True))


def _is_float(x: Any) -> bool:
    return hasattr(x, "dtype") and hasattr(x, "shape") and not isinstance(x, type) and x.dtype.kind in "fc"


def _entered(context: Any, x: Any) -> Any:
    if _is_float(x) and (isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "place")):
        return context.buffer(x)
    if isinstance(x, (list, tuple)) and holds_arrays(x):
        return type(x)(_entered(context, part) for part in x)
    return x


def _places(x: Any) -> Any:
    if hasattr(x, "place"):
        return x.place
    if isinstance(x, (list, tuple)) and holds_arrays(x):
        return [_places(part) for part in x]
    return None


def _flat(places: Any) -> list[Any]:
    return [one for part in places for one in (_flat(part) if isinstance(part, list) else [part])]


def _filled(places: Any, found: Any) -> Any:
    if isinstance(places, list):
        return [_filled(part, found) for part in places]
    return None if places is None else next(found)


def _seeds(value: Any, ct: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, (list, tuple)):
        return [pair for one, c in zip(value, ct, strict=True) if c is not None for pair in _seeds(one, c)]
    return [(value.place, ct)] if hasattr(value, "place") else []
