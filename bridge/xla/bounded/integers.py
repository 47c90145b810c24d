"""Run-time integers from run-time integers: the same operation on the same linear forms gives the same form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded_in
from bridge.xla.regions.affine import Affine
from bridge.xla.tracing.integers import affine_of, affine_result
from bridge.xla.tracing.outlines import Outline, outline_of


def number(trace: Any, form: Affine) -> Any:
    """A form as an integer of Python's, or a traced one."""
    return form.constant if form.is_constant else trace.integer(form)


def made(trace: Any, like: Any, contents: Callable[..., Any], *operands: Any) -> Any:
    """A traced array or number that looks as `like` does and holds `contents(*operands)`."""
    if OPEN and (found := recorded_in(trace, made, like, contents, *operands)) is not NOT_RECORDED:
        return found
    held = outline_of(like) if trace.is_dry else contents(*operands)
    return trace.entered(like, held) if isinstance(like, np.ndarray) else trace.number(like, held)


def is_equal(form: Affine, number: int) -> Any:
    """Whether an integer is this number, when the program runs."""
    return jnp.asarray(form.value()) == number


def minimum(trace: Any, a: Affine, b: Affine) -> Affine:
    """The lesser of two integers: one of them, where their bounds say which."""
    low, high = (b - a).bounds()
    if low is not None and low >= 0:
        return a
    if high is not None and high <= 0:
        return b
    return _derived(trace, np.minimum, (a, b), _least)


def maximum(trace: Any, a: Affine, b: Affine) -> Affine:
    """The greater of two integers."""
    low, high = (b - a).bounds()
    if low is not None and low >= 0:
        return b
    if high is not None and high <= 0:
        return a
    return _derived(trace, np.maximum, (a, b), _most)


def clamped(trace: Any, form: Affine, low: Affine, high: Affine) -> Affine:
    """The integer of [low, high] that is nearest."""
    return maximum(trace, low, minimum(trace, form, high))


def from_start(trace: Any, form: Affine, length: Affine) -> Affine:
    """A place on an axis that counts from the end where it is negative."""
    low, high = form.bounds()
    if low is not None and low >= 0:
        return form
    if high is not None and high < 0:
        return form + length
    counted = length.bounds()[1]
    most = None if high is None or counted is None else max(high, counted - 1)
    return _derived(trace, from_start, (form, length), _counted, (None, most))


def quotient(trace: Any, form: Affine, divisor: int) -> Affine:
    """An integer that is not negative divided by a positive one, rounded up."""
    if divisor == 1:
        return form
    if form.is_constant:
        return Affine.of(-(-form.constant // divisor))
    return _derived(trace, np.floor_divide, (form + (divisor - 1), Affine(divisor)), _divided)


def broadcast_length(trace: Any, a: Affine, b: Affine) -> Affine:
    """The length of an axis on which one of length `a` meets one of length `b`, which may be 1."""
    (low, high), (other_low, other_high) = a.bounds(), b.bounds()
    most = None if high is None or other_high is None else max(high, other_high)
    return _derived(trace, broadcast_length, (a, b), _met, (min(low or 0, other_low or 0), most))


def product(trace: Any, forms: list[Affine]) -> Affine:
    """The number of elements of an array."""
    total = Affine.of(1)
    for form in forms:
        if total.is_constant or form.is_constant:
            total = form * total.constant if total.is_constant else total * form.constant
            continue
        a, b = total, form
        highs = a.bounds()[1], b.bounds()[1]
        most = None if None in highs else highs[0] * highs[1]  # type: ignore[operator]
        total = _derived(trace, product, (a, b), _multiplied, (0, most))
    return total


def _derived(
    trace: Any,
    function: Any,
    forms: tuple[Affine, ...],
    value: Callable[..., Any],
    bounds: tuple[int | None, int | None] | None = None,
) -> Affine:
    key = (function, forms, np.dtype(np.int64))
    for frame in reversed(trace.frames):
        if key in frame.integers:
            found: Affine = frame.integers[key]
            return found
    if OPEN and (number := recorded_in(trace, _again, function, forms, value, bounds)) is not NOT_RECORDED:
        return affine_of(number)
    contents = Outline((), np.int64) if trace.is_dry else jnp.asarray(value(*forms), np.int64)
    form = affine_result(function, forms, contents, np.int64) if bounds is None else Affine.unknown(contents, *bounds)
    trace.frames[-1].integers[key] = form
    return form


def _again(trace: Any, function: Any, forms: tuple[Affine, ...], value: Callable[..., Any], bounds: Any) -> Any:
    """A derived integer as a traced number, which a tape can tell from others."""
    return trace.integer(_derived(trace, function, forms, value, bounds))


def _least(a: Affine, b: Affine) -> Any:
    return jnp.minimum(a.value(), b.value())


def _most(a: Affine, b: Affine) -> Any:
    return jnp.maximum(a.value(), b.value())


def _counted(form: Affine, length: Affine) -> Any:
    return jnp.where(form.value() < 0, form.value() + length.value(), form.value())


def _divided(form: Affine, divisor: Affine) -> Any:
    return form.value() // divisor.constant


def _met(a: Affine, b: Affine) -> Any:
    return jnp.where(jnp.asarray(a.value()) == 1, b.value(), a.value())


def _multiplied(a: Affine, b: Affine) -> Any:
    return a.value() * b.value()
