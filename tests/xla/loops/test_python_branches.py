"""What cannot be a branch, or a loop, of a compiled program: each is a named error with the line and what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError, RefusedError, TraceError

pytest.importorskip("jax", reason="JAX is not installed: branches were not compiled (pip install jax)")

X = np.linspace(-1.0, 1.5, 6)


def refused(f: Callable[[Any], Any], kind: type[Exception], *fragments: str) -> None:
    for run in (bridge.xla(f), bridge.grad(f, engine="xla")):
        with pytest.raises(kind) as raised:
            run(X.copy())
        for one in (*fragments, "test_python_branches.py:", "remedy: "):
            assert one in str(raised.value)


@pytest.mark.ci
def test_a_write_into_one_of_two_arrays() -> None:
    def f(x: Any) -> Any:
        a, b = x.copy(), x * 2
        first = a
        if x[0] > 0:
            a, b = b, a
        a[0] = 3.0
        return np.sum(a * b * first)

    for x in (X, -X):
        np.testing.assert_allclose(bridge.xla(f)(x), f(x.copy()), rtol=1e-12)
    cut = lambda x: np.sum(columns(x))  # noqa: E731
    refused(cut, AliasError, "it depends on a branch which array a name stands for", "x = x.copy()")


def columns(x: Any) -> Any:
    table = np.outer(x, x)
    first = table[:, 0] if x[0] > 0 else table[:, 1]
    first[0] = 3.0
    return table


@pytest.mark.ci
def test_a_name_with_a_value_on_one_side_only() -> None:
    def f(x: Any) -> Any:
        for i in range(6):
            if x[i] > 0.2:
                found = x[i]
                break
        return found * 2.0

    refused(f, TraceError, "found is read, and has a value on one side of a branch only", "give found a value")


@pytest.mark.ci
def test_sides_that_leave_other_kinds() -> None:
    def f(x: Any) -> Any:
        y = None if x[0] > 0 else x
        return x[0] if y is None else np.sum(y)

    refused(f, TraceError, "is None or an array or a number of shape (6,) after a branch")


@pytest.mark.ci
def test_sides_that_leave_other_shapes() -> None:
    def f(x: Any) -> Any:
        y = x[:2] if x[0] > 0 else x[:3]
        return np.sum(y)

    refused(f, TraceError, "has shape (2,) or (3,) after a branch")


@pytest.mark.ci
def test_a_recursion_whose_depth_depends_on_values() -> None:
    def halved(v: Any) -> Any:
        return v if v < 0.1 else halved(v / 2)

    refused(lambda x: halved(x[5]), TraceError, "a function calls itself, and how often depends on values")


@pytest.mark.ci
def test_a_recursion_whose_depth_the_loop_knows() -> None:
    def power(v: Any, n: int) -> Any:
        return v if n == 0 else v * power(v, n - 1)

    def f(x: Any) -> Any:
        s = 0.0
        for i in range(6):
            s += power(x[i], i)
        return s

    np.testing.assert_allclose(bridge.xla(f)(X), f(X))


@pytest.mark.ci
def test_a_condition_that_changes_a_container() -> None:
    def f(x: Any) -> Any:
        asked = [0]

        def more() -> Any:
            asked[0] += 1
            return x[0] * asked[0] > -3.0

        s = 0.0
        while more():
            s += x[1]
        return s * asked[0]

    refused(f, TraceError, "its condition changes list")


@pytest.mark.ci
def test_a_condition_that_writes_an_array() -> None:
    def f(x: Any) -> Any:
        c = np.zeros(1)

        def more() -> Any:
            c[0] += x[5]
            return c[0] < 6.0

        s = 0.0
        while more():
            s += x[1]
        return s * c[0]

    refused(f, TraceError, "its condition changes an array")


@pytest.mark.ci
def test_an_integer_that_outgrows_64_bits() -> None:
    def f(x: Any) -> Any:
        n = 1
        for _ in range(70):
            n = n * 2
        return x[0] * float(n)

    refused(f, TraceError, "an integer becomes larger than 64 bits can hold", "use floats")


@pytest.mark.ci
def test_an_integer_of_a_float_that_64_bits_do_not_hold() -> None:
    def f(x: Any) -> Any:
        return x[0] * int(x[1] * 1e30) + round(x[0]) * x[2]

    refused(f, TraceError, "or is made of NaN")


def swallowed_by_an_exception(x: Any) -> Any:
    try:
        s = len(x[x > 0])
    except Exception:
        s = 3
    return s * x[1]


def swallowed_by_suppress(x: Any) -> Any:
    s = x[0]
    with contextlib.suppress(TypeError):
        s = s * len(x[x > 0])
    return s


def swallowed_in_a_loop(x: Any) -> Any:
    s = 0.0
    for _ in range(6):
        try:
            s += max(x)
        except TypeError:
            s += 3.0
    return s * x[0]


@pytest.mark.ci
@pytest.mark.parametrize("f", [swallowed_by_an_exception, swallowed_by_suppress, swallowed_in_a_loop])
def test_a_swallowed_trace_error_is_no_other_program(f: Callable[[Any], Any]) -> None:
    refused(f, TraceError)


@pytest.mark.ci
def test_a_swallowed_refusal_is_no_other_program() -> None:
    def f(x: Any) -> Any:
        try:
            s = np.unique(x)[0]
        except TypeError:
            s = 3.0
        return s * x[1]

    refused(f, RefusedError, "np.unique")


@pytest.mark.ci
def test_a_trial_leaves_no_trace_of_the_branches_in_it() -> None:
    def f(x: Any) -> Any:
        a, b = x.copy(), x * 2
        for i in range(10):
            if i % 2:
                a, b = b, a
            a[0] += b[1]
        return np.sum(a * a) + np.sum(b)

    np.testing.assert_allclose(bridge.grad(f, engine="xla")(X), bridge.grad(f)(X))


@pytest.mark.ci
def test_a_line_that_raises_does_so_if_it_is_reached() -> None:
    def f(x: Any) -> Any:
        for i in range(6):
            if x[i] > 2.0:
                raise ValueError("too large")
        return np.sum(x * x)

    run = bridge.grad(f, engine="xla")
    np.testing.assert_allclose(run(X), 2 * X)
    with pytest.raises(ValueError, match="too large"):
        run(X * 2)
