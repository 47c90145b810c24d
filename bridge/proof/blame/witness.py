"""A plain run of a program that notes what each NumPy call gives: what engines' values are held against."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any

import numpy as np

from bridge.code_position import here, is_internal
from bridge.proof.blame.blaming import Blame, of_step
from bridge.proof.blame.observing import Step, flat_values
from bridge.proof.blame.recorded import Recorded, record
from bridge.proof.numerics.arrays import short
from bridge.proof.subject import Subject
from bridge.signatures import operation_name
from bridge.trees import leaves_of, rebuilt

MOST_LINES = 100_000
_LIBRARIES = ("<frozen ", *(sysconfig.get_paths()[key] for key in ("stdlib", "purelib", "platlib")))


class Witness(np.ndarray):
    """An array that notes the calls made on it; to the program it is a NumPy array."""

    noted: list[Step] | None = None

    def __array_finalize__(self, parent: Any) -> None:
        self.noted = getattr(parent, "noted", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = {key: _plain(x) for key, x in kwargs.items()}
        result = getattr(ufunc, method)(*map(_plain, inputs), **plain)
        name = operation_name(ufunc) if method == "__call__" else f"{operation_name(ufunc)}.{method}"
        self._note(name, inputs, result)
        out = kwargs.get("out")
        if out is not None:
            return out[0] if len(out) == 1 else out
        return _witnessed(result, self.noted)

    def __array_function__(self, function: Callable[..., Any], types: Iterable[type], args: Any, kwargs: Any) -> Any:
        result = function(*_plain(args), **_plain(kwargs))
        self._note(operation_name(function), args, result)
        return _witnessed(result, self.noted)

    def _note(self, name: str, inputs: Any, result: Any) -> None:
        if self.noted is not None:
            operands = tuple(np.array(x) for x in flat_values(_plain(list(inputs))) if _is_number(x))
            values = tuple(np.array(x) for x in flat_values(_plain(result)) if hasattr(x, "dtype"))
            self.noted.append(Step("plain", name, here(), operands=operands, value=values))


def first_other_value(recorded: Recorded) -> Blame | None:
    """The first operation of an observed run whose value is not that of the plain run; None if none is found."""
    subject, engine = recorded.subject, recorded.engine
    noted: list[Step] = []
    leaves, structure = leaves_of(subject.arguments())
    args, kwargs = rebuilt(structure, [_witnessed(x, noted) if type(x) is np.ndarray else x for x in leaves])
    try:
        subject.f(*args, **kwargs)
    except Exception:
        # A program may raise anything on arrays of a kind that it does not know.
        return None
    expected: dict[Any, list[Step]] = {}
    for step in noted:
        expected.setdefault((step.where, step.name), []).append(step)
    for step in recorded.steps:
        rest = expected.get((step.where, step.name))
        if not rest:
            continue
        plain = rest.pop(0)
        if _differ(plain.operands, step.operands):
            # What came in is another already: the program went another way before.
            break
        for a, b in zip(flat_values(plain.value), flat_values(step.value), strict=False):
            if np.shape(a) == np.shape(b) and np.asarray(a).tobytes() != np.asarray(b).tobytes():
                return of_step(step, "primal", f"it gives {short(b)}, and the plain program {short(a)}")
    return _other_way(subject, engine)


def _other_way(subject: Subject, engine: str) -> Blame | None:
    """The line after which the observed run goes another way than the plain one: it asks what kind of array it got."""
    plain = lines_of(subject, subject.plain)
    tracked = lines_of(subject, lambda: record(subject, engine))
    for k, (a, b) in enumerate(zip(plain, tracked, strict=False)):
        if a != b and k:
            file, line, function = plain[k - 1]
            detail = f"after this line the plain program goes on at line {a[1]}, and on tracked arrays at line {b[1]}"
            return Blame("primal", "control flow", f"{file}:{line} in {function}", detail)
    return None


def _differ(a: Any, b: Any) -> bool:
    pairs = [(x, y) for x, y in zip(_arrays(a), _arrays(b), strict=False) if x.shape == y.shape]
    return any(x.tobytes() != y.tobytes() for x, y in pairs)


def _arrays(values: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in flat_values(values) if _is_number(x)]


def _is_number(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.number, int, float, complex))


def lines_of(subject: Subject, run: Callable[[], Any]) -> list[tuple[str, int, str]]:
    """The lines of the user's code that a run goes through: file, line, and function."""
    found: list[tuple[str, int, str]] = []
    program: Any = subject.f
    begin = getattr(program, "__code__", None) or getattr(type(program).__call__, "__code__", None)

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        # What the package itself calls is its own, but for the program.
        if not _is_same(frame.f_code, begin) and (_is_foreign(frame) or _is_foreign(_caller(frame))):
            return None
        if event == "line" and len(found) < MOST_LINES:
            found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    except Exception:
        # The program's own error; where it goes another way is looked for in runs that end.
        return []
    finally:
        sys.settrace(before)
    return found


def _is_same(code: CodeType, begin: CodeType | None) -> bool:
    """Whether code is that of the program, read or not."""
    if begin is None or code is begin:
        return code is begin
    return (code.co_filename, code.co_firstlineno, code.co_qualname) == (
        begin.co_filename,
        begin.co_firstlineno,
        begin.co_qualname,
    )


def _caller(frame: FrameType) -> FrameType | None:
    """Who called a function, but for what stands between functions of a program that is read."""
    found = frame.f_back
    while found is not None and found.f_globals.get("__name__", "").startswith("bridge.source."):
        found = found.f_back
    return found


def _is_foreign(frame: FrameType | None) -> bool:
    """Whether a frame runs code of a library, this one included, or is none."""
    file = "" if frame is None else frame.f_code.co_filename
    return frame is None or is_internal(file) or file.startswith(_LIBRARIES)


def _plain(x: Any) -> Any:
    if isinstance(x, Witness):
        return x.view(np.ndarray)
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(map(_plain, x))
    if isinstance(x, dict):
        return {key: _plain(part) for key, part in x.items()}
    return x


def _witnessed(result: Any, noted: list[Step] | None) -> Any:
    if type(result) is np.ndarray:
        made = result.view(Witness)
        made.noted = noted
        return made
    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields"):
        return type(result)(_witnessed(part, noted) for part in result)
    return result
