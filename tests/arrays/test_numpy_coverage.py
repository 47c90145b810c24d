"""NumPy's functions and methods in every spelling of a call: its value, and a gradient that is the slope of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp
from bridge import Buffer
from bridge.errors import RefusedError
from tests.helpers.finite_differences import directional, inner, random_tangents, replica

X = np.array([[2.04, -2.56, 0.42], [-0.57, -0.45, -0.22]])
P = np.array([0.46, 0.74, 0.55, 0.75])
Z = X + 1j * X[::-1]
S = np.float64(0.7)

Program = Callable[..., Any]


def written(x: Any, place: Any, value: Any) -> None:
    x[place] = value


def after(result: Any, *then: Any) -> Any:
    """What a statement leaves behind: the value that is asked for once it has run."""
    return then[-1]


SPELLINGS: dict[str, tuple[Program, tuple[Any, ...]]] = {
    # Methods whose signature is not that of the function.
    "x.clip(low)": (lambda x: x.clip(-0.5), (X,)),
    "x.clip(max=number)": (lambda x, s: x.clip(max=s), (X, S)),
    "x.clip(low, high, out)": (lambda x, s: after(x.clip(-s, s, x), x * x), (X, S)),
    "x.compress(condition, axis=)": (lambda x: x.compress([True, False, True], axis=-1), (X,)),
    "x.compress(condition)": (lambda x: x.compress([True, False, True]), (X,)),
    "number.ravel()": (lambda s: s.ravel() * s.flatten(), (S,)),
    "number.reshape()": (lambda s: s.reshape(1, 1) * s.reshape((1,)), (S,)),
    "number.T, tolist, transpose": (lambda s: s.T * s.tolist() * s.transpose(), (S,)),
    "round(number, digits)": (lambda s: s * round(s, 1) * round(s + 1), (S,)),
    # Real conjugates are the array itself.
    "conj of real, then a write": (lambda x: after(written(x.conj(), 0, 3.0), x * x), (X,)),
    "conjugate of real, then +=": (lambda x: after(x.conjugate().__iadd__(x), x * x), (X,)),
    "conj of complex, then a write": (lambda z: after(written(z.conj(), 0, 3.0), np.abs(z * z)), (Z,)),
    # Lists of tracked numbers.
    "x += list": (lambda x, s: after(x.__iadd__([s, 1.0, 2.0]), x * x), (X, S)),
    "full with a list": (lambda s: bnp.full((2, 3), [s, s * s, 1.0]), (S,)),
    "full_like with a list": (lambda x, s: np.full_like(x, [s, s * s, 1.0]), (X, S)),
    "full_like of a list": (lambda s: bnp.full_like([1.0, 2.0], s), (S,)),
    "zeros_like of a list": (lambda s: bnp.zeros_like([s, 1.0]) + s, (S,)),
    "array(order=)": (lambda s: after(written(bnp.array([[s, 1.0], [2.0, s]], order="F").T, 0, s), s * s), (S,)),
    # Creation with every argument by position.
    "full_like(x, s, dtype)": (lambda x, s: np.full_like(x, s, complex), (X, S)),
    "full_like(x, s, None, order, subok, shape)": (lambda x, s: np.full_like(x, s, None, "K", True, (2,)), (X, S)),
    "asarray(x, dtype, order)": (lambda x: bnp.asarray(x, float, "F") * x, (X,)),
    "asarray(x, device=)": (lambda x: bnp.asarray(x, device="cpu") * x, (X,)),
    "empty_like(prototype=)": (lambda x: np.empty_like(prototype=x) * 0 + x, (X,)),
    "linspace between numbers": (lambda s: np.linspace(s, 2, 4), (S,)),
    "linspace between lists": (lambda s: bnp.linspace([0.0, s], [1.0, 2.0], 3), (S,)),
    "linspace with its step": (lambda s: np.linspace(0, s, 4, False, True), (S,)),
    "logspace with a base": (lambda s: np.logspace(0, 1, 3, base=s), (S,)),
    "geomspace between arrays": (lambda p: np.geomspace(p[:2], p[2:] + 1, 3, axis=-1), (P,)),
    # Writes.
    "putmask with a number": (lambda x, s: after(np.putmask(x, X > 0, s), x * x), (X, S)),
    # Keyword operands.
    "var(ddof=number)": (lambda x, s: np.var(x, ddof=s), (X, S)),
    "std(correction=number)": (lambda x, s: np.std(x, axis=1, correction=s), (X, S)),
    "nanvar(ddof=number)": (lambda x, s: np.nanvar(x, ddof=s), (X, S)),
    "diff(list, append=)": (lambda s: np.diff([1, 2, 4], append=s), (S,)),
    "average(list, weights=)": (lambda p: np.average([1, 2, 3, 4], weights=p), (P,)),
    "percentile(list, q)": (lambda s: np.percentile([1, 2, 3, 4], 100 * s), (S,)),
    "quantile(integers, q)": (lambda s: np.quantile(np.array([5, 1, 3, 2]), s), (S,)),
    "median of nothing": (lambda x: np.median(x[:0], axis=0), (X,)),
    "gradient(list, positions)": (lambda p: np.gradient([1.0, 2.0, 4.0, 3.0], np.cumsum(p)), (P,)),
    "multi_dot with a list": (lambda x: np.linalg.multi_dot([x.T, x, [1, 2, 3]]), (X,)),
    "polyfit at integers": (lambda p: np.polyfit([0, 1, 2, 3], p, 2), (P,)),
    # `out` by position, and what follows it.
    "sum(x, axis, dtype, out)": (lambda x: after(np.sum(x, 0, None, x[0]), x * x), (X,)),
    "sum(x, axis, dtype, out, keepdims)": (lambda x: after(np.sum(x, 1, None, x[:, :1], True), x * x), (X,)),
    "x.max(axis, out)": (lambda x: after(x.max(0, x[1]), x * x), (X,)),
    "x.mean(axis, dtype, out)": (lambda x: after(x.mean(0, None, x[1]), x * x), (X,)),
    "x.cumsum(axis, dtype, out)": (lambda x: after(x.cumsum(0, None, x), x * x), (X,)),
    "np.clip(x, low, high, out)": (lambda x, s: after(np.clip(x, -s, s, x), x * x), (X, S)),
    "take(x, indices, axis, out)": (lambda p: after(np.take(p, [1, 0, 0, 2], 0, p), p * p), (P,)),
    "concatenate(arrays, axis, out)": (lambda x: np.concatenate([x[1:], x[:1]], 0, bnp.zeros((2, 3))) * x, (X,)),
    "outer(a, b, out)": (lambda x: after(np.outer(x[:, 0], x[0], x), x * x), (X,)),
    "a.dot(b, out)": (lambda a: after(a.dot(a.T, bnp.zeros((2, 2))), a * a), (X,)),
    "unsafe write into integers": (lambda p: np.add(p, p, bnp.zeros(4, int), casting="unsafe") * p, (P,)),
    # Lists of tracked numbers as one operand.
    "dot with a list": (lambda x, s: np.dot(x, [s, 1.0, 2.0]), (X, S)),
    "append a list": (lambda x, s: np.append(x, [s, 1.0]), (X, S)),
    "concatenate lists": (lambda p, s: np.concatenate([p, [s, 1.0], [s]]), (P, S)),
    "clip with a list": (lambda x, s: np.clip(x, None, [s, 1.0, -s]), (X, S)),
    "polyval with a list": (lambda p, s: np.polyval([1.0, s], p), (P, S)),
    "quantile at a list": (lambda p, s: np.quantile(p, [0.2, s]), (P, S)),
    "pad with pairs": (lambda x, s: np.pad(x, 1, constant_values=((s, 1.0), (s * s, 2.0))), (X, S)),
    # Layout and dtype.
    "reshape(copy=True), then a write": (lambda x: after(written(x.reshape(6, copy=True), 0, 3.0), x * x), (X,)),
    "astype(copy=False, order=)": (lambda x: after(written(x.astype(float, "F", copy=False), 0, 3.0), x * x), (X,)),
    "sum(x, axis, type)": (lambda x: np.sum(x, 1, np.complex128), (X,)),
    "big-endian real part": (
        lambda z, x: after(z.real.__iadd__(x), np.abs(z * z)),
        (Z.astype(">c16"), X.astype(">f8")),
    ),
    # Methods of ufuncs.
    "floor_divide.accumulate": (lambda p: np.floor_divide.accumulate(p), (P,)),
    "floor_divide.reduceat": (lambda p: np.floor_divide.reduceat(p, [0, 3, 1]), (P,)),
    "maximum.reduce(dtype=)": (lambda p: np.maximum.reduce(p, dtype=complex), (P,)),
    "subtract.accumulate(x, axis, dtype)": (lambda x: np.subtract.accumulate(x, 0, complex), (X,)),
    "hypot.reduce of nothing": (lambda x: np.hypot.reduce(x[:, :0], axis=0) + np.sum(x), (X,)),
    "maximum.accumulate of nothing": (lambda x: np.maximum.accumulate(x[:0]), (X,)),
}


def loss(result: Any) -> Any:
    """A number that depends on every element of every float result."""
    total: Any = 0.0
    for k, part in enumerate(result if isinstance(result, tuple) else (result,)):
        weights = np.cos(np.arange(np.size(bridge.detach(part))) + k).reshape(np.shape(part))
        total = total + np.sum(np.real(part) * weights) + np.sum(np.imag(part) * weights) / 2
    return total


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered in divide")
@pytest.mark.parametrize("name", SPELLINGS)
def test_value_and_gradient_are_those_of_numpy(name: str) -> None:
    program, arguments = SPELLINGS[name]
    plain = program(*(replica(x) if isinstance(x, np.ndarray) else x for x in arguments))
    found, _ = bridge.vjp(program, *arguments)
    for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, plain)), strict=True):
        assert (np.shape(one), one.dtype) == (np.shape(other), other.dtype)
        np.testing.assert_array_equal(one, other)
    if np.isnan(loss(plain)):
        return
    arrays = tuple(np.asarray(x) for x in arguments)
    tangents = random_tangents(arrays)
    numbers = tuple(np.ndim(x) == 0 for x in arguments)

    def as_given(values: Any) -> tuple[Any, ...]:
        return tuple(v[()] if number else v for v, number in zip(values, numbers, strict=True))

    slope = directional(lambda *values: loss(program(*as_given(values))), arrays, tangents)
    along = bridge.grad(lambda *args: loss(program(*args)), argnums=tuple(range(len(arguments))))(*arguments)
    np.testing.assert_allclose(inner(along, tangents), slope, rtol=1e-6, atol=1e-8)
    _, pushed = bridge.jvp(lambda *args: loss(program(*args)), arguments, as_given(tangents))
    np.testing.assert_allclose(pushed, slope, rtol=1e-6, atol=1e-8)


METHODS = ("byteswap", "dump", "dumps", "getfield", "resize", "setfield", "setflags", "tofile")


@pytest.mark.parametrize("name", METHODS)
def test_methods_that_have_no_meaning_are_refused_by_name(name: str) -> None:
    with pytest.raises(RefusedError, match=rf"{name}\(\) of a tracked array(.|\n)*remedy"):
        bridge.grad(lambda x: getattr(x, name)(3) and x[0, 0])(X)


def test_every_public_method_of_an_array_is_there() -> None:
    assert all(name.startswith("_") or hasattr(Buffer, name) for name in dir(np.ndarray))


def test_reductions_that_numpy_cannot_order_are_refused_as_numpy_does() -> None:
    with pytest.raises(ValueError, match="not reorderable"):
        bridge.grad(lambda x: np.subtract.reduce(x, axis=(0, 1)))(X)
