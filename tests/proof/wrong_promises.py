"""Rules that break what they declare, or that go wrong only at some arguments or inside a context, as data."""

from __future__ import annotations

import numpy as np

import bridge
from bridge.extend import mutating_rule, rule
from tests.proof.wrong_pulls import A, Wrong, X, Y, Z, real_only, squaring


def constant_added():
    return squaring(lambda ct, out, x: 2 * ct * x + 1)


def power_of_the_cotangent():
    return squaring(lambda ct, out, x: 2 * ct * ct * x)


def ignores_absent_cotangents():
    def both(x):
        return np.sin(real_only(x)), np.cos(x)

    return rule(both)(lambda ct, out, x: ct[0] * out[1] - ct[1] * out[0])


def undeclared_read():
    return squaring(lambda ct, out, x: 2 * ct * x, reads=())


def undeclared_read_of_the_output():
    return rule(np.exp, reads=("x",))(lambda ct, out, x: ct * out)


def not_elementwise():
    def running(x):
        return np.cumsum(x)

    return rule(running, structure="elementwise")(lambda ct, out, x: np.cumsum(ct[::-1])[::-1])


def not_linear_function():
    return squaring(lambda ct, out, x: 2 * ct * x, linear=True)


def conjugated():
    def squared(z):
        return z * z

    return rule(squared)(lambda ct, out, z: 2 * ct * z)


def wrong_for_complex():
    def squared_size(z):
        return z * np.conj(z)

    return rule(squared_size)(lambda ct, out, z: 2 * ct * z)


def needs_double_precision():
    def pull(ct, out, x):
        h = 1e-7 * np.ones_like(x)
        return ct * ((x + h) ** 2 - (x - h) ** 2) / (2 * h)

    return squaring(pull)


def follows_memory_order():
    return squaring(lambda ct, out, x: 2 * ct * np.reshape(np.ravel(x, order="K"), x.shape))


def spreads_nan():
    return squaring(lambda ct, out, x: 2 * ct * x + 0 * np.sum(x), structure="elementwise")


def fails_on_empty_arrays():
    return squaring(lambda ct, out, x: 2 * ct * x * (np.max(np.abs(x)) >= 0))


def ignores_an_alias():
    @mutating_rule(mutates="a")
    def copied(a, b):
        a[...] = 0
        a += real_only(b)

    return copied.pull(lambda ct, a, b: (np.zeros_like(ct), np.real(ct)))


def writes_a_copy():
    @mutating_rule(mutates="a")
    def doubled(a):
        flat = a.reshape(-1)
        flat *= 2

    return doubled.pull(lambda ct, a: 2 * ct)


def no_pull():
    @mutating_rule(mutates="a")
    def doubled(a):
        a *= 2

    return doubled


def no_inputs():
    def named(x):
        return {"one": np.ones(3)}[x]

    return rule(named)(lambda ct, out, x: None)


def leaves_tracking():
    return squaring(lambda ct, out, x: 2 * np.asarray(ct) * x)


def forgets_second_order():
    return squaring(lambda ct, out, x: 2 * ct * bridge.detach(x))


def other_pull_in_forward_mode():
    return squaring(lambda ct, out, x: (4 if bridge.current_context() else 2) * ct * x)


def writes_more_when_tracked():
    @mutating_rule(mutates="a")
    def doubled(a, b):
        a *= 2
        if bridge.current_context():
            b += 1

    return doubled.pull(lambda ct, a, b: (2 * ct, None))


def keeps_the_last_tracked_call():
    seen = {}

    @mutating_rule(mutates="a")
    def squared(a):
        if bridge.current_context():
            seen["a"] = a.copy()
        a *= real_only(a)

    return squared.pull(lambda ct, a: 2 * ct * seen.get("a", a))


WRONG_PROMISES = [
    Wrong("constant added", constant_added, (X,), ("not-linear",), "not linear in its cotangent"),
    Wrong("power of the cotangent", power_of_the_cotangent, (X,), ("not-linear",), "not linear in its cotangent"),
    Wrong("ignores absent cotangents", ignores_absent_cotangents, (X,), ("none-cotangent",), "are None"),
    Wrong("undeclared read", undeclared_read, (X,), ("undeclared-read",), "reads the values of x"),
    Wrong("undeclared read of the output", undeclared_read_of_the_output, (X,), ("undeclared-read",), "'out'"),
    Wrong("not elementwise", not_elementwise, (X,), ("not-elementwise",), "other elements"),
    Wrong("not a linear function", not_linear_function, (X,), ("function-not-linear",), "linear=True"),
    Wrong("wrong conjugation", conjugated, (Z,), ("wrong-conjugation",), "conjugate the partial derivative"),
    Wrong("wrong for complex", wrong_for_complex, (X,), ("wrong-complex",), "with complex arguments"),
    Wrong("needs double precision", needs_double_precision, (X,), ("wrong-float32",), "double precision"),
    Wrong("follows memory order", follows_memory_order, (A,), ("wrong-noncontiguous",), "Fortran"),
    Wrong("spreads NaN", spreads_nan, (X,), ("nan-spreads",), "a NaN in one element"),
    Wrong("fails on empty arrays", fails_on_empty_arrays, (X,), ("pull-raises",), "float64[0]"),
    Wrong("ignores an alias", ignores_an_alias, (X, Y), ("ignores-alias",), "share memory"),
    Wrong("writes a copy", writes_a_copy, (A,), ("wrong-noncontiguous", "wrong-in-view"), "strided"),
    Wrong("no pull", no_pull, (), ("no-pull",), "@doubled.pull"),
    Wrong("no inputs", no_inputs, (), ("no-inputs",), "check_rule(rule, *args)"),
    Wrong("leaves tracking", leaves_tracking, (X,), ("raises-in-context",), "EscapeError"),
    Wrong("forgets second order", forgets_second_order, (X,), ("wrong-second-order",), "differentiating its gradient"),
    Wrong(
        "other pull in forward mode",
        other_pull_in_forward_mode,
        (X,),
        ("forward-mode", "wrong-second-order"),
        "disagree",
    ),
    Wrong(
        "writes more when tracked",
        writes_more_when_tracked,
        (X, Y),
        ("raises-in-context",),
        "has written its argument b",
    ),
    Wrong(
        "keeps the last tracked call",
        keeps_the_last_tracked_call,
        (X,),
        ("called-twice", "wrong-second-order"),
        "called twice",
    ),
]
