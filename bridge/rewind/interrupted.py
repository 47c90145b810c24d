"""Operations that raised when they had written: NumPy writes, and then looks what floating point has to complain of."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.escapes import noted
from bridge.rewind.memory import grounded


@contextmanager
def silently() -> Iterator[None]:
    """Inside, NumPy complains of no number."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def completed(run: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What `run` returns, and NumPy's error about its numbers, if it raised one: then it has run again without."""
    try:
        return run(), None
    except (FloatingPointError, RuntimeWarning) as error:
        with silently():
            return run(), error


def has_written(error: Exception, target: Any, key: Any, saved: Any, again: Callable[[], Any]) -> bool:
    """Whether an operation that raised `error` has written all of `target[key]`; False if it has written nothing.

    Parameters
    ----------
    saved : what was there before.
    again : runs the operation once more.

    RefusedError, which the context remembers, if it was stopped on its way.
    """
    array = target.value
    if same_bits(array[key], saved):
        return False
    if hasattr(array, "place"):
        # An outer context has asked this already.
        return True
    now = np.copy(array[key])
    array[key] = saved
    with silently():
        again()
    if same_bits(array[key], now):
        return True
    array[key] = now
    raise noted(
        target,
        RefusedError(
            f"a write of shape {now.shape} raised {type(error).__name__} when NumPy had written some of it ({error})",
            where=resolve(here()),
            remedy="compute into an array of its own, and write it when that has not raised",
        ),
    ) from error


def same_bits(one: Any, other: Any) -> bool:
    """Whether two arrays or numbers of one shape and dtype hold the same."""
    return bool(grounded(one).tobytes() == grounded(other).tobytes())
