"""What places of a traced program name: regions of cells, and values that are known; their reads and writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.escapes import noted
from bridge.rewind.interpreter import Call
from bridge.rewind.memory import ArrayMemory
from bridge.rewind.places import Gathered, Layout, Place, Walk
from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded_in
from bridge.rewind.values import ground_floor, is_abstract
from bridge.xla.regions.gathers import gather, scatter_add, scatter_set, survivors
from bridge.xla.regions.region import Region
from bridge.xla.tracing.abstract import abstract_like
from bridge.xla.tracing.cells import Cell, in_dtype
from bridge.xla.tracing.faults import Faults
from bridge.xla.tracing.integers import affine_of, as_window
from bridge.xla.tracing.outlines import Outline


class Accessing:
    """Memory through the places of Buffers."""

    index_mode: str
    faults: Faults
    entered: Callable[..., Any]
    writable: Callable[..., Any]
    is_dry: bool
    shadows = False

    def read(self, place: Place) -> Any:
        """What lies at a place, as a JAX value."""
        if isinstance(place, Cell):
            return place.contents
        cell: Any = place.root
        region, key = self._parts(place)
        mode = "drop" if self.shadows and self.index_mode == "fill" else self.index_mode
        found = cell.read(region, mode)
        if key is None:
            return found
        return Outline(place.shape, place.dtype) if self.is_dry else gather(found, key, mode)

    def of_shadow(self, read: Callable[[], Any]) -> Any:
        """What `read` reads of a shadow: where an index lies outside, there is no cotangent and no tangent."""
        before, self.shadows = self.shadows, True
        try:
            return read()
        finally:
            self.shadows = before

    def put(self, place: Place, value: Any) -> None:
        """Overwrite what lies at a place."""
        cell: Any = place.root
        region, key = self._parts(place)
        if key is not None:
            before = cell.read(region, self.index_mode)
            fresh = Outline(before.shape, before.dtype) if self.is_dry else None
            value = fresh or scatter_set(before, key, value, self.index_mode)
        cell.write(region, value, self.index_mode)

    def _parts(self, place: Place) -> tuple[Region, Any]:
        """The region of a place, and the key of advanced indexing into it, if that does not name a region itself."""
        if not isinstance(place, Gathered):
            region, key = region_of(place), None
        else:
            region, key = region_of(place.parent), as_window(place.key, place.parent.shape)
            if key is not None:
                region, key = region.index(key), None
            else:
                key = as_region_key(place.key)
                self.faults.check_gather(key, place.parent.shape)
        self.faults.check(region)
        return region, key

    def surviving(self, key: Any, shape: tuple[int, ...]) -> Any:
        """Which elements that a key with traced indices names survive a write, as a Buffer; None if all do."""
        if as_window(key, shape) is not None:
            return None
        if OPEN and (found := recorded_in(self, Accessing.surviving, key, shape)) is not NOT_RECORDED:
            return found
        if self.is_dry:
            mask: Any = Outline(np.shape(abstract_like(np.broadcast_to(False, shape))[key]), bool)
        else:
            mask = survivors(as_region_key(key), shape, self.index_mode)
        return self.entered(np.zeros(mask.shape, bool), mask)

    def scatter_add(self, call: Call, target: Any, key: Any) -> None:
        """`np.add.at` or `np.subtract.at`: an index named twice counts twice."""
        self.writable(target)
        (operand,), (place,) = call.args, call.inputs
        if target.dtype.kind in "iub" and np.result_type(operand).kind in "fc":
            raise noted(
                target,
                RefusedError(
                    f"{call.function.__name__}.at of {np.result_type(operand)} into an array of {target.dtype}: NumPy "
                    "cuts off after each addition, which has no derivative",
                    where=resolve(here()),
                    remedy="make the array one of floats: np.zeros(n)",
                ),
            )
        contents = in_dtype(operand if place is None else self.read(place), target.dtype)
        cell = target.place.root
        region, indices = self._parts(Gathered(target.place, key, target))
        before = cell.read(region, self.index_mode)
        if self.is_dry:
            after: Any = Outline(before.shape, before.dtype)
        else:
            change = -contents if call.function is np.subtract else contents
            after = before + change if indices is None else scatter_add(before, indices, change, self.index_mode)
        cell.write(region, after, self.index_mode)


class _Regions(Walk):
    """Which region of a cell a place names."""

    __slots__ = ()

    def index(self, above: Region, key: Any) -> Region:
        return above.index(as_region_key(key))

    def layout(self, above: Region, part: Layout) -> Region:
        parent = part.parent.within(part.root.abstract)  # type: ignore[attr-defined]
        return above.layout(parent, super().layout(parent, part))


class _Known(Walk):
    """What is known at a place, or None."""

    __slots__ = ()

    def index(self, above: Any, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        bounds = [bound for part in parts if type(part) is slice for bound in (part.start, part.stop)]
        return None if above is None or any(map(is_abstract, (*parts, *bounds))) else above[key]

    def layout(self, above: Any, part: Layout) -> Any:
        return None if above is None else ArrayMemory().view(above, *part.key)


_REGIONS, KNOWN = _Regions(), _Known()


def region_of(place: Place) -> Region:
    """Which part of its cell a place names; it is not one of advanced indexing."""
    return place.within(Region.whole(place.root.shape), _REGIONS)


def known_at(place: Any) -> Any:
    """The integers or booleans at a place, if they are known while the program is traced."""
    known = place.root.known
    return None if known is None else place.within(known, KNOWN)


def promoting_as(x: Any, found: Any) -> Any:
    """A known value of the operand `x`: a number of Python's, which is weak in NumPy's promotion, if `x` is one."""
    return type(x)(found) if type(x) in (bool, int, float, complex) else found


def as_region_key(key: Any) -> Any:
    """A key with the integers that are not known yet as linear forms, and traced arrays as their contents."""
    return tuple(map(_part, key)) if type(key) is tuple else _part(key)


def _part(part: Any) -> Any:
    if type(part) is slice:
        return slice(_bound(part.start), _bound(part.stop), part.step)
    if not is_abstract(part):
        return part
    floor = ground_floor(part)
    if floor.shape == () and floor.dtype.kind in "iu" and not hasattr(floor, "view_as"):
        return affine_of(floor)
    return floor.place.context.read(floor.place)


def _bound(bound: Any) -> Any:
    return affine_of(bound) if is_abstract(bound) else bound
