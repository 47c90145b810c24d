"""The forward pass of a loop, as C."""

from __future__ import annotations

from collections.abc import Iterable

from bridge.loops_in_c.c_text import C_KINDS, Text
from bridge.loops_in_c.derivative import is_temporary
from bridge.loops_in_c.ir import (
    Assign,
    Block,
    Callback,
    Check,
    Dot,
    Each,
    For,
    If,
    Let,
    Make,
    Product,
    Reduce,
    Stmt,
    Store,
    Where,
    While,
)
from bridge.loops_in_c.kinds import KINDS, is_float


class Forward(Text):
    """Prints the statements of the program, with what they keep for the way back."""

    def forward(self, one: Stmt, is_outermost: bool = False) -> None:
        match one:
            case Block():
                self._block(one)
            case For():
                self._for(one, is_outermost)
            case While():
                self._while(one, is_outermost)
            case If():
                self._open(f"B c = {self.expr(one.that)};")
                self.say("if (c) {")
                self._inner(one.body)
                self.say("} else {")
                self._inner(one.orelse)
                self.say("}")
                if id(one) not in self.plan.tests:
                    self.push_integer("c")
                self._close()
            case _:
                raise AssertionError(one)

    def _inner(self, body: Iterable[Stmt]) -> None:
        self.depth += 1
        for one in body:
            self.forward(one)
        self.depth -= 1

    def push(self, value: str) -> None:
        if not self.plan.is_forward:
            self.say(f"ROOM(1); *log_p++ = {value};")

    def push_integer(self, value: str) -> None:
        self.push(f"as_float({value})")

    def push_variable(self, name: str, value: str) -> None:
        self.push(self._logs(self.program.variables[name], value))

    def _for(self, one: For, is_outermost: bool) -> None:
        x = self.name(one.variable)
        start, count = self.expr(one.start), self.expr(one.count)
        if is_outermost:
            start, count = f"{start} + f->first * {self.expr(one.step)}", f"min_of({count} - f->first, f->limit)"
        self._open(f"const I start = {start}, count = {count};")
        if one.variable in self.plan.variables:
            self.push_integer(x)
        until = f" && !{self.name(one.until)}" if one.until else ""
        self.say("I k = 0;")
        self.say(f"for (; k < count{until}; k++) {{ {x} = start + k * {self.expr(one.step)};")
        self._inner(one.body)
        if is_outermost:
            self._outermost()
        self.say("}")
        self.push_integer("start")
        self.push_integer("k")
        self._close()

    def _outermost(self) -> None:
        self.say("    if (fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID)) goto stop;")
        self.say("    if (!(++done & 7) && f->interrupted()) goto stop;")

    def _while(self, one: While, is_outermost: bool) -> None:
        # The condition may have effects: where the loop is limited, it is not evaluated for the next iteration.
        self._open("I count = 0, is_over = 0;")
        self.say(f"while ({'count < f->limit' if is_outermost else '1'}) {{")
        self._inner(one.before)
        self.say(f"    if (!({self.expr(one.that)})) {{ is_over = 1; break; }}")
        self._inner(one.body)
        self.say("    count++;")
        if is_outermost:
            self._outermost()
        self.say("}")
        self.push_integer("count")
        self.push_integer("is_over")
        self._close()

    def _block(self, block: Block) -> None:
        self._open()
        kept: list[str] = []
        for one in block.body:
            match one:
                case Let():
                    self.say(f"const {C_KINDS[one.expr.kind]} {self.name(one.name)} = {self.expr(one.expr)};")
                    self.types[self.name(one.name)] = C_KINDS[one.expr.kind]
                case Check():
                    self._loops(one.names, [self.expr(x) for x in one.extents])
                    self.say(f"if (!({self.expr(one.that)})) goto stop;")
                case Assign():
                    x = self.name(one.name)
                    if one.name in self.plan.variables and not is_temporary(one.name):
                        self.say(f"const {C_KINDS[self.program.variables[one.name]]} old_{x} = {x};")
                        kept.append(one.name)
                    self.say(f"{x} = {self.expr(one.expr)};")
                case Store():
                    self._store(one)
                case Each():
                    self._each(one)
                case Make():
                    self._make(one.array, [self.expr(x) for x in one.extents])
                case Callback():
                    self._callback(one)
                case Where():
                    self._where(one)
                case Reduce():
                    self._reduce(one)
                case Dot():
                    self._dot(one)
                case For():
                    self._for(one, False)
                case Product():
                    self._product(one)
        for name in kept:
            self.push_variable(name, f"old_{self.name(name)}")
        for name in self._temporaries(block):
            self.push_variable(name, self.name(name))
        for let in self._logged(block):
            self.push(self._logs(let.expr.kind, self.name(let.name)))
        self._close()

    def _store(self, one: Store) -> None:
        element = self.element(one.array, one.index)
        kind = self.program.arrays[one.array].kind
        self._open(f"const {C_KINDS[kind]} v = {self.expr(one.expr)};")
        if self._keeps(one.array):
            self.push(self._logs(kind, element))
        self.say(f"{element} = v;")
        self._close()

    def _each(self, one: Each) -> None:
        extents = [self.expr(x) for x in one.extents]
        size = self._size(extents)
        element, flat = self.element(one.array, one.index), self._flat(one.names, extents)
        kind = self.program.arrays[one.array].kind
        c, keeps = C_KINDS[kind], self._keeps(one.array) and not one.is_first
        self._open(f"const I size = {size};")
        if keeps:
            self.say("ROOM(size); F *restrict w = log_p; log_p += size;")
        kept = f"w[{flat}] = {self._logs(kind, element)};" if keeps else ""
        if one.is_buffered:
            self.say(f"{c} *restrict b = ({c} *)scratch(f, size);")
            with self.apart(b=f"{c} *restrict", w="F *restrict"):
                self._elementwise(one.names, extents, [one.expr], lambda x: self.say(f"b[{flat}] = {self.expr(x[0])};"))
                self._loops(one.names, extents)
                self.say(f"    {{ {kept} {element} = b[{flat}]; }}")
        elif one.is_sequential:
            with self.apart(w="F *restrict"):
                self._loops(one.names, extents)
                self.say(f"    {{ {kept} {element} = {self.expr(one.expr)}; }}")
        else:
            with self.apart(w="F *restrict"):
                self._elementwise(
                    one.names, extents, [one.expr], lambda x: self.say(f"{kept} {element} = {self.expr(x[0])};")
                )
        self._close()

    def _make(self, array: str, extents: list[str]) -> None:
        a, ndim = self.array[array], self.program.arrays[array].ndim
        flags = f"{int(self._keeps(array))}, {int(self._has_shadow(array))}"
        self._open(f"const I new_extents[] = {{{', '.join(extents)}}};")
        self.say("F *p = log_p, *end = log_end;")
        self.say(f"if (!remake(f, L{a}, &p, &end, {ndim}, new_extents, {flags})) goto stop;")
        self.say(f"log_p = p{f' - {ndim}' if self.plan.is_forward else ''}; log_end = end;")
        self._close()
        self.say(f"{a} = L{a}->memory;")
        for axis in range(ndim):
            self.say(f"{a}_n{axis} = L{a}->extents[{axis}];")

    def _where(self, one: Where) -> None:
        extents = [self.expr(x) for x in one.extents]
        self._open(f"const I size = {self._size(extents)};")
        self.say("I found = 0;")
        for name in one.arrays:
            self._make(name, ["size"])
        self._loops(one.names, extents)
        self.say(f"if ({self.expr(one.that)}) {{")
        for name, index in zip(one.arrays, one.names, strict=True):
            self.say(f"    ((I *){self.array[name]})[found] = {self.name(index)};")
        self.say("    found++;")
        self.say("}")
        for name in one.arrays:
            self.say(f"{self.array[name]}_n0 = L{self.array[name]}->extents[0] = found;")
        self._close()

    def _callback(self, one: Callback) -> None:
        self._open()
        self.say("if (fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID)) goto stop;")
        self._given(one, ("",))
        for k, x in enumerate(one.numbers):
            self.say(f"f->passed[{k}] = {self.expr(x) if is_float(x.kind) else f'as_float({self.expr(x)})'};")
        self.say(f"if (!f->call(f->run, {one.number})) goto stop;")
        # A library may leave flags behind. Python's warnings are what counts.
        self.say("feclearexcept(FE_ALL_EXCEPT);")
        for k, name in enumerate(one.arrays):
            array, a = self.program.arrays[name], self.array[name]
            self._make(name, [f"f->made[{k}].extents[{axis}]" for axis in range(array.ndim)])
            size = " * ".join([f"{a}_n{axis}" for axis in range(array.ndim)])
            self.say(f"memcpy({a}, f->made[{k}].memory, {size} * sizeof({KINDS[array.kind].element}));")
        self._close()

    def _reduce(self, one: Reduce) -> None:
        target = self.name(one.variable) if one.variable else self.element(one.array, one.index)
        outer = [self.expr(x) for x in one.outer_extents]
        if one.how == "sequential":
            # Row by row, as memory lies.
            self._loops(one.outer, outer)
            self.say(f"    {target} = 0.0;")
            is_later = " | ".join(map(self.name, one.names))
            self._elementwise(
                (*one.names, *one.outer),
                [*map(self.expr, one.extents), *outer],
                [one.expr],
                lambda x: self.say(f"{target} = {is_later} ? {target} + {self.expr(x[0])} : {self.expr(x[0])};"),
            )
            self._loops(one.outer, outer)
            self.say(f"    {target} = not_minus_zero({target});")
            return
        self._loops(one.outer, outer)
        self._open()
        self.say(f"{target} = {self._gathered(one)};")
        self._close()

    def _dot(self, one: Dot) -> None:
        (a, (sa,)), (b, (sb,)) = self._walked(one.left, [one.name]), self._walked(one.right, [one.name])
        c = C_KINDS[one.left.kind]
        self.say(f"{self.name(one.variable)} = numpy_dot_{c}(f, {a}, {sa}, {b}, {sb}, {self.expr(one.extent)});")

    def _product(self, one: Product) -> None:
        a, (a_rows, a_inner) = self._walked(one.left, [one.rows, one.inner])
        b, (b_inner, b_columns) = self._walked(one.right, [one.inner, one.columns])
        m, k, n = (self.expr(x) for x in one.counts)
        c, kind = self.array[one.array], C_KINDS[one.left.kind]
        if one.by_dot:
            has_rows, has_columns = int(bool(one.rows)), int(bool(one.columns))
            factors = f"{a}, {has_rows}, {a_rows}, {a_inner}, {b}, {b_inner}, {has_columns}, {b_columns}"
            self.say(f"dot_as_matmul({factors}, {m}, {k}, {n}, sizeof({kind}));")
        self.say(f"numpy_product_{kind}(f, {a}, {a_rows}, {a_inner}, {b}, {b_inner}, {b_columns}, {c}, {m}, {k}, {n});")
