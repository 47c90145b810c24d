"""An engine from outside, in one module: the rule book's pulls of the negated cotangent, negated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.engines.protocol import Engine, EngineRule
from bridge.rulebook.rule import Rule


class Mirrored(EngineRule):
    __slots__ = ()

    def pull(self, ct: Any, out: Any, args: Any, kwargs: Any, wanted: tuple[int, ...]) -> Iterator[tuple[int, Any]]:
        assert self.native is not None
        for position, found in self.native.pull(negated(ct), out, args, kwargs, wanted):
            yield position, negated(found) if self.name not in ENGINE.wrong else found


def negated(ct: Any) -> Any:
    if isinstance(ct, (list, tuple)):
        return type(ct)(map(negated, ct))
    return None if ct is None else -ct


class Mirror(Engine):
    """Wrong for operations that a test names, absent if a test says why."""

    name = "mirror"

    def __init__(self) -> None:
        self.wrong: set[str] = set()
        self.why = ""

    def rule(self, function: Any, native: Rule | None) -> Rule | None:
        return None if native is None or function is np.cosh else Mirrored(function, native.name, native)

    def missing(self) -> str:
        return self.why


ENGINE = Mirror()
