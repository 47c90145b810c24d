"""Calls into Julia through C entries: one number and one tuple in, one Python object out."""

from __future__ import annotations

import atexit
import ctypes
import operator
from threading import RLock
from typing import Any, NoReturn

import numpy as np
from numpy._core import multiarray

from bridge.code_position import here, resolve
from bridge.errors import (
    BridgeError,
    CotangentError,
    JuliaError,
    ReplayError,
    RuleError,
)
from bridge.julia.session import session
from bridge.julia.threads import able, perform

LOCK = RLock()
"""Held during every call: Julia may hand the GIL to Python in the middle of one."""

_MODULE = "MutationBridge.Python"
_ENTRY = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_ssize_t, ctypes.py_object)


class Failed(Exception):
    """Raised by Julia's entries; its argument is the number under which Julia keeps the exception."""


class OtherLayout(Exception):
    """An array lies in memory in a way that Julia cannot wrap: it has to be copied first."""


class NotDifferentiable(Exception):
    """A leaf of which a gradient was asked has none."""


class Passed(Exception):
    """An engine refused a function that by itself runs: what it raised, as Julia tells it. Another one may be asked."""

    def __init__(self, engine: str, kind: str, message: str, short: str, full: str) -> None:
        super().__init__(message)
        self.engine = engine
        self.kind, self.message, self.short, self.full = kind, message, short, full


class Kept:
    """A Julia object that Python holds by number, given up with this object."""

    __slots__ = ("__array_interface__", "key")

    __array_interface__: dict[str, Any]

    def __init__(self, key: int) -> None:
        self.key = key

    def __del__(self) -> None:
        _gone.append(self.key)
        if able() and LOCK.acquire(blocking=False):
            try:
                _give_up()
            finally:
                LOCK.release()


_gone: list[int] = []


def _give_up() -> None:
    if _entries is not None:
        while _gone:
            _entries.give_up(_gone.pop(), ())


class Entries:
    """Julia's entries, each a function of `(number, tuple)`."""

    ask: Any
    call: Any
    call_writing: Any
    value_and_gradient: Any
    pullback: Any
    pull: Any
    jvp: Any
    pull_along: Any
    jacobian: Any
    hessian: Any
    keep_array: Any
    fetch: Any
    give_up: Any

    def __init__(self) -> None:
        text = session().text
        names = text(f"{_MODULE}.function_names()"), text(f"{_MODULE}.object_names()")
        functions = [str(address(name)) for name in names[0].split()]
        objects = [str(id(_OBJECTS[name])) for name in names[1].split()]
        found = text(f'{_MODULE}.start!("{" ".join(functions)}", "{" ".join(objects)}")')
        for pair in found.split():
            name, entry = pair.split("=")
            setattr(self, name, _ENTRY(int(entry)))
        atexit.register(_forget)

    @property
    def julia(self) -> Any:
        """The Julia module of the entries, as juliacall's object."""
        return session().package.Python


_entries: Entries | None = None


def _forget() -> None:
    """Julia ends before Python's last objects do: give nothing up any more."""
    global _entries
    _entries = None


def entries() -> Entries:
    """The entries of this process' Julia, which is started if need be."""
    global _entries
    if _entries is None:
        with LOCK:
            if _entries is None:
                _entries = Entries()
    return _entries


def run(entry: Any, key: int, given: tuple[Any, ...], name: str = "") -> Any:
    """Call an entry; `name` is what messages call the Julia function.

    Raises
    ------
    JuliaError, KeyboardInterrupt, CotangentError, RuleError, ReplayError : what Julia raised, as Python's.
    OtherLayout, NotDifferentiable, Passed : for the caller to deal with.
    """
    try:
        return perform(_enter, entry, key, given)
    except Failed as failed:
        number = failed.args[0]
    return explain(number, name)


def _enter(entry: Any, key: int, given: tuple[Any, ...]) -> Any:
    with LOCK:
        if _gone:
            _give_up()
        return entry(key, given)


def ask(number: int, question: str, *texts: str) -> Any:
    """Julia's answer about the kept value of this number, or about texts alone for number 0."""
    return run(entries().ask, number, (question, *texts))


def kept_number(value: Any) -> int:
    """Keep a juliacall object in Julia, under a number."""
    return perform(lambda: int(entries().julia.keep_b(value)))


def explain(number: int, name: str) -> NoReturn:
    """Raise the Python exception that stands for the Julia exception of this number."""
    kind, message, short, full = ask(number, "describe")
    if kind == "layout":
        raise OtherLayout
    if kind == "argument":
        raise NotDifferentiable
    if kind == "interrupt":
        raise session().interruption()
    if kind.startswith("passed "):
        _, engine, kind = kind.split(" ", 2)
        raise Passed(engine, kind, message, short, full)
    if kind.startswith("python "):
        raised = perform(lambda: entries().julia.take_b(int(kind.removeprefix("python "))))
        if isinstance(raised, BaseException) and not isinstance(raised, Exception):
            raise raised  # Ctrl-C, or an exit
        raise translated(kind, message, short, full, name) from (raised if isinstance(raised, Exception) else None)
    raise translated(kind, message, short, full, name)


def translated(kind: str, message: str, short: str, full: str, name: str) -> BridgeError:
    """Python's exception for what Julia raised."""
    where = resolve(here())
    called = f"the Julia function {name}" if name else "Julia"
    if kind == "number":
        returned = message.removeprefix("the function returned ")
        return CotangentError(
            f"{called} returned {returned}; a gradient needs one real number",
            where=where,
            remedy="reduce it (sum, real), use vjp with a cotangent, or has_aux=True if it returned (value, aux)",
        )
    if kind.startswith("undeclared"):
        position = kind.split()[1]
        return RuleError(
            f"{called} writes its array argument number {position} (counted over all containers), "
            "and is not declared to",
            where=where,
            remedy='declare what it writes: julia.function("f!", mutates=("u",)), by position or name',
        )
    if kind == "sparse written":
        return RuleError(
            f"{called} writes a sparse argument, which is a copy of SciPy's matrix",
            where=where,
            remedy="write into a copy of it in Julia (S = copy(S)), and return what you need",
        )
    if kind == "replay":
        return ReplayError(
            f"{called} gave other values when it was run again for its derivative",
            where=where,
            remedy="let it depend on its arguments and Random.default_rng() alone, or use first-order reverse mode "
            'by ad="zygote"',
        )
    return JuliaError(
        f"{called} raised: {message}" + (f"\n{short}" if short else ""),
        message=message,
        stack=full,
        where=where,
        remedy=_LOAD.format(kind.split()[1]) if kind.startswith("undefined ") else _REMEDIES.get(kind),
    )


_LOAD = 'load the package first: bridge.julia.using("{}")'


_REMEDIES = {
    "method": "Julia has no method for these types: a C-ordered matrix arrives as a Transpose (np.asfortranarray "
    "gives a Matrix), float32 as Float32; widen the signature (AbstractMatrix, Real) or convert the argument",
    "mutation": "use MutationBridge.Buffer in the Julia code, or declare the arguments that it writes (mutates=)",
    "disproved": "make the memory that the function writes inside of it, or pass it as an argument, so that no call "
    "finds what another one left; bridge.crosscheck(function)(...) says which engines are right",
    "recursive type": 'ask for ad="zygote", or keep the elements in arrays in place of objects that hold one another',
    "dropped": "pass the matrix without stored zeros (S.eliminate_zeros()), compute with its entries (S.nzval), or "
    "pass a dense one (S.toarray()); in Julia, Diagonal(x) * S for S .* x",
    "large": "return what is stored, SparseArrays.findnz(S): rows and columns from 1, and entries",
    "syntax": "see the marked place in the message",
}


def _held_array(address: int, shape: tuple[int, ...], letter: str, key: int) -> np.ndarray:
    """A NumPy array on memory of Julia's, which is given up with the array."""
    kept = Kept(key)
    dtype = np.dtype(letter)
    strides = tuple(dtype.itemsize * int(np.prod(shape[:k])) for k in range(len(shape)))
    kept.__array_interface__ = {
        "version": 3, "shape": shape, "typestr": dtype.str, "strides": strides, "data": (address, False),
    }  # fmt: skip
    return np.asarray(kept)


class Returned:
    """In place of a result that is one of the written arguments."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position


def _opaque(key: int) -> Any:
    """What juliacall makes of a Julia value."""
    return entries().julia.take_b(key)


_OBJECTS = {
    "none": None,
    "failed": Failed,
    "ndarray": np.ndarray,
    "new_number": operator.itemgetter(()),
    "held_array": _held_array,
    "opaque": _opaque,
    "float64": np.float64,
    "exception": Exception,
    "returned": Returned,
}


_IN_NUMPYS_TABLE = {"PyArray_New": 93}
"""Where a function lies in the table of NumPy's C interface, which keeps its places from version to version."""


def address(name: str) -> int:
    """The address of a function of CPython's stable C interface, or of NumPy's."""
    place = _IN_NUMPYS_TABLE.get(name)
    if place is not None:
        return int(_numpys_table()[place])
    found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert found is not None
    return found


def _numpys_table() -> ctypes._Pointer[ctypes.c_size_t]:
    """The table as C extensions find it, too: in a capsule."""
    prototype = ctypes.PYFUNCTYPE(ctypes.POINTER(ctypes.c_size_t), ctypes.py_object, ctypes.c_char_p)
    return prototype(("PyCapsule_GetPointer", ctypes.pythonapi))(multiarray._ARRAY_API, None)
