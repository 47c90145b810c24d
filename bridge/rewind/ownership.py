"""The memory that a context owns: what enters it, what the program makes, and which of it may be written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import AliasError, ArgumentError, RefusedError
from bridge.rewind.handed_out import HandedOut
from bridge.rewind.interpreter import ARRAYS, CURRENT, AnyContext, Call
from bridge.rewind.memory import Home, grounded, numpy_number
from bridge.rewind.roots import Entered, Root
from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded_in
from bridge.signatures import operation_name


class Standing(NamedTuple):
    """What is known of memory that may be other memory: where that was found, and which it may be.

    Those `apart` would not follow a write.
    """

    position: Any
    others: Set[Any]
    apart: Set[Any]


_FEW, _LARGE = 64, 1 << 20
"""With more roots than this, or for a larger array, arrays that the program no longer holds are removed."""


class Ownership:
    """Makes roots that no operation made, and says which may be written."""

    outer: AnyContext | None
    home: Home
    # Whether the commonest events take few steps.
    lean = False
    writes: int
    roots: list[Root]
    originals: list[tuple[np.ndarray, Any]]
    loan: Any
    merged: dict[Root, Standing]
    listener: Any
    checkpointing: bool
    # The plain arrays that unread code has received in place of Buffers, by the Buffers' roots.
    handed_out: dict[Root, list[HandedOut]]
    most_handed_out = _FEW
    # The youngest root of which a plain array may show the memory: a checkpointed function makes its own anew.
    shown_until: float = math.inf
    settling: bool
    # Who repeats a write into memory that a name may stand for, and into what stands for it; None if nothing does.
    followers: Any = None
    # Whether large arguments may be the caller's memory until they are written: the backward pass ends with the call.
    borrows_arguments = False

    def check_usable(self) -> None:
        """Raise unless the context is open, in this thread."""
        raise NotImplementedError

    def buffer(self, array: Any, active: bool = True) -> Any:
        """A tracked copy of `array`: a Buffer of the same shape and dtype, on a root of its own.

        Parameters
        ----------
        array : float, complex, integer or boolean array (or number), copied.
        active : whether gradients may be asked of it; of integers and booleans they never are.
        """
        self.check_usable()
        if OPEN and (found := recorded_in(self, type(self).buffer, array, active)) is not NOT_RECORDED:
            return found
        if getattr(getattr(array, "place", None), "context", None) is self:
            return array.copy()
        value = self.own_copy(array)
        return ARRAYS.buffer(value, self.entering(value, active))

    def entering(self, value: Any, active: bool) -> Root:
        """A root for memory that came from outside."""
        root = Entered(self, value, active and value.dtype.kind in "fc")
        self.roots.append(root)
        return root

    def own_copy(self, array: Any) -> Any:
        """Memory of this context that holds a copy of `array`."""
        if hasattr(array, "place"):
            return np.copy(array)
        value = np.array(array, copy=True, order="K", subok=False)
        if value.dtype.kind not in "fciub":
            raise ArgumentError(
                f"an array of dtype {value.dtype} cannot be tracked",
                where=resolve(here()),
                remedy="use a float, complex, integer or boolean array",
            )
        return value if self.outer is None else self.outer.constant_buffer(value)

    def constant_buffer(self, array: Any) -> Any:
        """A Buffer on the fresh memory `array`, of which no gradient is asked."""
        if OPEN and (found := recorded_in(self, type(self).constant_buffer, array)) is not NOT_RECORDED:
            return found
        value = array if self.outer is None or hasattr(array, "place") else self.outer.constant_buffer(array)
        return ARRAYS.buffer(value, Root(self, value, False))

    def blank(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A Buffer of zeros, of which no gradient is asked."""
        if OPEN and (found := recorded_in(self, type(self).blank, shape, dtype)) is not NOT_RECORDED:
            return found
        if self.outer is None:
            return self.constant_buffer(np.zeros(shape, dtype))
        value = self.outer.blank(shape, dtype)
        return ARRAYS.buffer(value, Root(self, value, False))

    def inactive(self, value: Any) -> Any:
        """A value through which no gradient passes."""
        return wrap(self, value, False)

    def check_original(self, array: np.ndarray) -> None:
        """Raise if a plain operand is the caller's original of an argument that the function has written."""
        self.home.note(array)
        if self.handed_out:
            self.take_in()
        for original, buffer in self.originals:
            if buffer.place.root.written and np.may_share_memory(array, original):
                raise AliasError(
                    f"an array of shape {array.shape} is read under a global or captured name after the function "
                    "wrote into the argument that shares its memory: the name still holds the old values",
                    where=resolve(here()),
                    remedy="read the argument itself, or capture a copy made before the call",
                )

    def writable(self, target: Any) -> Root:
        """The root of `target`, marked as written; raises if its memory may not be written."""
        place = target.place
        root: Root = place if type(place) is Root else place.root
        self.writes += 1
        self.check_inside(target)
        if self.merged and not self.settling and root in self.merged:
            self._check_merged(target, self.merged[root])
        if self.handed_out and root in self.handed_out:
            self._release(root)
        if isinstance(root, Entered):
            if root.read_as_constant and not root.written:
                _refuse_late_write(target)
            if root.shared_by:
                _refuse_shared(root.shared_by)
            if not root.written:
                if root.borrowed:
                    root.own()  # type: ignore[attr-defined]
                root.written = True
                if self.loan is not None:
                    self.loan.names.written(root)
        return root

    def is_first_write(self, target: Any) -> bool:
        """Whether a write makes an argument show under other names of the caller's array."""
        root = target.place.root
        is_first = isinstance(root, Entered) and not root.written
        return is_first and self.loan is not None and not self.loan.names.are_none()

    def make_own(self, target: Any) -> None:
        """Let memory of an argument that is the caller's be the context's own, without a write."""
        root = target.place.root
        if isinstance(root, Entered) and root.borrowed:
            root.own()  # type: ignore[attr-defined]

    def refuses(self, target: Any) -> bool:
        """Whether `writable` raises since the memory is an argument's that has other names."""
        root = target.place.root
        return isinstance(root, Entered) and bool(root.shared_by or (root.read_as_constant and not root.written))

    def check_inside(self, target: Any) -> None:
        """Raise if a checkpointed function of an inner context writes this memory: a replay would write again."""
        current: Any = CURRENT.get()
        if current is not self and current is not None and current.checkpointing and not current.busy:
            _refuse_write_outside(target)

    def hand_out(self, tracked: Any) -> np.ndarray:
        """A plain array in place of a Buffer without a gradient, on its memory where that may be shown."""
        root = tracked.place.root
        given = self.handed_out.get(root, [])
        for before in given:
            before.check_unwritten()
        # No memory is both shown and copied: a copy would not follow what is written through what shows it.
        shares = any(one.shares for one in given)
        if not shares and self.shows_memory_of(root) and not any(one.is_held for one in given):
            self.handed_out.pop(root, None)
            self.expose(tracked)
            shares = True
        memory = np.asarray(grounded(tracked))
        one = next((one for one in self.handed_out.get(root, ()) if one.shows(memory)), None)
        if one is None:
            if len(self.handed_out) > self.most_handed_out or memory.nbytes > _LARGE:
                self._forget_dropped()
            one = HandedOut(tracked, shares)
            self.handed_out.setdefault(root, []).append(one)
        return one.array

    def shows_memory_of(self, root: Root) -> bool:
        """Whether a plain array may show memory: it has no gradient, and what is written there is logged in time."""
        current: Any = CURRENT.get()
        is_followed = self.lean and self.listener is None and current is self
        return is_followed and not root.active and root.serial <= self.shown_until

    def expose(self, tracked: Any) -> None:
        """Before memory is shown, and may be written at any time."""
        root = tracked.place.root
        if isinstance(root, Entered) and not root.written:
            if root.borrowed:
                root.own()  # type: ignore[attr-defined]
            if self.loan is not None:
                self.loan.names.written(root)

    def take_in(self, operands: Any = None) -> None:
        """Log what was written through plain arrays into memory that `operands` show; into all memory without them."""
        parts = (None,) if operands is None else tuple(_arrays_in(operands))
        for given in self.handed_out.values():
            for one in given:
                if one.shares and any(map(one.is_written, parts)):
                    self.take_in_write(one)

    def take_in_write(self, one: HandedOut) -> None:
        """Log what was written through one of them."""
        raise NotImplementedError

    def shown(self) -> list[tuple[HandedOut, np.ndarray]]:
        """The plain arrays that show memory, each with what that holds now, which the log knows."""
        self.take_in()
        return [(one, one.before) for given in self.handed_out.values() for one in given if one.shares]

    def show_again(self, shown: Sequence[tuple[HandedOut, np.ndarray]]) -> None:
        """After code of the program has run for a while that counts for nothing: memory holds what it held before."""
        self.handed_out = {}
        for one, before in shown:
            if one.is_written():
                one.memory[...] = before
            one.before = before
            self.handed_out.setdefault(one.tracked.place.root, []).append(one)

    def shown_elsewhere(self, root: Root, carries: bool) -> Sequence[HandedOut]:
        """The plain arrays that show memory which is written; AliasError if what is written carries a gradient."""
        given = self.handed_out.get(root, ())
        for one in given if carries else ():
            one.check_dropped()
        return given

    def _release(self, root: Root) -> None:
        """Before memory is written: keep the plain arrays that show it and are held; AliasError for held copies."""
        held = []
        for one in self.handed_out[root]:
            if not one.shares:
                one.check_dropped()
            elif one.is_written():
                self.take_in_write(one)
            if one.shares and one.is_held:
                held.append(one)
        if held:
            self.handed_out[root] = held
        else:
            del self.handed_out[root]

    def _forget_dropped(self) -> None:
        """Remove the plain arrays that the program no longer holds: a loop may create one in each iteration."""
        self.take_in()
        for root, given in list(self.handed_out.items()):
            held = [one for one in given if one.is_held]
            for one in given:
                one.check_unwritten()
            given[:] = held
            if not held:
                del self.handed_out[root]
        self.most_handed_out = _FEW + 2 * len(self.handed_out)

    def check_handed_out(self) -> None:
        """Raise AliasError if code that is not read has written into a plain copy that it got; log other writes."""
        self.take_in()
        handed_out, self.handed_out = self.handed_out, {}
        for root, given in handed_out.items():
            for one in given:
                one.check_unwritten()
            shown = [one for one in given if one.shares]
            if shown:
                self.handed_out[root] = shown

    def _check_merged(self, target: Any, standing: Standing) -> None:
        """Raise if memory that may be other memory, as a branch has it, is not all that the program can reach."""
        if standing.apart and (self.loan is None or self.loan.names.reaches(standing.apart)):
            _refuse_merged(target, standing.position)


class KeepsArguments(Ownership):
    """For contexts that keep no log to take memory back with: keeps what arguments held on entry."""

    entered_as: list[Any]
    _on_entry: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def writable(self, target: Any) -> Root:
        place = target.place.root
        first = isinstance(place, Entered) and not place.written and self.outer is None
        root = super().writable(target)
        if first:
            arrays = [grounded(b) for b in self.entered_as if b.place.root is root]
            self._on_entry += tuple((array, array.copy()) for array in arrays)
        return root

    @contextmanager
    def as_on_entry(self) -> Iterator[None]:
        """Inside, the arguments are as they were when the function was called."""
        now = [array.copy() for array, _ in self._on_entry]
        for array, before in self._on_entry:
            array[...] = before
        try:
            yield
        finally:
            for (array, _), value in zip(self._on_entry, now, strict=True):
                array[...] = value


def _arrays_in(operands: Any) -> Iterator[Any]:
    """The arrays among operands; None for a sequence of arrays, which may be any."""
    for x in operands:
        if x is None or isinstance(x, (list, tuple)):
            yield None
        elif isinstance(x, np.ndarray):
            yield x


def wrap(context: Any, value: Any, active: bool) -> Any:
    """A fresh result as a tracked one; integers, booleans and whatever is no array stay plain numbers."""
    kind = type(value)
    if kind is float or kind is complex:
        return ARRAYS.weak_scalar(value, Root(context, numpy_number(value), active))
    if kind is np.ndarray or kind is ARRAYS.buffer:
        if kind is np.ndarray and value.base is not None:
            value = _dense(value)
        return ARRAYS.buffer(value, Root(context, value, active and value.dtype.kind in "fc"))
    if isinstance(value, (np.floating, np.complexfloating)):
        return ARRAYS.scalar(value, Root(context, value, active))
    if kind is ARRAYS.scalar or kind is ARRAYS.weak_scalar:
        return ARRAYS.scalar(value, Root(context, value, active and value.dtype.kind in "fc"))
    if isinstance(value, tuple):
        parts = [wrap(context, part, active) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [wrap(context, part, active) for part in value]
    if isinstance(value, np.ndarray):
        return wrap(context, value.view(np.ndarray), active)
    return value


def must_be_numbers(call: Call, value: Any) -> None:
    """RefusedError for a result whose elements carry no gradient though they are no integers: objects, text, dates."""
    for part in value if isinstance(value, (tuple, list)) else (value,):
        dtype = getattr(part, "dtype", None)
        if dtype is not None and dtype.kind not in "biufc":
            raise RefusedError(
                f"{operation_name(call.function)} of a tracked value makes an array of dtype {dtype}, which carries no "
                "gradient",
                where=resolve(here()),
                remedy="give it arrays of numbers: np.asarray(x, dtype=float)",
            )


def weak_scalar(context: Any, value: float | complex, root: Any = None) -> Any:
    """A tracked Python number, on a root of its own unless one is given."""
    return ARRAYS.weak_scalar(value, root or Root(context, numpy_number(value), False))


def _dense(value: np.ndarray) -> np.ndarray:
    """Memory without gaps: a root's shadow lies as its memory does."""
    owner = value.base
    if isinstance(owner, np.ndarray) and owner.nbytes == value.nbytes and min(value.strides, default=0) >= 0:
        return value
    return value.copy("K")


def _refuse_late_write(target: Any) -> None:
    """Raise: memory was read as a constant under an undifferentiated name, and is written now."""
    raise AliasError(
        f"an argument of shape {target.shape} is written after it was read under the name of an undifferentiated "
        "argument that shares its memory: the gradient cannot tell whether that read counts",
        where=resolve(here()),
        remedy="pass a copy (x.copy()) for one of the two arguments",
    )


def _refuse_shared(names: tuple[str, ...]) -> None:
    """Raise: several arguments share the memory that is to be written, and the context has copied it for each."""
    raise AliasError(
        f"the function writes into memory that {len(names)} arguments share "
        f"({', '.join(names)}), so the gradient cannot tell whose value was meant",
        where=resolve(here()),
        remedy="pass copies (x.copy())",
    )


def _refuse_merged(target: Any, position: Any) -> None:
    """Raise: which array is written depends on values that are not known while the program is compiled."""
    raise AliasError(
        f"an array of shape {target.shape} is written, and it depends on a branch which array a name stands for "
        f"({resolve(position)}): who else sees the write is not known while the program is compiled",
        where=resolve(here()),
        remedy="take a copy before the branch (x = x.copy()), or write in it: x[...] = y instead of x = y",
    )


def _refuse_write_outside(target: Any) -> None:
    """Raise: a checkpointed function writes an array of an outer differentiation, and would write it twice."""
    raise RefusedError(
        f"a checkpointed function inside a nested derivative writes an array of shape {target.shape} of the outer one",
        where=resolve(here()),
        remedy="return the value from the checkpointed function and write it outside",
    )


def refuse_read_only(target: Any) -> None:
    """Raise if the memory that was to be written may only be read."""
    if not grounded(target).flags.writeable:
        raise AliasError(
            f"a write into a view of shape {target.shape} whose elements share memory, or that is read-only",
            where=resolve(here()),
            remedy="write into the array that it is a view of, or into a copy",
        )
