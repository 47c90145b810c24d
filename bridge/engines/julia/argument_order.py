"""A NumPy call's arguments, in the order and under the names that an entry of Julia's table has for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bridge.errors import NoRuleError
from bridge.rulebook.facts import NEUTRAL
from bridge.rulebook.rule import Rule
from bridge.signatures import first_pull


class Row(NamedTuple):
    """One entry of the table: its arguments as Julia spells them."""

    name: str
    positional: tuple[str, ...]
    variadic: bool
    keywords: tuple[str, ...]
    file: str

    @classmethod
    def of(cls, row: Any) -> Row:
        """The entry that Julia describes by a tuple."""
        name, positional, variadic, keywords, file = row
        return cls(str(name), tuple(map(str, positional)), bool(variadic), tuple(map(str, keywords)), str(file))


class Arrangement(NamedTuple):
    """Positions among a call's arguments (a tuple of them for a sequence of operands), as the entry takes them."""

    positional: tuple[Any, ...]
    keywords: dict[str, Any]


def arranged(
    row: Row, native: Rule | None, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Arrangement:
    """Where the entry finds its arguments among `args` and the values of `kwargs`; NoRuleError for what it lacks."""
    values = (*args, *kwargs.values())
    if isinstance(function, np.ufunc) and not kwargs:
        return Arrangement(tuple(range(len(args))), {})
    found = _signature(native, function)
    positions = found.bind(*range(len(args)), **{name: len(args) + k for k, name in enumerate(kwargs)}).arguments
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    leading = len(row.positional) - row.variadic
    skipped = ""
    for name, parameter in found.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(positions.get(name, ()))
        elif parameter.kind is parameter.VAR_KEYWORD:
            for other in positions.get(name, {}):
                _check_neutral(row, other)
        elif name not in positions or _is_default(values[positions[name]], parameter.default):
            skipped = skipped or (name if name in row.positional[:leading] else "")
        elif len(positional) < leading and not skipped:
            positional.append(positions[name])
        elif name in row.keywords:
            keywords[name] = positions[name]
        elif values[positions[name]] is not None:
            if name in row.positional and skipped:
                raise NoRuleError(
                    f'engine="julia" has no rule for {row.name} with {name}= and without {skipped}=',
                    remedy=f'give {skipped}= too, or use engine="native"',
                )
            _check_neutral(row, name)
    return Arrangement(tuple(positional), keywords)


def _check_neutral(row: Row, name: str) -> None:
    # A cotangent has the precision of its value; pulls call `out` otherwise.
    if name not in NEUTRAL and name not in ("dtype", "_out"):
        raise NoRuleError(
            f'engine="julia" has no rule for {row.name} with {name}=',
            remedy=f'use engine="native", or give the entry of {row.name} in {row.file} this keyword',
        )


def _signature(native: Rule | None, function: Any) -> inspect.Signature:
    if native is None:
        return _signature_of(function, 0)
    equivalent = getattr(native.joint, "equivalent", None)
    if equivalent is not None:
        return _signature_of(equivalent, 0)
    pull = native.joint or first_pull(native.per_argument)
    return _signature_of(pull, 2)


@cache
def _signature_of(function: Callable[..., Any], leading: int) -> inspect.Signature:
    signature = inspect.signature(function)
    return signature.replace(parameters=list(signature.parameters.values())[leading:])


def _is_default(value: Any, default: Any) -> bool:
    if value is default or value is np._NoValue:
        return True
    return type(value) is type(default) and isinstance(value, (bool, int, float, str)) and value == default
