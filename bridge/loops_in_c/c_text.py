"""What both passes are printed with: names, expressions, elements of arrays, loops over elements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from bridge.loops_in_c import derivative
from bridge.loops_in_c.derivative import Plan, is_logged, is_temporary
from bridge.loops_in_c.functions import FUNCTIONS
from bridge.loops_in_c.ir import (
    Assign,
    Block,
    Callback,
    Const,
    Dot,
    Expr,
    Let,
    Load,
    Op,
    Program,
    Reduce,
    Size,
    Stmt,
    Stride,
    Var,
)
from bridge.loops_in_c.kinds import KINDS, is_float, is_integer, is_narrow

C_KINDS = {name: one.number for name, one in KINDS.items()}


_NAME = re.compile(r"\b[A-Za-z_]\w*")
_ADDED = re.compile(r"\{ ([dm]\w+) (?:\+=|=)|; ([dm]\w+) = 1;")
_LARGE = 24
"""Statements above which loops over elements become functions of their own."""


def _statements(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """The blocks of a program."""
    for one in body:
        if isinstance(one, Block):
            yield one
        for part in vars(one).values():
            if isinstance(part, list):
                yield from _statements([x for x in part if isinstance(x, Stmt)])


class Text:
    """C in the making, of one program under one plan.

    Attributes
    ----------
    given, local : the arrays that the frame hands over, and those that the loop makes.
    marks : whether the way back carries beside each cotangent whether it exists.
    order : the variables, in the order in which the frame holds them.
    """

    def __init__(self, program: Program, plan: Plan, marks: bool = False) -> None:
        self.program, self.plan, self.marks = program, plan, marks
        self.array = {name: f"a{k}" for k, name in enumerate(program.arrays)}
        self.given = [name for name, one in program.arrays.items() if not one.is_local]
        self.local = [name for name, one in program.arrays.items() if one.is_local]
        self.variable = {name: f"x{k}" for k, name in enumerate(program.variables)}
        self.order = list(program.variables)
        self.lines: list[str] = []
        self.depth = 1
        self.functions: list[str] = []
        self.is_large = sum(1 for _ in _statements(program.body)) > _LARGE
        self.types = self._types()

    def _types(self) -> dict[str, str]:
        """What C declares, with its type."""
        found = {"size": "I", "f": "Frame *"}
        for name, a in self.array.items():
            found |= {f"{part}{a}": "char *" for part in ("", "d", "m")}
            found |= {f"{a}_{what}{axis}": "I" for what in "ns" for axis in range(self.program.arrays[name].ndim)}
        for name, x in self.variable.items():
            found |= {x: C_KINDS[self.program.variables[name]], f"d{x}": "F", f"m{x}": "F"}
        return found

    @contextmanager
    def apart(self, **types: str) -> Iterator[None]:
        """Print loops as a function of their own, if the program is large: compilers are slow with large functions.

        `types` declares what the loops read besides arrays and variables. They assign to memory and shadows.
        """
        if not self.is_large:
            yield
            return
        before, self.lines = self.lines, []
        depth, self.depth = self.depth, 1
        yield
        body, self.lines, self.depth = self.lines, before, depth
        known = self.types | types
        read = dict.fromkeys(x for line in body for x in _NAME.findall(line) if x in known)
        added = [
            x for x in dict.fromkeys(x for line in body for pair in _ADDED.findall(line) for x in pair) if x in read
        ]
        parameters = ", ".join(f"{known[x]} *{x}_" if x in added else f"{known[x]} {x}" for x in read)
        name = f"part{len(self.functions)}"
        first = [f"    {known[x]} {x} = *{x}_;" for x in added]
        last = [f"    *{x}_ = {x};" for x in added]
        self.functions.append("\n".join([f"static APART void {name}({parameters}) {{", *first, *body, *last, "}"]))
        self.say(f"{name}({', '.join(f'&{x}' if x in added else x for x in read)});")

    def say(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def _open(self, text: str = "") -> None:
        self.say("{ " + text)
        self.depth += 1

    def _close(self) -> None:
        self.depth -= 1
        self.say("}")

    def _is_active(self, name: str) -> bool:
        return name in self.plan.active_variables and is_float(self.program.variables[name])

    def expr(self, expr: Expr) -> str:
        match expr:
            case Const():
                return _literal(expr)
            case Var():
                return self.name(expr.name)
            case Size():
                return f"{self.array[expr.array]}_n{expr.axis}"
            case Stride():
                return f"{self.array[expr.array]}_s{expr.axis}"
            case Load():
                return self.element(expr.array, expr.index)
            case Op():
                return self._op(expr)
        raise AssertionError(expr)

    def _op(self, expr: Op) -> str:
        args = [self.expr(one) for one in expr.args]
        if expr.name == "cast":
            return _cast(args[0], expr.args[0].kind, expr.kind)
        function = FUNCTIONS[expr.name]
        inner = expr.args[-1].kind
        single = function.single if inner == "f4" else ""
        template = single or (
            function.text if is_float(inner) and function.text else function.integers or function.text
        )
        # What is computed in float64 from operands of float32, and rounded once, is what float32 makes of them.
        return f"((S){template.format(*args)})" if expr.kind == "f4" else template.format(*args)

    def name(self, name: str) -> str:
        if name.startswith("d:"):
            return f"d{self.name(name[2:])}"
        return self.variable.get(name) or name.removeprefix(".")

    def element(self, array: str, index: Sequence[Expr], part: str = "") -> str:
        one, a = self.program.arrays[array], self.array[array]
        kind = KINDS[one.kind].element
        if one.is_local:
            place = "0"
            for axis, x in enumerate(index):
                place = self.expr(x) if axis == 0 else f"({place}) * {a}_n{axis} + {self.expr(x)}"
            return f"(({kind} *){part}{a})[{place}]"
        terms = " + ".join(f"({self.expr(x)}) * {a}_s{axis}" for axis, x in enumerate(index))
        return f"*({kind} *)({part}{a}{' + ' + terms if terms else ''})"

    def _walked(self, one: Load, names: Sequence[str], part: str = "") -> tuple[str, list[str]]:
        """The address of an element where these names are 0, and the distance that each of them goes by one step."""
        here = [replaced(x, dict.fromkeys(names, 0)) for x in one.index]
        first = self.element(one.array, here, part)
        steps = []
        for name in names:
            there = [replaced(x, {**dict.fromkeys(names, 0), name: 1}) for x in one.index]
            steps.append(f"((char *)&({self.element(one.array, there, part)}) - (char *)&({first}))" if name else "0")
        return f"(char *)&({first})", steps

    def _loops(self, names: Sequence[str], extents: Sequence[str], is_reversed: bool = False) -> None:
        for name, extent in zip(map(self.name, names), extents, strict=True):
            if is_reversed:
                self.say(f"for (I {name} = {extent} - 1; {name} >= 0; {name}--)")
            else:
                self.say(f"for (I {name} = 0; {name} < {extent}; {name}++)")

    def _elementwise(
        self,
        names: Sequence[str],
        extents: Sequence[str],
        exprs: Sequence[Expr],
        body: Callable[[Sequence[Expr]], None],
        before: str = "",
    ) -> None:
        """Loops over elements. `body` prints one, which reads these expressions, after the C text `before`.

        NumPy's inner loops compute vectors of up to `VECTOR` elements first: for single ones, they take long.
        """
        calls = list(dict.fromkeys(op for one in exprs for op in calls_of_numpy(one))) if names else []
        if not calls:
            self._loops(names, extents)
            self.say(f"{{ {before}")
            body(exprs)
            self.say("}")
            return
        self._loops(names[:-1], extents[:-1])
        last, extent = self.name(names[-1]), extents[-1]
        first, end, count = (f"{last}_{word}" for word in ("first", "end", "count"))
        self.say(f"for (I {first} = 0; {first} < {extent}; {first} += VECTOR) {{")
        self.depth += 1
        self.say(f"const I {end} = min_of({first} + VECTOR, {extent}), {count} = {end} - {first};")
        each = f"for (I {last} = {first}; {last} < {end}; {last}++)"
        vectors: dict[Expr, Expr] = {}
        for number, op in enumerate(calls):
            c, loop = C_KINDS[op.kind], FUNCTIONS[op.name].loop
            assert loop is not None
            vector, *args = (f"{last}_v{number}_{k}" for k in range(len(op.args) + 1))
            self.say(f"{c} {', '.join(f'{one}[VECTOR]' for one in (*args, vector))};")
            for arg, x in zip(args, op.args, strict=True):
                self.say(f"{each} {arg}[{last} - {first}] = {self.expr(_with(x, vectors))};")
            pointers = ", ".join(f"(char *){one}" for one in (*args, vector))
            steps = ", ".join([f"sizeof({c})"] * (len(args) + 1))
            self.say(f"call_numpy(f, {loop + (c == 'S')}, (char *[]){{{pointers}}}, &{count}, (const I[]){{{steps}}});")
            vectors[op] = Var(op.kind, f"{vector}[{last} - {first}]")
        self.say(f"{each} {{ {before}")
        body([_with(one, vectors) for one in exprs])
        self.say("}")
        self._close()

    def _size(self, extents: Sequence[str]) -> str:
        return " * ".join(f"({x})" for x in extents) or "1"

    def _gathered(self, one: Reduce, is_back: bool = False) -> str:
        """Put the values that are reduced into `b`; returns the call that reduces them."""
        kind = "f" if is_float(one.expr.kind) else "i"
        if kind == "f" and one.how in ("sum", "prod") and not is_back:
            kind = one.expr.kind
        extents = [self.expr(x) for x in one.extents]
        self.say(f"const I size = {self._size(extents)};")
        room = "2 * size" if one.how == "prod" else "size"
        self.say(f"{C_KINDS[kind]} *restrict b = ({C_KINDS[kind]} *)scratch(f, {room});")
        place = f"b[{self._flat(one.names, extents)}]"
        self._elementwise(one.names, extents, [one.expr], lambda x: self.say(f"{place} = {self.expr(x[0])};"))
        return f"{one.how}_{C_KINDS[kind]}(b, size)"

    def _flat(self, names: Sequence[str], extents: Sequence[str]) -> str:
        flat = "0"
        for number, (name, extent) in enumerate(zip(map(self.name, names), extents, strict=True)):
            flat = name if number == 0 else f"({flat}) * {extent} + {name}"
        return flat

    def _given(self, one: Callback, parts: Sequence[str]) -> None:
        """Hand the arrays to a callback: memory, or also shadow and mark."""
        fields = {"": "memory", "d": "shadow", "m": "mark"}
        for k, (names, extents, load) in enumerate(zip(one.names, one.extents, one.loads, strict=True)):
            for part in parts:
                has = not part or self._has_shadow(load.array)
                address = self._walked(load, names, part)[0] if has else "0"
                self.say(f"f->given[{k}].{fields[part]} = {address};")
            for axis, (step, extent) in enumerate(zip(self._walked(load, names)[1], extents, strict=True)):
                self.say(f"f->given[{k}].strides[{axis}] = {step};")
                self.say(f"f->given[{k}].extents[{axis}] = {self.expr(extent)};")

    def _temporaries(self, block: Block) -> list[str]:
        names = [one.name for one in block.body if isinstance(one, Assign) and is_temporary(one.name)]
        names += [one.variable for one in block.body if isinstance(one, (Reduce, Dot)) and one.variable]
        return [name for name in names if name in self.plan.variables]

    def _kept(self, block: Block) -> list[str]:
        names = [one.name for one in block.body if isinstance(one, Assign) and not is_temporary(one.name)]
        return [name for name in names if name in self.plan.variables]

    def _logged(self, block: Block) -> list[Let]:
        if self.plan.is_forward:
            return []
        back = derivative._back_block(self.program, block, self.plan)
        return [one for one in back.lets if is_logged(self.program, block, one)]

    def _keeps(self, array: str) -> bool:
        return self.program.arrays[array].memory in self.plan.memory

    def _has_shadow(self, array: str) -> bool:
        one = self.program.arrays[array]
        return is_float(one.kind) and one.memory in self.plan.active_memory

    def _logs(self, kind: str, value: str) -> str:
        """A number as an entry of the log."""
        return value if is_float(kind) else f"as_float({value})"

    def _unlogged(self, kind: str, value: str) -> str:
        """A number that was an entry of the log."""
        return value if is_float(kind) else f"as_integer({value})"


def replaced(expr: Expr, values: Mapping[str, int]) -> Expr:
    """An index with numbers in the place of the names of loops."""
    if isinstance(expr, Var) and expr.name in values:
        return Const("i", values[expr.name])
    if isinstance(expr, Op):
        return Op(expr.kind, expr.name, tuple(replaced(x, values) for x in expr.args))
    return expr


def calls_of_numpy(expr: Expr) -> Iterator[Op]:
    """The calls of NumPy's inner loops in an expression that each element needs, after those in their arguments."""
    if not isinstance(expr, Op) or FUNCTIONS[expr.name].is_lazy:
        return
    for one in expr.args:
        yield from calls_of_numpy(one)
    if FUNCTIONS[expr.name].loop is not None and all(one.kind == expr.kind for one in expr.args):
        yield expr


def _with(expr: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """An expression with values in the place of some of its parts."""
    if expr in values:
        return values[expr]
    return Op(expr.kind, expr.name, tuple(_with(x, values) for x in expr.args)) if isinstance(expr, Op) else expr


def _literal(expr: Const) -> str:
    if is_float(expr.kind):
        value, c = float(expr.value), C_KINDS[expr.kind]
        if value != value:
            return f"({c})NAN"
        if value in (float("inf"), float("-inf")):
            return f"({c})INFINITY" if value > 0 else f"(-({c})INFINITY)"
        return f"({value.hex()})" if expr.kind == "f" else f"(({c}){value.hex()})"
    return f"((I){int(expr.value)})" if is_integer(expr.kind) else str(int(bool(expr.value)))


def _cast(value: str, kind: str, to: str) -> str:
    """A number as another kind; what does not fit into an integer of fewer bits wraps around."""
    if to == "f4" and kind == "i":
        return f"single_of({value})"
    return f"(({C_KINDS[to]})({KINDS[to].element}){value})" if is_narrow(to) else f"(({C_KINDS[to]}){value})"
