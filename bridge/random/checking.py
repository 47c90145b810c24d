"""Arguments of a draw: shapes, dtypes, and parameters with what their gradient is to be."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from bridge.arrays.buffer import WeakScalar
from bridge.arrays.creation import array
from bridge.arrays.operands import context_of
from bridge.code_position import here, resolve
from bridge.errors import ArgumentError, RandomGradientError
from bridge.rewind.escapes import detach
from bridge.rewind.values import is_abstract

Gradient = Literal["pathwise", "frozen", "error"]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def wrong(function: str, what: str, remedy: str) -> ArgumentError:
    """The error of a bad argument of `bridge.random.function`."""
    return ArgumentError(f"bridge.random.{function}: {what}", where=resolve(here()), remedy=remedy)


def checked_shape(function: str, shape: Any, parameters: dict[str, Any] | None = None) -> tuple[int, ...]:
    """A shape as a tuple; None stands for the common shape of the parameters, which must broadcast to it otherwise."""
    shapes = {name: tuple(np.shape(x)) for name, x in (parameters or {}).items()}
    if shape is None:
        return np.broadcast_shapes(*shapes.values())
    try:
        sides = tuple(operator.index(n) for n in (shape if isinstance(shape, Iterable) else (shape,)))
    except TypeError:
        raise wrong(function, f"the shape {shape!r} is not made of integers", "give a tuple of integers") from None
    if any(n < 0 for n in sides):
        raise wrong(function, f"the shape {sides} has a negative length", "give lengths of 0 or more")
    for name, own in shapes.items():
        if _common(own, sides) != sides:
            raise wrong(
                function,
                f"{name} has shape {own}, which does not broadcast to the shape {sides} of the draw",
                f"give shape={_common(own, sides) or own}, or another {name}",
            )
    return sides


def _common(own: tuple[int, ...], sides: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(own, sides)
    except ValueError:
        return None


def checked_dtype(function: str, dtype: Any, *parameters: Any) -> np.dtype[Any]:
    """The float dtype of a draw: the one given, else that of the parameters under NumPy's promotion, else float64."""
    if dtype is None:
        found = np.result_type(*map(_weak, parameters)) if parameters else np.dtype(float)
        kind = np.dtype(float) if found.kind in "iub" else found
    else:
        kind = np.dtype(dtype)
    if kind not in FLOATS:
        raise wrong(function, f"draws of dtype {kind} are not made", "draw float32 or float64 and convert with astype")
    return kind


def _weak(x: Any) -> Any:
    """What NumPy promotes in place of a parameter: numbers of Python's have no precision of their own."""
    if isinstance(x, WeakScalar) or (isinstance(x, (bool, int, float)) and not isinstance(x, np.generic)):
        return 0.0
    return getattr(x, "dtype", None) or np.asarray(x).dtype


def parameter(function: str, name: str, x: Any, gradient: str, discrete: bool = False) -> Any:
    """A parameter of a draw, plain where no gradient is to reach it.

    Raises RandomGradientError for a parameter that carries a gradient under "error", and under "pathwise" if the
    draw is `discrete`: its derivative along the path is zero, which is never what is asked for.
    """
    if gradient not in ("pathwise", "frozen", "error"):
        raise wrong(function, f"gradient={gradient!r}", 'one of gradient="pathwise", "frozen", "error"')
    if isinstance(x, (list, tuple)):
        x = array(x) if context_of(x) is not None else np.asarray(x)
    if not hasattr(x, "place"):
        return x
    if gradient == "frozen":
        return detach(x)
    if (gradient == "error" or discrete) and carries_gradient(x):
        raise _refusal(function, name, gradient)
    return x


def carries_gradient(x: Any) -> bool:
    """Whether a tracked value depends on what some context around it differentiates."""
    while hasattr(x, "place"):
        if x.place.context.differentiates and x.place.active:
            return True
        x = x.value
    return False


def _refusal(function: str, name: str, gradient: str) -> RandomGradientError:
    where = resolve(here())
    if gradient == "error":
        return RandomGradientError(
            f'bridge.random.{function}(gradient="error"): {name} depends on what is differentiated',
            where=where,
            remedy='gradient="pathwise" differentiates through the draw, gradient="frozen" takes it as a constant',
        )
    return RandomGradientError(
        f"bridge.random.{function}: {name} depends on what is differentiated, and a discrete draw has no derivative "
        "along its path: it jumps, and is constant between the jumps",
        where=where,
        remedy='gradient="frozen" if the draw is data; a relaxation (softmax((logits + gumbel) / temperature), or '
        "a sigmoid of logistic noise) for an approximate path; or the logarithm of the draw's probability times the "
        "frozen reward (score function) for the gradient of the expectation: docs/random.md",
    )


def in_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    """A parameter in the dtype of the draw."""
    if hasattr(x, "place") or isinstance(x, (np.ndarray, np.generic)):
        return x if x.dtype == dtype and not isinstance(x, WeakScalar) else x.astype(dtype)
    return dtype.type(x)


def refuse_complex(function: str, name: str, x: Any) -> None:
    """Raise if a parameter is not real."""
    kind = np.dtype(getattr(x, "dtype", None) or np.asarray(x).dtype)
    if kind.kind not in "fiub":
        raise wrong(function, f"{name} has dtype {kind}", "parameters are real numbers")


def is_integer(x: Any) -> bool:
    """Whether a value is one integer, tracked or not."""
    if hasattr(x, "dtype"):
        return tuple(x.shape) == () and getattr(x.dtype, "kind", "") in "iu"
    return isinstance(x, int) and not isinstance(x, bool)


def known_integer(x: Any) -> int | None:
    """The value of an integer, None if a program that is being compiled does not know it yet."""
    return None if is_abstract(x) else operator.index(x)
