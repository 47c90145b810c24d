"""The functions of numbers: their kinds, how C says them, and their partial derivatives."""

from __future__ import annotations

import builtins
import copy
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bridge.loops_in_c.ir import Const, Expr, Op
from bridge.loops_in_c.kinds import Type, is_float, promoted

Share = Callable[..., Expr | None]


def op(name: str, *args: Expr) -> Expr:
    """A function of float numbers, where it is not known at once. Its kind is that of the first that is computed."""
    kind = next((one.kind for one in args if not isinstance(one, Const) and is_float(one.kind)), "f")
    if name == "mul" and Const("f", 1.0) in args:
        return args[0] if args[1] == Const("f", 1.0) else args[1]
    if name == "div" and args[1] == Const("f", 1.0):
        return args[0]
    if name == "neg" and isinstance(args[0], Const):
        return Const("f", -args[0].value)
    return Op(kind, name, tuple(_constant(one, kind) for one in args))


def _constant(expr: Expr, kind: str) -> Expr:
    return Const(kind, expr.value) if isinstance(expr, Const) and is_float(expr.kind) else expr


ZERO = Const("f", 0.0)
ONE = Const("f", 1.0)
TWO = Const("f", 2.0)
HALF = Const("f", 0.5)
MINUS = Const("f", -1.0)
LOG_2 = Const("f", math.log(2.0))
LOG_10 = Const("f", math.log(10.0))


@dataclass(frozen=True)
class Function:
    """A function of numbers.

    Attributes
    ----------
    count : how many arguments it has.
    text : how C says it, of float64.
    single : how C says it of float32, where that is not `text` rounded to float32.
    shares : for each argument, its share of the cotangent as an expression of the cotangent and the arguments; None
        where it gets none.
    result : the kind of its result, where that is not the kind of its arguments.
    integers : how C says it of integers; None where it is not defined of these here.
    ufunc : the function of NumPy whose inner loop computes it.
    python : the function of Python that computes it.
    chooses : whether it chooses between its arguments. A share is `Op("select", (is_chosen, share, 0))` then, and an
        absent cotangent stays absent where the argument is not chosen.
    loop : the place of its inner loop for float64 among `INNER_LOOPS`, before that for float32; None if it has none, or
        does not call it for each argument.
    is_lazy : whether an argument that is not chosen is not computed, so that it gets no cotangent at all, not zero.
    """

    count: int
    text: str
    shares: tuple[Share | None, ...] = ()
    result: str | None = None
    integers: str | None = None
    ufunc: np.ufunc | None = None
    python: Callable[..., Any] | None = None
    chooses: bool = False
    is_lazy: bool = False
    single: str = ""
    loop: int | None = None


def test(name: str, *args: Expr) -> Expr:
    """A condition."""
    return Op("b", name, args)


def chosen(condition: Expr, share: Expr) -> Expr:
    """A share of an argument that a function has chosen, or not."""
    return op("select", condition, share, ZERO)


def _scaled(slope: Callable[..., Expr]) -> Share:
    """The share of an argument, from the partial derivative."""
    return lambda ct, *args: op("mul", ct, slope(*args))


def _over(denominator: Callable[..., Expr]) -> Share:
    return lambda ct, *args: op("div", ct, denominator(*args))


def _numpy(ufunc: np.ufunc, *shares: Share | None) -> Function:
    """A function that the inner loop of a ufunc computes."""
    args, loop = ", ".join(f"{{{k}}}" for k in range(ufunc.nin)), len(INNER_LOOPS)
    INNER_LOOPS.extend((ufunc, code * ufunc.nin + "->" + code) for code in "df")
    text, single = (
        f"by_numpy_{ufunc.nin}_{kind}(f, {number}, {args})" for kind, number in (("F", loop), ("S", loop + 1))
    )
    return Function(ufunc.nin, text, shares, "f", None, ufunc, single=single, loop=loop)


def _libm(function: Callable[..., Any], name: str, *shares: Share | None) -> Function:
    """A function of Python's module `math`, which returns what that of C does."""
    args = ", ".join(f"{{{k}}}" for k in range(len(shares)))
    return Function(len(shares), f"libm_{name}({args})", shares, "f", None, None, function)


def _compared(text: str) -> Function:
    return Function(2, text, (), "b", text)


INNER_LOOPS: list[tuple[np.ufunc, str]] = [(np.matmul, "dd->d"), (np.matmul, "ff->f")]
"""The inner loops of NumPy that compiled code calls, with their types."""


def _plus(x: Expr, y: Expr) -> Expr:
    return op("add", x, y)


def _squared(x: Expr) -> Expr:
    return op("mul", x, x)


def _one_minus_square(x: Expr) -> Expr:
    return op("mul", op("sub", ONE, x), op("add", ONE, x))


def _power_of_base(ct: Expr, x: Expr, y: Expr) -> Expr:
    """`y * x**(y - 1)`, which is 0 for the exponent 0, also at the base 0."""
    match y:
        case Const(value=0):
            return ZERO
        case Const(value=1):
            return ct
        case Const(value=2):
            return op("mul", ct, op("mul", TWO, x))
    share = op("mul", ct, op("mul", y, op("pow", x, op("sub", y, ONE))))
    if isinstance(y, Const):
        return share
    is_constant = test("eq", y, ZERO)
    if x.kind == "f4" and not (isinstance(y, Op) and y.name == "cast"):
        # The rule for an exponent that is not Python's, which float64 numbers do not reach.
        is_constant = test("and", test("eq", x, ZERO), is_constant)
    return op("select", is_constant, ZERO, share)


def _power_of_exponent(ct: Expr, x: Expr, y: Expr) -> Expr:
    """`log(x) * x**y`; nothing at the base 0 with `y >= 0`."""
    constant = test("and", test("eq", x, ZERO), test("ge", y, ZERO))
    share = op("mul", ct, op("mul", op("pow", x, y), op("math.log", x)))
    return op("select", constant, ZERO, share)


def _direction(part: Expr, y: Expr, x: Expr) -> Expr:
    """`part / radius**2`, 0 at the origin and infinitely far from it."""
    radius = op("hypot", y, x)
    ratio = op("div", op("div", part, radius), radius)
    is_fixed = test("or", test("eq", radius, ZERO), test("eq", radius, Const("f", math.inf)))
    return op("select", is_fixed, ZERO, ratio)


def _of_hypot(part: Expr, x: Expr, y: Expr) -> Expr:
    radius = op("hypot", x, y)
    return op("div", part, op("select", test("eq", radius, ZERO), ONE, radius))


def _extremum(beaten: str, text: str, integers: str) -> Function:
    """`maximum`, where an argument loses if it is less, and `minimum`. In a tie, both get half."""

    def first(ct: Expr, x: Expr, y: Expr) -> Expr:
        by_nan = test("and", test("isnan", y), test("not", test("isnan", x)))
        return chosen(test("not", test("or", test(beaten, x, y), by_nan)), _halved(ct, x, y))

    def second(ct: Expr, x: Expr, y: Expr) -> Expr:
        loses = test("or", test(beaten, y, x), test("isnan", x))
        return chosen(test("not", loses), _halved(ct, x, y))

    return Function(2, text, (first, second), None, integers, chooses=True)


def _by_power(name: str, ufunc: np.ufunc) -> Function:
    """Powers of arrays: NumPy has shortcuts for some exponents."""
    made = _numpy(ufunc, _power_of_base, _power_of_exponent)
    text, single = (one.replace("by_numpy_2", name) for one in (made.text, made.single))
    return replace(made, text=text, single=single, loop=None)


def _clip_of_array(ct: Expr, a: Expr, low: Expr, high: Expr) -> Expr:
    """`minimum(maximum(a, low), high)`, in which each tie halves the share."""
    raised = _raised(a, low, high)
    loses = test("or", test("gt", raised, high), test("lt", a, low))
    return chosen(test("not", loses), _halved(_halved(ct, raised, high), a, low))


def _clip_of_low(ct: Expr, a: Expr, low: Expr, high: Expr) -> Expr:
    raised = _raised(a, low, high)
    loses = test("or", test("gt", raised, high), test("or", test("lt", low, a), test("isnan", a)))
    return chosen(test("not", loses), _halved(_halved(ct, raised, high), a, low))


def _clip_of_high(ct: Expr, a: Expr, low: Expr, high: Expr) -> Expr:
    raised = _raised(a, low, high)
    loses = test("or", test("gt", high, raised), test("isnan", raised))
    return chosen(test("not", loses), _halved(ct, raised, high))


def _raised(a: Expr, low: Expr, high: Expr) -> Expr:
    """`maximum(a, low)`; above `high` where all three are equal: then neither `a` nor `low` moves the value."""
    are_equal = test("and", test("eq", a, low), test("eq", low, high))
    return op("select", are_equal, Const("f", math.inf), op("maximum", a, low))


def _halved(ct: Expr, x: Expr, y: Expr) -> Expr:
    """A share, or half of it in a tie."""
    return op("select", test("eq", x, y), op("mul", HALF, ct), ct)


def _choice(is_lazy: bool) -> Function:
    """One of two values, by a condition."""
    text = "({0} ? {1} : {2})"
    shares = None, lambda ct, c, x, y: chosen(c, ct), lambda ct, c, x, y: chosen(test("not", c), ct)
    return Function(3, text, shares, None, text, chooses=True, is_lazy=is_lazy)


FUNCTIONS: dict[str, Function] = {
    "add": Function(2, "({0} + {1})", (lambda ct, x, y: ct, lambda ct, x, y: ct), None, "({0} + {1})"),
    "sub": Function(2, "({0} - {1})", (lambda ct, x, y: ct, lambda ct, x, y: op("neg", ct)), None, "({0} - {1})"),
    "mul": Function(2, "({0} * {1})", (_scaled(lambda x, y: y), _scaled(lambda x, y: x)), None, "({0} * {1})"),
    "div": Function(
        2,
        "({0} / {1})",
        (_over(lambda x, y: y), lambda ct, x, y: op("mul", op("neg", ct), op("div", op("div", x, y), y))),
        "f",
    ),
    "floordiv": Function(
        2, "floordiv_F({0}, {1})", (None, None), None, "py_floordiv({0}, {1})", single="floordiv_S({0}, {1})"
    ),
    "mod": Function(
        2,
        "mod_F({0}, {1})",
        (lambda ct, x, y: ct, lambda ct, x, y: op("mul", op("neg", ct), op("floordiv", x, y))),
        None,
        "py_mod({0}, {1})",
        single="mod_S({0}, {1})",
    ),
    "pow": Function(
        2,
        "libm_pow({0}, {1})",
        (_power_of_base, _power_of_exponent),
        None,
        None,
        None,
        math.pow,
        single="libm_powf({0}, {1})",
    ),
    "neg": Function(1, "(-{0})", (lambda ct, x: op("neg", ct),), None, "(-{0})"),
    "pos": Function(1, "({0})", (lambda ct, x: ct,), None, "({0})"),
    "square": Function(1, "square({0})", (_scaled(lambda x: op("mul", TWO, x)),)),
    "reciprocal": Function(
        1, "(1.0 / {0})", (lambda ct, x: op("mul", op("neg", ct), op("square", op("div", ONE, x))),)
    ),
    "sqrt": Function(1, "sqrt({0})", (lambda ct, x: op("div", op("mul", HALF, ct), op("sqrt", x)),), "f"),
    # A power: its derivative at -0.0 is infinite, and positive.
    "root": Function(1, "sqrt({0})", (lambda ct, x: op("div", op("mul", HALF, ct), op("sqrt", _plus(x, ZERO))),), "f"),
    "abs": Function(1, "fabs({0})", (_scaled(lambda x: op("sign", x)),), None, "llabs({0})"),
    "fabs": Function(1, "fabs({0})", (_scaled(lambda x: op("sign", x)),), "f"),
    "sign": Function(1, "sign({0})", (None,)),
    "floor": Function(1, "floor({0})", (None,)),
    "ceil": Function(1, "ceil({0})", (None,)),
    "trunc": Function(1, "trunc({0})", (None,)),
    "rint": Function(1, "nearbyint({0})", (None,)),
    "exp": _numpy(np.exp, _scaled(lambda x: op("exp", x))),
    "exp2": _numpy(np.exp2, _scaled(lambda x: op("mul", op("exp2", x), LOG_2))),
    "expm1": _numpy(np.expm1, _scaled(lambda x: op("exp", x))),
    "log": _numpy(np.log, _over(lambda x: x)),
    "log2": _numpy(np.log2, _over(lambda x: op("mul", x, LOG_2))),
    "log10": _numpy(np.log10, _over(lambda x: op("mul", x, LOG_10))),
    "log1p": _numpy(np.log1p, _over(lambda x: _plus(ONE, x))),
    "sin": _numpy(np.sin, _scaled(lambda x: op("cos", x))),
    "cos": _numpy(np.cos, lambda ct, x: op("mul", op("neg", ct), op("sin", x))),
    "tan": _numpy(np.tan, _scaled(lambda x: _plus(ONE, op("square", op("tan", x))))),
    "arcsin": _numpy(np.arcsin, _over(lambda x: op("sqrt", _one_minus_square(x)))),
    "arccos": _numpy(np.arccos, lambda ct, x: op("div", op("neg", ct), op("sqrt", _one_minus_square(x)))),
    "arctan": _numpy(np.arctan, _over(lambda x: _plus(ONE, _squared(x)))),
    "sinh": _numpy(np.sinh, _scaled(lambda x: op("cosh", x))),
    "cosh": _numpy(np.cosh, _scaled(lambda x: op("sinh", x))),
    "tanh": _numpy(np.tanh, _scaled(lambda x: op("sub", ONE, op("square", op("tanh", x))))),
    "arctan2": _numpy(
        np.arctan2,
        lambda ct, y, x: op("mul", ct, _direction(x, y, x)),
        lambda ct, y, x: op("mul", op("neg", ct), _direction(y, y, x)),
    ),
    "hypot": _numpy(np.hypot, _scaled(lambda x, y: _of_hypot(x, x, y)), _scaled(lambda x, y: _of_hypot(y, x, y))),
    "power": _by_power("numpy_power", np.power),
    "array_power": _by_power("array_power", np.power),
    "clip": Function(3, "numpy_clip({0}, {1}, {2})", (_clip_of_array, _clip_of_low, _clip_of_high), chooses=True),
    "math.exp": _libm(math.exp, "exp", _scaled(lambda x: op("math.exp", x))),
    "math.expm1": _libm(math.expm1, "expm1", _scaled(lambda x: op("exp", x))),
    "math.log": _libm(math.log, "log", _over(lambda x: x)),
    "math.log2": _libm(math.log2, "log2", _scaled(lambda x: op("div", ONE, op("mul", x, LOG_2)))),
    "math.log10": _libm(math.log10, "log10", _scaled(lambda x: op("div", ONE, op("mul", x, LOG_10)))),
    "math.log1p": _libm(math.log1p, "log1p", _scaled(lambda x: op("div", ONE, _plus(ONE, x)))),
    "math.sin": _libm(math.sin, "sin", _scaled(lambda x: op("math.cos", x))),
    "math.cos": _libm(math.cos, "cos", _scaled(lambda x: op("neg", op("math.sin", x)))),
    "math.tan": _libm(math.tan, "tan", _scaled(lambda x: _plus(ONE, op("square", op("math.tan", x))))),
    "math.asin": _libm(math.asin, "asin", _scaled(lambda x: op("div", ONE, op("sqrt", op("sub", ONE, _squared(x)))))),
    "math.acos": _libm(math.acos, "acos", _scaled(lambda x: op("div", MINUS, op("sqrt", op("sub", ONE, _squared(x)))))),
    "math.atan": _libm(math.atan, "atan", _scaled(lambda x: op("div", ONE, _plus(ONE, _squared(x))))),
    "math.sinh": _libm(math.sinh, "sinh", _scaled(lambda x: op("math.cosh", x))),
    "math.cosh": _libm(math.cosh, "cosh", _scaled(lambda x: op("math.sinh", x))),
    "math.tanh": _libm(math.tanh, "tanh", _scaled(lambda x: op("sub", ONE, op("square", op("math.tanh", x))))),
    "math.atan2": _libm(
        math.atan2,
        "atan2",
        lambda ct, y, x: op("mul", ct, _direction(x, y, x)),
        lambda ct, y, x: op("mul", op("neg", ct), _direction(y, y, x)),
    ),
    "math.pow": _libm(
        math.pow,
        "pow",
        _scaled(lambda x, y: op("select", test("eq", y, ZERO), ZERO, op("mul", y, op("pow", x, op("sub", y, ONE))))),
        _scaled(
            lambda x, y: op(
                "select",
                test("lt", x, ZERO),
                Const("f", math.nan),
                op("mul", op("pow", x, y), op("math.log", op("select", test("gt", x, ZERO), x, ONE))),
            )
        ),
    ),
    "min": Function(2, "", (), None, "min_of({0}, {1})"),
    "max": Function(2, "", (), None, "max_of({0}, {1})"),
    "maximum": _extremum("lt", "numpy_maximum({0}, {1})", "max_of({0}, {1})"),
    "minimum": _extremum("gt", "numpy_minimum({0}, {1})", "min_of({0}, {1})"),
    "lt": _compared("({0} < {1})"),
    "le": _compared("({0} <= {1})"),
    "gt": _compared("({0} > {1})"),
    "ge": _compared("({0} >= {1})"),
    "eq": _compared("({0} == {1})"),
    "ne": _compared("({0} != {1})"),
    "isnan": Function(1, "({0} != {0})", (), "b"),
    "isinf": Function(1, "(fabs({0}) == (F)INFINITY)", (), "b"),
    "isfinite": Function(1, "(fabs({0}) < (F)INFINITY)", (), "b"),
    "and": Function(2, "", (), "b", "({0} & {1})"),
    "or": Function(2, "", (), "b", "({0} | {1})"),
    "xor": Function(2, "", (), "b", "({0} ^ {1})"),
    "not": Function(1, "", (), "b", "(!{0})"),
    "add_fits": Function(2, "", (), "b", "add_fits({0}, {1})"),
    "sub_fits": Function(2, "", (), "b", "sub_fits({0}, {1})"),
    "mul_fits": Function(2, "", (), "b", "mul_fits({0}, {1})"),
    "power_fits": Function(2, "", (), "b", "power_fits({0}, {1})"),
    "int_power": Function(2, "", (), None, "int_power({0}, {1})"),
    "select": _choice(is_lazy=True),
    "where": _choice(is_lazy=False),
    "cast": Function(1, "", (lambda ct, x: Op(x.kind, "cast", (ct,)),)),
}

BY_OBJECT: dict[Any, str] = {
    np.sqrt: "sqrt", np.abs: "abs", np.fabs: "fabs", np.square: "square", np.sign: "sign", np.reciprocal: "reciprocal",
    np.floor: "floor", np.ceil: "ceil", np.trunc: "trunc", np.rint: "rint", np.positive: "pos",
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "div", np.negative: "neg",
    np.remainder: "mod", np.floor_divide: "floordiv",
    np.maximum: "maximum", np.minimum: "minimum", np.where: "where", np.clip: "clip",
    np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge", np.equal: "eq", np.not_equal: "ne",
    np.logical_and: "logical_and", np.logical_or: "logical_or", np.logical_xor: "logical_xor",
    np.logical_not: "logical_not", np.isnan: "isnan", np.isinf: "isinf", np.isfinite: "isfinite",
    np.dot: "dot", np.matmul: "matmul", np.outer: "outer", np.flip: "flip",
    np.sum: "sum", np.prod: "prod", np.max: "amax", np.min: "amin", np.amax: "amax", np.amin: "amin", np.mean: "mean",
    np.nonzero: "nonzero", np.hstack: "hstack", np.vstack: "vstack", np.concatenate: "concatenate",
    np.triu: "triu", np.tril: "tril", np.argmax: "argmax", np.argmin: "argmin", np.roll: "roll",
    np.diff: "diff", np.cumsum: "cumsum", np.zeros: "zeros", np.ones: "ones", np.empty: "empty",
    np.array: "array", np.asarray: "array", np.eye: "eye", np.identity: "eye", np.full: "full",
    np.zeros_like: "zeros_like", np.ones_like: "ones_like", np.empty_like: "empty_like",
    builtins.abs: "abs", builtins.len: "len", builtins.float: "float", builtins.int: "int", builtins.bool: "bool",
    builtins.min: "min", builtins.max: "max", builtins.round: "round", builtins.isinstance: "isinstance",
    np.copy: "np.copy", copy.copy: "deepcopy", copy.deepcopy: "deepcopy",
    np.isscalar: "isscalar", np.shape: "shape", np.ndim: "ndim", np.size: "size",
    math.sqrt: "sqrt", math.fabs: "fabs", math.floor: "math.floor", math.ceil: "math.ceil", math.trunc: "int",
    math.isnan: "isnan", math.isinf: "isinf", math.isfinite: "isfinite",
    **{one.ufunc: name for name, one in FUNCTIONS.items() if one.ufunc is not None},
    np.power: "power",
    **{one.python: name for name, one in FUNCTIONS.items() if name.startswith("math.")},
}  # fmt: skip


ADD_AT = object()
"""`np.add.at`, which is another object each time."""


DERIVED = frozenset(BY_OBJECT)
"""Functions whose derivatives are here: a user's rule for one of them leaves loops to Python."""

_NAMES = {id(one): name for one, name in BY_OBJECT.items()}


def name_of(function: Any) -> str:
    """The name of a function that is defined here, else "". What an object makes of `==` or `hash` is not asked."""
    return _NAMES.get(id(function), "")


def typed(name: str, types: tuple[Type, ...]) -> tuple[str, str] | None:
    """The kind of a result, and the kind that its arguments are converted to; None if it is not defined here."""
    function = FUNCTIONS[name]
    is_choice = name in ("where", "select")
    types = types[1:] if is_choice else types
    kinds = {kind for kind, _ in types}
    inner = promoted(types)
    if name.startswith("math."):
        # C converts a float32, whose partial derivatives are of its own kind.
        return "f", inner if inner == "f4" else "f"
    if inner is None or (len(kinds) > 1 and "b" in kinds and is_choice):
        return None
    if is_choice:
        return inner, inner
    if not is_float(inner) and (name == "div" or function.integers is None):
        # NumPy's smallest float that holds these integers: of a quotient, float64.
        inner = None if function.result is None else "f" if name == "div" else promoted(types, np.float16)
        if inner is None:
            return None
    if is_float(inner):
        return None if not function.text else (function.result if function.result not in (None, "f") else inner, inner)
    if "b" in kinds and function.result != "b":
        return None
    return function.result or inner, "i"


def kind_of(name: str, number: int, inner: str) -> str:
    """The kind that one of the arguments is converted to."""
    return "b" if name in ("where", "select") and number == 0 else inner


def computed(name: str, values: tuple[float, ...]) -> float:
    """A function of numbers that are known, as Python computes it."""
    by_python: Any = FUNCTIONS[name].python or _BY_PYTHON.get(name) or getattr(np, name)
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        return float(by_python(*values))


_BY_PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "neg": operator.neg, "pos": operator.pos, "abs": abs,
    "sqrt": math.sqrt,
}  # fmt: skip
