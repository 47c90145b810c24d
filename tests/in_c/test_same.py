"""The compiled part does what Python does: the same entries in the log, the same bits, the same errors."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge import in_c
from bridge.errors import BridgeWarning, ContextError
from bridge.extend import RULES
from bridge.rewind.borrowed import LARGE
from bridge.rewind.gradients import Gradients
from tests.in_c.programs import (
    OWN,
    X,
    broadcast,
    elements,
    floats,
    functions,
    matrix,
    plain_arrays,
    products,
    products_with_plain_arrays,
    second_names,
    sparse,
    updates,
    views,
)
from tests.programs import PROGRAMS, Program
from tests.programs.test_programs import argnums
from tests.random_programs.hazards import HAZARDS
from tests.random_programs.hosts import HOSTS
from tests.random_programs.writing import STATEMENTS, program_of

if not in_c.AVAILABLE:
    pytest.skip(f"there is no compiled part: {in_c.WHY_NOT}", allow_module_level=True)


def place_as_text(place: Any) -> Any:
    """A place without its root's number: the keys from the root, and what is known of it."""
    if isinstance(place, (tuple, list)):
        return [place_as_text(one) for one in place]
    if place is None:
        return None
    keys, at = [], place
    while at is not at.root:
        keys.append((type(at).__name__, repr(at.key), at.depth, at.overlapping))
        at = at.parent
    root = (type(at).__name__, at.shape, str(at.dtype), at.strides, at.active, at.born_active, at.entered)
    return (*keys, root, place.shape, str(place.dtype), place.active)


def bits(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [bits(one) for one in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value).__name__, value.shape, value.dtype.str, value.tobytes()
    return repr(value)


def entry_as_text(entry: Any) -> Any:
    overwritten = [
        (place_as_text(one.place), bits(one.array), repr(one.key), bits(one.saved)) for one in entry.overwritten()
    ]
    called: Any = ()
    if entry.call is not None:
        call = entry.call
        called = (call.name, bits(call.args), place_as_text(call.inputs), bits(getattr(entry, "output", None)))
    return (
        type(entry).__name__, entry.name, entry.where, bool(entry.activates), entry.moves,
        [place_as_text(place) for place in entry.writes()], [place_as_text(place) for place in entry.reads()],
        overwritten, called,
    )  # fmt: skip


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the logs hold when gradients are asked for, and when they are there."""
    found: list[Any] = []
    pull_back = Gradients.pull_back

    def heard(self: Any, *args: Any, **kwargs: Any) -> Any:
        found.append([entry_as_text(entry) for entry in self.log])
        result = pull_back(self, *args, **kwargs)
        found.append([entry_as_text(entry) for entry in self.log])
        return result

    monkeypatch.setattr(Gradients, "pull_back", heard)
    return found


def outcome(run: Callable[[], Any], logs: list[Any], pure: bool) -> Any:
    """Bits of the result, or the error; what was logged; what was warned of, and in which line."""
    logs.clear()
    with (
        in_c.pure() if pure else nullcontext(),
        warnings.catch_warnings(record=True) as caught,
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("always")
        try:
            result = bits(run())
        except Exception as error:
            # Threads have other numbers in each run.
            result = type(error), re.sub(r"thread \d+", "thread", str(error)), getattr(error, "__notes__", None)
    return result, list(logs), [str(one.message) for one in caught]


def same(run: Callable[[], Any], logs: list[Any]) -> Any:
    expected = outcome(run, logs, pure=True)
    found = outcome(run, logs, pure=False)
    for a, b in zip(found[1], expected[1], strict=True):
        for one, other in zip(a, b, strict=True):
            assert one == other
    assert found == expected
    return found


class Zeroed:
    """`bridge.numpy` without memory that holds what was there before: that differs from run to run."""

    empty, empty_like = staticmethod(bridge.numpy.zeros), staticmethod(bridge.numpy.zeros_like)

    def __getattr__(self, name: str) -> Any:
        return getattr(bridge.numpy, name)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_programs(program: Program, logs: list[Any]) -> None:
    function, positions = program.under(Zeroed()), argnums(program) or (0,)
    same(lambda: bridge.value_and_grad(function, positions, engine="native")(*program.inputs), logs)


EVERYTHING = [*STATEMENTS, *HAZARDS, *HOSTS]


@pytest.mark.ci
@pytest.mark.parametrize("first", range(20_000, 20_300, 15))
def test_random_programs(first: int, logs: list[Any]) -> None:
    ended = []
    for seed in range(first, first + 15):
        random = program_of(seed, EVERYTHING)
        if random is not None:
            found = same(lambda r=random: bridge.value_and_grad(r.function(Zeroed()), engine="native")(*r.inputs), logs)
            ended.append(type(found[0][0]))
    assert ended.count(list) + ended.count(tuple) > 3


@pytest.mark.parametrize("program", OWN)
@pytest.mark.parametrize("options", [{}, {"memory": "1GB"}], ids=["", "memory"])
def test_own_programs(program: Callable[..., Any], options: Any, logs: list[Any]) -> None:
    same(lambda: bridge.value_and_grad(program, engine="native", **options)(X), logs)


@pytest.mark.parametrize(
    "program",
    [
        elements,
        matrix,
        views,
        functions,
        second_names,
        broadcast,
        floats,
        products,
        updates,
        plain_arrays,
        products_with_plain_arrays,
    ],
)
def test_higher_derivatives_and_tangents(program: Callable[..., Any], logs: list[Any]) -> None:
    same(lambda: bridge.hvp(program, X, np.cos(X), engine="native"), logs)
    same(lambda: bridge.jvp(program, (X,), (np.cos(X),), engine="native"), logs)


@pytest.mark.parametrize("other", [2.0, np.ones(12)], ids=["number", "array"])
def test_values_of_a_checkpoint_that_has_ended(other: Any) -> None:
    kept: list[Any] = []

    def body(x: Any) -> Any:
        kept[:] = [x * 2.0]
        return np.sum(kept[0])

    def f(x: Any) -> Any:
        total = bridge.checkpoint(body)(x)
        gone = kept[0]
        for use in (
            lambda: gone * other,
            lambda: np.add(other, gone),
            lambda: gone @ np.ones(12),
            lambda: gone.__iadd__(other),
            lambda: gone.__setitem__(slice(None), other),
        ):
            with pytest.raises(ContextError, match="a value that a checkpointed function made is used outside"):
                use()
        return total

    for way in (nullcontext, in_c.pure):
        with way():
            found = bridge.grad(f, engine="native", source=False)(X)
        assert np.array_equal(found, np.full(12, 2.0))


@pytest.mark.parametrize("second", [0, 1, 2], ids=["the same memory", "a part of it", "memory of its own"])
@pytest.mark.parametrize("source", [True, False], ids=["read", "unread"])
@pytest.mark.parametrize("written", [True, False], ids=["written", "not written"])
def test_second_names_of_arguments(second: int, source: bool, written: bool, logs: list[Any]) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        if written:
            x[2] = x[1] * 2.0
        y += named
        y[:3] = named[:3]
        return np.sum(y * named) + named @ x

    x = X.copy()
    named = (x, x[::-1], x.copy())[second]
    found = same(lambda: bridge.value_and_grad(f, engine="native", source=source)(x), logs)[0]
    if second == 2 or source or not written:
        assert isinstance(found, list)
    else:
        assert found[0] is bridge.errors.AliasError


@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.int8, bool])
def test_integers_among_the_arguments(dtype: Any, logs: list[Any]) -> None:
    rows, columns = np.array([0, 1, 1, 1], dtype), np.array([0, 1, 0, 1, 1], dtype)
    same(lambda: bridge.value_and_grad(sparse, engine="native")(X, rows, columns), logs)
    same(lambda: bridge.value_and_grad(sparse, engine="native")(X, rows.tolist(), columns.tolist()), logs)


def large(x: Any, y: Any) -> Any:
    """Of arguments that stay the caller's memory until they are written."""
    total = x[0, 1] * y[5] + np.sum(x[:3] * y) + x[2, 4:9] @ y[1:6]
    rows = x[1:][::2]
    x[3] = rows[0] * 2
    y[7:9] -= x[1, :2]
    y[0] = x[0, 0] * rows[1, 1]
    return total + np.sum(rows[:2]) + np.sum(y) + np.dot(x[3], y)


@pytest.mark.parametrize("written", [large, lambda x, y: x[0] @ y[:] + np.sum(x[5] * y * x[1, 2])])
def test_large_arguments(written: Any, logs: list[Any]) -> None:
    x, y = np.linspace(0.0, 1.0, LARGE // 4).reshape(8, -1), np.linspace(0.5, 1.0, LARGE // 32)
    same(lambda: bridge.value_and_grad(written, (0, 1), engine="native")(x, y), logs)
    same(lambda: bridge.vjp(written, x, y, engine="native")[1](2.0), logs)


@pytest.mark.parametrize("dtype", [">f8", np.float32, ">f4", np.float16])
def test_other_floats(dtype: Any, logs: list[Any]) -> None:
    def f(x: Any, s: Any) -> Any:
        y = x * s
        y[1:] += x[0] * y[:-1]
        y[0] = x[1] * 2 - s[...] / x[2]
        return np.sum(y * y) + np.sum(np.sin(x) @ y) + s * x[3] * np.sum(x[:0])

    x, s = np.linspace(0.5, 1.0, 6).astype(dtype), np.array(0.75, dtype)
    found = same(lambda: bridge.value_and_grad(f, (0, 1), engine="native")(x, s), logs)
    assert isinstance(found[0], list)


def test_functions_of_somebody_else_run_once(logs: list[Any]) -> None:
    calls = []

    def product(x: Any, y: Any) -> Any:
        calls.append(1)
        return x if len(y) == 12 else x[:1] * y[0]

    def element(x: Any) -> Any:
        calls.append(1)
        return 2.0 * x

    ufunc = np.frompyfunc(element, 1, 1)
    bridge.extend.pulls(ufunc, lambda ct, out, x: 2.0 * ct)
    rule = bridge.extend.pulls(
        product, lambda ct, out, x, y: ct, lambda ct, out, x, y: np.zeros(y.shape), structure="multilinear"
    )

    def f(x: Any) -> Any:
        y = rule(x, x * 1.0)
        y[0] = 3.0 * x[1]
        return np.sum(y * x)

    same(lambda: bridge.grad(f, engine="native")(X), logs)
    assert len(calls) == 2
    calls.clear()
    same(lambda: bridge.grad(lambda x: np.sum(ufunc(x)), engine="native")(X), logs)
    assert len(calls) == 24


@pytest.mark.ci
def test_pulls_that_are_called_again(logs: list[Any]) -> None:
    def run() -> Any:
        value, pull = bridge.vjp(lambda x: x * elements(x), X, engine="native")
        return value, [pull(np.roll(X, k)) for k in range(3)]

    same(run, logs)


def test_gradients_of_intermediate_values(logs: list[Any]) -> None:
    def run() -> Any:
        with bridge.Context() as context:
            x = context.buffer(X)
            y = x * x
            y[2] = x[3]
            z = np.sum(y * x)
            return context.gradient(z, [x, x, y]), context.gradient(z * 2, x)

    same(run, logs)


def test_errors_of_pulls_name_their_operation(logs: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, np.sinh, RULES[np.sinh])

    def bad(ct: Any, out: Any, x: Any) -> Any:
        raise ArithmeticError("no pull here")

    with pytest.warns(BridgeWarning):
        bridge.extend.pulls(np.sinh, bad)
    text = str(same(lambda: bridge.grad(lambda x: np.sum(np.sinh(x) * x), engine="native")(X), logs)[0])
    assert "no pull here" in text and "in the pull of np.sinh, called at" in text


def test_a_users_rule_of_a_product_is_used(logs: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, np.multiply, RULES[np.multiply])
    with pytest.warns(BridgeWarning):
        bridge.extend.pulls(np.multiply, lambda ct, out, x, y: ct * y * 3, lambda ct, out, x, y: ct * x * 5)
    found = bridge.grad(lambda x: np.sum(x * 2.0), engine="native")(X)
    assert np.array_equal(found, np.full(12, 6.0))
    same(lambda: bridge.grad(lambda x: np.sum(x * x), engine="native")(X), logs)


def test_contexts_of_other_threads_and_closed_ones_are_refused() -> None:
    with bridge.Context() as context:
        x = context.buffer(X)
    for use in (
        lambda: x * x,
        lambda: x[0],
        lambda: x[1:],
        lambda: np.sin(x),
        lambda: x.__setitem__(0, 1.0),
        lambda: -x,
    ):
        with pytest.raises(bridge.errors.ContextError):
            use()
