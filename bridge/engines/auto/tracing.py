"""Compiled programs that are never traced again behind the user's back, and what a program can reach. Imports JAX."""

from __future__ import annotations

from functools import partial
from typing import Any

from bridge.engines.auto.account import Changed
from bridge.errors import BridgeError
from bridge.xla.captured import Captured
from bridge.xla.compiled import Compiled
from bridge.xla.signature import Signature, call_of


class Steady(Compiled):
    """A compiled function that raises `Changed` where others are traced and compiled again."""

    def _forget(self, signature: Signature, changed: str) -> None:
        super()._forget(signature, changed)
        raise Changed(changed)

    def key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature | None:
        """The signature of a call; None if it cannot be compiled, or has arrays of JAX among its arguments."""
        try:
            signature, _, home = call_of(args, kwargs)
        except BridgeError:
            return None
        return signature if home == "numpy" else None

    def reached(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Captured:
        """What the program can reach beside its arguments, as it is now: variables, attributes, elements, arrays."""
        traced = self.captured_by(args, kwargs)
        found = Captured(partial(self.function, *(() if traced is None else traced.functions)))
        found.close()
        return found
