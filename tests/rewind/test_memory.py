"""Memory: addresses, overlap, exchanges, and views that may not leave their root."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import bridge
from bridge import errors
from bridge.rewind.memory import ArrayMemory, Strides, address, copied_alike, grounded, overlaps_itself, owner

BASE = np.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize(
    ("view", "overlaps"),
    [
        (BASE, False),
        (BASE.T[::-1, ::2], False),
        (BASE[:, ::-1], False),
        (np.broadcast_to(BASE, (2, 4, 6)), True),
        (sliding_window_view(BASE, 3, 1), True),
        (as_strided(BASE, (3, 4), (24, 8)), True),
        (as_strided(BASE, (3, 2), (16, 8)), False),
        (BASE[:0], False),
        (BASE[0, 0, ...], False),
        (BASE[:, :1], False),
    ],
)
def test_overlap(view: np.ndarray, overlaps: bool) -> None:
    assert overlaps_itself(view) == overlaps


def test_a_view_by_address_is_the_same_view_of_another_array() -> None:
    memory = ArrayMemory()
    for view in (BASE[1:, ::2], BASE.T[2:], BASE[::-1, ::-1], BASE[2, 3, ...], BASE.reshape(-1)[5:9]):
        other = BASE + 100
        found = memory.view(other, address(view) - address(BASE), Strides(view.shape, view.strides, view.dtype))
        np.testing.assert_array_equal(found, view + 100)
        assert owner(found) is other


def test_a_view_may_not_leave_its_memory() -> None:
    for offset, shape in ((-8, (2,)), (8 * 23, (2,)), (0, (25,))):
        with pytest.raises(errors.AliasError, match="outside the memory"):
            ArrayMemory().view(BASE, offset, Strides(shape, (8,), BASE.dtype))


@pytest.mark.parametrize("shape", [(5,), (100_000,), (300, 400), (2, 90_000), (1, 1, 70_000)])
def test_exchanges(shape: tuple[int, ...]) -> None:
    a, b = np.random.rand(*shape), np.random.rand(*shape)
    before_a, before_b = a.copy(), b.copy()
    back = ArrayMemory().swap(a, Ellipsis, b)
    np.testing.assert_array_equal(a, before_b)
    np.testing.assert_array_equal(back, before_a)


def test_exchanges_of_strided_memory() -> None:
    whole = np.random.rand(2, 80_000)
    a, b = whole.T[::2], np.random.rand(40_000, 2)
    before_a, before_b = a.copy(), b.copy()
    back = ArrayMemory().swap(a, Ellipsis, b)
    np.testing.assert_array_equal(a, before_b)
    np.testing.assert_array_equal(back, before_a)


def test_shadows_lie_as_their_memory_does() -> None:
    turned = BASE.reshape(2, 3, 4).swapaxes(0, 2)
    for array in (BASE, BASE.T, np.asfortranarray(BASE), BASE[::2, ::3], BASE[::-1], turned):
        g = bridge.grad(lambda x: np.sum(np.ravel(x)[3:] ** 2) + np.sum(x.T.reshape(-1)[1:]))(array)
        plain = array.copy()
        expected = 2 * plain * (np.arange(array.size).reshape(array.shape) >= 3)
        expected += np.arange(array.size).reshape(array.T.shape).T >= 1
        np.testing.assert_allclose(g, expected)


def test_arguments_keep_their_strides() -> None:
    """Whether a reshape aliases depends on them, so a write through it means something else otherwise."""

    def f(x: np.ndarray) -> float:
        flat = np.reshape(x, -1)
        flat *= 2.0
        return np.sum(x)

    for array in (BASE, BASE.T, BASE[:, ::2], BASE[::-1], BASE[0, ::-1], BASE[:, 1]):
        plain = as_strided(array, array.shape, array.strides).copy() if array.flags.c_contiguous else array
        kept = BASE.copy()
        value = bridge.value_and_grad(f)(array)[0]
        assert BASE.tobytes() == kept.tobytes()
        assert value == f(np.lib.stride_tricks.as_strided(plain, plain.shape, plain.strides))
        BASE[...] = kept


def test_grounded_goes_through_every_level() -> None:
    with bridge.Context() as outer, bridge.Context() as inner:
        assert outer.level == 0
        x = inner.buffer(BASE)
        assert isinstance(x.value, bridge.Buffer)
        assert type(grounded(x)) is np.ndarray


@pytest.mark.parametrize("shape", [(5, 4), (300, 400)])
@pytest.mark.parametrize("key", [..., slice(1, None), (slice(None), slice(None, None, -2)), 2, (3, slice(1, 3))])
def test_exchanges_of_a_part(shape: tuple[int, ...], key: object) -> None:
    """Of small and of large arrays: nothing else moves, and twice is nothing."""
    a = np.random.rand(*shape)
    before, saved = a.copy(), np.random.rand(*a[key].shape)
    expected = a.copy()
    expected[key] = saved
    back = ArrayMemory().swap(a, key, saved.copy())
    np.testing.assert_array_equal(a, expected)
    np.testing.assert_array_equal(back, before[key])
    ArrayMemory().swap(a, key, back)
    np.testing.assert_array_equal(a, before)


def test_copies_of_broadcast_and_turned_arrays() -> None:
    turned = BASE[::-1], BASE[:, ::-1], BASE.T[::-1, ::2], BASE[1:, ::-2].T, BASE[:1, :1][::-1]
    for array in (*turned, np.broadcast_to(BASE[0], (3, 6))):
        found = copied_alike(array)
        np.testing.assert_array_equal(found, array)
        assert [np.sign(step) for step in found.strides] == [np.sign(step) or 1 for step in array.strides]
        assert not np.shares_memory(found, array)


def test_cotangents_of_views_that_overlap_themselves() -> None:
    """Each element gets what arrives at all of its places, along axes of any length and stride."""
    for view in (
        lambda x: np.broadcast_to(x, (2, 3, 6)),
        lambda x: np.broadcast_to(x[:, None], (6, 2)),
        lambda x: sliding_window_view(x, 3),
        lambda x: sliding_window_view(x[::-1], 2)[::2],
        lambda x: np.broadcast_to(sliding_window_view(x, 4), (2, 3, 4)),
        lambda x: as_strided(x, (3, 2, 2), (8, 8, 16)),
        lambda x: as_strided(x, (1, 5), (0, 8)),
    ):
        weights = np.arange(1.0, 1 + view(np.zeros(6)).size).reshape(view(np.zeros(6)).shape)
        expected = np.zeros(6)
        np.add.at(expected, view(np.arange(6)) if view(np.arange(6)).strides else 0, weights)

        def program(x: np.ndarray, view: object = view, weights: np.ndarray = weights) -> float:
            return np.sum(view(x) * weights)  # type: ignore[operator]

        np.testing.assert_allclose(bridge.grad(program)(np.linspace(0.0, 1.0, 6)), expected)


@pytest.mark.parametrize("later", [1, 2, 3])
def test_a_shadow_that_sums_made_lies_as_its_memory_when_a_view_asks(later: int) -> None:
    """What arrives at the whole array lies as it likes; views that NumPy tells by address go by the memory."""
    for array in (BASE, BASE.T, np.asfortranarray(BASE), BASE[::2, ::3], BASE[0], BASE.reshape(2, 3, 4).swapaxes(0, 2)):
        weights = np.linspace(-1.0, 2.0, array.size).reshape(array.shape)

        def f(x: np.ndarray, weights: np.ndarray = weights) -> float:
            y = x * 0.1
            flat = y.T.reshape(-1)[1:] if y.flags.f_contiguous else y.reshape(-1)[1:]
            total = np.sum(flat**2 * np.arange(flat.size))
            flat[:2] *= 3.0
            for k in range(later):
                total = total + np.sum(np.sin(y + k) * weights)
            return total

        def beside(step: np.ndarray, array: np.ndarray = array, f: object = f) -> float:
            moved = array.copy("K")
            moved += step
            return f(moved)  # type: ignore[operator]

        steps = np.eye(array.size).reshape(array.size, *array.shape) * 1e-6
        differences = np.reshape([(beside(step) - beside(-step)) / 2e-6 for step in steps], array.shape)
        np.testing.assert_allclose(bridge.grad(f)(array), differences, rtol=1e-5, atol=1e-6)
