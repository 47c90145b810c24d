"""What the page's script draws: a timeline as columns of numbers, with its memory packed into lanes."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import Any

from bridge.proof.report.model import Difference, Memory, Operation, Timeline
from bridge.proof.report.text import MARKS, memory_label, overlaps, place

MOST_OPERATIONS = 100_000
"""How many operations a page holds; of more, the first, the last, and those around the operations to blame."""

AROUND = 50
MOST_LANES = 48
"""How many lanes a group of memory gets; what does not fit shares the last one."""

ARGUMENT, WRITTEN, TEMPORARY = 0, 1, 2


class Interned:
    """Different texts, each once, and the number of each."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str | None) -> int:
        return self.numbers.setdefault(text or "", len(self.numbers))


def payload(timeline: Timeline, differences: Sequence[Difference] = ()) -> dict[str, Any]:
    """The timeline in columns: one number for each operation, four for each region (memory, start, stop, shape)."""
    operations = kept(timeline, [one.operation for one in differences if one.operation is not None])
    used = sorted({region.memory for one in operations for region in (*one.reads, *one.writes)})
    renumbered = {number: k for k, number in enumerate(used)}
    texts, places, shapes = Interned(), Interned(), Interned()
    regions: list[int] = []
    for one in operations:
        for region in (*one.reads, *one.writes):
            regions += [renumbered[region.memory], region.start, region.stop, shapes(f"{region.shape} {region.dtype}")]
    position = {one.number: k for k, one in enumerate(operations)}
    return {
        "total": len(timeline.operations),
        "number": [one.number for one in operations],
        "name": [texts(one.name) for one in operations],
        "source": [texts(one.source) for one in operations],
        "where": [places(place(one.where)) for one in operations],
        "reads": [len(one.reads) for one in operations],
        "writes": [len(one.writes) for one in operations],
        "undo": [int(one.overwrites) + int(overlaps(one)) for one in operations],
        "cotangent": [_figure(one.cotangent) for one in operations],
        "regions": regions,
        "texts": list(texts.numbers),
        "places": list(places.numbers),
        "shapes": list(shapes.numbers),
        "memory": _memory(operations, [timeline.memory[number] for number in used], renumbered),
        "differences": [
            {
                "at": position[one.operation],
                "kind": one.kind,
                "mark": MARKS[one.kind],
                "number": number,
                "what": f"{one.kind}: {one.what}, {', '.join(one.suspects)} / {one.engines[1]}",
            }
            for number, one in enumerate(differences, 1)
            if one.operation in position
        ],
    }


def kept(timeline: Timeline, blamed: Iterable[int]) -> list[Operation]:
    """The operations that go into a page."""
    operations = timeline.operations
    count = len(operations)
    if count <= MOST_OPERATIONS:
        return list(operations)
    chosen = set(range(MOST_OPERATIONS // 2)) | set(range(count - MOST_OPERATIONS // 2, count))
    for number in blamed:
        chosen |= set(range(max(0, number - AROUND), min(count, number + AROUND + 1)))
    return [operations[number] for number in sorted(chosen)]


def _figure(value: float | None) -> float | str | None:
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity"


def _memory(operations: list[Operation], memory: list[Memory], renumbered: dict[int, int]) -> dict[str, Any]:
    """Name, size, group, lane and life (first and last operation) of each piece of memory."""
    first, last = [len(operations)] * len(memory), [-1] * len(memory)
    overwritten, made = [False] * len(memory), [False] * len(memory)
    for k, one in enumerate(operations):
        for region in (*one.reads, *one.writes):
            number = renumbered[region.memory]
            first[number] = min(first[number], k)
            last[number] = k
        for region in one.writes:
            number = renumbered[region.memory]
            overwritten[number] |= one.overwrites
            made[number] |= first[number] == k and not one.overwrites
    group = [
        ARGUMENT if not born else WRITTEN if written else TEMPORARY
        for born, written in zip(made, overwritten, strict=True)
    ]
    lanes, heights = _lanes(group, first, last)
    return {
        "name": [memory_label(one) for one in memory],
        "shape": [f"{one.shape} {one.dtype}" for one in memory],
        "size": [one.size for one in memory],
        "first": first,
        "last": last,
        "lane": lanes,
        "groups": heights,
    }


def _lanes(group: list[int], first: list[int], last: list[int]) -> tuple[list[int], list[dict[str, int]]]:
    """A lane for each piece of memory: two share one if one has had its last use before the other is made."""
    lanes = [0] * len(group)
    groups: list[dict[str, int]] = []
    for kind in (ARGUMENT, WRITTEN, TEMPORARY):
        below = sum(one["lanes"] for one in groups)
        count = 0
        free: list[int] = []
        busy: list[tuple[int, int]] = []
        members = sorted((k for k, own in enumerate(group) if own == kind), key=lambda k: (first[k], k))
        for k in members:
            while busy and kind != ARGUMENT and busy[0][0] < first[k]:
                heapq.heappush(free, heapq.heappop(busy)[1])
            if free:
                lane = heapq.heappop(free)
            else:
                lane = count
                count += 1
            heapq.heappush(busy, (last[k], lane))
            lanes[k] = below + min(lane, MOST_LANES - 1)
        groups.append({"kind": kind, "lanes": min(count, MOST_LANES), "hidden": max(0, count - MOST_LANES)})
    return lanes, groups
