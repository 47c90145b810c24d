"""One program as a record: what runs, on what, and what its gradient must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """A real function of arrays, written in NumPy; every engine runs the same record.

    `function(np, *inputs)` gets the namespace to compute in: NumPy itself for the reference,
    `bridge.numpy` under differentiation.

    Parameters
    ----------
    gradient : expected gradients, one for each float or complex input; None means finite differences.
    raises : the error that must come instead of a gradient.
    mutates : whether the function writes into an input (proved on plain NumPy).
    single : whether the program keeps its meaning with float32 inputs.
    second_order : whether Hessian-vector products are compared with differences of gradients.
    """

    name: str
    family: str
    function: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    gradient: tuple[np.ndarray, ...] | None = None
    raises: type[Exception] | tuple[type[Exception], ...] | None = None
    mutates: bool = False
    single: bool = True
    second_order: bool = True
    tolerance: float = 1e-7

    def under(self, namespace: ModuleType) -> Callable[..., Any]:
        """The program as a function of its inputs alone, computing in `namespace`."""

        def run(*inputs: Any) -> Any:
            with np.errstate(all="ignore"):
                return self.function(namespace, *inputs)

        return run

    def __str__(self) -> str:
        return self.name


@dataclass
class Family:
    """Programs of one class of failures. Calling it makes a decorator that records a function as one of them."""

    name: str
    defaults: dict[str, Any] = field(default_factory=dict)
    programs: list[Program] = field(default_factory=list)

    def __call__(self, *inputs: Any, gradient: Any = None, **options: Any) -> Callable[[Callable], Callable]:
        def record(function: Callable[..., Any]) -> Callable[..., Any]:
            arrays = tuple(np.asarray(x) for x in inputs)
            expected = None if gradient is None else tuple(np.asarray(g) for g in gradient)
            name = f"{self.name}: {function.__name__}".replace("_", " ")
            self.programs.append(Program(name, self.name, function, arrays, expected, **(self.defaults | options)))
            return function

        return record
