"""Rules as type checkers see them: a function with a rule has the parameters and the result that it had before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

from bridge.rulebook.rule import MutatingRule, Rule

P = ParamSpec("P")
R = TypeVar("R")


class TypedRule(Rule, Generic[P, R]):
    """A rule of a function `(P) -> R`."""

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


class TypedMutatingRule(MutatingRule, Generic[P, R]):
    """A mutating rule of a function `(P) -> R`."""

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
