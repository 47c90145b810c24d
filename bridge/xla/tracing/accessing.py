"""Reads and writes of places in a traced program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.rewind.interpreter import Call
from bridge.rewind.places import Gathered, Place
from bridge.xla.regions.gathers import gather, scatter_add, scatter_set, survivors
from bridge.xla.regions.region import Region
from bridge.xla.tracing.cells import Cell, as_region_key, region_of
from bridge.xla.tracing.contents import in_dtype
from bridge.xla.tracing.faults import Faults
from bridge.xla.tracing.integers import as_window


class Accessing:
    """Memory through the places of Buffers."""

    index_mode: str
    faults: Faults
    entered: Callable[..., Any]
    writable: Callable[..., Any]
    shadows = False

    def read(self, place: Place) -> Any:
        """What lies at a place, as a JAX value."""
        if isinstance(place, Cell):
            return place.contents
        cell: Any = place.root
        region, key = self._parts(place)
        mode = "drop" if self.shadows and self.index_mode == "fill" else self.index_mode
        found = cell.read(region, mode)
        return found if key is None else gather(found, key, mode)

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
            value = scatter_set(cell.read(region, self.index_mode), key, value, self.index_mode)
        cell.write(region, value, self.index_mode)

    def _parts(self, place: Place) -> tuple[Region, Any]:
        """The region of a place, and the key that picks elements of it, if they are no region themselves."""
        region = region_of(place)
        key = None
        if isinstance(place, Gathered):
            window = as_window(place.key, place.parent.shape)
            if window is not None:
                region = region.index(window)
            else:
                key = as_region_key(place.key)
                self.faults.check_gather(key, place.parent.shape)
        self.faults.check(region)
        return region, key

    def surviving(self, key: Any, shape: tuple[int, ...]) -> Any:
        """Which elements picked by a key with traced indices survive a write, as a Buffer; None if all do."""
        if as_window(key, shape) is not None:
            return None
        mask = survivors(as_region_key(key), shape)
        return self.entered(np.zeros(mask.shape, bool), mask)

    def scatter_add(self, call: Call, target: Any, key: Any) -> None:
        """`np.add.at` or `np.subtract.at`: an index named twice counts twice."""
        self.writable(target)
        (operand,), (place,) = call.args, call.inputs
        contents = in_dtype(jnp.asarray(operand if place is None else self.read(place)), target.dtype)
        change = -contents if call.function is np.subtract else contents
        cell = target.place.root
        region, indices = self._parts(Gathered(target.place, key, target))
        before = cell.read(region, self.index_mode)
        after = before + change if indices is None else scatter_add(before, indices, change, self.index_mode)
        cell.write(region, after, self.index_mode)
