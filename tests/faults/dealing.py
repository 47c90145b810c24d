"""Which points of a call are tried, and with which exception: evenly over the call, or over kinds of points."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.faults.points import ERRORS

Point = tuple[int, type[BaseException]]


@dataclass
class Evenly:
    """Points at equal distances, with the exceptions by turns from number `first` on."""

    first: int = 0

    def dealt(self, kinds: Sequence[str], most: int) -> Iterator[Point]:
        """At most `most` of the points, whose kinds these are: their numbers, counted from one, and what is raised."""
        taken = min(len(kinds), most)
        for k in range(taken):
            at = 1 + k * len(kinds) // taken
            yield at, ERRORS[(at + self.first) % len(ERRORS)]


@dataclass
class ByKind:
    """Of every kind of point, with every exception, as many as of the others: those come first that were rarest.

    What uniform choice misses is rare by definition: nearly all points of a log are those of a few kinds.
    """

    seed: int = 0
    tried: Counter[tuple[str, type[BaseException]]] = field(default_factory=Counter)
    of_kind: Counter[str] = field(default_factory=Counter)

    def dealt(self, kinds: Sequence[str], most: int) -> Iterator[Point]:
        """At most `most` of the points, whose kinds these are: their numbers, counted from one, and what is raised."""
        draw = random.Random(f"{self.seed} {sum(self.of_kind.values())} {len(kinds)}")
        numbers: dict[str, list[int]] = defaultdict(list)
        for at, kind in enumerate(kinds, 1):
            numbers[kind].append(at)
        for each in numbers.values():
            draw.shuffle(each)
        for _ in range(min(len(kinds), most)):
            kind = min(numbers, key=lambda kind: self.of_kind[kind])
            error = min(ERRORS, key=lambda error: self.tried[kind, error])
            self.of_kind[kind] += 1
            self.tried[kind, error] += 1
            yield numbers[kind].pop(), error
            if not numbers[kind]:
                del numbers[kind]

    def told(self, least: int) -> Iterator[str]:
        """What was tried of each kind, and which are below `least` with some exception."""
        counts = {(kind, error): self.tried[kind, error] for kind in self.of_kind for error in ERRORS}
        if not counts:
            return
        enough = sum(count >= least for count in counts.values())
        kinds = f"{len(self.of_kind)} kinds of points x {len(ERRORS)} exceptions"
        yield f"{kinds}: {enough} of {len(counts)} at least {least} times"
        for error in ERRORS:
            of_error = [count for (_, one), count in counts.items() if one is error]
            yield f"  {error.__name__}: {sum(of_error)} points, {min(of_error)} to {max(of_error)} of a kind"
        for kind in sorted(self.of_kind, key=lambda kind: (self.of_kind[kind], kind)):
            if any(counts[kind, error] < least for error in ERRORS):
                yield f"  fewer of: {kind} ({self.of_kind[kind]})"
