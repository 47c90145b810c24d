"""Plain arrays that unread code gets of memory without a gradient: right, or an error where they would part from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError

X, B = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
HELD, WROTE = "which the program still holds", "code that is not read wrote into the plain array"


def required_and_written_afterwards(x: Any, b: Any) -> Any:
    v = np.require(b)
    b *= 2
    return np.sum(x * v)


def a_result_required_and_written_afterwards(x: Any, b: Any) -> Any:
    c = b * 2
    v = np.require(c)
    c *= 2
    return np.sum(x * v)


def a_tracked_value_written_afterwards(x: Any, b: Any) -> Any:
    v = np.require(b)
    b[0] = x[0]
    return np.sum(x * v)


def an_element_of_a_result_written_afterwards(x: Any, b: Any) -> Any:
    c = b * 2
    v = np.require(c)
    c[0] = x[1]
    return np.sum(x * v)


def written_before_and_afterwards(x: Any, b: Any) -> Any:
    b[0] = 1.0
    v = np.require(b)
    b[1] = 2.0
    return np.sum(x * v)


def a_view_of_what_was_required(x: Any, b: Any) -> Any:
    v = np.require(b)[1:]
    b[0] = 3.0
    return np.sum(x[1:] * v)


def a_strided_view_required(x: Any, b: Any) -> Any:
    v = np.require(b[::2])
    b[0] = 3.0
    return np.sum(x[:2] * v)


def masked_and_written_afterwards(x: Any, b: Any) -> Any:
    m = np.ma.masked_array(b)
    b[0] = 9.0
    return np.sum(x * m.data)


def written_by_an_iterator(x: Any, b: Any) -> Any:
    with np.nditer(b, op_flags=[["readwrite"]]) as iterator:
        for one in iterator:
            one[...] = 2 * one  # type: ignore[index]
    return np.sum(x * b)


def written_by_its_mask(x: Any, b: Any) -> Any:
    m = np.ma.masked_array(b)
    m[0] = 9.0
    return np.sum(x * b)


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (required_and_written_afterwards, HELD),
    (a_result_required_and_written_afterwards, HELD),
    (a_tracked_value_written_afterwards, HELD),
    (an_element_of_a_result_written_afterwards, HELD),
    (written_before_and_afterwards, HELD),
    (a_view_of_what_was_required, HELD),
    (a_strided_view_required, HELD),
    (masked_and_written_afterwards, HELD),
    (written_by_an_iterator, WROTE),
    (written_by_its_mask, WROTE),
]


@pytest.mark.parametrize("source", [True, False], ids=["read", "unread"])
@pytest.mark.parametrize(("program", "message"), REFUSED, ids=lambda one: getattr(one, "__name__", ""))
def test_what_would_part_from_its_memory_is_refused(program: Callable[..., Any], message: str, source: bool) -> None:
    x, b = X.copy(), B.copy()
    with pytest.raises(AliasError, match=message) as caught:
        bridge.grad(program, source=source, engine="native")(x, b)
    assert caught.value.remedy and f"in {program.__name__}" in str(caught.value)
    assert b.tobytes() == B.tobytes()
    with pytest.raises(AliasError, match=message):
        bridge.jacfwd(program, source=source, engine="native")(x, b)


def dropped_before_it_is_written(x: Any, b: Any) -> Any:
    total = np.require(b).sum()
    b *= 2
    return np.sum(x * b) * total


def a_strided_view_dropped_before_it_is_written(x: Any, b: Any) -> Any:
    total = np.require(b[::2]).sum()
    b[0] = 3.0
    return np.sum(x * b) * total


def a_copy_is_its_own(x: Any, b: Any) -> Any:
    v = np.array(b)
    v[0] = 7.0
    w = np.require(b, dtype=np.float32)
    w[1] = 8.0
    b *= 2
    return np.sum(x * v * w * b)


def read_only(x: Any, b: Any) -> Any:
    v, w = np.require(b), np.require(b)
    assert v is w
    return np.sum(x * v)


def no_elements(x: Any, b: Any) -> Any:
    v = np.require(b[:0])
    b[0] = 9.0
    return np.sum(x * b) + v.size


@pytest.mark.parametrize(
    "program",
    [
        no_elements,
        dropped_before_it_is_written,
        a_strided_view_dropped_before_it_is_written,
        a_copy_is_its_own,
        read_only,
    ],
    ids=lambda program: program.__name__,
)
def test_what_does_not_part_is_right(program: Callable[..., Any]) -> None:
    value, gradient = bridge.value_and_grad(program, engine="native")(X.copy(), B.copy())
    np.testing.assert_allclose(value, program(X.copy(), B.copy()))
    sides = [program(X + h, B.copy()) - program(X - h, B.copy()) for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(gradient, np.array(sides) / 2e-6, rtol=1e-6)


def test_many_elements_are_written_fast_again_once_it_is_dropped() -> None:
    def program(x: Any, b: Any) -> Any:
        np.require(b).sum()
        for i in range(len(b)):
            b[i] = x[i] * i
        return np.sum(b)

    np.testing.assert_allclose(bridge.grad(program, engine="native")(X, B), [0.0, 1.0, 2.0])


def test_what_a_loop_drops_is_let_go() -> None:
    kept: list[int] = []

    def program(x: Any) -> Any:
        total = np.sum(x)
        for _ in range(1000):
            total = total + np.require(np.zeros_like(x)).sum()
            context = bridge.current_context()
            assert context is not None
            kept.append(len(context.handed_out))
        return total

    np.testing.assert_array_equal(bridge.grad(program, engine="native")(X), np.ones(3))
    assert 0 < max(kept) < 100
