"""What is true of a function whoever computes or differentiates it; said once, beside its rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bridge.signatures import positional_parameters

Precision = Literal["operands", "inexact", "wide", "double"]

# What these decide in every function that has them: the shape or the kind of a result.
STATIC = frozenset({
    "axis", "axes", "axis1", "axis2", "axisa", "axisb", "axisc", "dtype", "k", "keepdims", "mode", "n", "norm", "num",
    "offset", "ord", "s", "shape", "window_shape",
})  # fmt: skip

# Keywords that change neither value nor derivative: by which algorithm, into which memory.
NEUTRAL = frozenset({"out", "subok", "casting", "copy", "kind", "stable", "like", "device", "optimize", "order"})


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one function. Parameters are named as its signature names them; the defaults hold for most functions.

    Parameters
    ----------
    static : parameters, beside those of `STATIC`, that decide the result's shape or kind, and stay as they are given.
    traced : those of `static` that may be known only when a compiled program runs.
    shaped_by : array parameters whose values decide the result's shape.
    sequences : parameters that hold a sequence of arrays; elsewhere a list stands for one array.
    nested : parameters that hold lists of lists of arrays.
    promotes : parameters that get one common dtype before anything is computed.
    precision : what it computes in: the dtype of its operands; "inexact", where integers become float64; "wide", where
        integers get 64 bits; "double", where everything gets 64 bits a number.
    parameters : names of the positional parameters of a function that has no signature in every NumPy.
    reduces, accumulates : the ufunc whose `reduce` or `accumulate` it is.
    adds : 1 or -1 for a ufunc that adds its second operand to the first one, or subtracts it.
    chooses : its value is one of its two operands; where they are equal, each has half of the derivative.
    offsets : keywords of a linear function that add something to its value.
    jumps : its value jumps where two operands are equal, or where its operand is a whole number.
    indexes : it moves elements to where an index says.
    fails_on : what a matrix is for which it raises LinAlgError.
    weights : parameters whose sum it divides by, and raises ZeroDivisionError where that is zero.
    spans : the parameter between whose least and greatest element it looks for a range, where `range` is None: a
        ValueError where one of them is not finite.
    not_negative : those of its weights of which none may be negative: a ValueError.
    distinct : parameters in which no two elements may be alike, or else there is nothing to solve for.
    nan_aware : it treats elements that are NaN apart.
    describes : what it answers about, if nothing is computed: types and shapes, layout, or values in other words.
    """

    static: tuple[str, ...] = ()
    traced: tuple[str, ...] = ()
    shaped_by: tuple[str, ...] = ()
    sequences: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    promotes: tuple[str, ...] = ()
    precision: Precision = "operands"
    parameters: tuple[str, ...] = ()
    reduces: np.ufunc | None = None
    accumulates: np.ufunc | None = None
    adds: Literal[-1, 0, 1] = 0
    chooses: bool = False
    offsets: tuple[str, ...] = ()
    jumps: bool = False
    indexes: bool = False
    fails_on: Literal["", "singular", "not positive definite"] = ""
    weights: tuple[str, ...] = ()
    spans: str = ""
    not_negative: tuple[str, ...] = ()
    distinct: tuple[str, ...] = ()
    nan_aware: bool = False
    describes: Literal["", "types", "layout", "values"] = ""

    def is_static(self, name: str | None) -> bool:
        """Whether what is given for a parameter is no array, and stays as it is."""
        return name in STATIC or name in self.static

    def decides(self, name: str | None) -> bool:
        """Whether the value of a parameter decides the shape or the kind of the result."""
        return self.is_static(name) or name in self.shaped_by


FACTS: dict[Any, Facts] = {}
METHODS: dict[tuple[np.ufunc, str], Any] = {}
"""The functions that methods of ufuncs are: `np.sum` for `(np.add, "reduce")`."""

_NOTHING_SPECIAL = Facts()


def facts_of(function: Any) -> Facts:
    """The facts of a function, which are the defaults unless its registration says otherwise."""
    return FACTS.get(function, _NOTHING_SPECIAL)


def parameters_of(function: Any) -> tuple[str, ...]:
    """Names of the parameters of a function that may be given by position."""
    return facts_of(function).parameters or positional_parameters(function)
