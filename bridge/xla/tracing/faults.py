"""What a compiled program finds out while it runs: indices that lie outside, and gradients that hold NaNs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.calls import operation_name
from bridge.errors import ArgumentError, IndexRangeError
from bridge.position import Position, here, resolve
from bridge.rewind.facts import facts_of
from bridge.xla.regions.advanced import out_of_range

if TYPE_CHECKING:
    from bridge.xla.regions.region import Region
    from bridge.xla.tracing.context import TraceContext


@dataclass(frozen=True)
class Site:
    """A place in the user's program where something is looked at when the program runs: an index, or a matrix."""

    position: Position
    low: int
    high: int
    complaint: str = ""


class Faults:
    """Two cells of the program: which site saw an index outside first, and whether a gradient held a NaN."""

    def __init__(self, context: TraceContext) -> None:
        self.context = context
        self.sites: list[Site] = []
        self.cells: tuple[Any, ...] = ()
        self.watches_nan = False

    def open(self) -> None:
        """Make the cells; called once the context is entered."""
        make = self.context.constant_buffer
        self.cells = (make(np.zeros(2, np.int64)).place, make(np.zeros((), bool)).place)

    @property
    def contents(self) -> tuple[Any, Any]:
        """What the program returns beside its results."""
        fault, nan = self.cells
        return fault.contents, nan.contents

    def check(self, region: Region) -> None:
        """Look at the starts of a region that may lie outside."""
        if self.context.index_mode != "error" or not region.dynamic:
            return
        for affine, low, high in region.checks():
            value = affine.value()
            self._note((value < low) | (value > high), value, low, high)

    def check_gather(self, key: Any, shape: tuple[int, ...]) -> None:
        """Look at the indices of a gather or scatter."""
        if self.context.index_mode != "error":
            return
        outside = out_of_range(key, shape)
        if outside is not None:
            self._note(outside, jnp.int64(_UNNAMED), -max(shape, default=0), max(shape, default=1) - 1)

    def check_limit(self, limit: int, wants_more: Any) -> None:
        """Look whether a loop that has reached its limit wants to go on."""
        self._note(wants_more, jnp.int64(_LIMIT), limit, limit)

    def check_matrix(self, function: Any, operands: Any, found: Any) -> None:
        """Look whether a matrix was singular, or not positive definite, where NumPy raises."""
        fails_on = facts_of(function).fails_on
        if not fails_on:
            return
        arrays = [x for x in (*operands, found) if hasattr(x, "dtype") and x.dtype.kind in "fc"]
        *given, result = [jnp.all(jnp.isfinite(x)) for x in arrays]
        complaint = f"{operation_name(function)}: a matrix is {fails_on}"
        self._note(~result & jnp.all(jnp.stack(given)), jnp.int64(_SINGULAR), 0, 0, complaint)

    def _note(self, outside: Any, value: Any, low: int, high: int, complaint: str = "") -> None:
        self.sites.append(Site(here(), low, high, complaint))
        (fault, _) = self.cells
        found = jnp.stack([jnp.int64(len(self.sites)), lax.convert_element_type(value, np.int64)])
        before = fault.contents
        fault.contents = jnp.where(outside & (before[0] == 0), found, before)

    def note_nan(self, gradient: Any) -> None:
        """Remember whether a gradient holds a NaN."""
        self.watches_nan = True
        nan = self.cells[1]
        # A sum is NaN where an element is; that of both infinities is a false alarm, which costs a second run.
        nan.contents = nan.contents | jnp.isnan(jnp.sum(gradient))

    def raise_if_any(self, fault: Any) -> None:
        """Raise IndexRangeError if the program that has run saw an index outside."""
        number, value = (int(part) for part in np.asarray(fault))
        if not number:
            return
        site = self.sites[number - 1]
        if value == _LIMIT:
            raise ArgumentError(
                f"while_loop wants more than limit={site.low} steps", where=resolve(site.position), remedy="raise limit"
            )
        if value == _SINGULAR:
            raise np.linalg.LinAlgError(f"{site.complaint}, at {resolve(site.position)}")
        seen = "an index" if value == _UNNAMED else f"index {value}"
        raise IndexRangeError(
            f"{seen} is out of range: {site.low} to {site.high} lie inside",
            where=resolve(site.position),
            remedy='correct the index, or say what it means: index_mode="clip", "fill" or "drop"',
        )


_UNNAMED = np.iinfo(np.int64).min
_LIMIT = _UNNAMED + 1
_SINGULAR = _UNNAMED + 2
