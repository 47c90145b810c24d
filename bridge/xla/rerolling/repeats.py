"""What repeats itself on a tape: segments that are the same program, one loop index further each time."""

from __future__ import annotations

from typing import Any

from bridge.arrays.buffer import Buffer, Scalar
from bridge.xla.rerolling.encoding import Notes
from bridge.xla.rerolling.tape import Entry, Look

FEWEST = 8
_WORTH = 32
_LENGTHS_TRIED = 24

Item = Any
Born = dict[int, tuple[int, int]]


class Part:
    """One item of a repeated segment.

    `uses` are its memory: a number born in the segment, ("outer", k), ("carried", k). `steps` say how much its
    integers grow with each repetition, or, as tuples, how far they are from the first; `varies` which data differ.
    """

    __slots__ = ("item", "steps", "uses", "varies")

    def __init__(self, item: Item, uses: list[Any], steps: list[Any], varies: list[bool]) -> None:
        self.item, self.uses, self.steps, self.varies = item, uses, steps, varies


class Repeat:
    """`count` repetitions of a segment: an item of a tape, as an Entry is.

    `roots` are the memory from outside, and at the end the first values of what is `carried`; `returned` are the
    numbers in the first repetition, and `born` those in the last, of what is carried and of what is used after the
    loop; `looks` is what they are. `integers` are those of the first repetition.
    """

    __slots__ = (
        "body", "born", "carried", "count", "data", "integers", "looks", "position", "returned", "roots",
        "sign", "weight", "writes",
    )  # fmt: skip

    def __init__(self, segment: list[Item], count: int, found: Found, numbers: list[Look], notes: Notes) -> None:
        self.count = count
        self.position = segment[0].position
        self.body = []
        uses, steps, varies = iter(found.uses), iter(found.steps), iter(found.varies)
        for item in segment:
            parts = [next(uses) for _ in item.roots], [next(steps) for _ in item.integers]
            self.body.append(Part(item, *parts, [next(varies) for _ in item.data]))
        self.data = [notes.table(column) if differs else column[0] for column, differs in found.columns(count)]
        self.integers = found.starts
        self.roots = (*found.outer, *found.first)
        self.carried = found.carried
        self.returned, self.born = found.returned, found.born
        self.looks = [numbers[number] for number in self.returned]
        self.writes = found.writes
        self.weight = count * sum(item.weight for item in segment)
        relative = tuple((use if type(use) is tuple else ("inner", found.inner[use])) for use in found.uses)
        back = tuple(found.inner[number] for number in self.returned)
        self.sign = notes.number(
            (Repeat, count, tuple(item.sign for item in segment), relative, tuple(found.steps),
             tuple(found.varies), back, len(found.carried))
        )  # fmt: skip


class Found:
    """How the repetitions of a segment differ."""

    def __init__(self) -> None:
        self.uses: list[Any] = []
        self.starts: list[int] = []
        self.steps: list[Any] = []
        self.varies: list[bool] = []
        self.data: list[tuple[int, ...]] = []
        self.outer: list[int] = []
        self.first: list[int] = []
        self.carried: list[int] = []
        self.returned: list[int] = []
        self.born: list[int] = []
        self.inner: dict[int, int] = {}
        self.writes: frozenset[int] = frozenset()

    def columns(self, count: int) -> list[tuple[tuple[int, ...], bool]]:
        """For each datum its values, and whether they differ."""
        return [(column[:count], differs) for column, differs in zip(self.data, self.varies, strict=True)]

    def vary(self, rows: list[_Row]) -> None:
        """Find out how integers and data differ between the rows."""
        self.starts = rows[0].integers
        self.steps = [_step(column) for column in zip(*(row.integers for row in rows), strict=True)]
        self.data = list(zip(*(row.data for row in rows), strict=True))
        self.varies = [len(set(column)) > 1 for column in self.data]


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
    weight = sum(item.weight for item in items[start : start + length])
    if count < FEWEST or count * weight < _WORTH:
        return None
    rows = [_Row(items[start + k * length : start + (k + 1) * length]) for k in range(count)]
    found = Found()
    count = _same(rows, found)
    if count < FEWEST or count * weight < _WORTH:
        return None
    found.vary(rows[:count])
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
        self.data = [datum for item in segment for datum in item.data]
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
    found.writes = frozenset(int(found.uses[k][1]) for k in rows[0].written if kinds[k][0] == "outer")
    for j in range(1, len(rows)):
        if not _continues(rows, j, kinds):
            return j
    return len(rows)


def _continues(rows: list[_Row], j: int, kinds: list[tuple[str, int]]) -> bool:
    """Whether repetition `j` is the first one, `j` steps further."""
    row, before = rows[j], rows[j - 1]
    for root, (kind, which) in zip(row.roots, kinds, strict=True):
        if root != (row.born[which] if kind == "inner" else before.born[which] if kind == "carried" else which):
            return False
    return True


def _step(column: tuple[int, ...]) -> Any:
    """How integers grow from the first on: by how much each time, or a tuple of how much in all."""
    first, step = column[0], column[1] - column[0]
    if all(now == first + j * step for j, now in enumerate(column)):
        return step
    return tuple(now - first for now in column)


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
