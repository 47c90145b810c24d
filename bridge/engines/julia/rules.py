"""Rules whose pulls Julia computes: by an entry of the table, or by a composition of functions that have entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from bridge.engines.julia.exchange import Arrangement, Exchange, Row, arranged, target_for
from bridge.engines.protocol import EngineRule, is_same_value
from bridge.errors import BridgeError, NoRuleError, RefusedError, RuleError, ValueDiffersError
from bridge.julia.session import interrupted, session
from bridge.rewind.memory import grounded
from bridge.rulebook.rule import Rule
from bridge.solvers.composition import pull_of_equivalent

_CHECKED: ContextVar[bool] = ContextVar("checked_values", default=False)


@contextmanager
def checked_values() -> Iterator[None]:
    """Inside, each pull compares the Julia function's value with NumPy's, and raises where they differ."""
    token = _CHECKED.set(True)
    try:
        yield
    finally:
        _CHECKED.reset(token)


class JuliaRule(EngineRule):
    """A rule whose pull is Zygote's of the table's Julia function."""

    __slots__ = ("module", "row")

    def __init__(self, function: Any, name: str, native: Rule | None, row: Row, module: Any) -> None:
        super().__init__(function, name, native)
        self.row = row
        self.module = module

    def pull(
        self, ct: Any, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int, ...]
    ) -> Iterator[tuple[int, Any]]:
        """Yield `(position, cotangent)` for the arguments at the `wanted` positions."""
        self._refuse_unpulled(wanted, len(args), kwargs)
        ct, out, args, kwargs = (_untracked(self.name, x) for x in (ct, out, args, kwargs))
        args = self.spread(args, ct, wanted)
        call = arranged(self.row, self.native, self.function, args, kwargs)
        values = (*args, *kwargs.values())
        targets = {k: target_for(values[k]) for k in wanted}
        found = _like(out) if self.compares and _CHECKED.get() else None
        self._perform("pull!", call, targets, ct, out, found, values)
        if found is not None:
            _compare(self.name, found, out)
        for k in wanted:
            yield k, targets[k]

    def pushed(self, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tangents: tuple[Any, ...]) -> Any:
        """The tangent of the outputs, by dual numbers that are held against the pull: `host/numpy/forward.jl`."""
        value, args, kwargs, tangents = (_untracked(self.name, x) for x in (value, args, kwargs, tangents))
        moving = (k for k, tangent in enumerate(tangents) if tangent is not None)
        self._refuse_unpulled(moving, len(args), kwargs)
        call = arranged(self.row, self.native, self.function, args, kwargs)
        made = _like(value, floats_only=True)
        values = (*args, *kwargs.values())
        self._perform(
            "push_forward!", call, {k: t for k, t in enumerate(tangents) if t is not None}, None, value, made, values
        )
        return made if isinstance(made, tuple) else made[()]

    def _refuse_unpulled(self, wanted: Iterable[int], count: int, keywords: Iterable[str]) -> None:
        """Raise NoRuleError for an argument by which the rule book has no derivative: Julia's would be a silent 0.

        `wanted` are positions among `count` arguments and then the `keywords`.
        """
        pulls = None if self.native is None else self.native.per_argument
        if pulls is None:
            return
        names = tuple(keywords)
        for k in wanted:
            place = k if k < count else self._parameters.index(names[k - count])
            if place >= len(pulls) or pulls[place] is None:
                raise NoRuleError(
                    f'engine="julia" has no rule for {self.name} with respect to its argument number {place}',
                    remedy="detach that argument",
                )

    def _perform(self, *asked: Any) -> None:
        session().perform(self._ask, *asked)

    def _ask(
        self, function: str, call: Arrangement, of_inputs: dict[int, Any], ct: Any, out: Any, found: Any, values: Any
    ) -> None:
        reached = {
            p for k in (*call.positional, *call.keywords.values()) for p in (k if isinstance(k, tuple) else (k,))
        }
        if not reached.issuperset(of_inputs):
            raise NoRuleError(
                f'engine="julia" has no rule for {self.name} with respect to all of its arguments here',
                remedy='use engine="native"',
            )
        exchange = Exchange(self.module, self.name)
        positional = tuple(
            exchange.nested(k, lambda p: exchange.value(values[p], p in of_inputs)) for k in call.positional
        )
        keywords = {
            name: exchange.nested(k, lambda p: exchange.value(values[p], p in of_inputs, keyword=True))
            for name, k in call.keywords.items()
        }
        inputs = tuple(
            exchange.nested(k, lambda p: exchange.target(of_inputs.get(p)))
            for k in (*call.positional, *call.keywords.values())
        )
        if "out" in self.row.keywords:
            keywords["out"] = exchange.value(out, True)
        names, given = tuple(keywords), tuple(keywords.values())
        try:
            if function == "pull!":
                self.module.pull_b(
                    inputs, exchange.target(found), self.name, exchange.value(ct, True), positional, names, given
                )
            else:
                outputs = found if isinstance(found, tuple) else (found,)
                self.module.push_forward_b(exchange.target(outputs), self.name, inputs, positional, names, given)
        except BridgeError:
            raise
        except Exception as error:
            if interrupted(error):
                raise session().interruption() from None
            raise _translated(self.name, error, self.module) from error


class ComposedRule(EngineRule):
    """A rule that runs the native rule's equivalent, each of whose operations asks Julia."""

    __slots__ = ()

    def __init__(self, function: Any, name: str, native: Rule, opened: Callable[[], Any]) -> None:
        super().__init__(function, name, native)
        joint: Any = native.joint
        self.joint = pull_of_equivalent(joint.equivalent, joint.compare, opened)


def _untracked(name: str, value: Any) -> Any:
    """The plain values of what a pull gets; RefusedError if an outer differentiation would have to see through it."""
    if isinstance(value, dict):
        return {key: _untracked(name, x) for key, x in value.items()}
    if isinstance(value, (list, tuple)):
        plain = [_untracked(name, x) for x in value]
        return plain if type(value) is list else tuple(plain)
    place = getattr(value, "place", None)
    if place is None:
        return value
    if place.active:
        raise RefusedError(
            f'the pull of {name} comes from engine="julia" and is itself differentiated',
            remedy='use engine="native" for the inner derivative; the outer one may be engine="julia"',
        )
    return grounded(value)


def _like(out: Any, floats_only: bool = False) -> Any:
    if isinstance(out, (tuple, list)):
        return tuple(_like(part, floats_only) for part in out)
    dtype = np.asarray(out).dtype
    return None if floats_only and dtype.kind not in "fc" else np.zeros(np.shape(out), dtype)


def _compare(name: str, found: Any, out: Any) -> None:
    """Raise ValueDiffersError unless the Julia function's value is NumPy's."""
    if isinstance(found, tuple):
        for one, other in zip(found, out, strict=True):
            _compare(name, one, other)
    elif not is_same_value(found, out):
        raise ValueDiffersError(
            f"the Julia function that the table names for {name} gives {found}, and NumPy gives {np.asarray(out)}",
            remedy=f"correct the entry of {name}: its pull would be that of another function",
        )


def message_of(error: Exception) -> str:
    """Julia's message, without its stack."""
    return str(error).split("\nStacktrace")[0]


def _translated(name: str, error: Exception, module: Any) -> BridgeError:
    exception = getattr(error, "exception", None)
    if exception is not None and session().main.isa(exception, module.NotCovered):
        return NoRuleError(
            f'engine="julia" has no rule for {name} as it is called here: {exception.why}',
            remedy='use engine="native", or extend the entry of its table',
        )
    if exception is not None and session().main.isa(exception, module.TooManyPulls):
        most = int(module.MOST_PULLS)
        return NoRuleError(
            f'engine="julia" has no rule for {name} in forward mode, with {exception.count} elements: {exception.why}',
            remedy=f'use engine="native", or reverse mode: it takes one pull for each of {most} elements at most',
        )
    return RuleError(
        f'engine="julia": the Julia function that stands for {name} raised\n{message_of(error)}',
        remedy='use engine="native"',
    )
