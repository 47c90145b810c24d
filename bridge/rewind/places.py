"""Places: a root, or a part of one, which finds the same part of the root's shadow.

A view of memory is the same view of the shadow: what arrives at a part is added there, and what is taken from it
leaves zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.rewind.cotangents import sum_to_shape
from bridge.rewind.indices import is_known, is_unique_by_type, surviving
from bridge.rewind.interpreter import AnyContext
from bridge.rewind.memory import Strides, address, ghost_at, in_dtype, overlaps_itself, scatter_into_overlapping
from bridge.rewind.roots import Entered, Root


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


class Part:
    """A part of a root: the cotangent that arrives there is added to the same part of the shadow."""

    __slots__ = ("depth", "dtype", "key", "overlapping", "parent", "root", "shape", "top")

    def __init__(self, parent: Any, key: Any, value: Any) -> None:
        self.parent = parent
        self.depth: int = parent.depth + 1
        self.key = key
        self.overlapping: bool = parent.overlapping
        self.root: Root = parent.root
        # Where it is known whether a gradient passes: the root, or its second name.
        self.top: Any = parent.top
        self.shape = value.shape
        self.dtype = value.dtype

    @property
    def context(self) -> AnyContext:
        return self.root.context

    @property
    def active(self) -> bool:
        active: bool = self.top.active
        return active

    def within(self, whole: Any, walk: Walk = DOWN) -> Any:
        """What lies at this place of `whole`, which stands for the root."""
        return walk.index(self.parent.within(whole, walk), self.key)

    def region(self) -> Any:
        return self.within(self.root.region())

    @property
    def holds_own_shadow(self) -> bool:
        """Whether adding into its region copies nothing: that of the root is there, and no element is there twice."""
        return not self.overlapping and self.root.holds_own_shadow

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


DEEP = 24
"""Steps from a root to a place in it, beyond which a view is found by its address in one."""


def shortened(buffer: Any) -> Place:
    """The place of a view of a view of a view ..., which from here on is that of a view of its root.

    It stays what it is where a key is not known while the program is compiled.
    """
    place = buffer.place
    top, key = by_address(place)
    if key is None:
        place.depth = 1
        return place
    buffer.place = Layout(top, key, place)
    return buffer.place


def by_address(place: Any) -> tuple[Place, Any]:
    """What a view is a view of, and the key of the same view there by its address; None where a key is not known."""
    top = place
    while isinstance(top, (View, Layout)):
        top = top.parent
    ghost = top.root.ghost()
    view = place.within(ghost, _ADDRESSES)
    if view is None:
        return top, None
    return top, (address(view) - address(ghost), Strides(view.shape, view.strides, view.dtype))


class _Addresses(Walk):
    """Where a place lies in an array that is never read; None where a key is not known."""

    __slots__ = ()

    def index(self, above: Any, key: Any) -> Any:
        return None if above is None or not is_known(key) else above[key]

    def layout(self, above: Any, part: Layout) -> Any:
        return None if above is None else ghost_at(above, *part.key)


_ADDRESSES = _Addresses()


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

    # What lies there is picked as a copy.
    holds_own_shadow = False

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

    def __init__(self, parent: Any, key: Any, value: Any) -> None:
        super().__init__(parent, key, value)
        self.top = self

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
