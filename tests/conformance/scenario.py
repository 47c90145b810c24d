"""One program of a suite as a record, and what an engine answers for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import bridge
from bridge.engines import registry
from bridge.errors import BridgeError
from tests.helpers import finite_differences as reference

RIGHT, NOT_RUN, NOT_ASKED = "right", "not run", "-"
ENGINES = ("native", "julia", "jax", "xla")
EAGER = ("native", "jax")


@dataclass(frozen=True)
class Scenario:
    """A real function of arrays in plain NumPy; every engine runs the same record.

    Parameters
    ----------
    source : where the idea was found: a repository and a path in it, or the address of a report.
    gradient : expected gradients in closed form, one for each input; None means finite differences.
    kink : whether the closed form is a choice (docs/conventions.md), which differences do not have.
    refused : the error with which the rule book refuses the program by name.
    engines : who is asked.
    """

    name: str
    suite: str
    system: str
    source: str
    function: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    gradient: tuple[np.ndarray, ...] | None = None
    kink: bool = False
    refused: str = ""
    engines: tuple[str, ...] = ENGINES

    @property
    def answer(self) -> str:
        """What the rule book is to answer."""
        return f"refused: {self.refused}" if self.refused else RIGHT

    @property
    def checks(self) -> str:
        """What is checked, or what went wrong elsewhere, in words."""
        return " ".join((self.function.__doc__ or "").split())

    @property
    def expected(self) -> tuple[np.ndarray, ...]:
        """The gradients, one for each input."""
        return self.gradient if self.gradient is not None else self.differences()

    def differences(self) -> tuple[np.ndarray, ...]:
        """The gradients of the plain program, by extrapolated central differences."""
        with np.errstate(all="ignore"):
            return reference.gradient(self.function, self.inputs)

    def __str__(self) -> str:
        return f"{self.suite}: {self.name}"


@dataclass
class Suite:
    """The programs that one system's tests, or one system's users, gave the idea of. Calling it records one.

    The docstring of a program says what it checks.
    """

    name: str
    system: str
    source: str = ""
    engines: tuple[str, ...] = ENGINES
    scenarios: list[Scenario] = field(default_factory=list)

    def __call__(
        self, *inputs: Any, source: str = "", system: str = "", gradient: Any = None, kink: bool = False,
        refused: str = "", name: str = "",
    ) -> Callable[[Callable], Callable]:  # fmt: skip
        def record(function: Callable[..., Any]) -> Callable[..., Any]:
            arrays = tuple(np.asarray(x) for x in inputs)
            expected = None if gradient is None else tuple(np.asarray(g) for g in gradient)
            title = name or function.__name__.strip("_").replace("_", " ")
            whose = (self.name, system or self.system, source or self.source)
            asked = (expected, kink, refused, self.engines)
            self.scenarios.append(Scenario(title, *whose, function, arrays, *asked))
            return function

        return record


def outcome(scenario: Scenario, engine: str) -> str:
    """ "right", "refused: " and the name of the error, "wrong: " and what, "not run", or "-" if it is not asked.

    Right is: the value of plain NumPy (bit for bit under the rule book), its gradients, the derivative of forward
    mode (where that is no second compilation), and arguments left as they were. An error that is not the package's
    own is wrong.
    """
    if engine not in scenario.engines:
        return NOT_ASKED
    if registry.engine(engine).missing():
        return NOT_RUN
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _compared(scenario, engine)
        except BridgeError as error:
            return f"refused: {type(error).__name__}"
        except Exception as error:  # told as what it is: an error without a name of the package's
            return f"wrong: bare {type(error).__name__}"


def _compared(scenario: Scenario, engine: str) -> str:
    positions = tuple(range(len(scenario.inputs)))
    plain = np.asarray(scenario.function(*reference.replicas(scenario.inputs)))
    given = reference.replicas(scenario.inputs)
    before = [x.tobytes() for x in given]
    value, gradients = bridge.value_and_grad(scenario.function, argnums=positions, engine=engine)(*given)
    if [x.tobytes() for x in given] != before:
        return "wrong: an argument changed"
    exact = np.asarray(value).tobytes() == plain.tobytes()
    if not (exact if engine == "native" else np.allclose(value, plain, rtol=1e-12, atol=1e-12)):
        return "wrong: value"
    expected = scenario.expected
    if not all(_close(g, e) for g, e in zip(gradients, expected, strict=True)):
        return "wrong: gradient"
    if engine in EAGER:
        tangents = reference.random_tangents(given)
        _, derivative = bridge.jvp(scenario.function, given, tangents, engine=engine)
        if not scenario.kink and not _close(np.asarray(derivative), np.asarray(reference.inner(expected, tangents))):
            return "wrong: forward mode"
    return RIGHT


def _close(found: np.ndarray, expected: np.ndarray) -> bool:
    largest = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    return np.shape(found) == expected.shape and np.allclose(found, expected, rtol=1e-6, atol=1e-6 * largest)
