"""Functions of one element, applied to each: programs that are read, so that their loops are compiled like a user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _of_one(function: Any, out: Any, a: Any) -> None:
    for k in range(out.shape[0]):
        out[k] = function(a[k])


def _of_two(function: Any, out: Any, a: Any, b: Any) -> None:
    for k in range(out.shape[0]):
        out[k] = function(a[k], b[k])


def _of_three(function: Any, out: Any, a: Any, b: Any, c: Any) -> None:
    for k in range(out.shape[0]):
        out[k] = function(a[k], b[k], c[k])


def _of_four(function: Any, out: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    for k in range(out.shape[0]):
        out[k] = function(a[k], b[k], c[k], d[k])


BY_COUNT: dict[int, Callable[..., None]] = {1: _of_one, 2: _of_two, 3: _of_three, 4: _of_four}
"""By the number of operands, which are arrays of one axis; the results go into `out`."""
