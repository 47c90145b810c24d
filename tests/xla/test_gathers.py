"""Advanced indexing with run-time integer arrays against NumPy: random keys, every mode, which writes survive."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from bridge.errors import RefusedError  # noqa: E402
from bridge.xla.regions.advanced import out_of_range  # noqa: E402
from bridge.xla.regions.affine import Affine  # noqa: E402
from bridge.xla.regions.gathers import gather, scatter_add, scatter_set, survivors  # noqa: E402

MODES = ["error", "clip", "fill", "drop"]
DTYPES = [np.float64, np.float32, np.int64, np.bool_, np.complex128]


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def random_keys(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """A NumPy key, and the same with some of its integers and arrays known only at run time."""
    shapes = [(3,), (2, 1), (2, 3), (), (1,), (0,)]
    common = shapes[rng.integers(len(shapes))]
    plain: list[Any] = []
    traced: list[Any] = []
    axis = 0
    while axis < len(shape):
        length = shape[axis]
        kind = rng.choice(["new", "array", "array", "array", "integer", "window", "slice", "ellipsis"])
        is_run = rng.random() < 0.7
        if kind == "new":
            plain.append(None)
            traced.append(None)
            continue
        if kind == "ellipsis" and not any(part is Ellipsis for part in plain):
            plain.append(Ellipsis)
            traced.append(Ellipsis)
            axis += int(rng.integers(0, len(shape) - axis + 1))
            continue
        if kind == "array":
            plain.append(rng.integers(-length, length, common if rng.random() < 0.8 else common[-1:]))
            traced.append(jnp.asarray(plain[-1]) if is_run else plain[-1])
        elif kind == "integer":
            plain.append(int(rng.integers(-length, length)))
            traced.append(Affine.unknown(jnp.asarray(plain[-1])) if is_run else plain[-1])
        elif kind == "window":
            start = int(rng.integers(0, length))
            width, step = int(rng.integers(0, length - start + 1)), int(rng.integers(1, 3))
            first = Affine.unknown(jnp.asarray(start)) if is_run else start
            plain.append(slice(start, start + width, step))
            traced.append(slice(first, first + width, step))
        else:
            plain.append(slice(None, None, [None, -1, 2, -2][rng.integers(4)]))
            traced.append(plain[-1])
        axis += 1
    return tuple(plain), tuple(traced)


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(60))
def test_random_keys_as_numpy_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, rng.integers(1, 5)).tolist())
    plain, traced = random_keys(rng, shape)
    x = np.arange(float(np.prod(shape))).reshape(shape)
    wanted = x[plain]
    value = -1 - np.arange(float(wanted.size)).reshape(wanted.shape)
    after, total = x.copy(), x.copy()
    places = wanted.ravel().astype(int)
    for place, one in zip(places, value.ravel(), strict=True):
        after.reshape(-1)[place] = one
    np.add.at(total.reshape(-1), places, value.ravel())
    for mode in MODES:
        np.testing.assert_array_equal(gather(jnp.asarray(x), traced, mode), wanted)
        np.testing.assert_array_equal(scatter_set(jnp.asarray(x), traced, value, mode), after)
        np.testing.assert_array_equal(scatter_add(jnp.asarray(x), traced, value, mode), total)
        alive = np.broadcast_to(survivors(traced, shape, mode), wanted.shape)
        np.testing.assert_array_equal(alive.ravel(), after.ravel()[places] == value.ravel())
    wrong = out_of_range(traced, shape)
    assert wrong is None or not wrong


# Four and five have no common divisor: each third pair has every mode, and every dtype.
@pytest.mark.ci
@pytest.mark.parametrize(("mode", "dtype"), list(itertools.product(MODES, DTYPES)))
def test_every_mode_out_of_range(mode: str, dtype: Any) -> None:
    x = (np.arange(12).reshape(4, 3) + 1).astype(dtype)

    def access(array: Any, rows: Any, s: Any) -> Any:
        key = (rows, slice((first := Affine.unknown(s)), first + 2))
        value = np.asarray([[-1, -2], [-3, -4], [-5, -6], [-7, -8], [-9, -10]], dtype)
        results = gather(array, key, mode), scatter_set(array, key, value, mode), scatter_add(array, key, value, mode)
        return results, survivors(key, x.shape, mode), out_of_range(key, x.shape)

    rows = np.array([1, 9, -1, 1, -6])
    for s in (-1, 0, 1, 2, 5):
        (read, write, total), alive, wrong = jax.jit(access)(x, rows, s)
        assert wrong
        s += 3 if s < 0 else 0
        moved = mode in ("error", "clip")
        places = np.where(rows < 0, rows + 4, rows)[:, None], (min(max(s, 0), 1) if moved else s) + np.arange(2)
        inside = (places[0] >= 0) & (places[0] < 4) & (places[1] >= 0) & (places[1] < 3) | moved
        clipped = np.clip(places[0], 0, 3), np.clip(places[1], 0, 2)
        filling = np.asarray(np.nan if mode == "fill" and x.dtype.kind in "fc" else 0)
        wanted = np.where(inside, x[clipped], filling)
        np.testing.assert_array_equal(np.isnan(read), np.isnan(wanted))
        np.testing.assert_array_equal(np.nan_to_num(read), np.nan_to_num(wanted).astype(dtype))
        value = (-np.arange(1, 11)).reshape(5, 2).astype(dtype)
        after, added, last = x.copy(), x.copy(), np.zeros((5, 2), bool)
        writer: dict[tuple[int, int], tuple[int, int]] = {}
        for at in np.ndindex(5, 2):
            if inside[at]:
                place = (clipped[0][at[0], 0], clipped[1][at[1]])
                after[place], writer[place] = value[at], at
                added[place] += value[at]
        for at in writer.values():
            last[at] = True
        np.testing.assert_array_equal(write, after)
        np.testing.assert_array_equal(total, added)
        np.testing.assert_array_equal(np.broadcast_to(alive, (5, 2)), last)
    assert not jax.jit(access)(x, np.array([0, 3, -4, 1, 1]), 1)[2]


@pytest.mark.ci
@pytest.mark.parametrize("mode", MODES)
def test_indices_beyond_32_bits_lie_outside(mode: str) -> None:
    x, value = np.arange(1.0, 6.0), np.array([10.0, 20.0, 30.0, 40.0])
    rows = jnp.asarray(np.array([2**32, 3, -(2**33) + 1, 2**62]))
    moved = mode in ("error", "clip")
    wanted = [5, 4, 1, 5] if moved else [np.nan, 4, np.nan, np.nan] if mode == "fill" else [0, 4, 0, 0]
    np.testing.assert_array_equal(jax.jit(lambda x, k: gather(x, k, mode))(x, rows), wanted)
    wanted = [30, 2, 3, 20, 40] if moved else [1, 2, 3, 20, 5]
    np.testing.assert_array_equal(jax.jit(lambda x, k: scatter_set(x, k, value, mode))(x, rows), wanted)
    wanted = [31, 2, 3, 24, 55] if moved else [1, 2, 3, 24, 5]
    np.testing.assert_array_equal(jax.jit(lambda x, k: scatter_add(x, k, value, mode))(x, rows), wanted)


@pytest.mark.ci
def test_what_is_known_to_be_in_range_is_not_checked() -> None:
    rows = jnp.asarray([0, 1])
    assert out_of_range((np.array([0, 3]), 1), (4, 3)) is None
    assert out_of_range((Affine.unknown(rows[0], 0, 2), np.array([1])), (4, 3)) is None
    assert out_of_range((rows,), (4, 3)) is not None


@pytest.mark.ci
def test_boolean_masks() -> None:
    x = np.arange(12.0).reshape(4, 3)
    mask = x > 4
    np.testing.assert_array_equal(gather(jnp.asarray(x), mask), x[mask])
    np.testing.assert_array_equal(gather(jnp.asarray(x), (mask[:, 1], slice(1))), x[mask[:, 1], :1])
    np.testing.assert_array_equal(gather(jnp.asarray(x), (True, jnp.asarray([1, 2]))), x[True, np.array([1, 2])])
    np.testing.assert_array_equal(gather(jnp.asarray(x), (slice(None), True)), x[:, True])
    np.testing.assert_array_equal(scatter_set(jnp.asarray(x), mask, 0.0), np.where(mask, 0, x))
    with pytest.raises(RefusedError, match="boolean mask") as caught:
        gather(jnp.asarray(x), jnp.asarray(mask))
    assert "np.where" in str(caught.value)


@pytest.mark.ci
def test_static_indices_out_of_range() -> None:
    x = jnp.zeros((4, 3))
    for key in ((np.array([0, 4]),), (jnp.asarray([0]), 3), (np.ones(3, bool),), (jnp.asarray([0]), 0, 0)):
        with pytest.raises(IndexError):
            gather(x, key)
    with pytest.raises(IndexError, match="size 0"):
        gather(jnp.zeros((0, 3)), (jnp.asarray([0]),))


@pytest.mark.ci
def test_rows_are_gathered_whole() -> None:
    jaxpr = jax.make_jaxpr(lambda x, i: gather(x, (i, slice(1, None))))(jnp.zeros((50, 9)), jnp.arange(4))
    (equation,) = [one for one in jaxpr.jaxpr.eqns if one.primitive.name == "gather"]
    assert equation.params["slice_sizes"] == (1, 8)
