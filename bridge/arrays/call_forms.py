"""One spelling of a call: what NumPy writes into by keyword, lists of tracked values as arrays."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np

from bridge.arrays.creation import array
from bridge.arrays.operands import context_of

# Functions that take a sequence of arrays; elsewhere a list of tracked values stands for one array.
SEQUENCES = frozenset({
    np.choose, np.column_stack, np.concatenate, np.dstack, np.hstack, np.linalg.multi_dot, np.piecewise, np.select,
    np.stack, np.vstack,
})  # fmt: skip


def outputs_by_name(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call with `out` and `overwrite_input`, which NumPy writes into, among the keywords."""
    names = _parameters(function)
    first = next((k for k, name in enumerate(names) if name in ("out", "overwrite_input")), len(args))
    if len(args) <= first:
        return args, kwargs
    return args[:first], dict(zip(names[first:], args[first:], strict=False)) | kwargs


@cache
def _parameters(function: Any) -> tuple[str, ...]:
    """Names of the parameters of a NumPy function; none for other functions, whose rules speak for themselves."""
    if not (getattr(function, "__module__", None) or "").startswith("numpy"):
        return ()
    try:
        parameters = inspect.signature(function).parameters.values()
        positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return () if any(p.kind is p.VAR_POSITIONAL for p in parameters) else tuple(positional)
    except (TypeError, ValueError):
        return _UNREADABLE.get(function, ())


_UNREADABLE = {np.dot: ("a", "b", "out"), np.concatenate: ("arrays", "axis", "out")}


def lists_as_arrays(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call in which lists of tracked values are arrays, unless they are sequences of arrays."""
    if function is np.block or not (getattr(function, "__module__", None) or "").startswith("numpy"):
        return args, kwargs
    if function in SEQUENCES:
        return tuple([type(x)(map(_stacked, x)) if type(x) in (list, tuple) else x for x in args]), kwargs
    return tuple(map(_stacked, args)), {name: _stacked(x) for name, x in kwargs.items()}


def _stacked(x: Any) -> Any:
    if type(x) not in (list, tuple) or context_of(x) is None:
        return x
    return array(x)
