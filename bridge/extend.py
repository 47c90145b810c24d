"""The rule author's door: everything that a file of rules imports.

A rule says how cotangents go back through one operation::

    @rule(np.tanh)
    def tanh(ct, out, x):
        return ct * (1 - out * out)

Saving, undoing, aliasing, broadcasting and order are the context's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bridge.calls import pull_parameters
from bridge.errors import RefusedError, RuleError
from bridge.rewind.interpreter import current_context
from bridge.rewind.rule import Case, MutatingRule, Rule, Shaped, Structure

__all__ = [
    "Case",
    "MutatingRule",
    "RefusedError",
    "Rule",
    "RuleError",
    "Shaped",
    "composed",
    "conj",
    "mutating_rule",
    "nondifferentiable",
    "pulls",
    "refused",
    "rule",
    "sum_to_shape",
    "zeros",
]


RULES: dict[Any, Rule] = {}
MUTATING: dict[Any, MutatingRule] = {}
ZERO_PULL: set[Any] = set()
REFUSED: dict[Any, str] = {}


def rule(
    function: Callable[..., Any],
    *,
    reads: Iterable[str] | None = None,
    linear: bool = False,
    structure: Structure | None = None,
) -> Callable[[Callable[..., Any]], Rule]:
    """Register the decorated `pull(ct, out, *args, **kwargs)` as the rule of `function`.

    Parameters
    ----------
    function : a NumPy function, a ufunc, or any callable that does not write into its arguments.
    reads : names among `out` and the pull's parameters whose values are needed; the rest is not
        kept and arrives as `Shaped`. Without it, every parameter that the pull's code names counts.
    linear : the function is linear in its array arguments together (sums, reshapes, transforms).
    structure : how cotangents that are structurally absent go back (docs/architecture.md).

    The pull returns one cotangent for each positional argument (a tuple, or one value for the
    first), `None` where there is none, a list where the argument is a sequence of arrays. It is
    written with NumPy functions, does not write its arguments, and may return `ct` itself.
    Cotangents of broadcast ufunc operands are summed to the operand's shape by the context.
    """

    def register(pull: Callable[..., Any]) -> Rule:
        made = Rule(function, pull, None, reads=reads, linear=linear, structure=structure)
        RULES[function] = made
        return made

    return register


def pulls(
    function: Callable[..., Any],
    *per_argument: Callable[..., Any] | None,
    reads: Iterable[str] | None = None,
    linear: bool = False,
    structure: Structure | None = None,
) -> Rule:
    """Register one pull for each argument of `function`; only those that are asked for run."""
    made = Rule(function, None, per_argument, reads=reads, linear=linear, structure=structure)
    RULES[function] = made
    return made


def composed(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Rule]:
    """Register an equivalent of `function`, written in operations that have rules, as the source of its pull.

    The value still comes from `function` itself; only the pull runs the decorated equivalent.
    """

    def register(equivalent: Callable[..., Any]) -> Rule:
        from bridge.rewind.composition import pull_of_equivalent

        made = Rule(function, pull_of_equivalent(equivalent), None, reads=None, linear=False, structure=None)
        made._parameters, made.variadic = pull_parameters(equivalent, leading=0)
        made.reads = frozenset(made._parameters) | ({made.variadic} if made.variadic else frozenset())
        RULES[function] = made
        return made

    return register


def mutating_rule(
    *, mutates: str | tuple[str, ...], parameters: tuple[str, ...] | None = None
) -> Callable[[Callable[..., Any]], MutatingRule]:
    """Wrap a function that writes into the arguments named by `mutates` (C, Numba, an FFT plan, a Julia `f!`).

    `parameters` spells the parameter names of callables that have no readable signature.
    """
    names = (mutates,) if isinstance(mutates, str) else tuple(mutates)

    def register(function: Callable[..., Any]) -> MutatingRule:
        made = MutatingRule(function, names, parameters)
        MUTATING[function] = made
        return made

    return register


def nondifferentiable(*functions: Any) -> None:
    """Declare functions whose derivative is zero wherever it exists (comparisons, `argmax`, `sign`, ...)."""
    ZERO_PULL.update(functions)


def refused(reason: str, *functions: Any) -> None:
    """Declare functions that a tracked array may not enter, and why; `reason` ends the error message."""
    for function in functions:
        REFUSED[function] = reason


def conj(x: Any) -> Any:
    """Complex conjugate; the same object if `x` is real."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return x.conjugate() if type(x) is complex else x
    return np.conj(x) if dtype.kind == "c" else x


def sum_to_shape(ct: Any, shape: tuple[int, ...]) -> Any:
    """Sum `ct` over the axes along which an operand of `shape` was broadcast.

    Returns an array of `shape`; `ct` itself if nothing was broadcast.
    """
    if ct.shape == shape:
        return ct
    extra = len(ct.shape) - len(shape)
    if extra < 0:
        return sum_to_shape(np.reshape(ct, (1,) * -extra + ct.shape), shape)
    axes = tuple(range(extra)) + tuple(
        k + extra for k, length in enumerate(shape) if length == 1 and ct.shape[k + extra] != 1
    )
    return np.sum(ct, axis=axes, keepdims=True).reshape(shape)


def zeros(shape: int | tuple[int, ...], like: Any, dtype: Any = None) -> Any:
    """Zeros of `shape` where `like` lives (tracked if it is tracked), with its dtype unless given.

    In a program that is being compiled they are always tracked: what is added into them may be known only later.
    """
    kind = like.dtype if dtype is None else dtype
    context = current_context()
    if context is not None and not hasattr(like, "place"):
        return context.home.scratch(context, (shape,) if isinstance(shape, int) else shape, kind)
    return np.zeros(shape, kind, like=like) if hasattr(like, "__array_function__") else np.zeros(shape, kind)
