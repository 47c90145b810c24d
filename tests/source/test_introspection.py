"""What programs ask of arrays beside their values: NumPy's answer, or an error that names what is asked."""

from __future__ import annotations

import sqlite3
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError
from tests.helpers.by_differences import differences

X = np.array([0.71, 1.33, -0.42, 2.13])
ENGINES = ("native", "xla")
Program = Callable[[Any], Any]


def asked(test: Any) -> int:
    return 2 if test else 1


def flat_place(x: Any) -> Any:
    flat = x.reshape(2, 2).flat
    next(flat)
    return np.sum(x**2) * (1 + flat.index + 10 * flat.coords[0] + 100 * flat.coords[1])


def saved_and_set_again(x: Any) -> Any:
    before = np.geterr()
    np.seterr(all="ignore")
    y = np.sum(np.log(np.abs(x)))
    np.seterr(**before)
    return y * asked(np.geterr() == before)


def inside_of_a_state(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        inside = np.geterr()["divide"]
    return np.sum(x**2) * asked(inside == "ignore") * (3 if np.geterr()["divide"] == "warn" else 1)


def what_was_set(x: Any) -> Any:
    before = np.seterr(over="ignore")
    now = np.geterr()["over"]
    np.seterr(**before)
    return np.sum(x**2) * asked(before["over"] == "warn") * (3 if now == "ignore" else 1)


def recorded(x: Any, use: Callable[[Any], Any]) -> Any:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        y = np.log(np.abs(x))
    return np.sum(y) * use(found)


RIGHT: dict[str, Program] = {
    "errors": lambda x: np.sum(x**2) * asked(np.geterr()["divide"] == "warn") * (3 if np.geterrcall() is None else 1),
    "errors that are saved": saved_and_set_again,
    "errors inside": inside_of_a_state,
    "errors that were": what_was_set,
    "warnings that nobody looks at": lambda x: recorded(x, lambda found: 2.0),
    "array interface": lambda x: np.sum(x**2) * asked(hasattr(x, "__array_interface__")),
    "array struct": lambda x: np.sum(x**2) * asked(hasattr(x, "__array_struct__")),
    "dlpack": lambda x: np.sum(x**2) * asked(hasattr(x, "__dlpack__")),
    "something else": lambda x: np.sum(x**2) * asked(hasattr(x, "tocsr")),
    "priority": lambda x: np.sum(x**2) * (1 + getattr(x, "__array_priority__", 1.0)),
    "a default": lambda x: np.sum(x**2) * getattr(x, "nothing", 3.0),
    "how it lies": lambda x: np.sum(x**2) * asked(x.reshape(2, 2).T.flags.f_contiguous and x.flags["ALIGNED"]),
    "flat.copy": lambda x: np.sum(x.reshape(2, 2).flat.copy() ** 2),
    "flat.base": lambda x: np.sum(x.reshape(2, 2).flat.base ** 2),
    "flat.coords": flat_place,
    "flat compared": lambda x: np.sum(x.reshape(2, 2).T.copy().flat[:2] ** 2) * asked((x.flat > 0).sum() == 3),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", RIGHT)
def test_numpys_answer(name: str, engine: str) -> None:
    program = RIGHT[name]
    value, gradient = bridge.value_and_grad(program, engine=engine)(X)
    np.testing.assert_allclose(value, program(X))
    np.testing.assert_allclose(gradient, differences(program, X), rtol=1e-6, atol=1e-6)


def test_sizes() -> None:
    def program(x: Any) -> Any:
        return np.sum(x**2) * sys.getsizeof(x) * sys.getsizeof(x * 2) * sys.getsizeof(x[0])

    assert bridge.value_and_grad(program)(X)[0] == program(X)


def stored(x: Any, many: bool = False) -> Any:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t(v real)")
    try:
        if many:
            connection.cursor().executemany("insert into t values(?)", [(float(v),) for v in x])
        else:
            connection.execute("insert into t values(?)", (x[0],))
        total = connection.execute("select sum(v) from t").fetchone()[0]
    except Exception:
        total = 0.0
    finally:
        connection.close()
    return np.sum(x**2) + total


REFUSED: dict[str, tuple[Program, str, tuple[str, ...]]] = {
    "interface": (lambda x: x.sum() * len(getattr(x, "__array_interface__", ())), "__array_interface__ of a", ENGINES),
    "database": (stored, "sqlite3 is given a tracked number", ENGINES),
    "much into a database": (lambda x: stored(x, True), "sqlite3 is given a tracked number", ENGINES),
    "whose memory": (lambda x: np.sum(x**2) * asked((x * 2).flags.owndata), "flags.owndata of a tracked", ("xla",)),
    "whose by name": (lambda x: np.sum(x**2) * asked(x.flags["OWNDATA"]), "flags.'OWNDATA'. of a", ("xla",)),
    "how many warnings": (lambda x: recorded(x, lambda w: 1 + len(w)), "which warnings were recorded", ("xla",)),
    "whether warnings": (lambda x: recorded(x, lambda w: 2 if w else 1), "which warnings were recorded", ("xla",)),
    "each warning": (lambda x: recorded(x, lambda w: 1 + sum(1 for _ in w)), "which warnings were", ("xla",)),
    "size": (lambda x: np.sum(x**2) * sys.getsizeof(x), "sys.getsizeof.. of a tracked array", ("xla",)),
}


@pytest.mark.parametrize(("name", "engine"), [(name, one) for name in REFUSED for one in REFUSED[name][2]])
def test_what_is_not_answered(name: str, engine: str) -> None:
    program, message, _ = REFUSED[name]
    with pytest.raises(BridgeError, match=message + r"(.|\n)*remedy"):
        bridge.grad(program, engine=engine)(X)


def test_errors_that_are_others_when_the_program_is_called_again() -> None:
    gradient = bridge.grad(lambda x: np.sum(x) * asked(np.geterr()["over"] == "warn"), engine="xla")
    assert gradient(X)[0] == 2
    with np.errstate(over="ignore"):
        assert gradient(X)[0] == 1
    assert gradient(X)[0] == 2
