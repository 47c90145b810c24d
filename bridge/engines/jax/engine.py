"""The engine "jax": for every operation of the log, `jax.vjp` and `jax.jvp` of its lowering to jax.numpy."""

from __future__ import annotations

from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

import numpy as np

from bridge.engines.protocol import Column, Engine, EngineRule, Health
from bridge.errors import EngineNotAvailable
from bridge.rulebook.rule import Rule
from bridge.signatures import operation_name
from bridge.transforms.grad import grad

_INSTALL = 'pip install "mutation-bridge[jax]"'


class NeedsJax(Engine):
    """What the engines that need JAX say where it is not installed."""

    def missing(self) -> str:
        """That JAX is missing, if it is."""
        return f"JAX is not installed: {_INSTALL}" if find_spec("jax") is None else ""

    def check(self) -> None:
        """Raise EngineNotAvailable without JAX."""
        if find_spec("jax") is None:
            raise EngineNotAvailable(
                f"engine={self.name!r} needs JAX, which is not installed here",
                remedy=f'{_INSTALL}; without it everything works but engine="jax" and engine="xla"',
            )


_REMARK = """\
JAX computes {count} of them, for `engine="jax"` and `engine="xla"`; single calls may be refused by name,
such as those whose result has a shape that depends on values."""


class Jax(NeedsJax):
    """JAX's derivatives, through the lowering of `bridge.xla`."""

    name = "jax"
    fills_gaps = True
    column = Column("JAX", _REMARK)

    def __init__(self) -> None:
        self._rules: dict[Any, EngineRule] = {}

    def rule(self, function: Any, native: Rule | None) -> Rule | None:
        """The rule of a function, if JAX has its counterpart."""
        key = operation_name(function) if native is None else native
        if key not in self._rules and _rules().has(function):
            name = operation_name(function) if native is None else native.name
            self._rules[key] = _rules().JaxRule(function, name, native)
        return self._rules.get(key)

    def knows(self, function: Any) -> bool:
        """Whether JAX is there and has the function's counterpart."""
        return not self.missing() and bool(_rules().has(function))

    def how_to_add(self, name: str) -> str:
        """The end of a remedy: how `name` gets a rule."""
        return f"write {name} with functions that jax.numpy has too"

    def coverage(self, function: Any, native: Rule | None) -> str:
        """Whether JAX has the function's counterpart."""
        return "yes" if self.knows(function) else ""

    def health(self) -> Health:
        """Which JAX there is, what it runs on, and whether a compiled gradient is right there."""
        if self.missing():
            absent = "not installed: engine='jax', engine='xla' and bridge.xla are not there, all else works"
            return Health("JAX", [absent], works=True)
        try:
            import jax

            devices = jax.devices()
            right = _compiles_right()
        except Exception as error:  # whatever a broken installation raises, the report must go on
            broken = f"JAX {metadata.version('jax')} does not work: {type(error).__name__}: {error}"
            return Health("JAX", [broken], works=False)
        kinds = ", ".join(sorted({f"{device.platform} ({device.device_kind})" for device in devices}))
        lines = [
            f"JAX {jax.__version__}, {len(devices)} device{'s' if len(devices) > 1 else ''}: {kinds}",
            f"compiled gradient of an in-place program: {'right' if right else 'WRONG'}",
        ]
        return Health("JAX", lines, right)


def _rules() -> Any:
    """The module of the rules, which imports JAX."""
    return import_module("bridge.engines.jax.rules")


def _compiles_right() -> bool:
    def doubled(x: np.ndarray) -> np.generic:
        x[1:] += x[:-1]
        return np.sum(x * x)

    x = np.arange(1.0, 5.0)
    return np.allclose(grad(doubled, engine="xla")(x), grad(doubled, engine="native")(x))


ENGINE = Jax()
