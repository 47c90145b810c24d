"""One form of a call: what NumPy writes into by keyword, lists of tracked values as arrays."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from bridge.arrays.creation import array
from bridge.arrays.operands import context_of
from bridge.rewind.values import concrete_key, is_abstract, needs_value
from bridge.rulebook.facts import FACTS, Facts, facts_of, parameters_of
from bridge.signatures import operation_name


def outputs_by_name(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call with `out` and `overwrite_input`, which NumPy writes into, among the keywords."""
    if len(args) < 2 or not _is_numpys(function):  # the first argument is never an output
        return args, kwargs
    names = parameters_of(function)
    first = next((k for k, name in enumerate(names) if name in ("out", "overwrite_input")), len(args))
    if len(args) <= first:
        return args, kwargs
    return args[:first], dict(zip(names[first:], args[first:], strict=False)) | kwargs


def known_options(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call in a compiled program, with what is known of the arguments that decide the result's shape or kind.

    TraceError for a number among them (an axis, a length, a shift of a diagonal) that only the compiled program knows:
    NumPy would take the abstract number for its value.
    """
    facts = facts_of(function)
    declares = _is_numpys(function) or function in FACTS
    if not declares or not any(map(_holds_abstract, (*args, *kwargs.values()))):
        return args, kwargs
    names = parameters_of(function)[: len(args)]
    known = tuple(_known_option(function, facts, name, x) for x, name in zip_longest(args, names))
    kwargs = {name: _known_option(function, facts, name, x) for name, x in kwargs.items()}
    return known if context_of(known) is not None else args, kwargs


def _known_option(function: Any, facts: Facts, name: str | None, x: Any) -> Any:
    if not facts.decides(name) or not _holds_abstract(x):
        return x
    known = concrete_key(x)
    if name not in facts.traced:
        for part in known if type(known) in (tuple, list) else (known,):
            if is_abstract(part) and (facts.is_static(name) or not hasattr(part, "view_as")):
                raise needs_value(part, f"{name}= of {operation_name(function)}", _PLAIN)
    return known


_PLAIN = (
    "give it as a plain integer, from outside of the program or by a branch for each value "
    '(if k == 0: ... elif k == 1: ...); or engine="native"'
)


def _holds_abstract(x: Any) -> bool:
    return any(map(_holds_abstract, x)) if type(x) in (tuple, list) else is_abstract(x)


def _is_numpys(function: Any) -> bool:
    """Whether the function is NumPy's; the rules of others speak for themselves."""
    return (getattr(function, "__module__", None) or "").startswith("numpy")


_LISTS = frozenset({list, tuple})


def lists_as_arrays(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call in which lists of tracked values are arrays, unless they are sequences of arrays."""
    if _LISTS.isdisjoint(map(type, (*args, *kwargs.values()))) or not _is_numpys(function):
        return args, kwargs
    facts = facts_of(function)
    if not facts.sequences and not facts.nested:
        return tuple(map(_stacked, args)), {name: _stacked(x) for name, x in kwargs.items()}
    names = parameters_of(function)[: len(args)]
    positional = tuple(_of_arrays(facts, name, x) for x, name in zip_longest(args, names))
    return positional, {name: _of_arrays(facts, name, x) for name, x in kwargs.items()}


def _of_arrays(facts: Facts, name: str | None, x: Any) -> Any:
    if name in facts.nested:
        return x
    if name in facts.sequences:
        return type(x)(map(_stacked, x)) if type(x) in (list, tuple) else x
    return _stacked(x)


def _stacked(x: Any) -> Any:
    if type(x) not in (list, tuple) or context_of(x) is None:
        return x
    return array(x)
