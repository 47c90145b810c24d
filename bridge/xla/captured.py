"""What a compiled program has read without being given it: globals, closures, attributes, and arrays.

A program is traced once, so that their values are part of it; where one has changed, it must be traced again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from bridge.rewind.memory import ArrayMemory, Strides, address, owner
from bridge.rewind.snapshots import constant
from bridge.xla.tracing.abstract import AbstractArray

_VALUES = (bool, int, float, complex, str, bytes, type(None), np.generic)
_Read = Callable[[], Any]


class Captured:
    """Names and arrays outside of a program, with the values that they had when it was traced."""

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self._function = function
        self._arrays: dict[tuple[Any, ...], tuple[weakref.ref[np.ndarray], int, Strides, np.ndarray]] = {}
        self._names: list[tuple[str, _Read, Any]] = []

    def add(self, array: Any) -> None:
        """Note an array that the program reads; `bridge.constant` is promised not to change."""
        if not isinstance(array, np.ndarray) or isinstance(array, (AbstractArray, constant)) or not array.size:
            return
        whole = owner(array)
        key = (id(whole), address(array), array.shape, array.strides, array.dtype)
        if key not in self._arrays and (whole.flags.writeable or array.flags.writeable):
            lies = Strides(array.shape, array.strides, array.dtype)
            try:
                self._arrays[key] = (weakref.ref(whole), address(array) - address(whole), lies, array.copy())
            except TypeError:  # a kind of array that cannot be referred to weakly
                return

    def close(self) -> None:
        """Note the names that the function reads, now that it has run once."""
        function, self._function = self._function, None
        for name, read in _names(function):
            value = _read(read)
            if isinstance(value, np.ndarray):
                self.add(value)
            self._names.append((name, read, value))

    def changed(self) -> str | None:
        """What has changed since the program was traced: a name, or the look of an array."""
        for name, read, before in self._names:
            now = _read(read)
            if now is not before and not (
                type(now) is type(before) and isinstance(now, _VALUES) and _same(now, before)
            ):
                return name
        for key, (reference, offset, lies, before) in list(self._arrays.items()):
            whole = reference()
            if whole is None:
                self._arrays.pop(key, None)
            elif not _same_bits(ArrayMemory().view(whole, offset, lies), before):
                return f"an array of shape {lies.shape} that is not among the arguments"
        return None


def _names(function: Any) -> Iterator[tuple[str, _Read]]:
    """The names that a Python function reads from outside of itself, and those that functions named there read."""
    waiting, seen = [function], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, partial):
            waiting += [one.func, *one.args, *one.keywords.values()]
        elif isinstance(one, MethodType):
            waiting.append(one.__func__)
            yield from _attributes(one.__self__)
        elif isinstance(one, FunctionType):
            for name, read in _read_by(one):
                value = _read(read)
                if isinstance(value, (np.ndarray, FunctionType, MethodType, partial, *_VALUES)):
                    yield name, read
                if not isinstance(value, (np.ndarray, type, ModuleType, *_VALUES)):
                    waiting.append(value)
        elif not isinstance(one, type) and not _is_ours(type(one)):
            if callable(one):
                waiting.append(type(one).__call__)
            yield from _attributes(one)


def _attributes(one: Any) -> Iterator[tuple[str, _Read]]:
    """The attributes of a method's object that are numbers, texts or arrays."""
    attributes = getattr(one, "__dict__", {})
    for name, value in attributes.items():
        if isinstance(value, (np.ndarray, *_VALUES)):
            yield f"{type(one).__name__}.{name}", partial(_item, attributes, name)


def _read_by(function: FunctionType) -> Iterator[tuple[str, _Read]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, partial(getattr, cell, "cell_contents")
    if not _is_ours(function):
        for name in sorted(set(_global_names(function.__code__))):
            if not _is_ours(function.__globals__.get(name)):
                yield name, partial(_item, function.__globals__, name)


def _global_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _global_names(part)


def _is_ours(function: Any) -> bool:
    """Whether a function or class is this package's, Python's, or a library's that has no state of the user's."""
    home = str(getattr(function, "__module__", ""))
    return home.partition(".")[0] in (
        "builtins",
        "bridge",
        "rules",
        "numpy",
        "scipy",
        "jax",
        "jaxlib",
        "optree",
        "functools",
    )


_GONE = object()


def _item(names: Mapping[str, Any], name: str) -> Any:
    return names.get(name, _GONE)


def _read(read: _Read) -> Any:
    try:
        return read()
    except ValueError:  # a cell that is empty
        return _GONE


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) or (a != a and b != b)


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    if a.flags.c_contiguous:
        kind = np.uint64 if a.nbytes % 8 == 0 else np.uint8
        return bool(np.array_equal(a.reshape(-1).view(kind), b.reshape(-1).view(kind)))
    return a.tobytes() == b.tobytes()
