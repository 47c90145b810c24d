"""The line of the user's code is found however many frames of the package lie between."""

from __future__ import annotations

import inspect
import threading
import warnings
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import code_position, in_c
from bridge.code_position import here, resolve
from bridge.errors import BridgeWarning
from bridge.rewind.context import Context
from bridge.rewind.interpreter import Call
from bridge.rulebook.book import RULES

PACKAGE = Path(bridge.__file__).parent
EVENTS = ("one", "pair", "element", "write_element", "result", "copied", "write", "update", "scatter_add", "mutated")
X = np.linspace(0.3, 1.7, 6)


def inside(source: str, **names: Any) -> Any:
    """What `source` defines as `f`, as code of a file of the package."""
    exec(compile(source, str(PACKAGE / "arrays" / "a_helper.py"), "exec"), names)
    return names["f"]


def with_helpers(function: Callable[..., Any], depth: int) -> Callable[..., Any]:
    for _ in range(depth):
        function = inside("def f(*args, **kwargs): return g(*args, **kwargs)", g=function)
    return function


@pytest.fixture(params=["in C", "in Python"])
def _way(request: pytest.FixtureRequest) -> Iterator[None]:
    with in_c.pure() if request.param == "in Python" else nullcontext():
        yield


def every_event(x: Any) -> list[int]:
    """Does everything that is logged; returns the lines."""
    first = inspect.currentframe().f_lineno  # type: ignore[union-attr]
    y = x * 2.0
    y = -y
    z = y[1]
    y[2] = z
    y[1:3] = x[1:3]
    y *= 3.0
    y[[0, 1]] = y[[2, 3]]
    np.add.at(y, [0, 0], z)
    np.put(y, [1], z)
    y.copy()
    np.sum(y)
    return list(range(first + 1, first + 12))


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("depth", [0, 1, 5])
def test_helpers_between_do_not_change_the_line(monkeypatch: pytest.MonkeyPatch, depth: int) -> None:
    for name in EVENTS:
        monkeypatch.setattr(Context, name, with_helpers(getattr(Context, name), depth))
    with Context() as context:
        lines = every_event(context.buffer(X))
    found = {str(entry.where) for entry in context.log}
    assert found == {f"{__file__}:{line} in every_event" for line in lines}


@pytest.mark.usefixtures("_way")
def test_an_event_without_the_usual_frames_above_names_its_own_caller() -> None:
    """A number of frames that was right for operators would name the caller's caller here."""
    with Context() as context:
        x = context.buffer(X)
        call = Call(np.sin, RULES[np.sin], (x.value,), (x.place,))
        inside("def f(context, call): return context.result(call, call.function(*call.args))")(context, call)
    assert [str(entry.where).rpartition(" ")[2] for entry in context.log] == [
        "test_an_event_without_the_usual_frames_above_names_its_own_caller"
    ]


@pytest.mark.usefixtures("_way")
def test_the_innermost_frame_of_the_user_counts() -> None:
    def called_back() -> Any:
        return inside("def f(): return here()", here=here)()

    position = inside("def f(g): return g()")(called_back)
    assert str(resolve(position)).endswith("in called_back")


@pytest.mark.usefixtures("_way")
def test_where_all_frames_are_inside_the_outermost_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = outermost = inspect.currentframe()
    while frame is not None:
        monkeypatch.setitem(code_position.INTERNAL, frame.f_code.co_filename, True)
        outermost, frame = frame, frame.f_back
    assert here()[0] is outermost.f_code  # type: ignore[union-attr]
    assert code_position.users_frame() is outermost


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("depth", [0, 2])
def test_a_thread_that_runs_no_code_of_the_user(depth: int) -> None:
    found: list[Any] = []
    done = threading.Event()
    asking = inside("def f(): found.append(here()); done.set()", found=found, here=here, done=done)
    start_new_thread(with_helpers(asking, depth), ())
    assert done.wait(10)
    assert [code.co_name for code, _ in found] == ["f"]


@pytest.mark.parametrize("depth", [0, 3])
def test_warnings_are_issued_at_the_line_of_the_user(depth: int) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        inside("def f(warn): warn('slow')")(with_helpers(code_position.warn, depth))
        line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    assert [(one.category, one.filename, one.lineno) for one in told] == [(BridgeWarning, __file__, line)]


def test_a_warning_is_given_once_for_a_line() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            code_position.warn("once for this line")
    assert len(told) == 1


def test_frames_begin_with_the_one_that_asks() -> None:
    def asking() -> list[str]:
        return [frame.f_code.co_name for frame in code_position.frames()][:2]

    # A comprehension is a frame of its own before Python 3.12.
    found = [name for name in asking() if name != "<listcomp>"]
    assert found[0] == "asking"
