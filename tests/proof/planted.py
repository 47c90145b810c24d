"""Rules that are wrong on purpose, put in place for a while: what the cross-check must find, name and classify."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bridge.extend import RULES
from bridge.rulebook import book
from bridge.rulebook.rule import Rule, unplanned

Mistake = Callable[[Any], Any]


def _first_dropped(cotangent: Any) -> Any:
    """The cotangent without its first element."""
    if not np.ndim(cotangent):
        return cotangent * 0.5
    changed = np.array(cotangent)
    changed.reshape(-1)[:1] = 0
    return changed


# What is done to the first cotangent that a pull returns.
MISTAKES: dict[str, Mistake] = {
    "a factor": lambda c: c * 1.25,
    "a sign": lambda c: -c,
    "a small factor": lambda c: c * 1.003,
    "nothing": lambda c: c * 0.0,
    "an element dropped": _first_dropped,
    "elements turned": lambda c: np.roll(c, 1) if np.ndim(c) and np.size(c) > 1 else c * 2.0,
}


class PlantedRule(Rule):
    """A rule whose pull makes a mistake in the first cotangent that it returns."""

    __slots__ = ("mistake", "native")

    def __init__(self, native: Rule, mistake: Mistake) -> None:
        for slot in Rule.__slots__:
            setattr(self, slot, getattr(native, slot))
        self.native, self.mistake = native, mistake
        # A joint pull is asked through `pull`, whose answer is changed here.
        self.plans = unplanned()
        self.joint, self.per_argument = native.joint or (lambda ct, out, *args: None), None
        self.linear = False

    def needs(self, wanted: tuple[int, ...]) -> Any:
        return self.native.needs(wanted)

    def pull(self, ct: Any, out: Any, args: Any, kwargs: Any, wanted: Any) -> Iterator[tuple[int, Any]]:
        first = True
        for number, cotangent in self.native.pull(ct, out, args, kwargs, wanted):
            if first and cotangent is not None and not isinstance(cotangent, (list, tuple)):
                first, cotangent = False, self.mistake(cotangent)
            elif first and isinstance(cotangent, (list, tuple)):
                first = False
                cotangent = [c if c is None else self.mistake(c) for c in cotangent]
            yield number, cotangent


@contextmanager
def planted(function: Any, mistake: Mistake) -> Iterator[PlantedRule]:
    """Inside, the rule book's rule of `function` makes a mistake."""
    native = book.find(function)
    assert native is not None, f"{function} has no rule"
    RULES[function] = wrong = PlantedRule(native, mistake)
    try:
        yield wrong
    finally:
        RULES[function] = native
