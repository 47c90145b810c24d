"""What an engine is: for a function and its native rule, if it has one, a rule whose pull asks somebody else."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from bridge.rewind.memory import grounded
from bridge.rewind.rule import Rule


class Engine:
    """Supplies rules. A context asks its engine for functions that have no native rule, an asking context for all."""

    name: str

    @abstractmethod
    def rule(self, function: Any, native: Rule | None) -> Rule | None:
        """The rule of `function` under this engine; None if the engine has none either.

        Where there is a `native` rule, the engine's keeps what it says about the function's structure.
        """

    def how_to_add(self, name: str) -> str:
        """The end of a remedy: how the engine gets a rule for the operation `name`."""
        return f"write one for {name} with bridge.extend.rule"


class EngineRule(Rule):
    """A rule whose pull is an engine's. What is known of the function (`linear`, `structure`) is the native rule's."""

    __slots__ = ("native",)

    def __init__(self, function: Any, name: str, native: Rule | None) -> None:
        if native is None:
            super().__init__(function, _no_pull, None, reads=None, linear=False, structure="generic")
        else:
            for slot in Rule.__slots__:
                setattr(self, slot, getattr(native, slot))
        self.name = name
        self.joint, self.per_argument = _no_pull, None
        self.native = native
        self.reads = frozenset((*range(_MOST_ARGUMENTS), *self._parameters, "*"))

    @property
    def structural(self) -> Rule:
        """The rule that carries marks of structural zeros back: the native one, whose coefficients are known."""
        return self if self.native is None else self.native

    def masked(self) -> Rule:
        """The rule for an operation that writes some elements only, so that its output holds other values too."""
        return self

    def spread(self, args: tuple[Any, ...], ct: Any, wanted: tuple[int, ...]) -> tuple[Any, ...]:
        """Operands of a ufunc in the shape of its output, where their cotangents are asked for.

        An engine sums a cotangent over the axes that an operand lacks. Masks (`where=`) and strong zeros say
        element by element what belongs into that sum, so the context makes it, as it does for native rules.
        """
        if not self.broadcasts:
            return args
        ct = next(one for one in (ct if isinstance(ct, tuple) else (ct,)) if one is not None)
        return tuple(_spread(x, ct) if k in wanted else x for k, x in enumerate(args))

    def needs(self, wanted: tuple[int, ...]) -> tuple[bool, frozenset[Any]]:
        """Everything is read: another function's pull may need any of it."""
        assert self.reads is not None
        return True, self.reads


def _spread(x: Any, ct: Any) -> Any:
    if np.shape(grounded(x)) == ct.shape:
        return x
    if type(grounded(x)) in (float, complex):
        # A Python number takes the precision of the array that it meets.
        precision = np.finfo(ct.dtype).dtype if type(grounded(x)) is float else ct.dtype
        return x * np.ones(ct.shape, precision)
    return np.broadcast_to(x, ct.shape)


_MOST_ARGUMENTS = 64


def _no_pull(ct: Any, out: Any, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("the pull of an engine's rule is its method `pull`")
