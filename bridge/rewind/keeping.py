"""What arguments held on entry, for contexts that keep no log to take memory back with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bridge.rewind.memory import grounded
from bridge.rewind.places import Entered, Root
from bridge.rewind.recording import Recording


class KeepsArguments(Recording):
    """Before the first write to an argument, keeps what it held."""

    entered_as: list[Any]
    outer: Any
    _on_entry: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def writable(self, target: Any) -> Root:
        """The root of `target`, marked as written; raises if its memory may not be written."""
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
