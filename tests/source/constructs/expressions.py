# ruff: noqa
# fmt: off
"""Expressions: order, truth, comparisons, text, patterns."""

import numpy as np

from tests.source.constructs.objects import Noisy, Truth, said


def row_order_of_operators(log):
    a, b, c = Noisy(log, "a"), Noisy(log, "b"), Noisy(log, "c")
    a.x + b[said(log, 1)] * c() - -a @ b ** c // a % b << c >> a & b | c ^ ~a
    said(log, 1) + said(log, 2) * said(log, 3) ** said(log, 2)
    {said(log, "k"): said(log, "v"), **said(log, {"m": 1})}
    [said(log, 1), *said(log, [2]), (said(log, 3), said(log, 4))]
    {said(log, 1), said(log, 2)}
    said(log, [0, 1, 2])[said(log, 0):said(log, 2):said(log, 1)]


def row_truth(log):
    t, f = Truth(log, "t", True), Truth(log, "f", False)
    found = [t and f, t or f, f and t, f or t, not t, not f, t and t and f, f or f or t, t and f or t, t if f else f, not (t and f)]
    if t and not f: log.append("yes")
    while t and f: pass
    assert t or f
    return found, [x for x in (t, f) if x], all([t, f]), any([f, t]), bool(t), list(filter(None, [t, f]))


def row_truth_that_raises(log):
    x = np.zeros(2)
    if x:
        pass


def row_comparisons(log):
    a = Noisy(log, "a", 1)
    a < said(log, 1) <= said(log, 2) != said(log, 3)
    1 < said(log, 0) < said(log, "never")
    a in a, a not in a, 1 in [a, 1], a is a, a is not None
    x = np.arange(3)
    return 1 < 2 < 3, 3 > 2 < 5 != 4, not 1 == 2, (x < 2).tolist(), (1 <= x).tolist(), "a" in "abc", 1 not in {}, None is None


def row_comparison_of_what_cannot_be(log):
    return 1 < "a"


def row_conditional_expressions(log):
    a = Noisy(log, "a", 0)
    return (said(log, 1) if said(log, True) else said(log, 2), [1 if a else 2, 3][0], "x" if a.b else "y" if a.c or 1 else "z",
            (lambda: 5 if a else 6)())


def row_lambdas_on_one_line(log):
    a, b, c = lambda x: x + 1, lambda x: x * 2, lambda x, y=3, *z, k=4, **w: (x, y, z, k, w)
    return a(1), b(2), c(1), c(1, 2, 3, k=5, m=6), (lambda: (lambda: 7)())(), [f(2) for f in (lambda v: v, lambda v: -v, lambda v: v)]


def row_texts(log):
    x, n, name, a = 3.14159, Noisy(log, "n"), "abc", np.array([1.0, 2.0])
    width, d = 10, {"k": [1, 2]}
    return (f"{x:.2f} {x!r} {x=} {x = :.1f} {name!s:>{width}} {name:*^{width + 2}}", f"{d['k'][0]} {{}} {n:{'x' + name}}", f"{'nested ' + f'{x:{width}.{2}f}'}",
            f"{(lambda y: y * 2)(3)}", f"{a} {a.sum():.1f} {len(a)}", f"{name!a}" rf"\{x}", f"""{
            x + 1}""", "%s %d %5.2f %(x)s" % {"x": 1} if 0 else "%s %d %5.2f" % (name, 3, x), "%s" % (a,), "%r" % name, "%%" % (), b"%d" % 3,
            "{} {k:>5}".format(x, k=name), "%(x)s" % {"x": n}, "a" "b" f"{1}", str.format("{}", 1), f"{x!r:>10}", "%s" % [1] + "x")


def row_text_with_too_few(log):
    return "%s %s" % (said(log, 1),)


def row_text_of_the_wrong_kind(log):
    return "%d" % "x"


def row_wrong_format(log):
    x = "a"
    return f"{x:d}"


def row_remainders(log):
    a, n = np.arange(5), Noisy(log, "n")
    b = a % 3
    a %= 2
    n % 2, 2 % n, n.x % n[0]
    x, m = [5, 6, 7], 7
    x[m % 3] = m % 4
    x[-m % 2] %= 4
    class Text(str):
        def __mod__(self, other): return "mine", other
    class Right:
        def __rmod__(self, other): return "right", type(other), other
    t = "s"
    t %= ()
    return b, a, x, -7 % 3, 7.5 % 2, Text("x") % 1, 3 % Right(), t, 10 % m % 2


def row_remainder_by_zero(log):
    m = 0
    return 3 % m


def row_remainder_of_text_and_object(log):
    class Right:
        def __rmod__(self, other): return "never"
        def __str__(self): return "right"
    text = "%s!"
    return text % Right()


def row_divisions_by_zero(log):
    a = [1, 0]
    return a[0] / a[1]


def row_numbers(log):
    return 7 // 2, -7 // 2, 2 ** -1, 2 ** 100, 1e300 * 1e10, 0.1 + 0.2, 5 & 3 | 8 ^ 1, ~5, 1 << 10, 1j * 1j, +True, -True, 1_000, 0xFF, divmod(-7, 2), round(2.5), abs(-3), pow(2, 5, 7)


def row_await_free_constants(log):
    return ..., None, True, __debug__, NotImplemented, "", b"", (), [], {}, -0.0, float("nan") != float("nan")


def row_match_statements(log):
    import dataclasses
    @dataclasses.dataclass
    class P:
        x: int
        y: int
    class K:
        c = 7
    def kind(v):
        match v:
            case 0 | 1: return "small"
            case -1: return "minus"
            case 2.5 | 1 + 2j: return "number"
            case "a" "b": return "text"
            case None | True: return "single"
            case K.c: return "value"
            case []: return "empty"
            case [x]: return "one", x
            case [x, [y, *_], z] if said(log, x) > 0: return "nested", x, y, z
            case (a, b, *rest) if rest: return "rest", a, b, rest
            case [*_, "last"]: return "ends"
            case {"k": k, "m": {"n": n}, **others}: return "mapping", k, n, others
            case {"k": int(k) | float(k)}: return "int k", k
            case {}: return "any mapping"
            case P(0, y=yy): return "at zero", yy
            case P(x=xx) as whole if (total := xx + whole.y) > 5: return "big", total
            case P(): return "point"
            case str() | bytes() as s: return "str", s
            case float(f): return "float", f
            case int(): return "int"
            case _: return "other"
    values = [0, -1, 2.5, 1 + 2j, "ab", None, True, 7, [], [1], [1, [2, 3], 4], [-1, [2], 4], (1, 2, 3), [5, "last"], {"k": 1, "m": {"n": 2}, "o": 3},
              {"k": 1.5}, {"z": 1}, P(0, 4), P(3, 4), P(1, 1), "s", b"b", 9.5, 12, {1}, iter([])]
    return [kind(v) for v in values], log


def row_match_stores(log):
    t, x = [0, 0], {"a": [1, 2]}
    match x:
        case {"a": [p, q]}:
            t[0], t[1] = p, q
            t[0] += q
    match (subject := said(log, (1, 2))):
        case (a, 3): pass
        case (a, b): pass
    match t, subject:
        case [first, *_], (_, 2): log.append(first)
    return t, a, b, subject


def row_match_of_a_class_without_arguments(log):
    class A: pass
    match A():
        case A(1): pass


def row_assertion(log):
    x = 1
    assert x, said(log, "never evaluated")
    assert x == 2, f"x is {x}"


def row_assertion_without_words(log):
    assert []


def row_many_lines(log):
    x = [1, 2, 3]
    y = (
        x[0]
        + x[1] *
        max(
            x[2],
            *x,
        )
    )
    z = ("a"
         "b"
         .upper()
         .lower()
         .replace("a",
                  "c"))
    return y, z, {
        "k": y,
        **{"m":
           z},
    }


def row_error_in_many_lines(log):
    x = [1, 2, 3]
    return (
        x[0]
        + x[1] *
        max(
            x[2],
            x[7],
        )
    )


def row_error_in_a_chain_of_methods(log):
    return ("a"
            .upper()
            .lower()
            .index(
                "z"))


def row_error_in_a_chain_of_attributes(log):
    class A: pass
    a = A()
    a.b = A()
    return (a
            .b
            .c
            .d)


def row_error_in_a_store_of_many_lines(log):
    x = {}
    x["a"] = [
        1,
    ]
    x[
        "a"
    ][
        7
    ] = (
        2
    )


def row_error_in_an_augmented_store_of_many_lines(log):
    x = [[1], 2]
    x[
        0
    ] += (
        5
    )


def row_error_in_a_decorator(log):
    @len
    def f(): pass


def row_error_in_a_default(log):
    def f(a=1,
          b=1 / 0): pass


def row_error_in_a_class_body(log):
    class A:
        x = 1
        y = x.z


def row_error_in_a_text(log):
    x = {}
    return f"{len(x)} {x['k']}"


def row_error_in_a_lambda(log):
    f = lambda x: [x, 1 / x]
    return f(0)


def row_error_in_a_function_called_in_an_expression(log):
    def f(x):
        return x.y
    a = [1]
    a[0] = a[0] + f(
        2)


def row_overflow(log):
    return 10.0 ** 400


def row_warning_of_numpy(log):
    import warnings
    x = np.zeros(2)
    m = np.zeros(2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = x / m
        z = x % m
        x[0] = np.log(-1.0)
    return [(w.filename == __file__, w.lineno, str(w.message)) for w in seen]
