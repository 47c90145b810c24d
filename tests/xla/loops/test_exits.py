"""A side of a branch that leaves the program, by `sys.exit()` for example, is one that a run must not take.

Each record runs to its end for small numbers, and leaves for large ones.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError

jax = pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([1.0, 2.0, 3.0])
RECORDS: dict[str, tuple[Callable[[Any], Any], type[BaseException]]] = {}


class Leaving(BaseException):
    """The program's own way out."""


def leaves(kind: type[BaseException]) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    def record(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
        RECORDS[program.__name__.replace("_", " ")] = program, kind
        return program

    return record


@leaves(SystemExit)
def by_a_function(x: Any) -> Any:
    if x[0] > 5:
        sys.exit(3)
    return np.sum(x * 2)


@leaves(SystemExit)
def by_a_statement(x: Any) -> Any:
    if x[0] > 5:
        raise SystemExit("too large")
    return np.sum(x * x)


@leaves(SystemExit)
def on_the_other_side(x: Any) -> Any:
    if x[0] < 5:
        x = x * 3
    else:
        sys.exit()
    return np.sum(x)


@leaves(SystemExit)
def in_a_helper(x: Any) -> Any:
    def checked(y: Any) -> Any:
        if y > 5:
            sys.exit(f"{5} is the most")
        return y * 2

    return checked(x[0]) + x[1]


@leaves(SystemExit)
def in_a_loop(x: Any) -> Any:
    for _ in range(20):
        if x[0] > 5:
            sys.exit(1)
        x = x * 0.9
    return np.sum(x)


@leaves(SystemExit)
def in_a_loop_of_unknown_length(x: Any) -> Any:
    y = x * 1.0
    while np.sum(y) < 20:
        y = y * 1.5
    if y[0] > 9:
        sys.exit(4)
    return np.sum(y)


@leaves(SystemExit)
def in_an_inner_branch(x: Any) -> Any:
    if x[0] > 0:
        if x[0] > 5:
            sys.exit(2)
        x = x * 2
    return np.sum(x)


@leaves(Leaving)
def by_an_exception_of_its_own(x: Any) -> Any:
    if x[0] > 5:
        raise Leaving
    return np.sum(x * 2)


@leaves(KeyboardInterrupt)
def by_an_interrupt_of_its_own(x: Any) -> Any:
    if x[0] > 5:
        raise KeyboardInterrupt
    return np.sum(x * 2)


@leaves(GeneratorExit)
def by_the_end_of_generators(x: Any) -> Any:
    if x[0] > 5:
        raise GeneratorExit
    return np.sum(x * 2)


@pytest.mark.ci
@pytest.mark.parametrize("name", RECORDS)
def test_only_a_run_that_takes_it_leaves(name: str) -> None:
    program, kind = RECORDS[name]
    run, gradient = bridge.xla(program), bridge.grad(program, engine="xla")
    for _ in range(2):
        assert run(X) == pytest.approx(float(program(X)))
        np.testing.assert_allclose(gradient(X), bridge.grad(program)(X))
        for leaving in (program, run, gradient):
            with pytest.raises(kind):
                leaving(X + 9)


@pytest.mark.ci
def test_its_code_is_kept() -> None:
    with pytest.raises(SystemExit) as left:
        bridge.xla(by_a_function)(X + 9)
    assert left.value.code == 3


@pytest.mark.ci
def test_one_that_the_program_may_catch_is_no_branch() -> None:
    def program(x: Any) -> Any:
        try:
            if x[0] > 5:
                sys.exit(1)
        except SystemExit:
            return np.sum(x) * 2
        return np.sum(x)

    with pytest.raises(BridgeError, match="one side of a branch raises SystemExit, which the program may catch"):
        bridge.xla(program)(X)


@pytest.mark.ci
def test_an_interrupt_passes_through(request: pytest.FixtureRequest) -> None:
    # Whoever runs the tests in the background may have told the process to ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    def program(x: Any) -> Any:
        if x[0] > 5:
            signal.raise_signal(signal.SIGINT)
        return np.sum(x)

    with pytest.raises(KeyboardInterrupt):
        bridge.xla(program)(X)
