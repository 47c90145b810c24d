"""The engine "native": the rule book, and nothing else."""

from __future__ import annotations

from bridge.engines.protocol import Engine


class Native(Engine):
    """Has the rule book's rules and no others. The doctor's own gradient says whether it works."""

    name = "native"
    asked_for_all = False

    def health(self) -> None:
        """Nothing: see above."""


ENGINE = Native()
