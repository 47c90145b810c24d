"""Results as JSON that loses no bit: a leaf for each array, number and container, by its path."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any

import numpy as np

Leaf = dict[str, Any]
NUMBERS = (bool, int, float, complex, np.generic, np.ndarray)


def leaves(value: Any, path: str, above: tuple[int, ...] = ()) -> Iterator[tuple[str, Leaf]]:
    """The containers, arrays and numbers in `value` with their paths; `above` are the ids of what holds it."""
    kind = type(value).__name__
    if isinstance(value, NUMBERS):
        array = np.asarray(value)
        # Objects are no bytes, and those of long doubles have gaps.
        if array.dtype.hasobject or array.dtype.char in "gG":
            yield path, {"type": kind, "text": repr(array.tolist())}
        else:
            data = b64encode(array.tobytes()).decode()
            yield path, {"type": kind, "dtype": array.dtype.str, "shape": array.shape, "data": data}
        return
    yield path, {"type": kind, "text": repr(value) if value is None or isinstance(value, (str, bytes)) else ""}
    if id(value) in above:
        return
    if isinstance(value, dict):
        parts = [(f"{path}[{key!r}]", one) for key, one in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [(f"{path}[{k}]", one) for k, one in enumerate(value)]
    else:
        parts = [(f"{path}.{name}", one) for name, one in getattr(value, "__dict__", {}).items()]
    for name, one in parts:
        yield from leaves(one, name, (*above, id(value)))


def array_of(leaf: Leaf) -> np.ndarray | None:
    """The array of a leaf; None if it is a container or a text."""
    if "data" not in leaf:
        return None
    return np.frombuffer(b64decode(leaf["data"]), leaf["dtype"]).reshape(leaf["shape"])
