"""How tests run: seeds, hypothesis profiles, what XLA spares, what each test must leave as it was, which need Julia."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import tracemalloc
from collections.abc import Generator, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

# OpenBLAS reads this when NumPy loads it. Its threads wait for each other by spinning, which costs the small
# matrices of tests many times what they compute, and with several workers more.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import numpy as np
import pytest

import bridge
from bridge.extend import MUTATING, RULES, ZERO_PULL
from bridge.loops_in_c import tiers
from bridge.rulebook.book import LOWERINGS
from bridge.rulebook.facts import FACTS
from bridge.signatures import operation_name

hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.register_profile("nightly", deadline=None, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--programs", type=int, default=30, help="how many random programs to run (in .ci/run 100, at night 10,000)"
    )
    parser.addoption("--shard", metavar="I/N", help="run the I-th of N parts of what is collected")
    parser.addoption("--loops-in-c", action="store_true", help="run each loop in C, where that can be done")
    parser.addoption("--optimised", action="store_true", help="let XLA optimise programs, as it does for users")


def pytest_configure(config: pytest.Config) -> None:
    chosen = "nightly" if "nightly" in config.option.markexpr.replace("not nightly", "") else "fixed"
    hypothesis.settings.load_profile(chosen)
    if not config.option.optimised:
        compile_quickly()
    # When a loop becomes C depends on the clock, and the last bits of gradients on that.
    os.environ["BRIDGE_LOOPS"] = "auto" if config.option.loops_in_c else "python"
    os.environ.setdefault("BRIDGE_LOOPS_CACHE", "0")
    if config.option.loops_in_c:
        tiers.HOT, tiers.WORTH, tiers.WAITS = 0.0, 0.0, True
    # Several workers may share a GPU.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """What is collected stays to the end: the garbage collector has no need to visit it, then or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.shard is None:
        return
    part, parts = map(int, config.option.shard.split("/"))
    if not 1 <= part <= parts:
        raise pytest.UsageError(f"--shard {config.option.shard}: the part is a number from 1 to {parts}")
    left_out = [item for k, item in enumerate(items) if k % parts != part - 1]
    items[:] = items[part - 1 :: parts]
    config.hook.pytest_deselected(items=left_out)


# With these XLA's code generation takes a quarter of the time; what it is given, and what that means, stay the same.
QUICK = (
    "xla_backend_optimization_level=0",
    "xla_cpu_use_fusion_emitters=false",
    "xla_cpu_parallel_codegen_split_count=1",
)
# The versions 0.n of jaxlib that know these flags: XLA ends a process that names a flag which it does not know.
KNOWN = range(7, 11)


def compile_quickly() -> None:
    """Spare XLA what makes small programs no faster, here, in the workers and in the processes that tests start."""
    try:
        major, minor = map(int, version("jaxlib").split(".")[:2])
    except PackageNotFoundError:
        return
    flags = os.environ.get("XLA_FLAGS", "").split()
    if major == 0 and minor in KNOWN:
        os.environ["XLA_FLAGS"] = " ".join(dict.fromkeys([*flags, *(f"--{flag}" for flag in QUICK)]))


@cache
def why_no_julia() -> str | None:
    found = bridge.julia.status()
    return None if found.found else f"no Julia is set up here ({found.problem or found.missing}); {found.line}"


@cache
def computes_on() -> str:
    """What JAX computes on: cpu, gpu."""
    return str(pytest.importorskip("jax").default_backend())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("julia"):
        reason = why_no_julia()
        if reason:
            # Skipped here and not by a mark, so that the summary says it in one line, with the number of tests.
            pytest.skip(reason)
    if item.get_closest_marker("processor") and computes_on() != "cpu":
        pytest.skip(f"looks at what XLA makes for a processor; JAX computes on a {computes_on()} here")


@pytest.fixture(autouse=True)
def remarks_of_c_stay_with_their_test() -> Iterator[None]:
    """Flush C's output while pytest captures it: LAPACK's remarks about NaN would else follow pytest's summary."""
    yield
    if os.name == "posix":
        ctypes.CDLL(None).fflush(None)


@pytest.fixture(autouse=True)
def memory_is_traced_by_nobody_else() -> Iterator[None]:
    """Fail a test that leaves tracemalloc on: all that come after it would be slow, and measure what it has begun."""
    yield
    if tracemalloc.is_tracing():
        tracemalloc.stop()
        pytest.fail("tracemalloc was left on")


@pytest.fixture(autouse=True)
def fixed_seeds() -> None:
    random.seed(0)
    np.random.seed(0)


@pytest.fixture(autouse=True, scope="module")
def what_was_made_before_is_not_visited() -> None:
    """Spare the garbage collector what JAX and other modules' tests keep: with it a collection takes a second."""
    gc.collect(1)
    gc.freeze()


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def rules_of_a_test_end_with_it() -> Iterator[None]:
    """Take out of the rule book what a test has taught it."""
    yield
    for registry in (RULES, MUTATING, FACTS, LOWERINGS):
        for function in _taught(registry):
            del registry[function]
    ZERO_PULL.difference_update(_taught(ZERO_PULL))


BOOK: set[Any] = set()
"""Functions that were asked about before: after most tests there is no other."""


def _taught(registry: Any) -> list[Any]:
    new = registry - BOOK if isinstance(registry, set) else registry.keys() - BOOK
    BOOK.update(function for function in new if _is_of_the_book(function))
    return [function for function in new if function not in BOOK]


def _is_of_the_book(function: Any) -> bool:
    if operation_name(function).startswith("np.frompyfunc("):
        return False
    home = getattr(function, "__module__", None) or "numpy"
    return home.partition(".")[0] in ("bridge", "rules", "numpy", "scipy", "math", "cmath")


@pytest.fixture(autouse=True)
def no_context_left_open() -> Iterator[None]:
    yield
    assert bridge.current_context() is None, "the test left a differentiation context active"
