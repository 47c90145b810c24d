# ruff: noqa: E501
"""What expressions and statements look like, as templates: what stands in `<>` is filled in by `Writer`.

`<number>`, `<condition>`, `<integer>` and `<vector>` (an array of one axis and the program's size) are expressions; `<index>`
is an integer that a vector has an element for, `<bound>` one between 0 and the size, `<name>` a vector's name. `<key>`
selects some elements of an axis, at run time; within one template it is always the same, and so is the length of `<part>`
(what it selects of a vector, a row or a column), of `<place>` (the same, to be written) and of `<over>` (an
expression of that length).
"""

from __future__ import annotations

# Integers of which one range follows from a loop, `i`, by the part of 0 to n - 1 that it lies in.
BOUNDS = ["0", "1", "2", "n", "n - 1", "n // 2", "c % n"]
BOUNDS_OF = {
    "upto n": ["i", "i", "i", "i"],
    "below n": ["i + 1", "i + 1", "n - i", "min(i + 2, n)", "max(i - 1, 0)", "n - 1 - i"],
    "from 1": ["i - 1"],
}
INDICES = ["0", "-1", "n - 1", "c % n", "n // 2", "p[1]"]
INDICES_OF = {
    "from either end": ["i", "i", "i", "i", "i", "i"],
    "below n": [
        "n - 1 - i",
        "-1 - i",
        "(i + 2) % n",
        "p[i]",
        "i // 2",
        "i - 1",
        "min(i + 1, n - 1)",
        "max(i - 1, 0)",
        "(i + c) % n",
        "abs(i - 2)",
    ],
    "below n - 1": ["i + 1", "i + 1"],
}
INTEGERS = [
    "c + 1",
    "c * 2 % 7",
    "len(x)",
    "c // 2",
    "3",
    "min(c, 4)",
    "max(c, 2)",
    "abs(c - 3)",
    "c % 3",
    "u.size - 2",
    "A.shape[0] - c % 3",
    "int(<number> * 2)",
    "int(<condition>)",
    "c + (<condition>)",
    "(c if <condition> else 2)",
    "len(p)",
]
INTEGERS_OF = [
    "i + c % 2",
    "c % 4 + i",
    "len(x[:i])",
    "min(i, c)",
    "(i * 3 + 1) % 5",
    "p[i % n]",
    "divmod(i, 3)[1]",
    "i ** 2 % 6",
    "-i % 4",
    "(c ^ i) & 7",
]

KEYS = [
    ":<bound>", ":<bound>", "<bound>:", "<bound>:", "<bound>:<bound>", "<bound>:<bound>", "<bound>:n - 1", "-<bound>:", "<bound>:-1", ":<bound>:2", "<bound>::2", "<bound>::-1",
    "max(<bound> - 1, 0):n - 1", "1:", ":-1", ":", "::-1", "<bound>:<bound> + 2",
]  # fmt: skip

PLACES = [
    "<name>[<key>]",
    "<name>[<key>]",
    "<name>[<key>]",
    "A[<index>, <key>]",
    "A[<key>, <index>]",
    "A[<index>][<key>]",
]
PARTS = [*PLACES, *PLACES, "(<vector>)[<key>]"]
OVER = [
    "0.5 * (<over> + <over>)", "<over> * <number>", "np.sin(<over>)", "np.tanh(<over> - <number>)", "<over> * <part>", "<part> / (2.0 + np.abs(<part>))", "(<over>)[::-1]",
    "np.maximum(<over>, <number>)", "np.where(<part> > <number>, <over>, 0.25)", "np.cumsum(<part>) * 0.3", "-<over>", "<part> ** 2", "np.minimum(<over>, <part>)", "<part>.copy()",
]  # fmt: skip

ROWS = ["A[<index>]", "A[:, <index>]", "A[<index>, :]"]
VECTORS = [
    "x * 0.5",
    "np.sin(u)",
    "u + v",
    "A @ x * 0.2",
    "(x - u)",
    "np.where(u > 0.3, u, x)",
    "np.abs(v)",
    "x[p]",
    "np.maximum(u, 0.25)",
    "A.sum(axis=0) * 0.2",
    "u[::-1]",
]

LEAVES = [
    "s", "t", "a", "s", "t", "0.5", "0.25", "1", "0.1 * c", "A[<index>, <index>]", "A[<index>, <index>]", "np.dot(<part>, <part>)", "<part> @ <part>", "np.sum(<part>)", "np.sum(<part>)",
    "0.1 * len(x[<key>])", "A[<index>][<index>]", "np.max(<vector>)", "np.mean(u)", "(<part> ** 2).sum()", "sum(<vector>)", "np.linalg.norm(x)", "np.sum(<part>, initial=0.1)",
    "0.1 * <part>.size", "0.1 * (<index>)", "<name>[<index>]", "<name>[<index>]", "<name>[<index>]", "<name>[<index>]", "<name>[<index>]", "<name>[<index>]",
]  # fmt: skip
NUMBERS = [
    "0.5 * (<number> + <number>)", "(<number> - <number>)", "<number> * <number>", "np.sin(<number>)", "np.tanh(<number> + <number>)", "abs(<number>)", "max(<number>, <number>)",
    "min(<number>, <number>, 0.5)", "np.maximum(<number>, <number>)", "<number> / (1.5 + abs(<number>))", "(<number> if <condition> else <number>)", "np.sqrt(1.0 + (<number>) ** 2)",
    "np.exp(-abs(<number>))", "-<number>", "math.cos(<number>)", "(<number>) ** 2", "float(<number>)", "np.float64(<number>)", "(<number> or <number>)", "(<number> and <number>)",
    "pow(<number>, 2)", "np.clip(<number>, -0.5, 0.5)", "sum([<number>, <number>])", "np.sum(<over>)", "<number> * <number>", "<number> + 0.5 * <number>",
]  # fmt: skip

CONDITIONS = [
    "<condition> and <condition>",
    "(<condition> or <condition>)",
    "not (<condition>)",
    "(<condition>) != (<condition>)",
]
COMPARED = ["0.3", "t", "0.0", "-0.25", "a"]
TESTS = [
    "<number> > <compared>", "<number> < <compared>", "-0.6 < <number> < 0.6", "<compared> <= <number> < 0.8", "<number> > <compared>", "<number> >= <number>", "c % 2 == 0", "c > 2", "c < 3",
    "np.sum(x) > <compared>", "abs(<number>) > 0.2", "np.any(u > 0.4)", "np.all(x < 0.9)", "c in (1, 3)", "bool(c % 2)", "len(x) > c", "c", "<number>", "np.abs(<part>).sum() < 1.0",
]  # fmt: skip
TESTS_OF = [
    "i % 2 == 0",
    "i > 2",
    "1 <= i <= 3",
    "i != 2",
    "i == n - 1",
    "i < c",
    "i == c % n",
    "i",
    "not i",
    "0 < i < n - 1",
    "i in (1, 2)",
    "p[i % n] > i",
    "i > 0 and x[i % n] > 0.1",
]

STATEMENTS = {
    "element": [f"<name>[<index>] {rest}" for rest in ("= <number>", "+= <number>", "-= 0.5 * <number>", "*= <number>")]
    + [f"A[<index>, <index>] {rest}" for rest in ("= <number>", "+= <number>", "*= <number>")],
    "window": [f"<place> {rest}" for rest in ("= <over>", "+= <over>", "-= 0.3 * <over>", "*= <over>", "= <number>", "+= <number>", "*= <number>", "/= 1.5 + np.abs(<over>)", "**= 2", "= <over>", "+= <number> * <part>")],
    "matrix": [
        "A[<key>, <key>] *= <number>", "A[<key>, <key>] += 0.2 * np.outer(<part>, <part>)", "A[<key>] *= <number>", "A[<key>, <key>] = 0.5 * A[<key>, <key>].T",
        "<place> = A[<key>, <key>] @ <part> * 0.3", "A[<key>, :<bound>] -= 0.1 * <number>", "A[:] = 0.5 * (A + A.T)", "A[<index>] = <vector>", "A[:, <index>] = <vector>",
        "A[<key>, <key>] -= 0.1 * A[<key>, <key>] * <part>",
    ],
    "number": [
        "s = <number>", "t = <number>", "s += <number>", "t += <number>", "s = 0.5 * s + <number>", "t = 0.5 * t - <number>", "s, t = <number>, <number>", "s *= <number>", "t -= 0.5 * <number>",
        "s = s if <condition> else <number>", "s, t = t, s", "t = 0", "s = 1.0", "t = t * <number>",
    ],
    "array": [
        "u = 0.5 * u + <vector>", "v = 0.5 * v - <vector>", "u = (<vector>) * 1.0", "u, v = v, u", "v = v.copy()", "u = np.sin(<vector>)", "u += <vector>", "v *= <number>", "u = np.zeros(n)",
        "v = np.concatenate((v[1:], v[:1]))", "u = np.where(<condition>, <vector>, u)", "v = <vector> if <condition> else v", "u = np.zeros_like(x) + <number>", "v = u", "u = np.roll(u, 1)", "v[:] = <vector>",
    ],
    "view": [
        "w = <place>; w *= <number>", "w = <place>; w[:] = <over>", "w = <place>; w += 0.5 * <over>", "w = <place>; s += 0.3 * np.sum(w)", "w = <place>; w[...] = <number>",
        "w = <place>; w -= w[::-1].copy()", "w = <place>; t = 0.1 * len(w) + np.sum(w ** 2)", "r = A[<index>]; r[<index>] = <number>", "r = A[<index>]; r *= <number>", "r = A[<index>]; s = r @ <vector>",
        "r = A[<index>]; r[<key>] += <number>",
    ],
    "count": ["c += 1", "c += 1", "c = <integer>", "c += <integer>", "c = (<integer> + c) % 6", "c -= 1", "c = c // 2", "c = max(c, <integer>)", "c = min(<integer>, n)"],
    "swap": ["x[<index>], u[<index>] = u[<index>], x[<index>]", "v[<index>], v[<index>] = v[<index>], v[<index>]", "A[[<index>, 0]] = A[[0, <index>]]", "x[<index>], s = s, u[<index>]"],
    "scatter": ["<name>[p] += <vector>", "<name>[int(abs(<number>) * 3) % n] += <number>", "np.add.at(<name>, p, <vector>)", "<name>[u > <number>] *= 0.5", "<name>[np.argmax(<vector>)] = <number>"],
}  # fmt: skip
"""By kind. Lines are separated by semicolons; `w` and `r` are fresh names."""

WEIGHTS = {
    "element": 6,
    "window": 6,
    "matrix": 2,
    "number": 5,
    "array": 3,
    "view": 2,
    "count": 2,
    "swap": 1,
    "scatter": 1,
}

RANGES = {
    "n": (0, -1),
    "len(u)": (0, -1),
    "A.shape[1]": (0, -1),
    "1, n": (1, -1),
    "1, n - 1": (1, -2),
    "n - 1, -1, -1": (0, -1),
    "0, n, 2": (0, -1),
    "n - 2, 0, -2": (1, -2),
    "x.size": (0, -1),
    "c % n": (0, -2),
    "n - 1": (0, -2),
    "c % 3, n": (0, -1),
}
"""Arguments of `range`, and what the index lies between; negative ends are counted from the size."""

RANGES_OF = {
    "i": "below",
    "i + 1": "upto",
    "i, n": "from",
    "i + 1, n": "after",
    "i - 1, -1, -1": "below",
    "max(i - 1, 0), min(i + 2, n)": "any",
    "n - i": "mirrored",
    "i, -1, -1": "upto",
    "0, i, 2": "below",
}
"""Arguments of `range` that an outer index is in, and where the new index lies beside it."""

# Heads over the elements of arrays; `i` is an index between 0 and n - 1, `e` and `f` are elements, `r` is a row.
HEADS = [
    "for e in <vector>:", "for e in <part>:", "for e in reversed(<vector>):", "for i, e in enumerate(<vector>):", "for i, e in enumerate(<vector>):", "for i, e in enumerate(<part>):",
    "for e, f in zip(<vector>, <vector>):", "for e, f in zip(<part>, <part>):", "for i, (e, f) in enumerate(zip(<vector>, <vector>)):", "for i, e in zip(range(n), <vector>):", "for i in p:",
    "for i in p[<key>]:", "for i, e in zip(p, <vector>):", "for e in [0.5, t, <number>, 0.25, a, 0.125]:", "for i, e in enumerate((0.5, 0.25, s, 0.75, 0.1)[:n]):",
    "for i, j in zip(range(n), reversed(range(n))):", "for r in A:", "for i, r in enumerate(A):", "for r in A.T:", "for r, i in zip(A, range(n)):", "for r in A[<key>]:",
]  # fmt: skip

HELPERS = (
    "for k in range(m):\n    if y[k] > q:\n        return y[k] * 0.5\n    q = 0.5 * (q + y[k])\nreturn q",
    "total = 0.0\nfor e in y[:m]:\n    total += e * q\n    if abs(total) > 1.5:\n        break\nreturn total",
    "if m > 2 and q > 0.1:\n    return np.dot(y[:m], y[:m]) * 0.2\nelif q < 0:\n    return q * q\nreturn np.sum(y) * 0.2",
    "k = 0\nwhile k < len(y) and abs(q) < 1.0:\n    q += 0.3 * y[k]\n    k += 1\nreturn q + 0.1 * k",
    "best = y[0]\nfor k in range(1, len(y)):\n    best = y[k] if y[k] > best else best\nreturn 0.5 * (best + q) + 0.01 * m",
)
"""Bodies of functions of a vector `y`, a number `q` and an integer `m`."""
