"""The printer: the forward pass and the way back of a loop, as C.

Names of the program do not appear in it: arrays are `a0`, `a1`, ..., variables `x0`, `x1`, ....
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from bridge.loops_in_c import derivative
from bridge.loops_in_c.derivative import Add, Back, BackBlock, BackFor, BackIf, BackWhile, Plan, is_logged, is_temporary
from bridge.loops_in_c.functions import FUNCTIONS
from bridge.loops_in_c.ir import (
    Assign,
    Block,
    Check,
    Const,
    Dot,
    Each,
    Expr,
    For,
    If,
    Let,
    Load,
    Make,
    Op,
    Program,
    Size,
    Stmt,
    Store,
    Sum,
    Var,
    While,
)

HEADER = (Path(__file__).parent / "runtime.h").read_text(encoding="utf-8")
_C = {"f": "F", "i": "I", "b": "B"}
_CAST = {"f": "(F)", "i": "(I)", "b": "(B)"}


class Printer:
    """Prints one program under one plan."""

    def __init__(self, program: Program, plan: Plan) -> None:
        self.program, self.plan = program, plan
        self.array = {name: f"a{k}" for k, name in enumerate(program.arrays)}
        self.given = [name for name, one in program.arrays.items() if not one.is_local]
        self.local = [name for name, one in program.arrays.items() if one.is_local]
        self.variable = {name: f"x{k}" for k, name in enumerate(program.variables)}
        self.order = list(program.variables)
        self.lines: list[str] = []
        self.depth = 1

    def say(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def text(self) -> str:
        """The whole C file."""
        self._function("forward")
        for one in self.program.body:
            self.forward(one, True)
        self._end("forward")
        self._function("backward")
        for one in derivative.backward(self.program, self.plan):
            self.back(one)
        self._end("backward")
        return HEADER + "\n" + "\n".join(self.lines) + "\n"

    def _function(self, name: str) -> None:
        self.depth = 0
        self.say(f"void {name}(Frame *f) {{")
        self.depth = 1
        is_back = name == "backward"
        axes = 0
        for k, one in enumerate(self.given):
            array, a = self.program.arrays[one], self.array[one]
            self.say(f"char *const {a} = f->memory[{k}];")
            if is_back and array.memory in self.plan.active_memory and array.kind == "f":
                self.say(f"char *const d{a} = f->shadow[{k}];")
            for axis in range(array.ndim):
                self.say(f"const I {a}_n{axis} = f->extents[{axes}];")
                stride = f"{_size(array.kind)}" if array.is_packed and axis == array.ndim - 1 else f"f->strides[{axes}]"
                self.say(f"const I {a}_s{axis} = {stride};")
                axes += 1
        for k, one in enumerate(self.local):
            array, a = self.program.arrays[one], self.array[one]
            self.say(f"Local *const L{a} = f->locals + {k};")
            self.say(f"char *{a} = L{a}->memory, *d{a} = L{a}->shadow;")
            for axis in range(array.ndim):
                self.say(f"I {a}_n{axis} = L{a}->extents[{axis}];")
        for k, name_of in enumerate(self.order):
            kind, x = self.program.variables[name_of], self.variable[name_of]
            self.say(f"{_C[kind]} {x} = f->{'floats' if kind == 'f' else 'integers'}[{k}];")
            if is_back and self._is_active(name_of):
                self.say(f"F d{x} = f->shadows[{k}];")
        if is_back:
            self.say("F *log_begin = f->count ? f->segments[f->current].memory : 0;")
            self.say("F *log_p = f->count ? log_begin + f->segments[f->current].used : 0;")
        else:
            self.say("F *log_p = 0, *log_end = 0;")
            self.say("I done = 0;")
            self.say("f->finished = 0;")
            self.say("feclearexcept(FE_ALL_EXCEPT);")
            self.say(
                "if (f->count) { f->current = 0; log_p = f->segments->memory; log_end = log_p + f->segments->size; }"
            )

    def _end(self, name: str) -> None:
        is_back = name == "backward"
        if not is_back:
            self.say("f->finished = 1;")
            self.depth = 0
            self.say("stop:")
            self.depth = 1
            self.say("f->done = done;")
            self.say("if (f->count) f->segments[f->current].used = log_p - f->segments[f->current].memory;")
        for one in self.local:
            a = self.array[one]
            for axis in range(self.program.arrays[one].ndim):
                self.say(f"L{a}->extents[{axis}] = {a}_n{axis};")
        for k, name_of in enumerate(self.order):
            kind, x = self.program.variables[name_of], self.variable[name_of]
            self.say(f"f->{'floats' if kind == 'f' else 'integers'}[{k}] = {x};")
            if is_back and self._is_active(name_of):
                self.say(f"f->shadows[{k}] = d{x};")
        self.depth = 0
        self.say("}")

    def _is_active(self, name: str) -> bool:
        return name in self.plan.active_variables and self.program.variables[name] == "f"

    # Expressions.

    def expr(self, expr: Expr) -> str:
        match expr:
            case Const():
                return _literal(expr)
            case Var():
                return self.name(expr.name)
            case Size():
                return f"{self.array[expr.array]}_n{expr.axis}"
            case Load():
                return self.element(expr.array, expr.index)
            case Op():
                return self._op(expr)
        raise AssertionError(expr)

    def _op(self, expr: Op) -> str:
        args = [self.expr(one) for one in expr.args]
        if expr.name == "cast":
            return f"({_CAST[expr.kind]}{args[0]})"
        function = FUNCTIONS[expr.name]
        inner = expr.args[-1].kind
        template = function.text if inner == "f" and function.text else function.integers or function.text
        if template.startswith("numpy_"):
            args[0] = f"f, {args[0]}"
        return template.format(*args)

    def name(self, name: str) -> str:
        if name.startswith("d:"):
            return f"d{self.name(name[2:])}"
        return self.variable.get(name, name)

    def element(self, array: str, index: Sequence[Expr], shadow: bool = False) -> str:
        one, a = self.program.arrays[array], self.array[array]
        kind = _C[one.kind]
        if one.is_local:
            place = "0"
            for axis, x in enumerate(index):
                place = self.expr(x) if axis == 0 else f"({place}) * {a}_n{axis} + {self.expr(x)}"
            return f"(({kind} *){'d' if shadow else ''}{a})[{place}]"
        terms = " + ".join(f"({self.expr(x)}) * {a}_s{axis}" for axis, x in enumerate(index))
        return f"*({kind} *)({'d' if shadow else ''}{a}{' + ' + terms if terms else ''})"

    # Forward.

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
                self.push_integer("c")
                self._close()
            case _:
                raise AssertionError(one)

    def _open(self, text: str = "") -> None:
        self.say("{ " + text)
        self.depth += 1

    def _close(self) -> None:
        self.depth -= 1
        self.say("}")

    def _inner(self, body: Iterable[Stmt]) -> None:
        self.depth += 1
        for one in body:
            self.forward(one)
        self.depth -= 1

    def push(self, value: str) -> None:
        self.say(f"ROOM(1); *log_p++ = {value};")

    def push_integer(self, value: str) -> None:
        self.push(f"as_float({value})")

    def push_variable(self, name: str, value: str) -> None:
        self.push(value if self.program.variables[name] == "f" else f"as_float({value})")

    def _for(self, one: For, is_outermost: bool) -> None:
        x = self.name(one.variable)
        self._open(f"const I start = {self.expr(one.start)}, count = {self._limited(one.count, is_outermost)};")
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

    def _limited(self, count: Expr, is_outermost: bool) -> str:
        return f"min_of({self.expr(count)}, f->limit)" if is_outermost else self.expr(count)

    def _outermost(self) -> None:
        self.say("    if (fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID)) goto stop;")
        self.say("    done++;")

    def _while(self, one: While, is_outermost: bool) -> None:
        self._open("I count = 0;")
        self.say("for (;;) {")
        self._inner(one.before)
        limit = " || count >= f->limit" if is_outermost else ""
        self.say(f"    if (!({self.expr(one.that)}){limit}) break;")
        self._inner(one.body)
        self.say("    count++;")
        if is_outermost:
            self._outermost()
        self.say("}")
        self.push_integer("count")
        self._close()

    def _block(self, block: Block) -> None:
        self._open()
        kept: list[str] = []
        for one in block.body:
            match one:
                case Let():
                    self.say(f"const {_C[one.expr.kind]} {one.name} = {self.expr(one.expr)};")
                case Check():
                    self.say(f"if (!({self.expr(one.that)})) goto stop;")
                case Assign():
                    x = self.name(one.name)
                    if one.name in self.plan.variables and not is_temporary(one.name):
                        self.say(f"const {_C[self.program.variables[one.name]]} old_{x} = {x};")
                        kept.append(one.name)
                    self.say(f"{x} = {self.expr(one.expr)};")
                case Store():
                    self._store(one)
                case Each():
                    self._each(one)
                case Make():
                    self._make(one)
                case Sum():
                    self._sum(one)
                case Dot():
                    self._dot(one)
        for name in kept:
            self.push_variable(name, f"old_{self.name(name)}")
        for name in self._temporaries(block):
            self.push_variable(name, self.name(name))
        for let in self._logged(block):
            self.push(let.name if let.expr.kind == "f" else f"as_float({let.name})")
        self._close()

    def _temporaries(self, block: Block) -> list[str]:
        names = [one.name for one in block.body if isinstance(one, Assign) and is_temporary(one.name)]
        names += [one.variable for one in block.body if isinstance(one, (Sum, Dot))]
        return [name for name in names if name in self.plan.variables]

    def _kept(self, block: Block) -> list[str]:
        names = [one.name for one in block.body if isinstance(one, Assign) and not is_temporary(one.name)]
        return [name for name in names if name in self.plan.variables]

    def _logged(self, block: Block) -> list[Let]:
        back = derivative._back_block(self.program, block, self.plan)
        return [one for one in back.lets if is_logged(self.program, block, one)]

    def _keeps(self, array: str) -> bool:
        return self.program.arrays[array].memory in self.plan.memory

    def _store(self, one: Store) -> None:
        element = self.element(one.array, one.index)
        kind = self.program.arrays[one.array].kind
        self._open(f"const {_C[kind]} v = {self.expr(one.expr)};")
        if self._keeps(one.array):
            self.push(element if kind == "f" else f"as_float({element})")
        self.say(f"{element} = v;")
        self._close()

    def _loops(self, names: Sequence[str], extents: Sequence[str]) -> None:
        for name, extent in zip(names, extents, strict=True):
            self.say(f"for (I {name} = 0; {name} < {extent}; {name}++)")

    def _flat(self, names: Sequence[str], extents: Sequence[str]) -> str:
        flat = "0"
        for number, (name, extent) in enumerate(zip(names, extents, strict=True)):
            flat = name if number == 0 else f"({flat}) * {extent} + {name}"
        return flat

    def _each(self, one: Each) -> None:
        extents = [self.expr(x) for x in one.extents]
        size = " * ".join(f"({x})" for x in extents) or "1"
        element, flat = self.element(one.array, one.index), self._flat(one.names, extents)
        kind = self.program.arrays[one.array].kind
        c, keeps = _C[kind], self._keeps(one.array) and not self.program.arrays[one.array].is_local
        self._open(f"const I size = {size};")
        if keeps:
            self.say("ROOM(size); F *restrict w = log_p; log_p += size;")
        kept = f"w[{flat}] = {element if kind == 'f' else f'as_float({element})'};" if keeps else ""
        if one.is_buffered:
            self.say(f"{c} *restrict b = ({c} *)scratch(f, size);")
            self._loops(one.names, extents)
            self.say(f"    b[{flat}] = {self.expr(one.expr)};")
            self._loops(one.names, extents)
            self.say(f"    {{ {kept} {element} = b[{flat}]; }}")
        else:
            self._loops(one.names, extents)
            self.say(f"    {{ {kept} {element} = {self.expr(one.expr)}; }}")
        self._close()

    def _make(self, one: Make) -> None:
        a, ndim = self.array[one.array], self.program.arrays[one.array].ndim
        old = " * ".join(f"{a}_n{axis}" for axis in range(ndim))
        new = " * ".join(f"({self.expr(x)})" for x in one.extents)
        if self._keeps(one.array):
            self.say(f"{{ const I old = {old}; ROOM(old); memcpy(log_p, {a}, old * 8); log_p += old; }}")
        for axis in range(ndim):
            self.push_integer(f"{a}_n{axis}")
        for axis, x in enumerate(one.extents):
            self.say(f"const I new_{a}_{axis} = {self.expr(x)};")
        self.say(f"make(L{a}, {new}, {int(self._has_shadow(one.array))}); {a} = L{a}->memory;")
        for axis in range(ndim):
            self.say(f"{a}_n{axis} = new_{a}_{axis};")

    def _has_shadow(self, array: str) -> bool:
        one = self.program.arrays[array]
        return one.kind == "f" and one.memory in self.plan.active_memory

    def _sum(self, one: Sum) -> None:
        n = self.expr(one.extent)
        self._open(f"F *restrict b = scratch(f, {n});")
        self._loops([one.name], [n])
        self.say(f"    b[{one.name}] = {self.expr(one.expr)};")
        self.say(f"{self.name(one.variable)} = pairwise((char *)b, {n}, 8);")
        self._close()

    def _vector(self, one: Load, name: str) -> tuple[str, str]:
        """Where a vector begins, and the distance from one element to the next."""
        here = [_with(x, name, 0) for x in one.index]
        there = [_with(x, name, 1) for x in one.index]
        first, second = self.element(one.array, here), self.element(one.array, there)
        return f"(char *)&({first})", f"((char *)&({second}) - (char *)&({first}))"

    def _dot(self, one: Dot) -> None:
        (a, sa), (b, sb) = self._vector(one.left, one.name), self._vector(one.right, one.name)
        self.say(f"{self.name(one.variable)} = numpy_dot(f, {a}, {sa}, {b}, {sb}, {self.expr(one.extent)});")

    # Back.

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
                self._open(f"const I count = {self.pop_integer()};")
                self._backs(one.before)
                self.say("for (I k = 0; k < count; k++) {")
                self._backs(one.body)
                self._backs(one.before)
                self.say("}")
                self._close()
            case BackIf():
                self._open(f"const B c = {self.pop_integer()};")
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
            popped = self.pop() if let.expr.kind == "f" else self.pop_integer()
            self.say(f"const {_C[let.expr.kind]} {let.name} = {popped};")
        for name in reversed(self._temporaries(block)):
            popped = self.pop() if self.program.variables[name] == "f" else self.pop_integer()
            self.say(f"{self.name(name)} = {popped};")
        for name in reversed(self._kept(block)):
            popped = self.pop() if self.program.variables[name] == "f" else self.pop_integer()
            self.say(f"{self.name(name)} = {popped};")
        logged = {let.name for let in self._logged(block)}
        for let in one.lets:
            if let.name not in logged:
                self.say(f"const {_C[let.expr.kind]} {let.name} = {self.expr(let.expr)};")
        for name in one.shadows:
            self.say(f"F d{name} = 0;")
        for each in one.body:
            self._back_one(each)
        self._close()

    def _back_one(self, one: Stmt) -> None:
        match one:
            case Add():
                self._add(one)
            case Let():
                self.say(f"const F {one.name} = {self.expr(one.expr)};")
            case Back(of=Assign() as of):
                if self._is_active(of.name):
                    x = self.name(of.name)
                    self._open(f"const F ct = d{x}; d{x} = 0;")
                    self._shares(one.share)
                    self._close()
            case Back(of=Store() as of):
                self._back_store(one, of)
            case Back(of=Each() as of):
                self._back_each(one, of)
            case Back(of=Make() as of):
                self._back_make(of)
            case Back(of=Sum() as of) | Back(of=Dot() as of):
                if one.share:
                    x = self.name(of.variable)
                    self._open(f"const F ct = d{x}; d{x} = 0;")
                    self._loops([of.name], [self.expr(of.extent)])
                    self.say("{")
                    self._shares(one.share)
                    self.say("}")
                    self._close()

    def _shares(self, share: Sequence[Stmt]) -> None:
        self.depth += 1
        for one in share:
            self._back_one(one)
        self.depth -= 1

    def _add(self, one: Add) -> None:
        if isinstance(one.target, Var):
            self.say(f"d{self.name(one.target.name)} += {self.expr(one.expr)};")
        else:
            self.say(f"{self.element(one.target.array, one.target.index, True)} += {self.expr(one.expr)};")

    def _back_store(self, one: Back, of: Store) -> None:
        if not one.has_shadow and not one.restores:
            return
        kind = self.program.arrays[of.array].kind
        self._open()
        if one.has_shadow and kind == "f":
            shadow = self.element(of.array, of.index, True)
            self.say(f"const F ct = {shadow}; {shadow} = 0;")
        if one.restores:
            self.say(f"{self.element(of.array, of.index)} = {self.pop() if kind == 'f' else self.pop_integer()};")
        self._shares(one.share)
        self._close()

    def _back_each(self, one: Back, of: Each) -> None:
        array = self.program.arrays[of.array]
        kind, restores = array.kind, one.restores and not array.is_local
        has_shadow = one.has_shadow and kind == "f"
        if not has_shadow and not restores:
            return
        extents = [self.expr(x) for x in of.extents]
        size = " * ".join(f"({x})" for x in extents) or "1"
        flat, element = self._flat(of.names, extents), self.element(of.array, of.index)
        shadow = self.element(of.array, of.index, True)
        self._open(f"const I size = {size};")
        if restores:
            self.say("BACK(); log_p -= size; const F *restrict w = log_p;")
        restored = f"{element} = {f'w[{flat}]' if kind == 'f' else f'as_integer(w[{flat}])'};" if restores else ""
        taken = f"{shadow}; {shadow} = 0;" if has_shadow else ""
        adds = [k for k, x in enumerate(one.share) if isinstance(x, Add)] if has_shadow else []
        if not of.is_buffered and len(adds) < 2:
            self._loops(of.names, extents)
            self.say(f"{{ {f'const F ct = {taken}' if taken else ''} {restored}")
            self._shares(one.share if has_shadow else ())
            self.say("}")
        elif of.is_buffered:
            self.say("F *restrict b = scratch(f, size);")
            self._loops(of.names, extents)
            self.say(f"    {{ {f'b[{flat}] = {taken}' if taken else ''} {restored} }}")
            self._loops(of.names[:-1], extents[:-1])
            self._adds(one.share, adds, of.names[-1:], extents[-1:], flat)
        else:
            # Row by row, each input by itself: the compiler can do several elements of one at a time.
            last = of.names[-1:]
            self.say(f"F *restrict b = scratch(f, {extents[-1] if last else 1});")
            self._loops(of.names[:-1], extents[:-1])
            self.say("{")
            self._loops(last, extents[-1:])
            self.say(f"    {{ b[{last[0] if last else 0}] = {taken} {restored} }}")
            self._adds(one.share, adds, last, extents[-1:], last[0] if last else "0")
            self.say("}")
        self._close()

    def _adds(self, share: Sequence[Stmt], adds: list[int], names: Sequence[str], extents: list[str], at: str) -> None:
        """A loop for each input of an elementwise statement, whose cotangents lie in `b`."""
        self.say("{")
        self.depth += 1
        for k in adds:
            self._loops(names, extents)
            self.say(f"{{ const F ct = b[{at}];")
            self._shares([x for x in share[:k] if isinstance(x, Let)] + [share[k]])
            self.say("}")
        self.depth -= 1
        self.say("}")

    def _back_make(self, of: Make) -> None:
        a, ndim = self.array[of.array], self.program.arrays[of.array].ndim
        for axis in reversed(range(ndim)):
            self.say(f"{a}_n{axis} = {self.pop_integer()};")
        if self._keeps(of.array):
            old = " * ".join(f"{a}_n{axis}" for axis in range(ndim))
            self.say(f"{{ const I old = {old}; BACK(); log_p -= old; memcpy({a}, log_p, old * 8); }}")


def _size(kind: str) -> int:
    return 1 if kind == "b" else 8


def _literal(expr: Const) -> str:
    if expr.kind == "f":
        value = float(expr.value)
        if value != value:
            return "(F)NAN"
        if value in (float("inf"), float("-inf")):
            return "(F)INFINITY" if value > 0 else "(-(F)INFINITY)"
        return f"({value.hex()})"
    return f"((I){int(expr.value)})" if expr.kind == "i" else str(int(bool(expr.value)))


def _with(expr: Expr, name: str, value: int) -> Expr:
    """An index with a number in the place of a loop's name."""
    if isinstance(expr, Var) and expr.name == name:
        return Const("i", value)
    if isinstance(expr, Op):
        return Op(expr.kind, expr.name, tuple(_with(x, name, value) for x in expr.args))
    return expr
