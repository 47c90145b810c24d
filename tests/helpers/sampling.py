"""Which of many alike are run every time; the others are thorough (.ci/run), or nightly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import pytest

GOLDEN = (5**0.5 - 1) / 2


def some(of: Sequence[Any], count: int) -> list[Any]:
    """At most `count` of them, evenly taken; the first is one."""
    return [one for k, one in enumerate(of) if _is_taken(k, len(of), count)]


def others(of: Sequence[Any], count: int) -> list[Any]:
    """Those that `some` leaves."""
    return [one for k, one in enumerate(of) if not _is_taken(k, len(of), count)]


def _is_taken(k: int, length: int, count: int) -> bool:
    return k == 0 or k * count // length != (k - 1) * count // length


def dealt(of: Sequence[Any], always: int, thorough: int = 3) -> list[Any]:
    """All as parameters: each `always`-th is run every time, each `thorough`-th of the others in .ci/run."""
    return [_marked(one, k, always, thorough) for k, one in enumerate(of)]


def _marked(one: Any, k: int, always: int, thorough: int) -> Any:
    if k % always == 0:
        return one
    values = one if type(one) is tuple else (one,)
    return pytest.param(*values, marks=pytest.mark.nightly if k % thorough else pytest.mark.thorough)


def deal(items: Sequence[pytest.Item]) -> None:
    """Mark cases of tests that are marked `dealt(always, thorough)`: one in `always` runs every time, none if 0.

    Of the others one in `thorough`, 3 if it is not told, is thorough. Where tests are long, or have many cases, these
    are dealt without a mark. The multiples of the golden ratio spread them over every axis of a grid of parameters,
    where each second one could be all of one engine. Of what is long, only some tests are run every time, and of the
    thorough cases of each only some with them.
    """
    cases = Counter(map(_test, items))
    counts: Counter[str] = Counter()
    for item in items:
        if not any(map(item.get_closest_marker, ("thorough", "nightly"))):
            always, thorough = _dealing(item, cases[_test(item)]) or (1, 1)
            place, share = _place(_test(item), counts), 1 / always if always else 0.0
            if place >= share + (1 - share) / thorough:
                item.add_marker(pytest.mark.nightly)
            elif place >= share:
                item.add_marker(pytest.mark.thorough)
    _deal_what_is_long([item for item in items if item.nodeid.startswith(LONG)])


def _deal_what_is_long(items: Sequence[pytest.Item]) -> None:
    counts: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("nightly"):
            continue
        if crc32(_test(item).encode()) % OF_LONG and not item.get_closest_marker("thorough"):
            item.add_marker(pytest.mark.thorough)
        if item.get_closest_marker("thorough") and _place(_test(item), counts) >= 1 / OF_LONG:
            item.add_marker(pytest.mark.nightly)


def _place(name: str, counts: Counter[str]) -> float:
    """Where in [0, 1) the next one of this name lies."""
    counts[name] += 1
    return (counts[name] - 1) * GOLDEN % 1


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


LONG = (
    "tests/conformance/",
    "tests/engines/",
    "tests/faults/",
    "tests/in_c/",
    "tests/random/",
    "tests/reported/",
    "tests/rewind/test_strong_zero_programs.py",
    "tests/xla/",
)
"""Where most tests compile, or run whole programs several times."""
OF_LONG = 5
"""One in so many of the tests there is run every time, and one in so many of the thorough cases of each with them."""
MANY = 6
"""Of so many cases a quarter is run every time, the others are thorough."""


def _dealing(item: pytest.Item, cases: int) -> tuple[int, int] | None:
    """Of how many cases one is run every time, and of how many of the others one is thorough; `None`: all, always."""
    mark = item.get_closest_marker("dealt")
    if mark is not None:
        always, thorough = (*mark.args, 3)[:2]
        return always, thorough
    if cases > 1 and item.nodeid.startswith(LONG):
        return 10, 6
    return (4, 1) if cases >= MANY else None
