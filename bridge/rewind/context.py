"""The rewind: run forward and log, then walk the log from its end.

For each entry, from the last to the first: take the cotangent of what it wrote from the shadow; put back
the bytes that it overwrote; ask for its pull, and add what that returns into the shadows of its inputs.
When a pull runs, memory holds what it held when the operation ran. So nothing is copied for the backward
pass, and mutation is an ordinary operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from types import TracebackType
from typing import Any, Self

import numpy as np

from bridge.errors import ArgumentError, BridgeError, ContextError, CotangentError
from bridge.position import here, resolve
from bridge.rewind import book, strong_zeros
from bridge.rewind.cotangents import conforming
from bridge.rewind.interpreter import CURRENT, current_context
from bridge.rewind.log import Entry, blame
from bridge.rewind.memory import ArrayMemory, OuterMemory
from bridge.rewind.owning import Owning
from bridge.rewind.places import Entered, Place, Root
from bridge.rewind.recording import Recording
from bridge.rewind.snapshots import Snapshots


class Context(Owning, Recording):
    """One differentiation: owns the log, the roots, their shadows and the constants' snapshots.

    A context manager, of one thread. Inside it, arrays made by `buffer` are tracked; `gradient` walks the
    log back. Contexts nest: memory of an inner one is made of the outer one's Buffers, so that the outer
    one differentiates the inner one's backward pass.

    Parameters
    ----------
    zeros : "strong": a cotangent that is structurally absent stays absent, also where a partial
        derivative is not finite; "ieee": it is the number 0.0 there, as in JAX.
    """

    engine: Any = None
    # Whether the values of its Buffers are stand-ins, because the program is being compiled.
    tracing = False
    # The tracing context at the bottom, if this one is compiled with it.
    compiles: Any = None
    # Whether another differentiation ran inside of it.
    nested = False
    # While a compiled body is tried out: the roots whose shadows it reaches, and what these were before.
    touched: Any = None
    # Of the sweep that is under way: whether memory need not be played forward again after it, whether it carries
    # marks in place of cotangents, and whether it knows from marks which cotangents exist.
    once = walking = mending = False

    def __init__(self, *, zeros: str = "strong") -> None:
        if zeros not in ("strong", "ieee"):
            raise ArgumentError(f"zeros={zeros!r}", remedy='use zeros="strong" (the default) or zeros="ieee"')
        book.open_book()
        self.zeros = zeros
        self.log: list[Entry] = []
        self.outer: Context | None = None
        self.level = -1
        self.memory = ArrayMemory()
        self.snapshots = Snapshots()
        self.writes = 0
        self.checkpointing = self.busy = False
        self.roots: list[Root] = []
        self.originals: list[tuple[np.ndarray, Entered]] = []
        self.entered_as: list[Any] = []
        self.asked: dict[Root, Any] = {}
        self.escaped: BridgeError | None = None
        self.thread: int | None = None
        self._home = get_ident()
        self.undone_from: int | None = None
        self._sweeping = False

    def __enter__(self) -> Self:
        if self.level >= 0:
            raise ContextError("this context was entered before", remedy="make a new one: a context is used once")
        self.outer = current_context()
        if self.outer is not None:
            self.level = self.outer.level + 1
            self.outer.nested = self.outer.nested or self.zeros == "strong"
            self.memory = OuterMemory(self.outer)
            self.compiles = self.outer.compiles
            if self.compiles is not None:
                self.engine = self.compiles.engine
        else:
            self.level = 0
        self.thread = self._home = get_ident()
        CURRENT.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if CURRENT.get() is self:
            CURRENT.set(self.outer)
        self.thread = None
        if self.escaped is not None and error is not self.escaped:
            raise self.escaped from error

    def check_usable(self) -> None:
        """Raise if this is another thread, or if the context is not open."""
        if self.thread != get_ident():
            self._complain()

    def must_differentiate(self) -> None:
        """Say that what comes means something else where a context differentiates; a tape refuses it."""

    def rerolled(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """What runs in place of `f`; a program that is being compiled may put loops in place of what repeats itself."""
        return f if self.compiles is None else self.compiles.rerolled(f)

    def _complain(self) -> None:
        where = resolve(here())
        if self.thread is None:
            raise ContextError(
                "a Buffer is used outside its context, which has closed"
                if self.level >= 0
                else "this context was not entered",
                where=where,
                remedy="use it inside `with Context() as ctx:`, return values from the function that is "
                "differentiated, or take them out with bridge.detach; do not keep Buffers in globals or closures",
            )
        raise ContextError(
            f"a Buffer of a context of thread {self.thread} is used in thread {get_ident()}",
            where=where,
            remedy="differentiate inside each thread: a context belongs to the thread that made it",
        )

    def gradient(self, y: Any, wrt: Any, cotangent: Any = None) -> Any:
        """Gradients of `y` with respect to the Buffers `wrt`, as arrays of their shapes and dtypes.

        Parameters
        ----------
        y : a Buffer or Scalar of this context, or a sequence of them.
        wrt : a Buffer or a sequence of Buffers; each gradient is with respect to the value at its birth.
        cotangent : array of the shape of `y`; may be left out when `y` is one number, and is 1 then.

        May be called again, also with another `y`: memory is played forward before it returns.
        """
        single = not isinstance(wrt, (list, tuple))
        ys, cts = self._seeds(y, cotangent)
        places = [self._asked(buffer) for buffer in ([wrt] if single else wrt)]
        gradients = self.pull_back(list(zip([y.place for y in ys], cts, strict=True)), places)
        return gradients[0] if single else gradients

    def _seeds(self, y: Any, cotangent: Any) -> tuple[list[Any], list[Any]]:
        several = isinstance(y, (list, tuple))
        ys = list(y) if several else [y]
        for one in ys:
            if getattr(getattr(one, "place", None), "context", None) is not self:
                raise ArgumentError(
                    f"{type(one).__name__} is not a Buffer of this context", remedy="pass what f returned"
                )
        if cotangent is None:
            if several or ys[0].shape != () or ys[0].dtype.kind == "c":
                raise CotangentError(
                    f"a gradient needs one real number, and this value has shape {ys[0].shape} and dtype {ys[0].dtype}",
                    remedy="reduce it (np.sum), or give its cotangent",
                )
            return ys, [ys[0].dtype.type(1)]
        cts = list(cotangent) if several else [cotangent]
        return ys, [conforming(ct, one) for ct, one in zip(cts, ys, strict=True)]

    def _asked(self, buffer: Any) -> Place:
        place = getattr(buffer, "place", None)
        if place is None or place.context is not self:
            raise ArgumentError(f"{type(buffer).__name__} is not a Buffer of this context", remedy="pass ctx.buffer(x)")
        if not place.root.born_active:
            raise ArgumentError(
                f"no gradient with respect to an array of dtype {buffer.dtype} that does not depend on a tracked input",
                remedy="make it with ctx.buffer(x), of a float or complex array",
            )
        if place is not place.root and not place.root.entered:
            raise ArgumentError("a gradient with respect to a view", remedy="ask it of the array that it is a view of")
        return place

    def pull_back(
        self, seeds: Sequence[tuple[Any, Any]], wanted: Sequence[Any], once: bool = False, exists: Any = None
    ) -> list[Any]:
        """Cotangents at the places `wanted`, given cotangents at the places of the seeds.

        The arrays are the caller's own. Memory is as after the forward pass when this returns, unless the
        caller asks only `once`: then the log is dropped. `exists` is a mask of the seeds' elements that are
        more than padding; without it all are.
        """
        self.once = once and not (self.zeros == "strong" and getattr(self.compiles, "mends", False))
        with self._suspended():
            gradients = self._sweep(seeds, wanted, None, once)
            if self.zeros == "strong" and any(strong_zeros.has_nan(g) for g in gradients):
                self.play_forward()
                present = strong_zeros.find(self, seeds, exists)
                gradients = self._sweep(seeds, wanted, present, once)
            if once:
                self.drop()
            else:
                self.play_forward()
            return gradients

    def marked(self, seeds: Sequence[tuple[Any, Any]], wanted: Sequence[Any]) -> list[Any]:
        """Marks at the places `wanted` of arguments, given marks at those of the seeds; the log is dropped."""
        with self._suspended():
            strong_zeros.walk(self, seeds)
            marks = [self._handed_out(place, once=False) for place in wanted]
            self.forget_shadows()
            self.drop()
            return marks

    @contextmanager
    def as_on_entry(self) -> Iterator[None]:
        """Inside, memory is as it was when the function was called."""
        try:
            for number in range(len(self.log) - 1, -1, -1):
                self.log[number].undo()
                self.undone_from = number
            yield
        finally:
            self.play_forward()

    def drop(self) -> None:
        """Let go of the log and of everything that it keeps alive."""
        self.log = []
        self.roots = []
        self.originals = []
        self.snapshots = Snapshots()
        self.undone_from = None

    def _sweep(self, seeds: Sequence[tuple[Any, Any]], wanted: Sequence[Any], present: Any, once: bool) -> list[Any]:
        self.asked = {place.root: None for place in wanted if not place.root.entered}
        try:
            self.rewind(seeds, present)
            return [self._handed_out(place, once) for place in wanted]
        except BaseException:
            self.play_forward()
            raise
        finally:
            self.asked = {}
            self.forget_shadows()

    def rewind(self, seeds: Sequence[tuple[Any, Any]], present: Any = None) -> None:
        """Walk the log from its end: the backward pass.

        `present` holds, entry by entry, where the cotangents structurally exist; without it they all do.
        """
        self.mending = present is not None
        for place, ct in seeds:
            if place.active:
                place.accumulate(ct)
        log = self.log
        for number in range(len(log) - 1, -1, -1):
            entry = log[number]
            ct = entry.take()
            if entry.overwrites:
                entry.undo()
            self.undone_from = number
            if ct is not None:
                try:
                    if present is None:
                        entry.push(ct)
                    else:
                        strong_zeros.push_present(entry, ct, present[number])
                except Exception as error:
                    blame(entry, error)
                    raise
            if entry.activates:
                entry.forget_before()

    def play_forward(self) -> None:
        """Redo what a rewind has undone: memory is again as after the forward pass."""
        if self.undone_from is not None:
            for entry in self.log[self.undone_from :]:
                entry.undo()
                for root in entry.woken():
                    root.active = True
            self.undone_from = None

    def forget_shadows(self) -> None:
        """Drop what cotangents are left: those of arguments, and all of them after an error."""
        for root in self.roots:
            root.shadow = None
        if self.undone_from != 0:
            for entry in self.log:
                entry.forget()

    def _handed_out(self, place: Any, once: bool) -> Any:
        root = place.root
        if place is root:
            ct = root.shadow if root.entered else self.asked[root]
            if ct is None:
                return self.memory.alloc(place.shape, place.dtype)
            if once and root.entered and root.owned and type(ct) is np.ndarray:
                return ct
        else:
            ct = place.region()
        return np.copy(ct) if ct.shape or hasattr(ct, "place") else np.asarray(ct)[...].copy()

    @contextmanager
    def reopened(self) -> Iterator[None]:
        """Open again, for a replay during the backward pass."""
        before, thread = CURRENT.get(), self.thread
        CURRENT.set(self)
        self.thread = self._home
        try:
            yield
        finally:
            self.thread = thread
            CURRENT.set(before)

    @contextmanager
    def _suspended(self) -> Iterator[None]:
        """Run pulls one level out, and only in this context's thread."""
        if get_ident() != self._home:
            raise ContextError(
                f"a gradient of a context of thread {self._home} is asked in thread {get_ident()}",
                remedy="call the pull in the thread that ran the function",
            )
        if self._sweeping:
            raise ContextError("a gradient is asked of a context during its own backward pass")
        before = CURRENT.get()
        self._sweeping = True
        CURRENT.set(self.outer)
        try:
            with np.errstate(all="ignore"):
                yield
        finally:
            CURRENT.set(before)
            self._sweeping = False
