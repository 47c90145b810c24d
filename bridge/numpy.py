"""NumPy whose creation functions return Buffers while a context is open: `import bridge.numpy as np`.

Every other name is NumPy's own. Outside a context the creation functions are NumPy's as well. Where a
conversion (`asarray`) gives the memory of a plain array itself, it stays plain: only copies become Buffers.
"""

from __future__ import annotations

import functools
import sys as _sys
import types
from collections.abc import Callable
from typing import Any

import numpy as _numpy

from bridge.arrays import creation as _creation
from bridge.arrays import functions as _functions
from bridge.rewind.interpreter import ARRAYS as _ARRAYS
from bridge.rewind.interpreter import current_context as _current_context

_CREATORS = (
    "arange", "bartlett", "blackman", "empty", "eye", "frombuffer", "fromfunction", "fromiter", "fromstring", "full",
    "genfromtxt", "hamming", "hanning", "identity", "indices", "kaiser", "load", "loadtxt", "ones", "tri",
    "tril_indices", "triu_indices", "zeros",
)  # fmt: skip
_CONVERTERS = ("array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite")
_LIKE = ("empty_like", "full_like", "ones_like", "zeros_like")
_SPACED = ("geomspace", "linspace", "logspace")


def _creator(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def create(*args: Any, **kwargs: Any) -> Any:
        context = _current_context()
        if context is None or kwargs.get("like") is not None:
            return function(*args, **kwargs)
        if _creation.tracked_inside((*args, *kwargs.values())):
            return _filled(function, args, kwargs)
        return _creation.made(context, function, args, kwargs)

    return create


def _filled(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    context: Any = _current_context()
    sized = context.home.sized(function, args, kwargs)
    if sized is not NotImplemented:
        return sized
    if function is _numpy.full:
        return _creation.filled(_current_context(), *args, **kwargs)
    return _creation.ranged(*args, **kwargs) if function is _numpy.arange else function(*args, **kwargs)


def _converter(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def convert(x: Any, *args: Any, **kwargs: Any) -> Any:
        context = _current_context()
        if context is None:
            return function(x, *args, **kwargs)
        if not _creation.tracked_inside(x):
            return _creation.converted_plain(context, function, x, args, kwargs)
        kwargs.pop("like", None)
        return _creation.converted(function, x, *args, **kwargs)

    return convert


def _spaced(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def space(*args: Any, **kwargs: Any) -> Any:
        context = _current_context()
        if context is None:
            return function(*args, **kwargs)
        if _creation.tracked_inside((*args, *kwargs.values())):
            arrays = (_creation.array(x) if _creation.tracked_inside(x) else x for x in args)
            return function(*arrays, **kwargs)
        return _creation.made(context, function, args, kwargs)

    return space


def _like(name: str) -> Callable[..., Any]:
    return functools.wraps(getattr(_numpy, name))(getattr(_creation, name))


for _name in _CREATORS:
    globals()[_name] = _creator(getattr(_numpy, _name))
for _name in _CONVERTERS:
    globals()[_name] = _converter(getattr(_numpy, _name))
for _name in _SPACED:
    globals()[_name] = _spaced(getattr(_numpy, _name))
for _name in _LIKE:
    globals()[_name] = _like(_name)


class _StrideTricks(types.ModuleType):
    """`np.lib.stride_tricks`, with an `as_strided` that takes Buffers."""

    @staticmethod
    def as_strided(x: Any, *args: Any, **kwargs: Any) -> Any:
        if hasattr(x, "place"):
            return _functions.as_strided(x, *args, **kwargs)
        return _numpy.lib.stride_tricks.as_strided(x, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(_numpy.lib.stride_tricks, name)


class _Lib(types.ModuleType):
    """`np.lib`, with our `stride_tricks`."""

    stride_tricks = _StrideTricks("bridge.numpy.lib.stride_tricks")

    def __getattr__(self, name: str) -> Any:
        return getattr(_numpy.lib, name)


lib = _Lib("bridge.numpy.lib")


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)


_ARRAYS.namespace = _sys.modules[__name__]


def __dir__() -> list[str]:
    return sorted({*dir(_numpy), *(name for name in globals() if not name.startswith("_"))})
