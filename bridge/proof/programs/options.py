"""What a caller of `crosscheck` asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Options:
    """The options of `bridge.crosscheck`, as it documents them."""

    engines: tuple[str, ...]
    fd: bool
    argnums: int | Sequence[int] | None
    rtol: float | None
    atol: float | None
    shrink: bool
    seed: int

    def without_shrinking(self, engines: Sequence[str]) -> Options:
        """The same for those of `engines` that were asked for (for all, if none of them is one), without shrinking."""
        chosen = tuple(engine for engine in self.engines if engine in engines)
        return replace(self, engines=chosen or self.engines, shrink=False)
