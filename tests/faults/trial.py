"""One program under faults: what must hold after each of them, and what does not."""

from __future__ import annotations

import dis
import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

import bridge
from bridge.rewind.interpreter import current_context
from bridge.source.borrowing import HELD
from bridge.source.lending import COUNT, LENT
from bridge.source.pattern import PATTERNS, is_marked
from tests.faults.asking import WAYS
from tests.faults.dealing import ByKind, Evenly, Point
from tests.faults.points import Faults
from tests.faults.subjects import Subject, bits
from tests.programs_as_they_stand.state import differing, state_of, tracked_in


@dataclass
class Verdict:
    """What was tried on one program, how many pulls were refused by name afterwards, and each violation in words."""

    name: str
    tried: int = 0
    left_out: int = 0
    refused: int = 0
    unfit: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


@dataclass
class Trial:
    """Faults at up to `most` points of each way to ask for a derivative of one program."""

    subject: Subject
    most: int
    dealer: Evenly | ByKind = field(default_factory=Evenly)
    leaks: bool = False
    faults: ClassVar[type[Faults]] = Faults

    def run(self, ways: tuple[str, ...] = (*WAYS, "pull")) -> Verdict:
        verdict = Verdict(self.subject.name)
        # What there was before is not looked at, each time that objects are counted.
        gc.collect()
        gc.freeze()
        try:
            self._run(ways, verdict)
        finally:
            gc.unfreeze()
        return verdict

    def _run(self, ways: tuple[str, ...], verdict: Verdict) -> None:
        for way in ways:
            before = verdict.tried
            self.leaks = False
            try:
                objects = counted()
                self._pulls(verdict) if way == "pull" else self._calls(verdict, way)
            except Unfit as error:
                verdict.unfit.append(f"{way}: {error}")
                continue
            if verdict.tried > before and not self.leaks:
                left = counted() - objects
                if left:
                    verdict.violations.append(f"{self.subject} {way}: objects are left: {dict(left)}")

    def _calls(self, verdict: Verdict, way: str) -> None:
        ask, subject = WAYS[way], self.subject
        with np.errstate(all="ignore"):
            function, args = subject.make(), subject.arguments()
            expected, kinds = self._clean(lambda: ask(subject, function, args))
            before = state_of(args)
            for at, error in self._dealt(kinds, verdict):
                where, wrong = self._fault(partial(ask, subject, function, args), at, error)
                wrong += differing(before, state_of(args)) + left_in(state_of(function))
                if not wrong:
                    found = bits(ask(subject, function, args))
                    wrong += [] if found == expected else [f"the next call gives {found}, not {expected}"]
                verdict.tried += 1
                if wrong:
                    verdict.violations.append(f"{subject} {way}, {error.__name__} {where} ({at}): {wrong}"[:1500])
                    function, args = subject.make(), subject.arguments()
                    before = state_of(args)

    def _pulls(self, verdict: Verdict) -> None:
        """Pulls of one `vjp`: a fault in one, then another one, which is right, or refused by name."""
        subject = self.subject
        with np.errstate(all="ignore"):
            function, args = subject.make(), subject.arguments()
            value, pull = bridge.vjp(function, *args)
            seed = _seed(value)
            expected, kinds = self._clean(lambda: pull(seed))
            before = state_of((function, args))
            for at, error in self._dealt(kinds, verdict):
                where, wrong = self._fault(partial(pull, seed), at, error)
                wrong += differing(before, state_of((function, args)))
                try:
                    found = bits(pull(seed))
                    wrong += [] if found == expected else [f"the next pull gives {found}, not {expected}"]
                except bridge.errors.ContextError as refused:
                    if "interrupted" not in str(refused):
                        wrong.append(repr(refused))
                    verdict.refused += 1
                    value, pull = bridge.vjp(function, *args)
                verdict.tried += 1
                if wrong:
                    verdict.violations.append(f"{subject} pull, {error.__name__} {where} ({at}): {wrong}"[:1500])
                    function, args = subject.make(), subject.arguments()
                    value, pull = bridge.vjp(function, *args)
                    before = state_of((function, args))

    def _clean(self, run: Callable[[], Any]) -> tuple[Any, list[str]]:
        """What a call without a fault gives, and the kinds of the points that it passes."""
        passed: list[list[str]] = []
        try:
            expected = bits(run())
            for _ in range(2):
                with self.faults().injected() as faults:
                    faults.kinds = []
                    if bits(run()) != expected:
                        raise Unfit("it does not do the same twice")
                passed.append(faults.kinds)
        except Unfit:
            raise
        except Exception as error:
            raise Unfit(repr(error)[:100]) from error
        if len(passed[0]) != len(passed[1]):
            raise Unfit("it does not do the same twice")
        return expected, passed[0]

    def _dealt(self, kinds: list[str], verdict: Verdict) -> Iterator[Point]:
        verdict.left_out += max(0, len(kinds) - self.most)
        return self.dealer.dealt(kinds, self.most)

    def _fault(self, run: Callable[[], Any], at: int, error: type[BaseException]) -> tuple[str, list[str]]:
        """Where a fault was raised, and what does not hold after it."""
        wrong = []
        errors = np.geterr()
        with self.faults(at, error).injected() as faults:
            try:
                run()
            except BaseException as raised:
                self.leaks = self.leaks or leaks_elsewhere(raised)
                if not _tells(raised, error) and not isinstance(raised, bridge.errors.BridgeError):
                    wrong.append(f"in its place came {raised!r}")
        if faults.lost():
            wrong.append(f"arrays that were lent hold other bits: {faults.lost()}")
        if current_context() is not None:
            wrong.append("a context is left current")
            while (context := current_context()) is not None:
                context.__exit__(None, None, None)
        if LENT or HELD:
            wrong.append(f"lent are still {len(LENT)} arrays and {len(HELD)} objects")
            LENT.clear()
            HELD.clear()
            COUNT.told()
        if np.geterr() != errors:
            wrong.append(f"np.errstate is {np.geterr()}")
            np.seterr(**errors)
        return faults.where, wrong


class Unfit(Exception):
    """A program on which faults cannot be tried: it raises, or does something else each time."""


def counted() -> Counter[str]:
    """How many objects there are of each class of the package that belongs to one call."""
    gc.collect()
    kinds = Counter(type(one) for one in gc.get_objects())
    return Counter({kind.__name__: n for kind, n in kinds.items() if str(kind.__module__).startswith(OF_CALLS)})


OF_CALLS = (
    "bridge.rewind.context",
    "bridge.rewind.forward",
    "bridge.rewind.log",
    "bridge.rewind.writes",
    "bridge.rewind.checkpoint",
    "bridge.rewind.roots",
    "bridge.rewind.places",
    "bridge.rewind.snapshots",
    "bridge.arrays",
    "bridge.engines.protocol",
    "bridge.source.borrowing",
    "bridge.source.lending",
    "bridge.source.keeping",
    "bridge.transforms",
)


def left_in(state: dict[str, Any]) -> list[str]:
    """What of a call is left in a program that it did not finish: tracked values, and patterns of lent memory.

    What the program did with plain values stays, as it does when the plain program ends with an exception.
    """
    patterns = [
        f"{path}: the pattern of an array that is lent"
        for path, found in state.items()
        if type(found) is tuple and found[0] is np.ndarray and found[2].kind in "fc" and _is_pattern(found)
    ]
    return tracked_in(state) + patterns


def _is_pattern(found: tuple[Any, ...]) -> bool:
    pattern = PATTERNS.get(found[2].itemsize // (2 if found[2].kind == "c" else 1))
    return pattern is not None and bool(np.any(is_marked(np.frombuffer(found[-1], pattern.dtype))))


_OF_ARRAYS = os.path.join("bridge", "arrays") + os.sep


def leaks_elsewhere(raised: BaseException, seen: tuple[BaseException, ...] = ()) -> bool:
    """Whether an exception has passed code of Python's or NumPy's that loses a reference on the way.

    Of Python 3.11 `f(*args, **kwargs)` keeps `kwargs` alive if the iteration over `args` raises; of NumPy 2 `reduce`,
    `accumulate` and `reduceat` of a ufunc keep what they were called with if its `__array_ufunc__` raises.
    """
    at = raised.__traceback__
    while at is not None:
        frame, code, inner = at.tb_frame, at.tb_frame.f_code, at.tb_next
        if code.co_name == "__array_ufunc__" and frame.f_locals.get("method") in ("reduce", "accumulate", "reduceat"):
            return True
        unpacks = dis.opname[code.co_code[at.tb_lasti]] == "CALL_FUNCTION_EX"
        if unpacks and inner is not None and _OF_ARRAYS in inner.tb_frame.f_code.co_filename:
            return True
        at = inner
    # What is raised once more while its own consequence is handled is the context of that, and caused it.
    seen = (*seen, raised)
    told = (one for one in (raised.__cause__, raised.__context__) if one is not None and one not in seen)
    return any(leaks_elsewhere(one, seen) for one in told)


def _tells(raised: BaseException, error: type[BaseException]) -> bool:
    """Whether an exception is the fault, or was raised because of it."""
    seen: BaseException | None = raised
    while seen is not None:
        if isinstance(seen, error):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _seed(value: Any) -> Any:
    return np.ones_like(value)[()] if not isinstance(value, (float, complex)) else type(value)(1)
