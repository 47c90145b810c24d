"""Whether two runs of a body have done the same, by what their context was told."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.rewind.fingerprint import Fingerprint, parting
from bridge.rewind.roots import serial_now
from bridge.rulebook.facts import Facts

# All alike, so that parts of it differ by where they lie alone.
X = np.full(4, 0.7)
W = np.array([1.0, 2.0, 3.0, 4.0])
ONE = np.arange(4)

Body = Callable[[Any], Any]


def told(body: Body, x: Any, since: int, around: Fingerprint | None = None) -> Fingerprint:
    fingerprint = Fingerprint(since, around)
    with fingerprint.listening(bridge.current_context()):
        body(x)
    return fingerprint


def found(one: Body, other: Body) -> str | None:
    with bridge.Context() as context:
        x = context.buffer(X)
        since = serial_now()
        return parting(told(one, x, since), told(other, x, since))


def in_place(key: Any, value: Any) -> Body:
    def body(x: Any) -> None:
        x[key] = value

    return body


def on_new_memory(first: int, second: int) -> Body:
    def body(x: Any) -> Any:
        made = [x * 2, x * 2]
        return made[first] * made[second]

    return body


SAME: dict[str, Body] = {
    "an operation": lambda x: np.sin(x),
    "constants": lambda x: x * W.copy() + 1.5,
    "a keyword": lambda x: np.sum(x, axis=0, keepdims=True),
    "a sequence": lambda x: np.concatenate([x, W, x[:2]]),
    "a write": in_place(slice(1, 3), 2.0),
    "an index": in_place(np.array([0, 2, 0]), 2.0),
    "views": lambda x: x[1:][::2] * 3,
    "memory of its own": on_new_memory(0, 1),
    "a dtype": lambda x: x.astype(np.float32),
    "text": lambda x: np.einsum("i,i", x, x),
    "nothing": lambda x: None,
    "a copy": lambda x: x[:2].copy(),
    "a scatter": lambda x: np.add.at(x, [0, 1, 0], 1.0),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same(name: str) -> None:
    assert found(SAME[name], SAME[name]) is None


APART: dict[str, tuple[Body, Body, str]] = {
    "function": (np.sin, np.cos, r"operation 1 of 1 \(np\.sin\) differs"),
    "second operation": (
        lambda x: np.sin(x) * 2,
        lambda x: np.sin(x) + 2,
        r"operation 2 of 2 \(np\.multiply\) differs",
    ),
    "bits of an array": (lambda x: x * W, lambda x: x * (W + 1e-16 * W * 3), "np.multiply"),
    "zero's sign": (lambda x: x * 0.0, lambda x: x * -0.0, "np.multiply"),
    "type of a number": (lambda x: x * 2, lambda x: x * 2.0, "np.multiply"),
    "shape": (lambda x: x * W, lambda x: x * W[None], "np.multiply"),
    "dtype": (lambda x: x * ONE, lambda x: x * ONE.astype(np.int32), "np.multiply"),
    "keyword": (lambda x: np.sum(x, axis=0), lambda x: np.sum(x, axis=-1), "np.sum"),
    "name of a keyword": (lambda x: np.sum(x, keepdims=True), lambda x: np.sum(x, axis=None), "np.sum"),
    "element of a sequence": (lambda x: np.stack([x, W]), lambda x: np.stack([x, W + 1]), "np.stack"),
    "place": (lambda x: x[1:] * 2, lambda x: x[:3] * 2, "np.multiply"),
    "place of a place": (lambda x: x[1:][:2] * 2, lambda x: x[1:][1:] * 2, "np.multiply"),
    "key of a write": (in_place(slice(0, 2), 1.0), in_place(slice(0, 3), 1.0), r"operation 1 of 1 \(write\) differs"),
    "step of a slice": (in_place(slice(0, 3, 1), 1.0), in_place(slice(0, 3, 2), 1.0), "write"),
    "value of a write": (in_place(0, 1.0), in_place(0, 2.0), "write"),
    "index": (in_place(np.array([0, 1]), 1.0), in_place(np.array([0, 2]), 1.0), "write"),
    "memory of its own": (on_new_memory(0, 1), on_new_memory(1, 0), r"operation 3 of 3"),
    "memory of its own or not": (lambda x: (x * 2) * x, lambda x: (x * 2) * (x * 2), r"operation 2 of 2"),
    "text": (lambda x: np.einsum("i,i", x, x), lambda x: np.einsum("i,j", x, x), "np.einsum"),
    "a word": (lambda x: np.quantile(x, 0.3), lambda x: np.quantile(x, 0.3, method="lower"), "np.quantile"),
    "another word": (
        lambda x: np.quantile(x, 0.3, method="higher"),
        lambda x: np.quantile(x, 0.3, method="lower"),
        "np.quantile",
    ),
    "type": (lambda x: np.sum(x, dtype=np.float32), lambda x: np.sum(x, dtype=np.float64), "np.sum"),
    "more": (lambda x: np.sin(x), lambda x: [np.sin(x), np.sin(x)], "1 operations before, 2 now"),
    "less": (lambda x: [np.sin(x), np.sin(x)], lambda x: np.sin(x), "2 operations before, 1 now"),
}


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    one, other, expected = APART[name]
    assert found(one, one) is None
    message = found(one, other)
    assert message is not None
    assert re.search(expected, message), message


class Heard:
    def __init__(self) -> None:
        self.events: list[str] = []

    def heard(self, event: str, *what: Any) -> None:
        self.events.append(event)


def test_who_listened_before_hears_it_too() -> None:
    with bridge.Context() as context:
        x = context.buffer(X)
        context.listener = listener = Heard()
        told(np.sin, x, serial_now())
        assert context.listener is listener
        assert listener.events == ["result"]
        outer = Fingerprint(serial_now(), None)
        with outer.listening(context):
            inner = told(np.sin, x, serial_now(), outer)
            assert context.listener is outer
        assert len(inner.steps) == 1
        assert outer.steps == []


def test_a_body_in_a_body_counts_by_its_last_run() -> None:
    def around(x: Any, bodies: list[tuple[str, Body]]) -> Fingerprint:
        outer = Fingerprint(serial_now(), None)
        inner: dict[str, Fingerprint] = {}
        with outer.listening(context):
            made = x * 2
            for name, body in bodies:
                run = told(body, made, serial_now(), outer)
                inner.setdefault(name, run).steps = run.steps
                inner[name].close()
        return outer

    with bridge.Context() as context:
        x = context.buffer(X)
        once = around(x, [("body", np.sin), ("other", np.cos)])
        assert (
            parting(once, around(x, [("body", np.exp), ("body", np.sin), ("other", np.cos), ("body", np.sin)])) is None
        )
        assert parting(once, around(x, [("body", np.sin), ("other", np.sin)])) == "operation 3 of 3 (body) differs"
        assert parting(once, around(x, [("body", np.exp), ("other", np.cos)])) == "operation 2 of 3 (body) differs"
        assert parting(once, around(x, [("body", np.sin)])) == "3 operations before, 2 now"
        told(np.sin, x, serial_now()).close()


def test_what_parameters_decide() -> None:
    facts = Facts(static=("window",), shaped_by=("counts",))
    asked = ("axis", "window", "counts", "a")
    assert [facts.is_static(name) for name in asked] == [True, True, False, False]
    assert [facts.decides(name) for name in asked] == [True, True, True, False]
