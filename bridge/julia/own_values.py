"""Julia's own values as arguments of Julia functions: structs, and arrays of kinds that NumPy has not."""

from __future__ import annotations

import sys
from typing import Any

from bridge.julia.calls import Kept, ask, kept_number


def is_own(leaf: Any) -> bool:
    """Whether a leaf is juliacall's object for a value of Julia's."""
    juliacall = sys.modules.get("juliacall")
    return juliacall is not None and isinstance(leaf, juliacall.AnyValue)


def holds_floats(leaf: Any) -> bool:
    """Whether a leaf is Julia's own value, of whose numbers a gradient can be asked."""
    if not is_own(leaf):
        return False
    kept = Kept(kept_number(leaf))
    return bool(ask(kept.key, "holds_floats"))
