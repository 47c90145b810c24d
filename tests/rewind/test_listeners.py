"""A listener hears each event once, before the context answers it, whichever context that is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import in_c
from bridge.proof.report.trace import TraceContext
from bridge.rewind.context import Context
from bridge.rewind.forward import ForwardContext
from bridge.rewind.interpreter import EVENTS

X = np.linspace(0.3, 1.7, 6)
EACH = {
    "result": lambda x: x * 2.0,
    "copied": lambda x: x[1],
    "write": lambda x: x.__setitem__(slice(2), x[3:5]),
    "update": lambda x: x.__imul__(3.0),
    "scatter_add": lambda x: np.add.at(x, [0, 0], 1.0),
    "mutated": lambda x: doubled(x),
}


@bridge.mutating_rule(mutates="x")
def doubled(x: Any) -> None:
    x *= 2


@doubled.pull
def _(ct: Any, x: Any) -> Any:
    return 2 * ct


class Heard:
    def __init__(self, context: Any) -> None:
        self.events: list[str] = []
        self.held: list[Any] = []
        self.context = context

    def heard(self, event: str, *what: Any) -> None:
        self.events.append(event)
        self.held.append(self.context.answered)


@pytest.fixture(params=["in C", "in Python"])
def _way(request: pytest.FixtureRequest) -> Iterator[None]:
    with in_c.pure() if request.param == "in Python" else nullcontext():
        yield


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("kind", [Context, ForwardContext, TraceContext])
@pytest.mark.parametrize("event", EVENTS)
def test_each_event_is_heard_once_and_first(kind: type[Context], event: str) -> None:
    def answer(self: Any, *what: Any) -> Any:
        self.answered += 1
        return getattr(kind, event)(self, *what)

    with type("Answering", (kind,), {"answered": 0, event: answer})() as context:
        x = context.buffer(X)
        context.listener = listener = Heard(context)
        EACH[event](x)
        assert listener.events == [event]
        assert (listener.held, context.answered) == ([0], 1)
        context.listener = None
        EACH[event](x)
        assert listener.events == [event]
        assert context.answered == 2


@pytest.mark.usefixtures("_way")
def test_a_listener_hears_what_is_done_in_few_steps_else() -> None:
    with Context() as context:
        x = context.buffer(X)
        context.listener = listener = Heard(type("Nobody", (), {"answered": 0}))
        y = -x * x[0]
        y[1] = 2.0
        y[1:] = 3.0
        y += x
        assert listener.events == ["result", "copied", "result", "write", "write", "update"]
        context.listener = None
        assert context.lean
