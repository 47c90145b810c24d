"""The first call of a function that Numba compiles, for each set of types: its values are compared with Python's.

Numba's integers wrap, its numbers have other types, and signatures convert. A function whose values differ for such a
reason has another derivative than its source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.code_position import here, resolve
from bridge.errors import BridgeError, ValueDiffersError
from bridge.rewind.escapes import detach, noted
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.source.numba import RUNNING, is_jitted, names_of

_TOLERANCE = {4: 1e-3, 8: 1e-6}
"""The relative difference that is due to rounding, by the bytes of the shortest float."""

_known: WeakKeyDictionary[Any, set[Any]] = WeakKeyDictionary()


def compared(made: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: Callable[[], Any]) -> Any:
    """What `run` returns, which is to be what `made`, a function of Numba's, returns and writes into its arguments.

    Raises
    ------
    ValueDiffersError : it is not, beyond rounding.
    """
    context = current_context()
    given = [*args, *kwargs.values()]
    if RUNNING.depth or context is None or context.home.is_abstract or context.outer is not None:
        return run()
    types = (*map(_type_of, given), *kwargs)
    known = _known.setdefault(made, set())
    if types in known or not _can_be_copied(given):
        return run()
    names = {name for name, _ in names_of(made.__wrapped__)}
    if not names.isdisjoint(("print", "objmode")):
        return run()
    copies = [_copy(one) for one in given]
    wanted, its = _tried(lambda: made(*copies[: len(args)], **dict(zip(kwargs, copies[len(args) :], strict=True))))
    found, own = _tried(run)
    if own is not None and (its is not None or isinstance(own, BridgeError)):
        raise own
    if its is not None or own is not None:
        wanted = f"an error ({its!r})" if own is None else "no error"
        raise _error(made, given, wanted, _text(found) if own is None else repr(own)) from (its or own)
    # An array that was not filled may have any elements.
    pairs = [] if {"empty", "empty_like"} & names and _has_arrays(wanted) else [(found, wanted)]
    for one, other in (*pairs, *zip(given, copies, strict=True)):
        if not _are_close(one, other):
            raise _error(made, given, _text(other), _text(one))
    known.add(types)
    return found


def _tried(run: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What a function returns, and the error that it raises."""
    try:
        return run(), None
    except Exception as error:
        return None, error


def _type_of(value: Any) -> Any:
    """What Numba compiles a function for."""
    if isinstance(value, tuple):
        return tuple(map(_type_of, value))
    return (value.dtype, value.ndim) if hasattr(value, "dtype") else type(value)


def _can_be_copied(given: list[Any]) -> bool:
    """Whether the function can run on copies: of numbers and of arrays of numbers that share no memory."""
    parts = list(_parts(given))
    numbers = (bool, int, float, complex, str, type(None), np.generic)
    plain = [one for one in parts if isinstance(one, np.ndarray)]
    arrays = [one for one in parts if is_tracked(one) and one.ndim]
    if not all(isinstance(one, (np.ndarray, *numbers)) or is_tracked(one) or is_jitted(one) for one in parts):
        return False
    is_apart = len({id(one.place.root) for one in arrays}) == len(arrays)
    has_numbers = all(one.dtype.kind in "biufc" for one in plain)
    return has_numbers and is_apart and not any(np.may_share_memory(*pair) for pair in combinations(plain, 2))


def _parts(value: Any) -> Iterator[Any]:
    """The numbers and arrays in tuples and lists."""
    if isinstance(value, (tuple, list)):
        for one in value:
            yield from _parts(one)
    else:
        yield ARRAYS.seen(value)


def _copy(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        parts = list(map(_copy, value))
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    plain = detach(ARRAYS.seen(value))
    return plain.copy() if isinstance(plain, np.ndarray) else plain


def _has_arrays(value: Any) -> bool:
    return any(isinstance(one, np.ndarray) for one in _parts(value))


def _are_close(found: Any, wanted: Any) -> bool:
    """Whether the numbers and arrays in two values are the same up to rounding."""
    ours, theirs = list(map(detach, _parts(found))), list(_parts(wanted))
    return len(ours) == len(theirs) and all(map(_is_close, ours, theirs))


def _error(made: Any, given: list[Any], wanted: str, found: str) -> BridgeError:
    """The error of a first call, which a program that catches it cannot hide."""
    error = ValueDiffersError(
        f"{made.__name__}, compiled by Numba, computes other values than its Python source: {wanted}, and {found} "
        "(integers that wrap, types of numbers, a signature that converts, unchecked indices, or a data race)",
        where=resolve(here()),
        remedy=f"call {made.__name__}.py_func, if Python's values are meant, or give {made.__name__} a rule",
    )
    tracked = next(filter(is_tracked, _parts(given)), None)
    return error if tracked is None else noted(tracked, error)


def _is_close(one: Any, other: Any) -> bool:
    """Whether two numbers or arrays are the same up to rounding; anything else is."""
    if not all(isinstance(x, (np.ndarray, np.number, int, float, complex)) for x in (one, other)):
        return True
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return False
    sizes = [x.dtype.itemsize // (1 + (x.dtype.kind == "c")) for x in (one, other) if x.dtype.kind in "fc"]
    tolerance = _TOLERANCE.get(min(sizes, default=8), 1e-2)
    finite = np.abs(other[np.isfinite(other)])
    return np.allclose(one, other, tolerance, tolerance * finite.max(initial=0.0), equal_nan=True)


def _text(value: Any) -> str:
    return np.array2string(np.asarray(detach(next(_parts(value), None))), threshold=5, edgeitems=2).replace("\n", " ")
