"""Rules for another process: right, wrong, and of functions that end the process in which they are called."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, mutating_rule, rule
from tests.helpers.kernels import KERNEL


def doubled(x: Any) -> Any:
    return x * 2


def tripled(x: Any) -> Any:
    return x * 3


def reading_at_null(x: Any) -> Any:
    ctypes.string_at(0)
    return x


def leaving(x: Any) -> Any:
    os._exit(3)


@mutating_rule(mutates="a", **KERNEL)
def scaled(a: Any, factor: float) -> None:
    np.multiply(a, factor, out=a)


@scaled.pull
def scaled_back(ct: Any, a: Any, factor: float) -> Any:
    return ct * factor, np.sum(ct * a)


RIGHT = rule(doubled, **KERNEL)(lambda ct, out, x: 2 * ct)
WRONG = rule(tripled, **KERNEL)(lambda ct, out, x: 2 * ct)
ENDING = rule(reading_at_null, **KERNEL)(lambda ct, out, x: ct)
LEAVING = rule(leaving, **KERNEL)(lambda ct, out, x: ct)


def cases() -> Iterator[Case]:
    for function in (doubled, tripled, reading_at_null, leaving):
        yield Case(function, (np.array([0.5, -1.0]),))
    yield Case(scaled.function, (np.array([0.5, -1.0]), 2.5))
