"""Python's garbage collector while a log grows, which holds no garbage: it need not be looked at again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

# Of the oldest generation; those that find young garbage stay as they are.
_RARELY = 1000


class _Thresholds:
    """How often the oldest objects are looked at: as before when the last of those who asked for less has gone."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asking = 0
        self._before = self._set = gc.get_threshold()

    def raise_(self) -> None:
        """Look at the oldest objects rarely from here on."""
        with self._lock:
            self._asking += 1
            if self._asking == 1:
                self._before = gc.get_threshold()
                self._set = (*self._before[:2], max(self._before[2], _RARELY))
                gc.set_threshold(*self._set)

    def put_back(self) -> None:
        """Look at them as before, unless the program has set something else meanwhile."""
        with self._lock:
            self._asking -= 1
            if self._asking == 0 and gc.get_threshold() == self._set:
                gc.set_threshold(*self._before)


_THRESHOLDS = _Thresholds()


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Inside, the oldest objects are looked at rarely: a log is many objects, all of them alive until it is walked."""
    _THRESHOLDS.raise_()
    try:
        yield
    finally:
        _THRESHOLDS.put_back()
