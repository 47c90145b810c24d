"""Arguments of other libraries: inside of the function they are arrays of NumPy's, and what only theirs do is told.

An array of pandas or xarray has labels, by which it is indexed, and by which two of them meet; it skips NaNs, and a
standard deviation of pandas is another one.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import ArgumentError, RefusedError
from bridge.rewind.escapes import noted

_KEYWORDS = frozenset({"dim", "skipna", "level", "numeric_only", "min_count", "keep_attrs", "lower", "upper"})
REMEDY = "pass np.asarray(x), or write it with NumPy's functions"


def labels_of(leaf: Any) -> Any:
    """What tells the labels of an array of pandas or xarray from others; None of one that has none."""
    pandas, xarray = sys.modules.get("pandas"), sys.modules.get("xarray")
    if pandas is not None and isinstance(leaf, pandas.Series):
        return tuple(leaf.index)
    if xarray is not None and isinstance(leaf, xarray.DataArray):
        return leaf.dims, *(tuple(np.ravel(leaf[name].values)) for name in leaf.dims)
    return None


ALIKE = frozenset({"jax", "jaxlib", "torch", "numpy", "bridge"})
"""Libraries whose arrays mean what NumPy's mean."""


def answers_itself(kind: type) -> bool:
    """Whether arrays of a class answer NumPy's protocols, with something that is no array: units, columns."""
    own = hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__")
    return own and kind.__module__.partition(".")[0] not in ALIKE


_LABELLED = ("pandas.", "xarray.")


def plain_of(leaf: Any) -> np.ndarray:
    """An argument of another library as an array of NumPy's; ArgumentError if it cannot be one, or means more."""
    name = _name(leaf)
    if answers_itself(type(leaf)) and not any(one.__module__.startswith(_LABELLED) for one in type(leaf).__mro__):
        raise ArgumentError(
            f"an argument is a {name}: its units, or what else it means, would be lost",
            remedy="pass the numbers that it holds (np.asarray(x), x.magnitude), and put back their meaning afterwards",
        )
    try:
        return np.asarray(leaf)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(
            f"an argument is a {name} that gives no array of NumPy's ({error})",
            remedy="pass a copy of it in the memory of this machine: x.get(), x.cpu(), np.from_dlpack(x)",
        ) from error


def check_entering(leaves: list[Any]) -> bool:
    """ArgumentError for arrays that mean something else without their labels; whether any of them has labels."""
    found = [(leaf, labels) for leaf in leaves if (labels := labels_of(leaf)) is not None]
    for leaf, labels in found:
        if np.isnan(np.asarray(leaf)).any():
            raise ArgumentError(f"a {_name(leaf)} with NaNs, which its own functions skip", remedy=REMEDY)
        for other, theirs in found:
            if labels != theirs and _may_meet(np.shape(leaf), np.shape(other)):
                raise ArgumentError(
                    f"a {_name(leaf)} of shape {np.shape(leaf)} and a {_name(other)} of shape {np.shape(other)} "
                    "and with other labels: they would meet label by label, and meet element by element",
                    remedy=REMEDY,
                )
    return bool(found)


def _may_meet(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether NumPy computes with arrays of both shapes, along axes by their place; what it refuses is no matter."""
    try:
        np.broadcast_shapes(shape, other)
    except ValueError:
        return False
    return shape != () != other


def meet(context: Any, x: Any) -> None:
    """Take note that an array with labels is an operand: what comes of it is not asked for what only its own does."""
    if any(x is one for one in context.foreign):
        return
    try:
        check_entering([*context.foreign, x])
    except ArgumentError as error:
        raise RefusedError(error.what, where=resolve(here()), remedy=REMEDY) from None
    # Keys are looked at from here on, whether they name labels.
    context.foreign, context.lean = (*context.foreign, x), False


def attribute(tracked: Any, name: str) -> Any:
    """What a tracked array lacks, and an argument of another library has: its values, or a RefusedError."""
    for leaf in tracked.place.context.foreign:
        if not name.startswith("_") and hasattr(leaf, name):
            if name == "values" and labels_of(leaf) is not None:
                return tracked
            raise _refused(tracked, leaf, f".{name}")
    raise AttributeError(f"'Buffer' object has no attribute {name!r}", name=name, obj=tracked)


def check_method(tracked: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """RefusedError for a call of a method that NumPy has, too, and that does something else there."""
    for leaf in tracked.place.context.foreign:
        asks = not _KEYWORDS.isdisjoint(kwargs) or isinstance(kwargs.get("axis", args[0] if args else None), str)
        other = name in ("std", "var") and "ddof" not in kwargs and _name(leaf).startswith("pandas.")
        if labels_of(leaf) is not None and (asks or other):
            raise _refused(tracked, leaf, f".{name}({', '.join(kwargs)})")


def check_key(tracked: Any, key: Any) -> None:
    """RefusedError for a key that names labels."""
    parts = key if type(key) is tuple else (key,)
    for leaf in tracked.place.context.foreign:
        labels = labels_of(leaf)
        if labels is None:
            continue
        is_numbered = _name(leaf).startswith("pandas.") and leaf.index.dtype.kind in "iu"
        is_numbered = is_numbered and labels != tuple(range(len(labels)))
        if any(_names_labels(part, is_numbered) for part in parts):
            raise _refused(tracked, leaf, f"[{key!r}]")


def _names_labels(part: Any, is_numbered: bool) -> bool:
    if isinstance(part, (str, dict)):
        return True
    if isinstance(part, slice):
        return any(isinstance(bound, str) for bound in (part.start, part.stop))
    if isinstance(part, list):
        return any(_names_labels(one, is_numbered) for one in part)
    return is_numbered and getattr(part, "dtype", np.dtype(type(part) if type(part) is int else bool)).kind in "iu"


def _name(leaf: Any) -> str:
    kind = type(leaf)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def _refused(tracked: Any, leaf: Any, what: str) -> RefusedError:
    error = RefusedError(
        f"{what} of a {_name(leaf)}, or of what comes of it: where gradients are followed it is an array of NumPy's",
        where=resolve(here()),
        remedy=REMEDY,
    )
    made: RefusedError = noted(tracked, error)
    return made
