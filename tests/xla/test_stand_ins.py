"""Arrays that stand for abstract ones: on addresses of their own, of few mappings, and in no memory."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

from bridge.xla.tracing import stand_ins
from bridge.xla.tracing.integers import bounds_of
from bridge.xla.tracing.stand_ins import untouched


def test_large_arrays_lie_apart_and_hold_zeros() -> None:
    shapes = [(200, 100), (1 << 14, 1), (333, 77), (1, 1 << 22)] * 40
    arrays = [untouched(shape, np.dtype(float)) for shape in shapes]
    ends = sorted((one.__array_interface__["data"][0], one.nbytes) for one in arrays)
    assert all(start + size <= other for (start, size), (other, _) in pairwise(ends))
    assert [one.shape for one in arrays] == shapes
    assert not any(one[0].any() or one[-1].any() for one in arrays)


def test_many_arrays_take_few_mappings(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    plain = stand_ins._mapped
    monkeypatch.setattr(stand_ins, "_mapped", lambda size: made.append(size) or plain(size))
    monkeypatch.setattr(stand_ins, "_pool", stand_ins._Pool())
    kept = [untouched((1 << 15,), np.dtype(float)) for _ in range(1000)]
    assert len(kept) == 1000
    assert len(made) <= 5


def test_addresses_that_nobody_has_are_a_memory_error() -> None:
    with pytest.raises(MemoryError, match=re.escape("no addresses for an array of")):
        untouched((1 << 58,), np.dtype(float))


def test_the_largest_integer_bounds_no_loop() -> None:
    assert bounds_of(0, (1 << 63) - 1) == (0, None)
    assert bounds_of(0, 1 << 40) == (0, 1 << 40)
