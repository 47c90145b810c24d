"""Memory that several differentiated arguments share, and that may not be written."""

from __future__ import annotations

from bridge.errors import AliasError


class Guard:
    """Says no to writes into memory that several differentiated arguments share."""

    __slots__ = ("names",)

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def refuse(self, where: str | None) -> None:
        raise AliasError(
            f"the function writes into memory that {len(self.names)} differentiated arguments share "
            f"({', '.join(self.names)}), so the gradient cannot tell whose value was meant",
            where=where,
            remedy="pass copies (x.copy()), or differentiate with respect to only one of them",
        )
