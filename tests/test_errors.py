"""Errors: one base, and messages that say what, where and the remedy."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import bridge
from bridge import errors

CLASSES = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.BridgeError)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda c: c.__name__)
def test_every_error_has_one_base_and_a_docstring(kind: type[errors.BridgeError]) -> None:
    assert kind.__doc__
    error = kind("what", where="file.py:3 in f", remedy="do this")
    assert str(error) == "what\n  at file.py:3 in f\n  remedy: do this"
    assert str(kind("what")) == "what"


def test_errors_are_also_the_builtin_kind_that_code_expects() -> None:
    assert issubclass(errors.EscapeError, TypeError)
    assert issubclass(errors.AliasError, ValueError)
    assert issubclass(errors.NoRuleError, TypeError)
    assert issubclass(errors.ContextError, RuntimeError)
    assert issubclass(errors.ArgumentError, TypeError)
    assert issubclass(errors.CotangentError, ValueError)
    assert issubclass(errors.CheckError, AssertionError)


def test_a_place_is_added_once() -> None:
    error = errors.RuleError("what")
    error.add_place("first")
    error.add_place("second")
    assert error.where == "first"


def test_the_line_is_the_one_that_called() -> None:
    def f(x):
        y = x * 2
        return float(np.sum(y))

    line = inspect.getsourcelines(f)[1] + 2
    with pytest.raises(errors.EscapeError) as caught:
        bridge.grad(f, source=False)(np.ones(3))
    assert caught.value.where is not None
    assert caught.value.where.endswith(f"test_errors.py:{line} in f")


def test_an_error_inside_numpy_or_scipy_names_the_user_s_line() -> None:
    special = pytest.importorskip("scipy.special")

    def f(x):
        return special.logsumexp(x)

    with pytest.raises(errors.BridgeError, match=r"test_errors\.py"):
        bridge.grad(f, source=False)(np.ones(3))


@pytest.mark.parametrize(("name", "said"), [("int", "an int"), ("ndarray", "an ndarray"), ("float", "a float")])
def test_classes_have_their_article(name: str, said: str) -> None:
    assert errors.with_article(name) == said
