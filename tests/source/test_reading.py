"""Reading is done once, costs nothing afterwards, is forgotten with the code, and can be turned off."""

from __future__ import annotations

import ast
import gc
import linecache
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import EscapeError
from bridge.source import reading
from bridge.source.finding import statement_of, text_of
from bridge.source.operations import READER
from bridge.source.reading import READINGS, is_rewritten, reading_of

SCRATCH = """
import numpy as np

def helper(x):
    u = np.zeros(3)
    u[0] = x
    return u * 2.0

def program(x):
    def inner(y):
        return helper(y)[0]
    return sum(inner(x) for _ in range(2))

class Model:
    def __init__(self, x):
        self.u = np.zeros(2)
        self.u[0] = x

    @property
    def loss(self):
        return self.u[0] ** 2
"""


@pytest.fixture
def written(request: pytest.FixtureRequest) -> Iterator[Callable[[str], types.ModuleType]]:
    """Makes modules of a text that no file has, as notebooks do for their cells."""
    names: list[str] = []

    def write(text: str) -> types.ModuleType:
        name = f"<cell {request.node.name} {len(names)}>"
        names.append(name)
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        module = types.ModuleType("cell")
        exec(compile(text, name, "exec", dont_inherit=True), vars(module))
        return module

    yield write
    for name in names:
        linecache.cache.pop(name, None)


def test_a_second_call_parses_and_compiles_nothing(
    written: Callable[[str], types.ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = written(SCRATCH)
    gradient = bridge.grad(module.program)
    assert gradient(3.0) == 4.0
    calls: list[Any] = []
    monkeypatch.setattr(ast, "parse", lambda *args, **kwargs: calls.append(args))
    monkeypatch.setattr(reading, "_read", lambda *args: calls.append(args))
    assert gradient(3.0) == 4.0
    assert bridge.value_and_grad(module.program)(2.0) == (8.0, 4.0)
    assert calls == []


def test_a_file_is_parsed_once_for_all_its_functions(
    written: Callable[[str], types.ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, parse, calls = written(SCRATCH), ast.parse, []
    monkeypatch.setattr(ast, "parse", lambda *args, **kwargs: (calls.append(args), parse(*args, **kwargs))[1])
    bridge.grad(module.program)(3.0)
    bridge.grad(lambda x: module.Model(x).loss)(3.0)
    own = [args for args in calls if args[1:] == (module.program.__code__.co_filename,)]
    assert len(own) == 1


def test_a_closure_made_anew_is_not_read_anew(
    written: Callable[[str], types.ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = written("def make(k):\n    return lambda x: k * x * x\n")
    assert bridge.grad(module.make(1.0))(3.0) == 6.0
    monkeypatch.setattr(reading, "_read", lambda *args: pytest.fail("read again"))
    assert bridge.grad(module.make(5.0))(3.0) == 30.0


def test_code_that_dies_is_forgotten(written: Callable[[str], types.ModuleType]) -> None:
    module = written(SCRATCH)
    bridge.grad(module.program)(3.0)
    rewritten = reading_of(module.program).code
    assert rewritten is not None
    assert is_rewritten(rewritten)
    known = {id(rewritten), id(module.program.__code__)}
    assert known <= READINGS.keys()
    before = len(READINGS)
    del module, rewritten
    gc.collect()
    assert len(READINGS) < before
    assert not known & READINGS.keys()


def test_what_exec_made_goes_with_its_names_and_its_text() -> None:
    class Large:
        pass

    names = {"__name__": "made", "large": Large()}
    source = "def program(x):\n    return x * x if large else x\n"
    linecache.cache["<made>"] = (len(source), None, source.splitlines(keepends=True), "<made>")
    exec(compile(source, "<made>", "exec"), names)
    assert bridge.grad(names["program"])(3.0) == 6.0
    known = weakref.ref(names["large"])
    text = weakref.ref(text_of(names["program"].__code__, names))
    assert known() is not None and text() is not None
    del names
    gc.collect()
    assert known() is None and text() is None
    linecache.cache.pop("<made>")


def test_a_function_and_its_twin_share_what_they_have() -> None:
    def f(x: float, seen: list[float] = [], *, named: dict[str, float] = {}) -> Any:  # noqa: B006
        seen.append(x)
        return cell, named

    cell = [0]
    f.note = "kept"  # type: ignore[attr-defined]
    twin = READER.of(f)
    assert twin is not f
    assert twin(1.0) == ([0], {})
    assert f.__defaults__ == ([1.0],)
    assert twin.__defaults__ is f.__defaults__
    assert twin.__kwdefaults__ is f.__kwdefaults__
    assert twin.__closure__[0] is f.__closure__[0]
    assert twin.__globals__ is f.__globals__
    assert (twin.__name__, twin.__qualname__, twin.note) == (f.__name__, f.__qualname__, "kept")
    assert READER.of(twin) is twin


def test_what_is_read_is_run_where_it_was(written: Callable[[str], types.ModuleType]) -> None:
    module = written(SCRATCH)
    code, twin = module.program.__code__, READER.of(module.program).__code__
    for name in ("co_filename", "co_firstlineno", "co_name", "co_qualname", "co_argcount", "co_freevars"):
        assert getattr(code, name) == getattr(twin, name)


def test_source_false_runs_a_function_as_it_is(written: Callable[[str], types.ModuleType]) -> None:
    module = written(SCRATCH)
    with pytest.raises(EscapeError):
        bridge.grad(module.program, source=False)(3.0)
    assert bridge.grad(module.program)(3.0) == 4.0
    for transform in (bridge.value_and_grad, bridge.grad, bridge.jacrev):
        with pytest.raises(EscapeError):
            transform(module.program, source=False)(3.0)


@pytest.mark.parametrize("value", ["0", "false", "no", "off"])
def test_an_environment_variable_turns_reading_off(
    written: Callable[[str], types.ModuleType], monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    module = written(SCRATCH)
    monkeypatch.setenv("BRIDGE_SOURCE", value)
    with pytest.raises(EscapeError):
        bridge.grad(module.program)(3.0)
    assert bridge.grad(module.program, source=True)(3.0) == 4.0


def test_threads_read_the_same_function_at_the_same_time_for_the_first_time(
    written: Callable[[str], types.ModuleType],
) -> None:
    module = written(SCRATCH)
    together = threading.Barrier(8)
    found: list[Any] = []

    def work(k: int) -> None:
        together.wait()
        found.append((bridge.grad(module.program)(float(k)), reading_of(module.program).code))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [gradient for gradient, _ in found] == [4.0] * 8
    assert len({id(code) for _, code in found}) == 1


def test_explain_source_says_what_runs() -> None:
    def f(x: Any) -> Any:
        u = np.zeros(2)
        u[0] = x
        return u[0] + abs(x)

    text = bridge.explain_source(f)
    assert "bridge.of(np.zeros)(2)" in text
    assert "bridge.into" in text
    ast.parse(text)


@pytest.mark.ci
def test_every_construct_can_be_explained() -> None:
    from tests.source.constructs import rows

    for row in rows():
        ast.parse(bridge.explain_source(row))


def _helper(x: Any, factor: float = 2.0, *, shift: float = 0.0) -> Any:
    scratch = np.zeros(1)
    scratch[0] = x * factor + shift
    return scratch.sum()


def _other(x: Any, factor: float = 2.0, *, shift: float = 0.0) -> Any:
    scratch = np.zeros(1)
    scratch[0] = x**3
    return scratch.sum()


@pytest.mark.parametrize(
    ("name", "new", "gradient"),
    [("__defaults__", (5.0,), 5.0), ("__kwdefaults__", {"shift": 1.0}, 2.0), ("__code__", _other.__code__, 12.0)],
)
def test_a_function_that_has_changed_has_another_twin(
    monkeypatch: pytest.MonkeyPatch, name: str, new: Any, gradient: float
) -> None:
    def program(x: Any) -> Any:
        return _helper(x)

    assert bridge.value_and_grad(program)(2.0) == (4.0, 2.0)
    monkeypatch.setattr(_helper, name, new)
    assert bridge.value_and_grad(program)(2.0) == (program(2.0), gradient)


CLASS = """
import functools
import numpy as np

def twice(function):
    @functools.wraps(function)
    def run(*args):
        return 2.0 * function(*args)
    return run

class Base:
    def start(self, x):
        u = np.zeros(2)
        u[0] = x
        return u

class Model(Base):
    scale: float = 3.0
    shift = (lambda: 1.0)()

    def __init__(self, x):
        self.__hidden = self.start(x)

    def start(self, x):
        u = super().start(x)
        u[1] = x * x
        return u

    @twice
    def decorated(self):
        return np.sum(self.__hidden) * __class__.scale

    def loss(self):
        return self.decorated() + self.Inner.of(self.__hidden)

    def begin(self, value):
        self.__hidden[0] = value

    def many(self):
        return [self.other(k) for k in range(3)]

    def other(self, k):
        return k

    class Inner:
        @staticmethod
        def of(u):
            v = np.zeros(2)
            v[:] = u
            return v[0] * v[1]

    if True:
        def conditional(self):
            v = np.zeros(1)
            v[0] = self.__hidden[1]
            return v[0]
"""


def test_of_a_class_what_is_called_is_read_alone(written):
    cell = written(CLASS)

    def program(x):
        model = cell.Model(x)
        model.begin(0.5 * model.loss())
        return model.loss() + model.conditional()

    def plain(x):  # 2 * 3 * (u0 + u1) + u0 * u1, of u = (x, x**2), then with half of that as u0
        half = 0.5 * (6 * (x + x**2) + x**3)
        return 6 * (half + x**2) + half * x**2 + x**2

    value, slope = bridge.value_and_grad(program)(1.5)
    expected, step = plain(1.5), 1e-6
    assert value == pytest.approx(expected)
    assert slope == pytest.approx((plain(1.5 + step) - plain(1.5 - step)) / (2 * step), rel=1e-6)
    compiled, other = bridge.value_and_grad(program, engine="xla")(1.5)
    assert (compiled, other) == (pytest.approx(value), pytest.approx(slope))
    read = {name for name, one in vars(cell.Model).items() if id(getattr(one, "__code__", None)) in READINGS}
    assert read == {"__init__", "start", "decorated", "loss", "begin", "conditional"}


def test_a_property_of_the_class_is_known_in_its_other_members(written):
    """Also of a class that no module names."""
    cell = written(
        SCRATCH
        + """
    def twice(self):
        return 2.0 * self.doubled

    @property
    def doubled(self):
        v = np.zeros(1)
        v[0] = self.u[0] * 2.0
        return v[0]
"""
    )
    assert bridge.grad(lambda x: cell.Model(x).twice())(3.0) == 4.0


def test_codes_of_a_class_are_those_of_its_members_alone(written):
    """A class of a thousand methods costs what the one that is called does."""
    cell = written(CLASS)
    _, statement, like = statement_of(cell.Model.many.__code__, vars(cell))
    assert [one.co_name for one in statement.codes] == ["<module>", "Model", "many", "<listcomp>"][
        : len(statement.codes)
    ]
    assert like == cell.Model.many.__code__
