"""Which arguments are differentiated: `argnums`, positions or names."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bridge.errors import ArgumentError

Argnum = int | str
Argnums = Argnum | Sequence[Argnum]
Kwargs = dict[str, Any]


def is_single(argnums: Any) -> bool:
    """Whether one argument is asked for, and the answer is its own, not a tuple's."""
    return isinstance(argnums, (int, np.integer, str))


def has_names(argnums: Any) -> bool:
    """Whether arguments are asked for by their names."""
    return any(isinstance(one, str) for one in _all_of(argnums))


def chosen(f: Any, argnums: Argnums, args: tuple[Any, ...], kwargs: Kwargs) -> tuple[tuple[Argnum, ...], Kwargs]:
    """`argnums` of a call: positions from 0, and names of keyword arguments; and the call's keyword arguments.

    These have defaults of the function among them, where one is asked for by its name and the call leaves it out.
    """
    count = len(args)
    if type(argnums) is int and -count <= argnums < count:
        return (argnums % count,), kwargs
    asked = _all_of(argnums)
    if not kwargs and not any(isinstance(one, str) for one in asked):
        return normalised(argnums, count), kwargs
    found: list[Argnum] = []
    for one in asked:
        if isinstance(one, str):
            name, kwargs = _of_name(f, one, argnums, args, kwargs)
            found.append(name)
        elif -count <= one < count:
            found.append(int(one) % count)
        else:
            found.append(_by_keyword(f, int(one), kwargs) or normalised(argnums, count)[0])
    return tuple(found), kwargs


def positions_of(f: Any, argnums: Argnums, args: tuple[Any, ...]) -> tuple[int, ...]:
    """`argnums` as positions from 0 among arguments that are all given by position."""
    return tuple(_given(f, key, argnums) for key in chosen(f, argnums, args, {})[0])


def _given(f: Any, key: Argnum, argnums: Argnums) -> int:
    if isinstance(key, str):
        raise _left_out(f, key, argnums)
    return key


def _left_out(f: Any, name: str, argnums: Argnums) -> ArgumentError:
    return ArgumentError(
        f"argnums={argnums!r}, and the call of {_name_of(f)} gives no argument {name!r}", remedy="give it a value"
    )


def _all_of(argnums: Any) -> tuple[Any, ...]:
    asked = (argnums,) if is_single(argnums) else tuple(argnums) if isinstance(argnums, Iterable) else ()
    if not all(map(is_single, asked)) or not (asked or isinstance(argnums, Iterable)):
        raise ArgumentError(
            f"argnums={argnums!r}", remedy="give a position or a name of an argument, or a tuple of these"
        )
    return asked


def _parameters(f: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return {}


def _by_keyword(f: Any, position: int, kwargs: Kwargs) -> str | None:
    """The name of the parameter at a position beyond the call's positional arguments, if the call gives it by name."""
    parameters = list(_parameters(f).values())
    if not 0 <= position < len(parameters):
        return None
    one = parameters[position]
    return one.name if one.kind is one.POSITIONAL_OR_KEYWORD and one.name in kwargs else None


def _of_name(f: Any, name: str, argnums: Any, args: tuple[Any, ...], kwargs: Kwargs) -> tuple[Argnum, Kwargs]:
    if name in kwargs:
        return name, kwargs
    parameters = _parameters(f)
    one = parameters.get(name)
    if one is not None and one.kind in _SEVERAL:
        is_named = one.kind is one.VAR_KEYWORD
        raise ArgumentError(
            f"argnums={argnums!r}: {'**' if is_named else '*'}{name} of {_name_of(f)} is several arguments",
            remedy="use the name that the call gives one of them" if is_named else "use their positions",
        )
    if one is None:
        raise ArgumentError(
            f"argnums={argnums!r}: {_name_of(f)} has no argument {name!r}", remedy=_near(name, parameters)
        )
    position = list(parameters).index(name)
    if one.kind is not one.KEYWORD_ONLY and position < len(args):
        return position, kwargs
    if one.default is one.empty or one.kind is one.POSITIONAL_ONLY:
        raise _left_out(f, name, argnums)
    return name, {**kwargs, name: one.default}


_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _near(name: str, parameters: dict[str, inspect.Parameter]) -> str:
    names = [name for name, one in parameters.items() if one.kind not in _SEVERAL]
    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"use one of {', '.join(map(repr, names))}" if names else "count its arguments from 0: argnums=0"


def _name_of(f: Any) -> str:
    return getattr(f, "__name__", type(f).__name__)


def normalised(argnums: Any, count: int) -> tuple[int, ...]:
    """`argnums` as positions from 0 among `count` arguments; ArgumentError if there is no such argument."""
    numbers = _all_of(argnums)
    for k in numbers:
        if isinstance(k, str) or not -count <= k < count:
            raise ArgumentError(
                f"argnums={argnums!r}, and the function was called with {count} positional arguments",
                remedy="count positional arguments from 0, or name the argument",
            )
    return tuple(int(k) % count for k in numbers)


class Apart:
    """What of a call is differentiated, one argument or a tuple of these, apart from the others.

    Attributes
    ----------
    wanted : the argument, or a tuple of those that are asked for.
    is_single : which of the two.
    position : where it stands, if it is one that was given by its position, and no argument was given by name.
    others : the other arguments, by position and by name.
    """

    def __init__(self, f: Any, argnums: Argnums, args: tuple[Any, ...], kwargs: Kwargs) -> None:
        self._keys, kwargs = chosen(f, argnums, args, kwargs)
        if len(set(self._keys)) < len(self._keys):
            raise ArgumentError(f"argnums={argnums!r} names an argument twice", remedy="name it once")
        self.is_single = is_single(argnums)
        self._names = tuple(kwargs)
        first = self._keys[0] if self.is_single and not kwargs else None
        self.position = first if isinstance(first, int) else None
        values = tuple(args[key] if isinstance(key, int) else kwargs[key] for key in self._keys)
        self.wanted: Any = values[0] if self.is_single else values
        self.others = (
            [arg for k, arg in enumerate(args) if k not in self._keys],
            {name: arg for name, arg in kwargs.items() if name not in self._keys},
        )

    def joined(self, wanted: Any, others: tuple[list[Any], Kwargs]) -> tuple[list[Any], Kwargs]:
        """Arguments of a call, by position and by name, of such parts."""
        given = dict(zip(self._keys, (wanted,) if self.is_single else wanted, strict=True))
        positional = list(others[0])
        for key in sorted(key for key in given if isinstance(key, int)):
            positional.insert(key, given[key])
        return positional, {name: given[name] if name in given else others[1][name] for name in self._names}
