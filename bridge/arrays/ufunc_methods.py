"""`reduce`, `accumulate`, `outer`, `reduceat` and `at` of ufuncs on tracked arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bridge.arrays import dispatch
from bridge.arrays.operands import context_of, operand, unwrapped
from bridge.arrays.outputs import Into
from bridge.arrays.ufunc_at import at
from bridge.arrays.ufunc_steps import (
    LONG,
    accumulated_back,
    added_back,
    chosen_back,
    goes_in_turn,
    has_partials,
    in_segments,
    must_go_in_turn,
    reduced_back,
    segments_of,
)
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.interpreter import Call
from bridge.rewind.interrupted import silently
from bridge.rewind.memory import grounded, holds_arrays
from bridge.rewind.values import concrete, is_abstract, settled
from bridge.rulebook.book import OF_USERS, ZERO_PULL
from bridge.rulebook.facts import METHODS, Facts, facts_of, parameters_of
from bridge.rulebook.rule import Rule
from bridge.signatures import operation_name
from bridge.solvers.composition import check_agreement, pull_of_equivalent

_NOTHING: Any = object()
_ALL = np.zeros(1, np.intp)
"""Where the segments begin if all elements are one."""
_RULES: dict[tuple[np.ufunc, str], Rule] = {}


def reduce(ufunc: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`ufunc.reduce`: by the rule of the function that it is, otherwise step by step."""
    array, axis, dtype, out, keepdims, initial, where = _bound(
        args, kwargs, (0, None, None, False, _NOTHING, True), ("axis", "dtype", "out", "keepdims", "initial", "where")
    )
    given: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    function = _function_of(ufunc, "reduce")
    if initial is not _NOTHING:
        given["initial"] = initial
    if where is not True:
        given["where"] = where

    def compute(dtype: Any = dtype) -> Any:
        options = given if dtype is None else {**given, "dtype": dtype}
        if _is_flat(ufunc) or function is None:
            return _by_equivalent(ufunc, "reduce", _reduce_by_steps, array, options)
        if "dtype" in parameters_of(function):
            return dispatch.call(function, (_cast(array, None),), options)
        return dispatch.call(function, (_cast(array, dtype),), given)

    return _into(ufunc.reduce, array, given | {"dtype": dtype}, out, compute)


def _function_of(ufunc: np.ufunc, method: str) -> Any:
    """The function that a method is; none where a user has a rule of the ufunc, which its steps then obey."""
    return None if ufunc in OF_USERS else METHODS.get((ufunc, method))


def _is_flat(ufunc: np.ufunc) -> bool:
    """Whether no gradient passes through its methods; `floor_divide` hands the first element on, and that one does."""
    return ufunc in ZERO_PULL and all(kinds[-1] not in "efdgFDG" for kinds in ufunc.types)


def _cast(array: Any, dtype: Any) -> Any:
    """The operand in the `dtype=` of a method."""
    array = operand(array)
    return array if dtype is None or array.dtype == dtype else array.astype(dtype)


def _by_equivalent(ufunc: np.ufunc, method: str, equivalent: Any, array: Any, options: dict[str, Any]) -> Any:
    """NumPy's own value of a method; its pull is that of an equivalent, step by step."""
    context = context_of((array, *options.values()))
    tracked = [x for x in options.values() if hasattr(x, "place")]
    if any(is_abstract(x) or (x.place.active and not _is_flat(ufunc)) for x in tracked):
        result = equivalent(ufunc, array, **options)
        _same_as_numpy(ufunc, method, result, array, options)
        return result
    options = {name: np.copy(grounded(x)) if holds_arrays(x) else x for name, x in options.items()}
    (value,), inputs, plain = unwrapped(context, (operand(array),))
    result = getattr(ufunc, method)(value, **options)
    if _is_flat(ufunc):
        return context.result(Call(getattr(ufunc, method), None, (value,), inputs, options), result)
    rule = _rule_of(ufunc, method, equivalent)
    return context.result(Call(getattr(ufunc, method), rule, (value,), inputs, options, plain), result)


def _same_as_numpy(ufunc: np.ufunc, method: str, result: Any, array: Any, options: dict[str, Any]) -> None:
    """Raise where NumPy computes something else than the steps, one by one, of a method whose options are tracked."""
    if is_abstract(result) or is_abstract(array):
        if method != "accumulate":
            must_go_in_turn(ufunc, result.dtype)
        return
    with silently():
        value = getattr(ufunc, method)(grounded(array), **{name: grounded(x) for name, x in options.items()})
    check_agreement(operation_name(getattr(ufunc, method)), grounded(result), value, (array, *options.values()))


def _rule_of(ufunc: np.ufunc, method: str, equivalent: Any) -> Rule:
    found = _RULES.get((ufunc, method))
    if found is None:
        name = operation_name(getattr(ufunc, method))
        pull: Any = pull_of_equivalent(partial(equivalent, ufunc), name)
        at_once = _pull_of(ufunc, method, pull)
        if at_once is not None:
            steps, pull = pull, at_once
            # Engines that have no rule of theirs for all steps at once have them for each.
            pull.equivalent, pull.compare, pull.marks = steps.equivalent, steps.compare, steps.marks
        facts = Facts(shaped_by=("indices",)) if method == "reduceat" else None
        found = _RULES[ufunc, method] = Rule(
            getattr(ufunc, method), pull, None, reads=None, linear=False, structure=None, facts=facts
        )
    found.replaces = ufunc in OF_USERS
    return found


def _pull_of(ufunc: np.ufunc, method: str, steps: Any) -> Callable[..., Any] | None:
    """A pull that takes all steps at once; None if there is none. Where it is not for a call, the steps are."""
    is_sum = facts_of(ufunc).adds == 1

    def chooses(ct: Any, array: Any) -> bool:
        """Whether the value is an element, and which one can be seen."""
        known = not is_abstract(ct) and not is_abstract(array)
        return facts_of(ufunc).chooses and known and ufunc not in OF_USERS

    def of_all(ct: Any, out: Any, array: Any, axis: int = 0, dtype: Any = None) -> Any:
        ahead = (np.moveaxis(x, axis, 0) for x in (ct, out, _cast(array, dtype)))
        return np.moveaxis(accumulated_back(ufunc, *ahead), 0, axis)

    def of_last(ct: Any, out: Any, array: Any, **options: Any) -> Any:
        axis, keepdims = options.get("axis", 0), options.get("keepdims", False)
        begins = "initial" in options or (ufunc.identity is not None and ufunc not in OF_USERS)
        is_in_turn = is_abstract(out) or goes_in_turn(ufunc, out.dtype)
        if begins or "where" in options or type(axis) is not int or not array.shape or not is_in_turn:
            return steps(ct, out, array, **options)
        ct = np.moveaxis(ct, axis, 0)[0] if keepdims else ct
        rows = np.moveaxis(_cast(array, options.get("dtype")), axis, 0)
        if chooses(ct, array):
            found = chosen_back(np.expand_dims(ct, 0), grounded(out).reshape(1, *rows.shape[1:]), grounded(rows), _ALL)
        elif facts_of(ufunc).adds == -1 and ufunc not in OF_USERS:
            own = np.broadcast_to(ct, rows.shape)
            found = np.concatenate([own[:1], -own[1:]])
        else:
            found = reduced_back(ufunc, ct, rows)
        return np.moveaxis(found, 0, axis)

    def of_segments(ct: Any, out: Any, array: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
        if ufunc in OF_USERS or is_abstract(indices):
            return steps(ct, out, array, indices, axis=axis, dtype=dtype)
        first = np.asarray(concrete(indices, "reduceat"), np.intp)
        if not is_sum:
            if not chooses(ct, array) or not first.size:
                return steps(ct, out, array, indices, axis=axis, dtype=dtype)
            ct, value, rows = (np.moveaxis(x, axis, 0) for x in (ct, grounded(out), grounded(_cast(array, dtype))))
            return np.moveaxis(chosen_back(ct, value, rows, first), 0, axis)
        return np.moveaxis(added_back(np.moveaxis(ct, axis, 0), first, array.shape[axis]), 0, axis)

    if method == "reduceat":
        return of_segments if is_sum or facts_of(ufunc).chooses else None
    if not has_partials(ufunc):
        return None
    return of_all if method == "accumulate" else of_last


def _reduce_by_steps(
    ufunc: np.ufunc,
    array: Any,
    axis: Any,
    keepdims: bool = False,
    dtype: Any = None,
    initial: Any = _NOTHING,
    where: Any = True,
) -> Any:
    where = settled(where)
    array = _cast(array, dtype)
    axes = tuple(range(array.ndim)) if axis is None or not array.ndim else tuple(np.atleast_1d(axis) % array.ndim)
    if len(axes) > 1:
        ufunc.reduce(np.ones((1,) * array.ndim), axis=axes)  # raises if its order over several axes is not defined
    rest = [k for k in range(array.ndim) if k not in axes]
    shape = (math.prod(array.shape[k] for k in axes), *(array.shape[k] for k in rest))
    lined = np.reshape(np.transpose(array, (*axes, *rest)), shape)
    if where is not True:
        mask = np.reshape(np.transpose(np.broadcast_to(where, array.shape), (*axes, *rest)), shape)
    if initial is _NOTHING and ufunc not in OF_USERS:
        # NumPy begins there, which shows: the hypotenuse of one number is not that number.
        initial = ufunc.identity
    begins = initial is not _NOTHING and initial is not None
    if where is True and shape[0] and not _is_flat(ufunc):
        if begins:
            first = initial.astype(array.dtype) if hasattr(initial, "place") else np.asarray(initial, array.dtype)
            lined = np.concatenate([np.broadcast_to(first, (1, *shape[1:])), lined])
        result = ufunc.accumulate(lined)[-1]
        return np.reshape(result, _kept(array.shape, axes)) if keepdims else result
    result = initial if begins else _NOTHING
    for k in range(lined.shape[0]):
        row = lined[k, ...] if rest else lined[k]
        step = row if result is _NOTHING else ufunc(result, row)
        if where is not True:
            if result is _NOTHING:
                raise ValueError(f"reduction operation '{ufunc.__name__}' with where= needs initial=")
            step = np.where(mask[k], step, result)
        result = step
    if result is _NOTHING:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    if keepdims:
        result = np.reshape(result, _kept(array.shape, axes))
    return result


def _kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if k in axes else n for k, n in enumerate(shape))


def accumulate(ufunc: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`ufunc.accumulate` along one axis."""
    array, axis, dtype, out = _bound(args, kwargs, (0, None, None), ("axis", "dtype", "out"))
    function = _function_of(ufunc, "accumulate")
    given = {"axis": axis, "dtype": dtype}

    def compute(dtype: Any = dtype) -> Any:
        options = {"axis": axis, "dtype": dtype}
        if function is not None:
            return dispatch.call(function, (array,), options)
        return _by_equivalent(ufunc, "accumulate", _accumulate_by_steps, array, options)

    return _into(ufunc.accumulate, array, given, out, compute)


def _accumulate_by_steps(ufunc: np.ufunc, array: Any, axis: int = 0, dtype: Any = None) -> Any:
    array = _cast(array, dtype)
    parts = [np.take(array, 0, axis)] if array.shape[axis] else []
    for k in range(1, array.shape[axis]):
        parts.append(ufunc(parts[-1], np.take(array, k, axis)))
    return np.stack(parts, axis) if parts else array.copy()


def outer(ufunc: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`ufunc.outer(a, b)`: every element of `a` with every element of `b`."""
    a, b = (operand(x) for x in args)
    lifted = np.reshape(a, np.shape(a) + (1,) * np.ndim(b))
    return ufunc(lifted, b, **kwargs)


def reduceat(ufunc: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`ufunc.reduceat`: a reduction over each segment of one axis."""
    array, indices, axis, dtype, out = _bound(
        args, kwargs, (_NOTHING, 0, None, None), ("indices", "axis", "dtype", "out")
    )
    given = {"indices": indices, "axis": axis, "dtype": dtype}

    def compute(dtype: Any = dtype) -> Any:
        return _by_equivalent(ufunc, "reduceat", _reduceat_by_steps, array, given | {"dtype": dtype})

    return _into(ufunc.reduceat, array, given, out, compute)


def _reduceat_by_steps(ufunc: np.ufunc, array: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    array = _cast(array, dtype)
    first = np.asarray(concrete(indices, "reduceat"), np.intp)
    if not first.size:
        return np.take(array, first, axis)
    picked, starts = segments_of(first, array.shape[axis])
    if picked.size > LONG * first.size and not facts_of(ufunc).chooses:
        ahead = np.moveaxis(array, axis, 0)
        ends = starts + np.diff(np.append(starts, picked.size))
        parts = [ufunc.reduce(ahead[picked[k] : picked[end - 1] + 1]) for k, end in zip(starts, ends, strict=True)]
        return np.moveaxis(np.stack(parts), 0, axis)
    return np.moveaxis(in_segments(ufunc, np.moveaxis(array, axis, 0), picked, starts), 0, axis)


def _bound(
    args: tuple[Any, ...], kwargs: dict[str, Any], defaults: tuple[Any, ...], names: tuple[str, ...]
) -> list[Any]:
    unknown = set(kwargs) - set(names)
    if unknown:
        raise RefusedError(f"unknown keywords {sorted(unknown)}", where=resolve(here()))
    values = [args[0]]
    for k, (name, default) in enumerate(zip(names, defaults, strict=True), 1):
        values.append(args[k] if k < len(args) else kwargs.get(name, default))
    return values


def _into(method: Any, array: Any, given: dict[str, Any], out: Any, compute: Callable[..., Any]) -> Any:
    target = out[0] if isinstance(out, tuple) else out
    return compute() if target is None else Into(method, (array,), given, target, compute).run()


__all__ = ["accumulate", "at", "operation_name", "outer", "reduce", "reduceat"]
