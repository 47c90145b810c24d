"""Memory that a context owns, and its shadow: the reference gradient, an array of the same layout."""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

import numpy as np

from bridge.rewind.cotangents import sum_to_shape
from bridge.rewind.interpreter import AnyContext
from bridge.rewind.memory import Strides, ghost_at, grounded, in_dtype

SERIALS = itertools.count()


def serial_now() -> int:
    """The serial number of the youngest root there is: roots made later have larger ones."""
    return next(SERIALS)


def ground_of(root: Any) -> Any:
    """The memory of the outermost context that a root is made of."""
    while hasattr(root.held, "place"):
        root = root.held.place.root
    return root


LAID_OUT = 2


class Root:
    """Memory that a context owns, and its shadow.

    `shadow` is None until a first contribution arrives. That one is held by reference; `owned` says
    that the shadow is this root's alone, so that it may be added to in place, and LAID_OUT that it also
    lies as the memory does.
    """

    __slots__ = ("active", "born_active", "context", "dtype", "held", "owned", "serial", "shadow", "shape", "strides")

    entered = False
    # Whether its memory is the caller's still.
    borrowed: Any = False
    overlapping = False
    depth = 0
    # What tells apart memory that a compiled program has made of what is known; None of anything else.
    origin: Any = None

    def __init__(self, context: Any, value: Any, active: bool) -> None:
        self.context: AnyContext = context
        self.serial = next(SERIALS)
        self.shape = shape = value.shape
        self.dtype = value.dtype
        self.active = self.born_active = active
        self.shadow: Any = None
        self.owned: int = False
        self.strides: tuple[int, ...] | None = None
        if context.home.is_abstract:
            # A compiled loop finds its memory again by its root.
            self.held = value
        if len(shape) > 1:
            ground = grounded(value)
            if not ground.flags.c_contiguous:
                self.strides = ground.strides

    @property
    def root(self) -> Root:
        return self

    @property
    def top(self) -> Root:
        return self

    def held_now(self) -> tuple[Any, Any]:
        """What tells what the memory holds from what it held before, and that itself where it is compiled, or None."""
        return None, None

    def ghost(self) -> np.ndarray:
        """An array that lies as the memory does, and is never read."""
        item, steps = self.dtype.itemsize, self.strides
        if steps is None:
            steps = tuple(item * math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))
        return ghost_at(np.empty(1, self.dtype), 0, Strides(self.shape, steps, self.dtype))

    def within(self, whole: Any, walk: object = None) -> Any:
        """What lies at this place of `whole`, which stands for the root."""
        return whole

    def accumulate(self, ct: Any) -> None:
        """Add a cotangent, summed over broadcast axes, in this root's dtype."""
        if ct.shape != self.shape:
            ct = sum_to_shape(ct, self.shape)
        if ct.dtype is not self.dtype:
            ct = in_dtype(ct, self.dtype)
        if self.shadow is None:
            self.shadow, self.owned = ct, False
        elif self.owned:
            self.shadow += ct
        elif self.shape == ():
            self.shadow = self.shadow + ct
        elif self.context.outer is None and is_held_alone(self):
            self.shadow += ct
            self.owned = True
        else:
            self.shadow = shadow = self.shadow + ct
            self.owned = self.context.outer is None or hasattr(shadow, "place")

    def take(self) -> Any:
        """Hand over the shadow and forget it: what lay here before is somebody else's value."""
        shadow = self.shadow
        self.shadow = None
        return shadow

    def store(self, value: Any) -> None:
        """Put a value into the emptied shadow."""
        self.accumulate(value)

    def peek(self) -> Any:
        """The shadow, to be read while it stays; a later contribution will not write into it."""
        self.owned = False
        return self.shadow

    def region(self) -> Any:
        """The shadow as an array that may be written, laid out as the memory is."""
        if self.context.touched is not None:
            self.context.touched.setdefault(self, (self.shadow, self.owned, self.active))
        if self.owned == LAID_OUT and self.shadow is not None:
            return self.shadow
        if self.shadow is None:
            self.shadow = self._alloc()
        elif not (self._lies_alike(self.shadow) and self.is_own):
            fresh = self._alloc()
            fresh[...] = self.shadow
            self.shadow = fresh
        self.owned = LAID_OUT
        return self.shadow

    @property
    def is_own(self) -> bool:
        """Whether the shadow is this root's alone, so that it may be written, or handed out."""
        # Under an outer context, memory that may be written is that context's.
        return bool(self.owned) or (self.context.outer is None and is_held_alone(self))

    @property
    def holds_own_shadow(self) -> bool:
        """Whether there is a shadow, and adding into its region copies nothing."""
        return self.shadow is not None and self.is_own and self._lies_alike(self.shadow)

    def _alloc(self) -> Any:
        memory, strides = self.context.memory, self.strides
        if strides is None:
            return memory.alloc(self.shape, self.dtype)
        order = sorted(range(len(self.shape)), key=lambda axis: -strides[axis])
        packed = memory.alloc(tuple(self.shape[axis] for axis in order), self.dtype)
        return np.transpose(packed, np.argsort(order))

    def _lies_alike(self, shadow: Any) -> bool:
        if shadow.dtype != self.dtype:
            # A sum of big-endian cotangents is a native one.
            return False
        if len(self.shape) < 2:
            return not self.shape or grounded(shadow).flags.c_contiguous
        ground = grounded(shadow)
        if self.strides is None:
            return ground.flags.c_contiguous
        return all(a == b for a, b, n in zip(ground.strides, self.strides, self.shape, strict=True) if n > 1)


class Entered(Root):
    """A root that came from outside: an argument of the differentiated function."""

    __slots__ = ("read_as_constant", "shared_by", "written")

    entered = True

    def __init__(self, context: Any, value: Any, active: bool) -> None:
        super().__init__(context, value, active)
        # The names of the differentiated arguments on its memory, if they are several: it may not be written then.
        self.shared_by: tuple[str, ...] = ()
        self.read_as_constant = self.written = False


class _Holder:
    """Holds one array, as a root holds its shadow."""

    __slots__ = ("shadow",)

    def __init__(self, shadow: Any) -> None:
        self.shadow = shadow


def _references(holder: Any) -> int:
    return sys.getrefcount(holder.shadow)


def _references_of_base(holder: Any) -> int:
    return sys.getrefcount(holder.shadow.base)


# The counts of arrays with a sole owner: interpreters differ in what they hold themselves for a moment.
_ALONE = _ALONE_AS_BASE = -1
if hasattr(sys, "getrefcount"):
    _ALONE = _references(_Holder(np.empty(2)))
    _ALONE_AS_BASE = _references_of_base(_Holder(np.empty(2).reshape(2, 1)))


def is_held_alone(holder: Any) -> bool:
    """Reference-count test: whether `holder.shadow` is the only owner of its memory.

    A sole owner writes into the array, or returns it, without a copy.
    A pull may return its own cotangent, an operand, or a view of either: then others hold it too, and the answer is no.
    """
    shadow = holder.shadow
    if type(shadow) is not np.ndarray or not shadow.flags.writeable:
        return False
    base = shadow.base
    if base is None:
        del shadow
        return _references(holder) == _ALONE
    if type(base) is not np.ndarray or base.base is not None or not base.flags.owndata:
        return False
    if base.nbytes != shadow.nbytes or not (shadow.flags.c_contiguous or shadow.flags.f_contiguous):
        return False
    del shadow, base
    return _references(holder) == _ALONE and _references_of_base(holder) == _ALONE_AS_BASE
