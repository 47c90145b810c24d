"""Calls of functions with a mutating rule: save what they write, run them on the memory itself, log them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np

from bridge.arrays.operands import context_of, into_plain, unwrapped
from bridge.code_position import here, resolve
from bridge.errors import AliasError, BridgeError, RuleError
from bridge.rewind.interpreter import Call
from bridge.rewind.memory import grounded
from bridge.rewind.snapshots import same_bits
from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded
from bridge.rulebook.rule import MutatingRule


def call(rule: MutatingRule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the function; where something is differentiated, through the context."""
    context = context_of((*args, *kwargs.values()))
    if context is None:
        return rule.function(*args, **kwargs)
    if context.differentiates:
        return _logged(context, rule, args, kwargs)
    if rule.supports is not None:
        rule.supports.check_compiles(rule.name)
    return rule.function(*args, **kwargs)


def _logged(context: Any, rule: MutatingRule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the function on tracked arguments, in place, and log it."""
    named = rule.by_name(args, kwargs)
    is_own = all(getattr(getattr(named[name], "place", None), "context", None) is context for name in rule.mutates)
    if OPEN and is_own and (found := recorded(_logged, context, rule, (), named)) is not NOT_RECORDED:
        return found
    if rule.supports is not None:
        rule.supports.check(rule.name, tuple(named), tuple(named.values()))
    for name in rule.mutates:
        place = getattr(named[name], "place", None)
        if place is not None and place.context is context:
            context.writable(named[name])
    values, inputs, plain = unwrapped(context, tuple(named.values()))
    written = [list(named).index(name) for name in rule.mutates]
    for k, name in zip(written, rule.mutates, strict=True):
        target = tuple(named.values())[k]
        if getattr(getattr(target, "place", None), "context", None) is not context:
            own = into_plain(context, rule.function, tuple(named.values()), target)
            if own is not target:
                return _logged(context, rule, (), {**named, name: own})
            raise RuleError(
                f"{rule.name} writes its argument {name}, which is not tracked here but is given with tracked ones",
                where=resolve(here()),
                remedy=f"make {name} with np.zeros_like(x) or pass it as an argument of the differentiated function",
            )
    targets = [tuple(named.values())[k] for k in written]
    _refuse_aliases(rule, targets)
    _refuse_overlaps(rule, tuple(named), values, written)
    saved = tuple(target.value.copy() for target in targets)
    try:
        result = _run(context, rule, named, values, written)
    except BridgeError:
        raise
    except BaseException as error:
        context.escaped = context.escaped or RuleError(
            f"{rule.name} raised {type(error).__name__} and may have written before it",
            where=resolve(here()),
            remedy="let the exception end the differentiated function, or check the arguments before the call",
        )
        raise
    if rule.pull_function is None and any(place is not None for place in inputs):
        raise RuleError(
            f"{rule.name} has a mutating rule without a pull",
            where=resolve(here()),
            remedy=f"add one:\n\n    @{rule.function.__name__}.pull\n"
            f"    def _(ct, {', '.join(rule.parameters)}):\n        ...",
        )
    context.mutated(Call(rule.function, rule, values, inputs, plain=plain), tuple(targets), saved)
    if context.followers is not None:
        for target in targets:
            context.followers.written(target, Ellipsis)
    return result


def _refuse_aliases(rule: MutatingRule, targets: list[Any]) -> None:
    """Raise if two arguments that are written share memory: their cotangents could not be told apart."""
    for (first, a), (second, b) in combinations(zip(rule.mutates, targets, strict=True), 2):
        if np.shares_memory(grounded(a), grounded(b)):
            raise AliasError(
                f"{rule.name} writes its arguments {first} and {second}, which share memory",
                where=resolve(here()),
                remedy=f"pass {second}.copy(), or write a rule for the aliased call",
            )


def _refuse_overlaps(rule: MutatingRule, names: tuple[str, ...], values: tuple[Any, ...], written: list[int]) -> None:
    """Raise if an argument that is written overlaps another one: the function reads there what it has written."""
    arrays = [grounded(value) for value in values]
    for k, other in product(written, range(len(values))):
        if k == other or not isinstance(arrays[other], np.ndarray) or not np.shares_memory(arrays[k], arrays[other]):
            continue
        whole = _same_window(arrays[k], arrays[other])
        if whole and (rule.supports is None or rule.supports.aliased):
            continue
        how = "are the same array" if whole else "overlap in part"
        raise AliasError(
            f"{rule.name} writes its argument {names[k]}, and {names[k]} and {names[other]} {how}: what it reads there "
            "depends on what it has written, and its pull does not know of that",
            where=resolve(here()),
            remedy=f"pass {names[other]}.copy()",
        )


def _same_window(a: np.ndarray, b: np.ndarray) -> bool:
    return (a.ctypes.data, a.shape, a.strides, a.dtype) == (b.ctypes.data, b.shape, b.strides, b.dtype)


def _arrays_in(value: Any) -> Iterator[np.ndarray]:
    """An argument that is an array, or the arrays in a sequence of them."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays_in(part)


class _Untouched:
    """Arrays that a function may not write, as its rule says, and what they held before the call."""

    def __init__(self, rule: MutatingRule, names: tuple[str, ...], values: tuple[Any, ...], written: list[int]) -> None:
        self.rule, self.names = rule, names
        own = [values[k] for k in written]
        others = [(k, x) for k, value in enumerate(values) if k not in written for x in _arrays_in(value)]
        self.before = [(k, x, x.copy()) for k, x in others if not any(np.shares_memory(x, one) for one in own)]

    def check(self) -> None:
        """Raise if one of them was written; they hold what they held then."""
        for k, array, before in self.before:
            if same_bits(array, before):
                continue
            for _, changed, held in self.before:
                if changed.flags.writeable:
                    changed[...] = held
            name, mutates = self.names[k], (*self.rule.mutates, self.names[k])
            raise RuleError(
                f"{self.rule.name} has written its argument {name}, which its rule does not declare",
                where=resolve(here()),
                remedy=f"declare it: mutating_rule(mutates={mutates!r}), with a cotangent of its own in the pull",
            )


def _run(context: Any, rule: MutatingRule, named: dict[str, Any], values: tuple[Any, ...], written: list[int]) -> Any:
    """Call the function on plain memory; in a nested context the new contents are written back as logged writes."""
    if context.outer is None:
        untouched = _Untouched(rule, tuple(named), values, written)
        result = _call(rule, values, named)
        untouched.check()
        return _handed_back(rule, result, values, named)
    result = rule(**dict(zip(named, values, strict=True))) if rule.signature else rule(*values)
    return _handed_back(rule, result, values, named)


def _call(rule: MutatingRule, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if rule.signature is None:
        return rule.function(*values)
    bound = inspect.BoundArguments(rule.signature, dict(zip(named, values, strict=True)))
    return rule.function(*bound.args, **bound.kwargs)


def _handed_back(rule: MutatingRule, result: Any, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if result is None or isinstance(result, (bool, int, str)):
        return result
    for value, given in zip(values, named.values(), strict=True):
        if result is value:
            return given
    raise RuleError(
        f"{rule.name} returned a {type(grounded(result)).__name__} that is none of its arguments",
        where=resolve(here()),
        remedy="return None or one of the arguments, and write a separate rule for a function that makes a new array",
    )
