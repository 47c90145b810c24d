"""NumPy's masked arrays and matrices on tracked memory: NumPy's code, with `Derived` as its base class.

`numpy.ma` and `np.matrix` are Python code. It is executed a second time, with another `numpy`: `np.ndarray` as a base
class becomes `Derived`, and conversions keep what is tracked. So the semantics of masks, domains and fill values are
NumPy's own. Masks are plain boolean arrays, or tracked ones that carry no gradient.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.util
import operator
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from bridge.arrays import derived
from bridge.arrays.buffer import Buffer
from bridge.arrays.derived import TWINS, Derived, refused
from bridge.errors import BridgeError
from bridge.rewind.interpreter import ARRAYS, CURRENT, current_context

_MASKED = ("numpy.ma.core", "numpy.ma.extras")
_MATRIX = "numpy.matrixlib.defmatrix"


class _OfArrays(type):
    """Of the class that `np.ndarray` is in this code: every array is one of it, tracked or not."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, np.ndarray) or issubclass(type(x), (Buffer, Derived))

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, (np.ndarray, Buffer)) or (issubclass(kind, Derived))


class _Array(np.ndarray, metaclass=_OfArrays):
    """`np.ndarray` in this code: its methods take tracked arrays, too."""

    def __new__(cls, shape: Any, dtype: Any = float, buffer: Any = None, **options: Any) -> Any:
        if buffer is not None:
            return derived.finalized(cls, derived.as_buffer(np.reshape(buffer, shape)), None)
        return Derived.__new__(cls, shape, dtype, **options)  # type: ignore[arg-type]

    def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
        kind = type or dtype
        if issubclass(builtins.type(self), np.ndarray):
            if kind is _Array:
                return self.view(np.ndarray)
            if not (isinstance(kind, builtins.type) and issubclass(kind, Derived)):
                return np.ndarray.view(self, *(one for one in (dtype, type) if one is not None))
        return derived.view(self, *(one for one in (dtype, type) if one is not None))


def _unbound(name: str) -> Any:
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(np.ndarray if isinstance(x, np.ndarray) else Derived if _is_derived(x) else Buffer, name)(
            x, *args, **kwargs
        )

    return call


def _is_derived(x: Any) -> bool:
    return issubclass(type(x), Derived)


for _name in (
    "all", "any", "argmax", "argmin", "flatten", "max", "mean", "min", "prod", "ravel", "sort", "squeeze", "std",
    "sum", "transpose", "var", "__getitem__", "__setitem__",
):  # fmt: skip
    setattr(_Array, _name, _unbound(_name))


def _kind(x: Any, *args: Any) -> Any:
    """`type(x)`."""
    kind = type(x, *args)
    return _Array if kind is np.ndarray or issubclass(kind, Buffer) else kind


def _copyto(target: Any, *args: Any, **kwargs: Any) -> None:
    """`np.copyto`; masked arrays pass over its errors, and must not pass over a refusal."""
    try:
        np.copyto(target, *args, **kwargs)
    except BridgeError as error:
        raise refused(error.what, error.remedy or "leave the masked array out") from error


def _array(x: Any, dtype: Any = None, copy: Any = True, **kwargs: Any) -> Any:
    """`np.array`: copies of plain numbers may be seen as twins, and tracked values be written into them."""
    made = derived.array(x, dtype, copy, **kwargs)
    is_copy = copy and type(x) is type(made) is np.ndarray and x.ndim
    return derived.as_buffer(made) if is_copy and made.dtype.kind in "fc" else made


class _NumPy(ModuleType):
    """`numpy`, as the code of masked arrays gets it."""

    ndarray = _Array
    array = staticmethod(_array)
    asarray = staticmethod(derived.asarray)
    asanyarray = staticmethod(derived.asanyarray)
    copyto = staticmethod(_copyto)
    isscalar = staticmethod(derived.CONVERTERS["isscalar"])

    @property
    def ma(self) -> ModuleType:
        return twin_module()

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name) if hasattr(np, name) else getattr(importlib.import_module("numpy._core.numeric"), name)


_NUMPY = _NumPy("numpy")
derived.NAMES["np"] = _NUMPY
_CORE = SimpleNamespace(_core=SimpleNamespace(numeric=_NUMPY))


def _imported(name: str, outside: Any = None, inside: Any = None, names: Any = (), level: int = 0) -> Any:
    """`import` in this code."""
    package = "" if outside is None else outside["__package__"]
    if level and name and package == "numpy.matrixlib":
        return importlib.import_module(importlib.util.resolve_name("." * level + name, package))
    if level:
        core = _executed(_MASKED[0])
        if name == "core" or not names:
            return core
        made = ModuleType("numpy.ma")
        vars(made)["core"] = core
        return made
    if name == "numpy" or (name == "numpy._core.numeric" and names):
        return _NUMPY
    if name.startswith("numpy.lib."):
        module = importlib.import_module(name)
        return SimpleNamespace(**{one: derived.converting(getattr(module, one)) for one in names or ()})
    if name.startswith("numpy.") and not names:
        importlib.import_module(name)
        return _NUMPY if name != "numpy._core.numeric" else _CORE
    module = importlib.import_module(name)
    return module if names else sys.modules[name.partition(".")[0]]


def _class(function: Any, name: str, *bases: Any, real: Any, **options: Any) -> Any:
    """A class statement of this code."""
    if any(issubclass(base, BaseException) for base in bases):
        return getattr(real, name)
    made = builtins.__build_class__(function, name, *(Derived if base is _Array else base for base in bases), **options)
    if issubclass(made, Derived):
        made.library_class = getattr(real, name)
        TWINS[made.library_class] = made
    return made


@functools.cache
def _executed(name: str) -> ModuleType:
    """A module of `numpy.ma`, executed with tracked arrays."""
    real = importlib.import_module(name)
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.loader is not None and spec.origin is not None
    made = ModuleType(name)
    names = {"type": _kind, "__import__": _imported, "__build_class__": functools.partial(_class, real=real)}
    vars(made).update(
        __builtins__={**vars(builtins), **names},
        __file__=spec.origin,
        __package__=name.rpartition(".")[0],
        __bridge_twin__=True,
    )
    # Its constants belong to no differentiation.
    token = CURRENT.set(None)
    try:
        spec.loader.exec_module(made)
    finally:
        CURRENT.reset(token)
    if name == _MASKED[0]:
        for constant in ("masked", "masked_singleton", "masked_print_option", "nomask"):
            setattr(made, constant, getattr(real, constant))
        for method, fill in (("any", False), ("all", True)):
            setattr(made.MaskedArray, method, _decided(getattr(made.MaskedArray, method), method, fill))
        for maker in ("zeros", "ones", "empty", "identity"):
            setattr(made, maker, _maker(maker, made.MaskedArray))
        for text in ("__repr__", "__str__", "__format__"):
            setattr(made.MaskedArray, text, getattr(Derived, text))
        made.MaskedConstant._MaskedConstant__singleton = real.masked
    if name == _MATRIX:
        made.matrix.getA, made.matrix.getA1 = derived.raw, lambda self: derived.raw(self).ravel()
        made.matrix.__new__ = staticmethod(functools.partial(_new_matrix, made.matrix.__new__))
        made.matrix.A, made.matrix.A1 = map(property, (made.matrix.getA, made.matrix.getA1))
    return made


def _new_matrix(new: Any, cls: type, data: Any, *args: Any, **kwargs: Any) -> Any:
    """A matrix; plain arrays, which are operands of tracked matrices, are copied."""
    is_plain = type(data) is np.ndarray and data.dtype.kind in "fciub"
    return new(cls, derived.as_buffer(data) if is_plain else data, *args, **kwargs)


def _decided(plain: Any, name: str, fill: bool) -> Any:
    """`any` or `all` of a masked array: of all elements a plain boolean, which cannot be seen as a twin."""

    def method(self: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
        if axis is not None or out is not None or kwargs:
            return plain(self, axis, out, **kwargs)
        return np.ma.masked if self._mask.all() else getattr(self.filled(fill), name)()

    return method


def _maker(name: str, kind: Any) -> Any:
    """A function that makes a masked array, which tracked values may be written into."""

    def make(*args: Any, fill_value: Any = None, hardmask: bool = False, **kwargs: Any) -> Any:
        made = derived.view(derived.as_buffer(getattr(np, name)(*args, **kwargs)), kind)
        if fill_value is not None:
            made.fill_value = fill_value
        made._hardmask = hardmask
        return made

    return make


@functools.cache
def twin_module() -> ModuleType:
    """`numpy.ma` on tracked memory."""
    made = ModuleType("numpy.ma")
    for name in reversed(_MASKED):
        vars(made).update({key: one for key, one in vars(_executed(name)).items() if not key.startswith("__")})
    return made


def twin(callee: Any) -> Any:
    """What is called on tracked values in place of a function, a class or an object of this code; None for others."""
    names = getattr(callee, "__globals__", None)
    if names is not None:
        if names.get("__bridge_twin__"):
            return callee
        return _named(_executed(names["__name__"]), callee) if names.get("__name__") in (*_MASKED, _MATRIX) else None
    kind = callee if isinstance(callee, type) else type(callee)
    if kind is np.matrix:
        return _executed(_MATRIX).matrix if callee is kind else None
    if not str(kind.__module__).startswith("numpy.ma"):
        return None
    return next((found for name in _MASKED if (found := _same_name(name, callee)) is not None), None)


def _named(module: Any, function: Any) -> Any:
    found = module
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not None:
        return found
    return _same_name(module.__name__, function)


def _same_name(module: str, thing: Any) -> Any:
    """What has in the twin of a module the name that `thing` has in the module."""
    names = vars(importlib.import_module(module))
    return next((vars(_executed(module))[name] for name, one in names.items() if one is thing), None)


def entered(x: Any) -> Any:
    """Plain arrays of subclasses, also in lists, as arrays of their twins on read-only copies of their data."""
    if type(x) in (list, tuple) and any(isinstance(part, (np.ndarray, list, tuple)) for part in x):
        return type(x)(map(entered, x))
    context = current_context()
    if context is None or not issubclass(type(x), np.ndarray) or type(x) in (np.ndarray, np.memmap):
        return x
    is_masked = isinstance(x, np.ma.MaskedArray)
    twin(np.ma.MaskedArray if is_masked else type(x))
    kind = TWINS.get(type(x))
    if kind is None or x is np.ma.masked:
        return x
    data = np.array(x, subok=False)
    data.flags.writeable = False
    made: Any = object.__new__(kind)
    object.__setattr__(made, "__bridge_array__", context.constant_buffer(data))
    vars(made).update(vars(x), **({"_baseclass": _Array} if is_masked else {}))
    return made


def met(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands of which one is tracked, with twins in place of plain masked arrays and matrices."""
    found = tuple(entered(x) if isinstance(x, (np.ma.MaskedArray, np.matrix)) else x for x in operands)
    return operands if all(map(operator.is_, found, operands)) else found


ARRAYS.met = met
BASE = _Array
"""The class of the data of a masked array without another one."""
