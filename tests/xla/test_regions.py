"""Regions and affine integers against NumPy: random chains of views, traced starts, every mode, relations, cost."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from bridge.errors import AliasError, RefusedError  # noqa: E402
from bridge.xla.regions.affine import Affine, Atom, difference  # noqa: E402
from bridge.xla.regions.region import Region, contains, disjoint, same  # noqa: E402


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def numbered(shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """An array in which every element is different."""
    size = int(np.prod(shape))
    numbers = (np.arange(size) + 1).astype(dtype)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * (np.arange(size) + 1001)
    return numbers.astype(dtype).reshape(shape)


def primitives(jaxpr: Any) -> set[str]:
    names = set()
    for equation in jaxpr.eqns:
        names.add(equation.primitive.name)
        for inner in equation.params.values():
            if hasattr(inner, "jaxpr"):
                names |= primitives(inner.jaxpr)
    return names


# ---------------------------------------------------------------- affine integers


@pytest.mark.ci
def test_affine_arithmetic_and_difference() -> None:
    s, t = Affine.unknown(jnp.asarray(4)), Affine.unknown(jnp.asarray(10))
    assert difference(s + 3, s) == 3
    assert difference(2 * s + t, t + s * 2 - 7) == 7
    assert difference(s, t) is None
    assert difference(s, 0) is None
    assert s - s == Affine(0)
    assert (s - s).is_constant
    assert (1 - s + t) == (t - s + 1)
    assert hash(1 - s + t) == hash(t - s + 1)
    assert int((3 * s - t + 5).value()) == 7
    assert Affine.of(np.int32(4)).value() == 4
    assert type(Affine.of(np.int32(4)).value()) is int
    for bad in (True, 1.0, "1", np.True_):
        with pytest.raises(TypeError):
            Affine.of(bad)
    with pytest.raises(TypeError):
        s * 0.5
    with pytest.raises(TypeError):
        s + 0.5
    with pytest.raises(TypeError):
        s * t


@pytest.mark.ci
def test_affine_bounds() -> None:
    s, t = Affine.unknown(jnp.asarray(4), 0, 9), Affine.unknown(jnp.asarray(10), 5, None)
    assert (s + 1).bounds() == (1, 10)
    assert (3 - 2 * s).bounds() == (-15, 3)
    assert (s + t).bounds() == (5, None)
    assert (s - t).bounds() == (None, 4)
    assert Affine(3).bounds() == (3, 3)


@pytest.mark.ci
def test_atoms_are_compared_by_identity_and_small_integers_do_not_overflow() -> None:
    value = jnp.asarray(100, np.int8)
    a, b = Atom(value), Atom(value)
    assert a != b
    assert int((Affine(0, ((a, 1000),))).value()) == 100_000


# ---------------------------------------------------------------- random chains against NumPy


class Run:
    """Stands in a key for run-time integer `number` of the chain, plus a constant."""

    def __init__(self, number: int, offset: int = 0) -> None:
        self.number, self.offset = number, offset

    def __add__(self, offset: int) -> Run:
        return Run(self.number, self.offset + offset)


class Chain:
    """A view of `root`, and how to get the region that should show the same."""

    def __init__(self, root: np.ndarray) -> None:
        self.root = self.view = root
        self.steps: list[Any] = []
        self.starts: list[int] = []
        self.bounds: list[tuple[int | None, int | None]] = []

    def integer(self, draw: Any, value: int, low: int) -> Any:
        """`value` as it is, or as a run-time integer of which nothing, or a range with the end `low`, is known."""
        how = draw(st.sampled_from(["unknown", "bounded", "unknown", "static"]))
        if how == "static":
            return value
        self.starts.append(value)
        self.bounds.append((low, value) if how == "bounded" else (None, None))
        return Run(len(self.starts) - 1)

    def region(self, starts: Any) -> Region:
        return self.region_of(
            [Affine.unknown(*one) for one in zip(starts, *zip(*self.bounds, strict=True), strict=True)]
        )

    def region_of(self, integers: list[Affine]) -> Region:
        def filled(part: Any) -> Any:
            if isinstance(part, slice):
                return slice(filled(part.start), filled(part.stop), part.step)
            return integers[part.number] + part.offset if isinstance(part, Run) else part

        region = Region.whole(self.root.shape)
        for step in self.steps:
            if isinstance(step, tuple):
                region = region.index(tuple(filled(part) for part in step))
            else:
                region = region.layout(*step)
        return region

    def show(self, view: np.ndarray) -> None:
        """Go on with a view that NumPy made of the present one."""
        self.steps.append([self.view, view])
        self.view = view


@st.composite
def chains(draw: Any) -> Chain:
    dtype = draw(st.sampled_from([np.float64, np.float64, np.float32, np.complex128, np.int64]))
    shape = tuple(
        draw(st.lists(st.sampled_from([4, 3, 6, 2, 1]), min_size=draw(st.sampled_from([2, 1, 0])), max_size=3))
    )
    chain = Chain(numbered(shape, dtype))
    for _ in range(draw(st.integers(1, 4))):
        extend = draw(st.sampled_from([by_key, by_key, by_turn, by_reshape, by_parts, by_repetition]))
        extend(chain, draw)
    return chain


def by_key(chain: Chain, draw: Any) -> None:
    plain: list[Any] = []
    key: list[Any] = []
    for length in chain.view.shape[: chain.view.ndim - draw(st.integers(0, chain.view.ndim))]:
        if draw(st.integers(0, 9)) == 0:
            plain.append(None)
            key.append(None)
        kind = draw(st.sampled_from(["upward", "int", "downward", "slice", "all"])) if length else "all"
        start = draw(st.integers(0, max(0, length - 1)))
        step = draw(st.sampled_from([1, 1, 2]))
        if kind == "int":
            index = draw(st.sampled_from([start, start - length]))
            plain.append(index)
            key.append(chain.integer(draw, index, 0 if index >= 0 else -length))
        elif kind == "upward":
            width = draw(st.integers(0, length - start))
            first = chain.integer(draw, start, 0)
            plain.append(slice(start, start + width, step))
            key.append(slice(first, first + width, step))
        elif kind == "downward":
            width = draw(st.integers(1, start + 1))
            first = chain.integer(draw, start, width - 1)
            plain.append(slice(start, start - width if start >= width else None, -step))
            key.append(slice(first, first + -width, -step) if isinstance(first, Run) else plain[-1])
        else:
            ends = st.one_of(st.none(), st.integers(-length - 2, length + 2))
            every = draw(st.sampled_from([None, 1, 2, 3, -1, -2]))
            plain.append(slice(draw(ends), draw(ends), every) if kind == "slice" else slice(None))
            key.append(plain[-1])
    chain.view = chain.view[(*plain, Ellipsis)]
    chain.steps.append(tuple(key) if draw(st.booleans()) else (*key, Ellipsis))


def by_turn(chain: Chain, draw: Any) -> None:
    view = chain.view.transpose(draw(st.permutations(range(chain.view.ndim))))
    if view.ndim and draw(st.booleans()):
        view = np.flip(view, draw(st.integers(0, view.ndim - 1)))
    chain.show(np.squeeze(view) if draw(st.booleans()) else view[None])


def by_reshape(chain: Chain, draw: Any) -> None:
    size = chain.view.size
    shape = draw(st.sampled_from([(-1,), (2, -1), (-1, 3), (size,), (1, -1, 1)]))
    if size == 0 or size % abs(int(np.prod(shape))):
        return
    order = draw(st.sampled_from(["C", "F"]))
    view = chain.view.reshape(shape, order=order)
    if np.shares_memory(view, chain.root):
        chain.show(view)


def by_parts(chain: Chain, draw: Any) -> None:
    view = chain.view
    adjacent = view.ndim and view.strides[-1] == view.itemsize
    if view.dtype.kind == "c":
        if draw(st.booleans()) and adjacent:
            chain.show(view.view(view.real.dtype))
        else:
            chain.show(view.real if draw(st.booleans()) else view.imag)
    elif view.dtype.kind == "f" and adjacent and view.shape[-1] % 2 == 0:
        chain.show(view.view(np.result_type(view.dtype, np.complex64)))


def by_repetition(chain: Chain, draw: Any) -> None:
    kind = draw(st.sampled_from(["diagonal", "slide", "broadcast", "strided"]))
    view = chain.view
    if kind == "diagonal" and view.ndim >= 2:
        chain.show(view.diagonal(draw(st.integers(-2, 2))))
    elif kind == "slide" and view.ndim and view.shape[0] >= 2:
        chain.show(sliding_window_view(view, 2, axis=0))
    elif kind == "broadcast" and view.size < 50:
        chain.show(np.broadcast_to(view, (2, *view.shape)))
    elif kind == "strided" and view.ndim == 1 and view.size >= 4:
        chain.show(as_strided(view, (view.size // 2, 2), (view.strides[0], 2 * view.strides[0])))


def positions_of(chain: Chain) -> np.ndarray:
    """For each element of the view, the byte offset in the root."""
    view = chain.view
    offsets = np.full(view.shape, view.__array_interface__["data"][0] - chain.root.__array_interface__["data"][0])
    for axis, (length, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        offsets += (np.arange(length) * stride).reshape((-1,) + (1,) * (view.ndim - 1 - axis))
    return offsets


def changed(chain: Chain, change: Any) -> np.ndarray:
    """The root after `change` was called on the same view of it."""
    after, view = chain.root.copy(), chain.view
    first = view.__array_interface__["data"][0] - chain.root.__array_interface__["data"][0]
    if view.size:
        change(np.ndarray(view.shape, view.dtype, after, first, view.strides))
    return after


@pytest.mark.ci
@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.ci)])
def test_random_chains_read_write_and_add_as_numpy_does(count: int) -> None:
    hypothesis.settings(max_examples=count)(hypothesis.given(chains(), st.booleans())(check_chain))()


def check_chain(chain: Chain, traced: bool) -> None:
    value = -numbered(chain.view.shape, chain.view.dtype)
    repeats = np.unique(positions_of(chain)).size < chain.view.size

    def access(cell: Any, starts: Any) -> Any:
        region = chain.region(starts)
        assert region.shape == chain.view.shape
        try:
            write = region.write(cell, value)
        except AliasError:
            # A run-time part of a view with repeated elements counts as one, though it may have none itself.
            assert repeats or any(not step.is_injective for step in region.steps)
            write = None
        return region.read(cell), write, region.add(cell, value)

    starts = [jnp.asarray(start) for start in chain.starts]
    read, write, total = (jax.jit(access) if traced else access)(jnp.asarray(chain.root), starts)
    assert (read.dtype, total.dtype) == (chain.view.dtype, chain.root.dtype)
    np.testing.assert_array_equal(read, chain.view)
    np.testing.assert_array_equal(
        total, changed(chain, lambda view: np.add.at(view, tuple(np.indices(view.shape)), value))
    )
    assert (write is None) >= repeats
    if write is not None:
        assert write.dtype == chain.root.dtype
        np.testing.assert_array_equal(write, changed(chain, lambda view: np.copyto(view, value)))
    if not starts:
        assert chain.region([]) == chain.region([])
        assert hash(chain.region([])) == hash(chain.region([]))
        assert not chain.region([]).dynamic


@pytest.mark.ci
def test_the_ways_to_say_that_a_length_depends_on_the_run() -> None:
    s, t = Affine.unknown(jnp.asarray(1)), Affine.unknown(jnp.asarray(2))
    region = Region.whole((5, 4))
    for key in (slice(s, None), slice(None, s), slice(s, t), slice(s, -1), slice(0, s), slice(None, None, s)):
        with pytest.raises(RefusedError, match="run-time value") as caught:
            region.index(key)
        assert "x[s:s + 3]" in str(caught.value)
    for key in (5, -6, (0, 4), (0, 0, 0), slice(s, s + 6), (Ellipsis, Ellipsis)):
        with pytest.raises(IndexError):
            region.index(key)
    with pytest.raises(RefusedError, match="int64"):
        region.layout(np.zeros((5, 4)), np.zeros((5, 4)).view(np.int64))
    with pytest.raises(RefusedError, match="complex"):
        region.write(jnp.zeros((5, 4)), 1j)
    with pytest.raises(ValueError, match="stands for"):
        region.layout(np.zeros(3), np.zeros(3))


@pytest.mark.ci
def test_writes_through_repeated_elements_are_refused() -> None:
    memory, cell = np.zeros((3, 4)), jnp.zeros((3, 4))
    for view in (np.broadcast_to(memory, (2, 3, 4)), sliding_window_view(memory, 2, axis=1)):
        region = Region.whole((3, 4)).layout(memory, view)
        with pytest.raises(AliasError, match="not defined"):
            region.write(cell, 1.0)
        once = (
            region.index((0, slice(None), slice(0, 4))) if view.ndim == 3 and len(view) == 2 else region.index((..., 0))
        )
        assert once.write(cell, 1.0).sum() == once.read(cell).size


# ---------------------------------------------------------------- cost


KEYS = {
    "row": lambda s: (s, slice(1, -1)),
    "block": lambda s: (slice(s, s + 2), slice(s + 1, s + 4)),
    "backward": lambda s: (slice(s + 2, s, -1),),
    "steps": lambda s: (slice(s, s + 3, 2), slice(None, None, -3)),
    "element": lambda s: (s, s),
    "static": lambda s: (2, slice(3, 5)),
}


@pytest.mark.ci
@pytest.mark.parametrize("name", KEYS)
def test_windows_are_slices_and_never_gathers(name: str) -> None:
    cell = jnp.zeros((7, 9))

    def region(s: Any) -> Region:
        return Region.whole((7, 9)).index(KEYS[name](Affine.unknown(s)))

    dynamic = name != "static"
    for change in (lambda x, s: region(s).write(x, 1.0), lambda x, s: region(s).add(x, 1.0)):
        names = primitives(jax.make_jaxpr(change)(cell, 1).jaxpr)
        assert "dynamic_update_slice" in names
        assert not any("gather" in one or "scatter" in one for one in names)
    names = primitives(jax.make_jaxpr(lambda x, s: region(s).read(x))(cell, 1).jaxpr)
    assert ("dynamic_slice" if dynamic else "slice") in names
    assert not any("gather" in one or "scatter" in one for one in names)


@pytest.mark.ci
def test_indexings_of_indexings_are_one_window() -> None:
    s = Affine.unknown(jnp.asarray(1), 0, 3)
    whole = Region.whole((6, 8))
    assert whole.index(s).index(slice(1, -1)) == whole.index((s, slice(1, -1)))
    assert whole.index(slice(1, 5)).index(s).index(2) == whole.index((s + 1, 2))
    assert whole.index(slice(s, s + 3)).index(1) == whole.index(s + 1)
    assert whole.index((slice(None, None, 2), None)).index((1, 0)) == whole.index(2)
    assert len(whole.index(slice(1, 5)).index(Affine.unknown(jnp.asarray(1))).steps) == 1
    memory = np.zeros((6, 8))
    assert whole.layout(memory, memory.T[2:4]) == whole.index((slice(None), slice(2, 4))).layout(
        memory[:, 2:4], memory[:, 2:4].T
    )
    assert whole.layout(memory, memory.reshape(3, 2, 8)).layout(memory.reshape(3, 2, 8), memory) == whole
    z = np.zeros((6, 8), complex)
    assert whole.layout(z, z.real).layout(z.real, z.real[1:3]) == whole.index(slice(1, 3)).layout(z[1:3], z[1:3].real)
    assert [type(step).__name__ for step in whole.layout(z, z.imag).steps] == ["Part"]


@pytest.mark.ci
def test_a_flat_window_shown_as_rows_is_still_one_window() -> None:
    flat = np.zeros(60)
    rows = Region.whole((60,)).index(slice(6, 54)).layout(flat[6:54], flat[6:54].reshape(6, 8))
    i = Affine.unknown(jnp.asarray(1), 0, 5)
    assert rows.index(i) == Region.whole((60,)).index(slice(8 * i + 6, 8 * i + 14))
    assert rows.index((i, slice(2, 4))) == Region.whole((60,)).index(slice(8 * i + 8, 8 * i + 10))


@pytest.mark.ci
def test_a_write_of_all_is_the_value_itself() -> None:
    cell, value = jnp.zeros((2, 3)), jnp.ones((2, 3))
    assert Region.whole((2, 3)).write(cell, value) is value
    assert Region.whole((2, 3)).read(cell) is cell
    names = primitives(
        jax.make_jaxpr(lambda x, v: Region.whole((2, 3)).index((slice(None, None, -1),)).write(x, v))(cell, value).jaxpr
    )
    assert names == {"rev"}


@pytest.mark.ci
def test_regions_inside_loops_keep_no_tracer_of_the_loop() -> None:
    def looped(x: Any, k: Any) -> Any:
        last, whole = Affine.unknown(k), Region.whole((8,))

        def body(i: Any, x: Any) -> Any:
            at = Affine.unknown(i, 0, 5)
            x = whole.index(slice(at, at + 3)).add(x, 1.0)
            return whole.index(last).write(x, x[0])

        return whole.index(last).add(jax.lax.fori_loop(0, 6, body, x), 10.0)

    with jax.checking_leaks():
        result = jax.jit(looped)(jnp.zeros(8), -1)
    assert result.tolist() == [1, 2, 3, 3, 3, 3, 2, 11]


# ---------------------------------------------------------------- modes


def model(key: Any, shape: tuple[int, ...], mode: str) -> tuple[np.ndarray, np.ndarray]:
    """For each element of a key of integers and `(start, size, step)`: its position, and whether it is inside."""
    axes = []
    for part, length in zip(key, shape, strict=True):
        if isinstance(part, tuple):
            start, size, step = part
            start += length if start < 0 else 0
            reach = (size - 1) * step
            if mode in ("clip", "error"):
                start = min(max(start, max(0, -reach)), length - 1 - max(0, reach))
            axes.append(start + step * np.arange(size))
        else:
            index = part + length if part < 0 else part
            axes.append(np.array(min(max(index, 0), length - 1) if mode in ("clip", "error") else index))
    mesh = np.ix_(*(np.atleast_1d(axis) for axis in axes))
    shown = tuple(axis.size for axis in axes if axis.ndim)
    inside = np.ones((), bool)
    position = np.zeros((), int)
    for places, length in zip(mesh, shape, strict=True):
        inside = inside & (places >= 0) & (places < length)
        position = position * length + np.clip(places, 0, length - 1)
    return position.reshape(shown), np.broadcast_to(inside, position.shape).reshape(shown)


def expected(root: np.ndarray, value: np.ndarray, position: np.ndarray, inside: np.ndarray, mode: str) -> Any:
    filling = 0 if mode == "drop" or root.dtype.kind in "ib" else np.nan
    read = np.where(inside, root.ravel()[position], filling).astype(root.dtype)
    write, total = root.copy(), root.copy()
    write.reshape(-1)[position[inside]] = value[inside]
    np.add.at(total.reshape(-1), position[inside], value[inside])
    return read, write, total


MODES = ["error", "clip", "fill", "drop"]
DTYPES = [np.float64, np.float32, np.int64, np.bool_, np.complex128]


# Each third pair has every mode, and every dtype.
@pytest.mark.ci
@pytest.mark.parametrize(("mode", "dtype"), list(itertools.product(MODES, DTYPES)))
def test_every_mode_out_of_range(mode: str, dtype: Any) -> None:
    shape = (5, 7)
    root = numbered(shape, dtype)
    templates = [(None, (None, 3, 1)), ((None, 2, 1), 3), ((None, 3, -1), (None, 2, 3)), ((None, 5, 1), (None, 2, -2))]

    def access(cell: Any, starts: Any, template: Any) -> Any:
        pending = iter(starts)
        key = []
        for part in template:
            if isinstance(part, tuple):
                s = Affine.unknown(next(pending))
                key.append(slice(s, s + part[1] * part[2], part[2]))
            else:
                key.append(part if part is not None else Affine.unknown(next(pending)))
        region = Region.whole(shape).index(tuple(key))
        value = (-numbered(region.shape, np.int64)).astype(dtype)
        return region.read(cell, mode), region.write(cell, value, mode), region.add(cell, value, mode)

    for template in templates:
        compiled = jax.jit(lambda cell, starts, template=template: access(cell, starts, template))
        for first in (-9, -5, -1, 0, 2, 4, 6, 11):
            for second in (-8, -1, 1, 5, 6, 9):
                starts = iter((first, second))
                key = tuple(
                    (next(starts), *part[1:]) if isinstance(part, tuple) else next(starts) if part is None else part
                    for part in template
                )
                position, inside = model(key, shape, mode)
                value = (-numbered(position.shape, np.int64)).astype(dtype)
                wanted = expected(root, value, position, inside, mode)
                got = compiled(root, [first, second][: sum(p != 3 for p in template)])
                for one, other in zip(got, wanted, strict=True):
                    assert one.dtype == other.dtype
                    np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
                    np.testing.assert_array_equal(np.nan_to_num(one), np.nan_to_num(other))


@pytest.mark.ci
def test_windows_of_windows_out_of_range_keep_to_their_window() -> None:
    root = jnp.arange(10.0)

    def inner(s: Any, t: Any, mode: str) -> Any:
        s, t = Affine.unknown(s), Affine.unknown(t)
        region = Region.whole((10,)).index(slice(s, s + 4)).index(slice(t, t + 2))
        return region.read(root, mode), region.write(root, -1.0, mode)

    assert inner(3, 3, "clip")[0].tolist() == [5, 6]
    np.testing.assert_array_equal(inner(3, 3, "fill")[0], [6, np.nan])
    assert inner(3, 3, "drop")[1].tolist() == [0, 1, 2, 3, 4, 5, -1, 7, 8, 9]
    np.testing.assert_array_equal(inner(8, 1, "fill")[0], [9, np.nan])
    static = Region.whole((10,)).index(slice(8, 1, -2)).index(slice(t := Affine.unknown(jnp.asarray(3)), t + 2))
    np.testing.assert_array_equal(static.read(root, "fill"), [2, np.nan])
    np.testing.assert_array_equal(static.read(root, "clip"), [4, 2])


@pytest.mark.ci
def test_checks_name_what_is_not_known_to_be_in_range() -> None:
    whole = Region.whole((6, 8))
    s, i, known = (
        Affine.unknown(jnp.asarray(1)),
        Affine.unknown(jnp.asarray(1), -6, 5),
        Affine.unknown(jnp.asarray(1), 0, 5),
    )
    assert whole.index((known, slice(known, known + 3))).checks() == []
    assert whole.index(i).checks() == []
    assert whole.index(s).checks() == [(s, -6, 5, None, False)]
    rows = (s, 0, 2, (-6, -5), True)
    assert whole.index((slice(s, s + 4), known + 3)).checks() == [rows, (known + 3, -8, 7, None, False)]
    assert whole.index(slice(s, s + 4)).index(i).checks() == [rows, (i, -4, 3, None, False)]
    assert whole.index(slice(s, s + 4)).index(slice(1, 3)).checks() == [rows]
    # What NumPy has of `x[s : s - 3 : -1]` with s = 2 is empty: -1 counts from the end.
    assert whole.index(slice(s, s - 3, -1)).checks() == [(s, 3, 5, (-4, -1), True)]
    assert whole.index(slice(s, s + 6)).checks() == [(s, 0, 0, None, True)]
    assert whole.index(slice(known, known + 2)).checks() == [(known, 0, 4, None, True)]
    late = Affine.unknown(jnp.asarray(-4), -6, -3)
    assert whole.index(slice(late, late + 2)).checks() == []
    assert whole.index(slice(late, late + 4)).checks() == [(late, 0, 2, (-6, -5), True)]


@pytest.mark.ci
@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_windows_are_in_range_where_numpy_has_all_of_them(step: int) -> None:
    x = np.arange(9)
    for size in (1, 2, 3):
        for width in {size * step, (size - 1) * step + (1 if step > 0 else -1)}:
            for start in range(-14, 14):
                s = Affine.unknown(jnp.asarray(start))
                region = Region.whole((9,)).index(slice(s, s + width, step))
                shown = x[start : start + width : step]
                inside = not any(bool(check.fails()) for check in region.checks())
                # NumPy moves bounds that lie outside, and then shows other elements, or fewer.
                places = (start + 9 * (start < 0) + step * np.arange(size)).tolist()
                assert inside == (shown.tolist() == places), (size, width, start)
                if inside:
                    assert region.read(jnp.asarray(x)).tolist() == places


# ---------------------------------------------------------------- relations


@pytest.mark.ci
@hypothesis.settings(max_examples=150)
@hypothesis.given(chains(), st.data())
def test_relations_are_never_wrong(chain: Chain, data: Any) -> None:
    other = Chain(chain.root)
    other.starts, other.bounds = chain.starts, chain.bounds
    kept = data.draw(st.integers(0, len(chain.steps)))
    for step in chain.steps[:kept]:
        plain = _plain(step, chain.starts) if isinstance(step, tuple) else None
        other.view = other.view[plain] if plain is not None else step[1]
        other.steps.append(step)
    for _ in range(data.draw(st.integers(0, 2))):
        data.draw(st.sampled_from([by_key, by_key, by_turn, by_reshape, by_parts, by_repetition]))(other, data.draw)
    starts = [jnp.asarray(start) for start in other.starts]
    regions = regions_of(chain, other, starts)
    bytes_of = [
        set((positions_of(one)[..., None] + np.arange(one.view.itemsize)).ravel().tolist()) for one in (chain, other)
    ]
    for mode in ("error", "clip", "fill", "drop"):
        if disjoint(*regions, mode):
            assert not bytes_of[0] & bytes_of[1]
        if contains(*regions, mode):
            assert bytes_of[1] <= bytes_of[0]
    assert contains(regions[0], regions[0])
    if same(*regions):
        assert np.array_equal(positions_of(chain), positions_of(other))
        assert chain.view.dtype == other.view.dtype


@pytest.mark.ci
def test_relations_that_are_known() -> None:
    whole = Region.whole((10, 4))
    s, t = Affine.unknown(jnp.asarray(1)), Affine.unknown(jnp.asarray(1), 6, 9)
    a, b, c = (whole.index(slice(s + k, s + k + 3)) for k in (0, 3, 2))
    assert disjoint(a, b)
    assert disjoint(b, a)
    assert not disjoint(a, c)
    assert not disjoint(a, b, "clip")
    # Out of range, one may count from the end and the other not.
    assert not disjoint(a, b, "fill")
    assert not disjoint(a, whole.index(slice(s + 4, s + 7)))
    u = Affine.unknown(jnp.asarray(1), 0, None)
    assert disjoint(*(whole.index(slice(u + k, u + k + 3)) for k in (0, 3)), "fill")
    assert contains(whole, a)
    assert not contains(a, whole)
    assert contains(a, a.index(1))
    assert contains(a, a.index((1, slice(1, 3))), "clip")
    assert contains(whole.index(slice(s, s + 5)), a)
    assert same(a, whole.index(slice(s, s + 3)))
    assert hash(a) == hash(whole.index(slice(s, s + 3)))
    assert not same(a, b)
    assert not contains(a, b)
    assert disjoint(whole.index((slice(None), 1)), whole.index((s, 2)))
    assert disjoint(whole.index(slice(0, 10, 2)), whole.index(slice(1, 10, 2)))
    assert disjoint(whole.index(slice(0, 6)), whole.index(t))
    assert not disjoint(whole.index(slice(0, 7)), whole.index(t))
    assert same(whole.index(s), whole.index(s))
    z = np.zeros((10, 4), complex)
    assert disjoint(whole.layout(z, z.real), whole.layout(z, z.imag))
    assert not disjoint(whole.layout(z, z.real), whole.layout(z, z.real[1:]))
    assert contains(whole.layout(z, z.real), whole.layout(z, z.real[1:]))


def _plain(step: tuple[Any, ...], starts: list[int]) -> tuple[Any, ...]:
    def filled(part: Any) -> Any:
        return starts[part.number] + part.offset if isinstance(part, Run) else part

    return tuple(
        slice(
            filled(part.start),
            None if isinstance(part.stop, Run) and filled(part.stop) < 0 else filled(part.stop),
            part.step,
        )
        if isinstance(part, slice)
        else filled(part)
        for part in (step if Ellipsis in step else (*step, Ellipsis))
    )


def regions_of(a: Chain, b: Chain, starts: list[Any]) -> tuple[Region, Region]:
    """The regions of two chains whose run-time integers are the same atoms."""
    integers = [Affine.unknown(start, *bounds) for start, bounds in zip(starts, b.bounds, strict=True)]
    return a.region_of(integers[: len(a.starts)]), b.region_of(integers)
