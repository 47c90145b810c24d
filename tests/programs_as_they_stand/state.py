"""What a program can reach and could have changed: attributes, captured variables, globals, lists, arrays."""

from __future__ import annotations

import functools
import inspect
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

HOME = __name__.rpartition(".")[0]
NUMBERS = (bool, int, float, complex, str, bytes, type(None), np.generic)


def state_of(program: Any) -> dict[str, Any]:
    """Path to description of everything that `program` reaches: bits of arrays, their identity, numbers, lengths."""
    found: dict[str, Any] = {}
    _walk(program, "program", found, set())
    return found


def tracked_in(state: dict[str, Any]) -> list[str]:
    """The paths at which an object of this package was left behind."""
    kinds = {path: each if isinstance(each, type) else each[0] for path, each in state.items()}
    return [f"{path}: {kind.__name__}" for path, kind in kinds.items() if kind.__module__.startswith("bridge.")]


def differing(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The paths whose descriptions differ, with both."""
    paths = sorted(before.keys() | after.keys())
    return [f"{p}: {before.get(p)!r} -> {after.get(p)!r}" for p in paths if before.get(p) != after.get(p)]


def _walk(value: Any, path: str, found: dict[str, Any], seen: set[int]) -> None:
    if isinstance(value, NUMBERS):
        found[path] = (type(value), value.hex() if isinstance(value, float) else value)
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    found[path] = _described(value)
    for name, part in _parts(value):
        _walk(part, f"{path}{name}", found, seen)


def _described(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.ndarray, id(value), value.dtype, value.shape, value.strides, value.tobytes()
    if isinstance(value, (list, dict, set, deque)):
        return type(value), id(value), len(value)
    if isinstance(value, np.random.Generator):
        return type(value), repr(value.bit_generator.state)
    return type(value)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What hangs on `value`, with the path to it."""
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", each) for key, each in value.items())
    elif isinstance(value, (list, tuple, deque)):
        yield from ((f"[{k}]", each) for k, each in enumerate(value))
    elif isinstance(value, functools.partial):
        yield from ((".func", value.func), (".args", value.args), (".keywords", value.keywords))
    elif isinstance(value, types.MethodType):
        yield from ((".__self__", value.__self__), (".__func__", value.__func__))
    elif isinstance(value, types.FunctionType):
        yield from _parts_of_function(value)
    elif isinstance(value, (type, types.ModuleType)):
        if _is_ours(value):
            yield from ((f".{name}", each) for name, each in vars(value).items() if not name.startswith("__"))
    elif _is_ours(type(value)):
        yield from ((f".{name}", each) for name, each in _attributes(value))
        yield "<class>", type(value)
    elif hasattr(value, "__wrapped__"):
        yield ".__wrapped__", value.__wrapped__


def _parts_of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    if not _is_ours(function):
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if cell != types.CellType():
            yield f"<{name}>", cell.cell_contents
    yield ".__defaults__", function.__defaults__
    yield ".__dict__", function.__dict__
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield f"::{name}", function.__globals__[name]


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _names(constant)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    yield from vars(value).items() if hasattr(value, "__dict__") else ()
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield name, getattr(value, name)


def _is_ours(value: Any) -> bool:
    home = getattr(value, "__module__", None) or getattr(value, "__name__", "") or ""
    return home == "__main__" or home.startswith(HOME)
