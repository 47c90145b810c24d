"""What repeats itself on a tape: segments that are the same program, one loop index further each time."""

from __future__ import annotations

from typing import Any

from bridge.buffer import Buffer, Scalar
from bridge.xla.notation import Notes
from bridge.xla.tape import Entry, Look

FEWEST = 8
_WORTH = 32
_LENGTHS_TRIED = 24

Item = Any
Born = dict[int, tuple[int, int]]


class Repeat:
    """`count` repetitions of a segment: an item of a tape, as an Entry is.

    `body` holds the segment's items, each with what its memory is (a number born in the segment, ("outer", k),
    ("carried", k)) and with how much its integers grow from one repetition to the next. `roots` are the memory from
    outside, and at the end the first values of what is `carried`; `returned` are the numbers in the first repetition,
    and `born` those in the last, of what is carried and of what is used after the loop; `looks` is what they are.
    """

    __slots__ = (
        "body", "born", "carried", "count", "integers", "looks", "position", "returned", "roots", "sign", "writes",
    )  # fmt: skip

    def __init__(self, segment: list[Item], count: int, found: Found, numbers: list[Look], notes: Notes) -> None:
        self.count = count
        self.position = segment[0].position
        self.body = []
        uses, steps = iter(found.uses), iter(found.steps)
        for item in segment:
            self.body.append((item, [next(uses) for _ in item.roots], [next(steps) for _ in item.integers]))
        self.integers = found.starts
        self.roots = (*found.outer, *found.first)
        self.carried = found.carried
        self.returned, self.born = found.returned, found.born
        self.looks = [numbers[number] for number in self.returned]
        self.writes = found.writes
        relative = tuple((use if type(use) is tuple else ("inner", found.inner[use])) for use in found.uses)
        back = tuple(found.inner[number] for number in self.returned)
        self.sign = notes.number(
            (Repeat, count, tuple(item.sign for item in segment), relative, tuple(found.steps), back, len(found.carried))
        )


class Found:
    """How the repetitions of a segment differ."""

    def __init__(self) -> None:
        self.uses: list[Any] = []
        self.starts: list[int] = []
        self.steps: list[int] = []
        self.outer: list[int] = []
        self.first: list[int] = []
        self.carried: list[int] = []
        self.returned: list[int] = []
        self.born: list[int] = []
        self.inner: dict[int, int] = {}
        self.writes: frozenset[int] = frozenset()


def with_repeats(entries: list[Entry], used: set[int], looks: list[Look], notes: Notes) -> list[Item]:
    """The items of a tape with repeats in place of what they repeat; `used` are the numbers of its results."""
    items: list[Item] = list(entries)
    while True:
        shorter = _pass(items, used, looks, notes)
        if len(shorter) == len(items):
            return items
        items = shorter


def _pass(items: list[Item], used: set[int], looks: list[Look], notes: Notes) -> list[Item]:
    signs = [item.sign for item in items]
    following = _following(signs)
    last_use: dict[int, int] = {}
    for k, item in enumerate(items):
        last_use.update(dict.fromkeys(item.roots, k))
    last_use.update(dict.fromkeys(used, len(items)))
    shorter = []
    k = 0
    while k < len(items):
        repeat = None
        again = following[k]
        for _ in range(_LENGTHS_TRIED):
            length = again - k
            if again < 0 or length * FEWEST > len(items) - k:
                break
            repeat = _repeat(items, signs, k, length, last_use, looks, notes)
            if repeat is not None:
                break
            again = following[again]
        if repeat is None:
            shorter.append(items[k])
            k += 1
        else:
            shorter.append(repeat)
            k += repeat.count * length
    return shorter


def _following(signs: list[int]) -> list[int]:
    """For each item the next one of the same sign, -1 if there is none."""
    following = [-1] * len(signs)
    seen: dict[int, int] = {}
    for k in range(len(signs) - 1, -1, -1):
        following[k] = seen.get(signs[k], -1)
        seen[signs[k]] = k
    return following


def _repeat(
    items: list[Item], signs: list[int], start: int, length: int, last_use: dict[int, int], looks: list[Look],
    notes: Notes,
) -> Repeat | None:  # fmt: skip
    first = signs[start : start + length]
    count = 1
    while signs[start + count * length : start + (count + 1) * length] == first:
        count += 1
    if count < FEWEST or count * length < _WORTH:
        return None
    rows = [_Row(items[start + k * length : start + (k + 1) * length]) for k in range(count)]
    found = Found()
    count = _same(rows, found)
    if count < FEWEST or count * length < _WORTH:
        return None
    end = start + count * length
    if any(last_use.get(number, -1) >= end for row in rows[: count - 1] for number in row.born):
        return None
    carried = set(found.carried)
    exported = [k for k, number in enumerate(rows[count - 1].born) if last_use.get(number, -1) >= end]
    returned = [*found.carried, *(k for k in exported if k not in carried)]
    found.returned = [rows[0].born[k] for k in returned]
    found.born = [rows[count - 1].born[k] for k in returned]
    if not _can_be_carried(rows[0], found, looks):
        return None
    return Repeat(items[start : start + length], count, found, looks, notes)


class _Row:
    """One repetition, laid out flat."""

    def __init__(self, segment: list[Item]) -> None:
        self.roots = [root for item in segment for root in item.roots]
        self.integers = [integer for item in segment for integer in item.integers]
        self.born = [number for item in segment for number in item.born]
        self.written: list[int] = []
        at = 0
        for item in segment:
            self.written += [at + k for k in item.writes]
            at += len(item.roots)


def _same(rows: list[_Row], found: Found) -> int:
    """How many of the rows are one program, and in `found` how they differ; 0 if not even two are."""
    born: Born = {number: (j, k) for j, row in enumerate(rows) for k, number in enumerate(row.born)}
    kinds: list[tuple[str, int]] = []
    for root, following in zip(rows[0].roots, rows[1].roots, strict=True):
        if root in born:
            kinds.append(("inner", born[root][1]))
            found.uses.append(root)
        elif following not in born:
            if following != root:
                return 0
            kinds.append(("outer", root))
            found.uses.append(("outer", len(found.outer)))
            found.outer.append(root)
        else:
            place = born[following][1]
            if place not in found.carried:
                found.carried.append(place)
                found.first.append(root)
            number = found.carried.index(place)
            if found.first[number] != root:
                return 0
            kinds.append(("carried", place))
            found.uses.append(("carried", number))
    found.inner = {number: k for k, number in enumerate(rows[0].born)}
    found.starts = rows[0].integers
    found.steps = [b - a for a, b in zip(rows[0].integers, rows[1].integers, strict=True)]
    found.writes = frozenset(int(found.uses[k][1]) for k in rows[0].written if kinds[k][0] == "outer")
    for j in range(1, len(rows)):
        if not _continues(rows, j, kinds, found):
            return j
    return len(rows)


def _continues(rows: list[_Row], j: int, kinds: list[tuple[str, int]], found: Found) -> bool:
    """Whether repetition `j` is the first one, `j` steps further."""
    row, before = rows[j], rows[j - 1]
    for root, (kind, which) in zip(row.roots, kinds, strict=True):
        if root != (row.born[which] if kind == "inner" else before.born[which] if kind == "carried" else which):
            return False
    return all(
        now == start + j * step for now, start, step in zip(row.integers, found.starts, found.steps, strict=True)
    )


def _can_be_carried(row: _Row, found: Found, looks: list[Look]) -> bool:
    """Whether a loop can carry what is to be carried: fresh memory that nobody writes under its old name."""
    for number in found.returned:
        kind, _, _, strides = looks[number]
        if kind not in (Buffer, Scalar) or not _in_order(looks[number]):
            return False
        assert strides is not None
    for place, first in zip(found.carried, found.first, strict=True):
        if looks[row.born[place]] != looks[first]:
            return False
    written = {row.roots[k] for k in row.written if type(found.uses[k]) is tuple and found.uses[k][0] == "outer"}
    if any(type(found.uses[k]) is tuple and found.uses[k][0] == "carried" for k in row.written):
        return False
    return not written.intersection(found.first)


def _in_order(look: Look) -> bool:
    _, shape, dtype, strides = look
    step = dtype.itemsize
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


__all__ = ["FEWEST", "Repeat", "with_repeats"]
