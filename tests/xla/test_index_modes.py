"""Indices that are known only at run time: in each mode value, reverse, forward and finite differences agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp
from bridge import errors

pytest.importorskip("jax")

X = np.array([0.3, 1.2, -0.7, 0.4, 0.9, -0.2, 0.6])
LENGTH = len(X)
MODES = ("clip", "fill", "drop")


def known(v: Any) -> Any:
    """What was read, with the NaNs of "fill" as ones."""
    return np.where(np.isnan(v), 1.0, v)


def element(x: Any, k: Any) -> Any:
    return known(x[k[0]]) ** 2


def element_of_two(x: Any, k: Any) -> Any:
    return known(np.reshape(x[:6], (2, 3))[1, k[0]]) ** 2


def row(x: Any, k: Any) -> Any:
    return np.sum(known(np.outer(x, x[:2])[k[0]]) ** 2)


def window(x: Any, k: Any) -> Any:
    return np.sum(known(x[k[0] : k[0] + 3]) ** 2 * np.arange(1, 4))


def loop(x: Any, k: Any) -> Any:
    def body(i: Any, total: Any) -> Any:
        s = k[0] + i
        return total + np.sum(known(x[s : s + 3]) ** 3 * np.arange(1, 4))

    return bridge.fori_loop(0, 3, body, 0.0)


def gather(x: Any, k: Any) -> Any:
    return np.sum(known(x[k]) ** 2 * np.arange(1, 4))


def written(x: Any, k: Any) -> Any:
    y = x * x
    y[k[0]] = 3 * x[0]
    return np.sum(y * np.arange(1, LENGTH + 1))


def window_written(x: Any, k: Any) -> Any:
    y = x * x
    y[k[0] : k[0] + 3] = 2 * x[1:4]
    y[0] *= x[2]
    return np.sum(y * y)


def scattered(x: Any, k: Any) -> Any:
    y = x * x
    y[k] = 2 * x[1:4]
    return np.sum(y * y * np.arange(1, LENGTH + 1))


def added(x: Any, k: Any) -> Any:
    y = x * x
    np.add.at(y, k, 2 * x[1:4])
    return np.sum(y * y * np.arange(1, LENGTH + 1))


def loop_written(x: Any, k: Any) -> Any:
    b = bnp.ones(LENGTH)

    def body(i: Any, b: Any) -> Any:
        s = k[0] + i
        b[s : s + 2] = np.sin(x[i : i + 2]) * b[i + 1 : i + 3]
        return b

    return np.sum(bridge.fori_loop(0, 3, body, b) ** 2)


READS = (element, element_of_two, row, window, loop, gather)
WRITES = (written, window_written, scattered, added, loop_written)
INSIDE, ABOVE, FAR, BELOW = (np.array(k) for k in ([2, 0, 1], [5, 1, 9], [11, 12, 2], [-9, 3, -12]))


def differences(f: Callable[[Any], Any], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))])


@pytest.mark.ci
@pytest.mark.parametrize(("program", "mode"), [(p, m) for m in MODES for p in READS + WRITES])
def test_derivatives_are_those_of_the_value(program: Any, mode: str) -> None:
    both = bridge.value_and_grad(program, engine="xla", index_mode=mode)
    push = bridge.xla(lambda x, k, v: bridge.jvp(lambda x: program(x, k), (x,), (v,)), index_mode=mode)
    v = np.cos(np.arange(LENGTH))
    for k in (INSIDE, ABOVE, FAR, BELOW):
        found, gradient = both(X, k)
        np.testing.assert_allclose(gradient, differences(lambda x, k=k: both(x, k)[0], X), rtol=1e-6, atol=1e-8)
        pushed, tangent = push(X, k, v)
        np.testing.assert_allclose(pushed, found, rtol=1e-13)
        np.testing.assert_allclose(tangent, gradient @ v, rtol=1e-11, atol=1e-12)


@pytest.mark.ci
@pytest.mark.parametrize("program", READS + WRITES)
def test_inside_every_mode_is_the_program(program: Any) -> None:
    expected, gradient = bridge.value_and_grad(program)(X, INSIDE)
    for mode in ("error", "drop"):
        found = bridge.value_and_grad(program, engine="xla", index_mode=mode)(X, INSIDE)
        np.testing.assert_allclose(found[0], expected, rtol=1e-12)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-12, atol=1e-14)


def places(k: np.ndarray) -> np.ndarray:
    """Indices that count from the end, as NumPy means them."""
    return np.where((k < 0) & (k >= -LENGTH), k + LENGTH, k)


@pytest.mark.ci
@pytest.mark.parametrize("k", [INSIDE, ABOVE, FAR, BELOW, np.array([-1, -7, 6])])
def test_what_is_read(k: np.ndarray) -> None:
    at = places(k)
    outside = (at < 0) | (at >= LENGTH)
    clipped = X[np.clip(at, 0, LENGTH - 1)]

    def read(x: Any, k: Any) -> Any:
        return x[k], x[k[0]]

    for mode, expected in (
        ("clip", clipped),
        ("fill", np.where(outside, np.nan, clipped)),
        ("drop", np.where(outside, 0.0, clipped)),
    ):
        gathered, one = bridge.xla(read, index_mode=mode)(X, k)
        np.testing.assert_array_equal(gathered, expected, err_msg=mode)
        np.testing.assert_array_equal(one, expected[0], err_msg=mode)
    whole = bridge.xla(lambda x, k: x[k], index_mode="fill")(np.arange(1, 8), k)
    np.testing.assert_array_equal(whole, np.where(outside, 0, np.clip(at, 0, 6) + 1))


@pytest.mark.ci
@pytest.mark.parametrize("start", [0, 2, 4, 5, 6, 7, 30])
def test_windows_read_and_written(start: int) -> None:
    k = np.array([start])
    at = start + np.arange(3)
    outside = at >= LENGTH
    clamped = X[min(start, LENGTH - 3) :][:3]
    inside = X[np.minimum(at, LENGTH - 1)]
    for mode, expected in (
        ("clip", clamped),
        ("fill", np.where(outside, np.nan, inside)),
        ("drop", np.where(outside, 0.0, inside)),
    ):
        found = bridge.xla(lambda x, k: x[k[0] : k[0] + 3], index_mode=mode)(X, k)
        np.testing.assert_array_equal(found, expected, err_msg=mode)
    dropped = X.copy()
    dropped[at[~outside]] = (10 + np.arange(3.0))[~outside]
    shifted = X.copy()
    shifted[min(start, LENGTH - 3) :][:3] = 10 + np.arange(3.0)

    def write(x: Any, k: Any) -> Any:
        x[k[0] : k[0] + 3] = 10.0 + np.arange(3)
        return x

    for mode, expected in (("clip", shifted), ("fill", dropped), ("drop", dropped)):
        np.testing.assert_array_equal(bridge.xla(write, index_mode=mode)(X, k), expected, err_msg=mode)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("program", "k", "index", "inside"),
    [
        (element, [9, 0, 0], "index 9", "-7 to 6"),
        (element, [-8, 0, 0], "index -8", "-7 to 6"),
        (row, [7, 0, 0], "index 7", "-7 to 6"),
        (window, [5, 0, 0], "index 5", "0 to 4"),
        (window, [-1, 0, 0], "index -1", "0 to 4"),
        (window, [-3, 0, 0], "index -3", "0 to 4"),
        (window, [-8, 0, 0], "index -8", "0 to 4"),
        (gather, [0, 8, 1], "an index", "-7 to 6"),
        (written, [7, 0, 0], "index 7", "-7 to 6"),
        (window_written, [6, 0, 0], "index 6", "0 to 4"),
        (scattered, [0, 0, 99], "an index", "-7 to 6"),
        (added, [0, -8, 1], "an index", "-7 to 6"),
    ],
)
def test_an_index_outside_is_named(program: Any, k: list[int], index: str, inside: str) -> None:
    line = program.__code__.co_firstlineno
    for compiled in (bridge.xla(program), bridge.value_and_grad(program, engine="xla")):
        with pytest.raises(errors.IndexRangeError, match=f"{index} is out of range: {inside} lie inside") as caught:
            compiled(X, np.array(k))
        where = str(caught.value.where)
        number = int(where.split("test_index_modes.py:")[1].split(" ")[0])
        # A view is read where it is used.
        assert line < number <= line + 9 or number == known.__code__.co_firstlineno + 2
        assert "clip" in str(caught.value)
        # The session goes on.
        expected = bridge.grad(program)(X, INSIDE) if compiled.__name__ != program.__name__ else program(X, INSIDE)
        found = compiled(X, INSIDE)
        np.testing.assert_allclose(found[1] if isinstance(found, tuple) else found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.ci
@pytest.mark.parametrize(("program", "k"), [(loop, [3, 0, 0]), (loop_written, [4, 0, 0])])
def test_a_slice_of_a_loop_is_cut_off_as_in_numpy(program: Any, k: list[int]) -> None:
    with pytest.raises(ValueError, match=r"could not (be )?broadcast"):
        program(X, np.array(k))
    for compiled in (bridge.xla(program), bridge.value_and_grad(program, engine="xla")):
        with pytest.raises(ValueError, match=r"could not be broadcast together(.|\n)*test_index_modes.py:\d+"):
            compiled(X, np.array(k))
        # The session goes on.
        expected = bridge.grad(program)(X, INSIDE) if compiled.__name__ != program.__name__ else program(X, INSIDE)
        found = compiled(X, INSIDE)
        np.testing.assert_allclose(found[1] if isinstance(found, tuple) else found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.ci
@pytest.mark.parametrize("program", [window, window_written])
def test_windows_that_count_from_the_end(program: Any) -> None:
    for mode in ("error", *MODES):
        compiled = bridge.value_and_grad(program, engine="xla", index_mode=mode)
        for start in (-7, -6, -5, -4):
            k = np.array([start, 1, -3])
            expected, gradient = bridge.value_and_grad(program)(X, k)
            value, found = compiled(X, k)
            np.testing.assert_allclose(value, expected, rtol=1e-12)
            np.testing.assert_allclose(found, gradient, rtol=1e-12, atol=1e-14)


@pytest.mark.ci
def test_the_ranges_of_a_window_are_named() -> None:
    with pytest.raises(errors.IndexRangeError, match="0 to 4 lie inside, and from the end -7 to -4"):
        bridge.xla(window)(X, np.array([-2]))


@pytest.mark.ci
def test_the_error_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        bridge.xla(element)(X, np.array([70]))


def static_element(x: Any) -> Any:
    return known(x[9]) ** 2 + x[-1]


def static_list(x: Any) -> Any:
    return np.sum(known(x[[0, 8, -9]]) ** 2 * np.arange(1, 4))


def static_of_two(x: Any) -> Any:
    y = np.outer(x, x[:2])
    return np.sum(known(y[..., 2]) ** 2) + known(y[7, 1]) ** 3 + np.sum(known(y[None, np.array([0, 11]), :1]))


def static_written(x: Any) -> Any:
    y = x * x
    y[7] = 3 * x[0]
    y[[1, -12]] = x[:2]
    np.add.at(y, np.array([3, 8]), x[2])
    y[-8] += x[4]
    return np.sum(y * y * np.arange(1, LENGTH + 1))


def static_loop(x: Any) -> Any:
    return sum((known(x[i + 1]) - x[i]) ** 2 for i in range(LENGTH))


STATIC = (static_element, static_list, static_of_two, static_written, static_loop)


@pytest.mark.ci
@pytest.mark.parametrize(("program", "mode"), [(p, m) for m in MODES for p in STATIC])
def test_indices_that_are_plain_numbers(program: Any, mode: str) -> None:
    both = bridge.value_and_grad(program, engine="xla", index_mode=mode)
    gradient = both(X)[1]
    np.testing.assert_allclose(gradient, differences(lambda x: both(x)[0], X), rtol=1e-6, atol=1e-8)
    v = np.cos(np.arange(LENGTH))
    tangent = bridge.jvp(program, (X,), (v,), engine="xla", index_mode=mode)[1]
    np.testing.assert_allclose(tangent, gradient @ v, rtol=1e-11, atol=1e-12)


@pytest.mark.ci
def test_plain_numbers_mean_what_run_time_ones_do() -> None:
    def read(x: Any, k: Any) -> Any:
        return x[k], np.take(x, k), np.take_along_axis(x, k, 0)

    for k in (ABOVE, FAR, BELOW):
        for mode in MODES:
            at_run_time = bridge.xla(read, index_mode=mode)(X, k)
            static = bridge.xla(lambda x, k=k: (x[k], x[list(k)], x[k[0]]), index_mode=mode)(X)
            for found in (*at_run_time[1:], *static[:2]):
                np.testing.assert_array_equal(found, at_run_time[0])
            np.testing.assert_array_equal(static[2], at_run_time[0][0])


@pytest.mark.ci
def test_plain_numbers_outside_are_numpys_error() -> None:
    for program in STATIC:
        with pytest.raises(IndexError, match="out of bounds"):
            bridge.xla(program)(X)
    for mode in MODES:
        with pytest.raises(IndexError, match="size 0"):
            bridge.xla(lambda x: x[:0][3], index_mode=mode)(X)


@pytest.mark.ci
def test_functions_that_pick_name_an_index_outside() -> None:
    for function in (lambda x, k: np.take(x, k), lambda x, k: np.take_along_axis(x, k, 0)):
        with pytest.raises(errors.IndexRangeError, match="an index is out of range: -7 to 6 lie inside"):
            bridge.xla(function)(X, FAR)


def overwritten(x: Any, k: Any) -> Any:
    """The index outside would be clipped to the element that the one before it names."""
    y = np.zeros(LENGTH)
    y[k] = x[:2] * 3
    return np.sum(y * y)


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["drop", "fill"])
@pytest.mark.parametrize("k", [[6, 7], [0, -8], [6, 2**40]])
def test_a_write_that_is_dropped_takes_no_gradient_from_another(mode: str, k: list[int]) -> None:
    gradient = bridge.grad(overwritten, engine="xla", index_mode=mode)(X, np.array(k))
    np.testing.assert_allclose(gradient, [18 * X[0], *[0] * 6], rtol=1e-12)


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
def test_arithmetic_with_indices_overflows_as_numpys_does(kind: str) -> None:
    x, dtype = np.arange(300.0), np.dtype(kind)
    last = int(np.iinfo(dtype).max) - 1
    programs = (
        (lambda x, k: x[k[0] - 1], 0),
        (lambda x, k: x[k[0] - 1], 5),
        (lambda x, k: x[k[0] + 3], last),
        (lambda x, k: x[k[0] * 2], 100),
        (lambda x, k: x[-k[0]], 1),
        (lambda x, k: x[(k[0] - 1) // 2], 0),
        (lambda x, k: x[k[0] + np.arange(3, dtype=k.dtype)], last),
        (lambda x, k: x[k + k.dtype.type(3)], last),
    )
    for program, start in programs:
        k = np.array([start], dtype)
        try:
            with np.errstate(over="ignore"):
                expected = program(x, k)
        except (IndexError, OverflowError):
            with pytest.raises(errors.IndexRangeError):
                bridge.xla(program)(x, k)
            continue
        try:
            found = bridge.xla(program)(x, k)
        except errors.IndexRangeError:
            # What exceeds 32 bits is not carried over: it lies outside.
            assert start == last
            assert dtype.itemsize >= 4
        else:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.ci
def test_every_transform_takes_a_mode() -> None:
    for mode in ("clip", "drop"):
        gradient = bridge.grad(lambda x: gather(x, FAR), engine="xla", index_mode=mode)(X)
        for jacobian in (bridge.jacrev, bridge.jacfwd):
            found = jacobian(gather, engine="xla", index_mode=mode)(X, FAR)
            np.testing.assert_allclose(found, gradient, rtol=1e-12)
        hessian = bridge.hessian(gather, engine="xla", index_mode=mode)(X, FAR)
        product = bridge.hvp(lambda x: gather(x, FAR), (X,), (X,), engine="xla", index_mode=mode)
        np.testing.assert_allclose(hessian @ X, gradient, rtol=1e-12)
        np.testing.assert_allclose(product, gradient, rtol=1e-12)
    for transform in (bridge.jacrev, bridge.jacfwd, bridge.hessian):
        with pytest.raises(errors.ArgumentError, match=r"index_mode='clip' with engine='eager'"):
            transform(gather, index_mode="clip")
    with pytest.raises(errors.ArgumentError, match=r"index_mode='clip' with engine='native'"):
        bridge.hvp(gather, (X,), (X,), engine="native", index_mode="clip")


@pytest.mark.ci
def test_other_engines_have_only_errors() -> None:
    with pytest.raises(errors.ArgumentError, match=r"index_mode='clip' with engine='native'"):
        bridge.grad(element, engine="native", index_mode="clip")
    with pytest.raises(errors.ArgumentError, match=r"index_mode='wrap'"):
        bridge.grad(element, engine="xla", index_mode="wrap")
    with pytest.raises(errors.ArgumentError, match=r"index_mode='wrap'"):
        bridge.xla(element, index_mode="wrap")
    with pytest.raises(errors.ArgumentError, match="not compiled passes through"):
        bridge.grad(bridge.xla(element, index_mode="clip"))(X, INSIDE)


@pytest.mark.ci
def test_inside_of_a_jax_program_an_index_outside_makes_nan() -> None:
    import jax
    import jax.numpy as jnp

    for transform in (lambda f: f, jax.grad):
        f = jax.jit(transform(bridge.xla(element)))
        assert np.isfinite(f(jnp.asarray(X), jnp.array([2]))).all()
        assert np.isnan(f(jnp.asarray(X), jnp.array([12]))).all()
        g = jax.jit(transform(bridge.xla(element, index_mode="clip")))
        assert np.isfinite(g(jnp.asarray(X), jnp.array([12]))).all()
