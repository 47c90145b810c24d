"""How the process is set up: what a program asks of that is asked again before each call, or told, or refused."""

from __future__ import annotations

import contextvars
import decimal
import gc
import inspect
import locale
import logging
import os
import random
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeWarning
from tests.xla.stale.record import WAYS, Made, X, check, programs_made, records

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

RECORDS, record = records()
VARIABLE: contextvars.ContextVar[float] = contextvars.ContextVar("VARIABLE", default=2.0)


@pytest.fixture(autouse=True)
def everything_as_it_was() -> Iterator[None]:
    """Put back what the records change."""
    options, argv, context = np.get_printoptions(), [*sys.argv], decimal.getcontext().copy()
    limit, name, state = sys.getrecursionlimit(), threading.current_thread().name, random.getstate()
    os.environ.pop("OF_A_TEST", None)
    yield
    np.set_printoptions(**{k: v for k, v in options.items() if k != "override_repr"})
    sys.argv[:] = argv
    decimal.setcontext(context)
    sys.setrecursionlimit(limit)
    threading.current_thread().name = name
    random.setstate(state)
    gc.enable()
    logging.getLogger("of_a_test").setLevel(logging.NOTSET)
    os.environ.pop("OF_A_TEST", None)


@record
def print_options() -> Made:
    return lambda x: x * np.get_printoptions()["precision"], [lambda: np.set_printoptions(precision=3)]


@record
def arguments_of_the_process() -> Made:
    return lambda x: x * len(sys.argv), [lambda: sys.argv.append("--fast")]


@record
def one_of_the_arguments() -> Made:
    return lambda x: x * (5.0 if "--fast" in sys.argv else 1.0), [lambda: sys.argv.append("--fast")]


@record
def precision_of_decimals() -> Made:
    return lambda x: x * decimal.getcontext().prec, [lambda: setattr(decimal.getcontext(), "prec", 9)]


@record
def rounding_of_decimals() -> Made:
    return lambda x: x * len(decimal.getcontext().rounding), [
        lambda: setattr(decimal.getcontext(), "rounding", decimal.ROUND_UP)
    ]


@record
def depth_of_calls() -> Made:
    return lambda x: x * sys.getrecursionlimit(), [lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 100)]


@record
def garbage() -> Made:
    return lambda x: x * (2.0 if gc.isenabled() else 5.0), [gc.disable]


@record
def variable_of_the_environment() -> Made:
    return lambda x: x * float(os.environ.get("OF_A_TEST", "1")), [lambda: os.environ.update(OF_A_TEST="3")]


@record
def variable_by_getenv() -> Made:
    return lambda x: x * float(os.getenv("OF_A_TEST", "1")), [lambda: os.environ.update(OF_A_TEST="3")]


@record
def variable_that_must_be_there() -> Made:
    def program(x: Any) -> Any:
        return x * 3.0 if "OF_A_TEST" in os.environ else x

    return program, [lambda: os.environ.update(OF_A_TEST="3"), lambda: os.environ.pop("OF_A_TEST")]


@record
def level_of_a_logger() -> Made:
    return lambda x: x * logging.getLogger("of_a_test").getEffectiveLevel(), [
        lambda: logging.getLogger("of_a_test").setLevel(logging.DEBUG)
    ]


@record
def name_of_the_thread() -> Made:
    return lambda x: x * len(threading.current_thread().name), [
        lambda: setattr(threading.current_thread(), "name", "another, longer name")
    ]


@record
def context_variable() -> Made:
    return lambda x: x * VARIABLE.get(), [lambda: VARIABLE.set(5.0), lambda: VARIABLE.set(2.0)]


@record
def all_context_variables() -> Made:
    VARIABLE.set(2.0)
    return lambda x: x * contextvars.copy_context()[VARIABLE], [lambda: VARIABLE.set(5.0)]


@record
def state_of_the_generator() -> Made:
    return lambda x: x * random.getstate()[1][5], [lambda: random.seed(3), lambda: random.seed(4)]


@record
def state_of_numpys_generator() -> Made:
    return lambda x: x * float(np.random.get_state()[1][0]), [lambda: np.random.seed(3), lambda: np.random.seed(4)]


@record
def filters_of_warnings() -> Made:
    return lambda x: x * len(warnings.filters), [
        lambda: warnings.simplefilter("ignore", category=type("Own", (Warning,), {}))
    ]


@pytest.mark.ci
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RECORDS)
def test_it_is_traced_again(name: str, way: Any) -> None:
    with warnings.catch_warnings():
        check(RECORDS[name], way)


@pytest.mark.ci
def test_another_thread_asks_for_itself() -> None:
    held: Any = threading.local()
    held.k = 2.0
    run = bridge.xla(lambda x: x * held.k)
    np.testing.assert_array_equal(run(X), 2 * X)
    found: list[Any] = []

    def other() -> None:
        held.k = 5.0
        found.append(run(X))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0], 5 * X)
    np.testing.assert_array_equal(run(X), 2 * X)


@pytest.mark.ci
def test_what_is_asked_in_a_changed_process_is_right_in_each_call() -> None:
    def program(x: Any) -> Any:
        with np.printoptions(precision=3):
            return x * np.get_printoptions()["precision"]

    run = bridge.xla(program)
    for _ in range(3):
        np.testing.assert_array_equal(run(X), 3 * X)


@pytest.mark.ci
def test_a_locale_is_no_reason_to_compile_again() -> None:
    run = bridge.xla(lambda x: x * len(str(locale.getlocale())))
    assert programs_made(run, *[lambda: None] * 3) == 1


@pytest.mark.ci
@pytest.mark.parametrize("ask", [lambda: len(inspect.stack()), lambda: sys.getrefcount(X), lambda: gc.get_count()[0]])
def test_callers_and_holders_are_told(ask: Any) -> None:
    with pytest.warns(BridgeWarning, match="do not call"):
        bridge.xla(lambda x: x * ask())(X)
