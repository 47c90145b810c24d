"""Functions that choose elements: by conditions (`where`, `select`, `compress`) or by indices (`take`, `choose`).

What was not chosen gets no cotangent at all: a derivative that is infinite there stays without effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, pulls, rule, sum_to_shape, zeros


def _fitted(ct: Any, choice: Any) -> Any:
    """`ct` summed to the shape of `choice`, without its imaginary part if that is real."""
    real = not isinstance(choice, complex) and getattr(choice, "dtype", np.dtype(float)).kind != "c"
    return sum_to_shape(np.real(ct) if real and ct.dtype.kind == "c" else ct, np.shape(choice))


pulls(
    np.where,
    lambda ct, out, condition, x, y: None,
    lambda ct, out, condition, x, y: _fitted(np.where(condition, ct, 0), x),
    lambda ct, out, condition, x, y: _fitted(np.where(condition, 0, ct), y),
    reads=("condition",),
    structure="linear",
)


@rule(
    np.select, reads=("condlist",), structure="linear", facts=Facts(sequences=("condlist", "choicelist"), indexes=True)
)
def select(ct: Any, out: Any, condlist: Any, choicelist: Any, default: Any = 0) -> tuple[Any, ...]:
    cotangents = []
    for condition, choice in zip(condlist, choicelist, strict=True):
        cotangents.append(_fitted(np.where(condition, ct, 0), choice))
        ct = np.where(condition, 0, ct)
    return None, cotangents, _fitted(ct, default)


def _bounded(indices: Any, length: int, mode: str) -> Any:
    """Indices as NumPy takes them in this mode; "raise" leaves negative ones, which count from the end."""
    if mode == "raise":
        return indices
    return np.clip(indices, 0, length - 1) if mode == "clip" else np.mod(indices, length)


@rule(np.choose, reads=("a",), structure="linear", facts=Facts(sequences=("choices",), indexes=True))
def choose(ct: Any, out: Any, a: Any, choices: Any, _out: Any = None, mode: str = "raise") -> tuple[Any, ...]:
    stacked = hasattr(choices, "shape")
    count = choices.shape[0] if stacked else len(choices)
    chosen = _bounded(a, count, mode)
    parts = [np.where(np.equal(chosen, k), ct, 0) for k in range(count)]
    if stacked:
        return None, np.stack([sum_to_shape(part, choices.shape[1:]) for part in parts])
    return None, [_fitted(part, choice) for part, choice in zip(parts, choices, strict=True)]


def _scattered(ct: Any, shape: tuple[int, ...], axis: int | None, indices: Any) -> Any:
    """Zeros of `shape` to which `ct` is added at the indices along one axis, or into the flat array."""
    if axis is None:
        flat = zeros(int(np.prod(shape, dtype=int)), like=ct)
        np.add.at(flat, indices, ct)
        return np.reshape(flat, shape)
    gathered = zeros(shape, like=ct)
    np.add.at(gathered, (slice(None),) * (axis % len(shape)) + (indices,), ct)
    return gathered


@rule(np.take, reads=("indices",), linear=True, facts=Facts(indexes=True))
def take(
    ct: Any, out: Any, a: Any, indices: Any, axis: int | None = None, _out: Any = None, mode: str = "raise"
) -> Any:
    length = a.size if axis is None else a.shape[axis]
    return _scattered(ct, a.shape, axis, _bounded(indices, length, mode))


@rule(np.take_along_axis, reads=("indices",), linear=True, facts=Facts(indexes=True))
def take_along_axis(ct: Any, out: Any, arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None:
        return _scattered(ct, arr.shape, None, np.reshape(indices, -1))
    axis = axis % arr.ndim
    grid = [np.reshape(np.arange(n), (n,) + (1,) * (arr.ndim - k - 1)) for k, n in enumerate(arr.shape)]
    grid[axis] = indices
    gathered = zeros(arr.shape, like=ct)
    np.add.at(gathered, tuple(grid), ct)
    return gathered


@rule(np.compress, reads=("condition",), structure="linear", facts=Facts(shaped_by=("condition",), indexes=True))
def compress(ct: Any, out: Any, condition: Any, a: Any, axis: int | None = None, _out: Any = None) -> tuple[Any, ...]:
    return None, _scattered(ct, a.shape, axis, np.flatnonzero(condition))


@rule(np.extract, reads=("condition",), structure="linear", facts=Facts(shaped_by=("condition",), indexes=True))
def extract(ct: Any, out: Any, condition: Any, arr: Any) -> tuple[Any, ...]:
    return None, _scattered(ct, arr.shape, None, np.flatnonzero(condition))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    condition = y > 0
    yield Case(np.where, (condition, x, y))
    yield Case(np.where, (condition[0], x[:, :1], 2.0))
    yield Case(np.where, (condition.T[::2], 0.5, y.T[::2]))
    yield Case(np.where, (condition, x[0, 0], y[1]))
    yield Case(np.where, (condition, x + 1j * y, y))
    yield Case(np.where, (condition[:0], x[:0], y[:0]))
    yield Case(np.where, (y, x, 1.0))
    yield Case(np.select, ([condition, x > 0], [x, y]))
    yield Case(np.select, ([condition, x > 0], [x[0], y[:, :1]]), {"default": np.float64(0.3)})
    yield Case(np.select, ([condition], [x + 1j], y))
    index = np.array([2, 0, 1, 2])
    yield Case(np.choose, (index, [x[0], y[0], x[1]]))
    yield Case(np.choose, (index, x))
    yield Case(np.choose, (index - 4, (x[0], y[0, 0], 2.0)), {"mode": "wrap"})
    yield Case(np.choose, (index + 1, [x, y[0], y[:, :1]]), {"mode": "clip"})
    yield from _cases_of_take(x)
    yield Case(np.take_along_axis, (x, np.argsort(y, axis=1), 1))
    yield Case(np.take_along_axis, (x.T, np.array([[0, 0, 2]])), {"axis": 0})
    yield Case(np.take_along_axis, (x, np.array([5, 5, -1])), {"axis": None})
    yield Case(np.take_along_axis, (x, np.zeros((1, 2), int)), {"axis": -1})
    for chosen in ([True, False, True], np.array([0, 1])):
        yield Case(np.compress, (chosen, x), {"axis": 0})
        yield Case(np.compress, (chosen, x.T), {"axis": -1})
        yield Case(np.compress, (chosen, x))
    yield Case(np.extract, (condition, x))
    yield Case(np.extract, (condition.T, x.T + 1j))


def _cases_of_take(x: np.ndarray) -> Iterator[Case]:
    for array in (x, x.T, x[:, ::2] + 1j):
        yield Case(np.take, (array, [0, 2, 2, -1]))
        yield Case(np.take, (array, np.array([[0, 1], [1, -1]])), {"axis": 0})
        yield Case(np.take, (array, 1, -1))
        yield Case(np.take, (array, []), {"axis": 1})
    for mode in ("wrap", "clip"):
        yield Case(np.take, (x, np.array([-7, 3, 20, -1])), {"mode": mode})
        yield Case(np.take, (x, [-7, 3, 20]), {"axis": 1, "mode": mode})
    yield Case(np.take, (x.astype(np.float32), [1, 1], 0), tolerance=1e-2)
