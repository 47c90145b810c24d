"""The table of hard cases: each row of DESIGN.md section 4, as a user would meet it."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors
from tests.finite_differences import gradient


def assert_gradient(f: Callable[[Any], Any], x: np.ndarray) -> None:
    """Reverse and forward mode against finite differences, and the caller's bits."""
    (expected,) = gradient(f, (x,))
    kept = x.copy()
    value, found = bridge.value_and_grad(f)(x)
    np.testing.assert_array_equal(value, f(x.copy()))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    tangent = np.cos(np.arange(x.size)).reshape(x.shape)
    np.testing.assert_allclose(bridge.jvp(f, (x,), (tangent,))[1], np.sum(expected * tangent), rtol=1e-6, atol=1e-8)
    assert x.tobytes() == kept.tobytes()


X = np.array([0.7, -0.4, 1.3, 0.2])


def overwrites_what_an_earlier_operation_needs(x: Any) -> Any:
    a = x.copy()
    y = np.sin(a)
    a[:] = 0.0
    return np.sum(y * y + a)


def accumulates_rows_in_place(x: Any) -> Any:
    rows = np.reshape(x, (2, 2)).copy()
    acc = rows[0]
    acc += rows[1]
    return np.sum(rows * rows)


def rebinds_scalars(x: Any) -> Any:
    acc = x[0]
    acc += x[1]
    s = np.sum(x)
    s += 1
    return acc * s * x[0]


def ignores_the_result_of_a_mutating_call(x: Any) -> Any:
    a = x.copy()

    def deep(v: Any) -> None:
        def deeper(w: Any) -> Any:
            np.multiply(w, w, out=w)
            return 7

        deeper(v)

    deep(a)
    return np.sum(a * x)


def reads_before_and_after_a_write(x: Any) -> Any:
    a = x.copy()
    before = np.sum(a[1:3] ** 2)
    a[1:3] = x[0] * x[1]
    return before + np.sum(a[1:3] * x[2:])


def mixes_views(x: Any) -> Any:
    a = np.reshape(x.copy(), (2, 2))
    t = a.T
    flipped = t[::-1]
    flipped[0] *= 3.0
    line = t.reshape(-1)
    a.ravel()[1:3] += line[:2]
    return np.sum(a * flipped * t)


def shifts_over_itself(x: Any) -> Any:
    a = x.copy()
    a[1:4] = a[0:3]
    a[0:3] += a[1:4]
    np.add(a[:-1], a[1:], out=a[1:])
    return np.sum(a * x)


def reads_sliding_windows(x: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, 3)
    return np.sum(windows**2 * np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])) + np.sum(np.broadcast_to(x, (3, 4)) ** 3)


def writes_duplicates(x: Any) -> Any:
    a = x.copy()
    a[[1, 1, 2]] = x[[0, 3, 0]] ** 2
    a[np.array([0, 0])] += x[2:]
    np.add.at(a, [3, 3], x[:2])
    return np.sum(a * a)


def changes_a_plain_operand(x: Any) -> Any:
    w = np.ones(4)
    y = x * w
    w[:] = 5.0
    big = np.ones(4000)
    z = np.sum(x[0] * big)
    big[:] = 2.0
    return np.sum(y * y) + z * z + np.sum(x[1] * big) ** 2


def branches_on_values(x: Any) -> Any:
    s = x[0]
    n = 0
    while s < 5.0:
        s = s * 2.0 if x[1] < 0 else s * 3.0
        n += 1
    return s * n + max(x[2], x[3])


def copies(x: Any) -> Any:
    a, b = copy.copy(x), copy.deepcopy(x)
    a[0] = 0.0
    b[1] = 0.0
    return np.sum(a * b * x)


def uses_a_zero_dimensional_view(x: Any) -> Any:
    a = x.copy()
    view = a[0, ...]
    view *= x[1]
    view += x[2]
    return np.sum(a * a)


PROGRAMS: list[Callable[[Any], Any]] = [
    overwrites_what_an_earlier_operation_needs,
    accumulates_rows_in_place,
    rebinds_scalars,
    ignores_the_result_of_a_mutating_call,
    reads_before_and_after_a_write,
    mixes_views,
    shifts_over_itself,
    reads_sliding_windows,
    writes_duplicates,
    changes_a_plain_operand,
    branches_on_values,
    copies,
    uses_a_zero_dimensional_view,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program_is_right(program: Callable[[Any], Any]) -> None:
    assert_gradient(program, X)


def test_arguments_are_mutated_and_the_callers_keep_their_bits() -> None:
    def f(x: Any) -> Any:
        y = np.log(x)
        x[:] = 0.0
        return np.sum(y + x)

    x = np.array([1.0, 2.0, 3.0])
    kept = x.copy()
    np.testing.assert_allclose(bridge.grad(f)(x), 1 / kept)
    assert x.tobytes() == kept.tobytes()


def test_arguments_keep_their_bits_when_the_function_raises() -> None:
    def f(x: Any) -> Any:
        x[:] = 7.0
        raise KeyError("half-way")

    x = X.copy()
    with pytest.raises(KeyError, match="half-way"):
        bridge.grad(f)(x)
    assert x.tobytes() == X.tobytes()
    np.testing.assert_allclose(bridge.grad(lambda x: np.sum(x * x))(x), 2 * X)


def test_a_plain_target_of_tracked_values_is_an_escape() -> None:
    def f(x: Any) -> Any:
        out = np.zeros(4)
        out[:] = x * 2
        return np.sum(out)

    with pytest.raises(errors.EscapeError, match=r"test_hard_cases\.py:\d+(.|\n)*zeros_like(.|\n)*bridge\.numpy"):
        bridge.grad(f)(X)


@pytest.mark.parametrize(
    "leave",
    [
        lambda x: float(x[0]),
        lambda x: int(x[0]),
        lambda x: complex(x[0]),
        lambda x: math.sin(x[0]),
        lambda x: np.asarray(x)[0],
        lambda x: np.array([x[0], x[1]])[0],
        lambda x: np.ones(3).dot(x[:3]),
        lambda x: np.random.default_rng(0).normal(x[0]),
        lambda x: np.zeros(2).fill(x[0]),
        lambda x: np.add(x, 1.0, out=np.zeros(4))[0],
        lambda x: x.tobytes(),
    ],
)
def test_a_float_may_not_leave(leave: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        leave(x)
        return np.sum(x)

    with pytest.raises(errors.EscapeError, match="remedy"):
        bridge.grad(f)(X)


def test_a_swallowed_escape_is_raised_at_the_end() -> None:
    def f(x: Any) -> Any:
        with contextlib.suppress(TypeError):
            float(x[0])
        p = np.zeros(3)
        with contextlib.suppress(TypeError, ValueError):
            p[0] = x[1]
        return np.sum(x)

    with pytest.raises(errors.EscapeError, match="leaves tracking"):
        bridge.grad(f)(X)


def test_detach_lets_a_value_go() -> None:
    def f(x: Any) -> Any:
        scale = float(bridge.detach(x[0]))
        return scale * np.sum(x)

    np.testing.assert_allclose(bridge.grad(f)(X), np.full(4, X[0]))


def test_integers_may_leave() -> None:
    def f(x: Any) -> Any:
        k = np.argmax(x)
        order = np.argsort(x)
        cast = (x * 2).astype(int)
        return x[k] * x[int(order[0])] + sum(x[i] for i in range(int(cast[0]) + 1)) * x[order][1]

    assert_gradient(f, X)


def test_gradients_survive_what_the_caller_does() -> None:
    x = X.copy()
    value, pull = bridge.vjp(lambda x: x * x, x)
    x[:] = 100.0
    ct = np.ones(4)
    (first,) = pull(ct)
    first[:] = 0.0
    value[:] = 0.0
    assert ct.tobytes() == np.ones(4).tobytes()
    (second,) = pull(ct)
    np.testing.assert_allclose(second, 2 * X)


def test_one_array_passed_twice() -> None:
    gx, gy = bridge.grad(lambda x, y: np.sum(x * y * y), argnums=(0, 1))(X, X)
    np.testing.assert_allclose(gx, X * X)
    np.testing.assert_allclose(gy, 2 * X * X)


def test_an_undifferentiated_alias_is_a_constant_until_it_is_written() -> None:
    np.testing.assert_allclose(bridge.grad(lambda x, y: np.sum(x * y))(X, X), X)

    def f(x: Any, out: Any) -> Any:
        np.exp(x, out=out)
        return np.sum(out * x)

    x = X.copy()
    np.testing.assert_allclose(bridge.grad(f)(x, x), 2 * np.exp(2 * X))
    assert x.tobytes() == X.tobytes()


def test_writing_what_two_differentiated_arguments_share() -> None:
    def f(x: Any, y: Any) -> Any:
        x[0] = 1.0
        return np.sum(x * y)

    with pytest.raises(errors.AliasError, match=r"argument 0, argument 1(.|\n)*x\.copy\(\)"):
        bridge.grad(f, argnums=(0, 1))(X, X)
    base = np.arange(6.0)
    with pytest.raises(errors.AliasError):
        bridge.grad(f, argnums=(0, 1))(base[:4], base[2:])


def test_views_that_do_not_overlap_are_separate() -> None:
    base = np.arange(6.0)

    def f(x: Any, y: Any) -> Any:
        x[0] = 2.0 * x[1]
        return np.sum(x * y)

    gx, gy = bridge.grad(f, argnums=(0, 1))(base[0::2], base[1::2])
    np.testing.assert_allclose(gx, [0.0, 2.0 * 1.0 + 3.0, 5.0])
    np.testing.assert_allclose(gy, [4.0, 2.0, 4.0])


def test_reading_the_original_of_a_mutated_argument() -> None:
    original = X.copy()

    def f(x: Any) -> Any:
        x[0] = 2.0
        return np.sum(x * original)

    with pytest.raises(errors.AliasError, match="global or captured"):
        bridge.grad(f)(original)


def test_writes_through_overlapping_views_are_refused() -> None:
    def window(x: Any) -> Any:
        w = np.lib.stride_tricks.sliding_window_view(x.copy(), 2)
        w[0] = 1.0
        return np.sum(w)

    def spread(x: Any) -> Any:
        w = np.broadcast_to(x, (2, 4))
        w += 1.0
        return np.sum(w)

    for f in (window, spread):
        with pytest.raises(errors.AliasError, match="share memory"):
            bridge.grad(f)(X)


def test_a_complex_value_into_a_real_array() -> None:
    def assigned(x: Any) -> Any:
        a = np.zeros_like(x)
        a[0] = x[0] * 1j
        return np.sum(a)

    def updated(x: Any) -> Any:
        a = x.copy()
        np.multiply(x, 1j, out=a, casting="unsafe")
        return np.sum(a)

    for f in (assigned, updated):
        with pytest.raises(errors.RefusedError, match="imaginary part"):
            bridge.grad(f)(X)


def test_pickling_is_refused() -> None:
    def f(x: Any) -> Any:
        pickle.dumps(x)
        return np.sum(x)

    with pytest.raises(errors.RefusedError, match="pickled"):
        bridge.grad(f)(X)


def test_a_buffer_of_a_closed_context() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x)
        return np.sum(x)

    bridge.grad(f)(X)
    with pytest.raises(errors.ContextError, match="closed"):
        kept[0] + 1
    with pytest.raises(errors.ContextError):
        bridge.grad(lambda x: np.sum(x * kept[0]))(X)
    with pytest.raises(errors.ContextError):
        kept[0][0] = 1.0


def test_a_context_belongs_to_one_thread() -> None:
    caught: list[BaseException] = []

    def f(x: Any) -> Any:
        def elsewhere() -> None:
            try:
                x * 2
            except errors.ContextError as error:
                caught.append(error)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return np.sum(x)

    np.testing.assert_allclose(bridge.grad(f)(X), np.ones(4))
    assert "thread" in str(caught[0])


def test_threads_differentiate_side_by_side() -> None:
    results: dict[int, Any] = {}

    def work(k: int) -> None:
        results[k] = bridge.grad(lambda x: np.sum(np.sin(x) * k))(X)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        np.testing.assert_allclose(results[k], k * np.cos(X))


@pytest.mark.parametrize("bad", [3, True, np.arange(3), np.array(["a"]), np.array([object()]), "text", None])
def test_arguments_that_cannot_be_differentiated(bad: Any) -> None:
    with pytest.raises(errors.ArgumentError, match="argument 0"):
        bridge.grad(lambda x: 1.0)(bad)


def test_allow_int() -> None:
    g = bridge.grad(lambda p: np.sum(p["w"] * p["n"]), allow_int=True)({"w": X, "n": np.arange(4)})
    assert g["n"] is None
    np.testing.assert_allclose(g["w"], np.arange(4.0))


def test_float32_stays_float32() -> None:
    def f(x: Any) -> Any:
        a = x.copy()
        a *= 2
        a[0] = a[1] * 3.5
        return np.sum(a / 2 * x)

    x = X.astype(np.float32)
    value, g = bridge.value_and_grad(f)(x)
    assert value.dtype == g.dtype == np.float32
    assert bridge.jvp(f, (x,), (np.ones_like(x),))[1].dtype == np.float32


def test_complex_gradients() -> None:
    z = np.array([1.0 + 2j, -0.5 + 0.3j])
    g = bridge.grad(lambda z: np.sum(np.abs(z) ** 2))(z)
    np.testing.assert_allclose(g, 2 * z)
    g = bridge.grad(lambda z: np.sum(z * z).real)(z)
    np.testing.assert_allclose(g, 2 * np.conj(z))


def test_an_operation_without_a_rule_is_named() -> None:
    special = pytest.importorskip("scipy.special")
    name = r"scipy\.special\.elliprc"
    with pytest.raises(errors.NoRuleError, match=rf"{name}(.|\n)*test_hard_cases\.py(.|\n)*@rule\({name}\)"):
        bridge.grad(lambda x: np.sum(special.elliprc(x, 1.0)))(np.abs(X))


def test_views_of_another_dtype() -> None:
    def f(x: Any) -> Any:
        z = x.copy().view(complex)
        z *= 1j
        return np.sum(z.real * z.imag + np.abs(z) ** 2)

    assert_gradient(f, X)
    with pytest.raises(errors.RefusedError, match="view"):
        bridge.grad(lambda x: np.sum(x.view(np.int64)))(X)


def test_a_call_that_returns_views_and_fresh_arrays() -> None:
    def f(x: Any) -> Any:
        a, b, c = np.atleast_1d(x[0], x[1:], 3.0)
        b *= 2.0
        return np.sum(a * b) * np.sum(c) + np.sum(x)

    assert_gradient(f, X)


def test_nested_sequences_of_arrays() -> None:
    def f(x: Any) -> Any:
        blocks = np.block([[x[:2, None], x[2:, None]], [np.ones((1, 1)), x[0] * np.ones((1, 1))]])
        return np.sum(blocks**2)

    assert_gradient(f, X)


def test_constants_in_linear_functions_have_no_tangent() -> None:
    def f(x: Any) -> Any:
        ends = np.concatenate([[1, 2], x, np.array([3.0])])
        return np.sum(x, initial=5.0) ** 2 + np.sum(ends**2) + np.sum(np.hstack([x, 1.0]) ** 3)

    assert_gradient(f, X)


@pytest.mark.parametrize(
    "refused",
    [
        lambda x: np.median(x, overwrite_input=True),
        lambda x: np.sum(x * np.ma.masked_array(np.ones(4), [0, 1, 0, 0])),
        lambda x: np.sum(np.matrix(np.eye(4)) * x),
        lambda x: np.sum(x.astype(object)),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_operands_and_options_that_are_refused(refused: Callable[[Any], Any]) -> None:
    with pytest.raises(errors.BridgeError, match="remedy"):
        bridge.grad(refused)(X)


def test_memory_maps_are_snapshotted(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "data", float, "w+", shape=(4,))
    mapped[:] = 2.0

    def f(x: Any) -> Any:
        y = x * mapped
        mapped[:] = 100.0
        return np.sum(y)

    np.testing.assert_allclose(bridge.grad(f)(X), np.full(4, 2.0))
