"""Which context is open."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.rewind.context import Context

CURRENT: ContextVar[Context | None] = ContextVar("bridge.context", default=None)


def current_context() -> Context | None:
    """The innermost context that is open in this thread, or None."""
    return CURRENT.get()
