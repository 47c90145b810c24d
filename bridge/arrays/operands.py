"""Operands of an operation: whose they are, what they hold, and which must not be there."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.arrays.creation import array
from bridge.arrays.own_numbers import is_asked_first, plain_number
from bridge.code_position import here, resolve
from bridge.errors import NoRuleError, RefusedError
from bridge.rewind.escapes import remember
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.labels import ALIKE, answers_itself, is_labelled, name_of, refuse_operand
from bridge.rewind.memory import grounded
from bridge.rewind.snapshots import constant
from bridge.rewind.values import is_abstract
from bridge.rulebook import book
from bridge.rulebook.book import REFUSED, ZERO_PULL
from bridge.signatures import operation_name

NUMBERS = (int, float, complex, np.generic)


def context_of(args: Any) -> Any:
    """The innermost context among tracked operands, which must be usable; None if nothing is tracked."""
    context = None
    for x in args:
        place = getattr(x, "place", None)
        if place is not None:
            own = place.context
            if own is not context:
                own.check_usable()
                if context is None or own.level > context.level:
                    context = own
        elif type(x) in (list, tuple):
            inner = context_of(x)
            if inner is not None and (context is None or inner.level > context.level):
                context = inner
    return context


def check_not_complex(target: Any, values: tuple[Any, ...]) -> None:
    """Raise if a complex operand is to be written into a real array."""
    if target.dtype.kind != "c" and any(np.dtype(getattr(v, "dtype", type(v))).kind == "c" for v in values):
        refuse_complex(target)


def refuse_complex(target: Any) -> None:
    """Raise: a complex value would lose its imaginary part in real memory."""
    raise RefusedError(
        f"a complex value is written into an array of dtype {target.dtype}: its imaginary part would be lost",
        where=resolve(here()),
        remedy="write np.real(value), or make the array complex",
    )


def operand(x: Any) -> Any:
    """An operand that is neither tracked nor a NumPy array, as one or the other."""
    if type(x) is np.ndarray or hasattr(x, "place"):
        return x
    if isinstance(x, NUMBERS):
        return plain_number(x)
    if isinstance(x, np.ndarray):
        _check_meaning(x)
        return x
    if getattr(type(x), "__array_ufunc__", ...) is None or type(x) is ARRAYS.bounded or ARRAYS.of_subclass(type(x)):
        return NotImplemented
    if isinstance(x, (list, tuple)):
        if context_of(x) is not None:
            return array(x)
        return np.asarray(x)
    if hasattr(x, "__array__"):
        return _of_another_library(x)
    if not is_asked_first(x) and hasattr(type(x), "__len__") and hasattr(type(x), "__getitem__"):
        # NumPy makes an array of what has elements, before it asks for an operator.
        parts = list(x)
        made = array(parts) if context_of(parts) is not None else np.asarray(x)
        return made if made.dtype.kind in "fciub" else NotImplemented
    return NotImplemented


def _of_another_library(x: Any) -> Any:
    """What holds an array, as that; NotImplemented if NumPy leaves an operation with an array to its operator.

    RefusedError for what answers by NumPy's protocols, and would answer something else than an array of NumPy's.
    """
    kind = type(x)
    if kind is ARRAYS.labelled:
        return NotImplemented
    if not is_asked_first(x) or kind.__module__.partition(".")[0] in ALIKE:
        return np.asarray(x)
    if current_context() is not None and is_labelled(x):
        # pandas' arrays are combined in `operate`, those of xarray take tracked arrays into them.
        return NotImplemented
    if not answers_itself(kind):
        return NotImplemented
    name = name_of(x)
    raise RefusedError(
        f"a {name} is an operand beside a tracked array: NumPy would leave the operation to it, and the result would "
        f"be a {name} (its units, its columns, its own functions), not an array",
        where=resolve(here()),
        remedy="use the numbers that it holds: np.asarray(x), or what it calls them (.magnitude, .to_numpy(), .values)",
    )


def _check_meaning(x: np.ndarray) -> None:
    """Raise for an array of a class that changes what operations mean: with a tracked operand they would be others."""
    if isinstance(x, (np.ma.MaskedArray, np.matrix)):
        raise RefusedError(
            f"a {type(x).__name__} is an operand: it changes what operations mean",
            where=resolve(here()),
            remedy="use a plain array (np.asarray), with np.where for a mask and @ for products",
        )
    changed = changed_meaning(type(x))
    if changed:
        raise RefusedError(
            f"a {type(x).__name__} is an operand: it is an array whose class has {', '.join(changed[:3])} of its own, "
            "which would be asked in the program, but not in its derivative",
            where=resolve(here()),
            remedy="use a plain array: np.asarray(x)",
        )


def changed_meaning(kind: type) -> list[str]:
    """The names that a subclass of arrays defines and that change the results of operations."""
    return sorted({name for cls in _own_classes(kind) for name in vars(cls).keys() & _MEANING})


def _own_classes(kind: type) -> list[type]:
    """The classes between one and NumPy's arrays, but for NumPy's own, as `np.memmap`, and `constant`."""
    known = ("numpy", "bridge")
    return [c for c in kind.__mro__ if issubclass(c, np.ndarray) and c.__module__.partition(".")[0] not in known]


_MEANING = frozenset(
    name
    for name in dir(np.ndarray)
    if not name.startswith("__")
    or (callable(getattr(np.ndarray, name))
    and name.strip("_").removeprefix("r").removeprefix("i")
    in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lt", "le", "gt", "ge",
        "eq", "ne", "neg", "pos", "abs", "invert", "getitem", "setitem", "array_ufunc", "array_function"))
)  # fmt: skip
"""What a class may change of arrays that changes what operations on them give."""


def unwrapped(context: Any, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[int, ...]]:
    """Values, active places and positions of plain arrays of a call's arguments."""
    values: list[Any] = []
    inputs: list[Any] = []
    plain: tuple[int, ...] = ()
    for k, x in enumerate(args):
        place = getattr(x, "place", None)
        if place is not None:
            if place.context is context:
                values.append(x.value)
                inputs.append(place if place.active else None)
                continue
            _check_level(context, x)
            context.check_original(grounded(x))
            plain += (k,)
        elif isinstance(x, np.ndarray):
            if type(x) is not np.ndarray:
                _check_meaning(x)
            if type(x) is not constant:
                plain += (k,)
            context.check_original(x)
        elif isinstance(x, NUMBERS):
            x = plain_number(x)
        elif hasattr(x, "__array__") and not isinstance(x, type):
            refuse_operand(x, "a function")
            x = np.asarray(x)
            plain += (k,)
        elif type(x) in (list, tuple) and context_of(x) is not None:
            parts, places, _ = unwrapped(context, tuple(x))
            values.append(list(parts) if type(x) is list else parts)
            inputs.append(list(places) if any(p is not None for p in places) else None)
            continue
        values.append(x)
        inputs.append(None)
    return tuple(values), tuple(inputs), plain


def _check_level(context: Any, x: Any) -> None:
    """An operand of another context is a constant, if that context is an outer one."""
    x.place.context.check_usable()
    if x.place.context.level >= context.level and _is_active(x):
        raise remember(x, "an operation in a Buffer of an outer context")


def _is_active(x: Any) -> bool:
    return bool(x.place.active)


def into_plain(context: Any, function: Any, args: Any, target: Any) -> Any:
    """What is written into in the place of a plain array; EscapeError if that would lose a gradient.

    An array of a program that is read may be lent to the context; else it is the array itself.
    """
    for x in args:
        takes = hasattr(x, "place") and (x.place.active or is_abstract(x) or context.borrows_everything)
        if takes and function not in ZERO_PULL:
            found = ARRAYS.own_target(x, target)
            if found is not None:
                return found
            if x.place.active:
                raise remember(x, f"{operation_name(function)} with a plain array as out=")
    return target


def rule_for(function: Any, context: Any) -> Any:
    """The rule of an operation, else that of the context's engine; NoRuleError, with how to write one, if none has."""
    rule = book.find(function)
    if rule is None and context.engine is not None:
        rule = context.engine.rule(function, None)
    if rule is not None:
        return rule
    name = operation_name(function)
    if function in REFUSED:
        raise RefusedError(f"{name} of a tracked array", where=resolve(here()), remedy=REFUSED[function])
    if name.startswith("np.frompyfunc("):
        raise NoRuleError(
            f"nobody has a rule for {name}: it calls a function of Python's for each element, and makes objects of "
            "what that returns",
            where=resolve(here()),
            remedy="use np.vectorize, whose function is read; or write it for arrays",
        )
    raise NoRuleError(
        f"nobody has a rule for {name}",
        where=resolve(here()),
        remedy=f"write one:\n\n    from bridge.extend import rule\n\n    @rule({name})\n"
        "    def pull(ct, out, x):          # ct: cotangent of the output; return that of x\n"
        "        return ct * ...\n\n  or use bridge.detach(x) if no gradient should pass",
    )
