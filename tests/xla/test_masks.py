"""Boolean masks that are known at run time only, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import TraceError

X = np.random.default_rng(0).normal(size=(3, 4))


def doubled_in_place(x: Any) -> Any:
    x[x > 0] *= 2.0
    return np.sum(x**2)


def from_one_array_to_another(x: Any) -> Any:
    y, m = np.zeros_like(x), x > 0
    y[m] = np.sqrt(x[m]) * 3
    return np.sum(y) + np.sum(x[m]) + np.mean(x[~m]) * np.prod(x[m])


def spelled_twice(x: Any) -> Any:
    x[x > 0] = x[x > 0] * 2.0 + 1
    return np.sum(x**2)


def rows(x: Any) -> Any:
    m = np.sum(x, axis=1) > 0
    x[m] += np.arange(4.0)
    return np.sum(x**3)


def logarithm_of_the_positive(x: Any) -> Any:
    m = x > 0
    x[m] = np.log(x[m])
    x[~m] = 0
    return np.sum(x)


def read_before_a_write(x: Any) -> Any:
    m = x > 0
    picked = x[m]
    x[0] = 7.0
    x[m] = picked * 2
    return np.sum(x**2) + (picked * picked).sum()


def in_a_loop(x: Any) -> Any:
    def body(i: Any, x: Any) -> Any:
        m = x > 0.5
        x[m] *= 0.7
        x[i] += 0.1
        return x

    return np.sum(bridge.fori_loop(0, 3, body, x) ** 2)


def test_over_any_and_all(x: Any = X) -> None:
    compiled = bridge.xla(lambda x: (np.any(x[x > 0] > 1.0), np.all(x[x > 0] > 0.0), np.all(x[x > 9] > 0.0)))
    picked = x[x > 0]
    assert compiled(x) == (bool(np.any(picked > 1.0)), True, True)


PROGRAMS = (
    doubled_in_place,
    from_one_array_to_another,
    spelled_twice,
    rows,
    logarithm_of_the_positive,
    read_before_a_write,
    in_a_loop,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(program: Callable[[Any], Any]) -> None:
    value, gradient = bridge.value_and_grad(program, engine="xla")(X)
    expected, reference = bridge.value_and_grad(program, engine="native")(X)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient, reference, rtol=1e-12, atol=1e-13)


def changed_between(x: Any) -> Any:
    first = x[x > 0]
    x *= 2
    return np.sum(first * x[x > 0])


def mask_written(x: Any) -> Any:
    m = x > 0
    picked = x[m]
    m[0] = False
    x[m] = picked
    return np.sum(x)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (lambda x: np.max(x[x > 0]), r"np.max of x\[mask\] needs to know how many"),
        (lambda x: x[x > 0][0], r"indexing of x\[mask\]"),
        (lambda x: float(len(x[x > 0])), r"len\(\) of x\[mask\]"),
        (lambda x: np.sum(x[x > 0] * np.arange(5.0)), "with an array of shape"),
        (lambda x: np.sum(x[x[:, 0] > 0, 1]), "and other indices"),
        (changed_between, "not known to be the same"),
        (mask_written, "not known to be the same"),
        (lambda x: np.sort(x[x > 0]), "np.sort"),
        (lambda x: np.asarray(x[x > 0]), "plain array"),
        (lambda x: x[x > 0].cumsum(), r"\.cumsum of x\[mask\]"),
    ],
)
def test_what_needs_the_number_of_elements_is_refused(
    program: Callable[[Any], Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRIDGE_SOURCE", "0")
    with pytest.raises(TraceError, match=rf"(?s){says}.*remedy: ") as caught:
        bridge.xla(program)(X)
    assert "test_masks.py" in str(caught.value)
