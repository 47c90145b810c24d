"""Random loops: the source of a function of two matrices, a vector and a number, made of what is compiled and more."""

from __future__ import annotations

import random
from collections.abc import Callable

NUMBERS = ("s", "r", "a")
MATRICES = ("A", "B")
HELPERS = """
import math

import numpy as np


WEIGHTS = np.array([0.5, -0.3, 1.0, 0.2])


def bent(x_):
    y_ = x_ * x_
    return y_ * 0.5 + 0.1


def weighed(u):
    most = max(u)
    return np.array([u_ * w - most for u_, w in zip(u, WEIGHTS)])


def clipped(x, most):
    found = x
    if x > most:
        found = most + bent(x - most) * 0.1
    return found


def shifted(u):
    return np.roll(u, 2)


def smooth(u, k=0.2):
    for j in range(1, len(u) - 1):
        u[j] += k * (u[j - 1] - bent(u[j + 1]))


def sided(x, y):
    if x > y:
        if y > 0.0:
            return x * 0.5
        x = x - y
    elif -0.5 < x < 0.5:
        return y
    return x * y * 0.1


def shrunk(u, w):
    u = u * 0.5
    w = u
    u[1] = 0.3
    return w


def turned(u, w):
    if u[0] > 0.0:
        u = u * 0.3
    return w, u + w


def sunk(u):
    if u[0] > 0.0:
        u = u * 0.3
    return u


def twins(u):
    t = u * 0.5
    return t, t


def total(x):
    return sum([total(one) for one in x]) if type(x) is tuple else np.sum(x)


def first_above(u, x):
    for i in range(len(u)):
        for y in (0.1, 0.7):
            if u[i] > x + y:
                return u[i] * y
        if x > 5.0:
            x = 2.0
    return x * 0.1


def chosen(u, w):
    if u[0] > 0.0:
        w = u
    return w


def starred(x, *others, scale=0.5, **keywords):
    for one in others:
        x = x * one if isinstance(one, float) else x + np.size(one)
    return x * scale


def passed(x, *args, **keywords):
    try:
        assert np.isscalar(x), "a number"
        return starred(x, *args, **keywords)
    except AssertionError:
        return 0.1


class State:
    rate = 0.3

    def __init__(self, u, w, s):
        self.u, self.w, self.s, self.count = u, w, s, 0

    def step(self, x):
        self.w[1:-1] = self.bend(self.u)[1:-1] * x
        self.s += self.w[0] * 0.1
        self.count += 1

    def bend(self, u):
        return u * self.rate + self.s * 0.1

    def renew(self):
        self.u = self.u * 0.5 + self.bend(self.w)
        if self.s > 0.3:
            self.s = self.rate
            return self.u
        return self.u * self.s

    @property
    def middle(self):
        return self.u[1] * 0.5 + self.s

    def grown(self, x=0.1):
        self.s = self.s * 0.5 + x
        return self.s


def mixed(u, w):
    t = u * w
    half = np.empty_like(u)
    half[:] = t * 0.5
    return half + u * bent(0.3)


"""


class Generator:
    """Makes one function after the other; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.depth = 0
        self.indices: list[str] = []
        self.rebinds = self.writes = self.objects = self.calls = self.builds = False
        self.lists: list[str] = []

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def source(self) -> str:
        """The function `f(A, B, v, a)`."""
        lines = ["def f(A, B, v, a):", "    n = A.shape[0]", "    s = 0.0", "    r = a * 0.5"]
        new = self.pick("np.zeros(A.shape[1])", "np.zeros(A.shape[1], dtype=B.dtype)", "v * 0.5", "v.copy()")
        lines.append(f"    w = {new}")
        places = self.pick("", "", ", np.int32", ", np.int8", ", np.int16")
        lines.append("    c, h1, h2 = 1, [], [a]")
        lines.append(
            f"    e1, e2 = [0, 2, 1, 3, {self.pick('-1', '3')}], [0.5, {self.pick('-1.5', '2')}, 1.0, 2.0, -0.5]"
        )
        lines.append(f"    p, q = np.array([0, 3, 1]{places}), np.array([2, -1, 2]{places})")
        self.objects = self.random.random() < 0.4
        if self.objects:
            arrays = ("v", "w", "v * 1.0", "w * 0.5", "A[1]")
            lines.append(f"    o = State({self.pick(*arrays)}, {self.pick(*arrays)}, {self.pick('r', '0.1', 's')})")
            lines.append(f"    z = {self.pick('o', 'State(o.w, o.u, a)', f'State({self.pick(*arrays)}, v * a, 0.2)')}")
            lines.append("    d = " + self.pick("vars(z)", '{"u": v * 0.5, "s": a}'))
            lines += [
                "    h = lambda x, m=0.5: x * m + a",
                f"    l = [o, z, State(w * 0.1, {self.pick('v', 'w')}, 0.3)]",
            ]
        lines.append(f"    x, y = {self.pick('v', 'w', 'A[0]', 'v * a')}, {self.pick('w', 'B[1]', 'w + 0.1')}")
        self.rebinds, self.writes = self.random.random() < 0.6, self.random.random() < 0.3
        self.lists = [one for one in ("h1", "h2") if self.random.random() < 0.3]
        self.calls, self.builds = self.random.random() < 0.4, self.random.random() < 0.4
        for _ in range(self.random.randint(1, 2)):
            lines += self.loop(1)
        lines.append(self.pick("    y[0] = s", "    x[1] = a * 2.0", "    c = c + 1"))
        lines.append("    s = s + sum([k * total(x) for k, x in enumerate(h1 + h2)])")
        result = "np.sum(A * A) + 0.5 * np.sum(B) + np.sum(v * w) + s * 0.3 + r * a + c + np.sum(x * y)"
        if self.objects:
            result += " + np.sum(o.u * z.u) + np.sum(z.w) * o.s + o.count + d['s'] * np.sum(d['u'])"
        lines.append(f"    return {result}")
        return HELPERS + "\n".join(lines) + "\n"

    def loop(self, depth: int) -> list[str]:
        pad = "    " * depth
        if self.random.random() < 0.12:
            name = f"m{depth}"
            head = [
                f"{pad}{name} = 0",
                f"{pad}while {name} < {self.random.randint(1, 4)}{self.pick('', ' and s < 50.0')}:",
            ]
            body = self.body(depth + 1)
            return [*head, f"{pad}    {name} += 1", *body]
        name = self.pick("i", "j", "k") + str(depth)
        if self.random.random() < 0.25:
            return self.loop_over(name, depth)
        bounds = self.pick("n", "1, n", "n - 1", "n - 2, -1, -1", "0, n, 2", "3", f"{self.index_bound()}")
        self.indices.append(name)
        body = self.body(depth + 1)
        self.indices.pop()
        if depth == 1 and self.random.random() < 0.2:
            body.insert(self.random.choice([0, len(body)]), f"{pad}    {self.pick('v, w = w, v', 'v, w, x = x, v, w')}")
        made = [f"{pad}for {name} in range({bounds}):", *body]
        if depth > 1 and self.random.random() < 0.2:
            made += [f"{pad}else:", *self.body(depth + 1)]
        return made

    def loop_over(self, name: str, depth: int) -> list[str]:
        """A loop over something else than a range."""
        pad, array = "    " * depth, self.pick("v", "w", "A[0]", "B[:, 1]", "x", self.vector())
        target, over = self.random.choice([
            ("e", array), (name, "reversed(range(n))"), (name, "reversed(range(1, n, 2))"),
            (f"{name}, e", f"enumerate({array})"), (f"e, {name}", f"zip({array}, range(3))"),
            (f"{name}, (e, q)", f"enumerate(zip({array}, A))"),
            ("q", "A"), (f"{name}, q", "enumerate(B)"), ("e", f"reversed({array})"), ("e", "np.linspace(0.0, 1.0, 4)"),
            (name, "np.arange(n)"), (f"e, {name}", "zip(np.linspace(0.0, 1.0, 9), reversed(range(n)))"),
            (f"{name}, e", f"enumerate({array}, start=1)"),
        ])  # fmt: skip
        if name in target:
            self.indices.append(name)
        body = (
            [f"{pad}    {self.pick('s', 'r')} += e * 0.1"]
            if "e" in target
            else [f"{pad}    q *= 0.9", f"{pad}    s = q[1]"]
        )
        body += self.body(depth + 1)
        if name in target:
            self.indices.pop()
        return [f"{pad}for {target} in {over}:", *body]

    def index_bound(self) -> str:
        return self.pick(*self.indices, "n") if self.indices else "n"

    def body(self, depth: int) -> list[str]:
        found: list[str] = []
        for _ in range(self.random.randint(1, 4)):
            found += self.statement(depth)
        return found

    def statement(self, depth: int) -> list[str]:
        pad, chance = "    " * depth, self.random.random()
        if self.objects and self.random.random() < 0.2:
            return [pad + self.of_objects()]
        if self.calls and self.random.random() < 0.2:
            return [pad + self.computed_by_python() if self.random.random() < 0.5 else pad + self.of_masks_and_axes()]
        if self.builds and self.random.random() < 0.2:
            return [pad + self.of_lists()]
        if self.rebinds and self.random.random() < 0.25:
            return [pad + self.rebinding()]
        if self.lists and self.random.random() < 0.2:
            return [pad + self.appended()]
        if chance < 0.12 and depth < 4:
            return self.loop(depth)
        if chance < 0.22 and depth < 5:
            found = [f"{pad}if {self.condition()}:", *self.body(depth + 1)]
            if self.random.random() < 0.4:
                found += [f"{pad}else:", *self.body(depth + 1)]
            return found
        if chance < 0.26:
            return [f"{pad}if {self.condition()}:", f"{pad}    {self.pick('break', 'continue', self.not_compiled())}"]
        if chance < 0.45:
            found = self.number()
            if self.random.random() < 0.15:
                found = f"{found} if {self.condition()} else {self.number()}"
            return [f"{pad}{self.element()} {self.pick('=', '+=', '-=', '*=')} {found}"]
        if chance < 0.65:
            return [f"{pad}{self.row()} {self.pick('=', '+=', '-=', '*=')} {self.vector()}"]
        if chance < 0.67:
            return [f"{pad}{self.at_several_places()}"]
        if chance < 0.69:
            return [f"{pad}{self.row()} {self.pick('=', '+=', '-=')} {self.vector_of_matrices()}"]
        if chance < 0.72:
            inner = self.pick("1:-1", ":-2", "2:", "::2")
            return [f"{pad}{self.pick('v', 'w')}[{inner}] {self.pick('=', '+=')} {self.vector(inner)}"]
        if chance < 0.78:
            return [f"{pad}g = {self.vector()}", f"{pad}{self.row()} {self.pick('=', '+=')} g * 0.3"]
        if chance < 0.81:
            call = self.pick("smooth(v, 0.1)", "smooth(w, a)", "s = s + bent(r)", "mixed(v, w)", "r = clipped(r, 2.0)")
            if call.startswith("mixed"):
                call = f"{self.row()} = {call}"
            return [f"{pad}{call}"]
        if chance < 0.82:
            tried = [f"{pad}try:", f"{pad}    {self.element()} = {self.number()}"]
            return [*tried, f"{pad}except {self.pick('IndexError', 'ValueError')}:", f"{pad}    s = s + 0.1"]
        if chance < 0.84:
            return [f"{pad}s, r = r, s * 0.5" if self.random.random() < 0.5 else f"{pad}c += 1"]
        if chance < 0.87:
            dot = f"np.dot({self.plain_row()}, {self.plain_row()}) * 0.1"
            value = self.pick(dot, f"np.sum({self.vector()}) * 0.1", self.number_of_arrays())
            return [f"{pad}{self.pick('s', 'r')} {self.pick('=', '+=')} {value}"]
        return [f"{pad}{self.pick('s', 'r')} {self.pick('=', '+=', '*=')} {self.number()}"]

    def appended(self) -> str:
        """A statement that appends to a list; there is one for each list."""
        name = self.lists.pop()
        if name == "h2" and self.random.random() < 0.3:
            return f"h2.append(h2[-1] * {self.number()})"
        return name + self.pick(
            f".append({self.number()})", f".append({self.vector()} * 0.1)", f".append(({self.pick('s', 'r', 'c')}, c))",
            f".append(({self.pick('v', 'w')}.copy(), {self.number()}))", ".append(A[1:] + 0.5)", ".append(x)",
            ".append(y)",
            f".append(({self.pick('x', 'y')}, {self.pick('x', 'y', 's')}))",
        )  # fmt: skip

    def not_compiled(self) -> str:
        """A statement that Python runs."""
        return self.pick(
            "return s * np.sum(v)", "raise ValueError(str(float(s)))", "t = [s, r]; s = s + 0.5 * t[-1]",
            "print(end='')",
            "s = s + len(f'{c}') * r", "v[0] = sum([s, r])", "x = v * len([c])", "break; c = [1]",
        )  # fmt: skip

    def rebinding(self) -> str:
        """A statement that binds an array to a name which has one."""
        name = self.pick("x", "y")
        if self.writes and self.random.random() < 0.4:
            return self.pick(f"{name}[{self.index()}] = {self.number()}", f"{name} *= 0.5", f"smooth({name})")
        return self.pick(
            f"{name} = {name} + 0.1 * ({self.vector()})", f"{name} = {self.vector()}",
            f"{name} = {self.number()} * {name}",
            "x, y = y, x", "x, y = x + 0.1 * y, y * x", f"{name} = mixed(x, y)", "x = y", "y = x", "y = shrunk(y, x)",
            f"{name} = np.zeros(n{self.pick('', ', dtype=v.dtype')})", "x, y = turned(x, y)",
            "x = sunk(y)", "y = sunk(x)", "x, y = twins(x)", f"{name} = chosen(x, y)",
        )  # fmt: skip

    def computed_by_python(self) -> str:
        """A statement with a call that is not compiled, and that Python computes."""
        name, row, vector = self.pick("v", "w"), self.row(), self.vector()
        system = f"{self.matrix()} * 0.2 + 5.0 * np.eye(n)"
        return self.pick(
            f"{row} = np.sort({vector})", f"{row} {self.pick('=', '+=')} np.linalg.solve({system}, {vector}) * 0.5",
            f"{name}[np.argsort({name})] {self.pick('=', '*=')} {self.number()}",
            f"{self.pick('A', 'B')}[:] = np.linalg.inv({system}) + 0.1 * {self.matrix()}",
            f"s += 0.1 * np.einsum('ij,j->', {self.matrix()}, {self.plain_row()})",
            f"g = np.sort({self.pick('A', 'B')}, axis={self.pick('0', '1')}); {row} = g[{self.index()}] * 0.5",
            f"{row} = np.linalg.norm({self.matrix()}, axis={self.pick('0', '1')}) * 0.2",
            f"s = s * 0.5 + np.median({vector})", f"{row} -= np.take({vector}, {self.pick('p', 'q')}[c % 3]) * 0.1",
            f"{row} = np.interp({vector}, np.arange(n) * 1.0, {name}) * 0.5",
            f"g = np.unique(np.round({vector})); r = r * 0.5 + g[-1] + len(g) * 0.1",
            f"{self.pick('A', 'B')}[np.ix_({self.pick('p', 'q')}, {self.pick('p', 'q')})] = {self.number()}",
        )  # fmt: skip

    def of_lists(self) -> str:
        """A statement with a comprehension, a fold, or an array of nested lists."""
        one, over = self.random.choice([
            (f"{self.pick('v', 'w')}[i_] * {self.number()}", f"i_ in range({self.pick('n', '1, n')})"),
            (f"u_ * {self.number()} + {self.pick('r', '0.1')}", f"u_ in {self.plain_row()}"),
            (f"bent(u_) - t * {self.number()}", f"u_, t in zip({self.plain_row()}, {self.vector()})"),
            (f"u_[{self.index()}] * {self.number()}", f"u_ in {self.pick(*MATRICES)}"),
        ])  # fmt: skip
        fold = self.pick("sum", "max", "min", "np.sum", "np.mean")
        listed = f"[{one} for {over}]"
        row, number = self.row(), self.number()
        return self.pick(
            f"s = s * 0.5 + {fold}({listed}) * 0.1",
            f"g = {listed}; h = g; r = r * 0.5 + {fold}(g) * h[{self.index()}] * 0.1",
            f"g = {listed}; m = max(g); s = s * 0.5 + sum([np.exp((u_ - m) * 0.1) for u_ in g])",
            f"c += {self.pick('any', 'all')}({one} > {number} for {over}) * 1",
            f"{row} = np.array([{number}, {self.element()}, {self.pick('1', 's')}, {self.pick('c', self.element())}])",
            f"{row} = np.array([{self.plain_row()}, {self.vector()}])[{self.pick('0', '1')}] * 0.5",
            f"A[:2] -= 0.1 * (np.array([[{number}, 0], [1, s]]) @ B[{self.pick('1:3', ':2')}])",
            f"{row} = np.array([[1, 0, 0, c % 3], [0, 2, 0, 1]])[{self.pick('0', '1')}] @ {self.matrix()} * 0.2",
            f"{row} = np.array([[0, 1], [c % 3, 0], [1, 1], [0, 2]]) @ A[1:3, {self.index()}] * 0.2",
            f"{row} = weighed({self.plain_row()}) * 0.5",
            f"{row} += np.{self.pick(f'full(n, {number})', 'eye(n)[1]')}",
            f"{row} = {self.pick('v', 'w')}[[{self.index()}, 0, 2, 1]] * 0.5",
            f"g = [{self.index()}, 1]; s += 0.1 * np.sum({self.pick(*MATRICES)}[g])",
            f"g = ({self.index()}, 1); s += 0.1 * {self.pick(*MATRICES)}[g]",
            f"{row} = {self.vector()} {self.pick('*', '+', '-')} e2", f"s += 0.1 * np.dot(e2, {self.vector()})",
            f"{self.pick('v', 'w')}[e1] {self.pick('=', '+=', '*=')} {self.vector()}",
            f"{row} = {self.matrix()}[e1, {self.index()}] * 0.5", f"r = r * 0.5 + e2[{self.index()}] * v[e1[c % 3]]",
            f"for e in e2: s = s * 0.5 + e * {number}", f"e{self.pick('1', '2')}[1] = {self.pick('2', '0.5')}",
            f"s = s * 0.5 + passed({number}{self.pick('', ', s', ', *(a, v)', ', *e2', ', scale=0.1')})",
            f"s = s * 0.5 + 0.1 * sum({self.vector()}, {number}); {row} = np.copy({self.vector()})",
        )  # fmt: skip

    def of_masks_and_axes(self) -> str:
        """A statement with elements at a mask, positions, arrays that are joined, or axes of one element."""
        name, other, row, vector = self.pick("v", "w"), self.pick("v", "w"), self.row(), self.vector()
        matrix, axis = self.pick(*MATRICES), self.pick("0", "1")
        test = f"{self.vector()} {self.pick('>', '<=')} {self.number()}"
        return self.pick(
            f"m = {test}; {name}[m] {self.pick('=', '+=', '*=')} {other}[m] * 0.5", f"s += 0.1 * np.sum({row}[{test}])",
            f"m = {test}; {matrix}[{self.index()}][m] = {name}[m]", f"{matrix}[{test}] *= {self.number()}",
            f"g = np.{self.pick('nonzero', 'where')}({test})[0]; {name}[g] = {other}[g] * 0.5; c += len(g) % 2",
            f"g, h = np.nonzero({matrix} > {self.number()}); {matrix}[g, h] = {self.pick(*MATRICES)}[h, g] * 0.5",
            f"g = np.{self.pick('hstack', 'concatenate')}(({vector}, {name}[1:])); {row} = g[2:n + 2]",
            f"g = np.vstack(({name}, {matrix})); {row} = g[{self.index()}] * 0.9; s += 0.1 * np.sum(g)",
            f"{matrix}[:] = np.roll({self.pick(*MATRICES)}, {self.pick('1', '-2', 'c')}, axis={axis})",
            f"{matrix} {self.pick('-=', '*=')} 0.2 * np.{self.pick('triu', 'tril')}({self.pick(*MATRICES)}, 1)",
            f"{matrix} {self.pick('+=', '-=')} 0.1 * {name}[:, None] * ({vector})[None, :]",
            f"{matrix}[:] = 0.5 * {matrix} + 0.1 * {name}.reshape(-1, 1) * {other}.reshape(1, -1)",
            f"g = np.sum({matrix}, axis={axis}, keepdims=True); {matrix} -= g * 0.1",
            f"g = {matrix}[:, {self.pick('0:1', '1:2', '-1:')}]; g *= {self.number()}; {matrix}[:] += g * 0.1",
            f"g = {matrix}.reshape(-1); s += 0.1 * g[{self.index()}] * np.sum(g[3:])",
            f"{matrix}[1:, :] = {matrix}[:-1, :] * 0.9", f"{name}[1:3] = {other}[0:2] * 0.5",
        )  # fmt: skip

    def of_objects(self) -> str:
        """A statement that calls a method, or sets an attribute or an item."""
        one = self.pick("o", "o", "z")
        return self.pick(
            f"{one}.step({self.number()})", f"{one}.renew()", f"{self.row()} = {one}.renew()",
            f"{one}.s {self.pick('=', '+=', '*=')} {self.number()}", f"{one}.u = {one}.u + 0.1 * ({self.vector()})",
            f"{one}.u[{self.index()}] = {self.number()}", f"{one}.w {self.pick('*=', '+=')} {self.number()}",
            f"s = {one}.grown() + {self.number()}", f"s = {self.number()} + {one}.grown({self.number()})",
            f"d['s'] = d['s'] * 0.5 + {self.number()}", f"d['u'][{self.index()}] += {self.number()}",
            f"r = h({self.number()}) * 0.5 + h({self.number()}, m={one}.s)", "o.s, z.s = z.s, o.s",
            f"for b in l: b.s = b.s * 0.5 + {self.number()}", "for b in l: x, y = b.renew(), x * b.s",
            "for b in l: y = turned(y, b.u)[0]", f"for b in l: x, y = x * 0.5, x + {self.vector()}",
            f"for b, e in zip(l, {self.pick('l', 'reversed(l)')}): b.w[{self.index()}] -= e.middle * 0.1",
            "z.s = z.bend(z.u)[1]", f"d['u'] = {self.vector()}",
        )  # fmt: skip

    def condition(self) -> str:
        found = [f"{self.number()} > 0.1", f"{self.pick(*NUMBERS)} < {self.number()}", "c > 3"]
        if self.indices:
            found += [f"{self.pick(*self.indices)} > 1", f"{self.pick(*self.indices)} % 2 == 0"]
        if self.indices:
            name = self.pick(*self.indices)
            found.append(f"{name} < n - 1 and v[{name} + 1] > {self.number()}")
        found += [f"{self.number()} < {self.number()} <= {self.number()}"]
        one = self.random.choice(found)
        return f"{one} {self.pick('and', 'or')} {self.random.choice(found)}" if self.random.random() < 0.15 else one

    def index(self) -> str:
        if not self.indices or self.random.random() < 0.2:
            return self.pick("0", "1", "-1", "-2")
        if self.random.random() < 0.06:
            return f"{self.pick('p', 'q')}[{self.pick('0', '1', '-1')}]"
        name = self.pick(*self.indices)
        return self.pick(name, name, name, f"{name} - 1", f"{name} + 1", f"n - 1 - {name}", f"-{name} - 1")

    def element(self) -> str:
        if self.random.random() < 0.25:
            return f"{self.pick('v', 'w')}[{self.index()}]"
        return f"{self.pick(*MATRICES)}[{self.index()}, {self.index()}]"

    def row(self) -> str:
        name = self.pick(*MATRICES)
        return self.pick(f"{name}[{self.index()}, :]", f"{name}[{self.index()}]", self.pick("v", "w") + "[:]")

    def plain_row(self) -> str:
        return self.pick(self.row(), self.pick("v", "w"), f"{self.pick(*MATRICES)}[:, {self.index()}]")

    def vector(self, inner: str = "") -> str:
        def one() -> str:
            own = (*("xy" if self.rebinds else ""), *(("o.u", "z.w", "d['u']") if self.objects else ()))
            base = self.pick("v", "w", *own, f"A[{self.index()}]", f"B[{self.index()}, :]")
            if inner == "":
                return base
            return f"{base}[{inner}]" if inner == "::2" else f"{base}[{self.pick('1:-1', ':-2', '2:')}]"

        chance = self.random.random()
        if chance < 0.02:
            return f"({one()} * {self.number()}).astype(np.float{self.pick('32', '64')})"
        if chance < 0.25:
            return one()
        if chance < 0.3:
            return self.choice_of_elements(one)
        if chance < 0.6:
            return f"{one()} {self.pick('+', '-', '*')} {one()}"
        if chance < 0.75:
            return f"{one()} * {self.number()}"
        if chance < 0.85:
            return self.function_of_elements(one)
        if chance < 0.93:
            return f"{one()} / (2.0 + {one()} ** 2)"
        return f"({one()} + {one()}) * {one()} - {self.number()}"

    def function_of_elements(self, one: Callable[[], str]) -> str:
        name = self.pick("sin", "tanh", "cos", "arctan", "exp", "floor", "sign", "arctan2", "hypot", "power", "**")
        if name in ("arctan2", "hypot"):
            return f"np.{name}({one()}, {one()})"
        if name == "power":
            return f"np.power(np.abs({one()}) + 0.1, {self.pick('1.5', 'a', one())})"
        if name == "**":
            return f"{one()} ** {self.pick('2', '3', '2.0')}"
        return f"np.{name}({one()}{' * 0.2' if name == 'exp' else ''})"

    def at_several_places(self) -> str:
        """A store at an array of indices, or where a mask is true."""
        places, others = self.pick("p", "q"), self.pick("p", "q")
        base = self.pick("v", "w", f"A[{self.index()}]", f"B[:, {self.index()}]")
        test = f"({base} {self.pick('<', '>=')} {self.pick('0.0', self.number(), 'v')})"
        return self.pick(
            f"{base}[{places}] {self.pick('=', '+=', '*=')} {self.pick('v', 'w', 'B[0]')}[{others}]",
            f"{self.pick('A', 'B')}[{places}] {self.pick('=', '+=')} {self.pick('A', 'B')}[{others}] * 0.5",
            f"np.add.at({self.pick('v', 'w')}, {places}, {self.pick('A', 'B')}[{others}, {self.index()}])",
            f"{base}[{test}] {self.pick('=', '*=', '+=')} {self.number()}",
            f"{base}[:] = {self.pick('np.cumsum', 'shifted')}({self.vector()})",
            f"{base}[1:] -= 0.1 * np.diff({self.vector()})",
            f"v[np.argmax({self.vector()})] += {self.number()}",
        )

    def matrix(self) -> str:
        """A matrix of `n` by `n` elements."""
        name = self.pick(*MATRICES)
        return self.pick(
            name, name, f"{name}.T", f"({name} * 0.5)", f"(A + B * {self.number()})", "(A * v[:, None])",
            "(A - B).T", "np.copy(A.T)", "A.T.copy()",
        )  # fmt: skip

    def vector_of_matrices(self) -> str:
        """A whole vector that is computed from matrices."""
        reduction = f"np.{self.pick('sum', 'mean', 'max', 'min')}({self.matrix()}, axis={self.pick('0', '1', '-1')})"
        product = self.pick(
            f"{self.matrix()} @ {self.pick('v', 'w', '(v * w)')}", f"np.dot({self.matrix()}, {self.pick('v', 'w')})",
            f"v @ {self.matrix()}", f"({self.matrix()} @ {self.matrix()})[{self.index()}]",
            f"np.outer(v, w)[{self.index()}]", f"np.sum(v[:, None] * w[None, :], axis={self.pick('0', '1')})",
        )  # fmt: skip
        return f"0.1 * ({self.pick(reduction, product)})"

    def number_of_arrays(self) -> str:
        array = self.pick(self.matrix(), self.vector(), "A[1:]")
        return f"0.1 * np.{self.pick('sum', 'mean', 'max', 'min')}({array})"

    def choice_of_elements(self, one: Callable[[], str]) -> str:
        test = f"{one()} {self.pick('>', '<=')} {self.pick(one(), self.number())}"
        if self.random.random() < 0.2:
            test = f"({test}) {self.pick('&', '|')} ({one()} > 0.0)"
        return self.pick(
            f"np.where({test}, {one()}, {self.pick(one(), '0.0', self.number())})",
            f"np.{self.pick('maximum', 'minimum')}({one()}, {self.pick(one(), '0.0', self.number())})",
            f"np.clip({one()}, -0.4, {self.pick('0.6', 'abs(a)', 'None')})",
            f"{one()} * ({test})",
        )

    def function_of_number(self) -> str:
        name = self.pick(
            "np.sin", "math.sin", "math.exp", "np.tanh", "math.atan", "math.atan2", "max", "min", "int", "**",
            "np.float32", "float",
        )  # fmt: skip
        if name in ("math.atan2", "max", "min"):
            return f"{name}({self.element()}, {self.element()})"
        if name == "int":
            return f"int({self.element()}) * 0.3"
        if name == "**":
            return f"{self.element()} ** {self.pick('2', '3')}"
        if name == "math.exp":
            return f"math.exp(-abs({self.element()}))"
        return f"{name}({self.element()})"

    def number(self) -> str:
        chance = self.random.random()
        if chance < 0.25:
            place = f"{self.pick('p', 'q')}[1]"
            return self.pick("0.5", "-0.3", "1.1", "0.25", place, f"({place} {self.pick('+', '*', '-')} 2)")
        if chance < 0.46:
            return self.pick(*NUMBERS, *(("o.s", "z.s", "d['s']") if self.objects else ()))
        if chance < 0.5:
            return self.pick(
                f"bent({self.element()})", f"sided({self.element()}, s)", f"first_above(v, {self.element()})"
            )
        if chance < 0.75:
            return self.element()
        if chance < 0.85:
            return f"{self.element()} * {self.pick(*NUMBERS)}"
        if chance < 0.9:
            return self.function_of_number()
        if chance < 0.95:
            return f"{self.element()} / (1.5 + {self.element()} ** 2)"
        return f"abs({self.element()}) * 0.5"
