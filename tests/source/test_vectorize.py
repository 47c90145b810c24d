"""`np.vectorize` in programs that are read: of keywords, excluded arguments, and slices by a signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bridge

X = np.array([0.7, -1.3, 2.1, 0.4])

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "keywords": lambda x: np.vectorize(lambda a, b=2.0, c=1.0: a * b + c)(x, b=x[::-1], c=3.0).sum(),
    "excluded by name": lambda x: np.vectorize(lambda a, w: (a * w).sum(), excluded=["w"])(x, w=x).sum(),
    "excluded by position": lambda x: np.vectorize(lambda a, w: a * np.dot(w, w), excluded={1})(x, x).sum(),
    "nothing varies": lambda x: np.vectorize(lambda w: np.dot(w, w), excluded={0})(x),
    "a signature": lambda x: np.vectorize(np.convolve, signature="(n),(m)->(k)")(x.reshape(2, 2), [1.0, x[0]]).sum(),
    "several results": lambda x: sum(
        (k + 1) * one.sum()
        for k, one in enumerate(
            np.vectorize(lambda a, b: (a @ b, np.outer(a, b)), signature="(n),(n)->(),(n,n)")(
                x.reshape(2, 1, 2), x.reshape(2, 2)
            )
        )
    ),
    "numbers": lambda x: np.vectorize(lambda a: a * a, signature="()->()")(x).sum(),
    "no loop": lambda x: np.vectorize(lambda a: a @ a, signature="(n)->()")(x) * 2.0,
    "both": lambda x: np.vectorize(lambda a, p: (a**p).sum(), signature="(n)->()", excluded=[1])(x.reshape(2, 2), 2)[1],
    "nothing": lambda x: np.vectorize(lambda a, b: a * b, otypes=[float], excluded=[1])(x[:0], x).sum() + x[0],
    "a captured array": lambda x: np.vectorize(lambda a: a * x[0], signature="()->()")(np.arange(3.0)).sum(),
}
BY_VALUES: dict[str, Callable[[Any], Any]] = {
    "the first result is an integer": lambda x: np.vectorize(lambda a: 0 if a > 0 else a * a * 3)(x).sum() + x[0],
    "the first slice gives an integer": lambda x: (
        np.vectorize(lambda a: a[0] * 3 if a[0] > 1 else 0, signature="(n)->()")(x.reshape(2, 2)).sum() + x[0]
    ),
    "texts": lambda x: x[0] * len(np.vectorize(lambda a: "p" if a > 0 else "nn")(x)[1]),
}
WRONG: dict[str, Callable[[Any], Any]] = {
    "another shape": lambda x: np.vectorize(lambda a: a, signature="(n)->()")(x.reshape(2, 2)).sum(),
    "two results": lambda x: np.vectorize(lambda a: (a, a), signature="(n)->(n)")(x.reshape(2, 2)).sum(),
    "an argument less": lambda x: np.vectorize(lambda a, b: a, signature="(n),(n)->(n)")(x.reshape(2, 2)).sum(),
    "other lengths": lambda x: np.vectorize(lambda a, b: a, signature="(n),(n)->(n)")(x, x[:2]).sum(),
    "nothing without otypes": lambda x: np.vectorize(lambda a, b: a * b, excluded=[1])(x[:0], x).sum() + x[0],
}


@pytest.mark.parametrize("name", [*PROGRAMS, *BY_VALUES])
def test_gradients(name: str) -> None:
    bridge.check_gradient((PROGRAMS | BY_VALUES)[name])(X)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name: str) -> None:
    found, expected = (bridge.value_and_grad(PROGRAMS[name], engine=one)(X) for one in ("xla", "native"))
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other)


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("engine", ["native", "xla"])
def test_errors_are_numpys(name: str, engine: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as plain:
        WRONG[name](X)
    with pytest.raises(plain.type) as raised:
        bridge.grad(WRONG[name], engine=engine)(X)
    assert str(plain.value) in str(raised.value)
