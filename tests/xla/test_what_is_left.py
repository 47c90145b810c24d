"""Numbers and texts that a compiled program puts somewhere: eager calls leave them there, compiled ones say so."""

from __future__ import annotations

import types
import warnings
from collections import deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeWarning, TraceError

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([1.0, 2.0, 3.0])
Pair = namedtuple("Pair", ["step", "loss"])


@dataclass
class Record:
    loss: Any


class Plain:
    def __init__(self, loss: Any) -> None:
        self.loss = loss


class Logger:
    def __init__(self) -> None:
        self.seen: list[float] = []

    def add(self, loss: Any) -> None:
        self.seen.append(float(loss))


def into_an_array(held: Any, loss: Any) -> None:
    held[0] = float(loss)


def into_an_element(held: Any, loss: Any) -> None:
    held["loss"] = float(loss)


def into_a_loop(held: Any, loss: Any) -> None:
    for k in range(12):
        held.append(float(loss) * 0.5**k if k else loss.item())


PLACES: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any]]] = {
    "append": (list, lambda held, loss: held.append(float(loss))),
    "item": (list, lambda held, loss: held.append(loss.item())),
    "tolist": (list, lambda held, loss: held.append((loss * X).tolist())),
    "round": (list, lambda held, loss: held.append(round(float(loss), 2))),
    "pair": (list, lambda held, loss: held.append((1, float(loss)))),
    "named pair": (list, lambda held, loss: held.append(Pair(1, float(loss)))),
    "dict in a list": (list, lambda held, loss: held.append({"loss": float(loss)})),
    "object": (list, lambda held, loss: held.append(Plain(float(loss)))),
    "dataclass": (list, lambda held, loss: held.append(Record(float(loss)))),
    "element": (dict, into_an_element),
    "update": (dict, lambda held, loss: held.update(loss=float(loss))),
    "list that was made in the call": (dict, lambda held, loss: held.setdefault("h", []).append(float(loss))),
    "attribute": (types.SimpleNamespace, lambda held, loss: setattr(held, "loss", float(loss))),
    "nested": (types.SimpleNamespace, lambda held, loss: setattr(held, "d", {"loss": [float(loss)]})),
    "method": (Logger, lambda held, loss: held.add(loss)),
    "deque": (deque, lambda held, loss: held.append(float(loss))),
    "array": (lambda: np.zeros(2), into_an_array),
    "detached": (list, lambda held, loss: held.append(bridge.detach(loss))),
    "loop": (list, into_a_loop),
    "text": (list, lambda held, loss: held.append(f"{loss:.2f}")),
    "longer text": (list, lambda held, loss: held.append(f"the loss is {loss:.2f} now")),
    "text of an array": (list, lambda held, loss: held.append(repr(loss * X))),
    "text in a dict": (list, lambda held, loss: held.append({"loss": str(loss)})),
    "text as an attribute": (types.SimpleNamespace, lambda held, loss: setattr(held, "text", str(loss))),
}
TRANSFORMS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "xla": bridge.xla,
    "grad": lambda f: bridge.grad(f, engine="xla"),
    "hessian": lambda f: bridge.hessian(f, engine="xla"),
    "vjp": lambda f: lambda x: bridge.vjp(f, x, engine="xla"),
}


def described(held: Any) -> str:
    return repr(getattr(held, "seen", held))


@pytest.mark.ci
@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_it_is_told(name: str, transform: str) -> None:
    make, put = PLACES[name]
    held = make()

    def f(x: Any) -> Any:
        loss = np.sum(x**2)
        put(held, loss)
        return loss

    run = TRANSFORMS[transform](f)
    before = described(held)
    with pytest.warns(BridgeWarning, match="compiled calls leave .* as it was"):
        run(X)
    assert described(held) == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(2 * X)
    assert described(held) == before


@pytest.mark.ci
def test_what_a_gradient_passes_through_is_put_back_in_eager_calls_too() -> None:
    held: list[Any] = []

    def f(x: Any) -> Any:
        held.append(x.copy())
        return np.sum(x**2)

    for engine in ("native", "xla"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bridge.grad(f, engine=engine)(X)
        assert held == []


DECISIONS: dict[str, Callable[[Any], Any]] = {
    "equal": lambda x: 2.0 if f"{x[0]:.1f}" == "1.0" else 1.0,
    "not equal": lambda x: float(str(x[0]) != "nan"),
    "joined": lambda x: 2.0 if f"x is {x[0]:.1f}" == "x is 1.0" else 1.0,
    "key": lambda x: {"1.0": 5.0}[f"{x[0]:.1f}"],
    "joined key": lambda x: {"x1.0": 5.0, "y": 2.0}[f"x{x[0]:.1f}"],
    "key with a default": lambda x: {"1.0": 5.0}.get(f"{x[0]:.1f}", 1.0),
    "contained": lambda x: 2.0 if "nan" in str(x) else 1.0,
    "starts": lambda x: 2.0 if str(x[0]).startswith("1") else 1.0,
    "counts": lambda x: repr(x).count("."),
    "length": lambda x: len(f"{x[0]:.3f}"),
    "length of a part": lambda x: len(f"loss {x[0]:.3f}"[5:]),
    "parts": lambda x: len(str(x[0]).split(".")),
    "named parts": lambda x: len(str(x[0]).split(sep=".")),
    "characters": lambda x: sum(c == "." for c in str(x[0])),
    "a part": lambda x: 2.0 if str(x[0])[:1] == "1" else 1.0,
    "upper case": lambda x: 2.0 if str(x[0]).upper() == "NAN" else 1.0,
    "added": lambda x: 2.0 if "x" + str(x[0]) == "x1.0" else 1.0,
    "added to": lambda x: 2.0 if str(x[0]) + "x" in ("1.0x",) else 1.0,
    "bytes": lambda x: len(str(x[0]).encode()),
    "several": lambda x: len(", ".join([f"{x[0]:.1f}", f"{x[1]:.1f}"])),
    "one character": lambda x: 2.0 if str(x[0])[0] in "123" else 1.0,
}


@pytest.mark.ci
@pytest.mark.parametrize("name", DECISIONS)
@pytest.mark.parametrize("transform", ["xla", "grad"])
def test_a_text_decides_nothing(name: str, transform: str) -> None:
    run = TRANSFORMS[transform](lambda x: np.sum(x) * DECISIONS[name](x))
    with pytest.raises(TraceError, match="the program decides by the text of a value that it computes") as told:
        run(X)
    assert "test_what_is_left.py" in str(told.value) and "compare the value itself" in str(told.value)


@pytest.mark.ci
def test_a_text_is_no_result() -> None:
    with pytest.raises(TraceError, match="returns the text 'a traced float64 number'") as told:
        bridge.xla(lambda x: (np.sum(x), f"{x[0]:.1f}"))(X)
    assert "return the value, and write it as a text after the call" in str(told.value)


@pytest.mark.ci
def test_a_text_that_is_shown_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        print(f"{x[0]:.3f}", str(x[1]).rjust(30), x, str(x[0])[:6].upper() + "..." or "nothing")
        return np.sum(x**2)

    assert bridge.grad(f, engine="xla")(X).tolist() == [2.0, 4.0, 6.0]
    assert "a traced float64 number" in capsys.readouterr().out


@pytest.mark.ci
def test_a_text_is_like_others_after_the_trace() -> None:
    """What a debugger or the report of a test shows is a `str` that can be sent and compared."""

    def f(x: Any) -> Any:
        raise ValueError(x * 2)

    with pytest.raises(ValueError) as raised:
        bridge.grad(f, engine="xla")(np.ones(2))
    text = repr(raised.value.args[0])
    assert type(text) is str and "traced" in text and text == repr(raised.value.args[0])
