"""Two files of the yardstick, and where they differ: bit for bit, or by the table of tolerances if XLA has rounded."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bridge.proof.numerics.tolerances import apart, tolerance_for
from tests.yardstick.leaves import Leaf, array_of
from tests.yardstick.running import PARTS, Outcome

Key = tuple[str, str]
EXACT = ("native", "eager")
KINDS = (
    *("missing", "answer became error", "error class", "error line", "value", "gradient", "hvp"),
    *("error became answer", "new"),
)
ALLOWED = ("error became answer", "new")
"""Kinds of differences that are listed and are no failures."""


@dataclass(frozen=True)
class Difference:
    kind: str
    where: str
    what: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}{': ' * bool(self.what)}{self.what}"


def read(path: Path) -> dict[Key, dict[str, Any]]:
    """The entries of a file by record and engine; a last line that was cut off is none."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            entry = json.loads(line)
            found[entry["record"], entry["engine"]] = entry
    return found


def told(before: Path, after: Path, only: str = "") -> tuple[list[str], int]:
    """The lines of a comparison, and the exit code; of the records in whose names the expression `only` is found."""
    old, new = ({k: v for k, v in read(path).items() if re.search(only, k[0])} for path in (before, after))
    found = sorted(differences(old, new), key=lambda one: (KINDS.index(one.kind), one.where))
    counted = Counter(one.kind for one in found)
    varying = len(_varying(old, new) & (old.keys() | new.keys()))
    counts = ", ".join(f"{counted[kind]} {kind}" for kind in KINDS if counted[kind]) or "no difference"
    kept = len(old.keys() & new.keys())
    lines = [*map(str, found), f"{kept} entries in both, {varying} that vary left out: {counts}"]
    return lines, int(any(kind not in ALLOWED for kind in counted))


def differences(before: dict[Key, Any], after: dict[Key, Any]) -> Iterator[Difference]:
    """All differences between two files' entries."""
    varying = _varying(before, after)
    for key in (before.keys() | after.keys()) - varying:
        for part in PARTS:
            where = f"{key[0]} [{key[1]}, {part}]"
            old, new = (_present(one.get(key, {}).get(part)) for one in (before, after))
            if old is not None and new is not None:
                yield from _between(old, new, where, exact=key[1] in EXACT)
            elif old is not None or new is not None:
                yield Difference("new" if old is None else "missing", where)


def _present(one: Outcome | None) -> Outcome | None:
    return None if one is None or "left out" in one else one


def _varying(*files: dict[Key, Any]) -> set[Key]:
    """What is not compared: records that varied in either file, under each engine."""
    names = {name for file in files for (name, _), entry in file.items() if entry["varies"]}
    return {key for file in files for key in file if key[0] in names}


def _between(old: Outcome, new: Outcome, where: str, exact: bool) -> Iterator[Difference]:
    if "error" in old and "error" in new:
        for kind, key in (("error class", "error"), ("error line", "line")):
            if old[key] != new[key]:
                yield Difference(kind, where, f"{old[key]!r} became {new[key]!r}")
    elif "error" in old:
        yield Difference("error became answer", where, f"it was {_shown(old)}")
    elif "error" in new:
        yield Difference("answer became error", where, _shown(new))
    else:
        yield from _between_leaves(old["leaves"], new["leaves"], where, exact)


def _shown(error: Outcome) -> str:
    return f"{error['error']} at {error['line'] or 'no line'}: {error['message']}"


def _between_leaves(old: dict[str, Leaf], new: dict[str, Leaf], where: str, exact: bool) -> Iterator[Difference]:
    """One difference for each leaf; paths begin with the kind."""
    arrays = [array for leaf in (*old.values(), *new.values()) if (array := array_of(leaf)) is not None]
    tolerance = tolerance_for(arrays, None, None)
    for path in dict.fromkeys((*old, *new)):
        kind = next(kind for kind in ("value", "gradient", "hvp") if path.startswith(kind))
        relative = tolerance.value if kind == "value" else tolerance.gradient
        if path not in old or path not in new:
            yield Difference(kind, where, f"{path} is {'new' if path not in old else 'missing'}")
        elif what := _unequal(old[path], new[path], None if exact else (relative, tolerance.absolute)):
            yield Difference(kind, where, f"{path}: {what}")


def _unequal(old: Leaf, new: Leaf, allowed: tuple[float, float] | None) -> str:
    """In what two leaves differ; nothing if they are equal. `allowed` is relative and absolute, or None for bits."""
    if old == new:
        return ""
    a, b = array_of(old), array_of(new)
    if a is None or b is None or {**old, "data": ""} != {**new, "data": ""}:
        return f"{_described(old)} became {_described(new)}"
    if a.dtype.kind not in "fc":
        index = tuple(int(k) for k in np.argwhere(a != b)[0])
        return f"{a[index]} became {b[index]} at {index}"
    distance, index = apart(a, b, *(allowed or (0.0, 0.0)))
    if distance:
        return f"{a[index]} became {b[index]} at {index}, {distance:.1e} of the largest"
    return "" if allowed else "other bits of zeros or NaNs"


def _described(leaf: Leaf) -> str:
    return f"{leaf['type']} {leaf.get('text', '')}{leaf.get('dtype', '')}{leaf.get('shape', '')}".strip()
