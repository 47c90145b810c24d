"""A call of a function that writes nothing, with its `Rule`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bridge.errors import RuleError
from bridge.proof.numerics.arrays import Path, duplicate, is_inexact, leaves, replace
from bridge.proof.rules.calls import Call, Handed, split
from bridge.rewind.values import Shaped
from bridge.rulebook.rule import Rule


class RuleCall(Call):
    """A call of a function that writes nothing, with its `Rule`."""

    rule: Rule

    @property
    def elementwise(self) -> bool:
        return self.rule.structure == "elementwise"

    @property
    def selects(self) -> bool:
        return self.rule.structure == "linear"

    @property
    def fitted_by_context(self) -> bool:
        return self.elementwise or isinstance(self.rule.function, np.ufunc)

    def parameter(self, key: int | str) -> str:
        names = self.rule.parameters
        if isinstance(key, str):
            return key
        return names[key] if key < len(names) else f"argument {key}"

    def run(self, arguments: dict[int | str, Any]) -> Any:
        args, kwargs = split(arguments)
        return self.rule.function(*args, **kwargs)

    def tracked(self, arguments: dict[int | str, Any]) -> Any:
        args, kwargs = split(arguments)
        return self.rule(*args, **kwargs)

    def hand(self, cts: Sequence[Any]) -> Handed:
        out = self.run(duplicate(self.arguments))
        given = iter(cts)
        ct = replace(out, {path: next(given) if is_inexact(leaf) else None for path, leaf in leaves(out)})
        return {"cotangent": duplicate(ct), "output": duplicate(out), "arguments": duplicate(self.arguments)}

    def pull(self, handed: Handed) -> list[Any]:
        args, kwargs = self.for_pull(handed["arguments"])
        found = dict(self.rule.pull(handed["cotangent"], handed["output"], args, kwargs, self.wanted))
        return [self._along(found[self.position(path[0])], path) for path in self.paths]

    def for_pull(self, arguments: dict[int | str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments as the context gives them to the pull: all in the pull's order if arrays came by keyword."""
        args, kwargs = split(arguments)
        if not any(isinstance(value, np.ndarray) for value in kwargs.values()):
            return args, kwargs
        bound, names = self.rule.bind(args, kwargs)
        positional = len(bound) - len(names)
        return bound[:positional], dict(zip(names, bound[positional:], strict=True))

    def position(self, key: int | str) -> int:
        """Position of an argument among those that the pull is given."""
        if isinstance(key, int):
            return key
        args, kwargs = self.for_pull(self.arguments)
        return len(args) + list(kwargs).index(key) if key in kwargs else self.rule.parameters.index(key)

    @property
    def wanted(self) -> tuple[int, ...]:
        """Positions of the arguments that are, or hold, differentiated arrays."""
        return tuple(sorted({self.position(path[0]) for path in self.paths}))

    def surplus(self, handed: Handed) -> int:
        """How many cotangents a joint pull returns beyond the call's arguments."""
        if self.rule.joint is None:
            return 0
        args, kwargs = self.for_pull(handed["arguments"])
        result = self.rule.joint(handed["cotangent"], handed["output"], *args, **kwargs)
        beyond = result[max(len(args), len(self.rule.parameters)) :] if isinstance(result, tuple) else ()
        return 0 if self.rule.variadic else sum(ct is not None for ct in beyond)

    def unread(self) -> list[Path]:
        """Paths to the arrays that the rule says its pull does not read; `("output",)` for the output."""
        reads_output, reads = self.rule.needs(self.wanted)
        found: list[Path] = [] if reads_output else [("output",)]
        for path, leaf in leaves(self.arguments):
            named = isinstance(path[0], str) or path[0] < len(self.rule.parameters)
            kept = self.parameter(path[0]) in reads if named else "*" in reads
            if isinstance(leaf, np.ndarray) and not kept:
                found.append(path)
        return found

    def _along(self, value: Any, path: Path) -> Any:
        for k in path[1:]:
            if value is None:
                return None
            if not isinstance(value, (list, tuple)) or k >= len(value):
                raise RuleError(
                    f"the pull of {self.rule.name} returned no cotangent for {self.name_of(path)}",
                    remedy="return a list with one cotangent (or None) for each array of the sequence",
                )
            value = value[k]
        return value


def shaped(array: Any) -> Shaped:
    """What a pull gets in place of an array that its rule does not read."""
    return Shaped(np.shape(array), np.asarray(array).dtype)
