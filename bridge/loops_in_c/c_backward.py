"""The way back over a loop, as C."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bridge.loops_in_c.c_text import C_KINDS, Text, calls_of_numpy
from bridge.loops_in_c.derivative import REREAD, Add, Back, BackBlock, BackFor, BackIf, BackWhile, passed
from bridge.loops_in_c.ir import (
    Assign,
    Callback,
    Dot,
    Each,
    Expr,
    Let,
    Load,
    Make,
    Product,
    Reduce,
    Stmt,
    Store,
    Var,
    Where,
)
from bridge.loops_in_c.kinds import KINDS, is_float


class Backward(Text):
    """Prints the adjoint: what was kept is taken from the log, from its end."""

    def back(self, one: Stmt) -> None:
        match one:
            case BackBlock():
                self._back_block(one)
            case BackFor():
                loop = one.of
                x = self.name(loop.variable)
                self._open(f"const I count = {self.pop_integer()}, start = {self.pop_integer()};")
                self.say(f"for (I k = count - 1; k >= 0; k--) {{ {x} = start + k * {self.expr(loop.step)};")
                self._backs(one.body)
                self.say("}")
                if loop.variable in self.plan.variables:
                    self.say(f"{x} = {self.pop_integer()};")
                self._close()
            case BackWhile():
                self._open(f"const I is_over = {self.pop_integer()}, count = {self.pop_integer()};")
                self.say("if (is_over) {")
                self._backs(one.before)
                self.say("}")
                self.say("for (I k = 0; k < count; k++) {")
                self._backs(one.body)
                self._backs(one.before)
                self.say("}")
                self._close()
            case BackIf():
                self._open(f"const B c = {self.pop_integer() if one.that is None else self.expr(one.that)};")
                self.say("if (c) {")
                self._backs(one.body)
                self.say("} else {")
                self._backs(one.orelse)
                self.say("}")
                self._close()
            case _:
                raise AssertionError(one)

    def _backs(self, body: Iterable[Stmt]) -> None:
        self.depth += 1
        for one in body:
            self.back(one)
        self.depth -= 1

    def pop(self) -> str:
        self.say("BACK();")
        self.say(f"const F p{len(self.lines)} = *--log_p;")
        return f"p{len(self.lines) - 1}"

    def pop_integer(self) -> str:
        return f"as_integer({self.pop()})"

    def _back_block(self, one: BackBlock) -> None:
        block = one.of
        self._open()
        for let in reversed(self._logged(block)):
            popped = self._unlogged(let.expr.kind, self.pop())
            self.say(f"const {C_KINDS[let.expr.kind]} {self.name(let.name)} = {popped};")
        for name in reversed((*self._kept(block), *self._temporaries(block))):
            self.say(f"{self.name(name)} = {self._unlogged(self.program.variables[name], self.pop())};")
        logged = {let.name for let in self._logged(block)}
        for let in one.lets:
            if let.name not in logged:
                self.say(f"const {C_KINDS[let.expr.kind]} {self.name(let.name)} = {self.expr(let.expr)};")
        self.types |= {self.name(let.name): C_KINDS[let.expr.kind] for let in one.lets}
        for name in one.shadows:
            self.types |= {f"{part}{self.name(name)}": "F" for part in "dm"}
            self.say(f"F d{self.name(name)} = 0;")
            if self.marks:
                self.say(f"F m{self.name(name)} = 0;")
        for each in one.body:
            self._back_one(each)
        self._close()

    def _back_one(self, one: Stmt) -> None:
        match one:
            case Add():
                self._add(one)
            case Let():
                self.say(f"const {C_KINDS[one.expr.kind]} {self.name(one.name)} = {self.expr(one.expr)};")
            case Back(of=Let() as of):
                self._marked(f"m{self.name(of.name)}", one.share)
            case Back(of=Assign() as of):
                if self._is_active(of.name):
                    self._back_variable(of.name)
                    self._marked("m", one.share)
                    self._close()
            case Back(of=Store() as of):
                self._back_store(one, of)
            case Back(of=Each() as of):
                self._back_each(one, of)
            case Back(of=Make() as of):
                self._back_make(of.array)
            case Back(of=Where() as of):
                for name in reversed(of.arrays):
                    self._back_make(name)
            case Back(of=Callback() as of):
                self._back_callback(one, of)
            case Back(of=Reduce() as of):
                self._back_reduce(one, of)
            case Back(of=Product() as of):
                self._back_product(one, of)
            case Back(of=Dot() as of):
                if one.share:
                    self._back_variable(of.variable)
                    self._loops([of.name], [self.expr(of.extent)])
                    self.say("{")
                    self._marked("m", one.share)
                    self.say("}")
                    self._close()

    def _back_reduce(self, one: Back, of: Reduce) -> None:
        if not one.share:
            return
        outer = [self.expr(x) for x in of.outer_extents]
        shadow, mark = (self.element(of.array, of.index, part) if of.array else "" for part in "dm")
        if of.how == "sequential":
            extents = [*map(self.expr, of.extents), *outer]
            before = f"const {C_KINDS[of.expr.kind]} ct = {shadow};"
            self._elementwise_shares((*of.names, *of.outer), extents, one.share, before, mark)
            self._loops(of.outer, outer)
            self.say(f"    {{ {shadow} = 0; {f'{mark} = 0;' if self.marks else ''} }}")
            return
        self._loops(of.outer, outer)
        if of.variable:
            self._back_variable(of.variable)
        else:
            self._open(f"const {C_KINDS[of.expr.kind]} ct = {shadow}; {shadow} = 0;")
            if self.marks:
                self.say(f"const F m = {mark}; {mark} = 0;")
        extents = [self.expr(x) for x in of.extents]
        if of.how in REREAD:
            reduced = self._gathered(of, is_back=True)
            if of.how == "prod":
                self.say("products_of_others(b, size);")
            else:
                self.say(f"const F best = {reduced}, winners = count_winners(b, size, best);")
        before = f"const F others = b[{self._flat(of.names, extents)}];" if of.how == "prod" else ""
        self._elementwise_shares(of.names, extents, one.share, before, "m")
        self._close()

    def _back_product(self, one: Back, of: Product) -> None:
        if not one.share:
            return
        shadow, mark = (f"{part}{self.array[of.array]}" for part in "dm")
        m, k, n = (self.expr(x) for x in of.counts)
        c = C_KINDS[of.left.kind]
        self._open(f"const I rows = {m}, inner = {k}, columns = {n};")
        for add in one.share:
            assert isinstance(add, Add) and isinstance(add.target, Load)
            if of.rows and of.columns and not self.marks:
                self._back_matrix(of, add.target, shadow)
                continue
            counts = {of.rows: "rows", of.inner: "inner", of.columns: "columns"}
            names = [name for name in counts if name]
            self._loops(names, [counts[name] for name in names])
            self.say(f"{{ const {c} ct = {self.element(of.array, of.index, 'd')};")
            self._marked(self.element(of.array, of.index, "m"), [add])
            self.say("}")
        for one_of in (shadow, mark) if self.marks else (shadow,):
            self.say(f"memset({one_of}, 0, rows * columns * sizeof({c}));")
        self._close()

    def _back_matrix(self, of: Product, target: Load, shadow: str) -> None:
        """The share of one of two matrices: the cotangent times the other one, by NumPy's own loop."""
        c = C_KINDS[target.kind]
        if target is of.left:
            b, (b_inner, b_columns) = self._walked(of.right, [of.inner, of.columns])
            left, right = f"{shadow}, columns * sizeof({c}), sizeof({c})", f"{b}, {b_columns}, {b_inner}"
            counts, names = ("rows", "columns", "inner"), [of.rows, of.inner]
        else:
            a, (a_rows, a_inner) = self._walked(of.left, [of.rows, of.inner])
            left, right = f"{a}, {a_inner}, {a_rows}", f"{shadow}, columns * sizeof({c}), sizeof({c})"
            counts, names = ("inner", "rows", "columns"), [of.inner, of.columns]
        self._open(f"{c} *restrict b = ({c} *)scratch(f, {counts[0]} * {counts[2]});")
        self.say(f"numpy_product_{c}(f, {left}, {right}, (char *)b, {', '.join(counts)});")
        extents = [counts[0], counts[2]]
        self._loops(names, extents)
        self.say(f"    {self.element(target.array, target.index, 'd')} += b[{self._flat(names, extents)}];")
        self._close()

    def _back_variable(self, name: str) -> None:
        """Take the cotangent of a variable, and its mark."""
        x = self.name(name)
        self._open(f"const F ct = d{x}; d{x} = 0;")
        if self.marks:
            self.say(f"const F m = m{x}; m{x} = 0;")

    def _marked(self, mark: str, share: Sequence[Stmt]) -> None:
        """Shares of a cotangent: where it does not exist, there are none."""
        if self.marks:
            self.say(f"if ({mark} != 0) {{")
        self._shares(share)
        if self.marks:
            self.say("}")

    def _shares(self, share: Sequence[Stmt]) -> None:
        self.depth += 1
        for one in share:
            self._back_one(one)
        self.depth -= 1

    def _add(self, one: Add) -> None:
        target = one.target
        if isinstance(target, Var):
            shadow, mark = (f"{part}{self.name(target.name)}" for part in "dm")
        else:
            shadow, mark = (self.element(target.array, target.index, part) for part in "dm")
        conditions = [x for x in (one.only, one.exists if self.marks else None) if x is not None]
        if conditions:
            self.say(f"if ({' && '.join(map(self.expr, conditions))})")
        marked = f" {mark} = 1;" if self.marks else ""
        self.say(f"{{ {shadow} += {self.expr(one.expr)};{marked} }}")

    def _back_store(self, one: Back, of: Store) -> None:
        if not one.has_shadow and not one.restores:
            return
        kind = self.program.arrays[of.array].kind
        self._open()
        if one.has_shadow and is_float(kind):
            shadow, mark = (self.element(of.array, of.index, part) for part in "dm")
            self.say(f"const {C_KINDS[kind]} ct = {shadow}; {shadow} = 0;")
            if self.marks:
                self.say(f"const F m = {mark}; {mark} = 0;")
        if one.restores:
            self.say(f"{self.element(of.array, of.index)} = {self._unlogged(kind, self.pop())};")
        if one.has_shadow and is_float(kind):
            self._marked("m", one.share)
        self._close()

    def _back_each(self, one: Back, of: Each) -> None:
        kind, restores = self.program.arrays[of.array].kind, one.restores and not of.is_first
        has_shadow = one.has_shadow and is_float(kind)
        if not has_shadow and not restores:
            return
        extents = [self.expr(x) for x in of.extents]
        size = self._size(extents)
        flat, element = self._flat(of.names, extents), self.element(of.array, of.index)
        shadow = self.element(of.array, of.index, "d")
        self._open(f"const I size = {size};")
        if restores:
            self.say("BACK(); log_p -= size; const F *restrict w = log_p;")
        restored = f"{element} = {self._unlogged(kind, f'w[{flat}]')};" if restores else ""
        taken = f"{shadow}; {shadow} = 0;" if has_shadow else ""
        with self.apart(w="const F *restrict"):
            self._back_elements(one, of, extents, restored, taken, has_shadow)
        self._close()

    def _back_elements(
        self, one: Back, of: Each, extents: list[str], restored: str, taken: str, has_shadow: bool
    ) -> None:
        """The elements of an elementwise statement: what they held is restored, their cotangents are passed on."""
        flat = self._flat(of.names, extents)
        mark, c = self.element(of.array, of.index, "m"), C_KINDS[self.program.arrays[of.array].kind]
        adds = [k for k, x in enumerate(one.share) if isinstance(x, Add)] if has_shadow else []
        if of.is_sequential:
            self._loops(of.names, extents, is_reversed=True)
            marked = f"const F m = {mark}; {mark} = 0;" if self.marks and has_shadow else ""
            self.say(f"{{ {f'const {c} ct = {taken}' if taken else ''} {marked} {restored}")
            self._marked("m", one.share if has_shadow else ())
            self.say("}")
        elif self.marks and has_shadow:
            self.say("F *restrict b = scratch(f, 2 * size), *restrict bm = b + size;")
            self._loops(of.names, extents, of.is_scattered)
            self.say(f"    {{ b[{flat}] = {taken} bm[{flat}] = {mark}; {mark} = 0; {restored} }}")
            self._elementwise_shares(of.names, extents, one.share, f"const {c} ct = b[{flat}];", f"bm[{flat}]")
        elif not of.is_buffered and not of.is_scattered and len(adds) < 2 and not any(map(_calls_numpy, one.share)):
            self._loops(of.names, extents)
            self.say(f"{{ {f'const {c} ct = {taken}' if taken else ''} {restored}")
            self._shares(one.share if has_shadow else ())
            self.say("}")
        elif of.is_buffered or of.is_scattered:
            self.say("F *restrict b = scratch(f, size);")
            self._loops(of.names, extents, of.is_scattered)
            self.say(f"    {{ {f'b[{flat}] = {taken}' if taken else ''} {restored} }}")
            self._loops(of.names[:-1], extents[:-1])
            self._adds(one.share, adds, of.names[-1:], extents[-1:], flat, c)
        else:
            # Row by row, each input by itself: the compiler can do several elements of one at a time.
            last = of.names[-1:]
            at = self.name(last[0]) if last else "0"
            self.say(f"F *restrict b = scratch(f, {extents[-1] if last else 1});")
            self._loops(of.names[:-1], extents[:-1])
            self.say("{")
            self._loops(last, extents[-1:])
            self.say(f"    {{ b[{at}] = {taken} {restored} }}")
            self._adds(one.share, adds, last, extents[-1:], at, c)
            self.say("}")

    def _adds(
        self, share: Sequence[Stmt], adds: list[int], names: Sequence[str], extents: list[str], at: str, c: str
    ) -> None:
        """A loop for each input of an elementwise statement, whose cotangents lie in `b`."""
        self.say("{")
        self.depth += 1
        for k in adds:
            used = [x for x in share[:k] if isinstance(x, Let)] + [share[k]]
            self._elementwise_shares(names, extents, used, f"const {c} ct = b[{at}];", "")
        self.depth -= 1
        self.say("}")

    def _back_callback(self, one: Back, of: Callback) -> None:
        """Python passes the cotangents of the results to the arrays; C adds those of numbers."""
        if one.has_shadow:
            self._open()
            self._given(of, ("d", "m") if self.marks else ("d",))
            for k, name in enumerate(of.arrays):
                array, a = self.program.arrays[name], self.array[name]
                has_shadow = self._has_shadow(name)
                self.say(f"f->made[{k}].shadow = {f'd{a}' if has_shadow else '0'};")
                if self.marks:
                    self.say(f"f->made[{k}].mark = {f'm{a}' if has_shadow else '0'};")
                for axis in range(array.ndim):
                    self.say(f"f->made[{k}].extents[{axis}] = {a}_n{axis};")
            if any(self.plan.active_operands[of.number]):
                # There is no record of others, whose results lie in the arrays of a callback that has one.
                self.say(f"f->pull(f->run, {of.number});")
            for number in range(len(of.numbers)):
                name = self.name(passed(number).name)
                self.say(f"const F {name} = f->passed[{2 * number}];")
                if self.marks:
                    self.say(f"const F m{name} = f->passed[{2 * number + 1}];")
            for add in one.share:
                assert isinstance(add, Add) and isinstance(add.expr, Var)
                self._marked(f"m{self.name(add.expr.name)}", [add])
            for name in of.arrays:
                if self._has_shadow(name):
                    size = " * ".join(f"{self.array[name]}_n{axis}" for axis in range(self.program.arrays[name].ndim))
                    kind = KINDS[self.program.arrays[name].kind].element
                    for part in "dm" if self.marks else "d":
                        self.say(f"memset({part}{self.array[name]}, 0, ({size}) * sizeof({kind}));")
            self._close()
        for name in reversed(of.arrays):
            self._back_make(name)

    def _back_make(self, array: str) -> None:
        a, ndim = self.array[array], self.program.arrays[array].ndim
        self._open("F *p = log_p, *begin = log_begin;")
        self.say(f"unmake(f, L{a}, &p, &begin, {ndim}, {int(self._keeps(array))});")
        self.say("log_p = p; log_begin = begin;")
        self._close()
        for axis in range(ndim):
            self.say(f"{a}_n{axis} = L{a}->extents[{axis}];")

    def _elementwise_shares(
        self, names: Sequence[str], extents: Sequence[str], share: Sequence[Stmt], before: str, mark: str
    ) -> None:
        """Loops over the elements that get their shares; in a backward pass with marks, where `mark` is set."""
        if self.marks:
            self._loops(names, extents)
            self.say(f"{{ {before}")
            self._marked(mark, share)
            self.say("}")
            return
        stmts = [x for x in share if isinstance(x, (Let, Add))]

        def body(exprs: Sequence[Expr]) -> None:
            self._shares([replace(x, expr=expr) for x, expr in zip(stmts, exprs, strict=True)])

        self._elementwise(names, extents, [x.expr for x in stmts], body, before)


def _calls_numpy(share: Stmt) -> bool:
    """Whether NumPy's inner loops compute a part of a share."""
    return isinstance(share, (Let, Add)) and any(True for _ in calls_of_numpy(share.expr))
