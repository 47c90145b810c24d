"""A call of a function that writes into its arguments, with its `MutatingRule`."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bridge.errors import RuleError
from bridge.proof.numerics.arrays import duplicate, is_inexact
from bridge.proof.rules.calls import Call, Handed
from bridge.rulebook.rule import MutatingRule


class MutatingCall(Call):
    """A call of a function that writes into its arguments; its outputs are what it has written."""

    rule: MutatingRule

    def bound(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[int | str, Any]:
        named = self.rule.by_name(tuple(args), kwargs)
        self.names = tuple(named)
        return dict(enumerate(named.values()))

    @property
    def written(self) -> list[int]:
        """Positions of the arguments that the function writes, in the order of the declaration."""
        return [self.names.index(name) for name in self.rule.mutates]

    def parameter(self, key: int | str) -> str:
        return self.names[key] if isinstance(key, int) else key

    def without_written(self, arguments: dict[int | str, Any]) -> dict[int | str, Any]:
        return {key: None if key in self.written else value for key, value in arguments.items()}

    def run(self, arguments: dict[int | str, Any]) -> Any:
        self.returned(arguments)
        return tuple(arguments[k] for k in self.written)

    def returned(self, arguments: dict[int | str, Any]) -> Any:
        """Call the plain function; what it returns."""
        return self._called(self.rule.function, arguments)

    def tracked(self, arguments: dict[int | str, Any]) -> Any:
        self._called(self.rule, arguments)
        return tuple(arguments[k] for k in self.written)

    def _called(self, function: Any, arguments: dict[int | str, Any]) -> Any:
        if self.rule.signature is None:
            return function(*arguments.values())
        named = OrderedDict(zip(self.names, arguments.values(), strict=True))
        bound = inspect.BoundArguments(self.rule.signature, named)
        return function(*bound.args, **bound.kwargs)

    def hand(self, cts: Sequence[Any]) -> Handed:
        after = self.run(duplicate(self.arguments))
        given = iter(cts)
        ct = tuple(next(given) if is_inexact(written) else np.zeros(written.shape) for written in after)
        return {"cotangent": duplicate(ct), "after": duplicate(after), "arguments": duplicate(self.arguments)}

    def pull(self, handed: Handed) -> list[Any]:
        pull = self.rule.pull_function
        assert pull is not None
        ct, after, args = handed["cotangent"], handed["after"], list(handed["arguments"].values())
        extra = {}
        if "after" in inspect.signature(pull).parameters and "after" not in self.names:
            extra["after"] = after[0] if len(after) == 1 else after
        result = pull(ct[0] if len(ct) == 1 else ct, *args, **extra)
        results = result if isinstance(result, tuple) else (result,)
        arrays = [path[0] for path in self.paths]
        if len(results) == len(args):
            return [results[k] for k in arrays]
        if len(results) == len(arrays):
            return list(results)
        raise RuleError(
            f"the pull of {self.rule.name} returned {len(results)} cotangents for {len(arrays)} array arguments",
            remedy="return one for each array argument, in their order: the written ones' from before the call",
        )

    def misreadings(self, cts: Sequence[Any]) -> Iterator[tuple[list[np.ndarray], str]]:
        names = ", ".join(self.rule.mutates)
        for confusion, remedy in (
            ("arguments", f"in a pull {names} holds its value from before the call: ask for `after` instead"),
            ("after", f"`after` is the value after the call: read {names}, which holds the value from before it"),
        ):
            handed = self.hand(cts)
            if confusion == "arguments":
                for k, value in zip(self.written, handed["after"], strict=True):
                    handed["arguments"][k] = value
            else:
                handed["after"] = tuple(handed["arguments"][k] for k in self.written)
            try:
                raws = self.pull(handed)
            except (ArithmeticError, ValueError):
                continue
            yield [self.fitted(raw, point) for raw, point in zip(raws, self.points, strict=True)], remedy
