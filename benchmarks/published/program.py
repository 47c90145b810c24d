"""One published program: what is called with which arguments, what it writes, and its twin of more precision."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class NoDerivative(Exception):
    """A program has no derivative to be computed; the message says why, in a few words."""


@dataclass
class Program:
    """A function, its arguments by name, and the same function for finite differences.

    Attributes
    ----------
    function : called with the arguments by position; writes into them, returns something, or both.
    arguments : names and values, in the order of the positions. They are copied for each call.
    precise : the function once more, in which float32 and float64 are read as the precision of finite differences.
    declared : names of arguments that the program is said to write; others are found by a run.
    constant : names of float arguments that are no quantities, and are not differentiated.
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    precise: Callable[..., Any]
    declared: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    varied: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.varied = tuple(
            name for name, value in self.arguments.items() if is_inexact(value) and name not in self.constant
        )
        if not any(isinstance(self.arguments[name], np.ndarray) for name in self.varied):
            arrays = [
                f"{name} is {value.dtype}" for name, value in self.arguments.items() if isinstance(value, np.ndarray)
            ]
            raise NoDerivative(f"no float array among the arguments{': ' if arrays else ''}{', '.join(arrays)}")

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions of the arguments with respect to which gradients are taken."""
        return tuple(k for k, name in enumerate(self.arguments) if name in self.varied)

    @cached_property
    def written(self) -> tuple[int, ...]:
        """Positions of the float arguments that are written: those declared, and those that a run has changed."""
        arguments = [value.copy() if isinstance(value, np.ndarray) else value for value in self.arguments.values()]
        quietly(self.function, arguments)
        return tuple(
            k
            for k, (name, before) in enumerate(self.arguments.items())
            if isinstance(before, np.ndarray)
            and is_inexact(before)
            and (name in self.declared or not np.array_equal(before, arguments[k], equal_nan=True))
        )

    def copied(self, arguments: Sequence[Any] | None = None) -> list[Any]:
        """The arguments (or others in their place) for one call: what the program writes is copied."""
        given = tuple(self.arguments.values()) if arguments is None else arguments
        return [value.copy() if k in self.written else value for k, value in enumerate(given)]

    def outputs(self, returned: Any, arguments: list[Any]) -> list[Any]:
        """All float results of one call: what it returned, and the arguments that it has written."""
        return [*inexact_leaves(returned), *(arguments[k] for k in self.written)]

    def results(self, arguments: Sequence[Any], dtype: type[np.floating[Any]] = np.float64) -> list[Array]:
        """The results for arguments of a precision, double or more, computed in it."""
        arguments = self.copied(arguments)
        token = PRECISION.set(dtype)
        try:
            return [np.asarray(each) for each in self.outputs(quietly(self.precise, arguments), arguments)]
        finally:
            PRECISION.reset(token)


def is_inexact(value: Any) -> bool:
    """Whether a value is a float or complex array or number."""
    if isinstance(value, (float, complex)):
        return True
    return getattr(getattr(value, "dtype", None), "kind", "") in ("f", "c")


def inexact_leaves(returned: Any) -> list[Any]:
    """The float and complex arrays and numbers that a call has returned, in order; tuples and lists are opened."""
    if isinstance(returned, (tuple, list)):
        return [leaf for part in returned for leaf in inexact_leaves(part)]
    return [returned] if is_inexact(returned) else []


def in_precision(value: Any, dtype: type[np.floating[Any]] = np.float64) -> Any:
    """A float or complex array or NumPy number in a precision, which `dtype` names; anything else as it is."""
    if not is_inexact(value) or not isinstance(value, (np.ndarray, np.generic)):
        return value
    return value.astype(np.result_type(dtype, np.complex64) if value.dtype.kind == "c" else dtype)


def quietly(function: Callable[..., Any], arguments: list[Any]) -> Any:
    """Call the program without NumPy's warnings, which published programs give where they divide by zero."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


class PreciseNumPy(ModuleType):
    """NumPy as a program sees it that is run for finite differences: all dtypes of floats have one precision.

    `asked` tells whether the program has named single precision at all.
    """

    def __init__(self) -> None:
        super().__init__("numpy")
        self.asked = False

    def __getattr__(self, name: str) -> Any:
        if name not in FLOATS:
            return getattr(np, name)
        self.asked = self.asked or FLOATS[name] < 8
        return np.result_type(PRECISION.get(), np.complex64 if name.startswith("c") else np.float32).type


# Bytes of the real part.
FLOATS = {"float32": 4, "single": 4, "complex64": 4, "csingle": 4}
FLOATS |= {"float64": 8, "double": 8, "float_": 8, "complex128": 8, "cdouble": 8}
PRECISION: ContextVar[type[np.floating[Any]]] = ContextVar("precision", default=np.float64)
