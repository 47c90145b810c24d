"""Where snapshots lie: no placement runs less again, and each plan comes to every segment with what it needs."""

from __future__ import annotations

from functools import cache

import pytest

from bridge.rewind.checkpoint_schedule import Placement, Size, placed, placement


@cache
def fewest(segments: int, slots: int) -> int:
    """Of all ways back, the fewest segments that are run without a log, by trying them all."""
    if segments == 1:
        return 0
    if slots == 1:
        return segments * (segments - 1) // 2
    return min(k + fewest(segments - k, slots - 1) + fewest(k, slots) for k in range(1, segments))


def runs(plan: Placement) -> int:
    """Play a plan: snapshots are where they are said to be; returns the segments that it runs without a log."""
    held = {0: 0}
    count = 0
    for store in plan.first:
        assert held[store.source] == store.begin
        held[store.target] = store.end
        count += store.end - store.begin
    for k in reversed(range(plan.segments)):
        for store in plan.stores[k]:
            assert held[store.source] == store.begin
            assert store.target != 0
            held[store.target] = store.end
            count += store.end - store.begin
        slot, begin = plan.starts[k]
        assert held[slot] == begin <= k
        count += k - begin
    assert set(held) <= set(range(plan.slots))
    return count


@pytest.mark.ci
@pytest.mark.parametrize("slots", [1, 2, 3, 5, 9])
def test_no_placement_runs_less_again(slots: int) -> None:
    for segments in (*range(1, 40), 57):
        plan = placed(segments, slots, 1)
        assert runs(plan) == fewest(segments, slots)
        assert plan.has_all == (slots >= segments)


@pytest.mark.ci
def test_the_smallest_of_those_that_run_least_again_is_taken() -> None:
    size = Size(iterations=1000, log=800, snapshot=8000)
    assert size.whole == 800_000
    for allowed, most in ((799_999, 1.0), (200_000, 1.0), (120_000, 2.0), (60_000, 4.0), (20_000, 40.0), (8800, 501.0)):
        plan = placement(size, allowed)
        assert plan is not None
        assert plan.bytes(size) <= allowed
        assert plan.runs <= most
        assert (plan.segments - 1) * plan.length < 1000 <= plan.segments * plan.length
        runs(plan)
    smallest = placement(size, 799_999)
    assert smallest is not None
    assert smallest.bytes(size) <= 160_000
    assert placement(size, 8799) is None


@pytest.mark.ci
def test_long_loops() -> None:
    plan = placed(100_000, 10, 1)
    assert runs(plan) < 1_000_000
    assert plan.runs < 9
