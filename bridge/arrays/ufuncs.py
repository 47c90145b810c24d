"""Ufuncs called with keywords: `out=`, `where=`, `dtype=`, the axes of generalised ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.arrays import ufunc_methods
from bridge.arrays.dispatch import update
from bridge.arrays.operands import context_of, into_plain, operand, rule_for, unwrapped
from bridge.arrays.outputs import Into
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.interpreter import ARRAYS, Call
from bridge.rewind.interrupted import silently
from bridge.rewind.memory import grounded
from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded
from bridge.rewind.values import concrete, is_abstract
from bridge.rulebook.book import ZERO_PULL
from bridge.signatures import operation_name


def ufunc_call(ufunc: np.ufunc, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc with keywords (`out=`, `where=`, ...), or one of its methods."""
    if method != "__call__":
        if OPEN and method != "at" and not any(map(_is_given, kwargs.get("out") or ())) and len(args) <= _BEFORE_OUT:
            found = recorded(ufunc_call, ufunc, method, args, kwargs)
            if found is not NOT_RECORDED:
                return found
        return getattr(ufunc_methods, method.strip("_"))(ufunc, args, kwargs)
    out = kwargs.pop("out", None)
    kwargs.pop("subok", None)
    if "signature" in kwargs:
        _without_signature(ufunc, args, kwargs)
    if out is not None and any(x is not None for x in out):
        return _ufunc_out(ufunc, args, kwargs, out)
    if OPEN and (found := recorded(ufunc_call, ufunc, method, args, kwargs)) is not NOT_RECORDED:
        return found
    context = context_of((*args, *kwargs.values()))
    if "where" in kwargs:
        return _ufunc_where(ufunc, args, kwargs)
    args = tuple(map(operand, args))
    values, inputs, plain = unwrapped(context, args)
    value = ufunc(*values, **kwargs)
    if ufunc in ZERO_PULL:
        return context.result(Call(ufunc, None, values, inputs, kwargs), value)
    rule = rule_for(ufunc, context)
    kept = _core_axes(ufunc, kwargs)
    if "dtype" in kwargs and not context.differentiates:
        kept["dtype"] = kwargs["dtype"]  # Who computes it has to know; a pull sees it in what it gets.
    return context.result(Call(ufunc, rule, values, inputs, kept, plain), value)


_BEFORE_OUT = 2
"""Operands of a method of a ufunc before its `out`."""


def _is_given(x: Any) -> bool:
    return x is not None


def _without_signature(ufunc: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Say the same as `signature=` by `dtype=`, or by nothing where that is what NumPy does without."""
    given, casting = kwargs.pop("signature"), kwargs.get("casting", "same_kind")
    inputs = [grounded(x) for x in args[: ufunc.nin]]
    kinds: list[Any] = [type(x) if type(x) in (int, float, complex) else np.asarray(x).dtype for x in inputs]
    kinds = [*kinds, *[None] * ufunc.nout]
    if isinstance(given, str) and "->" in given:
        given = tuple(given.replace("->", ""))
    types = tuple(None if one is None else np.dtype(one) for one in (given if isinstance(given, tuple) else (given,)))
    resolved = ufunc.resolve_dtypes(tuple(kinds), signature=types, casting=casting)
    if resolved == ufunc.resolve_dtypes(tuple(kinds), casting=casting):
        return
    if len(set(resolved)) > 1:
        raise RefusedError(
            f"{operation_name(ufunc)} with signature={given!r}",
            where=resolve(here()),
            remedy="convert the operands: x.astype(dtype)",
        )
    kwargs["dtype"] = resolved[0]


def _core_axes(ufunc: np.ufunc, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a generalised ufunc that its pull needs."""
    if "axes" in kwargs:
        raise RefusedError(
            f"{operation_name(ufunc)} with axes=",
            where=resolve(here()),
            remedy="move the axes to the end with np.moveaxis",
        )
    return {name: kwargs[name] for name in ("axis", "keepdims") if name in kwargs}


def _ufunc_out(ufunc: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any], out: tuple[Any, ...]) -> Any:
    context = context_of((*args, *out, *kwargs.values()))
    args = tuple(map(operand, args))
    if len(out) == 1 and ufunc.signature is None:
        target = out[0]
        if getattr(getattr(target, "place", None), "context", None) is context:
            return update(ufunc, target, args, kwargs)
        if isinstance(target, np.ndarray) and target.dtype.kind not in "fc" and not any(map(is_abstract, args)):
            # NumPy has an error for most of these.
            with silently():
                ufunc(*map(grounded, args), out=target.copy(), **{k: grounded(x) for k, x in kwargs.items()})
        own = into_plain(context, ufunc, args, target)
        if own is not target:
            return update(ufunc, own, tuple(map(ARRAYS.seen, args)), kwargs)
        values = tuple(concrete(x, "a plain array as out=") for x in args)
        return ufunc(*values, out=target, **{name: concrete(x, f"{name}=") for name, x in kwargs.items()})
    return Into(ufunc, args, kwargs, out, lambda **more: ufunc(*args, **kwargs, **more)).run()


def _ufunc_where(ufunc: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A masked ufunc without `out`: what the mask leaves out is undefined in NumPy, and zero here."""
    mask = kwargs["where"]
    shape = np.broadcast_shapes(*(np.shape(x) for x in (*args, mask)))
    context = context_of((*args, mask))
    sample = ufunc(*(np.ones((), getattr(grounded(x), "dtype", None) or type(x)) for x in args))
    if isinstance(sample, tuple):
        raise RefusedError(f"{operation_name(ufunc)} with where= and several outputs", remedy="give out=")
    target = context.constant_buffer(np.zeros(shape, sample.dtype))
    return update(ufunc, target, tuple(map(operand, args)), kwargs)
