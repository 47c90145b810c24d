"""Faults while a branch or a loop is tried: they pass through, and nothing is kept; what a program raises is its."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import TraceError
from tests.faults.points import ERRORS, Failing

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

from bridge.xla.tracing.accessing import Accessing
from bridge.xla.tracing.frames import Framing

X = np.linspace(-1.0, 1.5, 6)


def branch(x: Any) -> Any:
    y = x * 2.0
    if x[0] > 0:
        y[1:] = np.sin(x[1:])
    else:
        y[2:] *= 3.0
    return np.sum(y * y)


def loop(x: Any) -> Any:
    for _ in range(30):
        x[1:] += 0.01 * np.sin(x[:-1])
        if x[0] > 0:
            x[0] *= 0.5
    return np.sum(x)


def loop_until(x: Any) -> Any:
    s, n = x[1] * 1.0, 0
    while s < 5.0:
        s = s * 1.5 + 1.0
        if n > 3:
            s = s + x[2]
        n += 1
    return s


def expression(x: Any) -> Any:
    return np.sum(np.cos(x)) if x[0] > 0 else x[1] * 2


def raised_once(
    error: type[BaseException], at: int, function: Callable[..., Any], raised: list[int]
) -> Callable[..., Any]:
    count = itertools.count(1)

    def raising(*args: Any, **kwargs: Any) -> Any:
        if next(count) == at:
            raised.append(at)
            raise error("of the machine")
        return function(*args, **kwargs)

    return raising


@pytest.mark.ci
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("f", [branch, loop, loop_until, expression])
def test_a_fault_is_not_what_a_program_raises(f: Any, error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = bridge.grad(f)(X.copy())
    for (owner, name), at in itertools.product(((Accessing, "read"), (Accessing, "put"), (Framing, "dry")), (1, 6)):
        g, found, raised = bridge.xla(bridge.grad(f)), None, []
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, raised_once(error, at, vars(owner)[name], raised))
            with suppress(error, *([TraceError] if error is Failing else [])):
                found = g(X.copy())
        # A loop in whose trial something else failed is unrolled, or refused.
        assert found is None or error is Failing or not raised
        for _ in range(2):
            np.testing.assert_allclose(g(X.copy()), expected, rtol=1e-12)


def looks_at(path: str) -> Any:
    def f(x: Any) -> Any:
        if x[0] > 0:
            return np.sum(x) * os.stat(path).st_size
        return np.sum(x * x)

    return f


@pytest.mark.filterwarnings("ignore:.*stat")  # what a compiled program asks of files is told
def test_a_file_that_is_not_there_yet(tmp_path: Any) -> None:
    path = str(tmp_path / "rate")
    g = bridge.xla(bridge.grad(looks_at(path)))
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            g(X.copy())
    with open(path, "w") as file:
        file.write("123")
    np.testing.assert_allclose(g(X.copy()), 2 * X)
    np.testing.assert_allclose(g(np.abs(X)), np.full(6, 3.0))


def own(kind: type[Exception]) -> Any:
    def f(x: Any) -> Any:
        if x[0] > 0:
            raise kind("too large")
        return np.sum(x * x)

    return f


@pytest.mark.parametrize("kind", [MemoryError, OSError, FileNotFoundError, ValueError])
def test_what_a_program_raises_itself_is_its_own(kind: Any) -> None:
    g = bridge.xla(bridge.grad(own(kind)))
    for _ in range(2):
        np.testing.assert_allclose(g(X.copy()), 2 * X)
        with pytest.raises(kind, match="too large"):
            g(np.abs(X))


def test_a_fault_that_the_program_may_catch() -> None:
    def f(x: Any) -> Any:
        try:
            if x[0] > 0:
                x[1:] *= len(os.listdir("/no/such/folder"))
        except OSError:
            x *= 2.0
        return np.sum(x)

    g = bridge.xla(bridge.grad(f))
    for _ in range(2):
        with pytest.raises(TraceError, match=r"failed while it was traced, and the program may catch that: FileNot"):
            g(X.copy())


def test_a_side_that_raises_once() -> None:
    fails = True

    def f(x: Any) -> Any:
        nonlocal fails
        if x[0] > 0:
            before, fails = fails, False
            if before:
                raise ValueError("the first time")
            return np.sum(x)
        return np.sum(x * x)

    g = bridge.xla(f)
    with pytest.raises((ValueError, TraceError)):
        for _ in range(2):
            assert g(X.copy()) == pytest.approx(np.sum(X * X))
            g(np.abs(X))
