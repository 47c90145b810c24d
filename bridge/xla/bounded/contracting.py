"""Products: `dot`, `matmul`, `einsum` and their kin; axes with one label have one length."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from bridge.signatures import operation_name
from bridge.xla.bounded.bounded import Bounded, knows, shown, unknown
from bridge.xla.bounded.elementwise import as_operands, rank, stored
from bridge.xla.bounded.masks import dense, inside
from bridge.xla.bounded.meeting import Joint, Side, laid_out, met, side_of


def _contracted(function: Any, operands: list[Any], labels: list[str], result: str, run: Any) -> Any:
    """`run` of the static arrays: axes with one label laid out alike, zeros where nothing is there."""
    operands = [dense(x) if isinstance(x, Bounded) else x for x in operands]
    trace = next(x for x in operands if isinstance(x, Bounded)).trace
    given: dict[str, list[Side]] = {}
    for x, names in zip(operands, labels, strict=True):
        if rank(x) != len(names):
            raise ValueError(f"{operation_name(function)}: an operand has {rank(x)} axes, {len(names)} are needed")
        for axis, name in enumerate(names):
            given.setdefault(name, []).append(side_of(x, axis))
    joints = {name: met(trace, one, broadcasts=False) for name, one in given.items()}
    found = run(*[_with_zeros(trace, x, names, joints) for x, names in zip(operands, labels, strict=True)])
    return shown(found, tuple(joints[name].extent for name in result))


def _with_zeros(trace: Any, x: Any, names: str, joints: dict[str, Joint]) -> Any:
    whole = x.whole if isinstance(x, Bounded) else x
    for axis, name in enumerate(names):
        whole = laid_out(trace, whole, axis, side_of(x, axis), joints[name], broadcasts=False)
    mask = inside(trace, tuple(joints[name].size for name in names), tuple(joints[name].extent for name in names))
    return whole if mask is None else np.where(mask, whole, np.zeros((), whole.dtype)[()])


def _into(function: Any, out: Any, found: Any) -> Any:
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return found
    stored(function, out, found)
    return out


@knows(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """`np.dot`."""
    a, b = as_operands((a, b))
    if not rank(a) or not rank(b):
        return _into(np.dot, out, np.multiply(a, b))
    first = string.ascii_lowercase[: rank(a)]
    second = string.ascii_uppercase[: rank(b)]
    second = f"{second[:-2]}{first[-1]}{second[-1]}" if rank(b) > 1 else first[-1]
    result = first[:-1] + second.replace(first[-1], "")
    return _into(np.dot, out, _contracted(np.dot, [a, b], [first, second], result, np.dot))


@knows(np.matmul)
def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """`np.matmul` and `@`, of stacks only where these have static shapes."""
    a, b = as_operands((a, b))
    if not rank(a) or not rank(b):
        raise ValueError("matmul: an operand has no axes")
    if rank(a) <= 2 and rank(b) <= 2:
        found = dot(a, b)
        return _into(np.matmul, out, found)
    if rank(a) != rank(b):
        raise unknown("matmul of stacks of different numbers of axes", "use np.einsum")
    stack = string.ascii_lowercase[: rank(a) - 2]
    return _into(np.matmul, out, _contracted(np.matmul, [a, b], [f"{stack}xy", f"{stack}yz"], f"{stack}xz", np.matmul))


@knows(np.inner)
def inner(a: Any, b: Any) -> Any:
    """`np.inner`."""
    a, b = as_operands((a, b))
    if not rank(a) or not rank(b):
        return np.multiply(a, b)
    first, second = string.ascii_lowercase[: rank(a) - 1] + "z", string.ascii_uppercase[: rank(b) - 1] + "z"
    return _contracted(np.inner, [a, b], [first, second], first[:-1] + second[:-1], np.inner)


@knows(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    """`np.vdot` of arrays of one axis."""
    a, b = as_operands((a, b))
    if rank(a) != 1 or rank(b) != 1:
        raise unknown("np.vdot of arrays of several axes", "use np.sum(np.conj(a) * b)")
    return _contracted(np.vdot, [a, b], ["z", "z"], "", np.vdot)


@knows(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """`np.outer` of arrays of one axis."""
    a, b = as_operands((a, b))
    if rank(a) > 1 or rank(b) > 1:
        raise unknown("np.outer of arrays of several axes", "use np.multiply.outer, or a[:, None] * b")
    return _into(np.outer, out, np.reshape(a, (-1, 1)) * np.reshape(b, (1, -1)) if rank(a) and rank(b) else a * b)


@knows(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """`np.tensordot`."""
    a, b = as_operands((a, b))
    if isinstance(axes, int):
        axes = list(range(rank(a) - axes, rank(a))), list(range(axes))
    left, right = ([one] if isinstance(one, int) else list(one) for one in axes)
    first = list(string.ascii_lowercase[: rank(a)])
    second = list(string.ascii_uppercase[: rank(b)])
    for i, j in zip(left, right, strict=True):
        second[j] = first[i]
    shared = {first[i] for i in left}
    result = "".join(name for name in (*first, *second) if name not in shared)

    def run(x: Any, y: Any) -> Any:
        return np.tensordot(x, y, (left, right))

    return _contracted(np.tensordot, [a, b], ["".join(first), "".join(second)], result, run)


@knows(np.einsum)
def einsum(subscripts: Any, *operands: Any, out: Any = None, **kwargs: Any) -> Any:
    """`np.einsum` with letters for all axes."""
    if not isinstance(subscripts, str) or "." in subscripts or kwargs.keys() - {"optimize"}:
        raise unknown("np.einsum with an ellipsis, lists of axes or keywords", "name each axis by a letter")
    text = subscripts.replace(" ", "")
    given, arrow, result = text.partition("->")
    labels = given.split(",")
    if not arrow:
        letters = given.replace(",", "")
        result = "".join(sorted(name for name in set(letters) if letters.count(name) == 1))
    text = f"{given}->{result}"

    def run(*arrays: Any) -> Any:
        return np.einsum(text, *arrays, **kwargs)

    return _into(np.einsum, out, _contracted(np.einsum, as_operands(operands), labels, result, run))


@knows(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """`np.trace` of a square array."""
    if offset or rank(a) != 2 or (axis1, axis2) not in ((0, 1), (1, 0)) or dtype is not None or out is not None:
        raise unknown("np.trace with an offset, of more than two axes, or with dtype= or out=")
    return einsum("ii->", a)
