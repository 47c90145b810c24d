"""What a program's objects, containers, variables and arrays hold, to be compared before and after a call."""

from __future__ import annotations

import types
from collections import deque
from typing import Any

import numpy as np

_DEPTH = 8


def snapshot(thing: Any, path: str = "", found: dict[str, Any] | None = None, depth: int = _DEPTH) -> dict[str, Any]:
    """By the path from `thing`: which object is there, of which class; of arrays the bits, too."""
    found = {} if found is None else found
    if path:
        found[path] = (id(thing), type(thing).__name__)
    if depth == 0 or isinstance(thing, (types.ModuleType, np.ufunc)):
        return found
    if isinstance(thing, np.ndarray):
        found[f"{path} bits"] = None if thing.dtype.hasobject else thing.tobytes()
    for name, value in _parts(thing):
        snapshot(value, f"{path}{name}", found, depth - 1)
    return found


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Paths of what is not as it was."""
    return [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]


def _parts(thing: Any) -> list[tuple[str, Any]]:
    if isinstance(thing, (dict, types.MappingProxyType)):
        return [(f"[{key!r}]", value) for key, value in thing.items() if key != "__builtins__"]
    if isinstance(thing, (list, tuple, deque)) or (isinstance(thing, np.ndarray) and thing.dtype.hasobject):
        return [(f"[{k}]", value) for k, value in enumerate(thing)]
    if isinstance(thing, types.FunctionType):
        cells = dict(zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True))
        held = [(f".<{name}>", cell.cell_contents) for name, cell in cells.items() if not _is_empty(cell)]
        return [*held, *((f".default{k}", value) for k, value in enumerate(thing.__defaults__ or ()))]
    state = getattr(thing, "__dict__", {})
    if isinstance(thing, type):
        return [(f".{name}", value) for name, value in state.items() if isinstance(value, (np.ndarray, list, dict))]
    slots = [name for cls in type(thing).__mro__ for name in vars(cls).get("__slots__", ()) if hasattr(thing, name)]
    return [*((f".{name}", value) for name, value in state.items()), *((f".{n}", getattr(thing, n)) for n in slots)]


def _is_empty(cell: Any) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True
