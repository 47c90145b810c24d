"""The compiled part does what Python does: the same entries in the log, the same bits, the same errors."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge import compiled
from bridge.errors import BridgeWarning
from bridge.extend import RULES
from bridge.rewind.borrowed import LARGE
from bridge.rewind.gradients import Gradients
from tests.programs import PROGRAMS, Program
from tests.programs.test_programs import argnums
from tests.random_programs.hazards import HAZARDS
from tests.random_programs.hosts import HOSTS
from tests.random_programs.writing import STATEMENTS, program_of

if not compiled.AVAILABLE:
    pytest.skip(f"there is no compiled part: {compiled.WHY_NOT}", allow_module_level=True)


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
        compiled.pure() if pure else nullcontext(),
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


@pytest.mark.parametrize("first", range(20_000, 20_300, 15))
def test_random_programs(first: int, logs: list[Any]) -> None:
    ended = []
    for seed in range(first, first + 15):
        random = program_of(seed, EVERYTHING)
        if random is not None:
            found = same(lambda r=random: bridge.value_and_grad(r.function(Zeroed()), engine="native")(*r.inputs), logs)
            ended.append(type(found[0][0]))
    assert ended.count(list) + ended.count(tuple) > 3


X = np.linspace(0.3, 1.7, 12)


def elements(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[-i] + x[i] ** 2 / x[0] - 3.0 * x[i]
        y[i - 1] = 0.5
        y[i] = -y[i]
    return np.sum(y)


def matrix(x: Any) -> Any:
    a = x.reshape(3, 4).T
    b = np.zeros((4, 3))
    for i in range(4):
        b[i, 1:] = a[i, :2] * x[i]
        b[i, 0] = a[i, -1]
        b[i] = b[i] * 2.0 + a[i]
        b[:, None, 1][..., 0] = a[:, 0] / 3
    a[0, 0] = b[3, 2]
    return np.sum(a * b)


def views(x: Any) -> Any:
    y = x[2:][::2][1:]
    y[:2] = x[:2] * y[-2:]
    y[-1:] = 0.25
    x[4:8] = np.float64(0.5)
    x[1:3] = x[0]
    return np.sum(x[::-1] * np.sin(x)) + y[0]


def functions(x: Any) -> Any:
    y = np.exp(-x) * np.sqrt(x) + np.maximum(x, 1.0) - np.power(x, 2) + x**0.5 + 2**x + x**3
    return np.sum(np.hypot(y, x) + abs(y)) + np.sum(+x - (1 - x) / (2 + x))


def many_views(x: Any) -> Any:
    y = x
    for _ in range(40):
        y = y[:]
    y[0] = y[1] * 2
    return np.sum(x * y[3])


def second_names(x: Any) -> Any:
    y = x
    y[1:] = y[:-1]
    y[0:4] += x[4:8]
    x[2] += x[3]
    x[3:5] *= 2
    return np.sum(x * x)


def kinds(x: Any) -> Any:
    small = x.astype(np.float32)
    whole = np.arange(12)
    small[2] = small[3] * x[0]
    small[4:6] = small[1]
    z = x * 1j
    z[2] = x[2] * 2
    return np.sum(small * 2).astype(float) + np.sum(np.real(z * z)) + np.sum(x * x.copy()[whole]) + x[np.int64(3)]


def broadcast(x: Any) -> Any:
    a = np.zeros((3, 12))
    a[1:] = x
    a[0] = x[3]
    a[:, 2] = x[:3] * a[:, 3]
    return np.sum(a * x) + np.sum(x[:3, None] * a)


def floats(x: Any) -> Any:
    t = float(x.sum() * 0 + 2) if False else 2.0
    s = x[0].item() if hasattr(x[0], "item") else x[0]
    for k in range(5):
        s = s * t + x[k] / (1 + s)
    return s


def checkpointed(x: Any) -> Any:
    part = bridge.checkpoint(lambda x: np.sum(x[1:] * x[:-1]) + elements(x))
    return part(x) * x[0] + part(x * 2)


def sparse(x: Any, rows: Any, columns: Any) -> Any:
    total = np.zeros(3)
    for i in range(3):
        own = columns[rows[i] : rows[i + 1]]
        total[i] = x[rows[i] : rows[i + 1]] @ x[own] + x[rows[i]] * x[(rows[i] + 1,)]
        total[rows[0] :] *= 1.5
        total[rows[0]] += x[columns[-1]]
    return np.sum(total)


def products(x: Any) -> Any:
    a = x.reshape(3, 4) * 1.0
    plain = np.arange(12.0).reshape(4, 3)
    s = np.dot(x[:4], x[4:8]) + x[1:5] @ x[:4] + np.dot(a[0], a[1] * 2) + np.inner(a[1], x[:4])
    b = a @ a.T + np.dot(a, plain) + np.matmul(a, a.T)
    s = s + np.sum(np.outer(x[:2], x[2:4])) + np.sum(np.tensordot(a, b, (0, 0))) + np.sum(np.vdot(x, x))
    with_constant = np.zeros(4)
    with_constant[:2] = 3.0
    return s + np.dot(with_constant, a[2]) + np.dot(a[1], np.dot(plain, b[0])) + np.sum(np.dot(b, b[0]) * b[:, 1])


def updates(x: Any) -> Any:
    a = np.zeros((4, 3))
    a += x[:3]
    a[1] -= x[3:6] * a[0]
    a[1:, 0] *= x[1:4]
    a[2] /= x[0] + a[1]
    a[2] *= a[2]
    a[3] += a[3]
    a[:, 1] += 2.0
    b = a[1:3]
    b -= x[4]
    b *= 0.5
    y = x * 1.0
    y += y[::-1]
    y[2:] += y[:-2]
    y -= np.float64(0.5)
    y += 1
    y **= 2
    return np.sum(a * a) + np.sum(y) + np.sum(b)


def updates_of_memory_without_gradient(x: Any) -> Any:
    y = np.ones(12)
    y += 1.0
    y *= 2.0
    y -= x
    y[0:3] *= 3.0
    return np.sum(y * x)


def wrong_update(x: Any) -> Any:
    x[1:4] += x[:2]
    return np.sum(x)


def raising_update(x: Any) -> Any:
    with np.errstate(all="raise"):
        try:
            x[2:4] /= x[:2] * 0
        except FloatingPointError:
            x[2] = 5.0
        with suppress(FloatingPointError):
            x *= 1e308 * x
    return np.sum(x[:3] * x[1:4])


def wrong_product(x: Any) -> Any:
    return np.dot(x[:3], x[:4])


def fails_to_fit(x: Any) -> Any:
    x[0] = x[1] * 2
    x[2:5] = x[:2]
    return np.sum(x)


def beyond(x: Any) -> Any:
    x[3] = 1.0
    return x[12] * x[0]


def beyond_written(x: Any) -> Any:
    x[-13] = x[0]
    return np.sum(x)


def read_only(x: Any) -> Any:
    y = np.broadcast_to(x, (2, 12))
    y[0, 0] = x[0]
    return np.sum(y)


def no_number(x: Any) -> Any:
    x[0] = x[1] * "a"
    return np.sum(x)


OWN = [
    elements, matrix, views, functions, many_views, second_names, kinds, broadcast, floats, checkpointed, products,
    updates, updates_of_memory_without_gradient, wrong_update, raising_update, wrong_product, fails_to_fit, beyond,
    beyond_written, read_only, no_number,
]  # fmt: skip


@pytest.mark.parametrize("program", OWN)
@pytest.mark.parametrize("options", [{}, {"memory": "1GB"}], ids=["", "memory"])
def test_own_programs(program: Callable[..., Any], options: Any, logs: list[Any]) -> None:
    same(lambda: bridge.value_and_grad(program, engine="native", **options)(X), logs)


@pytest.mark.parametrize(
    "program", [elements, matrix, views, functions, second_names, broadcast, floats, products, updates]
)
def test_higher_derivatives_and_tangents(program: Callable[..., Any], logs: list[Any]) -> None:
    same(lambda: bridge.hvp(program, X, np.cos(X), engine="native"), logs)
    same(lambda: bridge.jvp(program, (X,), (np.cos(X),), engine="native"), logs)


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
