"""Julia functions that write into their arguments: in place on NumPy arrays, logged writes on Buffers.

Inside a NumPy program the function runs over Julia Buffers as a function without side effects, whose value is what
the written arguments hold afterwards; that is then written into them, as any value. So its pull comes from its
mutating rule in Julia if it has one, from this package's context otherwise, and derivatives of all orders follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import AliasError, ArgumentError, JuliaError, RuleError
from bridge.julia.calls import OtherLayout, Returned, ask, entries, run
from bridge.julia.choosing import Prepared
from bridge.julia.convert import in_plain_layout
from bridge.julia.plans import Flattened, filled, plan, sent
from bridge.julia.programs import run_tracked
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.memory import grounded


def on_arrays(function: Prepared, flat: Flattened, args: tuple[Any, ...]) -> Any:
    """Call a function that writes some of its arguments; they are NumPy arrays, written in place."""
    targets = _targets(function, flat, args)
    for position, target in zip(function.mutates, targets, strict=True):
        if not target.flags.writeable:
            raise ArgumentError(
                f"{function.name} writes its argument {position}, which is read-only",
                where=resolve(here()),
                remedy="pass a copy",
            )
    made = plan(function, flat, written=function.mutates)
    copies: list[tuple[np.ndarray, np.ndarray]] = []
    try:
        result, position = run(entries().call_writing, made.key, sent(flat.leaves, function.order), function.name)
    except OtherLayout:
        leaves = []
        for leaf in flat.leaves:
            plain = in_plain_layout(leaf)
            if plain is not leaf and any(leaf is target for target in targets):
                copies.append((leaf, plain))
            leaves.append(plain)
        result, position = run(entries().call_writing, made.key, sent(leaves, function.order), function.name)
    for target, copy in copies:
        target[...] = copy
    return args[position] if position >= 0 else result


def in_program(function: Prepared, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that writes some of its arguments inside a differentiated program."""
    args = _with_own_targets(function, args, kwargs)
    flat = Flattened(args, kwargs)
    targets = _targets(function, flat, args)
    for position, target in zip(function.mutates, targets, strict=True):
        if not hasattr(target, "place"):
            raise RuleError(
                f"{function.name} writes its argument {position}, which is not tracked here but is given with "
                "tracked ones",
                where=resolve(here()),
                remedy="make it with np.zeros_like(x) or pass it as an argument of the differentiated function",
            )
    try:
        done, outputs = run_tracked(function, flat, function.mutates)
    except JuliaError as error:
        if "Buffer" in error.julia_message and "MethodError" in error.julia_message:
            raise _without_rule(function, error) from error
        raise
    written, result = filled(done.layout, outputs)
    for position, target in zip(function.mutates, targets, strict=True):
        target[...] = written[position]
    if isinstance(result, Returned):
        return args[result.position]
    return result


def _with_own_targets(function: Prepared, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments, with Buffers in place of plain arrays of a program that is read, which are to be written."""
    tracked = [leaf for leaf in Flattened(args, kwargs).leaves if hasattr(leaf, "place")]
    own = list(args)
    for position in function.mutates:
        if -len(args) <= position < len(args) and not hasattr(args[position], "place"):
            found = (ARRAYS.own_target(leaf, args[position]) for leaf in tracked)
            own[position] = next((one for one in found if one is not None), args[position])
    return tuple(own)


def _targets(function: Prepared, flat: Flattened, args: tuple[Any, ...]) -> list[Any]:
    targets = []
    for position in function.mutates:
        if not -len(args) <= position < len(args):
            raise ArgumentError(
                f"{function.name} writes its argument {position}, and was called with {len(args)} positional ones",
                where=resolve(here()),
                remedy="give the arguments that it writes by position",
            )
        if not isinstance(args[position], np.ndarray) and not hasattr(args[position], "place"):
            raise ArgumentError(
                f"{function.name} writes its argument {position}, which is a {type(args[position]).__name__}",
                where=resolve(here()),
                remedy="pass a NumPy array, which it can write",
            )
        targets.append(args[position])
    arrays = [leaf for leaf in flat.leaves if isinstance(grounded(leaf), np.ndarray)]
    for position, target in zip(function.mutates, targets, strict=True):
        if sum(np.shares_memory(grounded(target), grounded(leaf)) for leaf in arrays) > 1:
            raise AliasError(
                f"{function.name} writes its argument {position}, which shares memory with another argument",
                where=resolve(here()),
                remedy="pass a copy for one of the two",
            )
    return targets


def _without_rule(function: Prepared, error: JuliaError) -> RuleError:
    names = ask(function.kept.key, "parameter_names").split()
    written = [names[position] for position in function.mutates if position < len(names)]
    return RuleError(
        f"{function.name} has no mutating rule in Julia, and no method that takes a MutationBridge.Buffer for what it "
        f"writes: {error.julia_message.splitlines()[0]}",
        where=resolve(here()),
        remedy="widen its signature (leave the types of the written arguments out), or write a rule in Julia:\n\n"
        "    using MutationBridge\n"
        f"    @mutating_rule {function.name}({', '.join(names)}) writes({', '.join(written)}) "
        f"pull(ct, {', '.join(names)}) = ...\n\n"
        "  where ct is the cotangent of what is written after the call; return those of all arguments from before it",
    )
