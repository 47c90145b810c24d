"""Tracked values that leave tracking: on purpose by `detach`, otherwise an error that cannot be swallowed."""

from __future__ import annotations

import re
from traceback import walk_stack
from typing import Any, TypeVar, cast

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import BridgeError, EscapeError
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.labels import around
from bridge.rewind.memory import grounded
from bridge.rewind.values import TrackedObject, is_abstract, is_of_subclass, known, needs_value, settled

T = TypeVar("T")


def escape(tracked: Any, how: str) -> Any:
    """The plain value of a tracked one that is being turned into an untracked number or array.

    Integers and booleans may leave, and so may floats that do not depend on what is differentiated.
    Anything else is an EscapeError, which the context remembers, so that code that swallows it cannot hide it.
    """
    place = tracked.place
    place.context.check_usable()
    spelled = known(tracked) if is_abstract(tracked) else None
    if spelled is None and is_abstract(tracked):
        raise noted(tracked, needs_value(tracked, how, _REMEDIES.get(how.partition("(")[0])))
    if spelled is None and (place.active or (hasattr(tracked.value, "place") and _active_below(tracked.value))):
        raise remember(tracked, how)
    place.context.left(tracked, how)
    plain = grounded(tracked) if spelled is None else spelled
    if isinstance(plain, np.ndarray):
        plain = plain.copy()
        plain.flags.writeable = False
    return plain


def constant_of(value: Any) -> Any:
    """`value` with plain copies of the tracked arrays and numbers in it; None if one of them carries a gradient.

    Looks into lists, tuples and dictionaries. What a compiled program does not know yet counts as carrying one.
    """
    try:
        return _constant_of(value)
    except _CarriesGradient:
        return None


class _CarriesGradient(Exception):
    pass


def _constant_of(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_constant_of, value))
    if type(value) is dict:
        return {key: _constant_of(part) for key, part in value.items()}
    if isinstance(value, TrackedObject):
        raise _CarriesGradient
    if not hasattr(value, "place"):
        return value
    value.place.context.check_usable()
    plain = known(value) if is_abstract(value) else grounded(value)
    if plain is None or (not is_abstract(value) and _active_below(value)):
        raise _CarriesGradient
    value.place.context.left(value, "an operand that is constant")
    return plain.copy() if isinstance(plain, np.ndarray) else plain


def note_text(tracked: Any) -> None:
    """Take note of the numbers that are written into a text, if they carry a gradient: nobody may read them back."""
    if not is_abstract(tracked) and tracked.size <= _WRITTEN_AT_ONCE and _active_below(tracked):
        plain = np.asarray(grounded(tracked))
        if plain.dtype.kind == "f":
            written = tracked.place.context.written
            for number in plain.ravel():
                written[float(number)] = written[float(str(number))] = None
            while len(written) > _WRITTEN:
                del written[next(iter(written))]


def rounds(spec: str) -> bool:
    """Whether a format cuts digits off, as for a label or a key: nobody means a quantity by what is left."""
    digits = re.search(r"\.(\d+)", spec)
    return digits is not None and int(digits[1]) < _EXACT


_EXACT = 12
"""Digits of a text that is as good as the number."""

_WRITTEN_AT_ONCE, _WRITTEN = 16, 1024
"""Numbers of the largest array whose text is taken note of; numbers that a context remembers."""


def note_texts(value: Any) -> None:
    """The same for what lists, tuples and dictionaries hold."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value[:_WRITTEN_AT_ONCE]:
            note_texts(part)
    elif hasattr(type(value), "place"):
        note_text(value)


def remember(tracked: Any, how: str) -> EscapeError:
    """The error of an escape, noted in every context whose gradient would be lost."""
    position = here()
    loan = tracked.place.context.loan
    unread = "" if loan is None else loan.reason(position[0])
    callers = {frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in walk_stack(None)}
    callers |= {"numpy.ma" for frame, _ in walk_stack(None) if frame.f_globals.get("__name__") == "numpy.ma.core"}
    error = EscapeError(
        f"a tracked value of shape {tracked.shape} and dtype {tracked.dtype} leaves tracking through {how}: "
        f"its gradient would be lost (value {_short(grounded(tracked))}){unread}",
        where=resolve(position),
        remedy=next((remedy for name, remedy in _REMEDIES_IN.items() if name in callers), _REMEDY),
    )
    return noted(tracked, error)


_REMEDY = (
    "keep it tracked: np.stack([...]) for np.array([...]), np.zeros_like(x), np.empty(n, like=x) or "
    "`import bridge.numpy as np` for arrays that are written into, np.* for math.*; "
    "or let it go on purpose with bridge.detach(value)"
)
_REMEDIES_IN = {
    "xarray": "take the numbers of what xarray has by .data, which stay tracked, not by .values or a function that "
    "converts what it gets",
    "numpy.ma": "write into a masked array that is tracked: np.ma.zeros, np.ma.masked_all, or np.ma.array of a tracked "
    "array; call it in code that is read",
    "h5py": "write after the call, from what it returns; or write bridge.detach(value), which carries no gradient",
}
"""Remedies for escapes in code of a library."""


def noted(tracked: Any, error: BridgeError) -> Any:
    """`error`, remembered by every context of a tracked value, so that code that swallows it cannot hide it."""
    value = tracked
    while hasattr(value, "place"):
        if value.place.context.escaped is None:
            value.place.context.escaped = error
        value = value.value
    return error


def detach(value: T) -> T:
    """The plain NumPy value of a tracked one, without its gradient; anything else as it is.

    Accepts Buffers, Scalars, and tuples, lists and dicts of them. Arrays are copies.
    """
    return cast(T, _detached(value))


def _detached(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        parts = [_detached(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: _detached(part) for key, part in value.items()}
    if type(value) is ARRAYS.labelled:
        return around(value.__bridge_label__, _detached(value.__bridge_array__))
    if is_of_subclass(value):
        return value.detached(_detached)
    if not hasattr(type(value), "place"):
        # Asked of the class: an object may say that it has every attribute.
        return value
    value.place.context.check_usable()
    value.place.context.left(value, "bridge.detach")
    plain = settled(value)
    if is_abstract(plain):
        return plain
    return plain.copy() if hasattr(plain, "copy") else plain


def _active_below(value: Any) -> bool:
    while hasattr(value, "place"):
        if value.place.active:
            return True
        value = value.value
    return False


def _short(plain: Any) -> str:
    return np.array2string(np.asarray(plain), precision=4, threshold=6, edgeitems=2)


_TRACKED = (
    "keep it tracked: np.stack([...]) for np.array([...]), np.zeros_like(x) or `import bridge.numpy as np` for arrays "
    'that are written into, np.* for math.*; or use engine="native"'
)
_REMEDIES = {
    "np.asarray": _TRACKED,
    "float": _TRACKED,
    "complex": _TRACKED,
    "an index, or what Python counts by,": "arrays, and lists of floats or of arrays of one shape, are read at such an "
    "index; other lists (np.array(numbers) is an array), their slices and sizes need a plain integer: pass it so; "
    'or use engine="native"',
}
