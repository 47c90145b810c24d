"""Callables that are not Python, and get no tracked values: they would read the memory of an object past its methods.

C, C++ and Fortran behind ctypes, cffi, Cython, pybind11, nanobind, SWIG or f2py, and what Numba compiles, apart from
functions whose source is read (`numba.py`).
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from bridge.errors import BridgeError
from bridge.rewind.escapes import constant_of, noted, remember
from bridge.rewind.values import is_abstract, needs_value
from bridge.source.keeping import any_tracked
from bridge.source.library_calls import home, passed_over
from bridge.state.graph import is_numbas

_TAKES_OBJECTS = frozenset({"builtins", "bridge", "numpy", "scipy", "jax", "jaxlib", "torch", "optree", "cytoolz"})
"""Libraries whose compiled functions leave objects that they do not know alone, or have an error of their own here."""

_OF_C: Any = ctypes._CFuncPtr  # type: ignore[attr-defined]
_OF_NUMBA = ("numba.typed", "numba.experimental")
"""Modules of Numba's whose Python functions call compiled ones with what they get."""
_IN_PYTHON = (FunctionType, MethodType, functools.partial)


def is_compiled(callee: Any) -> bool:
    """Whether something that is called is compiled code of a library, or is one call away from it."""
    kind = type(callee)
    if kind.__name__ == "fortran" or isinstance(callee, _OF_C):
        return True
    is_class = isinstance(callee, type)
    root = _home_of(callee, kind, is_class)
    if root in _TAKES_OBJECTS or root in sys.stdlib_module_names:
        return False
    if is_numbas(kind) or (kind is FunctionType and str(callee.__module__).startswith(_OF_NUMBA)):
        return True
    if kind is MethodType:
        return is_compiled(callee.__func__)
    if kind is FunctionType or (is_class and type(callee.__init__) is FunctionType):
        return _is_wrapper(callee.__module__)
    if is_class:
        return _is_extension(callee.__module__)
    call = kind.__call__
    return _is_wrapper(kind.__module__) if type(call) in _IN_PYTHON else True


def refusing(callee: Any, reason: str = "") -> Callable[..., Any]:
    """Compiled code that is not called with tracked values which carry a gradient; `reason`: why it is not read."""

    @passed_over
    def call(*args: Any, **kwargs: Any) -> Any:
        if any_tracked(args, kwargs):
            for name, value in (*enumerate(args), *kwargs.items()):
                lost = _carrying(value)
                if lost is not None:
                    raise _error(callee, name, lost, reason)
        return callee(*args, **kwargs)

    return call


def _error(callee: Any, name: object, lost: Any, reason: str) -> BridgeError:
    owner = callee if hasattr(callee, "__name__") else type(callee)
    called = f"{home(owner)}.{owner.__name__}".lstrip(".")
    which = f"argument {name + 1}" if isinstance(name, int) else f"argument {name}"
    how = f"{which} of {called}, which is compiled code{reason and f' and is not read ({reason})'},"
    remedy = (
        f"give it a rule: call what bridge.rule({called})(pull) returns, or bridge.mutating_rule if it writes into its "
        "arguments; or pass bridge.detach(value), if no gradient is to flow through it"
    )
    error = noted(lost, needs_value(lost, how, remedy)) if is_abstract(lost) else remember(lost, how)
    error.remedy = remedy
    return error


def _carrying(value: Any) -> Any:
    """The first tracked value in an argument that carries a gradient; None if there is none."""
    if isinstance(value, (list, tuple, dict)):
        parts = value.values() if isinstance(value, dict) else value
        return next((found for one in parts if (found := _carrying(one)) is not None), None)
    return value if hasattr(value, "place") and constant_of(value) is None else None


def _home_of(callee: Any, kind: type, is_class: bool) -> str:
    if is_class or kind is FunctionType:
        return home(callee)
    owner = getattr(callee, "__self__", None)
    if kind is BuiltinFunctionType and not (owner is None or type(owner) is type(sys)):
        return home(type(owner))
    found = home(callee)
    return found if kind is BuiltinFunctionType and found else home(kind)


def _is_extension(name: str | None) -> bool:
    """Whether a module is compiled."""
    spec = getattr(sys.modules.get(name or ""), "__spec__", None)
    return spec is not None and isinstance(spec.loader, ExtensionFileLoader)


def _is_wrapper(name: str | None) -> bool:
    """Whether a module is compiled, or is what SWIG writes, whose functions call compiled ones with what they get."""
    return _is_extension(name) or hasattr(sys.modules.get(name or ""), "_swig_repr")
