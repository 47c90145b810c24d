"""NumPy's functions that show only some of their arguments to `__array_function__`: a tracked value among the others.

`np.pad(plain, 1, constant_values=x)`, `np.fill_diagonal(plain, x)`, `np.take(plain, traced)`: NumPy itself would run on
the tracked value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.arrays import dispatch
from bridge.rewind.interpreter import current_context
from bridge.source.callees import SPECIAL
from bridge.source.keeping import any_tracked


def _with_all_arguments(plain: Callable[..., Any]) -> Callable[..., Any]:
    inner = SPECIAL.get(plain, plain)

    @functools.wraps(plain, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if any_tracked(args, kwargs) and current_context() is not None:
            return dispatch.call(plain, args, kwargs)
        return inner(*args, **kwargs)

    return call


_SHOWING_SOME = (np.fill_diagonal, np.interp, np.nan_to_num, np.pad, np.repeat, np.roll, np.take)
SPECIAL.update({plain: _with_all_arguments(plain) for plain in _SHOWING_SOME})
