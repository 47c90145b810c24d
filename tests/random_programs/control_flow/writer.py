"""Fills the templates of the grammar with names that are known in some place; the same ones for the same seed."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from tests.random_programs.control_flow import grammar
from tests.random_programs.program import Line

RESULTS = ("x", "A", "u", "v", "s", "t", "c")
SIZES = (5, 6, 7)

Range = tuple[int, int]


class Writer:
    """Where a program is being written, and which names it has there.

    `indices` are integers whose range follows from the loops around, both ends included. `elements` are numbers that a
    loop hands out.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.size = self.random.choice(SIZES)
        self.lines: list[Line] = []
        self.block = self.lines
        self.indices: dict[str, Range] = {}
        self.elements: list[str] = []
        self.vectors = ["x", "u", "v"]
        self.helpers: list[str] = []
        self.names = self.rows = self.depth = self.loops = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def put(self, *texts: str) -> None:
        self.rows += len(texts)
        self.block += [Line(text) for text in texts]

    def put_block(self, rows: Sequence[str]) -> None:
        """Lines that are indented as they are to lie."""
        for text in rows:
            block = self.block
            for _ in range((len(text) - len(text.lstrip())) // 4):
                block = block[-1].body
            block.append(Line(text.strip()))

    def filled(self, template: str, depth: int = 0) -> str:
        """A template with everything filled in; `depth` is how many templates are around it."""
        key: list[str] = []

        def one(found: re.Match[str]) -> str:
            kind = found[1]
            if kind in ("key", "part", "place", "over") and not key:
                key.append(self.filled(self.random.choice(grammar.KEYS)))
            text = str(getattr(self, f"_{kind}")(depth))
            return text.replace("<key>", key[0]) if key else text

        return re.sub(r"<(\w+)>", one, template)

    def _key(self, _: int) -> str:
        return "<key>"

    def _name(self, _: int) -> str:
        return self.random.choice(self.vectors)

    def _compared(self, _: int) -> str:
        return self.random.choice(grammar.COMPARED)

    def _bound(self, _: int) -> str:
        return self._of_indices(grammar.BOUNDS, grammar.BOUNDS_OF)

    def _index(self, _: int) -> str:
        return self._of_indices(grammar.INDICES, grammar.INDICES_OF)

    def _of_indices(self, plain: list[str], by_range: dict[str, list[str]]) -> str:
        choices = list(plain)
        for name, (low, high) in self.indices.items():
            holds = {
                "upto n": low >= 0 and high <= self.size,
                "below n": low >= 0 and high < self.size,
                "below n - 1": low >= 0 and high < self.size - 1,
                "from either end": -self.size <= low and high < self.size,
                "from 1": low >= 1,
            }
            choices += [named(text, name) for where, texts in by_range.items() if holds[where] for text in texts]
        return self.random.choice(choices)

    def _integer(self, depth: int) -> str:
        choices = grammar.INTEGERS + [named(text, name) for name in self.indices for text in grammar.INTEGERS_OF]
        return self.filled(self.random.choice(choices), depth + 1)

    def _vector(self, depth: int) -> str:
        choices = [*self.vectors * 2, *grammar.ROWS, *grammar.VECTORS]
        return self.filled(self.random.choice(choices), depth + 1)

    def _within(self, templates: list[str], depth: int) -> str:
        """A template whose key is that of the template around it."""
        parts = re.split(r"(<key>|<part>|<place>|<over>)", self.random.choice(templates))
        return "".join(
            str(getattr(self, f"_{part[1:-1]}")(depth + 1)) if k % 2 else self.filled(part, depth + 1)
            for k, part in enumerate(parts)
        )

    def _place(self, depth: int) -> str:
        return self._within(grammar.PLACES, depth)

    def _part(self, depth: int) -> str:
        return self._within(grammar.PARTS if depth < 3 else grammar.PLACES, depth)

    def _over(self, depth: int) -> str:
        return self._within(grammar.OVER, depth) if depth < 2 and self.chance(0.5) else self._part(depth)

    def _number(self, depth: int) -> str:
        if depth < 3 and self.chance(0.45):
            return self.filled(self.random.choice(grammar.NUMBERS), depth + 1)
        choices = grammar.LEAVES + [f"0.1 * {name}" for name in self.indices] + self.elements * 4
        choices = choices + [f"{name}(<vector>, <number>, <bound>)" for name in self.helpers if depth < 2] * 2
        return self.filled(self.random.choice(choices), depth + 1)

    def _condition(self, depth: int) -> str:
        if depth < 2 and self.chance(0.3):
            return self.filled(self.random.choice(grammar.CONDITIONS), depth + 1)
        choices = grammar.TESTS + [named(text, name) for name in self.indices for text in grammar.TESTS_OF]
        return self.filled(self.random.choice(choices), depth + 1)


def named(template: str, name: str) -> str:
    """A template of an index `i` with the name that it has."""
    return re.sub(r"\bi\b", name, template)
