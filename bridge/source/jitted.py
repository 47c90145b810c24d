"""Functions that Numba compiles: a program that is read runs their Python source where an argument is tracked.

Without tracked arguments, the compiled function is called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bridge.arrays import creation
from bridge.arrays.buffer import is_weak
from bridge.arrays.tracked import is_tracked
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.escapes import detach
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.values import is_abstract
from bridge.source import callees
from bridge.source.compiled_code import refusing
from bridge.source.elementwise import BY_COUNT
from bridge.source.exchanging import Exchange
from bridge.source.first_calls import compared
from bridge.source.keeping import any_tracked
from bridge.source.lending import COUNT
from bridge.source.library_calls import passed_over
from bridge.source.numba import RUNNING, draws, refuse_draw
from bridge.source.reading import reading_of


class Program:
    """Set by a module above: the function to call for one that the program calls."""

    part: Callable[[Callable[..., Any]], Callable[..., Any]]


@passed_over
def _called(made: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call of a function that `njit` or `jit` made."""
    if not _is_for_python(made, args, kwargs):
        return made(*args, **kwargs)
    source = Program.part(made.py_func)

    def run() -> Any:
        with RUNNING:
            return source(*args, **kwargs)

    return compared(made, args, kwargs, run)


@passed_over
def _elementwise(made: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call of a function that `vectorize` made: of each element, in the dtypes of Numba's loop."""
    if not _is_for_python(made, args, kwargs):
        return made(*args, **kwargs)
    if kwargs or len(args) != made.nin or len(args) not in BY_COUNT:
        raise RefusedError(
            f"{made.__name__}, a function of numba.vectorize, with keywords, out=, or more than {max(BY_COUNT)} "
            "operands, of tracked values",
            where=resolve(here()),
            remedy="assign what it returns: y[...] = f(x)",
        )
    operands = [x if is_tracked(x) or np.isscalar(x) else creation.array(x) for x in args]
    # Without elements, Numba finds a loop for these types, and compiles one if there is none.
    made(*(np.empty(0, _kind_of(x)) for x in operands))
    *given, dtype = made.ufunc.resolve_dtypes((*map(_kind_of, operands), None))
    if dtype.kind not in "fc" and not any(map(is_abstract, operands)):
        return made(*map(detach, operands))
    shape = np.broadcast_shapes(*map(np.shape, operands))
    arrays = [
        np.broadcast_to(np.asarray(x) if np.isscalar(x) else x, shape).reshape(-1).astype(kind, copy=False)
        for x, kind in zip(operands, given, strict=True)
    ]
    out = np.empty(arrays[0].shape, dtype)
    each = Program.part(BY_COUNT[len(args)])

    def run() -> Any:
        with RUNNING:
            each(made.__wrapped__, out, *arrays)
        return ARRAYS.seen(out).reshape(shape)[()]

    return compared(made, args, {}, run)


def _kind_of(x: Any) -> Any:
    """The dtype of an operand; of a number of Python's, its class."""
    if is_weak(x):
        return complex if np.iscomplexobj(x) else float
    return type(x) if type(x) in (bool, int) else x.dtype


def _is_for_python(made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an argument is tracked, or has a tracked value in it."""
    if COUNT.number:
        exchange = Exchange(is_far=True)
        args, kwargs = tuple(exchange.given(args)), dict(zip(kwargs, exchange.given(kwargs.values()), strict=True))
    if any_tracked(args, kwargs):
        return True
    context = current_context()
    if context is not None and context.home.is_abstract and draws(made.__wrapped__):
        refuse_draw()
    return False


def _of(call: Callable[..., Any]) -> Callable[[Any], Any]:
    """What is called for a function of Numba's."""

    def of(made: Any) -> Any:
        reading = reading_of(made.__wrapped__)
        return partial(call, made) if reading.code is not None else refusing(made, reading.reason)

    return of


callees.BY_NAME.update({
    ("numba.core.registry", "CPUDispatcher"): _of(_called),
    ("numba.np.ufunc.dufunc", "DUFunc"): _of(_elementwise),
})  # fmt: skip
