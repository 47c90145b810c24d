"""A compiled loop, and its runs: the frame that Python and C share."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from bridge.loops_in_c import memory
from bridge.loops_in_c.appending import room_of
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
        ("first", ctypes.c_int64),
        ("limit", ctypes.c_int64),
        ("scratch", ctypes.c_void_p),
        ("room", ctypes.c_int64),
        ("done", ctypes.c_int64),
        ("finished", ctypes.c_int64),
        ("full", ctypes.c_int64),
        ("discards", ctypes.c_int64),
        ("logged", ctypes.c_int64),
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
    _ended: tuple[np.ndarray, np.ndarray, int] | None = None

    def __init__(
        self, library: Library, arrays: Sequence[np.ndarray], numbers: Mapping[str, Any], context: Any
    ) -> None:
        self.library = library
        printer, kinds = library.printer, library.program.variables
        self.order = printer.order
        self.arrays = tuple(arrays)
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

    def begin(self) -> None:
        """Give variables what they hold when the loop begins."""
        for name, value in self.numbers.items():
            self._of(name)[self.order.index(name)] = value

    def forward(self, limit: int = 1 << 62, discards: bool = False) -> int:
        """Run at most `limit` iterations from the beginning; returns how many were done. It may discard the log."""
        self.begin()
        return self.proceed(0, limit, discards)

    def proceed(self, first: int, limit: int, discards: bool) -> int:
        """Run at most `limit` iterations from the one numbered `first` on; returns how many were done."""
        frame, callbacks = self.frame, self.callbacks
        frame.first, frame.limit, frame.discards = first, limit, discards
        if callbacks is None:
            self.library.functions.forward(ctypes.byref(frame))
            return int(frame.done)
        callbacks.begin(discards)
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            self.library.functions.forward(ctypes.byref(frame))
        frame.full |= callbacks.is_full
        callbacks.end()
        return int(frame.done)

    @property
    def logged(self) -> int:
        """The bytes of the log of the last forward pass, discarded ones among them."""
        return 8 * int(self.frame.logged) + (0 if self.callbacks is None else self.callbacks.recorded)

    def keep(self) -> None:
        """Take note of the state after the forward pass, where each backward pass begins."""
        self._ended = self.integers.copy(), self.floats.copy(), int(self.frame.current)
        self._held = [self.local(name) for name in self.library.printer.local]

    def release(self) -> None:
        """Free the log and the local arrays."""
        self.library.functions.release(ctypes.byref(self.frame), len(self.library.printer.local))
        if self.callbacks is not None:
            self.callbacks.records.clear()

    def logs(self) -> Iterator[None]:
        """The log, with the state after the forward pass."""
        assert self._ended is not None
        integers, floats, current = self._ended
        self.frame.current = current
        self.return_to(integers, floats, self._held)
        yield

    def return_to(self, integers: np.ndarray, floats: np.ndarray, held: Sequence[np.ndarray | None]) -> None:
        """Give variables and local arrays what they held at some time; None is as it is."""
        self.integers[:], self.floats[:] = integers, floats
        for number, one in enumerate(held):
            if one is not None:
                self._put(number, one)

    def local_state(self) -> list[np.ndarray | None]:
        """Copies of the local arrays, without those that the loop only appends to."""
        variables = self.library.program.variables
        return [None if room_of(name) in variables else self.local(name) for name in self.library.printer.local]

    @property
    def nbytes(self) -> int:
        """Bytes of the log and of copies of local arrays; 0 if the log was discarded."""
        if self._ended is None:
            return 0
        segments = ctypes.cast(self.frame.segments, ctypes.POINTER(Segment))
        count = self._ended[2] + 1 if self.frame.count else 0
        logged = 8 * sum(segments[k].used for k in range(count))
        return logged + sum(one.nbytes for one in self._held)

    def backward(
        self,
        logs: Callable[[], Iterator[None]],
        seed: Callable[[], None],
        memory: Mapping[int, np.ndarray],
        shadows: Mapping[int, np.ndarray],
        marks: Mapping[int, np.ndarray] | None = None,
        local_marks: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Walk it back, part by part of `logs`, on other memory for some arrays, and with the shadows of some.

        `seed` gives variables and local arrays their cotangents. `shadows` of variables are read afterwards in
        `self.shadows`. With `marks`, which are not zero where cotangents exist, only these are passed on; those of
        variables are in `self.marks`.
        """
        for k, array in enumerate(self.arrays):
            # It may have come back from a file.
            self.memory[k] = memory.get(k, array).ctypes.data
        for k, array in shadows.items():
            self.shadow[k] = array.ctypes.data
        for k, array in (marks or {}).items():
            self.mark[k] = array.ctypes.data
        of_local = [np.zeros(0) for _ in self.library.printer.local]
        function = self.library.functions.backward if marks is None else self.library.marking
        for number, _ in enumerate(logs()):
            if number == 0:
                seed()
            if marks is not None:
                self._mark_local(of_local, {} if number or local_marks is None else local_marks)
            if self.callbacks is not None:
                self.callbacks.begin_back(marks is not None)
            function(ctypes.byref(self.frame))
            if self.callbacks is not None:
                self.callbacks.end()

    def _mark_local(self, marks: list[np.ndarray], given: Mapping[str, np.ndarray]) -> None:
        """Give local arrays their marks, which become longer where the arrays did."""
        for k, name in enumerate(self.library.printer.local):
            if marks[k].size < self.locals[k].capacity:
                longer = np.zeros(self.locals[k].capacity)
                longer[: marks[k].size] = marks[k]
                marks[k] = longer
            if name in given:
                # Marks lie as cotangents do.
                marks[k].view(KINDS[self._kind(k)].dtype)[: given[name].size] = given[name].ravel()
            self.locals[k].mark = marks[k].ctypes.data

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
        return self._seen(number, "memory", self._shape(number), self._kind(number)).copy()

    def _shape(self, number: int) -> tuple[int, ...]:
        ndim = self.library.program.arrays[self.library.printer.local[number]].ndim
        return tuple(self.locals[number].extents[:ndim])

    def _kind(self, number: int) -> str:
        return self.library.program.arrays[self.library.printer.local[number]].kind

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
        self.locals[number].extents[: held.ndim] = held.shape
        if held.size:
            self._seen(number, "memory", held.shape, self._kind(number))[...] = held

    def add_to_shadow(self, name: str, ct: np.ndarray, begin: int = 0) -> None:
        """Give a local array, or its elements from `begin` on, their cotangent."""
        number = self.library.printer.local.index(name)
        if ct.size:
            self._seen(number, "shadow", (begin + ct.size,), self._kind(number))[begin:] += ct.ravel()


def _release(library: Library, frame: Frame, count: int, kept: Any) -> None:
    library.functions.release(ctypes.byref(frame), count)
    del kept
