"""Bounded memory and structured control flow: `checkpoint`, `fori_loop`, `while_loop`, `cond`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, TypeVarTuple, Unpack, cast

from bridge.errors import ArgumentError
from bridge.rewind.checkpoint import record
from bridge.rewind.context import Context
from bridge.rewind.interpreter import current_context
from bridge.rewind.values import concrete
from bridge.source.programs import part
from bridge.transforms.transformed import Transformed

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def checkpoint(f: Callable[P, R]) -> Callable[P, R]:
    """`f` with bounded memory: its log is dropped, and made again when the backward pass needs it.

    `f` may write into its arguments and into captured arrays; what it makes and does not return must not be
    used afterwards. It is run a second time in the backward pass and must do the same again: a ReplayError
    says so if it does not. Costs one more run of `f`; memory that of its arguments, its results, and the
    arrays that existed before and that it writes.
    """

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        context = current_context()
        if not isinstance(context, Context) or not context.checkpoints or not context.home.checkpoints:
            return part(f)(*args, **kwargs)
        return record(context, part(f), args, kwargs)

    made = functools.update_wrapper(Transformed.of(checkpointed, checkpoint, f), f)
    return cast(Callable[P, R], made)


def fori_loop(lower: int, upper: int, body: Callable[[int, T], T], init: T) -> T:
    """`for i in range(lower, upper): value = body(i, value)`, with memory for O(√n) of its n steps.

    Parameters
    ----------
    lower, upper : integers.
    body : `body(i, value) -> value`; may write into `value` and into captured arrays.
    init : first value, any container of arrays.
    """
    context = current_context()
    if context is not None and context.home.control is not None:
        return context.home.control.fori_loop(context, lower, upper, part(body), init)
    body = part(body)
    lower, upper = _integer(lower, "lower"), _integer(upper, "upper")
    step = max(1, math.isqrt(max(0, upper - lower)))

    def steps(start: int, stop: int, value: Any) -> Any:
        for i in range(start, stop):
            value = body(i, value)
        return value

    run = checkpoint(functools.wraps(body)(steps))
    value = init
    for start in range(lower, upper, step):
        value = run(start, min(start + step, upper), value)
    return value


def while_loop(condition: Callable[[T], Any], body: Callable[[T], T], init: T, limit: int | None = None) -> T:
    """`while condition(value): value = body(value)`, with memory for O(√n) of its n steps.

    `limit` is the largest number of steps that is allowed; a loop that wants more raises ArgumentError. A compiled
    gradient without a limit compiles again if a loop makes more steps than it has memory for.
    """
    context = current_context()
    if context is not None and context.home.control is not None:
        return context.home.control.while_loop(context, part(condition), part(body), init, limit)
    condition, body = part(condition), part(body)

    def steps(count: int, value: Any) -> tuple[Any, int]:
        done = 0
        while done < count and bool(condition(value)):
            value = body(value)
            done += 1
        return value, done

    run = checkpoint(functools.wraps(body)(steps))
    value, total, count = init, 0, 1
    while True:
        allowed = count if limit is None else min(count, limit - total)
        value, done = run(allowed, value)
        total += done
        if done < allowed:
            return value
        if limit is not None and total >= limit:
            if bool(condition(value)):
                raise ArgumentError(f"while_loop wants more than limit={limit} steps", remedy="raise limit")
            return value
        count += 1


def cond(
    predicate: Any,
    true_branch: Callable[[Unpack[Ts]], R],
    false_branch: Callable[[Unpack[Ts]], R],
    *operands: *Ts,
) -> R:
    """`true_branch(*operands)` if `predicate` holds, else `false_branch(*operands)`; only that one runs."""
    context = current_context()
    if context is not None and context.home.control is not None:
        return context.home.control.cond(context, predicate, part(true_branch), part(false_branch), operands)
    return part(true_branch)(*operands) if bool(predicate) else part(false_branch)(*operands)


def _integer(value: Any, name: str) -> int:
    plain = concrete(value, f"{name} of a fori_loop")
    try:
        return int(plain.__index__())
    except (AttributeError, TypeError):
        raise ArgumentError(f"{name}={plain!r} of a fori_loop is no integer", remedy="give an integer") from None
