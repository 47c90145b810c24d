"""Compiling the C of a loop, and calling it."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bridge.loops_in_c.derivative import Plan
from bridge.loops_in_c.ir import Program
from bridge.loops_in_c.printing import Printer

FLAGS = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-march=native", "-fPIC", "-shared")
_CACHE = Path(tempfile.gettempdir()) / "bridge-loops"


class Segment(ctypes.Structure):
    _fields_ = [("memory", ctypes.c_void_p), ("size", ctypes.c_int64), ("used", ctypes.c_int64)]


class Local(ctypes.Structure):
    _fields_ = [
        ("memory", ctypes.c_void_p),
        ("shadow", ctypes.c_void_p),
        ("capacity", ctypes.c_int64),
        ("extents", ctypes.c_int64 * 6),
    ]


class Frame(ctypes.Structure):
    _fields_ = [
        ("memory", ctypes.c_void_p),
        ("shadow", ctypes.c_void_p),
        ("extents", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("integers", ctypes.c_void_p),
        ("floats", ctypes.c_void_p),
        ("shadows", ctypes.c_void_p),
        ("locals", ctypes.c_void_p),
        ("segments", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("current", ctypes.c_int64),
        ("limit", ctypes.c_int64),
        ("scratch", ctypes.c_void_p),
        ("room", ctypes.c_int64),
        ("failed", ctypes.c_int64),
        ("loops", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
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
    number = ufunc.types.index(types)
    data = found.data[number] if found.data else None
    return int(found.functions[number] or 0), int(data or 0)


_USED = [(np.matmul, "dd->d"), (np.exp, "d->d"), (np.log, "d->d"), (np.sin, "d->d"), (np.cos, "d->d"), (np.tanh, "d->d")]
LOOPS = np.array([inner_loop(*one)[0] for one in _USED], dtype=np.uintp)
DATA = np.array([inner_loop(*one)[1] for one in _USED], dtype=np.uintp)


class Library:
    """A loop that was compiled."""

    def __init__(self, program: Program, plan: Plan) -> None:
        self.program, self.plan = program, plan
        self.printer = Printer(program, plan)
        self.text = self.printer.text()
        name = hashlib.sha256(" ".join((self.text, *FLAGS)).encode()).hexdigest()[:24]
        _CACHE.mkdir(mode=0o700, exist_ok=True)
        path = _CACHE / f"{name}.so"
        if not path.exists():
            source = _CACHE / f"{name}.c"
            source.write_text(self.text, encoding="utf-8")
            made = subprocess.run(
                ["cc", *FLAGS, "-o", f"{path}.tmp", str(source), "-lm"], capture_output=True, text=True, check=False
            )
            if made.returncode:
                raise RuntimeError(made.stderr[:4000])
            Path(f"{path}.tmp").replace(path)
        self.library: Any = ctypes.CDLL(str(path))
        self.forward, self.backward = self.library.forward, self.library.backward


class Run:
    """One run of a compiled loop: its frame."""

    def __init__(self, library: Library, arrays: dict[str, np.ndarray], numbers: dict[str, float]) -> None:
        self.library = library
        printer, program = library.printer, library.program
        self.arrays = [arrays[name] for name in printer.given]
        self.memory = np.array([one.ctypes.data for one in self.arrays], dtype=np.uintp)
        self.shadow = np.zeros(len(self.arrays), dtype=np.uintp)
        self.extents = np.array([n for one in self.arrays for n in one.shape] or [0], dtype=np.int64)
        self.strides = np.array([n for one in self.arrays for n in one.strides] or [0], dtype=np.int64)
        self.order = printer.order
        self.integers = np.zeros(len(self.order) + 1, dtype=np.int64)
        self.floats = np.zeros(len(self.order) + 1)
        self.shadows = np.zeros(len(self.order) + 1)
        for k, name in enumerate(self.order):
            if name in numbers:
                (self.floats if program.variables[name] == "f" else self.integers)[k] = numbers[name]
        self.locals = (Local * (len(printer.local) + 1))()
        frame = self.frame = Frame()
        frame.memory, frame.shadow = self.memory.ctypes.data, self.shadow.ctypes.data
        frame.extents, frame.strides = self.extents.ctypes.data, self.strides.ctypes.data
        frame.integers, frame.floats = self.integers.ctypes.data, self.floats.ctypes.data
        frame.shadows = self.shadows.ctypes.data
        frame.locals = ctypes.addressof(self.locals)
        frame.limit = 1 << 62
        frame.loops, frame.data = LOOPS.ctypes.data, DATA.ctypes.data

    def forward(self) -> int:
        """Run it; returns how many iterations of the outermost loop were done."""
        self.library.forward(ctypes.byref(self.frame))
        return int(self.frame.failed)

    def backward(self, shadows: dict[str, np.ndarray]) -> None:
        """Walk it back."""
        for k, name in enumerate(self.library.printer.given):
            if name in shadows:
                self.shadow[k] = shadows[name].ctypes.data
        self.library.backward(ctypes.byref(self.frame))

    def number(self, name: str) -> float:
        """What a variable holds."""
        k = self.order.index(name)
        return float(self.floats[k]) if self.library.program.variables[name] == "f" else int(self.integers[k])
