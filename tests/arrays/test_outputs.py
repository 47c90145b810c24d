"""`out=`: NumPy's value and NumPy's errors for memory of any dtype, shape and place; and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors
from tests.helpers.finite_differences import gradient

X = np.array([0.31, -0.73, 1.13, 0.53, 0.91, -0.23])
WEIGHTS = np.linspace(0.4, 1.3, 40)

CALLS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "sum": (lambda x, out: np.sum(x.reshape(2, 3), axis=0, out=out), (3,)),
    "mean": (lambda x, out: np.mean(x.reshape(2, 3), axis=0, out=out), (3,)),
    "max": (lambda x, out: x.reshape(2, 3).max(0, out), (3,)),
    "median": (lambda x, out: np.median(x.reshape(2, 3), axis=1, out=out), (2,)),
    "clip": (lambda x, out: np.clip(x, -0.5, 0.7, out=out), (6,)),
    "cumsum": (lambda x, out: np.cumsum(x, out=out), (6,)),
    "take": (lambda x, out: np.take(x, [2, 1, 1, 4], out=out), (4,)),
    "choose": (lambda x, out: np.choose([0, 1, 1], x.reshape(2, 3), out=out), (3,)),
    "trace": (lambda x, out: np.trace(x.reshape(2, 1, 3), axis1=0, axis2=1, out=out), (3,)),
    "dot": (lambda x, out: np.dot(x.reshape(2, 3), x[:3], out=out), (2,)),
    "einsum": (lambda x, out: np.einsum("ij,j->i", x.reshape(2, 3), x[:3], out=out), (2,)),
    "matmul": (lambda x, out: np.matmul(x.reshape(2, 3), x[:3], out=out), (2,)),
    "divmod": (lambda x, out: np.divmod(x, 0.3, out=(None, out))[1], (6,)),
    "concatenate": (lambda x, out: np.concatenate([x[:2], x[3:5]], out=out), (4,)),
    "subtract.reduce": (lambda x, out: np.subtract.reduce(x.reshape(2, 3), axis=0, out=out), (3,)),
    "add.reduceat": (lambda x, out: np.add.reduceat(x, [0, 2, 4], out=out), (3,)),
    "add": (lambda x, out: np.add(x, x[::-1], out=out), (6,)),
    "number of sum": (lambda x, out: np.sum(x * x, out=out), ()),
    "number of dot": (lambda x, out: np.dot(x, x, out=out), ()),
    "number of trace": (lambda x, out: np.trace(x.reshape(2, 3), out=out), ()),
}
OUTS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "float64": lambda x, shape: np.zeros(shape),
    "float32": lambda x, shape: np.zeros(shape, np.float32),
    "int64": lambda x, shape: np.zeros(shape, np.int64),
    "complex128": lambda x, shape: np.zeros(shape, complex),
    "longer": lambda x, shape: np.zeros((*shape[:-1], (*shape, 1)[-1] + 1)),
    "more axes": lambda x, shape: np.zeros((2, *shape)),
    "with gaps": lambda x, shape: np.zeros((*shape, 2))[..., 0],
    "memory of the operand": lambda x, shape: x[: int(np.prod(shape))].reshape(shape),
}


PAIRS = [(name, out) for name in CALLS for out in OUTS]


@pytest.mark.filterwarnings("ignore")  # what NumPy before 2.5 refuses: `np.take` of floats into integers
@pytest.mark.parametrize(("name", "out"), PAIRS)
def test_it_is_what_numpy_does(name: str, out: str) -> None:
    _compare(name, out, "native")


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "out"), PAIRS[::5])
def test_it_is_what_numpy_does_when_compiled(name: str, out: str) -> None:
    _compare(name, out, "xla")


def _compare(name: str, out: str, engine: str) -> None:
    call, shape = CALLS[name]

    def program(x: Any) -> Any:
        y = x * 1.25
        target = OUTS[out](y, shape)
        result = call(y, target) * 2.0
        rest = np.sum(np.real(target.ravel() * WEIGHTS[: target.size])) + np.sum(y * y)
        return np.sum(np.real(np.ravel(result) * WEIGHTS[: result.size])) + rest

    try:
        value = float(program(X.copy()))
    except Exception as error:
        with pytest.raises(Exception) as found:
            bridge.grad(program, engine=engine)(X.copy())
        assert type(found.value) is type(error) or isinstance(found.value, errors.BridgeError), found.value
        return
    assert bridge.value_and_grad(program, engine=engine)(X.copy())[0] == pytest.approx(
        value, rel=1e-7 if out == "float32" else 1e-12
    )
    if out != "float32":
        want = gradient(program, [X])[0]
        np.testing.assert_allclose(bridge.grad(program, engine=engine)(X.copy()), want, atol=1e-5)


def a_number_and_the_memory(x: Any) -> Any:
    out = np.zeros(())
    number = np.dot(x, x, out=out)
    out *= 3.0
    return number * out


def the_memory_itself(x: Any) -> Any:
    out = np.zeros(())
    same = np.sum(x * x, out=out)
    out *= 3.0
    return same * x[0]


def a_number_made_an_array(x: Any) -> Any:
    a = np.array(x[0])
    also = a
    a[...] = a * x[1]
    a += x[2]
    return also * a


def a_sum_made_an_array(x: Any) -> Any:
    a = np.asarray(np.sum(x))
    also = [a]
    np.multiply(a, x[0], out=a)
    return also[0] ** 2


def a_copy_of_a_number(x: Any) -> Any:
    a = np.copy(x[0])
    a += x[1]
    return a * x[0]


def a_mask_of_numbers(x: Any) -> Any:
    out = x.copy()
    np.multiply(x, x, out=out, where=[1, 0, 1, 1, 0, 1])
    return np.sum(out)


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize(
    "program",
    [a_number_and_the_memory, the_memory_itself, a_number_made_an_array, a_sum_made_an_array, a_copy_of_a_number,
     a_mask_of_numbers],
)  # fmt: skip
def test_arrays_without_axes(program: Callable[[Any], Any], engine: str) -> None:
    value, found = bridge.value_and_grad(program, engine=engine)(X.copy())
    assert value == pytest.approx(program(X.copy()))
    np.testing.assert_allclose(found, gradient(program, [X])[0], atol=1e-6)


def test_what_reads_what_it_has_just_written_is_refused_and_remembered() -> None:
    def program(x: Any) -> Any:
        y = x.copy()
        with suppress(TypeError):
            np.ptp(y.reshape(2, 3), axis=0, out=y[1:4])
        return np.sum(y)

    with pytest.raises(errors.RefusedError, match=r"np\.ptp with out= (.|\n)*has just overwritten(.|\n)*leave out="):
        bridge.grad(program)(X.copy())


EQUAL = np.array([0.89, -1.27, 0.28, 0.89])
"""Two elements are equal: what NumPy overwrites before it reads it is not seen in the value."""


@pytest.mark.parametrize("position", [0, 1, 3])
def test_equal_numbers_do_not_hide_what_is_overwritten_before_it_is_read(position: int) -> None:
    def program(x: Any) -> Any:
        y = np.sin(x)
        np.concatenate([y[position:], y[:position]], out=y)
        return np.sum(y * np.array([1.0, 2.0, 3.0, 4.0]))

    for x in (EQUAL, np.array([0.1, 0.2, 0.3, 0.4])):
        steps = 1e-6 * np.eye(4)
        expected = [(program(x + step) - program(x - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(bridge.grad(program)(x), expected, atol=1e-8)
