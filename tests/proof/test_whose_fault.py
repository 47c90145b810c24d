"""A difference says which pull is wrong, of which argument, once for all engines that share it, and how sure it is."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.extend import pulls
from bridge.proof.programs.verdicts import one_for_each_fault
from bridge.proof.report.model import Difference

X = np.array([0.3, -0.7, 1.1, 0.4])
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed (pip install jax)")


def weighted(x: Any, w: Any) -> Any:
    return np.asarray(x) * w


def wrong_for_w(ct: Any, out: Any, x: Any, w: Any) -> Any:
    return ct * w, ct * 2 * x


@pytest.fixture(autouse=True)
def _taught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule for one test: what tests teach the rule book it forgets between them."""
    monkeypatch.setitem(globals(), "TAUGHT", bridge.rule(weighted)(wrong_for_w))


TAUGHT: Any = None


def program(x: Any, w: Any) -> Any:
    y = np.zeros(4)
    for _ in range(3):
        y[1:] += TAUGHT(x[:-1], w[:-1])
    return np.sum(y * y)


def scaled(a: Any, k: Any) -> None:
    a *= k


def wrong_for_both(ct: Any, a: Any, k: Any) -> Any:
    return 2.0 * ct * k, 3.0 * np.sum(ct * a)


SCALED = bridge.mutating_rule(mutates="a")(scaled).pull(wrong_for_both)


def scaling(x: Any, k: Any) -> Any:
    y = x * 1.0
    SCALED(y[1:], k)
    return np.sum(y * y)


def only(program: Callable[..., Any], *args: Any, engines: Any = ("native",)) -> Difference:
    report = bridge.crosscheck(program, engines=engines, shrink=False)(*args)
    assert len(report.differences) == 1, repr(report)
    (one,) = report.differences
    return one


def defined(f: Callable[..., Any]) -> str:
    return f"{inspect.getsourcefile(f)}:{inspect.getsourcelines(f)[1]}"


def test_the_pull_and_the_argument_whose_cotangent_is_wrong() -> None:
    one = only(program, X, X + 2)
    assert (one.argument, one.pull) == ("w", defined(wrong_for_w))
    report = bridge.crosscheck(program, "native", shrink=False)(X, X + 2)
    for shown in (repr(report), str(report), report.to_html(), report._repr_html_()):
        assert "wrong cotangent of w" in " ".join(shown.split())


def test_every_argument_whose_cotangent_is_wrong() -> None:
    one = only(scaling, X, np.array(1.5))
    assert (one.argument, one.pull) == ("a and k", defined(wrong_for_both))


def test_an_argument_that_is_given_by_keyword_only() -> None:
    def product(x: Any, *, w: Any) -> Any:
        return np.asarray(x) * w

    def wrong(ct: Any, out: Any, x: Any, *, w: Any) -> Any:
        return ct * w, ct * 2 * x

    taught = bridge.rule(product)(wrong)
    one = only(lambda x, w: np.sum(taught(x, w=w)), X, X + 2)
    assert (one.argument, one.pull) == ("w", defined(wrong))


def test_one_pull_for_each_argument() -> None:
    def product(x: Any, w: Any) -> Any:
        return np.asarray(x) * w

    def of_first(ct: Any, out: Any, x: Any, w: Any) -> Any:
        return ct * w * 1.5

    def of_second(ct: Any, out: Any, x: Any, w: Any) -> Any:
        return ct * x

    taught = pulls(product, of_first, of_second)
    one = only(lambda x, w: np.sum(taught(x, w) ** 2), X, X + 2)
    assert (one.argument, one.pull) == ("x", defined(of_first))


@needs_jax
def test_engines_that_share_a_rule_are_one_difference() -> None:
    alone, together = only(program, X, X + 2), only(program, X, X + 2, engines=("native", "xla"))
    assert (together.engines, together.shared) == (("native", "finite differences"), ("xla",))
    assert together.suspects == ("native", "xla")
    assert together.confidence >= alone.confidence > 0.9


@needs_jax
def test_engines_that_share_the_rule_take_nothing_from_the_verdict() -> None:
    taught = bridge.rule(lambda x: np.sin(np.asarray(x)))(lambda ct, out, x: 2 * ct * np.cos(x))

    def hidden(x: Any) -> Any:
        return taught(x) * 1.0

    alone = only(hidden, 0.4)
    assert 0.8 < alone.confidence < 0.95  # one coordinate, and the operation itself
    assert only(hidden, 0.4, engines=("native", "xla")).confidence == alone.confidence


def test_what_several_engines_do_wrong_in_one_operation_is_one_fault_and_surer() -> None:
    first = Difference("primal", ("native", "numpy"), "value", 0.5, "2", "1", "it differs.", 0.8, 3, "f", "a.py:3 in g")
    second = replace(first, engines=("jax", "numpy"), found="3", confidence=0.9)
    elsewhere = replace(first, engines=("xla", "numpy"), where="a.py:4 in g")
    unnamed = replace(first, engines=("xla", "numpy"), name="", where=None, operation=None)
    merged, *others = one_for_each_fault([first, second, elsewhere, unnamed, unnamed])
    assert (merged.suspects, merged.found, merged.confidence) == (("native", "jax"), "2", 0.95)
    assert others == [elsewhere, unnamed, unnamed]


def test_of_two_faults_the_first_on_the_way_back_is_named() -> None:
    found = bridge.crosscheck(lambda x, w, k: program(x, w) + scaling(x, k), "native", shrink=False)(X, X + 2, 1.5)
    assert len(found.differences) == 1  # one engine parts once, and names the first of two operations
    assert "1 more operation disagrees" in found.differences[0].explanation
