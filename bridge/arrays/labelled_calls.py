"""Calls on labelled arrays: what is done with the numbers, once their library has said that it is the same."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.arrays.asking import Twins, ask
from bridge.arrays.buffer import Buffer
from bridge.code_position import frames
from bridge.rewind import labels
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.memory import grounded
from bridge.signatures import operation_name

_ELEMENTWISE = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.lt, operator.le, operator.gt,
    operator.ge, np.add, np.subtract, np.multiply, np.divide, np.negative, np.exp, np.log, np.log1p, np.expm1, np.sqrt,
    np.square, np.sin, np.cos, np.tan, np.tanh, np.absolute,
})  # fmt: skip
"""What gives, of arrays that are labelled alike, an array that is labelled so again: nobody is asked."""
_NUMBERS = (int, float, np.generic)


def operated(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operator or a ufunc, of operands some of which are labelled."""
    if not kwargs and function in _ELEMENTWISE:
        label = _one_label(args)
        if label is not None:
            check_caller(operation_name(function))
            return ARRAYS.labelled(label, function(*map(plain, args)))
    return called(spelled(function), function, args, kwargs)


def spelled(function: Any) -> str:
    """What messages call an operator or a ufunc."""
    return _SIGNS.get(getattr(function, "__name__", "")) or operation_name(function)


_SIGNS = dict(
    zip(
        ("add", "sub", "mul", "truediv", "matmul", "iadd", "isub", "imul", "itruediv", "lt", "le", "gt", "ge", "eq"),
        ("`+`", "`-`", "`*`", "`/`", "`@`", "`+=`", "`-=`", "`*=`", "`/=`", "`<`", "`<=`", "`>`", "`>=`", "`==`"),
        strict=True,
    )
)


def _one_label(args: tuple[Any, ...]) -> Any:
    """What labels all operands that are no numbers alike; None if there is nothing such."""
    found = None
    for x in args:
        if type(x) is ARRAYS.labelled:
            if (
                found is not None
                and x.__bridge_label__ is not found
                and not labels.same_labels(x.__bridge_label__, found)
            ):
                return None
            found = x.__bridge_label__
        elif not isinstance(x, _NUMBERS) and not (hasattr(x, "place") and not isinstance(x, Buffer)):
            return None
    return found


def called(what: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call on labelled operands: of their numbers, if their library says that it is the same."""
    check_caller(what)
    if kwargs.get("out") is not None:
        raise labels.refused(f"{what} with out=", "it is written into, or labelled", "write out[...] = result")
    twins = Twins()
    found = ask(what, function, args, kwargs, twins)
    ask(what, function, args, kwargs, Twins(actual=True))
    made = function(*plain(args), **plain(kwargs))
    return labelled_as(what, found, made, [(x, twins(x)[0]) for x in args if type(x) is ARRAYS.labelled])


def labelled_as(what: str, found: Any, made: Any, operands: list[tuple[Any, Any]]) -> Any:
    """What a call made of numbers, labelled as what their library made of the twins of its operands."""
    if isinstance(found, (tuple, list)):
        return type(found)(labelled_as(what, one, part, operands) for one, part in zip(found, made, strict=True))
    same = next((x for x, twin in operands if twin is found), None)
    if same is not None:
        return same
    if labels.is_labelled(found) and not hasattr(made, "place"):
        return labels.around(found, np.asarray(made))
    if hasattr(found, "dims") and not isinstance(made, Buffer):
        made = np.reshape(made, (1,))[0, ...]
    if not isinstance(made, Buffer):
        return made
    of = [
        x
        for x, _ in operands
        if isinstance(x.__bridge_array__, Buffer) and x.__bridge_array__.place.root is made.place.root
    ]
    numbers = labels.values_of(found)
    is_labelled = labels.is_labelled(found)
    # What pandas makes of its array does not change with it, wherever it lies.
    is_view = hasattr(found, "dims") or not is_labelled
    is_view = is_view and any(np.may_share_memory(numbers, labels.values_of(twin)) for _, twin in operands)
    if is_view and not of:
        raise labels.refused(what, "its result shares memory with its argument there, and not in NumPy")
    for x in () if is_labelled else of:
        note(x, "handed_out")
    if of:
        made = view(made, getattr(numbers, "flags", None)) if is_view else made.copy()
    return ARRAYS.labelled(found, made) if is_labelled else made


def _is_on(array: Any, root: Any) -> bool:
    return isinstance(array, Buffer) and array.place.root is root


def view(array: Any, flags: Any) -> Any:
    """The same memory, which may be written as `flags` say."""
    shown = array[...]
    if flags is not None and not flags.writeable:
        grounded(shown).flags.writeable = False
    return shown


def plain(x: Any) -> Any:
    """Operands without labels."""
    if type(x) is ARRAYS.labelled:
        return x.__bridge_array__
    if type(x) in (list, tuple):
        return type(x)(map(plain, x))
    if type(x) is dict:
        return {name: plain(part) for name, part in x.items()}
    if type(x) is slice:
        return x
    return labels.values_of(x) if labels.is_labelled(x) else x


def note(x: Any, what: str) -> None:
    """Take note that memory has another name, without labels ("handed_out") or in another argument ("shared")."""
    vars(x)[what] = True


def number(x: Any, how: str) -> Any:
    """The number that an array without axes is of."""
    if x.shape:
        raise labels.refused(f"{how} of a {labels.name_of(x)}", "it has labels", "write x.values[0]")
    return x.__bridge_array__[()]


def combine(x: Any) -> Callable[..., Any] | None:
    """What computes an operation of tracked values and a labelled array; None for anything else."""
    context = current_context()
    is_known = type(x) is ARRAYS.labelled or (context is not None and labels.is_labelled(x) and not hasattr(x, "dims"))
    if not is_known:
        return None
    if context is not None and context.home.is_abstract:
        raise labels.refused(
            f"a {labels.name_of(x)} in a program that is compiled",
            "its labels are not followed there",
            "use the numbers that it holds: np.asarray(x)",
        )
    return lambda ufunc, *args: operated(ufunc, tuple(map(_entered, args)), {})


def _entered(x: Any) -> Any:
    is_plain = type(x) is not ARRAYS.labelled and labels.is_labelled(x)
    return ARRAYS.labelled(labels.kept(x), labels.values_of(x)) if is_plain else x


def check_caller(what: str) -> None:
    """RefusedError if pandas or xarray do something with a labelled array, which they take for another array."""
    callers = (one.f_globals.get("__name__", "").partition(".")[0] for one in frames())
    library = next((name for name in callers if name not in ("bridge", "numpy")), "")
    if library in labels.LABELLED:
        raise labels.refused(
            f"{library} does something with what comes of an argument of its own ({what})",
            "where gradients are followed that is an array of NumPy's, whose labels it does not see",
            "write the argument on the left of the operator; or use the numbers of both: x.values",
        )
