"""Where cotangents live: roots, and the places inside them.

A *root* is memory that a context owns; its *shadow* is the reference gradient, an array of the same
layout. A *place* names a part of a root, and finds the same part of the shadow.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.rewind.cotangents import sum_to_shape
from bridge.rewind.indices import is_unique_by_type, surviving
from bridge.rewind.memory import Strides, grounded, in_dtype, overlaps_itself, scatter_into_overlapping

if TYPE_CHECKING:
    from bridge.rewind.context import Context


_serials = itertools.count()


def serial_now() -> int:
    """The serial number of the youngest root there is: roots made later have larger ones."""
    return next(_serials)


LAID_OUT = 2


class Walk:
    """What is done at each step from a root to a place in it: this one goes down an array that lies as the root does.

    Others find what else a place stands for: `above` is what they gave for the place above it.
    """

    __slots__ = ()

    def index(self, above: Any, key: Any) -> Any:
        """What a key names, of basic or advanced indexing."""
        return above[key]

    def layout(self, above: Any, part: Layout) -> Any:
        """A view found by address."""
        return part.root.context.memory.view(above, *part.key)


DOWN = Walk()


class Root:
    """Memory that a context owns, and its shadow.

    `shadow` is None until a first contribution arrives. That one is held by reference; `owned` says
    that the shadow is this root's alone, so that it may be added to in place, and LAID_OUT that it also
    lies as the memory does.
    """

    __slots__ = ("active", "born_active", "context", "dtype", "held", "owned", "serial", "shadow", "shape", "strides")

    entered = False
    overlapping = False

    def __init__(self, context: Any, value: Any, active: bool) -> None:
        self.context: Context = context
        self.serial = next(_serials)
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

    def within(self, whole: Any, walk: Walk = DOWN) -> Any:
        """What lies at this place of `whole`, which stands for the root."""
        return whole

    def accumulate(self, ct: Any) -> None:
        """Add a cotangent, summed over broadcast axes, in this root's dtype."""
        if ct.shape != self.shape:
            ct = sum_to_shape(ct, self.shape)
        if ct.dtype is not self.dtype:
            ct = in_dtype(ct, self.dtype)
        shadow = self.shadow
        if shadow is None:
            self.shadow, self.owned = ct, False
        elif self.owned:
            shadow += ct
        else:
            self.shadow = shadow = shadow + ct
            self.owned = self.shape != () and (self.context.outer is None or hasattr(shadow, "place"))

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
        shadow = self.shadow
        if shadow is None:
            self.shadow = shadow = self._alloc()
        elif self.owned == LAID_OUT:
            return shadow
        elif not (self.owned and self._lies_alike(shadow)):
            fresh = self._alloc()
            fresh[...] = shadow
            self.shadow = shadow = fresh
        self.owned = LAID_OUT
        return shadow

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


class Part:
    """A part of a root: the cotangent that arrives there is added to the same part of the shadow."""

    __slots__ = ("dtype", "key", "overlapping", "parent", "root", "shape")

    def __init__(self, parent: Any, key: Any, value: Any) -> None:
        self.parent = parent
        self.key = key
        self.overlapping: bool = parent.overlapping
        self.root: Root = parent.root
        self.shape = value.shape
        self.dtype = value.dtype

    @property
    def context(self) -> Context:
        return self.root.context

    @property
    def active(self) -> bool:
        return self.parent.active

    def within(self, whole: Any, walk: Walk = DOWN) -> Any:
        """What lies at this place of `whole`, which stands for the root."""
        return walk.index(self.parent.within(whole, walk), self.key)

    def region(self) -> Any:
        return self.within(self.root.region())

    def _conform(self, ct: Any) -> Any:
        if ct.shape != self.shape:
            ct = sum_to_shape(ct, self.shape)
        return ct if ct.dtype is self.dtype else in_dtype(ct, self.dtype)

    def take(self) -> Any:
        if self.root.shadow is None:
            return None
        region = self.region()
        of_shadow = self.root.context.home.of_shadow
        ct = region.copy() if of_shadow is None else of_shadow(region.copy)
        region[...] = 0
        return ct

    def peek(self) -> Any:
        if self.root.shadow is None:
            return None
        of_shadow = self.root.context.home.of_shadow
        return self.region().copy() if of_shadow is None else of_shadow(self.region().copy)

    def store(self, value: Any) -> None:
        region = self.region()
        region[...] = value

    def accumulate(self, ct: Any) -> None:
        region = self.region()
        ct = self._conform(ct)
        if self.overlapping:
            scatter_into_overlapping(region, ct)
        else:
            region += ct


class View(Part):
    """A view by basic indexing."""

    __slots__ = ()

    def region(self) -> Any:
        # The same walk: what a sweep does for every slice goes down without its calls.
        return self.parent.region()[self.key]


class Layout(Part):
    """A view found by address: `key` holds its distance in bytes from the parent, and how it lies."""

    __slots__ = ()

    def __init__(self, parent: Any, key: tuple[int, Strides], value: Any) -> None:
        super().__init__(parent, key, value)
        self.overlapping = overlaps_itself(key[1])

    def within(self, whole: Any, walk: Walk = DOWN) -> Any:
        return walk.layout(self.parent.within(whole, walk), self)


class Picked(Part):
    """Elements that a key picks from the parent as a copy."""

    __slots__ = ()

    def peek(self) -> Any:
        return None if self.root.shadow is None else self._picked(self.parent.region())

    def _picked(self, region: Any) -> Any:
        of_shadow = self.root.context.home.of_shadow
        return region[self.key] if of_shadow is None else of_shadow(lambda: region[self.key])

    def store(self, value: Any) -> None:
        region = self.parent.region()
        region[self.key] = value


class Element(Picked):
    """One element, named by a full integer index."""

    __slots__ = ()

    def take(self) -> Any:
        if self.root.shadow is None:
            return None
        region = self.parent.region()
        ct = self._picked(region)
        region[self.key] = 0
        return ct

    def accumulate(self, ct: Any) -> None:
        region = self.parent.region()
        region[self.key] += self._conform(ct)


class Gathered(Picked):
    """Elements picked by advanced indexing; reads may repeat an element, writes keep the last."""

    __slots__ = ()

    def take(self) -> Any:
        if self.root.shadow is None:
            return None
        region = self.parent.region()
        ct = self._picked(region)
        region[self.key] = 0
        survivors = surviving(self.key, self.parent.shape)
        return ct if survivors is None else np.where(survivors, ct, np.zeros_like(ct))

    def accumulate(self, ct: Any) -> None:
        region = self.parent.region()
        ct = self._conform(ct)
        if is_unique_by_type(self.key) and not self.overlapping:
            region[self.key] += ct
        else:
            np.add.at(region, self.key, ct)


class Alias(Part):
    """A whole root under a second name: an undifferentiated argument on a differentiated one's memory.

    Until the root is written, what is read under this name is a constant.
    """

    __slots__ = ()

    def within(self, whole: Any, walk: Walk = DOWN) -> Any:
        return self.parent.within(whole, walk)

    @property
    def active(self) -> bool:
        root = self.root
        if not root.active or not isinstance(root, Entered):
            return False
        root.read_as_constant = root.read_as_constant or not root.written
        return root.written


Place = Root | Part


def is_place(thing: Any) -> bool:
    """Whether `thing` is a root or a part of one."""
    return isinstance(thing, (Root, Part))


def places_in(nested: Any) -> Iterator[Any]:
    """The places in nested sequences; None is left out."""
    if is_place(nested):
        yield nested
    elif isinstance(nested, (tuple, list)):
        for one in nested:
            yield from places_in(one)
