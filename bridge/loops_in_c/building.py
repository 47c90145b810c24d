"""A compiled loop, and its runs: the frame that Python and C share."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from bridge.loops_in_c import memory
from bridge.loops_in_c.callbacks import CALL, PULL, Callbacks
from bridge.loops_in_c.compiling import CompilerError, Job
from bridge.loops_in_c.derivative import Plan
from bridge.loops_in_c.functions import INNER_LOOPS
from bridge.loops_in_c.ir import Program
from bridge.loops_in_c.kinds import KINDS, is_float
from bridge.loops_in_c.printing import Printer


class Segment(ctypes.Structure):
    """A part of the log."""

    _fields_ = [("memory", ctypes.c_void_p), ("size", ctypes.c_int64), ("used", ctypes.c_int64)]


class Local(ctypes.Structure):
    """A local array."""

    _fields_ = [
        ("memory", ctypes.c_void_p),
        ("shadow", ctypes.c_void_p),
        ("mark", ctypes.c_void_p),
        ("capacity", ctypes.c_int64),
        ("extents", ctypes.c_int64 * 6),
    ]


class Frame(ctypes.Structure):
    """The argument of the compiled functions: `Frame` of `runtime.h`."""

    _fields_ = [
        ("memory", ctypes.c_void_p),
        ("shadow", ctypes.c_void_p),
        ("mark", ctypes.c_void_p),
        ("extents", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("integers", ctypes.c_void_p),
        ("floats", ctypes.c_void_p),
        ("shadows", ctypes.c_void_p),
        ("marks", ctypes.c_void_p),
        ("locals", ctypes.c_void_p),
        ("segments", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("current", ctypes.c_int64),
        ("limit", ctypes.c_int64),
        ("scratch", ctypes.c_void_p),
        ("room", ctypes.c_int64),
        ("done", ctypes.c_int64),
        ("finished", ctypes.c_int64),
        ("full", ctypes.c_int64),
        ("loops", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("interrupted", ctypes.c_void_p),
        ("fits", ctypes.c_void_p),
        ("run", ctypes.c_void_p),
        ("call", ctypes.c_void_p),
        ("pull", ctypes.c_void_p),
        ("given", ctypes.c_void_p),
        ("made", ctypes.c_void_p),
        ("passed", ctypes.c_void_p),
    ]


class _UFunc(ctypes.Structure):
    """The beginning of NumPy's ufunc object."""

    _fields_ = [
        ("head", ctypes.c_char * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
    ]


def inner_loop(ufunc: np.ufunc, types: str) -> tuple[int, int]:
    """The inner loop of a ufunc for these types, and its data."""
    found = _UFunc.from_address(id(ufunc))
    if (found.nin, found.nout, found.nargs) != (ufunc.nin, ufunc.nout, ufunc.nargs):
        raise CompilerError(f"NumPy {np.__version__} keeps the inner loops of its functions in another place")
    number = ufunc.types.index(types)
    data = found.data[number] if found.data else None
    return int(found.functions[number] or 0), int(data or 0)


@cache
def _loops() -> tuple[np.ndarray, np.ndarray]:
    """The inner loops of NumPy's that compiled code calls, and their data."""
    found = [inner_loop(*one) for one in INNER_LOOPS]
    return tuple(np.array(one, dtype=np.uintp) for one in zip(*found, strict=True))  # type: ignore[return-value]


_fits = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int64)(memory.fits)
_FITS = ctypes.cast(_fits, ctypes.c_void_p).value
_INTERRUPTED = ctypes.cast(ctypes.pythonapi.PyErr_CheckSignals, ctypes.c_void_p).value


class Library:
    """A loop that is compiled, in the background until somebody needs it."""

    def __init__(self, program: Program, plan: Plan) -> None:
        _loops()
        self.program, self.plan = program, plan
        self.printer = Printer(program, Plan(set(), set(), is_forward=True) if plan.is_forward else plan)
        self.job = Job(self.printer.text())

    @cached_property
    def functions(self) -> Any:
        """The compiled `forward`, `backward` and `release`; CompilerError if there are none."""
        found = self.job.library()
        found.release.argtypes = [ctypes.POINTER(Frame), ctypes.c_int64]
        return found

    @cached_property
    def marking(self) -> Any:
        """The way back with marks: compiled when a gradient holds a NaN."""
        return Job(Printer(self.program, self.plan, marks=True).text()).library().backward


class Run:
    """A run of a compiled loop, and what it keeps for its way back.

    Parameters
    ----------
    arrays : the arrays that are given, in the order of `Printer.given`.
    numbers : what variables hold when it begins.
    context : the differentiation.
    """

    callbacks: Callbacks | None = None

    def __init__(
        self, library: Library, arrays: Sequence[np.ndarray], numbers: Mapping[str, Any], context: Any
    ) -> None:
        self.library = library
        printer, kinds = library.printer, library.program.variables
        self.order = printer.order
        self.arrays = list(arrays)
        self.memory = np.array([one.ctypes.data for one in arrays] or [0], dtype=np.uintp)
        self.shadow = np.zeros(len(self.memory), dtype=np.uintp)
        self.extents = np.array([n for one in arrays for n in one.shape] or [0], dtype=np.int64)
        self.strides = np.array([n for one in arrays for n in one.strides] or [0], dtype=np.int64)
        self.integers = np.zeros(len(self.order) + 1, dtype=np.int64)
        self.floats = np.zeros(len(self.order) + 1)
        self.shadows = np.zeros(len(self.order) + 1)
        self.marks = np.zeros(len(self.order) + 1)
        self.mark = np.zeros(len(self.memory), dtype=np.uintp)
        self.numbers = dict(numbers)
        self.locals = (Local * (len(printer.local) + 1))()
        frame = self.frame = Frame()
        frame.memory, frame.shadow = self.memory.ctypes.data, self.shadow.ctypes.data
        frame.extents, frame.strides = self.extents.ctypes.data, self.strides.ctypes.data
        frame.integers, frame.floats = self.integers.ctypes.data, self.floats.ctypes.data
        frame.shadows, frame.marks, frame.mark = self.shadows.ctypes.data, self.marks.ctypes.data, self.mark.ctypes.data
        frame.locals = ctypes.addressof(self.locals)
        loops, data = _loops()
        frame.loops, frame.data = loops.ctypes.data, data.ctypes.data
        frame.interrupted, frame.fits = _INTERRUPTED, _FITS
        if library.program.callbacks:
            made = self.callbacks = Callbacks(context, library.program.callbacks, library.plan.active_operands)
            frame.run, frame.call, frame.pull = id(self), CALL, PULL
            frame.given, frame.made = made.given.ctypes.data, made.made.ctypes.data
            frame.passed = made.passed.ctypes.data
        self._release = weakref.finalize(self, _release, library, frame, len(printer.local), self.locals)
        self._release.atexit = False
        self.kinds = kinds

    def forward(self, limit: int = 1 << 62) -> int:
        """Run at most `limit` iterations from the beginning; returns how many were done."""
        for name, value in self.numbers.items():
            self._of(name)[self.order.index(name)] = value
        self.frame.limit = limit
        callbacks = self.callbacks
        if callbacks is None:
            self.library.functions.forward(ctypes.byref(self.frame))
            return int(self.frame.done)
        callbacks.begin()
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            self.library.functions.forward(ctypes.byref(self.frame))
        self.frame.full |= callbacks.is_full
        callbacks.end()
        return int(self.frame.done)

    def keep(self) -> None:
        """Take note of the state after the forward pass, where each way back begins."""
        self._ended = self.integers.copy(), self.floats.copy(), int(self.frame.current)
        self._held = [self.local(name) for name in self.library.printer.local]

    def backward(
        self,
        memory: Mapping[int, np.ndarray],
        shadows: Mapping[int, np.ndarray],
        marks: Mapping[int, np.ndarray] | None = None,
        local_marks: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Walk it back, on other memory for some arrays, and with the shadows of some.

        `shadows` of variables are set before, and read afterwards, in `self.shadows`. With `marks`, which are not zero
        where cotangents exist, only these are passed on; those of variables are in `self.marks`.
        """
        integers, floats, current = self._ended
        self.integers[:], self.floats[:], self.frame.current = integers, floats, current
        for number, held in enumerate(self._held):
            self._put(number, held)
        before = self.memory.copy()
        for k, array in memory.items():
            self.memory[k] = array.ctypes.data
        for k, array in shadows.items():
            self.shadow[k] = array.ctypes.data
        if self.callbacks is not None:
            self.callbacks.begin_back(marks is not None)
        if marks is None:
            self.library.functions.backward(ctypes.byref(self.frame))
        else:
            for k, array in marks.items():
                self.mark[k] = array.ctypes.data
            kept = [np.zeros(self.locals[k].capacity) for k in range(len(self.library.printer.local))]
            for k, (name, array) in enumerate(zip(self.library.printer.local, kept, strict=True)):
                given = (local_marks or {}).get(name)
                if given is not None:
                    # Marks lie as cotangents do.
                    dtype = KINDS[self.library.program.arrays[name].kind].dtype
                    array.view(dtype)[: given.size] = given.ravel()
                self.locals[k].mark = array.ctypes.data
            self.library.marking(ctypes.byref(self.frame))
        self.memory[:] = before
        if self.callbacks is not None:
            self.callbacks.end()

    def _of(self, name: str) -> np.ndarray:
        return self.floats if is_float(self.kinds[name]) else self.integers

    def number(self, name: str) -> Any:
        """What a variable holds."""
        value = self._of(name)[self.order.index(name)]
        kind = self.kinds[name]
        return float(value) if is_float(kind) else bool(value) if kind == "b" else int(value)

    def local(self, name: str) -> np.ndarray:
        """A copy of a local array."""
        number = self.library.printer.local.index(name)
        one = self.library.program.arrays[name]
        shape = tuple(self.locals[number].extents[: one.ndim])
        return self._seen(number, "memory", shape, one.kind).copy()

    def room(self, name: str) -> int:
        """How many elements a local array has room for."""
        return int(self.locals[self.library.printer.local.index(name)].capacity)

    def shorten(self, name: str, size: int) -> None:
        """Let a local array of one axis end where its values do."""
        self.locals[self.library.printer.local.index(name)].extents[0] = size

    def _seen(self, number: int, part: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
        size = math.prod(shape)
        if not size:
            return np.zeros(shape, KINDS[kind].dtype)
        found = (ctypes.c_char * (size * 8)).from_address(getattr(self.locals[number], part))
        return np.frombuffer(memoryview(found), KINDS[kind].dtype, size).reshape(shape)

    def _put(self, number: int, held: np.ndarray) -> None:
        one = self.library.program.arrays[self.library.printer.local[number]]
        self.locals[number].extents[: one.ndim] = held.shape
        if held.size:
            self._seen(number, "memory", held.shape, one.kind)[...] = held

    def add_to_shadow(self, name: str, ct: np.ndarray, begin: int = 0) -> None:
        """Give a local array, or its elements from `begin` on, their cotangent."""
        number = self.library.printer.local.index(name)
        if ct.size:
            kind = self.library.program.arrays[name].kind
            self._seen(number, "shadow", (begin + ct.size,), kind)[begin:] += ct.ravel()


def _release(library: Library, frame: Frame, count: int, kept: Any) -> None:
    library.functions.release(ctypes.byref(frame), count)
    del kept
