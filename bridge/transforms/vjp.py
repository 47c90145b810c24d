"""`vjp`: a value and its pull, eager and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, TypeVarTuple, Unpack, overload

import numpy as np

from bridge.code_position import here, resolve
from bridge.engines import registry
from bridge.engines.protocol import Compilation
from bridge.errors import CotangentError, ReplayError
from bridge.objects.structure import ObjectStructure
from bridge.options import Engine, IndexMode, Loops, Zeros
from bridge.rewind import strong_zeros
from bridge.rewind.closures import Closure
from bridge.rewind.cotangents import conforming
from bridge.rewind.lifetime import COLLECTING_RARELY
from bridge.rewind.memory import grounded
from bridge.source import looping
from bridge.source.programs import called, lent_again, program, returned
from bridge.transforms.arguments import Arguments, check_leaves, handed_out
from bridge.transforms.grad import belongs, shortcut, with_aux
from bridge.transforms.transformed import Pull
from bridge.trees import Mismatch, leaves_along, leaves_of, rebuilt, shown

R = TypeVar("R")
A = TypeVar("A")
Ts = TypeVarTuple("Ts")


@overload
def vjp(
    f: Callable[[Unpack[Ts]], R],
    *args: *Ts,
    has_aux: Literal[False] = False,
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
    loops: Loops | None = None,
) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...
@overload
def vjp(
    f: Callable[[Unpack[Ts]], tuple[R, A]],
    *args: *Ts,
    has_aux: Literal[True],
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
    loops: Loops | None = None,
) -> tuple[R, Callable[..., tuple[Any, ...]], A]: ...
@overload
def vjp(
    f: Callable[..., Any],
    *args: Any,
    has_aux: bool,
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
    loops: Loops | None = None,
) -> tuple[Any, ...]: ...
def vjp(  # type: ignore[misc]
    f: Callable[..., Any],
    *args: Any,
    has_aux: bool = False,
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
    loops: Loops | None = None,
) -> tuple[Any, ...]:
    """`f(*args)` and its pull, which maps a cotangent of the value to a tuple of cotangents of all arguments.

    The pull may be called any number of times, does not write its argument, and takes a cotangent in the
    containers and shapes of the value, with None for what carries no derivative, like a text. With `has_aux`, returns
    `(value, pull, aux)`. `zeros`, `index_mode`, `source`, `memory` and `loops` as in `value_and_grad`.
    """
    looping.check(loops, engine, source)
    compiler = registry.compiler(engine, index_mode, memory)
    if compiler is not None and compiler.compiler.compiles_pulls:
        return _compiled_vjp(compiler, f, args, has_aux, zeros, source)
    direct = shortcut(f, "vjp")
    if direct is not None:
        found = direct(args, has_aux)
        if found is not NotImplemented:
            return found
    context = registry.context(engine, zeros, memory)
    with COLLECTING_RARELY, context:
        arguments = Arguments(context, args, {}, tuple(range(len(args))), allow_int=True)
        value, aux = with_aux(program(context, f, source, loops)(*arguments.args), has_aux)
        arguments.check_originals()
        leaves, container = leaves_of(value)
        held = isinstance(container, ObjectStructure)
        out = handed_out(value)
        returned(context, out)
        aux_out = handed_out(aux)
        again = (Closure(f).variables, _copied(args)) if context.nested else None

    def pull(cotangent: Any, exists: Any = None) -> tuple[Any, ...]:
        try:
            cts = leaves_along(container, cotangent)
        except Mismatch as error:
            raise CotangentError(
                f"the cotangent has the structure {error}, the value has {shown(container)}",
                remedy="give a cotangent in the containers of the value",
            ) from error
        seeds = []
        marks: list[Any] | None = None if exists is None else []
        present = leaves if exists is None else leaves_along(container, exists)
        for leaf, ct, mark in zip(leaves, cts, present, strict=True):
            tracked = belongs(context, leaf)
            if (ct is None and (held or not tracked)) or (held and not tracked):
                continue
            conformed = conforming(ct, leaf if hasattr(leaf, "dtype") else np.asarray(leaf))
            if tracked:
                seeds.append((leaf.place, conformed))
                if marks is not None:
                    marks.append(mark)
        with lent_again(context):
            gradients = context.pull_back(seeds, arguments.places, exists=marks)
        if again is not None and strong_zeros.may_be_born_inside(context, gradients):
            variables, given_again = again
            with variables.restored(), strong_zeros.inner_sweeps_mend():
                options: dict[str, Any] = {"engine": engine, "zeros": zeros, "source": source, "loops": loops}
                repeated, pull_again = vjp(f, *given_again, has_aux=has_aux, **options)[:2]
            if _same(repeated, out):
                return pull_again(cotangent, exists)
        return arguments.in_containers(gradients)

    return (out, Pull(pull), aux_out) if has_aux else (out, Pull(pull))


def _compiled_vjp(
    compiler: Compilation,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    has_aux: bool,
    zeros: Zeros,
    source: bool | None,
) -> tuple[Any, ...]:
    """`vjp` as two compiled programs; that of the pull runs the function again."""
    for k, arg in enumerate(args):
        check_leaves(*leaves_of(arg), k, allow_int=True)
    originals, args = args, _copied(args)
    forward = compiler.kept(_function, f, source)
    value, aux = with_aux(forward(*originals), has_aux)
    # The pull gets copies: an argument that the program has under another name must be known by the caller's array.
    shares = forward.shares(*originals)
    again = compiler.kept(_pull, f, has_aux, zeros, source)
    variables, watch, position = Closure(f).variables, forward.watch(*args), here()

    def pull(cotangent: Any) -> tuple[Any, ...]:
        with variables.restored():
            what = watch.changed_since()
            if what is not None:
                raise ReplayError(
                    f"{what} has changed between vjp and its pull, which runs the function again",
                    where=resolve(position),
                    remedy='pass it as an argument, or use engine="native", which keeps what it needs',
                )
            with watch.as_before():
                return again.called_as((originals, cotangent), args, cotangent) if shares else again(args, cotangent)

    return (value, Pull(pull), aux) if has_aux else (value, Pull(pull))


def _copied(args: tuple[Any, ...]) -> Any:
    leaves, container = leaves_of(args)
    return rebuilt(container, [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves])


def _same(one: Any, other: Any) -> bool:
    """Whether two runs of a function gave the same values."""
    pairs = zip(leaves_of(one)[0], leaves_of(other)[0], strict=True)
    return all(np.array_equal(grounded(a), grounded(b), equal_nan=np.asarray(grounded(a)).dtype.kind in "fc")
               for a, b in pairs)  # fmt: skip


def _function(f: Callable[..., Any], source: bool | None) -> Callable[..., Any]:
    return lambda *args: called(f, source)(*args)


def _pull(f: Callable[..., Any], has_aux: bool, zeros: Zeros, source: bool | None) -> Callable[..., Any]:
    return lambda args, cotangent: vjp(f, *args, has_aux=has_aux, zeros=zeros, source=source)[1](cotangent)
