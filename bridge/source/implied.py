"""Special methods that a piece of syntax calls without naming them."""

from __future__ import annotations

import ast

NAMES = frozenset({
    "__abs__", "__add__", "__and__", "__bool__", "__call__", "__contains__", "__delitem__", "__divmod__", "__enter__",
    "__eq__", "__exit__", "__float__", "__floordiv__", "__ge__", "__getitem__", "__gt__", "__iadd__", "__iand__",
    "__ifloordiv__", "__ilshift__", "__imatmul__", "__imod__", "__imul__", "__index__", "__int__", "__invert__",
    "__ior__", "__ipow__", "__irshift__", "__isub__", "__iter__", "__itruediv__", "__ixor__", "__le__", "__len__",
    "__lshift__", "__lt__", "__matmul__", "__mod__", "__mul__", "__ne__", "__neg__", "__next__", "__or__", "__pos__",
    "__pow__", "__radd__", "__rand__", "__rdivmod__", "__reversed__", "__rfloordiv__", "__rlshift__", "__rmatmul__",
    "__rmod__", "__rmul__", "__ror__", "__round__", "__rpow__", "__rrshift__", "__rshift__", "__rsub__",
    "__rtruediv__", "__rxor__", "__setitem__", "__sub__", "__truediv__", "__xor__",
})  # fmt: skip
"""Special methods that a construct or a builtin function may call."""

OF_ONE_OBJECT = frozenset({
    "__abs__", "__bool__", "__delitem__", "__enter__", "__exit__", "__float__", "__getitem__", "__index__", "__int__",
    "__invert__", "__iter__", "__len__", "__neg__", "__next__", "__pos__", "__reversed__", "__round__", "__setitem__",
})  # fmt: skip
"""Those of them that concern one object, whatever else they are given: keys, values, exceptions."""

TRUTH = ("__bool__", "__len__")
ITERATION = ("__iter__", "__getitem__")
MANAGEMENT = ("__enter__", "__exit__")

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.MatMult: "matmul", ast.Div: "truediv", ast.Mod: "mod",
    ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or", ast.BitXor: "xor", ast.BitAnd: "and",
    ast.FloorDiv: "floordiv",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], tuple[str, ...]] = {
    ast.UAdd: ("__pos__",), ast.USub: ("__neg__",), ast.Invert: ("__invert__",), ast.Not: TRUTH,
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Eq: ("__eq__",), ast.NotEq: ("__ne__", "__eq__"), ast.Lt: ("__lt__", "__gt__"), ast.LtE: ("__le__", "__ge__"),
    ast.Gt: ("__gt__", "__lt__"), ast.GtE: ("__ge__", "__le__"), ast.In: ("__contains__", "__eq__", *ITERATION),
    ast.NotIn: ("__contains__", "__eq__", *ITERATION),
}  # fmt: skip


def implied(node: ast.AST) -> tuple[str, ...]:
    """The special methods of its operands that an expression or an augmented assignment may call."""
    if isinstance(node, ast.BinOp):
        return f"__{_BINARY[type(node.op)]}__", f"__r{_BINARY[type(node.op)]}__"
    if isinstance(node, ast.AugAssign):
        name = _BINARY[type(node.op)]
        return f"__i{name}__", f"__{name}__", f"__r{name}__"
    if isinstance(node, ast.UnaryOp):
        return _UNARY[type(node.op)]
    if isinstance(node, ast.Compare):
        return tuple(name for op in node.ops for name in _COMPARED.get(type(op), ()))
    if isinstance(node, ast.Subscript):
        return ("__getitem__",)
    if isinstance(node, ast.IfExp):
        return TRUTH
    return ()
