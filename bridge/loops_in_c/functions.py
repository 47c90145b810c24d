"""The functions of numbers: their kinds, how C says them, and their partial derivatives."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bridge.loops_in_c.ir import Const, Expr, Op

Partial = Callable[..., Expr | None]


def op(name: str, *args: Expr) -> Expr:
    """A function of float numbers, where it is not known at once."""
    if name == "mul" and Const("f", 1.0) in args:
        return args[0] if args[1] == Const("f", 1.0) else args[1]
    if name == "neg" and isinstance(args[0], Const):
        return Const("f", -args[0].value)
    return Op("f", name, args)


ONE = Const("f", 1.0)
TWO = Const("f", 2.0)
MINUS = Const("f", -1.0)


@dataclass(frozen=True)
class Function:
    """A function of numbers.

    Attributes
    ----------
    count : how many arguments it has.
    text : how C says it, of float64.
    partials : for each argument, the partial derivative as an expression of the arguments; None where there is none.
    result : the kind of its result, where that is not the kind of its arguments.
    integers : how C says it of integers; None where it is not defined of these here.
    """

    count: int
    text: str
    partials: tuple[Partial | None, ...] = ()
    result: str | None = None
    integers: str | None = None
    numpy: np.ufunc | None = None


def _sign(x: Expr) -> Expr:
    return op("sign", x)


FUNCTIONS: dict[str, Function] = {
    "add": Function(2, "({0} + {1})", (lambda x, y: ONE, lambda x, y: ONE), None, "({0} + {1})"),
    "sub": Function(2, "({0} - {1})", (lambda x, y: ONE, lambda x, y: MINUS), None, "({0} - {1})"),
    "mul": Function(2, "({0} * {1})", (lambda x, y: y, lambda x, y: x), None, "({0} * {1})"),
    "div": Function(
        2,
        "({0} / {1})",
        (lambda x, y: op("div", ONE, y), lambda x, y: op("neg", op("div", op("div", x, y), y))),
        "f",
    ),
    "floordiv": Function(2, "", (), None, "py_floordiv({0}, {1})"),
    "mod": Function(2, "", (), None, "py_mod({0}, {1})"),
    "pow": Function(
        2,
        "pow({0}, {1})",
        (
            lambda x, y: op("mul", y, op("pow", x, op("sub", y, ONE))),
            lambda x, y: op("mul", op("log", x), op("pow", x, y)),
        ),
        "f",
    ),
    "neg": Function(1, "(-{0})", (lambda x: MINUS,), None, "(-{0})"),
    "pos": Function(1, "({0})", (lambda x: ONE,), None, "({0})"),
    "square": Function(1, "square({0})", (lambda x: op("mul", TWO, x),)),
    "reciprocal": Function(1, "(1.0 / {0})", (lambda x: op("neg", op("div", op("div", ONE, x), x)),)),
    "sqrt": Function(1, "sqrt({0})", (lambda x: op("div", Const("f", 0.5), op("sqrt", x)),), "f", None, np.sqrt),
    "abs": Function(1, "fabs({0})", (_sign,), None, "llabs({0})"),
    "sign": Function(1, "sign({0})", (None,)),
    "exp": Function(1, "numpy_exp({0})", (lambda x: op("exp", x),), "f", None, np.exp),
    "log": Function(1, "numpy_log({0})", (lambda x: op("div", ONE, x),), "f", None, np.log),
    "sin": Function(1, "numpy_sin({0})", (lambda x: op("cos", x),), "f", None, np.sin),
    "cos": Function(1, "numpy_cos({0})", (lambda x: op("neg", op("sin", x)),), "f", None, np.cos),
    "tanh": Function(
        1, "numpy_tanh({0})", (lambda x: op("sub", ONE, op("square", op("tanh", x))),), "f", None, np.tanh
    ),
    "min": Function(2, "", (), None, "min_of({0}, {1})"),
    "max": Function(2, "", (), None, "max_of({0}, {1})"),
    "lt": Function(2, "({0} < {1})", (), "b", "({0} < {1})"),
    "le": Function(2, "({0} <= {1})", (), "b", "({0} <= {1})"),
    "gt": Function(2, "({0} > {1})", (), "b", "({0} > {1})"),
    "ge": Function(2, "({0} >= {1})", (), "b", "({0} >= {1})"),
    "eq": Function(2, "({0} == {1})", (), "b", "({0} == {1})"),
    "ne": Function(2, "({0} != {1})", (), "b", "({0} != {1})"),
    "and": Function(2, "", (), "b", "({0} & {1})"),
    "or": Function(2, "", (), "b", "({0} | {1})"),
    "not": Function(1, "", (), "b", "(!{0})"),
    "add_fits": Function(2, "", (), "b", "add_fits({0}, {1})"),
    "sub_fits": Function(2, "", (), "b", "sub_fits({0}, {1})"),
    "mul_fits": Function(2, "", (), "b", "mul_fits({0}, {1})"),
    "select": Function(
        3,
        "({0} ? {1} : {2})",
        (
            None,
            lambda c, x, y: op("select", c, ONE, Const("f", 0.0)),
            lambda c, x, y: op("select", c, Const("f", 0.0), ONE),
        ),
        None,
        "({0} ? {1} : {2})",
    ),
    "cast": Function(1, "", (None,)),
}

BY_OBJECT: dict[Any, str] = {
    np.sqrt: "sqrt", np.exp: "exp", np.log: "log", np.sin: "sin", np.cos: "cos", np.tanh: "tanh", np.abs: "abs",
    np.square: "square", np.dot: "dot", np.sum: "sum", np.flip: "flip", np.add: "add", np.subtract: "sub",
    np.multiply: "mul", np.divide: "div", np.negative: "neg",
    np.zeros: "zeros", np.ones: "ones", np.empty: "empty",
    np.zeros_like: "zeros_like", np.ones_like: "ones_like", np.empty_like: "empty_like",
    builtins.abs: "abs", builtins.len: "len", builtins.float: "float", builtins.min: "min", builtins.max: "max",
}  # fmt: skip


DERIVED = frozenset({*BY_OBJECT, np.power, np.matmul, np.reciprocal, np.sign})
"""Functions whose derivatives are here: a user's rule for one of them leaves loops to Python."""


def typed(name: str, kinds: tuple[str, ...]) -> tuple[str, str] | None:
    """The kind of a result, and the kind that its arguments are converted to; None if it is not defined here."""
    function = FUNCTIONS[name]
    inner = "f" if "f" in kinds else "i"
    if name == "div" or (function.integers is None):
        inner = "f"
    if inner == "f" and not function.text:
        return None
    if inner == "i" and "b" in kinds and function.result != "b" and name not in ("select",):
        return None
    return function.result or inner, inner


def computed(name: str, values: tuple[float, ...]) -> float:
    """A function of numbers that are known, as Python computes it."""
    match name:
        case "add":
            return values[0] + values[1]
        case "sub":
            return values[0] - values[1]
        case "mul":
            return values[0] * values[1]
        case "div":
            return values[0] / values[1]
        case "pow":
            return math.pow(*values)
        case "neg":
            return -values[0]
        case "pos":
            return values[0]
        case "abs":
            return abs(values[0])
        case "sqrt":
            return math.sqrt(values[0])
    return float(getattr(np, name)(*values))
