"""Stand-ins for arrays while a program is traced: NumPy memory with a shape, a dtype and strides, never written.

NumPy itself decides on them what is a view, which dtype a result has and which arguments are wrong. Their
memory is asked of the system zeroed and never touched, so that a large one costs nothing.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import NoRuleError, RefusedError, TraceError
from bridge.rewind.memory import ArrayMemory
from bridge.rewind.values import is_abstract, is_abstract_integer
from bridge.rulebook.facts import facts_of
from bridge.xla.regions.affine import difference
from bridge.xla.tracing.integers import affine_of
from bridge.xla.tracing.stand_ins import StandIn, distinct, of_linalg, regular, untouched


class AbstractArray(StandIn):
    """An array whose contents mean nothing. Ufuncs on it give abstract arrays, and compute nothing."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not isinstance(ufunc, np.ufunc):
            raise NoRuleError(
                f"{ufunc.__name__} is not a ufunc of NumPy's, and has no rule",
                where=resolve(here()),
                remedy="write it with NumPy functions, or give it a rule: bridge.rule(f)(pull)",
            )
        if method == "__call__":
            out = kwargs.pop("out", None)
            results = _of_gufunc(ufunc, inputs, kwargs) if ufunc.signature else _of_ufunc(ufunc, inputs, kwargs)
            if out is None:
                return results
            _check_fits(ufunc, inputs, results, out, kwargs.get("casting", "same_kind"))
            return out[0] if len(out) == 1 else out
        plain = map(_plain, inputs)
        if kwargs.get("out") is not None:
            kwargs["out"] = tuple(None if x is None else np.empty_like(x, subok=False) for x in kwargs["out"])
        if method == "reduceat":
            kwargs.pop("indices", None)  # NumPy hands it on by position as well
        if method == "reduce" and not kwargs.keys() & {"out", "where"}:
            plain = map(_narrowed, plain, [kwargs.get("axis", 0)])
        with np.errstate(all="ignore"):
            return getattr(ufunc, method)(*plain, **{name: _plain(x) for name, x in kwargs.items()})

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if getattr(function, "__module__", None) == "numpy.linalg":
            stand_in = distinct if facts_of(function).distinct else regular
            return of_linalg(function, stand_in, args, kwargs)
        if facts_of(function).nan_aware:
            return function(*map(_plain, args), **{name: _plain(x) for name, x in kwargs.items()})
        if isinstance(kwargs.get("where"), AbstractArray):
            # Nothing selected is something that NumPy warns of.
            kwargs = kwargs | {"where": np.ones(kwargs["where"].shape, bool)}
        return super().__array_function__(function, types, args, kwargs)

    def copy(self, order: Any = "C") -> Any:
        """An abstract array that lies as NumPy's copy would."""
        if order == "C" or (order == "A" and not self.flags.fnc):
            return untouched(self.shape, self.dtype).view(AbstractArray)
        if order in ("F", "A"):
            return untouched(self.shape[::-1], self.dtype).transpose().view(AbstractArray)
        return abstract_like(self)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(_known(key, self.shape))


def _narrowed(x: Any, axis: Any) -> Any:
    """An array of which a reduction along `axis` looks as that of the whole, and costs only what it returns."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    wanted = {k % max(1, x.ndim) for k in axes}
    return x[tuple(slice(1) if k in wanted else slice(None) for k in range(x.ndim))]


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, AbstractArray) else x


class AbstractMemory(ArrayMemory):
    """The memory interface on abstract arrays."""

    __slots__ = ()

    def view(self, base: Any, offset: int, like: Any) -> Any:
        return super().view(base, offset, like).view(AbstractArray)


def abstract_like(value: np.ndarray) -> AbstractArray:
    """An abstract array of the shape, dtype and order of axes of `value`."""
    if value.flags.c_contiguous:
        return untouched(value.shape, value.dtype).view(AbstractArray)
    order = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
    packed = untouched(tuple(value.shape[axis] for axis in order), value.dtype)
    return packed.transpose(np.argsort(order) if order else ()).view(AbstractArray)


def _laid_out(operands: list[Any], dtype: np.dtype[Any], order: Any = "K") -> Any:
    """What NumPy would return for an elementwise result: its shape, and axes in the order of the operands'."""
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    if not shape:
        return dtype.type(0)
    if order != "F" and all(not x.ndim or (x.shape == shape and x.flags.c_contiguous) for x in operands):
        return untouched(shape, dtype).view(AbstractArray)
    flags: Any = ["zerosize_ok", "refs_ok", "multi_index"]
    access: list[Any] = [["readonly"]] * len(operands) + [["writeonly", "allocate"]]
    plain = [x.view(np.ndarray) for x in operands]
    result = np.nditer([*plain, None], flags, access, [None] * len(operands) + [dtype], order).operands[-1]
    return abstract_like(result)


def _check_fits(ufunc: np.ufunc, inputs: tuple[Any, ...], results: Any, out: tuple[Any, ...], casting: Any) -> None:
    """Raise NumPy's own error if a result cannot be written into the array given for it."""
    for result, target in zip(results if isinstance(results, tuple) else (results,), out, strict=True):
        if target is None:
            continue
        if np.broadcast_shapes(np.shape(result), target.shape) != target.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {target.shape} doesn't match "
                f"the broadcast shape {np.shape(result)}"
            )
        if not np.can_cast(result.dtype, target.dtype, casting):
            samples = [np.ones((), x.dtype) if isinstance(x, np.ndarray) else x for x in inputs]
            ufunc(*samples, out=np.zeros((), target.dtype), casting=casting)


def _of_ufunc(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    arrays = [x if isinstance(x, np.ndarray) else np.asarray(x) for x in inputs]
    if isinstance(kwargs.get("where"), np.ndarray):
        arrays.append(kwargs["where"])
    operands = resolvable(ufunc, inputs, kwargs.get("dtype"))
    casting = kwargs.get("casting", "same_kind")
    # "equiv" with one of Python's numbers ends the process in NumPy 2.4; of dtypes in one order of bytes it is "no".
    dtypes = ufunc.resolve_dtypes(operands, casting="no" if casting == "equiv" else casting)
    order = kwargs.get("order", "K")
    results = tuple(_laid_out(arrays, dtype, order) for dtype in dtypes[ufunc.nin :])
    return results[0] if ufunc.nout == 1 else results


def resolvable(ufunc: np.ufunc, inputs: tuple[Any, ...], dtype: Any = None) -> tuple[Any, ...]:
    """The operands as `resolve_dtypes` takes them: Python's numbers by their type, which is weak."""
    kinds = tuple(type(x) if type(x) in (int, float, complex) else np.asarray(x).dtype for x in inputs)
    if dtype is not None:
        return (*(np.dtype(dtype) for _ in kinds), *[None] * ufunc.nout)
    return (*kinds, *[None] * ufunc.nout)


def _of_gufunc(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Shapes by the signature of a generalised ufunc, such as `(m,n),(n,p)->(m,p)`."""
    if "axis" in kwargs or "axes" in kwargs or kwargs.get("keepdims"):
        plain = [np.asarray(x).view(np.ndarray) for x in inputs]
        return ufunc(*plain, **kwargs)
    assert ufunc.signature is not None
    before, after = ufunc.signature.split("->")
    arrays = [np.asarray(x) for x in inputs]
    sizes: dict[str, int] = {}
    loops = []
    for names, array in zip(_cores(before), arrays, strict=True):
        core = _present(names, array.ndim)
        if array.ndim < len(core):
            raise ValueError(f"{ufunc.__name__}: an operand has {array.ndim} axes, {len(core)} are needed")
        split = array.ndim - len(core)
        loops.append(array.shape[:split])
        for name, length in zip(core, array.shape[split:], strict=True):
            if sizes.setdefault(name, length) != length:
                raise ValueError(
                    f"{ufunc.__name__}: an axis of length {length} meets one of length {sizes[name]} "
                    f"(shapes {', '.join(str(x.shape) for x in arrays)})"
                )
    loop = np.broadcast_shapes(*loops)
    dtypes = ufunc.resolve_dtypes(resolvable(ufunc, inputs, kwargs.get("dtype")))[ufunc.nin :]
    results = []
    for names, dtype in zip(_cores(after), dtypes, strict=True):
        core = [name for name in names if name.rstrip("?") in sizes]
        if len(core) < len([name for name in names if not name.endswith("?")]):
            raise RefusedError(
                f"{ufunc.__name__}: the shape of its result is not known while the program is compiled",
                where=resolve(here()),
                remedy='use engine="native"',
            )
        shape = (*loop, *(sizes[name.rstrip("?")] for name in core))
        results.append(untouched(shape, dtype).view(AbstractArray) if shape else dtype.type(0))
    return results[0] if ufunc.nout == 1 else tuple(results)


def _cores(part: str) -> list[list[str]]:
    return [[name for name in core.split(",") if name] for core in re.findall(r"\(([^)]*)\)", part.replace(" ", ""))]


def _present(names: list[str], ndim: int) -> list[str]:
    """The core axes that an operand has: those with a question mark only if it has axes enough."""
    needed = [name for name in names if not name.endswith("?")]
    return [name.rstrip("?") for name in names] if ndim >= len(names) else needed


def _known(key: Any, shape: tuple[int, ...]) -> Any:
    """A key with stand-ins for the integers in it that are not known yet."""
    parts = key if type(key) is tuple else (key,)
    if not any(map(_is_unknown, parts)):
        return key
    known = tuple(map(_part_known, parts))
    return known if type(key) is tuple else known[0]


def _is_unknown(part: Any) -> bool:
    if type(part) is slice:
        return is_abstract_integer(part.start) or is_abstract_integer(part.stop)
    return is_abstract(part)


def _part_known(part: Any) -> Any:
    if type(part) is slice:
        if not _is_unknown(part):
            return part
        step = 1 if part.step is None else part.step
        width = None
        if part.start is not None and part.stop is not None:
            width = difference(affine_of(part.stop), affine_of(part.start))
        if width is None:
            raise TraceError(
                "the length of a slice depends on a value that is not known while the program is compiled",
                where=resolve(here()),
                remedy="use slices of a fixed width, x[s:s + 3], or a mask with np.where",
            )
        count = max(0, -(-width // step))
        if step > 0 or not count:
            return slice(0, max(0, width), abs(step)) if count else slice(0, 0)
        return slice((count - 1) * -step, None, step)
    if not is_abstract(part):
        return part
    if part.dtype.kind == "b":
        raise TraceError(
            f"a read through a mask of shape {part.shape} has a shape that is not known while the program is compiled",
            where=resolve(here()),
            remedy="use np.where(mask, x, 0), or sum and count with where=mask",
        )
    return 0 if is_abstract_integer(part) else np.zeros(part.shape, np.intp)
