"""Which cases of tests that are marked `dealt` are run every time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import pytest

from tests.helpers.sampling import MANY, OF_LONG, deal


@dataclass
class Item:
    """What dealing asks of a collected test."""

    nodeid: str
    marks: dict[str, Any] = field(default_factory=dict)

    def get_closest_marker(self, name: str) -> Any:
        return self.marks.get(name)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks[mark.name] = mark.mark

    @property
    def when(self) -> str:
        return next((name for name in ("nightly", "thorough") if name in self.marks), "always")


def dealt(items: list[Item], *args: int) -> Counter[str]:
    for item in items:
        item.marks["dealt"] = pytest.mark.dealt(*args).mark
    deal(items)  # type: ignore[arg-type]
    return Counter(item.when for item in items)


@pytest.mark.parametrize("axis", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("always", [2, 3, 4, 6, 7])
def test_no_value_of_a_parameter_is_left_out(always: int, axis: int) -> None:
    items = [Item(f"test.py::test[{k}]") for k in range(40 * axis)]
    found = dealt(items, always)
    others = len(items) * (1 - 1 / always)
    assert abs(found["always"] - len(items) / always) <= 2 and abs(found["thorough"] - others / 3) <= 2
    assert items[0].when == "always"
    kept = Counter(k % axis for k, item in enumerate(items) if item.when == "always")
    assert len(kept) == axis


def test_one_in_some_of_the_others_is_thorough() -> None:
    found = dealt([Item(f"test.py::test[{k}]") for k in range(120)], 4, 3)
    assert found == {"always": 31, "thorough": 29, "nightly": 60}


def test_none_may_be_run_every_time() -> None:
    found = dealt([Item(f"test.py::test[{k}]") for k in range(120)], 0, 3)
    assert found["always"] == 0 and abs(found["thorough"] - 40) <= 1


def test_cases_that_compile_and_many_cases_are_dealt_without_a_mark() -> None:
    often = next(name for k in range(99) if crc32((name := f"tests/xla/test_a.py::test_{k}").encode()) % OF_LONG == 0)
    items = [Item(f"{often}[{k}]") for k in range(100)]
    many = [Item(f"tests/rewind/test_a.py::test[{k}]") for k in range(30)]
    few = [Item(f"tests/rewind/test_a.py::other[{k}]") for k in range(MANY - 1)]
    deal(items + many + few)  # type: ignore[arg-type]
    assert Counter(item.when for item in items) == {"always": 11, "thorough": 4, "nightly": 85}
    assert Counter(item.when for item in many) == {"always": 8, "thorough": 22}
    assert {item.when for item in few} == {"always"}
    assert items[0].when == "always"


def test_of_what_is_long_one_test_in_some_is_run_every_time_and_the_others_are_thorough() -> None:
    items = [Item(f"tests/xla/test_a.py::test_{k}[{case}]") for k in range(60) for case in range(2)]
    marked = [Item("tests/xla/test_b.py::test", {"nightly": True})]
    short = [Item(f"tests/rewind/test_a.py::test_{k}") for k in range(60)]
    deal(items + marked + short)  # type: ignore[arg-type]
    first = [item for item in items if item.nodeid.endswith("[0]")]
    assert abs(sum(item.when == "always" for item in first) - 60 / OF_LONG) <= 6
    assert {item.when for item in first} == {"always", "thorough"}
    assert marked[0].when == "nightly"
    assert {item.when for item in short} == {"always"}
    again = [Item(item.nodeid) for item in items[40:]]
    deal(again)  # type: ignore[arg-type]
    assert [item.when for item in again] == [item.when for item in items[40:]], "whatever else is collected"


def test_each_test_is_dealt_for_itself_and_marks_of_its_own_stand() -> None:
    first = [Item(f"test.py::first[{k}]", {"nightly": True} if k < 2 else {}) for k in range(4)]
    second = [Item(f"test.py::second[{k}]") for k in range(2)]
    dealt(first + second, 3, 1)
    assert [item.when for item in first] == ["nightly", "nightly", "always", "thorough"]
    assert [item.when for item in second] == ["always", "thorough"]
    alone = Item("test.py::third")
    deal([alone])  # type: ignore[list-item]
    assert alone.when == "always"
