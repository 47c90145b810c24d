# ruff: noqa: E501
"""Random programs as text: numbers, lists, dictionaries, arrays, objects, closures, and calls between functions."""

from __future__ import annotations

import random
from collections.abc import Callable

HEAD = """
import numpy as np

from tests.source.things import Thing, up_to

total = 0.0
count = 0
field = np.linspace(0.5, 1.5, 4)
kept = [0.25, 0.5]
table = {"a": 0.5, "b": [1.0, 2.0]}
"""


class Writer:
    """Writes one program; the same one for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth = 0
        self.names = 0
        self.functions: list[str] = []
        self.loops = 0

    def text(self) -> str:
        for number in range(self.random.randrange(1, 3)):
            self.function(f"helper{number}", "x, n=2, *rest, scale=0.5", self.random.randrange(3, 8))
            self.functions.append(f"helper{number}")
        self.function("program", "x, log, n=2", self.random.randrange(6, 16))
        return HEAD + "\n".join(self.lines) + "\n"

    def function(self, name: str, parameters: str, statements: int) -> None:
        self.put("")
        self.put(f"def {name}({parameters}):")
        self.depth += 1
        declared = [one for one in ("total", "count") if self.random.random() < 0.5]
        if declared:
            self.put(f"global {', '.join(declared)}")
        if "log" not in parameters:
            self.put("log = []")
        if self.random.random() < 0.3:
            self.put('"""Not a docstring if something is above."""')
        self.put("i, j = n, 1")
        self.put("f, g = x[0] * 0.5, 0.25")
        self.put("a, b = np.zeros(4), x * 1.0")
        self.put("l, d = [0.5, f, 1.0], {'k': g, 'm': [f]}")
        self.put("o = Thing(f, log)")
        for _ in range(statements):
            self.statement()
        self.put(
            "result = np.sum(a) + np.sum(b) * 0.5 + f + g + sum(l) + d['k'] + o.value + np.sum(o.cells) + i * 0.125"
        )
        self.put("return np.tanh(result * 0.1)")
        self.depth -= 1

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def one_of(self, *choices: str) -> str:
        return self.random.choice(choices)

    def block(self, *heads: str) -> None:
        for head in heads:
            self.put(head)
            self.depth += 1
            for _ in range(self.random.randrange(1, 3)):
                self.statement()
            self.depth -= 1

    # Expressions, by what they are.

    def index(self) -> str:
        return self.one_of("i % 4", "0", "-1", "j % 3", "(i + j) % 4", "3", "len(l) % 4", "n % 2")

    def small(self) -> str:
        return self.one_of("0", "1", "-1", "i % 2", "(j + 1) % 2", "n % 2")

    def integer(self) -> str:
        return self.one_of(
            "i + 1", "j * 2 % 7", "len(l)", "i // 2", "i % 3 + j % 2", "-j % 5", "(i ^ j) & 7", "len(d)",
            "3 if i > j else 1", "min(i, 5)", "sum(k for k in range(i % 4))", "int(i > 1) + j % 3", "a.shape[0]", "b.size - i % 4",
            "abs(i - j) % 9", "(lambda k: k + 1)(i % 5)", "max([i % 4, j % 5])", "count % 5", "divmod(i, 3)[1]",
        )  # fmt: skip

    def number(self, depth: int = 0) -> str:
        if depth < 2 and self.random.random() < 0.45:
            left, right = self.number(depth + 1), self.number(depth + 1)
            return self.one_of(
                f"({left} + {right})", f"({left} - {right})", f"{left} * {right} * 0.5", f"np.sin({left})",
                f"({left} if i % 2 else {right})", f"np.tanh({left} + {right})", f"{left} / (2.0 + np.abs({right}))",
                f"max({left}, {right})", f"-{left}", f"abs({left})", f"np.maximum({left}, {right})", f"({left} or {right})",
                f"(h := {left}) * 0.5 + h", f"sum([{left}, {right}])", f"(lambda y: y * 0.5 + {right})({left})", f"np.sum([{left}, {right}])",
            )  # fmt: skip
        choices = [
            "f", "g", f"a[{self.index()}]", f"b[{self.index()}]", f"l[{self.small()}]", "d['k']", "o.value", "o.double", "0.5", "total",
            f"o.cells[{self.index()}]", f"o[{self.index()}]", "d['m'][0]", "o()", "o(x=0.5)", "x[1]", "np.mean(a)", f"field[{self.index()}]",
            "kept[0]", "table['b'][1]", "table['a']", "sum(up_to(3, f))", "d.get('z', f)", "x[-1] * 0.5", "float(f)", "(a + b)[1]", "o.items[0]",
        ]  # fmt: skip
        choices += [f"{name}({self.array()}, 1)" for name in self.functions]
        return self.random.choice(choices)

    def array(self) -> str:
        return self.one_of(
            "a", "b", "x", "a * 0.5", "b + a", "np.sin(b)", "o.cells", "x * g", "a[::-1]", "np.array([f, g, 0.5, 1.0])", "field", "np.abs(a) + 0.5",
            "np.where(b > 0.5, a, b)", "b.copy()", "np.zeros_like(a) + f", "np.full(4, f)", "np.asarray([f, g, f, 0.25])", "(x - b) * 0.5",
            "np.array([y * 0.5 for y in b])", "np.concatenate([a[:2], b[2:]])", "np.outer(a, b)[1]", "(a if i % 2 else b)", "np.stack([a, b])[0]",
        )  # fmt: skip

    def condition(self) -> str:
        return self.one_of(
            "i > j", "f > g", "i % 2 == 0", "not l", "f > 0.25 and i", "0 < i <= 3", "np.sum(a) > 0.5", "len(l) > 2", "'k' in d", "i is not None",
            "a is b", "x[0] < 1.0 or j", "isinstance(f, float)", "any(y > 0.5 for y in b)", "all(l)", "d", "count < 3",
        )  # fmt: skip

    # Statements.

    def statement(self) -> None:
        simple: list[Callable[[], None]] = (
            [self.assignment] * 6 + [self.store] * 7 + [self.augmented] * 5 + [self.container] * 3
        )
        nested: list[Callable[[], None]] = [
            self.branch,
            self.loop,
            self.guarded,
            self.closure,
            self.managed,
            self.matched,
        ]
        room = self.depth < 4 and len(self.lines) < 90
        self.random.choice(simple + nested * 2 if room else simple)()

    def assignment(self) -> None:
        number, other = self.number(), self.number()
        self.put(self.one_of(
            f"f = {number}", f"g = {number}", f"i = {self.integer()}", f"j = {self.integer()}", f"f, g = {number}, {other}", "i, j = j, i + 1",
            f"a = {self.array()}" if self.loops else "a = a + 0.0", f"b = ({self.array()}) * 1.0", f"f = g = {number}", "f, *h = l", f"h = g = {number}",
            f"(f, (g, i)) = {number}, ({other}, {self.integer()})", f"total = {number}" if "global" in "".join(self.lines[-40:]) else f"f = {number}",
            f"count = {self.integer()}" if "global" in "".join(self.lines[-40:]) else f"j = {self.integer()}", f"g: float = {number}",
        ))  # fmt: skip

    def store(self) -> None:
        number, other = self.number(), self.number()
        self.put(self.one_of(
            f"a[{self.index()}] = {number}", f"b[{self.index()}] = {number}", f"b[1:3] = {number}", f"b[:] = {self.array()}", f"l[{self.small()}] = {number}",
            f"d['k'] = {number}", f"d['m'][0] = {number}", f"o.value = {number}", f"o.cells[{self.index()}] = {number}", f"o[{self.index()}] = {number}",
            f"o.double = {number}", f"o.items[0] = {number}", f"a[{self.index()}], l[0] = {number}, {other}", f"o.value, *d['m'] = {number}, {other}, 0.5",
            f"field[{self.index()}] = {number}", f"kept[0] = {number}", f"table['a'] = {number}", f"b[b > 0.5] = {number}", f"b[[0, 2]] = {number}",
            f"a[0] = l[1] = {number}", f"o.step({number}, at={self.index()})", f"f, b[{self.index()}] = b[0], f", f"b[:2], b[2:] = {number}, {other}",
            f"d.update(k={number})", f"l.append({number})", "l.pop() if len(l) > 3 else None", f"a.fill({number})", f"setattr(o, 'value', {number})",
            f"table['b'][0] = {number}", "o.cells = o.cells * 0.5", "a = b[:]", "b = b.copy()", f"l[0:1] = [{number}]", f"np.copyto(b, {self.array()})",
        ))  # fmt: skip

    def augmented(self) -> None:
        number = self.number()
        operator = self.one_of("+=", "-=", "*=", "+=")
        self.put(self.one_of(
            f"f {operator} {number}", f"g {operator} {number}", f"a[{self.index()}] {operator} {number}", f"b {operator} {number}", f"b[1:] {operator} {number}",
            f"l[{self.small()}] {operator} {number}", f"d['k'] {operator} {number}", f"o.value {operator} {number}", f"o.cells {operator} {number}",
            f"o[{self.index()}] {operator} {number}", f"o.double {operator} {number}", f"i += {self.integer()}", "j = j % 5 + 1", f"l += [{number}]",
            f"field[{self.index()}] {operator} {number}", f"kept[1] {operator} {number}", f"o.items[1] {operator} {number}", f"b[[1, 3]] {operator} {number}",
            f"table['b'][0] {operator} {number}", f"a[:] {operator} {number}", f"b[::2] {operator} {number}", f"x {operator} 0.5", f"b /= 2.0 + np.abs({number})",
        ))  # fmt: skip

    def container(self) -> None:
        number = self.number()
        self.put(self.one_of(
            f"l = [y * 0.5 for y in l] + [{number}]", f"d = {{**d, 'k': {number}}}", "l = sorted(l, key=lambda y: -y)", "l = [*l[:2], 0.5]",
            "h = {k: v for k, v in d.items() if k != 'm'}; f = h['k']", "l = list(map(lambda y: y * 0.5, l))", "f = sum(y for y in l if y > 0.25) + f",
            "log.append(f'{i} {j % 3:>3} {f:.6f}')", "log.append('%d %.5f' % (i, f))", "log.append(sorted(d))", "log.append(len(l))", "del l[3:]",
            "l = [y for y in l for _ in range(2)][:4]", "g = [k * f for k in range(3)][-1]", "f = (lambda y, k=g: y + k)(f)", "l = list(up_to(3, g)) + [f]",
            "d['m'] = [f, *d['m']][:2]", "log.append(sorted(name for name in locals() if len(name) == 1)[:3])", "o = Thing(f, log)",
        ))  # fmt: skip

    def branch(self) -> None:
        heads = [f"if {self.condition()}:"]
        if self.random.random() < 0.4:
            heads.append(f"elif {self.condition()}:")
        if self.random.random() < 0.6:
            heads.append("else:")
        self.block(*heads)

    def loop(self) -> None:
        if self.loops == 2:
            return self.store()
        self.loops += 1
        self.names += 1
        k = f"k{self.names}"
        head = self.one_of(
            f"for {k} in range({self.one_of('3', 'i % 4', '2')}):", f"for {k}, f in enumerate(l[:3]):", f"for {k}, (f, g) in enumerate(zip(b, l)):",
            f"for {k}, a[0] in enumerate([f, g]):", f"for o.value in [f, {self.number()}]:", f"for {k}, b[1:3] in [(1, {self.number()})]:",
            f"for f in up_to(3, {self.number()}):", f"for {k}, d['k'] in zip(range(2), b):", f"for {k} in d['m'][:2]:",
        )  # fmt: skip
        if self.random.random() < 0.25:
            self.put(f"{k} = 0")
            self.put(f"while {k} < 3:")
            self.depth += 1
            self.put(f"{k} += 1")
        else:
            self.put(head)
            self.depth += 1
        for _ in range(self.random.randrange(1, 4)):
            self.statement()
        if self.random.random() < 0.3:
            self.put(f"if {self.condition()}: {self.one_of('break', 'continue')}")
        self.depth -= 1
        if self.random.random() < 0.2:
            self.block("else:")
        self.loops -= 1
        return None

    def guarded(self) -> None:
        self.put("try:")
        self.depth += 1
        self.statement()
        self.put(
            f"if {self.condition()}: {self.one_of('raise ValueError(i)', 'raise KeyError(j)', 'd[7]', '[][i]', 'l.missing', '1 // (i - i)')}"
        )
        self.statement()
        self.depth -= 1
        self.block("except (ValueError, KeyError) as error:")
        self.put("    log.append(repr(error))")
        self.block("except Exception as error:")
        self.put("    log.append(type(error).__name__)")
        if self.random.random() < 0.3:
            self.block("else:")
        if self.random.random() < 0.5:
            self.block("finally:")

    def closure(self) -> None:
        self.names += 1
        name = f"inner{self.names}"
        number = self.number()
        kind = self.random.randrange(4)
        if kind == 0:
            self.put(f"def {name}(y, k=0.5):")
            self.put(f"    return y * k + {number.replace('h :=', 'y :=')}")
            self.put(f"f = {name}({self.one_of('f', 'g', 'k=0.25, y=f')})")
        elif kind == 1:
            self.put(f"cell{self.names} = {number}")
            self.put(f"def {name}(y):")
            self.put(f"    nonlocal cell{self.names}")
            self.put(f"    cell{self.names} += y * 0.5")
            self.put(f"    return cell{self.names}")
            self.put(f"f, g = {name}(f), {name}(0.5)")
            self.put(f"g = cell{self.names}")
        elif kind == 2:
            self.put(f"def {name}(m):")
            self.put(f"    return g if m <= 0 else {name}(m - 1) * 0.5 + f")
            self.put(f"f = {name}(i % 4)")
        else:
            self.put(f"def {name}():")
            self.put("    for k in range(2):")
            self.put("        got = yield f * k")
            self.put("        log.append(got is None)")
            self.put(f"f = sum({name}())")

    def managed(self) -> None:
        target = self.one_of("o as p:", "o:", "o as a_thing, Thing(g, log) as p:", "Thing(f, log) as d['o']:")
        self.block(f"with {target}")
        if self.random.random() < 0.4:
            self.put(f"    if {self.condition()}: raise ValueError('in with')")

    def matched(self) -> None:
        self.put(self.one_of("match l:", "match (i % 3, j % 2):", "match d:"))
        self.depth += 1
        for pattern in ("case [f, g]:", "case (0, j) | (j, 1):", "case {'k': g} if i:"):
            self.put(pattern)
            self.depth += 1
            self.statement()
            self.depth -= 1
        self.block("case _:")
        self.depth -= 1
