"""From a NumPy call on tracked operands to an entry of the log: unwrap, run, wrap, report to the context."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

import numpy as np

from bridge.arrays import creation, mutating
from bridge.arrays.call_forms import known_options, lists_as_arrays, outputs_by_name
from bridge.arrays.operands import (
    NUMBERS,
    check_not_complex,
    context_of,
    operand,
    refuse_complex,
    rule_for,
    unwrapped,
)
from bridge.arrays.outputs import Into
from bridge.arrays.own_numbers import PLAIN, asked_first, combined
from bridge.arrays.views import wrap_result
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.escapes import note_texts
from bridge.rewind.interpreter import ARRAYS, Call
from bridge.rewind.memory import grounded, holds_arrays, numpy_number
from bridge.rewind.snapshots import constant, copy_of_list
from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded
from bridge.rewind.values import is_abstract, settled
from bridge.rulebook import book
from bridge.rulebook.book import MUTATING, REFUSED, RULES, ZERO_PULL
from bridge.rulebook.facts import facts_of
from bridge.rulebook.rule import UNPLANNED
from bridge.signatures import operation_name


def operate_one(function: Callable[..., Any], ufunc: np.ufunc, x: Any) -> Any:
    """`operate` for one operand."""
    if OPEN and (found := recorded(operate_one, function, ufunc, x)) is not NOT_RECORDED:
        return found
    place = x.place
    context = place.context
    if context.thread != get_ident():
        context.check_usable()
    own = x.value
    value = function(own)
    inputs = (place if place.active else None,)
    if ufunc in ZERO_PULL:
        return context.result(Call(ufunc, None, (own,), inputs), value)
    if type(own) in (float, complex):
        own = numpy_number(own)
    rule = RULES.get(ufunc) or rule_for(ufunc, context)
    if place.active and context.lean:
        plan = rule.plans[4]
        if plan is UNPLANNED:
            plan = rule.plan(4)
        if plan is not None:
            out = context.one(plan, value, own, place, here())
            if out is not NotImplemented:
                return out
    return context.result(Call(ufunc, rule, (own,), inputs), value)


def operate_pair(function: Callable[..., Any], ufunc: np.ufunc, x: Any, y: Any) -> Any:
    """`operate` for two operands of one context, or one and a number: what programs are made of."""
    if OPEN and (found := recorded(operate_pair, function, ufunc, x, y)) is not NOT_RECORDED:
        return found
    x_place: Any = getattr(x, "place", None)
    y_place: Any = getattr(y, "place", None)
    # Which of them carry a gradient, by the bits 1 and 2.
    active = 0
    if y_place is None:
        if type(y) not in PLAIN:
            return operate(function, ufunc, x, y)
        context = x_place.context
        x = x.value
    elif x_place is None:
        if type(x) not in PLAIN:
            return operate(function, ufunc, x, y)
        context = y_place.context
        y = y.value
    else:
        context = x_place.context
        if context is not y_place.context:
            return operate(function, ufunc, x, y)
        x, y = x.value, y.value
    if x_place is not None and x_place.active:
        active = 1
    if y_place is not None and y_place.active:
        active += 2
    if context.thread != get_ident():
        context.check_usable()
    try:
        value = function(x, y)
    except ZeroDivisionError as error:
        value = context.home.value_despite(error, function, (x, y), (x_place, y_place))
    rule = RULES.get(ufunc)
    if rule is None and ufunc not in ZERO_PULL:
        rule = rule_for(ufunc, context)
    if active and rule is not None and context.lean:
        plan = rule.plans[active]
        if plan is UNPLANNED:
            plan = rule.plan(active)
        if plan is not None:
            x_input, y_input = x_place if active != 2 else None, y_place if active != 1 else None
            out = context.pair(plan, value, x, y, x_input, y_input, here())
            if out is not NotImplemented:
                return out
    inputs = (x_place if active & 1 else None, y_place if active & 2 else None)
    return context.result(Call(ufunc, rule, (x, y), inputs), value)


def operate(function: Callable[..., Any], ufunc: np.ufunc, *args: Any) -> Any:
    """A ufunc, or the operator that stands for it, on operands of which one is tracked."""
    if OPEN and (found := recorded(operate, function, ufunc, *args)) is not NOT_RECORDED:
        return found
    context: Any = None
    values = []
    inputs = []
    plain: tuple[int, ...] = ()
    for k, x in enumerate(args):
        place = getattr(x, "place", None)
        if place is not None:
            if context is None:
                context = place.context
            elif context is not place.context:
                return _operate_across(function, ufunc, args)
            values.append(x.value)
            inputs.append(place if place.active else None)
            continue
        inputs.append(None)
        if type(x) not in PLAIN:
            if type(x) is not np.ndarray and ARRAYS.of_subclass(type(x)) and (found := ARRAYS.met(args)) is not args:
                return function(*found)
            foreign, x = x, NotImplemented if asked_first(function, ufunc, args) else operand(x)
            if x is NotImplemented:
                combine = ARRAYS.combine(foreign) or book.operators_of(foreign)
                found = combined(function, ufunc, args, operate) if combine is None else combine(ufunc, *args)
                if combine is not None or found is not NotImplemented:
                    return found
                if foreign is None and ufunc in (np.equal, np.not_equal) and hasattr(args[0], "view_as"):
                    return creation.full_like(args[0], ufunc is np.not_equal, dtype=bool)
                return NotImplemented
            if hasattr(x, "place"):
                return operate(function, ufunc, *(operand(y) for y in args))
            if type(x) is not constant and type(x) not in PLAIN:
                plain += (k,)
        values.append(x)
    context.check_usable()
    for k in plain:
        context.check_original(values[k])
    value = function(*values)
    rule = None if ufunc in ZERO_PULL else rule_for(ufunc, context)
    return context.result(Call(ufunc, rule, tuple(values), tuple(inputs), plain=plain), value)


def _operate_across(function: Callable[..., Any], ufunc: np.ufunc, args: tuple[Any, ...]) -> Any:
    """Operands of nested contexts: the operation belongs to the innermost one, the others are constants there."""
    context = context_of(args)
    values, inputs, plain = unwrapped(context, tuple(map(operand, args)))
    value = function(*values)
    rule = None if ufunc in ZERO_PULL else rule_for(ufunc, context)
    return context.result(Call(ufunc, rule, values, inputs, plain=plain), value)


def operate_inplace(operator: Callable[..., Any], ufunc: np.ufunc, target: Any, other: Any) -> Any:
    """An augmented assignment into a Buffer."""
    if OPEN and (found := recorded(operate_inplace, operator, ufunc, target, other)) is not NOT_RECORDED:
        return found
    context = target.place.context
    context.check_usable()
    context.writable(target)
    if isinstance(other, NUMBERS) or getattr(getattr(other, "place", None), "context", None) is context:
        own, place = target.place, getattr(other, "place", None)
        values = (target.value, other if place is None else other.value)
        inputs = (own if own.active else None, place if place is not None and place.active else None)
        rule = RULES.get(ufunc) or _rule_of_update(ufunc, context)
        return _updated(Call(ufunc, rule, values, inputs), target, None, lambda operands: operator(*operands))
    return update(ufunc, target, (target, other), {}, lambda values: operator(*values))


def update(ufunc: np.ufunc, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: Any = None) -> Any:
    """Run `ufunc` on `args` with `target` as `out`."""
    if OPEN and run is None and (found := recorded(update, ufunc, target, args, kwargs)) is not NOT_RECORDED:
        return found
    context = target.place.context
    context.check_usable()
    context.writable(target)
    values, inputs, plain = unwrapped(context, args)
    if "casting" in kwargs:
        check_not_complex(target, values)
    mask = kwargs.get("where", True)
    if mask is not True:
        mask = kwargs["where"] = settled(mask) if is_abstract(mask) else _mask(grounded(mask))
    if run is None:

        def run(operands: tuple[Any, ...]) -> Any:
            return ufunc(*operands, out=target.value, **kwargs)

    kept = {} if context.differentiates or kwargs.get("dtype") is None else {"dtype": kwargs["dtype"]}
    call = Call(ufunc, _rule_of_update(ufunc, context), values, inputs, kept, plain)
    return _updated(call, target, None if mask is True else mask, run)


def _mask(where: Any) -> np.ndarray:
    """A copy of a mask; of what is no array, NumPy makes one of booleans."""
    return np.array(where) if isinstance(where, np.ndarray) else np.array(where, bool)


def _rule_of_update(ufunc: np.ufunc, context: Any) -> Any:
    return RULES.get(ufunc) or (None if ufunc in ZERO_PULL else rule_for(ufunc, context))


def _updated(call: Call, target: Any, mask: Any, run: Any) -> Any:
    values = call.args
    try:
        target.place.context.update(call, target, mask, run)
    except np.exceptions.ComplexWarning:
        refuse_complex(target)
    except TypeError:
        check_not_complex(target, values)
        raise
    followers = target.place.context.followers
    if followers is not None:
        followers.written(target, Ellipsis)
    return target


# The functions that the core handles itself, registered by `bridge.arrays.functions`; not changed after that.
HANDLED: dict[Any, Callable[..., Any]] = {}


def call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Any NumPy function, or a function with a rule, on arguments some of which may be tracked."""
    handler = HANDLED.get(function)
    return call_by_rule(function, args, kwargs) if handler is None else handler(*args, **kwargs)


def call_by_rule(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`call` of a function past its handler, if it has one."""
    if isinstance(function, np.ufunc):
        return function(*args, **kwargs)
    if not kwargs and 0 < len(args) < 3 and type(args[0]) is type(args[-1]) is ARRAYS.buffer:
        found = _of_buffers(function, args)
        if found is not NotImplemented:
            return found
    context = context_of((*args, *kwargs.values()))
    if context is None:
        return function(*args, **kwargs)
    if context.home.is_abstract:
        args, kwargs = known_options(function, args, kwargs)
    args, kwargs = outputs_by_name(function, args, kwargs)
    if OPEN and function not in MUTATING and kwargs.get("out") is None:
        found = recorded(call_by_rule, function, args, kwargs)
        if found is not NOT_RECORDED:
            return found
    if function in MUTATING:
        return mutating.call(MUTATING[function], args, kwargs)
    rule = book.find(function)
    steps = None if context.differentiates else context.home.steps_of(function)
    if steps is not None:
        return steps(*args, **kwargs)
    if function in REFUSED:
        raise RefusedError(
            f"{operation_name(function)} of a tracked array", where=resolve(here()), remedy=REFUSED[function]
        )
    out = kwargs.pop("out", None) if rule is None or "out" not in rule.parameters else None
    if out is not None:
        return Into(function, args, kwargs, out, lambda **more: call(function, args, {**kwargs, **more})).run()
    if function in ZERO_PULL:
        if facts_of(function).describes == "values":
            note_texts(args)
        values, inputs, _ = unwrapped(context, (*args, *kwargs.values()))
        made = Call(function, None, values, inputs, names=tuple(kwargs))
        positional, named = made.spelled(values)
        return wrap_result(context, call(function, positional, named), args, lambda fresh: context.result(made, fresh))
    return _call_with_rule(context, function, rule or rule_for(function, context), args, kwargs)


def _of_buffers(function: Any, args: tuple[Any, ...]) -> Any:
    """A function of one Buffer alone, or a product of two of one context; NotImplemented for all else."""
    rule = RULES.get(function)
    context = args[0].place.context
    if rule is None or rule.supports is not None or not context.lean:
        return NotImplemented
    if len(args) == 1:
        is_other = function in HANDLED
    else:
        is_product = rule.structure == "multilinear" and rule.takes_arrays
        is_other = not is_product or context is not args[1].place.context
    if is_other or function in MUTATING or function in REFUSED or function in ZERO_PULL:
        return NotImplemented
    context.check_usable()
    values = tuple([x.value for x in args])
    made = Call(function, rule, values, tuple([x.place if x.place.active else None for x in args]))
    return wrap_result(context, function(*values), args, lambda fresh: context.result(made, fresh))


def _call_with_rule(context: Any, function: Any, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs.get("overwrite_input"):
        raise RefusedError(
            f"{rule.name} with overwrite_input=True leaves its argument in an order that NumPy does not specify",
            where=resolve(here()),
            remedy="leave it out",
        )
    args, kwargs = lists_as_arrays(function, args, kwargs)
    if rule.supports is not None:
        rule.supports.check(rule.name, (*rule.parameters[: len(args)], *kwargs), (*args, *kwargs.values()))
    values, inputs, plain = unwrapped(context, args)
    if not kwargs:
        value = context.home.value(call, function, values, {})
        made = Call(function, rule, values, inputs, kwargs, plain)
        return wrap_result(context, value, args, lambda fresh: context.result(made, fresh))
    named, _, _ = unwrapped(context, tuple(kwargs.values()))
    named_values = dict(zip(kwargs, named, strict=True))
    value = context.home.value(call, function, values, dict(named_values))

    def report(fresh: Any) -> Any:
        if not any(map(holds_arrays, kwargs.values())):
            frozen = {name: copy_of_list(x) for name, x in named_values.items()}
            return context.result(Call(function, rule, values, inputs, frozen, plain), fresh)
        bound, names = rule.bind(args, kwargs)
        all_values, all_inputs, all_plain = unwrapped(context, bound)
        return context.result(Call(function, rule, all_values, all_inputs, plain=all_plain, names=names), fresh)

    return wrap_result(context, value, (*args, *kwargs.values()), report)


ARRAYS.call, ARRAYS.call_mutating, ARRAYS.handled = call, mutating.call, HANDLED
