"""Timelines: the log's memory in bytes, and how a page packs it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge.proof.report.model import Memory, Operation, Region, Timeline
from bridge.proof.report.payload import MOST_LANES, payload
from bridge.proof.report.timeline import bounding
from tests.proof.report_samples import large_report, recorded, small


def chain(length: int, live: Callable[[int], int]) -> Timeline:
    """Operation k makes memory k, which operation `live(k)` reads."""
    readers: dict[int, list[int]] = {}
    for k in range(length):
        readers.setdefault(live(k), []).append(k)
    region = [Region(k, 0, 8, (), "float64") for k in range(length)]
    operations = tuple(
        Operation(k, "op", None, None, tuple(region[m] for m in readers.get(k, ())), (region[k],), False)
        for k in range(length)
    )
    return Timeline(operations, tuple(Memory(k, "op", (), "float64", 8) for k in range(length)))


def test_memory_that_is_not_needed_any_more_makes_room() -> None:
    packed = payload(chain(1000, lambda k: k + 1))["memory"]
    assert sorted(set(packed["lane"])) == [0, 1]
    life = sorted(zip(packed["lane"], packed["first"], packed["last"], strict=True))
    assert all(a[0] != b[0] or a[2] < b[1] for a, b in pairwise(life)), "two in one lane at a time"


def test_memory_that_all_lives_to_the_end_shares_the_last_lane() -> None:
    packed = payload(chain(500, lambda k: 499))["memory"]
    assert max(packed["lane"]) == MOST_LANES - 1
    assert packed["groups"][2]["hidden"] == 500 - MOST_LANES


@pytest.mark.ci
def test_page_of_a_very_long_program_holds_its_ends_and_what_is_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.proof.report.payload.MOST_OPERATIONS", 1000)
    large = large_report()
    held = payload(large.timeline, large.differences)  # type: ignore[arg-type]
    assert held["total"] == len(large.timeline.operations) == 10005  # type: ignore[union-attr]
    assert {0, 499, 4000 - 50, 4000, 7001 + 50, 10004} <= set(held["number"])
    assert len(held["number"]) < 1300
    assert [held["number"][one["at"]] for one in held["differences"]] == [4000, 7001]


def test_timeline_names_memory_and_counts_bytes() -> None:
    x = np.arange(6.0)
    timeline = recorded(small, x, x + 1)
    assert [memory.name for memory in timeline.memory[:2]] == ["x", "w"]
    first, write = timeline.operations[0], timeline.operations[2]
    assert (first.name, first.reads) == ("np.sin", (Region(0, 16, 48, (4,), "float64"),))
    assert write.name == "setitem"
    assert write.overwrites
    assert timeline.memory[write.writes[0].memory].name == "y"
    assert (write.writes[0].start, write.writes[0].stop) == (8, 40)


KEYS = [
    np.s_[2], np.s_[-1], np.s_[1:3], np.s_[::-2], np.s_[..., 1], np.s_[None, 2], np.s_[[0, 2]], np.s_[[-1, 1], [0, 2]],
    np.s_[1, [0, 3]], np.s_[np.array([True, False, True, False])], np.s_[np.eye(4, dtype=bool)],
    np.s_[:, np.array([], int)], np.s_[[3], None, ..., 2:], np.s_[()],
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_span_of_what_a_key_picks(key: Any) -> None:
    positions = np.arange(16).reshape(4, 4)
    picked, covered = positions[key], positions[bounding(key, (4, 4))]
    assert set(np.ravel(picked)) <= set(covered.ravel())
    if np.size(picked):
        assert (np.min(picked), np.max(picked)) == (covered.min(), covered.max()) or isinstance(key, tuple)
    else:
        assert covered.size == 0


def spans(f: Callable[[Any], Any], x: np.ndarray) -> list[tuple[str, list[tuple[int, int]], list[tuple[int, int]]]]:
    """Names, and the spans of bytes read and written, of the operations of `f`."""
    timeline = recorded(f, x)
    return [
        (one.name, [(r.start, r.stop) for r in one.reads], [(r.start, r.stop) for r in one.writes])
        for one in timeline.operations
    ]


def test_spans_of_views_of_views() -> None:
    def program(x: Any) -> Any:
        y = np.tanh(x)
        y[1:].T[::-1, 0] *= 2.0
        return np.sum(y[::2].reshape(-1)) + y[0, 1]

    found = spans(program, np.ones((3, 2)))
    assert found[0] == ("np.tanh", [(0, 48)], [(0, 48)])
    assert ("np.multiply", [(16, 32)], [(16, 32)]) in found
    assert ("getitem", [(8, 16)], [(0, 8)]) in found


def test_spans_in_fortran_order_and_of_strided_arguments() -> None:
    def program(x: Any) -> Any:
        return np.sum(np.exp(x[:, 1]))

    assert spans(program, np.asfortranarray(np.ones((3, 2))))[0][1] == [(24, 48)]
    assert spans(program, np.ones((3, 4))[:, ::2])[0][1] == [(16, 88)]


def test_checkpoint_is_one_operation_of_the_log() -> None:
    def program(x: Any) -> Any:
        y = x.copy()

        def body(k: int, y: Any) -> Any:
            y[k] *= x[k]
            return y

        return np.sum(bridge.fori_loop(0, 4, body, y))

    found = spans(program, np.ones(4))
    assert [name for name, _, _ in found] == ["copy", "checkpoint(body)", "checkpoint(body)", "np.sum"]
    assert found[1][2] == [(0, 8), (8, 16)]


@pytest.mark.ci
def test_random_programs_stay_inside_of_their_memory(request: pytest.FixtureRequest) -> None:
    from tests.random_programs.test_eager import run_all

    def check(program: Any) -> None:
        timelines = [recorded(program.function(bridge.numpy), *program.inputs)]
        timelines.append(bridge.trace(program.function(bridge.numpy))(*program.inputs).timeline)
        for timeline in timelines:
            assert timeline.operations
            for operation in timeline.operations:
                for region in (*operation.reads, *operation.writes):
                    assert 0 <= region.start <= region.stop <= timeline.memory[region.memory].size
                    elements = int(np.prod(region.shape)) * np.dtype(region.dtype).itemsize
                    assert bool(elements) == (region.stop > region.start) or operation.name == "np.broadcast_to"

    run_all(check, request.config.getoption("--programs") // 2)
