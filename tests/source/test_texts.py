"""Numbers that go out as text and come back: an error by name; what is only shown is nobody's business."""

from __future__ import annotations

import ast
import decimal
import fractions
import io
import json
import logging
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError, EscapeError

X = np.array([0.3, -0.7, 1.0])
NUMBER = re.compile(r"[-\d.]+")


def written(x: Any) -> io.StringIO:
    file = io.StringIO()
    file.write(str(float(x[0])))
    file.seek(0)
    return file


# f: a text whose number is the tracked one.
BACK: dict[str, Callable[[Any], Any]] = {
    "f-string": lambda x: float(f"{x[0]:.17g}") * 2,
    "str": lambda x: float(str(x[0])) * 2,
    "repr": lambda x: float(repr(x[0]).replace("np.float64(", "").replace(")", "")),
    "percent": lambda x: float("%.17g" % x[0]),  # noqa: UP031
    "percent of several": lambda x: float(("%s %s" % (x[0], 1)).split()[0]),  # noqa: UP031
    "format": lambda x: float("{:.17g}".format(x[0])),  # noqa: UP032
    "NumPy's float": lambda x: np.float64(str(x[0])),
    "a value": lambda x: float(str(np.sum(x**2))),
    "single precision": lambda x: float(str(x[0].astype(np.float32))),
    "json": lambda x: json.loads(json.dumps([float(x[0])]))[0],
    "json of a list": lambda x: json.loads(json.dumps({"a": x.tolist()}))["a"][1],
    "a literal": lambda x: ast.literal_eval(f"[{x[0]}, 2.0]")[0],
    "array2string": lambda x: float(np.array2string(x[0])) * 2,
    "array_str": lambda x: float(np.array_str(x[:1])[1:-1]) * 2,
    "a complex number": lambda x: complex(str(float(x[0]))).real,
    "NumPy's complex number": lambda x: np.complex128(str(float(x[0]))).real,
    "eval": lambda x: eval(repr(float(x[0]))),
    "an expression": lambda x: eval("2 * " + str(float(x[1]))),
    "eval of a list": lambda x: sum(eval(repr([float(v) for v in x]))),
    "a literal of a list": lambda x: sum(ast.literal_eval(str([float(v) for v in x]))),
    "a literal of an array": lambda x: ast.literal_eval(str(x.tolist()))[0],
    "a text that is split": lambda x: float(("a " + str(float(x[0]))).split()[1]),
    "texts that are joined": lambda x: float(" ".join(str(float(v)) for v in x).split()[0]),
    "a file": lambda x: float(written(x).getvalue()),
    "a file of numbers": lambda x: np.sum(np.loadtxt(written(x))),
    "a decimal": lambda x: float(decimal.Decimal(str(float(x[0])))),
    "a fraction": lambda x: float(fractions.Fraction(str(float(x[0])))),
    "what a pattern finds": lambda x: float(re.findall(r"[-\d.]+", f"v {float(x[0])}")[0]),
    "what a compiled pattern finds": lambda x: float(NUMBER.findall(f"v {float(x[0])}")[0]),
    "a cast of texts": lambda x: np.sum(np.array([str(float(v)) for v in x]).astype(float)),
    "f-string of the digits": lambda x: float(f"{float(x[0])!r}"),
    "an array of texts": lambda x: np.sum(np.array([str(v) for v in x], dtype=float)),
}


@pytest.mark.parametrize("name", BACK)
def test_a_number_that_comes_back_as_text(name: str) -> None:
    with pytest.raises(EscapeError, match="is made a number, and a tracked number was written as it") as raised:
        bridge.grad(BACK[name])(X)
    assert "test_texts.py" in str(raised.value) and "use the number itself" in str(raised.value)


@pytest.mark.parametrize("name", ["f-string", "str", "NumPy's float", "an array of texts"])
def test_compiled(name: str) -> None:
    with pytest.raises(EscapeError, match=r"the text .*a traced float64 number.* is made a number"):
        bridge.grad(BACK[name], engine="xla")(X)


@pytest.mark.parametrize("name", [name for name in BACK if name not in ("array2string", "array_str")])
def test_compiled_by_name(name: str) -> None:
    with pytest.raises(BridgeError, match=r"remedy"):
        bridge.grad(BACK[name], engine="xla")(X)


def logged(x: Any) -> Any:
    lines = [str(float(v)) for v in x]
    lines.append(f"sum: {np.sum(x)}".upper().replace(":", " ="))
    print(", ".join(lines).strip(), file=io.StringIO())
    return np.sum(x**2) * eval("0.25 + 0.5") * len(["a", "b"])


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_what_is_logged(engine: str) -> None:
    np.testing.assert_allclose(bridge.grad(logged, engine=engine)(X), 3 * X)


def test_an_error_that_is_swallowed_is_told() -> None:
    def f(x: Any) -> Any:
        try:
            return float(str(x[0])) * x[1]
        except TypeError:
            return x[1]

    with pytest.raises(EscapeError, match="is made a number"):
        bridge.grad(f)(X)


def shown(x: Any) -> Any:
    print(f"{x[0]} {x} {x[0]:.3f}", x, json.dumps([float(x[0])]))
    logging.getLogger("texts").warning("%s %.17g %r", x[0], x[1], x)
    return np.sum(x**2) * float("0.25")


# Whoever rounds has a constant; so has who detaches, and who reads numbers that are nobody's.
FINE: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "shown": (shown, [0.15, -0.35, 0.5]),
    "rounded": (lambda x: float(f"{x[0] * np.pi:.2f}") * x[1], [0, 0.94, 0]),
    "detached": (lambda x: float(str(bridge.detach(x[0]))) * x[1], [0, 0.3, 0]),
    "another number": (lambda x: (str(x[0]), float("0.25") * x[1])[1], [0, 0.25, 0]),
    "a constant": (lambda x: float(str(np.float64(0.3))) * x[1], [0, 0.3, 0]),
}


@pytest.mark.parametrize("name", FINE)
def test_what_is_only_shown(name: str) -> None:
    f, gradient = FINE[name]
    np.testing.assert_allclose(bridge.grad(f)(X), gradient)
