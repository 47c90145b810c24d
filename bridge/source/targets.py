"""Who takes a write: a plain array that is written into, or the Buffer that stands for it from then on."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.code_position import here
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.values import is_abstract, is_of_subclass
from bridge.source.borrowing import Loan
from bridge.source.keeping import holds_tracked
from bridge.source.lending import COUNT, lent_to
from bridge.source.reading import is_rewritten


def carries(value: Any) -> bool:
    """Whether something is lost if a value is written into a plain array: it carries a gradient, or is not known."""
    if issubclass(type(value), (list, tuple)):
        return any(map(carries, value))
    if not is_tracked(value):
        return type(value) is ARRAYS.bounded or (_holds_array(value) and carries(value.__bridge_array__))
    while is_tracked(value):
        if value.place.active or is_abstract(value) or value.place.context.borrows_everything:
            return True
        value = value.value
    return False


def _holds_array(value: Any) -> bool:
    return type(value) is ARRAYS.labelled or is_of_subclass(value)


def loan_for(value: Any) -> Loan | None:
    """Who borrows what a value is written into: the context of the value if it is tracked, or the innermost one."""
    tracked = _first_tracked(value)
    context: Any = current_context() if tracked is None else tracked.place.context
    while context is not None:
        if context.loan is not None:
            return context.loan
        context = context.outer
    return None


def _first_tracked(value: Any) -> Any:
    """A tracked value in a container; None if there is none."""
    if is_tracked(value):
        return value
    if _holds_array(value):
        return _first_tracked(value.__bridge_array__)
    kind = type(value)
    if issubclass(kind, (dict, list, tuple, set, collections.deque)):
        for part in value.values() if issubclass(kind, dict) else value:
            found = _first_tracked(part)
            if found is not None:
                return found
    return None


def own_target(value: Any, target: Any) -> Any:
    """A Buffer in place of a plain array that a function called with a tracked value writes into.

    None if the code that calls it is not read: `target` stays plain, and that is an error.
    """
    if type(target) is not np.ndarray or not is_rewritten(here()[0]):
        return None
    loan = loan_for(value)
    return None if loan is None else loan.lend(target, value)


def own(target: np.ndarray, value: Any, is_alone: bool = False) -> Any:
    """A plain array that is written into, or the Buffer that stands for it from now on."""
    found = lent_to(target) if COUNT.number else None
    if found is None and not is_alone:
        found = _of_argument(target)
    if found is not None:
        return found
    if not carries(value) and not _is_watched(target):
        context = current_context()
        if not is_alone and context is not None and context.loan is not None and not holds_tracked(value):
            context.loan.touch(target)
        return target
    loan = loan_for(value)
    if loan is None:
        return target
    if not target.flags.writeable:
        raise ValueError("assignment destination is read-only")
    return loan.lend(target, value, is_alone)


def _is_watched(target: np.ndarray) -> bool:
    """Whether a part of a compiled program writes into an array from outside of it: that happens when it runs."""
    context = current_context()
    if context is None or context.loan is None or not context.home.is_abstract:
        return False
    watches = context.loan.watches.open
    return bool(watches) and id(target) not in watches[-1].fresh and id(target.base) not in watches[-1].fresh


def borrowed(target: np.ndarray) -> Any:
    """What stands for an array that a part of a compiled program changes."""
    found = lent_to(target) if COUNT.number else None
    if found is None:
        found = _of_argument(target)
    loan = loan_for(None)
    if found is not None:
        return found
    return loan.lend(target, None) if loan is not None and _is_watched(target) else target


def mark_frozen() -> None:
    """Before the program may make a read-only array writable: what those hold that were kept as they are is marked."""
    context = current_context()
    if context is not None and context.loan is not None:
        context.loan.mark_frozen()


def touched(target: Any) -> Any:
    """What code that is not read writes into: a plain array is remembered, since it may be lent later."""
    if type(target) is np.ndarray:
        found = _of_argument(target)
        if found is not None:
            return found
        context = current_context()
        if context is not None and context.loan is not None:
            context.loan.touch(target)
    return target


def _of_argument(target: np.ndarray) -> Any:
    """What stands for a plain array that is an argument's under another name; None if it is not."""
    context = current_context()
    return None if context is None or context.loan is None else context.loan.names.of(target)
