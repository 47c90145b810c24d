"""Index keys: their kind, what they freeze to, and which of several writes to one element survives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bridge.rewind.indices import ADVANCED, ELEMENT, VIEW, frozen, kind_of, surviving

MASK = np.array([True, False, True])


@pytest.mark.parametrize(
    ("key", "ndim", "kind"),
    [
        (2, 1, ELEMENT),
        (2, 2, VIEW),
        (np.int64(-1), 1, ELEMENT),
        ((1, 2), 2, ELEMENT),
        ((1, np.int32(2)), 2, ELEMENT),
        ((1, 2), 3, VIEW),
        ((1, 2, None), 2, VIEW),
        ((1, ...), 1, VIEW),
        ((), 0, ELEMENT),
        (slice(1, 3), 1, VIEW),
        (..., 1, VIEW),
        (None, 1, VIEW),
        ([0, 1], 1, ADVANCED),
        (MASK, 1, ADVANCED),
        (True, 1, ADVANCED),
        ((slice(None), [0]), 2, ADVANCED),
        (np.array(1), 1, ADVANCED),
    ],
)
def test_kinds_agree_with_numpy(key: Any, ndim: int, kind: str) -> None:
    assert kind_of(key, ndim) == kind
    array = np.arange(3.0**ndim).reshape((3,) * ndim)
    picked = array[key]
    if kind is ELEMENT:
        assert isinstance(picked, np.generic)
    else:
        assert np.shares_memory(picked, array) == (kind is VIEW)


def test_frozen_keys_do_not_follow_their_origin() -> None:
    index, mask, listed = np.array([0, 1]), MASK.copy(), [2, 0]
    keys = [frozen(index), frozen((slice(None), mask)), frozen(listed), frozen(slice(1, 2)), frozen((1, None, ...))]
    index[:] = 2
    mask[:] = False
    listed.append(1)
    assert keys[0].tolist() == [0, 1]
    assert keys[1][1].tolist() == MASK.tolist()
    assert keys[2].tolist() == [2, 0]
    assert keys[3:] == [slice(1, 2), (1, None, ...)]


@pytest.mark.parametrize(
    "key",
    [
        np.array([1, 1, 0, 1]),
        np.array([[2, -1], [0, 2]]),
        (np.array([0, 0, 1]), np.array([1, 1, 1])),
        (slice(None), np.array([1, 1, 2])),
        (np.array([0, 0]), slice(1, 3)),
        (np.array([0, 0]), slice(None), np.array([1, 1])),
        (0, slice(None), np.array([1, 1])),
        (np.array([1, 1]), None, slice(None), 2),
        (..., np.array([0, -3])),
        (np.array([[True, False, True], [False] * 3, [True] * 3]), np.array([1, 1, 1, 0, 1])),
        np.array([0, 1, 2]),
        MASK,
    ],
    ids=str,
)
def test_surviving_writes(key: Any) -> None:
    shape = (3, 3, 4)
    array = np.full(shape, -1)
    tickets = np.arange(array[key].size).reshape(array[key].shape)
    array[key] = tickets
    expected = array[key] == tickets
    found = surviving(key, shape)
    assert (found is None and expected.all()) or np.array_equal(np.broadcast_to(found, expected.shape), expected)
