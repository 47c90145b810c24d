"""Rules whose pull is wrong in what it returns, writes or remembers, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import bridge
from bridge.extend import composed, mutating_rule, pulls, rule

X = np.array([0.7, -1.3, 2.1])
Y = np.array([1.9, 0.4, -0.6])
Z = np.array([0.7 + 0.2j, -1.3 - 0.9j])
A = np.array([[0.7, -1.3, 2.1], [0.3, 1.1, -0.4]])


@dataclass(frozen=True)
class Wrong:
    """A wrong rule, the arguments on which it is checked, the codes of its failures, and words of the message."""

    name: str
    build: Callable[[], Any]
    args: tuple[Any, ...]
    codes: tuple[str, ...]
    says: str


def real_only(x):
    """The argument itself; refuses complex arrays, for which most pulls here would need a conjugate."""
    if x.dtype.kind == "c":
        raise TypeError("real numbers only")
    return x


def squaring(pull, **options):
    """A rule of a fresh squaring function with this pull."""

    def square(x):
        return real_only(x) * x

    return rule(square, **options)(pull)


def wrong_factor():
    return squaring(lambda ct, out, x: ct * x)


def transposed():
    def product(a, b):
        return a @ b

    return rule(product)(lambda ct, out, a, b: (ct @ b.T, (ct.T @ a)))


def missing_broadcast_sum():
    def shifted(a, b):
        return a + b

    return rule(shifted)(lambda ct, out, a, b: (ct, ct))


def python_number():
    def total(x):
        return np.sum(x)

    return rule(total, reads=())(lambda ct, out, x: 1.0)


def too_few():
    return rule(np.hypot)(lambda ct, out, x, y: ct * x / out)


def too_many():
    return squaring(lambda ct, out, x: (2 * ct * x, ct))


def none_for_an_argument():
    return pulls(np.hypot, lambda ct, out, x, y: ct * x / out, lambda ct, out, x, y: None)


def raises():
    def doubled(x):
        return 2 * x

    def pull(ct, out, x):
        raise KeyError("mislaid")

    return rule(doubled)(pull)


def writes_its_cotangent():
    def pull(ct, out, x):
        ct *= 2 * x
        return ct

    return squaring(pull)


def writes_its_output():
    def pull(ct, out, x):
        out[...] = 2 * x
        return ct * out

    return squaring(pull)


def writes_its_input():
    def pull(ct, out, x):
        x *= 2
        return ct * x

    return squaring(pull)


def undeclared_mutation():
    def doubled(x):
        x *= 2
        return x.copy()

    return rule(doubled)(lambda ct, out, x: 2 * ct)


def undeclared_mutation_of_another():
    @mutating_rule(mutates="a")
    def swapped(a, b):
        a[...], b[...] = b.copy(), a.copy()

    return swapped.pull(lambda ct, a, b: (np.zeros_like(ct), ct))


def double_precision():
    return squaring(lambda ct, out, x: ct * np.float64(2) * x)


def complex_for_real():
    def phase(x):
        return x * 1j

    return rule(phase)(lambda ct, out, x: ct * -1j)


def integer_cotangent():
    def stepped(x):
        return x * 0.0

    return rule(stepped)(lambda ct, out, x: np.zeros(x.shape, int))


def wrong_at_zero():
    def cubed(x):
        return real_only(x) * x * x

    return rule(cubed, structure="elementwise")(lambda ct, out, x: ct * 3 * out / x)


def wrong_where_equal():
    return pulls(np.maximum, lambda ct, out, x, y: ct * (x >= y), lambda ct, out, x, y: ct * (y >= x))


def finite_at_an_infinite_slope():
    def root(x):
        return np.sqrt(real_only(x))

    return rule(root, structure="elementwise")(lambda ct, out, x: np.where(out > 0, ct / (2 * out + (out == 0)), 0))


def other_value_under_differentiation():
    def rounded_when_tracked(x):
        squared = real_only(x) * x
        return np.round(squared, 3) if bridge.current_context() else squared

    return rule(rounded_when_tracked)(lambda ct, out, x: 2 * ct * x)


def other_equivalent():
    def norm(x):
        return np.sqrt(np.sum(real_only(x) * x))

    return composed(norm)(lambda x: np.sqrt(np.sum(x * x) + 1))


def random_value():
    generator = np.random.default_rng(0)

    def noisy(x):
        return x * generator.normal()

    return rule(noisy)(lambda ct, out, x: ct * out / x)


def accumulates():
    scratch = np.zeros(3)

    def pull(ct, out, x):
        np.add(scratch[: x.size], 2 * ct * x, out=scratch[: x.size])
        return scratch.copy()

    return squaring(pull)


def counts_its_calls():
    calls = []

    def pull(ct, out, x):
        calls.append(1)
        return 2 * ct * x * (1 + 1e-3 * len(calls))

    return squaring(pull)


def reuses_its_result():
    scratch = np.zeros(3)

    def pull(ct, out, x):
        np.multiply(2 * ct, x, out=scratch)
        return scratch

    return squaring(pull)


def remembers_the_last_call():
    last = {}

    def square(x):
        last["x"] = x.copy()
        return real_only(x) * x

    return rule(square)(lambda ct, out, x: 2 * ct * last["x"])


def reads_the_value_after():
    @mutating_rule(mutates="a")
    def squared(a):
        a *= a

    return squared.pull(lambda ct, a, after: 2 * ct * after)


def takes_before_for_after():
    @mutating_rule(mutates="a")
    def exponential(a):
        np.exp(a, out=a)

    return exponential.pull(lambda ct, a: ct * a)


WRONG_PULLS = [
    Wrong("wrong factor", wrong_factor, (X,), ("wrong-gradient",), "is 0.5 times what it should be"),
    Wrong("transposed", transposed, (A[:, :2], A[:, 1:]), ("wrong-gradient",), "finite differences give"),
    Wrong("missing broadcast sum", missing_broadcast_sum, (A, X), ("cotangent-shape",), "sum_to_shape"),
    Wrong("a number for an array", python_number, (X,), ("cotangent-shape",), "has type float"),
    Wrong("too few cotangents", too_few, (X, Y), ("cotangent-count",), "returned 1 cotangents"),
    Wrong("too many cotangents", too_many, (X,), ("cotangent-count",), "1 cotangents more"),
    Wrong("None for an argument", none_for_an_argument, (X, Y), ("missing-cotangent",), "return a cotangent for"),
    Wrong("raises", raises, (X,), ("pull-raises",), "KeyError"),
    Wrong("overwrites its cotangent", writes_its_cotangent, (X,), ("writes-cotangent",), "writes into its cotangent"),
    Wrong("overwrites its output", writes_its_output, (X,), ("writes-output",), "writes into its output"),
    Wrong("overwrites its input", writes_its_input, (X,), ("writes-input",), "writes into x"),
    Wrong("undeclared mutation", undeclared_mutation, (X,), ("undeclared-mutation",), "mutates='x'"),
    Wrong("undeclared other", undeclared_mutation_of_another, (X, Y), ("undeclared-mutation",), "writes into b"),
    Wrong("double precision", double_precision, (X.astype("f"),), ("wrong-dtype",), "has dtype float64"),
    Wrong("complex for real", complex_for_real, (X,), ("wrong-dtype",), "np.real"),
    Wrong("integer cotangent", integer_cotangent, (X,), ("wrong-dtype",), "has dtype int64"),
    Wrong("wrong at zero", wrong_at_zero, (X,), ("wrong-at-zero",), "with zeros in x"),
    Wrong("wrong where equal", wrong_where_equal, (X, Y), ("wrong-at-kink", "ignores-alias"), "with equal elements"),
    Wrong("finite at an infinite slope", finite_at_an_infinite_slope, (X * X,), ("wrong-at-zero",), "without bound"),
    Wrong("other value when tracked", other_value_under_differentiation, (X,), ("value-differs",), "another one"),
    Wrong("other equivalent", other_equivalent, (X,), ("value-differs",), "equivalent"),
    Wrong("random value", random_value, (X,), ("nondeterministic",), "two calls"),
    Wrong("accumulates twice", accumulates, (X,), ("accumulates",), "adds to what"),
    Wrong("counts its calls", counts_its_calls, (X,), ("not-repeatable",), "another result"),
    Wrong("reuses its result", reuses_its_result, (X,), ("shared-result",), "fresh arrays"),
    Wrong("stale input", remembers_the_last_call, (X,), ("stale-input",), "latest call"),
    Wrong("reads the value after", reads_the_value_after, (X,), ("stale-input",), "from before"),
    Wrong("takes before for after", takes_before_for_after, (X,), ("stale-input",), "ask for `after`"),
]
