"""Index arrays of run-time length, and windows that are indexed by arrays: reads, writes, additions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import IndexRangeError, TraceError

N = 5
COLUMNS = np.array([3, 0, 4, -2, 0, 1, 3])
WINDOWS = [(0, 3), (2, 6), (1, 5), (4, 4), (-3, 99)]


def written(x: Any, v: Any) -> Any:
    y = x * 2.0
    y[v[0]] = v[1]
    return y


def updated(x: Any, columns: Any, v: Any) -> Any:
    y = x * 2.0
    y[columns] *= v
    return y


def added(x: Any, columns: Any, v: Any) -> Any:
    y = x * 2.0
    np.add.at(y, columns, v * v)
    np.subtract.at(y, columns, 0.5)
    return y


def rows_written(A: Any, columns: Any, v: Any) -> Any:
    B = A * 2.0
    B[columns] = v[:, None] * A[0]
    B[1, columns] = v
    return B


# Each takes an array, a matrix, the indices, and as many numbers.
PROGRAMS = {
    "read": lambda x, A, c, v: np.sin(x[c]) * v,
    "product": lambda x, A, c, v: v @ x[c] * x,
    "rows": lambda x, A, c, v: A[c] * v[:, None],
    "columns": lambda x, A, c, v: A[:, c] * v,
    "of a row": lambda x, A, c, v: A[1, c] * v,
    "elements": lambda x, A, c, v: A[c, c] + A[c, 2] * v,
    "of what was computed": lambda x, A, c, v: x[(c + 1) % N] * v,
    "reversed": lambda x, A, c, v: x[c[::-1]] - v,
    "every second": lambda x, A, c, v: x[c[::2]],
    "written": lambda x, A, c, v: written(x, (c, v)),
    "one value": lambda x, A, c, v: written(x, (c, 3.0)),
    "updated": lambda x, A, c, v: updated(x, c, v),
    "added": lambda x, A, c, v: added(x, c, v),
    "rows written": lambda x, A, c, v: rows_written(A, c, v),
    "window by constants": lambda x, A, c, v: np.concatenate([v, [1.0, 2.0]])[np.array([0, -1, 1])] * x[:3],
    "window by a window": lambda x, A, c, v: v[np.cumsum(np.ones_like(c)) - 1] * x[c],
    "indices from the largest": lambda x, A, c, v: x[np.sort(c)] * v,
}


@pytest.mark.ci
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_index_arrays(name: str) -> None:
    def program(x: Any, A: Any, c: Any, v: Any, s: Any) -> Any:
        found = PROGRAMS[name](x, A, c[s[0] : s[1]], v[s[0] : s[1]])
        return np.sum(np.sin(found) * np.cumsum(np.ones_like(found), axis=-1))

    rng = np.random.default_rng(2)
    x, A, v = rng.normal(size=N), rng.normal(size=(N, N)), rng.uniform(0.5, 1.5, COLUMNS.size)
    compiled, gradient = bridge.xla(program), bridge.grad(program, argnums=(0, 1, 3), engine="xla")
    for window in WINDOWS:
        given = x, A, COLUMNS, v, np.array(window)
        np.testing.assert_allclose(compiled(*given), program(*given), rtol=1e-12, err_msg=f"at {window}")
        wanted = bridge.grad(program, argnums=(0, 1, 3))(*given)
        for one, other in zip(gradient(*given), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=f"at {window}")


def test_out_of_range() -> None:
    def program(x: Any, c: Any, s: Any) -> Any:
        return np.sum(x[c[s[0] : s[1]]])

    compiled = bridge.xla(program)
    x, c = np.arange(4.0), np.array([0, 9, 2, -7])
    # Only what is there is looked at.
    assert compiled(x, c, np.array([2, 3])) == 2.0
    for window in ([0, 2], [2, 4]):
        with pytest.raises(IndexRangeError, match="an index is out of range"):
            compiled(x, c, np.array(window))

    def of_window(x: Any, c: Any, s: Any) -> Any:
        return np.sum(x[s[0] : s[1]][c])

    compiled, c = bridge.xla(of_window), np.array([0, 2, -3])
    assert compiled(x, c, np.array([1, 4])) == 1.0 + 3.0 + 1.0
    with pytest.raises(IndexRangeError, match="an index is out of range"):
        compiled(x, c, np.array([1, 3]))


def test_what_is_not_there_is_not_written() -> None:
    """An empty window writes nothing, and the last of several writes to one element stays."""

    def program(x: Any, c: Any, v: Any, s: Any) -> Any:
        y = x.copy()
        y[c[s[0] : s[1]]] = v[s[0] : s[1]]
        return y

    compiled = bridge.xla(program)
    x, c, v = np.full(4, 7.0), np.array([1, 2, 1, 0]), np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(compiled(x, c, v, np.array([2, 2])), x)
    np.testing.assert_array_equal(compiled(x, c, v, np.array([0, 3])), [7.0, 3.0, 2.0, 7.0])


def test_unknown() -> None:
    for text, f in {
        "several axes": lambda x, A, w: A[np.stack([w, w])],
        "new axes": lambda x, A, w: A[w, None],
    }.items():
        compiled = bridge.xla(lambda x, A, c, s, f=f: np.sum(f(x, A, c[s[0] :])))
        with pytest.raises(TraceError, match=text):
            compiled(np.ones(5), np.ones((5, 5)), COLUMNS, np.array([2]))
