"""What stands in for a library's function, held against that function: values over all options, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import bridge
from bridge.rulebook.book import STAND_INS, read_book

Row = tuple[Any, tuple[Any, ...], dict[str, Any]]


def stand_in(function: Any) -> Callable[..., Any]:
    """What a program that is read calls for the function."""
    read_book()
    return STAND_INS[function]


def _is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc" and x.ndim > 0


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def assert_value(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tolerance: float = 1e-9) -> None:
    """The stand-in gives the function's value, shape and dtype; `tolerance` is relative to the largest number."""
    expected = _parts(function(*args, **kwargs))
    with bridge.Context() as context:
        entered = [context.buffer(x) if _is_float(x) else x for x in args]
        found = _parts(bridge.detach(stand_in(function)(*entered, **kwargs)))
    for mine, wanted in zip(found, expected, strict=True):
        if isinstance(wanted, np.ndarray):
            assert (mine.dtype, mine.shape) == (wanted.dtype, wanted.shape), f"{args} {kwargs}"
            allowed = 1e-5 if mine.dtype in (np.float32, np.complex64) else tolerance
            scale = max(1.0, np.max(np.abs(wanted), initial=0))
            np.testing.assert_allclose(mine, wanted, rtol=0, atol=allowed * scale, err_msg=f"{args} {kwargs}")
        else:
            assert mine == wanted


def assert_gradient(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Finite differences of the function agree with the derivatives of the stand-in, in every array of floats."""
    mine = stand_in(function)

    def program(*arrays: Any) -> Any:
        rest = iter(arrays)
        given = [next(rest) if _is_float(x) else x for x in args]
        tracked = any(hasattr(x, "place") for x in arrays)
        found = _parts((mine if tracked else function)(*given, **kwargs))
        floats = [part for part in found if getattr(part, "dtype", np.dtype(int)).kind in "fc"]
        return sum(np.sum(np.sin(np.real(part)) + np.imag(part) ** 2) for part in floats)

    bridge.check_gradient(program, tuple(x for x in args if _is_float(x)))
