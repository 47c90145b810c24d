"""One call of a NumPy function as a form, which is known before the call, and its leaves: the arrays."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from bridge.errors import NoRuleError
from bridge.rewind.memory import grounded
from bridge.rulebook.facts import parameters_of
from bridge.rulebook.rule import Rule


class Slot(NamedTuple):
    """Where an argument lies among the leaves."""

    number: int


class Sequence(NamedTuple):
    """A list or tuple of arguments."""

    kind: type
    parts: tuple[Any, ...]


class Static(NamedTuple):
    """A value that belongs to the form; its type too, since 1, 1.0 and True are equal."""

    kind: type
    value: Any


class Table(NamedTuple):
    """An array that belongs to the form."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


class Form(NamedTuple):
    """A call without its leaves: each argument by position, then by keyword."""

    name: str
    positional: tuple[Any, ...]
    names: tuple[str, ...]
    keywords: tuple[Any, ...]

    def filled(self, leaves: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call's arguments, with these leaves."""
        args = tuple(_filled(x, leaves) for x in self.positional)
        return args, {key: _filled(x, leaves) for key, x in zip(self.names, self.keywords, strict=True)}

    def at(self, position: int) -> Any:
        """The form of the argument at a position, keywords after the others."""
        return (*self.positional, *self.keywords)[position]


def formed(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], keeps_integers: bool) -> tuple[Form, list[Any]]:
    """The form of a call, to which integers belong that decide shapes, and its leaves.

    `keeps_integers` says that a Python integer makes another function of a ufunc: a power with a whole exponent
    is a product.
    """
    leaves: list[Any] = []
    elementwise = isinstance(rule.function, np.ufunc)
    numbers = (float, complex) if keeps_integers else (int, float, complex)

    def taken(x: Any, decides: bool) -> Any:
        value = grounded(x)
        if isinstance(value, (list, tuple)):
            return Sequence(type(value), tuple(taken(part, decides) for part in x))
        if isinstance(value, (np.ndarray, np.generic)):
            if decides and value.dtype.kind in "iub":
                return Table(value.dtype.str, value.shape, value.tobytes())
            _check(rule.name, value.dtype)
        elif not (elementwise and type(value) in numbers):
            return Static(type(value), value)
        leaves.append(x)
        return Slot(len(leaves) - 1)

    names = () if elementwise else parameters_of(rule.function)[: len(args)]
    positional = tuple(taken(x, rule.facts.decides(key)) for x, key in zip_longest(args, names))
    keywords = tuple(taken(x, rule.facts.decides(key)) for key, x in kwargs.items())
    return Form(rule.name, positional, tuple(kwargs), keywords), leaves


def _filled(form: Any, leaves: Any) -> Any:
    if isinstance(form, Slot):
        return leaves[form.number]
    if isinstance(form, Sequence):
        return form.kind(_filled(part, leaves) for part in form.parts)
    if isinstance(form, Table):
        return np.frombuffer(form.data, form.dtype).reshape(form.shape)
    return form.value


def _check(name: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "fciub" or dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise NoRuleError(
            f'engine="jax" has no arrays of dtype {dtype}, as {name} gets here',
            remedy='use engine="native", or convert to float64 with astype',
        )


def slots_of(form: Any) -> list[int]:
    """The leaves in a part of a form."""
    if isinstance(form, Slot):
        return [form.number]
    return [n for part in form.parts for n in slots_of(part)] if isinstance(form, Sequence) else []


def arranged_as(form: Any, found: dict[int, Any]) -> Any:
    """What was found for leaves, in lists as the arguments are."""
    if isinstance(form, Slot):
        return found.get(form.number)
    return [arranged_as(part, found) for part in form.parts] if isinstance(form, Sequence) else None


def paired(form: Any, tangents: Any) -> list[tuple[int, Any]]:
    """Leaves and their tangents, of one argument."""
    if tangents is None:
        return []
    if isinstance(form, Slot):
        return [(form.number, tangents)]
    return [pair for part, t in zip(form.parts, tangents, strict=True) for pair in paired(part, t)]
