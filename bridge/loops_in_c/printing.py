"""The printer: the forward pass and the way back of a loop, as one C file.

Names of the program do not appear in it: arrays are `a0`, `a1`, ..., variables `x0`, `x1`, ....
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bridge.loops_in_c import derivative
from bridge.loops_in_c.c_backward import Backward
from bridge.loops_in_c.c_forward import Forward
from bridge.loops_in_c.c_text import C_KINDS
from bridge.loops_in_c.ir import For, Stmt, While
from bridge.loops_in_c.kinds import KINDS, is_float

_RUNTIME, _FLOATS = ((Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("runtime.h", "floats.h"))
_OF_KINDS = (
    f"#define REAL {c}\n#define OF(name) name##_{c}\nenum {{ MATMUL_{c} = {loop} }};\n#define MATMUL MATMUL_{c}\n"
    f"{_FLOATS}#undef REAL\n#undef OF\n#undef MATMUL\n"
    for c, loop in (("F", 0), ("S", 1))
)
HEADER = _RUNTIME + "".join(_OF_KINDS)


class Printer(Forward, Backward):
    """Prints one program under one plan."""

    def text(self) -> str:
        """The whole C file. With marks, it has only the backward pass; in forward mode, it has none."""
        if not self.marks:
            self._function("forward")
            for one in self.program.body:
                self._outermost_one(one, lambda one: self.forward(one, True))
            self._end("forward")
        if not self.plan.is_forward:
            self._function("backward")
            for one in derivative.backward(self.program, self.plan):
                self._outermost_one(one, self.back)
            self._end("backward")
        return "\n".join([HEADER, *self.functions, *self.lines, ""])

    def _outermost_one(self, one: Stmt, say: Callable[[Stmt], None]) -> None:
        """A statement of the program: what is around its loop is done once, where the loop begins."""
        is_loop = isinstance(one, (For, While, derivative.BackFor, derivative.BackWhile))
        if not is_loop:
            self.say("if (!f->first) {")
        say(one)
        if not is_loop:
            self.say("}")

    def _function(self, name: str) -> None:
        self.depth = 0
        self.say(f"void {name}(Frame *f) {{")
        self.depth = 1
        is_back = name == "backward"
        axes = 0
        for k, one in enumerate(self.given):
            array, a = self.program.arrays[one], self.array[one]
            self.say(f"char *const {a} = f->memory[{k}];")
            if is_back and array.memory in self.plan.active_memory and is_float(array.kind):
                self.say(f"char *const d{a} = f->shadow[{k}];")
                if self.marks:
                    self.say(f"char *const m{a} = f->mark[{k}];")
            for axis in range(array.ndim):
                self.say(f"const I {a}_n{axis} = f->extents[{axes}];")
                stride = (
                    f"sizeof({KINDS[array.kind].element})"
                    if array.is_packed and axis == array.ndim - 1
                    else f"f->strides[{axes}]"
                )
                self.say(f"const I {a}_s{axis} = {stride};")
                axes += 1
        for k, one in enumerate(self.local):
            array, a = self.program.arrays[one], self.array[one]
            self.say(f"Local *const L{a} = f->locals + {k};")
            self.say(f"char *{a} = L{a}->memory, *d{a} = L{a}->shadow;")
            if self.marks:
                self.say(f"char *m{a} = L{a}->mark;")
            for axis in range(array.ndim):
                self.say(f"I {a}_n{axis} = L{a}->extents[{axis}];")
        for k, name_of in enumerate(self.order):
            kind, x = self.program.variables[name_of], self.variable[name_of]
            self.say(f"{C_KINDS[kind]} {x} = f->{'floats' if is_float(kind) else 'integers'}[{k}];")
            if is_back and self._is_active(name_of):
                self.say(f"F d{x} = f->shadows[{k}];")
                if self.marks:
                    self.say(f"F m{x} = f->marks[{k}];")
        if is_back:
            self.say("F *log_begin = f->count ? f->segments[f->current].memory : 0;")
            self.say("F *log_p = f->count ? log_begin + f->segments[f->current].used : 0;")
        else:
            self.say("F *log_p = 0, *log_end = 0;")
            self.say("I done = 0;")
            self.say("f->finished = f->logged = 0;")
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
            self.say("Segment *last = f->segments + f->current;")
            self.say("if (f->count) f->logged += last->used = log_p - last->memory;")
        for one in self.local:
            a = self.array[one]
            for axis in range(self.program.arrays[one].ndim):
                self.say(f"L{a}->extents[{axis}] = {a}_n{axis};")
        for k, name_of in enumerate(self.order):
            kind, x = self.program.variables[name_of], self.variable[name_of]
            self.say(f"f->{'floats' if is_float(kind) else 'integers'}[{k}] = {x};")
            if is_back and self._is_active(name_of):
                self.say(f"f->shadows[{k}] = d{x};")
                if self.marks:
                    self.say(f"f->marks[{k}] = m{x};")
        self.depth = 0
        self.say("}")
