"""What is asked of a context that has run: gradients of what it computed, as arrays that are the caller's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bridge.errors import ArgumentError, ContextError, CotangentError
from bridge.rewind import strong_zeros
from bridge.rewind.cotangents import conforming
from bridge.rewind.diagnosis import Diagnosis
from bridge.rewind.lifetime import Lifetime, suspended
from bridge.rewind.places import Place
from bridge.rewind.roots import Root
from bridge.rewind.snapshots import Snapshots

Seeds = Sequence[tuple[Any, Any]]


class Gradients(Lifetime):
    """Asks for walks through the log, and hands out what they leave in the shadows."""

    asked: dict[Root, Any]
    # Of the sweep that is under way: whether memory need not be played forward again after it.
    once = False
    # Whether the last sweep has left everything as after the forward pass.
    settled = True
    # An entry is being undone: if an exception ends that, nobody knows what memory holds.
    exchanging = False
    rewind: Callable[..., None]
    log: list[Any]
    snapshots: Snapshots
    check_handed_out: Callable[[], None]
    handed_out: dict[Root, list[Any]]
    finally_shown: list[tuple[np.ndarray, np.ndarray]]
    shown: Callable[[], list[tuple[Any, np.ndarray]]]
    show_again: Callable[..., None]
    # Of the sweep that is under way: the plain arrays that show memory, and what that held before it.
    _shown: list[tuple[Any, np.ndarray]]
    undone_from: int | None
    forget_shadows: Callable[[], None]
    drop: Callable[[], None]

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

    def pull_back(self, seeds: Seeds, wanted: Sequence[Any], once: bool = False, exists: Any = None) -> list[Any]:
        """Cotangents at the places `wanted`, given cotangents at the places of the seeds.

        The arrays are the caller's own. Memory is as after the forward pass when this returns, unless the
        caller asks only `once`: then the log is dropped. `exists` holds masks of each seed's elements that
        are more than padding; without it all are.
        """
        self.once = once and not (self.zeros == "strong" and self.home.mends)
        with suspended(self):
            self.snapshots.check_frozen()
            if not self.settled or self.exchanging:
                self._settle()
            self._shown = []
            if self.handed_out:
                self.check_handed_out()
                self._shown = self.shown()
            self.settled = False
            gradients = self._sweep(seeds, wanted, None, once)
            if self.zeros == "strong" and any(map(strong_zeros.has_nan, gradients)):
                self.play_forward()
                present = strong_zeros.find(self, seeds, exists)
                diagnosis = Diagnosis()
                with diagnosis.observing():
                    gradients = self._sweep(seeds, wanted, present, once)
                is_final = self.outer is None and not strong_zeros.may_be_born_inside(self, gradients)
                if is_final and not self.home.is_abstract:
                    diagnosis.warn_of_nan(gradients)
            if once:
                if self._shown:
                    self.finally_shown = [(one.memory, before) for one, before in self._shown if one.is_held]
                self.handed_out = {}
                self.drop()
            else:
                self.play_forward()
                self.show_again(self._shown)
            self.settled = True
            return gradients

    @property
    def is_torn(self) -> bool:
        """Whether an exception came while bytes were exchanged: the log and memory do not fit each other any more."""
        return self.exchanging and not self.home.is_abstract

    def _settle(self) -> None:
        """After a sweep that an exception has ended: memory as after the forward pass, and no cotangents."""
        if not self.settled:
            self.play_forward()
            self.show_again(self._shown)
            self.asked = {}
            self.forget_shadows()
        if self.is_torn:
            raise ContextError(
                "an earlier backward pass of this pull was interrupted while it put memory back",
                remedy="call vjp again: what the function has left in memory is not known any more",
            )

    def _sweep(self, seeds: Seeds, wanted: Sequence[Any], present: Any, once: bool) -> list[Any]:
        self.asked = {root: None for place in wanted if not (root := place.root).entered}
        done = False
        try:
            self.rewind(seeds, present)
            found = [self._handed_out(place, once) for place in wanted]
            done = True
            return found
        finally:
            try:
                if not done:
                    self.play_forward()
            finally:
                self.asked = {}
                self.forget_shadows()

    def play_forward(self) -> None:
        """Redo what a rewind has undone: memory is again as after the forward pass.

        After an exception it goes on where it was; memory that was exchanged in part stays so (`is_torn`).
        """
        if self.undone_from is None or self.is_torn:
            return
        for number in range(self.undone_from, len(self.log)):
            entry = self.log[number]
            for root in entry.woken():
                root.active = True
            self.exchanging = True
            entry.undo()
            self.undone_from = number + 1
            self.exchanging = False
        self.undone_from = None

    @contextmanager
    def as_on_entry(self) -> Iterator[None]:
        """Inside, memory is as it was when the function was called."""
        try:
            for number in range(len(self.log) - 1, -1, -1):
                self.exchanging = True
                self.log[number].undo()
                self.undone_from = number
                self.exchanging = False
            yield
        finally:
            self.play_forward()

    def marked(self, seeds: Seeds, wanted: Sequence[Any]) -> list[Any]:
        """Marks at the places `wanted` of arguments, given marks at those of the seeds; the log is dropped."""
        with suspended(self):
            strong_zeros.walk(self, seeds)
            marks = [self._handed_out(place, once=False) for place in wanted]
            self.forget_shadows()
            self.drop()
            return marks

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

    def _handed_out(self, place: Any, once: bool) -> Any:
        root = place.root
        if place is root:
            if once and root.entered and type(root.shadow) is np.ndarray and root.is_own:
                return root.shadow
            ct = root.shadow if root.entered else self.asked[root]
            if ct is None:
                return self.memory.alloc(place.shape, place.dtype)
        else:
            ct = place.region()
        return np.copy(ct) if ct.shape or hasattr(ct, "place") else np.asarray(ct)[...].copy()
