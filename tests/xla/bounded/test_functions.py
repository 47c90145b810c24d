"""Functions of windows `x[i:j]` of run-time length, against NumPy; what lies outside of the windows is NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

N = 7
WINDOWS = [(0, 3), (2, 6), (3, 4), (-5, -1), (0, 99), (-99, 2)]
EMPTY = [(4, 4), (6, 2), (99, 3)]


def ordered(w: Any) -> Any:
    """A number that depends on the order of elements."""
    return np.sum(np.sin(w) * np.cumsum(np.ones_like(w), axis=-1))


def assigned(w: Any) -> Any:
    y = np.zeros_like(w)
    y[1:] = w[:-1]
    y[:1] += 2.0
    return y


def shifted(w: Any) -> Any:
    """Source and target overlap."""
    y = w.copy()
    y[1:] = y[:-1]
    y[:-1] *= y[1:]
    return y


def strided(w: Any) -> Any:
    y = w.copy()
    y[::2] = w[1::2].sum()
    y[1::2] += 3.0
    y[-1:0:-3] *= 2.0
    return y


def masked(w: Any) -> Any:
    y = w.copy()
    y[y < 0] = 0.25
    y[::2][w[::2] > 0.5] = 2.0
    return y


def sorted_in_place(w: Any) -> Any:
    y = np.hstack([w, w[1:]])
    y[1:].sort()
    np.copyto(y[:1], 3.0)
    return y


ELEMENTWISE = {
    "exp": lambda w, v: np.exp(w),
    "quotient": lambda w, v: w / v,
    "log of quotient": lambda w, v: np.log(np.abs(w / v)),
    "power": lambda w, v: np.abs(w) ** v,
    "root": lambda w, v: np.sqrt(w * w),
    "numbers": lambda w, v: 2.0 - w * 3.0 + 1,
    "number that is tracked": lambda w, v: w / np.sum(v * v + 1.0) - np.sum(v),
    "where": lambda w, v: np.where(w > v, w * w, -v),
    "clip": lambda w, v: np.clip(w, -0.3, 0.4),
    "maximum": lambda w, v: np.maximum(w, v),
    "two outputs": lambda w, v: np.divmod(w, v)[1],
    "absolute": lambda w, v: abs(w),
    "flipped": lambda w, v: np.flip(w) * v,
    "reversed": lambda w, v: w[::-1] - v,
    "every second": lambda w, v: w[::2] * 2.0,
    "backward by three": lambda w, v: w[::-3] * 2.0,
    "neighbours": lambda w, v: w[1:] * v[:-1],
    "from the end": lambda w, v: w[-2:] * 3.0,
    "slice of a slice": lambda w, v: w[1:-1][1:] + 1.0,
    "cumsum": lambda w, v: np.cumsum(w),
    "cumprod": lambda w, v: np.cumprod(w),
    "concatenate": lambda w, v: np.concatenate([w, [1.0, 2.0], v[1:]]),
    "append": lambda w, v: np.append(w, 3.0),
    "diff": lambda w, v: np.diff(w),
    "sort": lambda w, v: np.sort(w),
    "copy": lambda w, v: w.copy().astype(np.float64),
    "ones": lambda w, v: np.ones_like(w) * 2.0 + np.full_like(v, 3.0),
    "assigned": lambda w, v: assigned(w),
    "overlapping": lambda w, v: shifted(w),
    "masked": lambda w, v: masked(w),
    "sorted in place": lambda w, v: sorted_in_place(w),
    "strided": lambda w, v: strided(w),
    "column": lambda w, v: (w.reshape(-1, 1) * v[None, :]).T,
    "stack": lambda w, v: np.stack([w, v]),
    "outer": lambda w, v: np.outer(w, v),
    "column and row": lambda w, v: w[:, None] / v,
}
REDUCED = {
    "sum": lambda w, v: np.sum(w),
    "prod": lambda w, v: w.prod(),
    "product": lambda w, v: w @ v,
    "dot": lambda w, v: np.dot(w, np.flip(v)),
    "inner": lambda w, v: np.inner(w, v),
    "vdot": lambda w, v: np.vdot(w, v),
    "einsum": lambda w, v: np.einsum("i,i,j->", w, v, w),
    "tensordot": lambda w, v: np.tensordot(w, v, 1),
    "norm": lambda w, v: np.linalg.norm(w - 2.0),
    "of its length": lambda w, v: w.shape[0] * np.sum(w),
    "range": lambda w, v: np.sum(np.arange(w.shape[0]) * w) + np.arange(1, w.shape[0] + 1) @ v,
    "made": lambda w, v: np.sum((np.zeros(w.shape[0]) + 2.0) * w) + np.sum(np.full((w.shape[0], 2), 3.0) * v[:, None]),
    "sum of ones": lambda w, v: np.sum(np.ones_like(w)) * np.sum(v),
    "reduce": lambda w, v: np.add.reduce(w) * np.multiply.reduce(v),
    "count": lambda w, v: np.sum(w > 0) + np.count_nonzero(v > w) + 1.0 * np.sum(w),
    "any": lambda w, v: np.where(np.any(w > 0.5), 2.0, 3.0) * np.sum(w),
    "all": lambda w, v: np.where(np.all(w > -0.5), 2.0, 3.0) * np.sum(w),
    "length": lambda w, v: w.shape[0] * np.sum(w) + np.size(v),
}
NOT_EMPTY = {
    "mean": lambda w, v: np.mean(w * v),
    "average": lambda w, v: np.average(w, weights=v * v),
    "var": lambda w, v: np.var(w) + v.std(),
    "max": lambda w, v: np.max(w) * w.min(),
    "ptp": lambda w, v: np.ptp(w),
    "argmax": lambda w, v: w[np.argmax(w)] * v[np.argmin(v)],
    "element": lambda w, v: w[0] * v[-1],
    "norm of another order": lambda w, v: np.linalg.norm(w, 1) + np.linalg.norm(v, np.inf),
    "median": lambda w, v: np.median(w) * np.median(v[:1]),
    "trapezoid": lambda w, v: np.trapezoid(w) + np.trapezoid(w, np.cumsum(v * v)),
    "where=": lambda w, v: np.sum(w, where=v > 0) + np.prod(v, where=w < 0) + 0.1 * np.any(w > 5, where=v > 0),
    "Python's own": lambda w, v: (
        sum(w * v) + max(w) * min(v) + 1.0 * isinstance(w, np.ndarray) + (type(v) is np.ndarray)
    ),
    "extreme of infinities": lambda w, v: np.argmax(np.full_like(w, -np.inf)) + np.sum(w),
}
SQUARE = {
    "product": lambda A, w: A @ w,
    "product from the left": lambda A, w: w @ A,
    "gram": lambda A, w: A.T @ A,
    "rows": lambda A, w: A * w,
    "columns": lambda A, w: A / w[:, None],
    "sum of rows": lambda A, w: np.sum(A, axis=1) * w,
    "mean of columns": lambda A, w: A.mean(axis=0, keepdims=True) * w,
    "norms": lambda A, w: np.linalg.norm(A, axis=1) + np.linalg.norm(A),
    "trace": lambda A, w: np.trace(A) * w,
    "einsum": lambda A, w: np.einsum("ij,jk,k->i", A, A, w),
    "triangle": lambda A, w: np.sum(A[1:, :-1] * w[:-1], axis=0),
    "max of rows": lambda A, w: np.max(A, axis=1),
    "transposed": lambda A, w: np.swapaxes(A, 0, 1) * w,
    "element": lambda A, w: A[0, -1] * w,
    "solve": lambda A, w: np.linalg.solve(A, w),
    "solve for a matrix": lambda A, w: np.linalg.solve(A, A.T * w),
    "inverse": lambda A, w: np.linalg.inv(A) @ w,
    "determinant": lambda A, w: np.linalg.det(A) * w + np.linalg.slogdet(A)[1],
    "cholesky": lambda A, w: np.linalg.cholesky(A @ A.T) @ w,
    "triangles": lambda A, w: np.tril(A) @ w + np.triu(A, 1) @ w * 2.0,
    "stacked": lambda A, w: np.vstack([A, w]) @ w,
    "row": lambda A, w: A[0] * A[:, 0],
}


def arguments(window: tuple[int, int]) -> list[Any]:
    """Two arrays and a matrix with NaN outside of the window."""
    rng = np.random.default_rng(5)
    inside = np.zeros(N, bool)
    inside[slice(*window)] = True
    x, y = (np.where(inside, rng.uniform(0.2, 0.9, N) * rng.choice([-1, 1], N), np.nan) for _ in range(2))
    A = np.where(np.outer(inside, inside), rng.normal(size=(N, N)) + 3 * np.eye(N), np.nan)
    return [x, y, A, np.array(window)]


def check(program: Any, windows: list[tuple[int, int]]) -> None:
    """The value and its gradients, compiled once for all windows."""
    compiled = bridge.xla(program)
    gradient = bridge.grad(program, argnums=(0, 1, 2), engine="xla")
    for window in windows:
        given = arguments(window)
        np.testing.assert_allclose(compiled(*given), program(*given), rtol=1e-12, err_msg=f"at {window}")
        wanted = bridge.grad(program, argnums=(0, 1, 2))(*given)
        for one, other in zip(gradient(*given), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=f"at {window}")


@pytest.mark.ci
@pytest.mark.parametrize("name", list(ELEMENTWISE))
def test_elementwise(name: str) -> None:
    def program(x: Any, y: Any, A: Any, s: Any) -> Any:
        return ordered(ELEMENTWISE[name](x[s[0] : s[1]], y[s[0] : s[1]]))

    check(program, WINDOWS + EMPTY)


@pytest.mark.ci
@pytest.mark.parametrize("name", list(REDUCED | NOT_EMPTY))
def test_reduced(name: str) -> None:
    function = (REDUCED | NOT_EMPTY)[name]

    def program(x: Any, y: Any, A: Any, s: Any) -> Any:
        return np.sin(function(x[s[0] : s[1]], y[s[0] : s[1]]))

    check(program, WINDOWS + EMPTY if name in REDUCED else WINDOWS)


@pytest.mark.ci
@pytest.mark.parametrize("name", list(SQUARE))
def test_of_two_axes(name: str) -> None:
    def program(x: Any, y: Any, A: Any, s: Any) -> Any:
        return ordered(SQUARE[name](A[s[0] : s[1], s[0] : s[1]], x[s[0] : s[1]]))

    check(program, WINDOWS)
