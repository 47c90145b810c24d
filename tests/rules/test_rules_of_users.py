"""What a user says of a function holds, whenever and of whatever he says it, under every engine; he is told once."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import bridge
from bridge import extend
from bridge.errors import BridgeWarning, NoRuleError, RefusedError, RuleError
from bridge.rulebook import book
from bridge.rulebook.facts import FACTS

ROOT = Path(__file__).parents[2]
X = np.array([0.3, 0.7, 1.2])
ONES = np.ones(3)


@pytest.fixture(autouse=True)
def book_as_it_was() -> Iterator[None]:
    book.read_book()
    tables: list[Any] = [
        book.RULES, book.ZERO_PULL, book.REFUSED, book.STAND_INS, book.OF_USERS, FACTS,
        book._replaced, book._of_users,
    ]  # fmt: skip
    before = [table.copy() for table in tables]
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)
    book._edition = object()
    book._tell()


def hundred(function: Any) -> Any:
    """A rule that nobody else has: the derivative is 100."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BridgeWarning)
        return extend.rule(function)(lambda ct, out, x, *rest: ct * 100 * np.ones(x.shape))


def kernel(x: Any) -> Any:
    return x**2


def branching(x: Any) -> Any:
    out = np.zeros(len(x))
    for k in range(len(x)):
        if x[k] > 0.5:
            out[k] = x[k] ** 2
        else:
            out[k] = np.sin(x[k])
    return out


class Model:
    def step(self, x: Any) -> Any:
        return x**2


def written(x: Any) -> Any:
    y = x * 1.0
    np.cosh(x, out=y)
    return y @ ONES


def masked(x: Any) -> Any:
    y = x * 1.0
    np.cosh(x, out=y, where=np.array([True, False, True]))
    return y @ ONES


def twice(x: Any) -> Any:
    for _ in range(2):
        x = kernel(x)
    return x @ ONES


class Said(NamedTuple):
    name: str
    of: Any
    program: Callable[[Any], Any]
    gradient: Any = 100.0
    engines: tuple[str, ...] = ("native", "jax", "xla")


NATIVE: tuple[str, ...] = ("native",)
OWN = ("native", "xla")
SAID = (
    Said("ufunc", np.cosh, lambda x: np.cosh(x) @ ONES),
    Said("ufunc with out=", np.cosh, written),
    Said("ufunc under a mask", np.cosh, masked, (100.0, 1.0, 100.0)),
    Said("no derivative in the book", np.sign, lambda x: np.sign(x) @ ONES),
    Said("method of arrays", np.round, lambda x: x.round() @ ONES),
    Said("reduction", np.sum, lambda x: x.sum()),
    Said("SciPy's ufunc", scipy.special.erf, lambda x: scipy.special.erf(x) @ ONES),
    Said("stand-in in the book", scipy.linalg.expm, lambda x: np.trace(scipy.linalg.expm(np.diag(x))), 100.0, NATIVE),
    Said("function of the program", kernel, lambda x: kernel(x) @ ONES, 100.0, OWN),
    Said("loops and branches in it", branching, lambda x: branching(x) @ ONES, 100.0, OWN),
    Said("method of the program", Model.step, lambda x: Model().step(x) @ np.eye(3) @ ONES, None, OWN),
    Said("given to map", kernel, lambda x: next(iter(list(map(kernel, [x])))) @ ONES, 100.0, OWN),
    Said("in a checkpoint", kernel, lambda x: bridge.checkpoint(kernel)(x) @ ONES, 100.0, OWN),
    Said("in a compiled loop", kernel, lambda x: bridge.fori_loop(0, 2, lambda k, c: kernel(c), x) @ ONES, 1e4, OWN),
    Said("in a loop", kernel, twice, 1e4, OWN),
    Said("the differentiated function", kernel, kernel, 100.0, OWN),
)  # fmt: skip


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in SAID])
def test_a_users_rule_holds(case: Said) -> None:
    if case.of is Model.step:
        extend.rule(Model.step)(lambda ct, out, self, x: (None, ct * 100))
    else:
        hundred(case.of)
    x = X[0] if case.of is case.program else X
    for engine in case.engines:
        found = bridge.grad(case.program, engine=engine)(x)
        np.testing.assert_allclose(found, np.broadcast_to(case.gradient or 100.0, np.shape(x)), err_msg=engine)
    _, tangent = bridge.jvp(case.program, (x,), (np.ones_like(x),))
    np.testing.assert_allclose(tangent, np.sum(np.broadcast_to(case.gradient or 100.0, np.shape(x))))


def test_a_method_of_a_ufunc_obeys_its_rule() -> None:
    with pytest.warns(BridgeWarning, match="what you say of np.add replaces"):
        extend.rule(np.add)(lambda ct, out, x, y: (ct * 10, ct * 100))
    want = {"reduce": (100.0, 1000.0, 100.0), "accumulate": (100.0, 1000.0, 100.0)}

    def in_place(x: Any) -> Any:
        y = x * 1.0
        y += x
        return y @ ONES

    def scattered(x: Any) -> Any:
        y = x * 1.0
        np.add.at(y, [0, 0], x[1:])
        return y @ ONES

    for engine in ("native", "jax", "xla"):
        assert bridge.grad(np.add.reduce, engine=engine)(X).tolist() == list(want["reduce"])
        last = bridge.grad(lambda x: np.add.accumulate(x)[2], engine=engine)(X)
        assert last.tolist() == list(want["accumulate"])
        assert bridge.grad(in_place, engine=engine)(X).tolist() == [110.0] * 3
        assert bridge.grad(scattered, engine=engine)(X).tolist() == [100.0, 1001.0, 101.0]


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_what_ran_before_is_forgotten(engine: str) -> None:
    f = bridge.grad(lambda x: np.cosh(kernel(x)) @ ONES, engine=engine)
    f(X)
    hundred(np.cosh)
    hundred(kernel)
    assert f(X).tolist() == [1e4] * 3


def test_before_the_book_is_read_he_is_told_once_where_he_says_it() -> None:
    code = (
        "import numpy as np, bridge\n"
        "from bridge.rulebook import book\n"
        "assert book._waiting is None\n"
        "for scale in (3, 100):\n"
        "    @bridge.rule(np.tanh)\n"
        "    def tanh(ct, out, x): return ct * scale\n"
        "print(bridge.grad(lambda x: np.sum(np.tanh(x)))(np.ones(2)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "[100. 100.]\n"
    assert done.stderr.count("BridgeWarning") == 1
    assert "<string>:5: BridgeWarning: what you say of np.tanh replaces what the rule book says" in done.stderr


def test_in_threads_that_read_and_say_at_once() -> None:
    code = (
        "import threading, numpy as np, bridge\n"
        "found = []\n"
        "def say(): bridge.rule(np.tanh)(lambda ct, out, x: ct * 100)\n"
        "def ask(): bridge.grad(lambda x: np.sum(np.sinh(x)))(np.ones(2))\n"
        "threads = [threading.Thread(target=t) for t in (ask, say, ask, ask)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "print(bridge.grad(lambda x: np.sum(np.tanh(x)))(np.ones(2)))\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("[100. 100.]\n", "")


def test_in_another_thread() -> None:
    thread = threading.Thread(target=hundred, args=(np.cosh,))
    thread.start()
    thread.join()
    assert bridge.grad(lambda x: np.cosh(x) @ ONES)(X).tolist() == [100.0] * 3


@pytest.mark.filterwarnings("ignore::bridge.errors.BridgeWarning")
def test_other_doors() -> None:
    extend.nondifferentiable(np.tanh)
    assert bridge.grad(lambda x: np.tanh(x) @ ONES)(X).tolist() == [0.0] * 3
    extend.refused("say no", np.exp, np.prod)
    for f in (np.exp, np.prod):
        with pytest.raises(RefusedError, match="say no"):
            bridge.grad(lambda x, f=f: np.sum(f(x)))(X)
    extend.stand_in(kernel)(lambda x: 7 * x)
    assert bridge.grad(lambda x: kernel(x) @ ONES)(X).tolist() == [7.0] * 3
    extend.pulls(np.hypot, lambda ct, out, x, y: ct * 2, lambda ct, out, x, y: ct * 3)
    assert bridge.grad(lambda x: np.hypot(x, 2 * x) @ ONES)(X).tolist() == [8.0] * 3
    extend.composed(np.arctan)(lambda x: 5 * x)
    assert bridge.grad(lambda x: np.arctan(x) @ ONES)(X).tolist() == [5.0] * 3


def test_what_is_not_his_to_say() -> None:
    with pytest.raises(RuleError, match=r"a rule of np\.copy: it makes or moves memory") as raised:
        extend.rule(np.copy)(lambda ct, out, a: ct)
    assert "function of your own" in str(raised.value)


def test_what_is_not_seen_is_said() -> None:
    hundred(kernel)
    names: dict[str, Any] = {"kernel": kernel, "np": np}
    exec("def unread(x): return np.sum(kernel(x))", names)
    with pytest.warns(
        BridgeWarning, match="unread calls kernel and is not read, so that the rule of kernel is not used"
    ):
        bridge.grad(names["unread"])(X)


def test_an_engine_that_has_no_counterpart_says_so() -> None:
    hundred(kernel)
    with pytest.raises(NoRuleError, match=r"engine='jax' has no rule for .*kernel"):
        bridge.grad(lambda x: kernel(x) @ ONES, engine="jax")(X)


def test_he_is_told_at_his_own_line() -> None:
    """Once for each function, by whichever door."""
    for function in (np.arccosh, np.arcsinh):
        with pytest.warns(BridgeWarning, match=r"replaces what the rule book says, from here on") as told:
            extend.rule(function)(lambda ct, out, x: ct * 3.0)
        assert [one.filename for one in told] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            extend.rule(function)(lambda ct, out, x: ct * 4.0)
        np.testing.assert_array_equal(bridge.grad(lambda x: np.sum(function(x + 1.5)))(np.zeros(2)), [4.0, 4.0])  # noqa: B023
