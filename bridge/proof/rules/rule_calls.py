"""Calls of functions with their rules: a `Rule`, or a `MutatingRule` for those that write into their arguments."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bridge.errors import RuleError
from bridge.proof.numerics.arrays import Path, duplicate, is_inexact, leaves, replace
from bridge.proof.rules.calls import Call, Handed, split
from bridge.rewind.values import Shaped
from bridge.rulebook.rule import MutatingRule, Rule


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
