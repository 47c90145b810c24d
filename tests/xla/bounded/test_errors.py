"""What a window of run-time length cannot do is said by name, with the line and a remedy; lengths as NumPy says it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeWarning, IndexRangeError, RefusedError, TraceError

X = np.linspace(0.5, 1.5, 6)


def run(f: Any, i: int = 1, j: int = 4) -> Any:
    """`f` of a window `X[i:j]`, compiled; a number."""
    return bridge.xla(lambda x, s: f(x[s[0] : s[1]], x, s))(X, np.array([i, j]))


UNKNOWN = {
    "np.percentile": lambda w, x, s: np.percentile(w, 30),
    "np.linalg.eigvalsh": lambda w, x, s: np.sum(np.linalg.eigvalsh(w[:, None] * w)),
    "np.convolve": lambda w, x, s: np.convolve(w, w),
    "iteration": lambda w, x, s: sum([v for v in w]),
    "unpacking": lambda w, x, s: [*w],
    ".nonzero": lambda w, x, s: w.nonzero(),
    "masks": lambda w, x, s: w[w > 1.0],
    "np.reshape": lambda w, x, s: np.reshape(w, (2, -1)),
    "a condition": lambda w, x, s: 1.0 if w else 2.0,
    "with where=": lambda w, x, s: np.add(w, 1.0, where=w > 1.0),
    "the step of a slice": lambda w, x, s: np.sum(x[:: s[0]]),
    "has no bound that is known before": lambda w, x, s: np.sum(bridge.numpy.zeros(s[0])),
    "called like this": lambda w, x, s: np.full_like(w, 1.0, shape=(3,)),
}


@pytest.mark.parametrize("words", UNKNOWN)
def test_unknown(words: str) -> None:
    with pytest.raises(TraceError, match=r"test_errors\.py:\d+") as caught:
        run(UNKNOWN[words])
    assert "remedy" in str(caught.value)
    assert words in str(caught.value) or words == "unpacking"


def test_result() -> None:
    with pytest.raises(TraceError, match="returns a traced float64 array of run-time shape"):
        run(lambda w, x, s: w)


def test_carried() -> None:
    with pytest.raises(RefusedError, match=r"a loop carries a traced float64 array of run-time shape \(up to 6\)"):
        run(lambda w, x, s: np.sum(bridge.fori_loop(0, 2, lambda k, v: v * 2.0, w)))
    with pytest.raises(RefusedError, match="the body of a loop returns a traced"):
        run(lambda w, x, s: np.sum(bridge.fori_loop(0, 2, lambda k, v: v[: s[0]], x * 1.0)))
    with pytest.raises(RefusedError, match="a branch of a cond returns a traced"):
        run(lambda w, x, s: np.sum(bridge.cond(s[0] > 0, lambda: w, lambda: w * 2.0)))


LENGTHS = {
    "3 meets one of length 5": lambda w, x, s: np.sum(w + x[1:]),
    "3 meets one of length 2": lambda w, x, s: np.sum(w * x[s[0] : s[1]][1:]),
    "2 meets one of length 3": lambda w, x, s: w[1:] @ w,
}


@pytest.mark.parametrize("words", LENGTHS)
def test_lengths_that_do_not_go_together(words: str) -> None:
    with pytest.raises(ValueError, match=rf"an axis of length {words}, at .*test_errors\.py:\d+"):
        run(LENGTHS[words])


def test_writes_of_another_length() -> None:
    def write(w: Any, x: Any, s: Any) -> Any:
        y = x.copy()
        y[s[0] : s[1]] = x[: s[0]]
        return np.sum(y)

    with pytest.raises(ValueError, match="an axis of length 2 meets one of length 3"):
        run(write, 2, 5)
    # Of one element, or of as many as there are, a write is one.
    assert run(write, 1, 5) == pytest.approx(X[0] * 5 + X[5])
    assert run(write, 2, 4) == pytest.approx(2 * (X[0] + X[1]) + X[4:].sum())

    def grown(w: Any, x: Any, s: Any) -> Any:
        y = x.copy()
        y += w
        return np.sum(y)

    assert run(grown, 1, 2) == pytest.approx(np.sum(X + X[1:2]))
    assert run(grown, 0, 6) == pytest.approx(2 * np.sum(X))
    with pytest.raises(ValueError, match="meets one of length"):
        run(grown, 0, 4)


def test_nothing_has_no_maximum() -> None:
    with pytest.raises(ValueError, match=r"np\.max of an empty array has no value, at .*test_errors\.py:\d+"):
        run(lambda w, x, s: w.max(), 4, 4)
    with pytest.raises(ValueError, match=r"np\.argmin of an empty array"):
        run(lambda w, x, s: np.argmin(w), 4, 4)


def test_elements() -> None:
    assert run(lambda w, x, s: w[2] + w[-3]) == pytest.approx(X[3] + X[1])
    with pytest.raises(IndexRangeError, match="index 3 is out of range"):
        run(lambda w, x, s: w[3])
    with pytest.raises(IndexRangeError, match="index -4 is out of range"):
        run(lambda w, x, s: w[-4])


PLAIN = np.ones(6)


@pytest.mark.filterwarnings("ignore:compiled calls leave")
def test_a_plain_array_that_is_written() -> None:
    def f(w: Any, x: Any, s: Any) -> Any:
        PLAIN[1:4] = w
        return np.sum(PLAIN * x)

    with pytest.warns(BridgeWarning, match=r"leave an array 'PLAIN' of shape \(6,\) as it was"):
        assert run(f, 2, 5) == pytest.approx(np.sum(X) + np.sum((X[2:5] - 1.0) * X[1:4]))
    assert np.all(PLAIN == 1.0)
    with pytest.raises(ValueError, match="meets one of length"):
        run(f, 2, 4)


def test_negative_lengths() -> None:
    def f(w: Any, x: Any, s: Any) -> Any:
        return np.sum(bridge.numpy.ones(np.minimum(s[0] - s[1], 5)))

    assert run(f, 4, 2) == 2.0
    with pytest.raises(ValueError, match="negative dimensions are not allowed: a length of -3"):
        run(f)
