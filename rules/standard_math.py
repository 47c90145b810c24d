"""`math` and `cmath` of tracked numbers: the value is that of Python's function, to the bit, and a number of Python's.

While a program is compiled, the function of NumPy of the same meaning stands for it.
"""

from __future__ import annotations

import cmath
import functools
import math
import operator
from collections.abc import Iterator

import numpy as np

from bridge.extend import (
    Aside,
    Case,
    Facts,
    check_number,
    conj,
    is_abstract,
    is_tracked,
    needs,
    pulls,
    refuse,
    rule,
    stand_in,
)
from bridge.rules.python_numbers import python_number, with_value
from bridge.rules.transcendental import direction

_DOUBLE = Facts(precision="double")
_ROOT_PI = math.sqrt(math.pi)


def _number(x):
    """A number, of an array that holds one."""
    return np.reshape(x, ()) if getattr(x, "shape", ()) and hasattr(x, "place") else x


def _function(function, numpy_function, *slopes):
    """A function of numbers: its pulls, and what stands for it where numbers are not known."""
    made = pulls(function, *slopes, structure="elementwise", facts=_DOUBLE)

    @stand_in(function)
    def called(*args):
        args = tuple(map(_number, args))
        if any(map(is_abstract, args)):
            return _raising(function, args, python_number(numpy_function(*args)))
        return made(*args)


def _raising(function, args, value):
    """NumPy's value in place of that of `function`, which raises where NumPy gives NaN or infinity."""
    name = function.__name__ if function.__module__ == "math" else ""
    given = functools.reduce(operator.add, args)
    if name in _OUTSIDE + _AT_POLES:
        check_number(ValueError("math domain error"), np.isnan(value) & ~np.isnan(given))
    if name in _AT_POLES + _TOO_LARGE:
        kind = OverflowError("math range error") if name in _TOO_LARGE else ValueError("math domain error")
        check_number(kind, np.isinf(value) & np.isfinite(given))
    return value


_OUTSIDE = ("sin", "cos", "tan", "asin", "acos", "acosh", "sqrt", "fmod", "remainder", "pow", "gamma")
"""Functions that raise where their value is NaN."""
_AT_POLES = ("atanh", "log", "log1p", "log2", "log10", "lgamma")
"""Functions that also raise where their value is infinite."""
_TOO_LARGE = ("cosh", "exp", "exp2", "expm1", "sinh", "pow", "gamma")
"""Functions that raise OverflowError where their value is infinite."""


# The derivative of a function of one number, given its value and the number.
_MATH = {
    "sin": (np.sin, lambda y, x: np.cos(x)),
    "cos": (np.cos, lambda y, x: -np.sin(x)),
    "tan": (np.tan, lambda y, x: 1 + y * y),
    "asin": (np.arcsin, lambda y, x: 1 / np.sqrt(1 - x * x)),
    "acos": (np.arccos, lambda y, x: -1 / np.sqrt(1 - x * x)),
    "atan": (np.arctan, lambda y, x: 1 / (1 + x * x)),
    "sinh": (np.sinh, lambda y, x: np.cosh(x)),
    "cosh": (np.cosh, lambda y, x: np.sinh(x)),
    "tanh": (np.tanh, lambda y, x: 1 - y * y),
    "asinh": (np.arcsinh, lambda y, x: 1 / np.hypot(x, 1)),
    "acosh": (np.arccosh, lambda y, x: 1 / np.sqrt(x * x - 1)),
    "atanh": (np.arctanh, lambda y, x: 1 / (1 - x * x)),
    "exp": (np.exp, lambda y, x: y),
    "exp2": (np.exp2, lambda y, x: y * math.log(2)),
    "expm1": (np.expm1, lambda y, x: np.exp(x)),
    "log1p": (np.log1p, lambda y, x: 1 / (1 + x)),
    "log2": (np.log2, lambda y, x: 1 / (x * math.log(2))),
    "log10": (np.log10, lambda y, x: 1 / (x * math.log(10))),
    "sqrt": (np.sqrt, lambda y, x: np.divide(0.5, y)),
    "cbrt": (np.cbrt, lambda y, x: np.divide(1, 3 * y * y)),
    "fabs": (np.fabs, lambda y, x: np.sign(x)),
    "degrees": (np.degrees, lambda y, x: 180 / math.pi),
    "radians": (np.radians, lambda y, x: math.pi / 180),
}


def _pull_of(slope):
    return lambda ct, out, x: ct * conj(slope(out, x))


def _pull_of_complex(slope):
    # Real numbers have complex values, and slopes, too.
    return lambda ct, out, x: ct * conj(slope(out, x + 0j))


for _name, (_numpy, _slope) in _MATH.items():
    if hasattr(math, _name):
        _function(getattr(math, _name), _numpy, _pull_of(_slope))
_FUNCTIONS_OF_COMPLEX = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "sqrt",
)  # fmt: skip
_SLOPES_OF_COMPLEX = {
    **{name: _MATH[name][1] for name in _FUNCTIONS_OF_COMPLEX},
    "asinh": lambda y, x: 1 / np.sqrt(1 + x * x),
    "acosh": lambda y, x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),
    "log10": lambda y, x: 1 / (x * math.log(10)),
}
for _name, _slope in _SLOPES_OF_COMPLEX.items():
    _function(getattr(cmath, _name), lambda x, f=_MATH[_name][0]: f(x + 0j), _pull_of_complex(_slope))


def _natural(x):
    return math.log(x)


def _natural_of_complex(x):
    return cmath.log(x)


# `log` takes a base, too: then it is a quotient.
_log = pulls(_natural, lambda ct, out, x: ct / x, structure="elementwise", facts=_DOUBLE)
_complex_log = pulls(_natural_of_complex, lambda ct, out, x: ct / conj(x), structure="elementwise", facts=_DOUBLE)


@stand_in(math.log)
def log(x, base=None):
    found = tuple(_number(one) if hasattr(one, "place") else one for one in (x, base))
    logarithms = [
        None
        if one is None
        else _raising(math.log, (one,), python_number(np.log(one)))
        if is_abstract(one)
        else _log(one)
        for one in found
    ]
    return logarithms[0] if base is None else logarithms[0] / logarithms[1]


@stand_in(cmath.log)
def complex_log(x, base=None):
    found = _complex_log(_number(x))
    return found if base is None else found / _complex_log(_number(base))


_function(
    math.pow,
    np.power,
    lambda ct, out, x, y: ct * (0.0 if y == 0 else y * np.power(x, y - 1)),
    lambda ct, out, x, y: ct * (out * np.log(np.where(x > 0, x, 1.0)) if not x < 0 else np.nan),
)
_function(
    math.atan2,
    np.arctan2,
    lambda ct, out, y, x: ct * direction(x, np.hypot(y, x)),
    lambda ct, out, y, x: -ct * direction(y, np.hypot(y, x)),
)
_function(
    math.copysign, np.copysign, lambda ct, out, x, y: ct * np.copysign(1.0, x) * np.copysign(1.0, y), lambda *_: None
)
_function(math.fmod, np.fmod, lambda ct, out, x, y: ct, lambda ct, out, x, y: -ct * np.trunc(x / y))
_function(
    math.remainder,
    lambda x, y: x - y * np.rint(x / y),
    lambda ct, out, x, y: ct,
    lambda ct, out, x, y: -ct * np.rint((x - out) / y),
)
_function(math.erf, lambda x: _special().erf(x), lambda ct, out, x: ct * (2 / _ROOT_PI) * np.exp(-x * x))
_function(math.erfc, lambda x: _special().erfc(x), lambda ct, out, x: ct * (-2 / _ROOT_PI) * np.exp(-x * x))
_function(math.gamma, lambda x: _special().gamma(x), lambda ct, out, x: ct * out * _special().digamma(x))
_function(math.lgamma, lambda x: _special().gammaln(x), lambda ct, out, x: ct * _special().digamma(x))
if hasattr(math, "fma"):
    _function(
        math.fma,
        lambda x, y, z: x * y + z,
        lambda ct, out, x, y, z: ct * y,
        lambda ct, out, x, y, z: ct * x,
        lambda ct, out, x, y, z: ct,
    )


def _special():
    """`scipy.special`, for functions of which Python has the value and NumPy no derivative."""
    try:
        return needs("scipy.special")
    except ImportError:
        refuse("math.gamma, lgamma, erf of a tracked number needs SciPy here", "pip install scipy")


# Functions of several numbers.


def _length(*numbers):
    return math.hypot(*numbers)


def _exact_sum(*numbers):
    return math.fsum(numbers)


@rule(_length, facts=_DOUBLE)
def _length_of(ct, out, *numbers):
    return tuple(ct * (x / np.where(out == 0, 1.0, out)) for x in numbers)


@rule(_exact_sum, reads=(), facts=_DOUBLE)
def _sum_of(ct, out, *numbers):
    return tuple(ct for _ in numbers)


@stand_in(math.hypot)
def hypot(*coordinates):
    numbers = tuple(map(_number, coordinates))
    if any(map(is_abstract, numbers)):
        return python_number(functools.reduce(np.hypot, numbers) if len(numbers) > 1 else np.abs(numbers[0]))
    return _length_of(*numbers)


@stand_in(math.fsum, calls=True)
def fsum(seq):
    numbers = tuple(map(_number, seq))
    if not any(map(is_tracked, numbers)):
        return math.fsum(numbers)
    if any(map(is_abstract, numbers)):
        return python_number(functools.reduce(operator.add, numbers))
    return _sum_of(*numbers)


if hasattr(math, "sumprod"):

    @stand_in(math.sumprod)
    def sumprod(p, q, /):
        products = [a * b for a, b in zip(p, q, strict=True)]
        plain = math.sumprod(*(_plain("math.sumprod", list(one)) for one in (p, q)))
        return with_value(python_number(functools.reduce(operator.add, products)), plain)


@stand_in(math.dist)
def dist(p, q):
    return hypot(*(a - b for a, b in zip(p, q, strict=True)))


@stand_in(math.prod, calls=True)
def prod(iterable, *, start=1):
    numbers = list(iterable)
    if not any(map(is_tracked, [start, *numbers])):
        return math.prod(numbers, start=start)
    return functools.reduce(operator.mul, numbers, start)


@stand_in(math.ldexp)
def ldexp(x, i):
    return python_number(_number(x)) * 2.0**i


@stand_in(math.frexp)
def frexp(x):
    x = python_number(_number(x))
    _, exponent = math.frexp(_plain("math.frexp", x))
    return x * 2.0**-exponent, exponent


@stand_in(math.modf)
def modf(x):
    x = python_number(_number(x))
    _, whole = math.modf(_plain("math.modf", x))
    return x - whole, whole


def _plain(name, x):
    return Aside(name).value_of(x)


def _flat(function, compiled=None):
    """A function whose value does not change with its arguments, or is no number; `compiled` computes it on arrays."""

    @stand_in(function)
    def called(*args, **kwargs):
        if compiled is not None and any(map(is_abstract, (*args, *kwargs.values()))):
            return python_number(compiled(*map(_number, args), **kwargs))
        name = f"{function.__module__}.{function.__name__}"
        return function(*(_plain(name, _number(x)) for x in args), **{k: _plain(name, x) for k, x in kwargs.items()})


def _are_close(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    distance, largest = np.abs(a - b), np.maximum(np.abs(a), np.abs(b))
    return (a == b) | (np.isfinite(largest) & (distance <= np.maximum(rel_tol * largest, abs_tol)))


for _one in (math.floor, math.ceil, math.trunc, math.ulp):
    _flat(_one)
for _module in (math, cmath):
    _flat(_module.isclose, _are_close)
    for _name in ("isnan", "isinf", "isfinite"):
        _flat(getattr(_module, _name), getattr(np, _name))


@stand_in(math.nextafter)
def nextafter(x, y, **steps):
    refuse("math.nextafter of a tracked number", "use bridge.detach(x), or add a multiple of math.ulp(x)")


@stand_in(cmath.phase)
def phase(x):
    x = _number(x)
    return with_value(python_number(np.arctan2(np.imag(x), np.real(x))), cmath.phase(_plain("cmath.phase", x)))


@stand_in(cmath.polar)
def polar(x):
    return python_number(np.abs(_number(x))), phase(x)


@stand_in(cmath.rect)
def rect(r, phi):
    r, phi = python_number(_number(r)), python_number(_number(phi))
    return r * np.cos(phi) + 1j * (r * np.sin(phi))


def cases() -> Iterator[Case]:
    for name in _MATH:
        if hasattr(math, name):
            yield Case(getattr(math, name), (np.array(1.3 if name == "acosh" else 0.4),))
    for name in _SLOPES_OF_COMPLEX:
        yield Case(getattr(cmath, name), (np.array(0.4 + 0.3j),))
        if name != "sqrt":  # whose slope at zero is infinite, in no direction
            yield Case(getattr(cmath, name), (np.array(1.3 if name == "acosh" else 0.4),))
    yield Case(_natural, (np.array(0.7),))
    yield Case(_natural_of_complex, (np.array(0.7 - 0.2j),))
    for function in (math.pow, math.atan2, math.fmod, math.remainder):
        yield Case(function, (np.array(1.7), np.array(0.6)))
    yield Case(math.copysign, (np.array(1.7), np.array(-0.6)))
    yield Case(math.pow, (np.array(-1.7), 3.0))
    for function in (math.erf, math.erfc, math.gamma, math.lgamma):
        yield Case(function, (np.array(0.7),))
    if hasattr(math, "fma"):
        yield Case(math.fma, (np.array(0.7), np.array(1.2), np.array(-0.3)))
    yield Case(_length, (np.array(3.0), np.array(-2.0), np.array(0.5)))
    yield Case(_exact_sum, (np.array(3.0), np.array(-2.0), np.array(0.5)))
