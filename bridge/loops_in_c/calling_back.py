"""Expressions that are not compiled, and that Python computes in the middle of a loop: calls of NumPy and SciPy.

Their operands are arrays and numbers. What the results are (dtype, axes) is found by a trial, on arrays of the shapes
that the loop begins with. Compiled code stops where a result is another kind of thing.
"""

from __future__ import annotations

import ast
import inspect
import operator
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from bridge.loops_in_c.aliasing import Aliasing
from bridge.loops_in_c.callbacks import Expression, Result, put
from bridge.loops_in_c.ir import Callback, Const, Expr, Load, Op, Size, Var
from bridge.loops_in_c.kinds import BY_DTYPE, BY_TYPE, KINDS, is_float, is_integer
from bridge.loops_in_c.values import ONE, ZERO, Axis, Elements, Known, NotCompiled, Number, Several, Value
from bridge.rewind.interpreter import ARRAYS
from bridge.rulebook import book
from bridge.source import callees
from bridge.source.finding import code_of

_METHODS = frozenset(
    {
        "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "compress", "conj", "copy", "cumprod",
        "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "nonzero", "prod", "ptp", "ravel", "repeat",
        "reshape", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var",
    }
)  # fmt: skip
"""Methods of arrays that change nothing."""
_MOVING = frozenset(
    {
        "append", "argmax", "argmin", "argsort", "array", "array_split", "atleast_1d", "atleast_2d", "broadcast_to",
        "bincount", "column_stack", "compress", "concatenate", "delete", "diag", "diagonal", "dstack", "eye",
        "flatten", "flip", "fliplr", "flipud", "full", "hstack", "identity", "indices", "insert", "meshgrid",
        "moveaxis", "nonzero", "pad", "ravel", "repeat", "reshape", "roll", "rollaxis", "rot90", "searchsorted",
        "sort", "split", "squeeze", "stack", "swapaxes", "take", "tile", "transpose", "tri", "tril", "triu", "vstack",
        "where",
    }
)  # fmt: skip
"""Functions and methods that move elements and compute none."""
_SIMPLE = (type(None), bool, int, float, str, type, np.dtype, type(Ellipsis), np.generic)
_PYTHONS = {"f": float, "i": int, "b": bool}
_LARGE = 1 << 22
"""Elements of an operand above which no trial is made."""
_EXAMPLES: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "max": max, "min": min,
}  # fmt: skip


class Unknown(Exception):
    """There is no example of a value."""


class CallingBack(Aliasing):
    """Reads expressions that Python computes.

    Attributes
    ----------
    callbacks : those that have been read.
    shapes, examples : shapes of arrays and values of variables, as they may be.
    """

    callbacks: list[Expression]
    shapes: dict[str, tuple[int, ...]]
    examples: dict[str, Any]
    copy: str

    def _of_Call(self, node: ast.Call) -> Value:
        return self._compiled_or_called(node, super()._of_Call)

    def method(self, base: Elements, name: str, node: ast.Call) -> Value:
        if name == "reshape" and not node.keywords:
            args = [self.value(one) for one in node.args]
            return self.reshaped(base, args[0] if len(args) == 1 else Several(tuple(args)), node)
        return super().method(base, name, node)

    def reshaped(self, base: Elements, shape: Value, node: ast.AST) -> Value:
        """A view with other axes of one element; of other shapes, Python computes it."""
        items = shape.items if isinstance(shape, Several) else (shape,)
        extents = [self.index_of(one) for one in items]
        long = [k for k, one in enumerate(extents) if one != ONE]
        own = [k for k, one in enumerate(base.extents) if one != ONE]
        if len(long) != len(own):
            self.refuse("reshape", node)
        for one, other in zip([extents[k] for k in long], [base.extents[k] for k in own], strict=True):
            if one == Const("i", -1) and long:
                continue
            if one != other:
                if self._may_differ(one, other):
                    self.refuse("reshape", node)
                self.check(Op("b", "eq", (self.let(one), other)))
        squeezed = self.squeezed(base, own)
        return (
            self.widened(squeezed, [k for k in range(len(extents)) if k not in long])
            if len(long) < len(extents)
            else squeezed
        )

    def _may_differ(self, one: Expr, other: Expr) -> bool:
        try:
            return self.example(one) != self.example(other)
        except Unknown:
            return True

    def squeezed(self, base: Elements, own: Sequence[int]) -> Elements:
        """A value with some of its axes. The others have one element."""
        extents = tuple(base.extents[k] for k in own)
        if base.is_copy or base.array is None:
            at, count = base.at, len(base.extents)
            return Elements(
                base.kind,
                extents,
                lambda q: at(tuple(q[own.index(k)] if k in own else ZERO for k in range(count))),
                is_part=base.is_part,
            )
        axes = tuple(
            one
            if one.axis is None
            else Axis(one.start, one.step, own.index(one.axis))
            if one.axis in own
            else Axis(one.start)
            for one in base.view
        )
        return self._viewed(base.array, extents, axes, base.shared)

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        return self._compiled_or_called(node, super()._of_Subscript)

    def _compiled_or_called(self, node: Any, compiled: Callable[[Any], Value]) -> Value:
        names, count = dict(self.names), len(self.block)
        try:
            return compiled(node)
        except NotCompiled as reason:
            self.rewind(names, count)
            try:
                return self.by_python(node)
            except NotCompiled as other:
                self.rewind(names, count)
                # A call that is not compiled in any form: the reason why Python does not compute it.
                raise (other if isinstance(node, ast.Call) and other.reason != "a call" else reason) from None

    def rewind(self, names: dict[str, Value], count: int) -> None:
        """Forget what has been read of a statement since then."""
        self.names.clear()
        self.names.update(names)
        del self.block[count:]

    def make(self, local: str, value: Elements) -> Elements:
        self._note_shape(local, value.extents)
        return super().make(local, value)

    def temporary(self, kind: str, extents: tuple[Expr, ...]) -> str:
        local = super().temporary(kind, extents)
        self._note_shape(local, extents)
        return local

    def positions(self, mask: Elements) -> list[Elements]:
        found = super().positions(mask)
        try:
            size = int(np.prod([self.example(one) for one in mask.extents]))
        except Unknown:
            return found
        for one in found:
            self.shapes[one.array or ""] = (size,)
        return found

    def _note_shape(self, local: str, extents: Sequence[Expr]) -> None:
        try:
            self.shapes[local] = tuple(max(self.example(one), 0) for one in extents)
        except Unknown:
            self.shapes.pop(local, None)

    def note_example(self, name: str, expr: Expr) -> None:
        """Record what an integer may be."""
        if is_integer(expr.kind):
            try:
                self.examples[name] = self.example(expr)
            except Unknown:
                self.examples.pop(name, None)

    def _note(self, name: str, expr: Expr) -> None:
        super()._note(name, expr)
        self.note_example(name, expr)

    def example(self, expr: Expr) -> int:
        """A value that an integer may have."""
        match expr:
            case Const():
                return int(expr.value)
            case Size() if expr.array in self.shapes:
                return self.shapes[expr.array][expr.axis]
            case Var() if isinstance(self.examples.get(expr.name), (int, np.integer)):
                return int(self.examples[expr.name])
            case Op() if expr.name in _EXAMPLES:
                a, b = map(self.example, expr.args)
                if expr.name == "floordiv" and b == 0:
                    raise Unknown
                return int(_EXAMPLES[expr.name](a, b))
            case Op(name="select"):
                return self.example(expr.args[2])
        raise Unknown

    def by_python(self, node: ast.Call | ast.Subscript) -> Value:
        """An expression that Python computes."""
        spelling = Spelling(self)
        if isinstance(node, ast.Subscript):
            body: ast.expr = ast.Subscript(spelling.operand(node.value), spelling.key(node.slice), ast.Load())
        else:
            body = spelling.call(node)
        return self.computed_by_python(body, spelling, node)

    def put(self, target: ast.Subscript, value: Value) -> None:
        """Python stores a value into an array: all of it gets what a copy holds after that."""
        base = self.value(target.value)
        if not isinstance(base, Elements) or base.is_copy or base.array is None:
            self.refuse("a store into this", target)
        self.check_alone(base)
        spelling = Spelling(self)
        args = [spelling.leaf(base, target), spelling.key(target.slice), spelling.leaf(value, target)]
        self.fill(base, self.computed_by_python(ast.Call(spelling.constant(put), args, []), spelling, target))

    def fill(self, place: Elements, value: Value, is_sequential: bool = False) -> None:
        """All elements of a view are written."""
        raise NotImplementedError

    def computed_by_python(self, body: ast.expr, spelling: Spelling, node: ast.AST) -> Value:
        """What Python computes of the operands of an expression."""
        arrays = [self._laid_out(one, number, spelling.only_moves, node) for number, one in enumerate(spelling.arrays)]
        is_ordered = not any(one.array in self.unordered or one.array in self.gapped for one in arrays)
        numbers = [replace(one, expr=self.let(one.expr)) for one in spelling.numbers]
        types = []
        for one in numbers:
            kind, is_weak = one.types[0]
            if len(one.types) > 1 or kind == "?":
                # A float64 of NumPy's does what a float of Python's does, among arrays of float64.
                is_double = one.is_certain and not one.strong and kind == "f"
                if not is_double or any(is_float(x.kind) and x.kind != "f" for x in arrays):
                    self.refuse("a number of several types", node)
            types.append(_PYTHONS[kind] if is_weak else KINDS[kind].dtype.type)
        parameters = [*(f"a{k}" for k in range(len(arrays))), *(f"n{k}" for k in range(len(numbers)))]
        function = _function(body, parameters, spelling.constants, self.code.co_filename, node)
        ranks = tuple((one.kind, len(one.extents)) for one in arrays)
        results, is_several, shapes, shares = self._tried(function, arrays, numbers, types, node)
        named = self._place(node)
        locals_ = tuple(f"{named}.{k}:{one.ndim}{one.kind}" for k, one in enumerate(results))
        read = {one.array for one in arrays if one.array is not None}
        for local, result, shape in zip(locals_, results, shapes, strict=True):
            self._free(local, read)
            if not (is_ordered and result.is_contiguous):
                self.is_known = self.is_known and local in self.gapped
                self.unordered.add(local)
                self.gapped.add(local)
            # Extents are known when Python has computed it; of a number, one.
            ones = {0} if result.ndim is None else result.ones
            extents = tuple(ONE if axis in ones else Var("i", ".extent") for axis in range(result.ndim or 1))
            self.local(local, result.kind, extents)
            self.shapes[local] = shape
        names = tuple(tuple(self.new("q") for _ in one.extents) for one in arrays)
        loads = tuple(one.at(tuple(Var("i", x) for x in q)) for one, q in zip(arrays, names, strict=True))
        assert all(isinstance(one, Load) for one in loads)
        exprs = tuple(one.expr for one in numbers)
        self.block.append(
            Callback(len(self.callbacks), locals_, names, tuple(x.extents for x in arrays), loads, exprs)  # type: ignore[arg-type]
        )
        self.callbacks.append(Expression(function, ranks, tuple(types), results, is_several))
        shared: frozenset[str] = frozenset()
        for base, is_shared in zip(spelling.arrays, shares, strict=True):
            if is_shared and base.array is not None:
                shared |= base.shared | {self.arrays[base.array].memory}
        values = [self._result(*pair, shared) for pair in zip(locals_, results, strict=True)]
        return Several(tuple(values)) if is_several else values[0]

    def _result(self, local: str, result: Result, shared: frozenset[str]) -> Value:
        if result.ndim is None:
            element = Load(result.kind, local, (ZERO,))
            return Number(element, result.type in (float, int, bool))
        whole = self.whole(local)
        return self._viewed(local, whole.extents, whole.view, shared)

    def _place(self, node: Any) -> str:
        """A name for the results of an expression, which has a place in the program."""
        number = sum(isinstance(one, Callback) for one in self.block)
        return f"{self.prefix}.callback.{node.lineno}.{node.col_offset}{self.copy}.{number}"

    def _laid_out(self, value: Elements, number: int, is_moved: bool, node: Any) -> Elements:
        """An array that lies in memory as NumPy's does, unless it is only moved."""
        if not value.is_copy and value.array is not None:
            if not is_moved and (value.array in self.gapped or value.array in self.unordered):
                self.refuse("an array that may lie otherwise in memory", node)
            return value
        local = f"{self._place(node)}.{number}o:{len(value.extents)}{value.kind}"
        made = self.laid_out(local, value)
        if not is_moved and local in (self.gapped | self.unordered):
            self.refuse("an array that may lie otherwise in memory", node)
        return made

    def _tried(
        self,
        function: Callable[..., Any],
        arrays: Sequence[Elements],
        operands: Sequence[Number],
        types: Sequence[type],
        node: ast.AST,
    ) -> tuple[tuple[Result, ...], bool, list[tuple[int, ...]], list[bool]]:
        """What an expression gives for arrays of these shapes, and whether that may be memory of its operands."""
        try:
            shapes = [tuple(max(self.example(one), 0) for one in array.extents) for array in arrays]
            numbers = [
                kind(self.example(one.expr) if is_integer(one.expr.kind) else 1)
                for kind, one in zip(types, operands, strict=True)
            ]
        except Unknown:
            self.refuse("arrays of which no shape is known", node)
        if any(np.prod(shape, dtype=float) > _LARGE for shape in shapes):
            self.refuse("arrays that are too large for a trial", node)
        given = [_filled(shape, one.kind) for shape, one in zip(shapes, arrays, strict=True)]
        for array in given:
            # What writes into an operand raises.
            array.flags.writeable = False
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = function(*given, *numbers)
        except Exception as error:  # whatever the library raises for these operands
            self.refuse(f"a call that raises for other values ({type(error).__name__})", node)
        is_several = isinstance(found, (tuple, list))
        parts = list(found) if is_several else [found]
        results = tuple(_described(part) or self.refuse("a call with such a result", node) for part in parts)
        shares = [any(isinstance(x, np.ndarray) and np.may_share_memory(x, one) for x in parts) for one in given]
        if is_several and any(shares):
            self.refuse("a call that gives several views", node)
        return results, is_several, [np.shape(one) or (1,) for one in parts], shares


class Spelling:
    """An expression with parameters in the place of its operands.

    Attributes
    ----------
    arrays, numbers : the operands.
    constants : objects that are known, by the names that stand for them.
    only_moves : whether elements are moved, not computed, so that no bit of the result depends on how memory lies.
    """

    def __init__(self, reader: CallingBack) -> None:
        self.reader = reader
        self.arrays: list[Elements] = []
        self.numbers: list[Number] = []
        self.constants: dict[str, Any] = {}
        self.only_moves = True

    def call(self, node: ast.Call) -> ast.expr:
        """A call of a function or a method that changes nothing."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            base = self.reader.value(node.func.value)
            if isinstance(base, Elements):
                function: ast.expr = ast.Attribute(self.leaf(base, node), node.func.attr, ast.Load())
                self.only_moves = node.func.attr in _MOVING
                return self._with_arguments(function, node)
        found = self.reader.known(node.func)
        if not _is_pure(found):
            self.reader.refuse("a call", node)
        if found in book.STAND_INS:
            names = list(inspect.signature(book.STAND_INS[found]).parameters)[: len(node.args)]
            if any(one.startswith("overwrite") for one in names):
                self.reader.refuse("a call that may write into its operands", node)
        self.only_moves = found.__name__ in _MOVING
        return self._with_arguments(self.constant(callees.of(found)), node)

    def _with_arguments(self, function: ast.expr, node: ast.Call) -> ast.expr:
        if any(one.arg in (None, "out") or one.arg.startswith("overwrite") for one in node.keywords):
            self.reader.refuse("a call with such keywords", node)
        keywords = [ast.keyword(one.arg, self.operand(one.value)) for one in node.keywords]
        return ast.Call(function, [self.operand(one) for one in node.args], keywords)

    def operand(self, node: ast.expr) -> ast.expr:
        """A part of the expression."""
        if isinstance(node, ast.List):
            return ast.List([self.operand(one) for one in node.elts], ast.Load())
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self.operand(one) for one in node.elts], ast.Load())
        if isinstance(node, ast.Starred):
            self.reader.refuse("a call with *", node)
        return self.leaf(self.reader.value(node), node)

    def key(self, node: ast.expr) -> ast.expr:
        """The key of an item."""
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self.key(one) for one in node.elts], ast.Load())
        if isinstance(node, ast.Slice):
            bounds = [ast.Constant(None) if one is None else self.operand(one) for one in
                      (node.lower, node.upper, node.step)]  # fmt: skip
            return ast.Call(self.constant(slice), bounds, [])
        return self.operand(node)

    def leaf(self, value: Value, node: ast.AST) -> ast.expr:
        match value:
            case Elements():
                self.arrays.append(value)
                return ast.Name(f"a{len(self.arrays) - 1}", ast.Load())
            case Number(expr=Const() as expr, weak=True):
                return self.constant(expr.value)
            case Number():
                self.numbers.append(value)
                return ast.Name(f"n{len(self.numbers) - 1}", ast.Load())
            case Several():
                kind = ast.List if value.is_list else ast.Tuple
                return kind([self.leaf(one, node) for one in value.items], ast.Load())
            case Known(path=()) if isinstance(value.value, _SIMPLE):
                return self.constant(value.value)
            case Known(path=()) if type(value.value) is np.ndarray:
                # Nothing writes into it.
                shown = value.value.view()
                shown.flags.writeable = False
                return self.constant(shown)
        self.reader.refuse("an operand of this kind", node)

    def constant(self, value: Any) -> ast.expr:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return ast.Name(name, ast.Load())


def _function(
    body: ast.expr, parameters: Sequence[str], constants: Mapping[str, Any], file: str, node: ast.AST
) -> Callable[..., Any]:
    """The function of an expression with parameters, at the line of the program where that is written."""
    arguments = ast.arguments([], [ast.arg(one) for one in parameters], None, [], [], None, [])
    definition = ast.FunctionDef("callback", arguments, [ast.Return(body)], [])
    if sys.version_info >= (3, 12):
        definition.type_params = []
    code = code_of(ast.fix_missing_locations(ast.copy_location(definition, node)), file)
    return FunctionType(code, dict(constants))


def _is_pure(function: Any) -> bool:
    """Whether a function of NumPy's, SciPy's or `math` has no effect but its result."""
    if isinstance(function, np.ufunc):
        return function.nout >= 1
    module = getattr(function, "__module__", None) or ""
    if module.partition(".")[0] not in ("numpy", "scipy", "math") or module.startswith("numpy.random"):
        return False
    try:
        is_ruled = book.find(function) is not None or function in book.ZERO_PULL or function in _MAKING
        stand_in = None if isinstance(function, type) else book.STAND_INS.get(function)
        is_ruled = is_ruled or (stand_in is not None and stand_in not in book.CALLING)
        return is_ruled and function not in book.MUTATING and function not in ARRAYS.handled
    except TypeError:
        return False


_MAKING: frozenset[Any] = frozenset(
    {np.array, np.asarray, np.full, np.eye, np.identity, np.arange, np.indices, np.zeros, np.ones, np.tri}
)
"""Functions without a rule whose results are new arrays."""


def _filled(shape: tuple[int, ...], kind: str) -> np.ndarray:
    """An array for a trial: positive numbers, of a matrix a regular one; valid indices; or a mask of all."""
    if kind == "b":
        return np.ones(shape, bool)
    if is_integer(kind):
        return np.zeros(shape, KINDS[kind].dtype)
    made = (np.arange(np.prod(shape, dtype=int), dtype=float) / 7.0 % 1.0 + 0.5).reshape(shape)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        made += shape[-1] * np.eye(shape[-1])
        made = (made + np.swapaxes(made, -1, -2)) / 2
    return made.astype(KINDS[kind].dtype)


def _described(value: Any) -> Result | None:
    """What a result is; None if compiled code does not take it."""
    kind = type(value)
    of_python = [name for name, one in _PYTHONS.items() if one is kind]
    if of_python or kind in BY_TYPE:
        return Result(of_python[0] if of_python else BY_TYPE[kind], kind)
    if kind is not np.ndarray or not 1 <= value.ndim <= 6 or value.dtype not in BY_DTYPE:
        return None
    ones = frozenset(axis for axis, extent in enumerate(value.shape) if extent == 1)
    return Result(BY_DTYPE[value.dtype], np.ndarray, value.ndim, value.flags.c_contiguous, ones)
