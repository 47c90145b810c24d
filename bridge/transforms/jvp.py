"""Forward mode for users: `jvp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np

from bridge.engines import registry
from bridge.errors import ArgumentError, CotangentError, RefusedError
from bridge.options import Engine, IndexMode, Zeros
from bridge.rewind.cotangents import conforming, conj
from bridge.rewind.forward import ForwardContext
from bridge.rewind.memory import grounded
from bridge.rewind.strong_zeros import has_nan, inner_sweeps_mend, may_be_born_inside
from bridge.rewind.values import is_abstract, settled
from bridge.source.programs import called, program, returned
from bridge.transforms.arguments import Arguments, handed_out
from bridge.transforms.entering import is_differentiable
from bridge.transforms.grad import belongs, shortcut, with_aux
from bridge.transforms.vjp import vjp
from bridge.trees import leaves_of, rebuilt

R = TypeVar("R")
A = TypeVar("A")


@overload
def jvp(
    f: Callable[..., R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
) -> tuple[R, R]: ...
@overload
def jvp(
    f: Callable[..., tuple[R, A]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[True],
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
) -> tuple[R, R, A]: ...
@overload
def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool,
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
) -> tuple[Any, ...]: ...
def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    index_mode: IndexMode = "error",
    source: bool | None = None,
    memory: str | int | None = None,
) -> tuple[Any, ...]:
    """`f(*primals)` and its derivative along `tangents`, in forward mode through the same mutations.

    Parameters
    ----------
    primals, tangents : tuples of the same length, containers, shapes and dtypes; the tangent of an integer
        leaf is ignored, and None stands for a tangent that is structurally zero.
    engine : as in `grad`. With "julia" the tangent of an operation that is not linear comes from dual numbers in Julia,
        and is held against its pull in each call (docs/julia.md).
    zeros : "strong" or "ieee". Where a tangent becomes NaN, "strong" runs `f` once more and asks reverse mode
        for that element, with the rules of strong zeros there (docs/conventions.md).
    source, memory : as in `value_and_grad`.
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise ArgumentError("jvp takes a tuple of primals and a tuple of tangents", remedy="jvp(f, (x,), (dx,))")
    if len(primals) != len(tangents):
        raise CotangentError(f"{len(primals)} primals and {len(tangents)} tangents", remedy="give one for each primal")
    compiler = registry.compiler(engine, index_mode, memory)
    if compiler is not None:
        return compiler.kept(_jvp, f, has_aux, zeros, source)(tuple(primals), tuple(tangents))
    direct = shortcut(f, "jvp")
    if direct is not None:
        found = direct(primals, tangents, has_aux)
        if found is not NotImplemented:
            return found
    return pushed_forward(f, primals, tangents, has_aux, engine, zeros, False, source)


def _jvp(f: Callable[..., Any], has_aux: bool, zeros: Zeros, source: bool | None) -> Callable[..., Any]:
    return lambda primals, tangents: jvp(f, primals, tangents, has_aux, zeros=zeros, source=source)


def pushed_forward(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool,
    engine: Engine,
    zeros: Zeros,
    padded: bool,
    source: bool | None = None,
) -> tuple[Any, ...]:
    """Run `f` forward with tangents; `padded` tangents are structurally zero where they are 0."""
    with registry.forward_context(engine, zeros) as context:
        arguments = Arguments(context, tuple(primals), {}, tuple(range(len(primals))), allow_int=True)
        given = arguments.matching(tangents)
        for buffer, tangent in zip(arguments.buffers, given, strict=True):
            if tangent is not None:
                context.seed(buffer, conforming(tangent, buffer, "tangent"))
        value, aux = with_aux(program(context, f, source)(*arguments.args), has_aux)
        arguments.check_originals()
        leaves, container = leaves_of(value)
        derivatives = [_derivative(context, leaf) for leaf in leaves]
        values = [handed_out(leaf) for leaf in leaves]
        aux = handed_out(aux)
        returned(context, values, derivatives)
    numbers = [derivative for derivative in derivatives if derivative is not None]
    if may_be_born_inside(context, numbers):
        with inner_sweeps_mend():
            return pushed_forward(f, primals, tangents, has_aux, engine, zeros, padded, source)
    if zeros == "strong" and any(map(has_nan, numbers)):
        derivatives = _mended(f, primals, given, has_aux, values, derivatives, engine, padded, source)
    out = rebuilt(container, values), rebuilt(container, derivatives)
    return (*out, aux) if has_aux else out


def _mended(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: list[Any],
    has_aux: bool,
    values: list[Any],
    derivatives: list[Any],
    engine: Engine,
    padded: bool,
    source: bool | None,
) -> list[Any]:
    """Derivatives whose NaNs are asked of reverse mode, where absent cotangents are known to be absent."""
    mended = list(derivatives)
    for number, derivative in enumerate(derivatives):
        if derivative is None or not has_nan(derivative):
            continue

        def part(*args: Any, number: int = number) -> Any:
            return leaves_of(with_aux(called(f, source)(*args), has_aux)[0])[0][number]

        value, pull = vjp(part, *primals, engine=engine, source=source)
        if is_abstract(derivative):
            mended[number] = _mended_everywhere(pull, value, derivative, tangents, padded)
            continue
        if not np.array_equal(grounded(value), grounded(values[number]), equal_nan=True):
            continue
        if np.ndim(grounded(derivative)) == 0:
            mended[number] = _row_times(pull, grounded(value), (), tangents, padded)
            continue
        fixed = np.copy(derivative)
        for index in zip(*np.nonzero(np.isnan(grounded(derivative))), strict=True):
            fixed[index] = _row_times(pull, grounded(value), index, tangents, padded)
        mended[number] = fixed
    return mended


_MOST_ROWS = 256


def _mended_everywhere(pull: Any, value: Any, derivative: Any, tangents: list[Any], padded: bool) -> Any:
    """The same where it is not known which elements are NaN: every row is asked for."""
    if derivative.size > _MOST_ROWS:
        raise RefusedError(
            f"a tangent of shape {derivative.shape} holds NaNs, and strong zeros in compiled forward mode ask for "
            f"each of its elements in reverse mode, which is done for up to {_MOST_ROWS}",
            remedy='use reverse mode, engine="native", or zeros="ieee" for IEEE\'s NaNs',
        )
    rows = [
        _row_times(pull, np.zeros(np.shape(value), value.dtype), index, tangents, padded)
        for index in np.ndindex(np.shape(value))
    ]
    found = np.reshape(np.stack(rows), derivative.shape)
    mended = np.where(np.isnan(derivative), found, derivative)
    return mended[()] if mended.shape == () else mended


def _row_times(pull: Any, value: Any, index: tuple[int, ...], tangents: list[Any], padded: bool) -> Any:
    """One element of the derivative: its cotangent pulled back, times the tangents."""
    total: Any = 0.0
    for unit in (1.0, 1.0j) if np.asarray(value).dtype.kind == "c" else (1.0,):
        seed = np.zeros_like(value)
        seed[index] = unit
        gradients = [g for g in leaves_of(pull(seed, seed != 0))[0] if is_differentiable(g)]
        for gradient, tangent in zip(gradients, tangents, strict=True):
            if tangent is None:
                continue
            with np.errstate(all="ignore"):
                products = np.real(conj(gradient) * tangent)
            if padded:
                products = np.where(settled(tangent) == 0, np.zeros_like(products), products)
            total = total + unit * np.sum(products)
    return total


def _derivative(context: ForwardContext, leaf: Any) -> Any:
    if belongs(context, leaf):
        tangent = leaf.place.peek()
        if tangent is not None:
            return np.copy(tangent)[()] if tangent.shape == () else np.copy(tangent)
    plain = np.asarray(grounded(leaf))
    if plain.dtype.kind not in "fciub":
        return None
    return np.zeros(plain.shape, plain.dtype if plain.dtype.kind in "fc" else float)[()]
