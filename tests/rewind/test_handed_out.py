"""Plain arrays that unread code gets of memory without a gradient show that memory, or are copies that may not part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import bridge
from bridge import in_c
from bridge.errors import AliasError, RefusedError
from bridge.rewind.borrowed import LARGE

Program = Callable[..., Any]
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


def _written_in_code_that_is_not_read() -> Any:
    """Functions without a source, as those of compiled libraries."""
    unread: dict[str, Any] = {"np": np}
    lines = "def scaled(v):\n    v *= 1.5\n    return v\n\ndef reversed_by(v):\n    v[...] = v[::-1].copy()\n"
    exec(compile(lines, "<unread>", "exec"), unread)
    return unread["scaled"], unread["reversed_by"]


scaled, reversed_by = _written_in_code_that_is_not_read()


def written_by_functions_that_keep_nothing(x: Any, b: Any) -> Any:
    y = x * b
    scaled(np.require(b))
    y = y + b * x
    reversed_by(np.require(b[:2]))
    y[1:] *= b[:2]
    return np.sum(y) + x @ b


def written_through_overlapping_views(x: Any, b: Any) -> Any:
    first, second = np.require(b[:2]), np.require(b[1:])
    y = x * b
    first *= 3.0
    y = y + x * b
    second += 1.0
    first[1] = 0.5
    b[0] = 2.0
    return np.sum(y * b) + np.sum(x[:2] * first) + np.sum(x[1:] * second)


def written_by_the_program_and_by_code_that_is_not_read(x: Any, b: Any) -> Any:
    v, c = np.require(b), b * 2.0
    total = np.sum(x * b)
    b[1] = 0.5
    scaled(v)
    total = total + np.sum(x * b * c)
    np.add.at(b, [0, 2, 2], 0.25)
    reversed_by(v)
    np.copyto(b[:1], c[:1])
    c *= v
    total = total + b[0] * x[1] ** 2 + np.sum(np.sin(x) * c)
    scaled(v)
    return total + np.sum(np.stack([x, b]) ** 2)


def written_before_each_kind_of_operation(x: Any, b: Any) -> Any:
    v, y = np.require(b), x * 2.0
    scaled(v)
    total = np.dot(b, x)
    scaled(v)
    total = total + np.sum(np.linalg.solve(np.diag(b), x))
    scaled(v)
    y *= b
    scaled(v)
    total = total + np.sum(y / b)
    scaled(v)
    y[1:] += b[:2]
    np.add.at(y, [0, 0], b[1:] * x[1:])
    np.fill_diagonal(y.reshape(1, 3), x[2] * b[0])
    scaled(v)
    return total + np.sum(np.sin(np.stack([y, b]) / 100))


def written_around_a_checkpoint(x: Any, b: Any) -> Any:
    v = np.require(b)
    part = bridge.checkpoint(lambda y: np.sum(np.sin(y) * b))
    scaled(v)
    total = part(x)
    scaled(v)
    b[0] = 0.5
    return total + part(x * b)


def written_inside_a_checkpoint(x: Any, b: Any) -> Any:
    v = np.require(b)

    def body(y: Any) -> Any:
        scaled(v)
        return np.sum(np.sin(y) * b)

    part = bridge.checkpoint(body)
    return part(x) + part(x * b)


def shown_and_written_inside_a_checkpoint(x: Any, b: Any) -> Any:
    part = bridge.checkpoint(lambda y: np.sum(np.sin(y) * b * scaled(np.require(b))))
    total = part(x)
    b[1] = 0.5
    return total + part(x * b)


def written_around_an_inner_derivative(x: Any, b: Any) -> Any:
    v = np.require(b)
    total = np.sum(x * b)
    scaled(v)
    total = total + np.sum(bridge.grad(lambda y: np.sum(y**3 * b))(x) * b)
    scaled(v)
    return total + np.sum(x * b)


def written_inside_an_inner_derivative(x: Any, b: Any) -> Any:
    v = np.require(b)

    def inner(y: Any) -> Any:
        total = np.sum(y**3 * b)
        scaled(v)
        return total + np.sum(y**2 * b)

    return np.sum(bridge.grad(inner)(x) * b)


def read_only_memory(x: Any, b: Any) -> Any:
    wide = np.broadcast_to(b, (2, 3))
    v = np.require(wide)
    assert not v.flags.writeable
    scaled(np.require(b))
    return np.sum(x * v) + np.sum(x * wide)


SHOWN: list[Program] = [
    required_and_written_afterwards,
    a_result_required_and_written_afterwards,
    written_before_and_afterwards,
    a_view_of_what_was_required,
    a_strided_view_required,
    masked_and_written_afterwards,
    written_by_an_iterator,
    written_by_its_mask,
    written_by_functions_that_keep_nothing,
    written_through_overlapping_views,
    written_by_the_program_and_by_code_that_is_not_read,
    written_before_each_kind_of_operation,
    written_around_a_checkpoint,
    written_inside_a_checkpoint,
    shown_and_written_inside_a_checkpoint,
    read_only_memory,
    written_around_an_inner_derivative,
    written_inside_an_inner_derivative,
]
NESTED = (written_around_an_inner_derivative, written_inside_an_inner_derivative)


def differences(program: Program, b: Any = B) -> np.ndarray:
    sides = [program(X + h, b.copy()) - program(X - h, b.copy()) for h in 1e-6 * np.eye(3)]
    return np.array(sides) / 2e-6


@pytest.mark.parametrize("source", [True, False], ids=["read", "unread"])
@pytest.mark.parametrize("program", SHOWN, ids=lambda one: one.__name__)
def test_a_plain_array_shows_the_memory(program: Program, source: bool) -> None:
    x, b = X.copy(), B.copy()
    expected = differences(program)
    for options in ({}, {"memory": "1GB"}):
        value, gradient = bridge.value_and_grad(program, source=source, engine="native", **options)(x, b)
        np.testing.assert_allclose(value, program(X.copy(), B.copy()), rtol=1e-14)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6)
    if program not in NESTED:
        np.testing.assert_allclose(bridge.jacfwd(program, source=source, engine="native")(x, b), expected, rtol=1e-6)
    with in_c.pure():
        again = bridge.grad(program, source=source, engine="native")(x, b)
    assert again.tobytes() == gradient.tobytes()
    assert b.tobytes() == B.tobytes()


@pytest.mark.parametrize("program", [one for one in SHOWN if one not in NESTED], ids=lambda one: one.__name__)
def test_pulls_that_are_called_again(program: Program) -> None:
    value, pull = bridge.vjp(lambda x: program(x, np.zeros_like(x) + B), X, engine="native")
    np.testing.assert_allclose(value, program(X.copy(), B.copy()), rtol=1e-14)
    first, second = pull(1.0)[0], pull(1.0)[0]
    np.testing.assert_allclose(first, differences(program), rtol=1e-6)
    assert first.tobytes() == second.tobytes()


def test_what_outlives_the_call_holds_what_was_written() -> None:
    kept: list[Any] = []

    def program(x: Any, b: Any) -> Any:
        b *= 2.0
        kept[:] = [np.require(b), np.require(b[:2])]
        total = np.sum(x * b)
        scaled(kept[0])
        b[2] = 0.5
        return total * np.sum(x * b), kept[1]

    expected = program(X.copy(), B.copy())[1].copy(), kept[0].copy()
    (_, given), gradient = bridge.value_and_grad(program, has_aux=True, engine="native", source=False)(X, B)
    np.testing.assert_allclose(gradient, differences(lambda x, b: program(x, b)[0]), rtol=1e-6)
    bridge.value_and_grad(program, has_aux=True, engine="native", source=False)(X, B)
    for found in ((given, kept[0]), (kept[1], kept[0])):
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    _, pull, aux = bridge.vjp(lambda x: program(x, np.zeros_like(x) + B), X, has_aux=True, engine="native")
    np.testing.assert_allclose(pull(1.0)[0], gradient, rtol=1e-12)
    np.testing.assert_array_equal(aux, expected[0])
    aux[0] = 7.0
    with pytest.raises(AliasError, match="was written after the call, and its pull reads that memory") as caught:
        pull(1.0)
    assert "in program" in str(caught.value) and caught.value.remedy


def test_a_context_that_is_closed_knows_what_was_written_last() -> None:
    with bridge.Context() as context:
        x, b = context.buffer(X), context.buffer(B, active=False)
        v = np.require(b)
        y = np.sum(x * b)
        scaled(v)
        z = np.sum(x * x * b)
        assert np.array_equal(context.gradient(z, x), 3.0 * X * B)
        scaled(v)
    assert np.array_equal(context.gradient(y, x), B)
    assert np.array_equal(context.gradient(z, x), 3.0 * X * B) and np.array_equal(v, 2.25 * B)


def test_a_copy_that_was_written_ends_the_call_and_closes_the_context() -> None:
    with pytest.raises(AliasError, match=WROTE), bridge.Context() as outer, bridge.Context() as context:
        scaled(np.require(context.buffer(B, active=False)))
    assert bridge.current_context() is None and outer.thread is None


def test_second_names_follow() -> None:
    b = B.copy()

    def program(x: Any, given: Any) -> Any:
        v = np.require(given)
        total = np.sum(x * b)
        scaled(v)
        return total + np.sum(x * b) + np.sum(x * given)

    np.testing.assert_allclose(bridge.grad(program, engine="native")(X, b), 4.0 * B)
    with pytest.raises(AliasError, match="is read under a global or captured name after the function wrote"):
        bridge.grad(program, engine="native", source=False)(X, b)
    assert b.tobytes() == B.tobytes()


def a_tracked_update_afterwards(x: Any, b: Any) -> Any:
    v = np.require(b)
    b += x
    return np.sum(x * v)


def a_tracked_scatter_afterwards(x: Any, b: Any) -> Any:
    v = np.require(b)
    np.add.at(b, [0, 0], x[:2])
    return np.sum(x * v)


def a_tracked_view_afterwards(x: Any, b: Any) -> Any:
    v = np.require(b)
    b[:2] = x[1:]
    return np.sum(x * v)


def a_function_that_writes_afterwards(x: Any, b: Any) -> Any:
    v, matrix = np.require(b), b.reshape(1, 3)
    np.fill_diagonal(matrix, x[0])
    return np.sum(x * v)


REFUSED = [
    a_tracked_value_written_afterwards,
    an_element_of_a_result_written_afterwards,
    a_tracked_update_afterwards,
    a_tracked_scatter_afterwards,
    a_tracked_view_afterwards,
    a_function_that_writes_afterwards,
]


@pytest.mark.parametrize("source", [True, False], ids=["read", "unread"])
@pytest.mark.parametrize("program", REFUSED, ids=lambda one: one.__name__)
def test_what_carries_a_gradient_cannot_be_shown(program: Program, source: bool) -> None:
    x, b = X.copy(), B.copy()
    for transform in (bridge.grad, bridge.jacfwd):
        with pytest.raises(AliasError, match=HELD) as caught:
            transform(program, source=source, engine="native")(x, b)
        assert caught.value.remedy and f"in {program.__name__}" in str(caught.value)
    assert b.tobytes() == B.tobytes()


COPIES = [(required_and_written_afterwards, HELD), (written_by_an_iterator, WROTE), (written_by_its_mask, WROTE)]


def in_an_inner_derivative(program: Program) -> Program:
    return lambda x, b: np.sum(bridge.grad(program, source=False)(x, b))


def of_memory_that_a_checkpoint_made(program: Program) -> Program:
    return lambda x, b: bridge.checkpoint(lambda y: program(y, b * 1.0))(x)


@pytest.mark.parametrize(("program", "message"), COPIES, ids=lambda one: getattr(one, "__name__", ""))
@pytest.mark.parametrize("where", [in_an_inner_derivative, of_memory_that_a_checkpoint_made])
def test_what_would_part_from_a_copy_is_refused(program: Program, message: str, where: Callable[..., Any]) -> None:
    with pytest.raises(AliasError, match=message) as caught:
        bridge.grad(where(program), source=False, engine="native")(X.copy(), B.copy())
    assert caught.value.remedy and f"in {program.__name__}" in str(caught.value)


def written_before_and_after_a_solver(x: Any, b: Any) -> Any:
    v = np.require(b)
    total = np.sum(x * b)
    scaled(v)
    total = total + brentq(lambda s: s**3 + s * x[0] - b[0] * x[1], 0.0, 5.0) * b[1]
    scaled(v)
    return total + np.sum(x * b)


def written_by_the_program_while_a_solver_searches(x: Any, b: Any) -> Any:
    v = np.require(b)
    total = np.sum(x * b)

    def f(s: Any) -> Any:
        b[1] = 0.25
        return s**3 + s * x[0] - b[0] * x[1]

    root = brentq(f, 0.0, 5.0)
    return total + root * b[1] + np.sum(x * v) + np.sum(x**2 * b)


def written_while_a_solver_searches(x: Any, b: Any) -> Any:
    v = np.require(b)

    def f(s: Any) -> Any:
        scaled(v)
        return s**3 + s * x[0] - x[1]

    return brentq(f, 0.0, 5.0) + np.sum(x * b)


def written_only_where_a_solver_begins(x: Any, b: Any) -> Any:
    v = np.require(b)

    def f(s: Any) -> Any:
        if s < 0.01:
            scaled(v)
        return s**3 + s * x[0] - x[1]

    return brentq(f, 0.0, 5.0) + np.sum(x * b)


@pytest.mark.parametrize("transform", [bridge.grad, bridge.jacfwd])
def test_solvers(transform: Any) -> None:
    for right in (written_before_and_after_a_solver, written_by_the_program_while_a_solver_searches):
        np.testing.assert_allclose(transform(right, engine="native")(X, B), differences(right), rtol=1e-5)
    for refused in (written_while_a_solver_searches, written_only_where_a_solver_begins):
        with pytest.raises(AliasError, match="while a solver calls the program's function") as caught:
            transform(refused, engine="native")(X, B)
        assert caught.value.remedy and f"in {refused.__name__}" in str(caught.value)


def test_a_result_without_a_gradient_after_a_write() -> None:
    def program(x: Any, b: Any) -> Any:
        scaled(np.require(b))
        return float(np.sum(b))

    for transform in (bridge.grad, bridge.jacfwd):
        np.testing.assert_array_equal(transform(program, engine="native")(X, B), np.zeros(3))


def test_a_pull_that_failed_is_called_again() -> None:
    failures = [ArithmeticError("no pull yet")]

    def pull(ct: Any, out: Any, x: Any) -> Any:
        if failures:
            raise failures.pop()
        return 2.0 * ct

    doubled = bridge.rule(lambda x: 2.0 * x)(pull)
    with bridge.Context() as context:
        x, b = context.buffer(X), context.buffer(B, active=False)
        v = np.require(b)
        y = bridge.checkpoint(lambda z: np.sum(z * b))(doubled(x))
        scaled(v)
        y = y + np.sum(x * b)
        with pytest.raises(ArithmeticError, match="no pull yet"):
            context.gradient(y, x)
        assert np.allclose(context.gradient(y, x), 3.5 * B)
    assert np.allclose(context.gradient(y, x), 3.5 * B) and np.array_equal(v, 1.5 * B)


def test_a_copy_that_was_written_is_found_when_memory_is_shown() -> None:
    def program(x: Any, b: Any) -> Any:
        slope = bridge.grad(lambda y: np.sum(y * y) + 0.0 * float(scaled(np.require(b))[0]))(x)
        return np.sum(x * slope * np.require(b))

    with pytest.raises(AliasError, match=WROTE):
        bridge.grad(program, source=False, engine="native")(X, B)


def test_memory_of_the_callers_is_not_shown() -> None:
    def program(x: Any, b: Any) -> Any:
        total = x[0] * np.sum(b)
        scaled(np.require(b))
        return total + x[1] * np.sum(b) + x[2] * b[-1]

    large = np.ones(LARGE // 8)
    for transform in (bridge.grad, bridge.jacfwd):
        found = transform(program, engine="native")(X, large)
        np.testing.assert_array_equal(found, [len(large), 1.5 * len(large), 1.5])
        assert np.all(large == 1.0)


def test_a_checkpoint_inside_an_inner_derivative_writes_nothing_outside() -> None:
    def program(x: Any, b: Any) -> Any:
        v = np.require(b)

        def body(y: Any) -> Any:
            scaled(v)
            return np.sum(y * y * b)

        return np.sum(bridge.grad(lambda y: bridge.checkpoint(body)(y))(x))

    with pytest.raises(RefusedError, match="a checkpointed function inside a nested derivative writes"):
        bridge.grad(program, engine="native")(X, B)


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
    np.testing.assert_allclose(gradient, differences(program), rtol=1e-6)


def test_many_elements_are_written_fast_again_once_it_is_dropped() -> None:
    def program(x: Any, b: Any) -> Any:
        np.require(b).sum()
        for i in range(len(b)):
            b[i] = x[i] * i
            context = bridge.current_context()
            assert context is not None and not context.handed_out
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
