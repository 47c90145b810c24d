"""Operators and array methods of tracked values: each is a ufunc or a NumPy function, dispatched."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.arrays import dispatch
from bridge.arrays.operands import operand
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.in_c import quick
from bridge.rewind.escapes import escape
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.labels import refuse_operand
from bridge.rewind.values import is_of_subclass

Method = Callable[..., Any]


def _unary(function: Method, ufunc: np.ufunc) -> Method:
    def method(self: Any) -> Any:
        return dispatch.operate_one(function, ufunc, self)

    return quick(method, function.__name__, ufunc)


def _binary(function: Method, ufunc: np.ufunc) -> Method:
    def method(self: Any, other: Any) -> Any:
        return dispatch.operate_pair(function, ufunc, self, other)

    return quick(method, function.__name__, ufunc)


def _reflected(function: Method, ufunc: np.ufunc) -> Method:
    return quick(
        lambda self, other: dispatch.operate_pair(function, ufunc, other, self), function.__name__, ufunc, True
    )


def _inplace(function: Method, ufunc: np.ufunc) -> Method:
    def assign(self: Any, other: Any) -> Any:
        if type(other) is ARRAYS.bounded:
            return other.update(ufunc, self)
        given, other = other, operand(other)
        if other is NotImplemented:
            if is_of_subclass(given):
                return ufunc(self, given, out=(self,))
            # What has labels would be a new array, which NumPy's is not.
            refuse_operand(given, f"{ufunc.__name__}, in place")
            return other
        return dispatch.operate_inplace(function, ufunc, self, other)

    return quick(assign, function.__name__, ufunc)


def _function(function: Any) -> Method:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return dispatch.call(function, (self, *args), kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"`np.{function.__name__}` of this array."
    return method


def _refused(name: str, remedy: str) -> Method:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise RefusedError(f"{name}() of a tracked array", where=resolve(here()), remedy=remedy)

    refuse.__name__ = name
    refuse.__doc__ = f"Refused: {remedy}."
    return refuse


_OUT_OF_PLACE = "the memory of a tracked array keeps its size and layout; write np.resize or np.reshape and rebind"
_AS_BYTES = "its bytes are plain memory; take them from bridge.detach(x)"


class Operators:
    """What Buffers and Scalars can be combined with, and asked."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def dtype(self) -> np.dtype[Any]: ...

    __neg__ = _unary(operator.neg, np.negative)
    __pos__ = _unary(operator.pos, np.positive)
    __abs__ = _unary(operator.abs, np.absolute)
    __invert__ = _unary(operator.invert, np.invert)

    __add__, __radd__ = _binary(operator.add, np.add), _reflected(operator.add, np.add)
    __sub__, __rsub__ = _binary(operator.sub, np.subtract), _reflected(operator.sub, np.subtract)
    __mul__, __rmul__ = _binary(operator.mul, np.multiply), _reflected(operator.mul, np.multiply)
    __truediv__, __rtruediv__ = _binary(operator.truediv, np.divide), _reflected(operator.truediv, np.divide)
    __floordiv__, __rfloordiv__ = (
        _binary(operator.floordiv, np.floor_divide),
        _reflected(operator.floordiv, np.floor_divide),
    )
    __mod__, __rmod__ = _binary(operator.mod, np.remainder), _reflected(operator.mod, np.remainder)
    __divmod__, __rdivmod__ = _binary(divmod, np.divmod), _reflected(divmod, np.divmod)
    __pow__, __rpow__ = _binary(operator.pow, np.power), _reflected(operator.pow, np.power)
    __matmul__, __rmatmul__ = _binary(operator.matmul, np.matmul), _reflected(operator.matmul, np.matmul)
    __and__, __rand__ = _binary(operator.and_, np.bitwise_and), _reflected(operator.and_, np.bitwise_and)
    __or__, __ror__ = _binary(operator.or_, np.bitwise_or), _reflected(operator.or_, np.bitwise_or)
    __xor__, __rxor__ = _binary(operator.xor, np.bitwise_xor), _reflected(operator.xor, np.bitwise_xor)
    __lshift__, __rlshift__ = _binary(operator.lshift, np.left_shift), _reflected(operator.lshift, np.left_shift)
    __rshift__, __rrshift__ = _binary(operator.rshift, np.right_shift), _reflected(operator.rshift, np.right_shift)

    __eq__ = _binary(operator.eq, np.equal)
    __ne__ = _binary(operator.ne, np.not_equal)
    __lt__ = _binary(operator.lt, np.less)
    __le__ = _binary(operator.le, np.less_equal)
    __gt__ = _binary(operator.gt, np.greater)
    __ge__ = _binary(operator.ge, np.greater_equal)
    __hash__ = None  # type: ignore[assignment]

    sum, prod, mean, var, std = map(_function, (np.sum, np.prod, np.mean, np.var, np.std))
    max, min, argmax, argmin = map(_function, (np.max, np.min, np.argmax, np.argmin))
    any, all, nonzero, searchsorted = map(_function, (np.any, np.all, np.nonzero, np.searchsorted))
    cumsum, cumprod, round = map(_function, (np.cumsum, np.cumprod, np.round))
    swapaxes, squeeze, diagonal, trace = map(_function, (np.swapaxes, np.squeeze, np.diagonal, np.trace))
    take, repeat, choose = map(_function, (np.take, np.repeat, np.choose))
    argsort, argpartition = map(_function, (np.argsort, np.argpartition))
    ravel, flatten = _function(np.ravel), _function(np.ravel)

    resize = _refused("resize", _OUT_OF_PLACE)
    setflags = _refused("setflags", "a tracked array stays writeable; bridge.constant(x) is a promise not to write")
    byteswap, getfield, setfield = (_refused(name, _AS_BYTES) for name in ("byteswap", "getfield", "setfield"))
    dump, dumps, tofile = (_refused(name, _AS_BYTES) for name in ("dump", "dumps", "tofile"))

    @property
    def device(self) -> str:
        return "cpu"

    def conj(self) -> Any:
        """The complex conjugate; this very array, not a copy, if it is real."""
        return dispatch.call(np.conj, (self,), {}) if self.dtype.kind == "c" else self

    conjugate = conj

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """`np.clip` of this array."""
        return dispatch.call(np.clip, (self, min, max), kwargs if out is None else {**kwargs, "out": out})

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """`np.compress` of this array."""
        return dispatch.call(np.compress, (condition, self, axis), {} if out is None else {"out": out})

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """`np.reshape` of this array."""
        options: dict[str, Any] = {"order": order} if copy is None else {"order": order, "copy": copy}
        return dispatch.call(np.reshape, (self, shape[0] if len(shape) == 1 else shape), options)

    # What follows is for numbers; a Buffer has its own.
    T = property(lambda self: self)

    def transpose(self, *axes: Any) -> Any:
        return self

    def is_integer(self) -> bool:
        return bool(self % 1 == 0)

    def hex(self) -> str:
        return float(escape(self, "hex()")).hex()

    def as_integer_ratio(self) -> tuple[int, int]:
        return float(escape(self, "as_integer_ratio()")).as_integer_ratio()

    def __round__(self, digits: int | None = None) -> Any:
        if self.shape:
            raise TypeError("round() of a tracked array: write np.round")
        rounded = dispatch.call(np.round, (self, digits or 0), {})
        return int(rounded) if digits is None else rounded


class InPlace:
    """Augmented assignment: it writes into the memory of a Buffer, and rebinds a Scalar."""

    __slots__ = ()

    __iadd__ = _inplace(operator.iadd, np.add)
    __isub__ = _inplace(operator.isub, np.subtract)
    __imul__ = _inplace(operator.imul, np.multiply)
    __itruediv__ = _inplace(operator.itruediv, np.divide)
    __ifloordiv__ = _inplace(operator.ifloordiv, np.floor_divide)
    __imod__ = _inplace(operator.imod, np.remainder)
    __ipow__ = _inplace(operator.ipow, np.power)
    __imatmul__ = _inplace(operator.imatmul, np.matmul)
    __iand__ = _inplace(operator.iand, np.bitwise_and)
    __ior__ = _inplace(operator.ior, np.bitwise_or)
    __ixor__ = _inplace(operator.ixor, np.bitwise_xor)
    __ilshift__ = _inplace(operator.ilshift, np.left_shift)
    __irshift__ = _inplace(operator.irshift, np.right_shift)
