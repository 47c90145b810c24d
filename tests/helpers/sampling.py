"""Which of many alike are run every time; the others are thorough (.ci/run), or nightly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

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
    where each second one could be all of one engine.
    """
    cases = Counter(map(_test, items))
    counts: Counter[str] = Counter()
    for item in items:
        dealing = _dealing(item, cases[_test(item)])
        if dealing is not None and not any(map(item.get_closest_marker, ("thorough", "nightly"))):
            place = counts[_test(item)] * GOLDEN % 1
            counts[_test(item)] += 1
            always, thorough = (*dealing, 3)[:2]
            share = 1 / always if always else 0.0
            if place >= share:
                is_thorough = place < share + (1 - share) / thorough
                item.add_marker(pytest.mark.thorough if is_thorough else pytest.mark.nightly)


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


LONG = ("tests/conformance/", "tests/engines/", "tests/in_c/", "tests/random/", "tests/reported/", "tests/xla/")
"""Where most tests compile, or run whole programs several times."""
MANY = 6
"""Of so many cases a third is run every time, the others are thorough."""


def _dealing(item: pytest.Item, cases: int) -> tuple[int, ...] | None:
    mark = item.get_closest_marker("dealt")
    if mark is not None:
        return mark.args
    if cases > 1 and item.nodeid.startswith(LONG):
        return 10, 6
    return (3, 1) if cases >= MANY else None
