"""What a transform hands out: values without tracking, in arrays of the caller's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.errors import CotangentError
from bridge.rewind.interpreter import current_context
from bridge.rewind.memory import grounded
from bridge.trees import leaves_of, rebuilt


def handed_out(value: Any) -> Any:
    """Containers of tracked values as plain copies; inside an outer context, as values of that context."""
    leaves, structure = leaves_of(value)
    return rebuilt(structure, [_one(leaf) for leaf in leaves])


def _one(leaf: Any) -> Any:
    if not hasattr(leaf, "place"):
        return leaf
    context = current_context()
    if context is not None and leaf.place.context is context:
        leaf = leaf.value
    if hasattr(leaf, "place"):
        return leaf.copy() if hasattr(leaf, "view_as") else leaf
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def number(value: Any) -> Any:
    """The value of a function whose gradient is asked; CotangentError unless it is one real number."""
    shape = getattr(value, "shape", ())
    kind = np.dtype(getattr(value, "dtype", type(value))).kind
    if shape != () or kind not in "fiub":
        plain = grounded(value)
        name = "ndarray" if isinstance(plain, np.ndarray) else type(plain).__name__
        described = f"a {name} of shape {shape}" if kind in "fciub" else f"a {type(value).__name__}"
        raise CotangentError(
            f"the function returned {described}{' and complex dtype' if kind == 'c' else ''}; "
            "a gradient needs one real number",
            remedy="reduce it (np.sum, np.real), use vjp with a cotangent, or has_aux=True if it returned (value, aux)",
        )
    return value
