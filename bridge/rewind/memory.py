"""The memory interface, and what NumPy tells of memory: where an array lies, whose it is, whether it overlaps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

import numpy as np

from bridge.code_position import Position
from bridge.errors import AliasError


class HasBlank(Protocol):
    """A context that allocates memory."""

    def blank(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A Buffer of zeros."""


_OF_BLAS = 10_000
"""Elements from which on a sum of squares may run in several threads."""


class Home:
    """Where a program runs: on NumPy arrays, or abstractly, while it is being compiled.

    All nested contexts share the home of the outermost one. What depends on it they ask; the answers here are those
    for arrays, whose numbers are known.

    Attributes
    ----------
    is_abstract : numbers are not known while the program runs.
    mends : cotangents that structurally do not exist are told apart at any cost.
    engine : who supplies pulls for functions without a rule; None for the context's own.
    trace : the context that compiles; None on arrays.
    control : who runs `fori_loop`, `while_loop` and `cond`; None for Python.
    of_shadow : calls what reads a shadow, where that is not read as other memory is; None where it is.
    checkpoints : whether a checkpointed call is worth an entry of its own here.
    """

    is_abstract = False
    mends = False
    engine: Any = None
    trace: Any = None
    control: Any = None
    of_shadow: Callable[[Callable[[], Any]], Any] | None = None
    checkpoints = True

    def known(self, value: Any) -> Any:
        """What a tracked value holds, as a plain array or number; None if that is not known while the program runs."""
        return grounded(value)

    def settled(self, value: Any) -> Any:
        """What a tracked value holds now and nobody changes any more."""
        return grounded(value)

    def key(self, key: Any, shape: tuple[int, ...]) -> Any:
        """A key into an array of this shape, with what is known of its abstract parts in their places."""
        return key

    def note(self, thing: Any) -> None:
        """A plain array, or a function of the program, becomes part of what is compiled."""

    def steps_of(self, function: Any) -> Callable[..., Any] | None:
        """What computes a function with a rule step by step; None where it is run as it is."""
        return None

    def noted_run(self, context: Any, since: int, earlier: Any = None) -> AbstractContextManager[Any]:
        """Inside, what a call does is noted, if its values do not tell whether it does the same when it runs again.

        `since` is the serial number up to which memory existed before it, `earlier` what was noted of its first run.
        """
        return nullcontext()

    def must_be_same(self, before: Any, now: Any, name: str, position: Position) -> None:
        """Two runs of a checkpointed call have read these contents, which must be told if they are not the same."""

    def errors(self, now: dict[str, str]) -> dict[str, str]:
        """What NumPy does about numbers that overflow or are none, as the program sees it."""
        return now

    def set_errors(self, given: dict[str, Any]) -> dict[str, str] | None:
        """The program has set what NumPy does about them; returns what it saw before, if that is kept."""
        return None

    def note_writes(self) -> None:
        """The program writes arguments, or plain arrays: it matters which arrays of its own the arguments are."""

    def value(self, call: Callable[..., Any], function: Any, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What `function`, run by `call`, returns, or what looks like that."""
        return call(function, values, named)

    def survivors(self, key: Any, shape: tuple[int, ...]) -> Any:
        """Where a write with indices that are not known survives duplicates; None if it does everywhere."""
        raise NotImplementedError

    def selected(self, buffer: Any, mask: Any) -> Any:
        """`buffer[mask]` where the mask is not known."""
        raise NotImplementedError

    def keeps_its_value(self, target: Any, value: Any) -> bool:
        """Whether NumPy is known to overwrite no element of a value before it reads it; elsewhere it is asked."""
        return False

    def is_windowed(self, key: Any) -> bool:
        """Whether the shape of what an index shows is not known."""
        return False

    def window(self, buffer: Any, key: Any) -> Any:
        """`buffer[key]` for such a key."""
        raise NotImplementedError

    def write_window(self, buffer: Any, key: Any, value: Any) -> None:
        """`buffer[key] = value` for such a key, or a value whose shape is not known."""
        raise NotImplementedError

    def sized(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a creation function returns whose shape is not known; NotImplemented if it is."""
        return NotImplemented

    def has_nan(self, value: Any) -> bool:
        """Whether a gradient holds a NaN, or must be taken to hold one."""
        flat = value if type(value) is np.ndarray else grounded(value)
        if flat.size >= _OF_BLAS or not flat.flags.c_contiguous:
            flat = np.ravel(flat, order="K")
        # One pass without a warning. From some size on BLAS would start threads, which wait for each other on a busy
        # machine.
        found = np.vdot(flat, flat) if flat.size < _OF_BLAS else np.maximum.reduce(flat)
        return bool(found != found) and bool(np.any(np.isnan(flat)))

    def scratch(self, context: HasBlank, shape: tuple[int, ...], dtype: Any) -> Any:
        """Zeros for a pull to write into."""
        return np.zeros(shape, dtype)

    def value_despite(
        self, error: ZeroDivisionError, function: Callable[..., Any], values: tuple[Any, ...], places: tuple[Any, ...]
    ) -> Any:
        """The value of an operator of Python's numbers that raised."""
        raise error

    def check_number(self, error: ArithmeticError | ValueError, test: Any) -> None:
        """Where `test` holds, Python's function raises `error`; on arrays it has."""

    def separate(self) -> None:
        """What is computed from here on was computed before, and is to be computed again."""


ON_ARRAYS = Home()


class Memory(Protocol):
    """What a context makes memory of: arrays, an outer context's Buffers, or abstract arrays."""

    def alloc(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Zeros."""

    def view(self, base: Any, offset: int, like: Any) -> Any:
        """The view of `base` that starts `offset` bytes after it, with the shape, strides and dtype of `like`."""

    def swap(self, array: Any, key: Any, saved: Any) -> Any:
        """Write `saved` into `array[key]` and return what was there."""


class ArrayMemory:
    """The memory interface on NumPy arrays."""

    __slots__ = ()

    def alloc(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return np.zeros(shape, dtype)

    def view(self, base: Any, offset: int, like: Any) -> Any:
        view = np.asarray(_Window(base, offset, like))
        low, high = np.lib.array_utils.byte_bounds(owner(base))
        first, last = np.lib.array_utils.byte_bounds(view)
        if view.size and not low <= first <= last <= high:
            raise AliasError(f"a view of shape {view.shape} reaches outside the memory that it is a view of")
        return view

    def swap(self, array: Any, key: Any, saved: Any) -> Any:
        if not array.flags.writeable:
            # The program has made it read-only since it wrote it.
            return self.swap(np.asarray(_Writable(array)), key, saved)
        current = array[key]
        if type(current) is not np.ndarray:
            array[key] = saved
            return current
        if key is Ellipsis and array.nbytes > _BLOCK:
            return _swap_by_blocks(array, saved)
        current = current.copy()
        array[key] = saved
        return current


class OuterMemory:
    """The memory interface on an outer context's Buffers: every operation is logged there."""

    __slots__ = ("outer",)

    def __init__(self, outer: HasBlank) -> None:
        self.outer = outer

    def alloc(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.outer.blank(shape, dtype)

    def view(self, base: Any, offset: int, like: Any) -> Any:
        return base.view_as(offset, like)

    def swap(self, array: Any, key: Any, saved: Any) -> Any:
        current = array[key]
        # Also without axes: what `...` gives is a view, where an element is a copy already.
        if hasattr(current, "place") and current.place.root is array.place.root:
            current = current.copy()
        array[key] = saved
        return current


_BLOCK = 1 << 18


def _swap_by_blocks(array: np.ndarray, saved: np.ndarray) -> np.ndarray:
    """Exchange two large arrays piece by piece: the pieces stay in the cache, and no memory is asked for."""
    rows = max(1, len(array) * _BLOCK // array.nbytes)
    for start in range(0, len(array), rows):
        piece = array[start : start + rows].copy()
        array[start : start + rows] = saved[start : start + rows]
        saved[start : start + rows] = piece
    return saved


class _Writable:
    """The memory of a read-only array, as memory that may be written."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


class _Window:
    """What NumPy needs to make an array at an address inside another array."""

    def __init__(self, base: Any, offset: int, like: Any) -> None:
        self.base = base
        data, read_only = base.__array_interface__["data"]
        self.__array_interface__ = {
            "version": 3,
            "shape": like.shape,
            "typestr": like.dtype.str,
            "strides": like.strides,
            "data": (data + offset, read_only),
        }


def ghost_at(base: Any, offset: int, like: Any) -> np.ndarray:
    """An array of which only address, shape and strides count: it is never read."""
    return np.asarray(_Window(base, offset, like))


class Strides(NamedTuple):
    """How a view lies in memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


def numpy_number(number: float | complex) -> Any:
    """A float or complex of Python as one of NumPy."""
    return np.float64(number) if type(number) is float else np.complex128(number)


def grounded(value: Any) -> Any:
    """The NumPy array or scalar under a value, through every level of nesting."""
    while hasattr(value, "place"):
        value = value.value
    return value


def holds_arrays(x: Any) -> bool:
    """Whether `x` is an array or a number of NumPy's or ours, or a nested sequence with one in it."""
    if isinstance(x, (list, tuple)):
        return any(map(holds_arrays, x))
    return hasattr(x, "dtype") and not isinstance(x, type)


def owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory a view shows."""
    while True:
        base: Any = array.base
        if isinstance(base, _Window):
            base = base.base
        if not isinstance(base, np.ndarray):
            return array
        array = base


def address(array: Any) -> int:
    """Address of an array's first element."""
    return grounded(array).__array_interface__["data"][0]


def in_dtype(ct: Any, dtype: np.dtype[Any]) -> Any:
    """A cotangent in the dtype of the value that it belongs to; the real part for a real value."""
    if ct.dtype == dtype:
        return ct
    if ct.dtype.kind == "c" and dtype.kind != "c":
        ct = ct.real
    return ct.astype(dtype)


def lies_in_order(array: Any, order: str) -> bool:
    """Whether an array lies in C or Fortran order, if that is what `order` asks for."""
    return order not in ("C", "F") or bool(array.flags.c_contiguous if order == "C" else array.flags.f_contiguous)


def copied_alike(array: Any) -> Any:
    """A copy whose axes lie in the same order and direction: NumPy goes along memory.

    Of one element, too: NumPy computes functions of float32 otherwise where a stride is negative.
    """
    if not isinstance(array, np.ndarray) or (array.flags.c_contiguous and array.size != 1):
        return array.copy()
    turned = tuple(slice(None, None, -1 if step < 0 else 1) for step in array.strides)
    return array[turned].copy("K")[turned]


def overlaps_itself(array: Any) -> bool:
    """Whether two elements of a strided view may share memory (broadcasts, sliding windows)."""
    extent = 0
    for stride, length in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < extent + array.dtype.itemsize:
            return True
        extent += stride * (length - 1)
    return False


def scatter_into_overlapping(region: Any, ct: Any) -> None:
    """Add to a self-overlapping view so that elements that share memory all count.

    Zero-stride axes are summed first; what overlaps beyond that is added one axis position at a time,
    in order of the smallest strides, each addition then being free of overlap.
    """
    strides = grounded(region).strides
    zero = tuple(axis for axis, stride in enumerate(strides) if stride == 0 and region.shape[axis] > 1)
    if zero:
        ct = np.sum(ct, axis=zero, keepdims=True)
        region = region[tuple(slice(0, 1) if axis in zero else slice(None) for axis in range(region.ndim))]
    _add_axis_by_axis(region, ct)


def _add_axis_by_axis(region: Any, ct: Any) -> None:
    if not overlaps_itself(grounded(region)):
        region += ct
        return
    axis = min((n, axis) for axis, n in enumerate(region.shape) if n > 1)[1]
    for k in range(region.shape[axis]):
        key = (slice(None),) * axis + (slice(k, k + 1),)
        _add_axis_by_axis(region[key], ct[key])
