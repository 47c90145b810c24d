"""`view` with a class, and functions of Python's made ufuncs: what they are, or what to write in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import NoRuleError, RefusedError

X = np.array([0.3, 0.7])


@pytest.mark.parametrize("view", [lambda x: x.view(np.ndarray), lambda x: x.view(type=np.ndarray)])
@pytest.mark.parametrize("engine", ["native", "xla"])
def test_a_view_as_the_plain_class_is_a_view(view: Callable[[Any], Any], engine: str) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        view(y)[0] = x[1] * 3
        return np.sum(y**2)

    np.testing.assert_allclose(bridge.grad(f, engine=engine)(X), [0, 18 * 0.7 + 1.4])


def test_a_view_as_another_class_is_refused_by_its_name() -> None:
    with pytest.raises(RefusedError, match=r"a recarray with tracked values(.|\n)*np\.asarray"):
        bridge.grad(lambda x: np.sum(x.view(np.recarray)))(X)
    with pytest.raises(RefusedError, match=r"matrix, a subclass of np\.ndarray, in a program that is compiled"):
        bridge.grad(lambda x: np.sum(x.view(np.matrix)), engine="xla")(X)


def test_frompyfunc_is_called_what_it_is() -> None:
    square = np.frompyfunc(lambda v: v * v, 1, 1)
    with pytest.raises(NoRuleError, match=r"np\.frompyfunc\(<lambda>\)") as raised:
        bridge.grad(lambda x: np.sum(square(x)))(X)
    assert "np.vectorize" in str(raised.value)


def test_objects_that_answer_with_any_error() -> None:
    class Strict:
        def __getattr__(self, name: str) -> Any:
            raise KeyError(name)

    class Placed:
        place = 3

    for thing in (Strict(), Placed()):
        assert bridge.grad(lambda x, thing: np.sum(x) + bool([thing]))(X, thing).tolist() == [1, 1]
        assert bridge.grad(lambda x, t=thing: np.sum(bridge.checkpoint(lambda y, t: 2 * y)(x, t)))(X).tolist() == [2, 2]
