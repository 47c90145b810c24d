"""Snapshots: what slots held is put back, and is there for a while."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bridge.state.slots import GONE, Attribute, Contents, Item
from bridge.state.snapshot import Snapshot


def test_everything_is_put_back() -> None:
    one, held = SimpleNamespace(k=1.0), [1.0]
    snapshot = Snapshot([Attribute(one, "k"), Attribute(one, "m"), Contents(held)])
    one.k, one.m = 2.0, 3.0
    held.append(2.0)
    assert [(slot.part, before) for slot, before, _ in snapshot.changed()] == [("k", 1.0), ("m", GONE), (None, [1.0])]
    snapshot.put_back()
    assert vars(one) == {"k": 1.0}
    assert held == [1.0]
    assert snapshot.changed() == []


def test_the_first_value_that_is_kept_counts() -> None:
    one = SimpleNamespace(k=1.0)
    snapshot = Snapshot([Attribute(one, "k")])
    one.k = 2.0
    snapshot.add(Attribute(one, "k"), 2.0)
    snapshot.put_back()
    assert one.k == 1.0


def test_an_item_that_was_kept_before_the_contents_is_put_back_after_them() -> None:
    names: dict[str, Any] = {"k": 1.0}
    snapshot = Snapshot([Item(names, "k")])
    names["k"] = 2.0
    contents = Contents(names)
    snapshot.add(contents, contents.get())
    names["m"] = 3.0
    snapshot.put_back()
    assert names == {"k": 1.0}


def test_restored_for_a_while() -> None:
    one = SimpleNamespace(k=1.0)
    snapshot = Snapshot([Attribute(one, "k"), Attribute(one, "m")])
    one.k, one.m = 2.0, 3.0
    with pytest.raises(ZeroDivisionError), snapshot.restored():
        assert vars(one) == {"k": 1.0}
        one.k = 4.0
        raise ZeroDivisionError
    assert vars(one) == {"k": 2.0, "m": 3.0}
