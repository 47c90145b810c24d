"""Values that leave tracking: on purpose, as constants, or with an error that shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import bridge
from bridge.errors import ContextError, EscapeError
from bridge.extend import constant_of
from bridge.rewind.escapes import rounds

X = np.array([1 / 3, 2.0, -0.25])


class Pair(NamedTuple):
    a: Any
    b: Any


# What is made of a tracked array that carries no gradient, and of one that does.
NESTED: dict[str, Callable[[Any], Any]] = {
    "array": lambda x: x,
    "number": lambda x: x[1],
    "list": lambda x: [1, x, "text"],
    "tuple": lambda x: (x[0], None),
    "dictionary": lambda x: {"a": x, "b": 2.0},
    "nested": lambda x: [1.0, {"a": ([x, 3], 4)}],
}


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    else:
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", NESTED)
def test_constants_in_containers(name: str) -> None:
    with bridge.Context() as outer:
        same(constant_of(NESTED[name](outer.buffer(X, active=False))), NESTED[name](X))
        assert constant_of(NESTED[name](outer.buffer(X))) is None
        carries, constant = outer.buffer(X), outer.buffer(X, active=False)
        with bridge.Context() as inner:
            assert constant_of(NESTED[name](inner.buffer(carries, active=False))) is None
            same(constant_of(NESTED[name](inner.buffer(constant, active=False))), NESTED[name](X))
            assert constant_of(NESTED[name](inner.buffer(constant))) is None


def test_a_constant_does_not_change_with_its_array() -> None:
    with bridge.Context() as context:
        x = context.buffer(X, active=False)
        kept = constant_of([x])
        x[0] = 9.0
        assert kept[0][0] == X[0]


@pytest.mark.parametrize("name", NESTED)
def test_what_is_detached(name: str) -> None:
    with bridge.Context() as outer:
        x = outer.buffer(X)
        same(bridge.detach(NESTED[name](x)), NESTED[name](X))
        with bridge.Context() as inner:
            same(bridge.detach(NESTED[name](inner.buffer(x))), NESTED[name](X))
        plain = bridge.detach(x)
        x *= 2
        assert np.array_equal(plain, X)
    with pytest.raises(ContextError):
        bridge.detach(NESTED[name](x))


def test_a_named_tuple_that_is_detached_keeps_its_names() -> None:
    with bridge.Context() as context:
        found = bridge.detach(Pair(context.buffer(X), 1))
        assert type(found) is Pair
        assert np.array_equal(found.a, X)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (X[0], r"\(value 0\.3333\)"),
        (X, r"\(value \[ 0\.3333  2\.     -0\.25  \]\)"),
        (np.arange(7.0), r"\(value \[0\. 1\. \.\.\. 5\. 6\.\]\)"),
        (np.arange(6.0), r"\(value \[0\. 1\. 2\. 3\. 4\. 5\.\]\)"),
    ],
    ids=["number", "array", "long array", "array of six"],
)
def test_the_error_of_an_escape_shows_the_value(value: Any, shown: str) -> None:
    with pytest.raises(EscapeError, match=shown), bridge.Context() as context:
        np.asarray(context.buffer(value))


@pytest.mark.parametrize(
    ("spec", "cuts"), [(".3f", True), (".11e", True), (".12g", False), (".17g", False), ("", False), ("8", False)]
)
def test_formats_that_cut_digits_off(spec: str, cuts: bool) -> None:
    assert rounds(spec) is cuts
