"""Reports and traces as strict JSON, and back.

Numbers that JSON does not have are the strings "NaN", "Infinity" and "-Infinity". An array is an object with
`dtype`, `shape` and `values`, nested lists in which a complex number is a pair. See docs/reports.md.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

import numpy as np

from bridge.errors import ArgumentError
from bridge.proof.report.model import Difference, Memory, Operation, Region, Report, Run, Timeline, Trace

VERSION = 1
FORMATS = {Report: "mutation-bridge-report", Trace: "mutation-bridge-trace"}
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(shown: Any) -> str:
    """A report or a trace as JSON."""
    content = {"format": FORMATS[type(shown)], "version": VERSION}
    if isinstance(shown, Report):
        content["ok"] = shown.ok
    text = json.dumps(content | _fields(shown), allow_nan=False, ensure_ascii=False, indent=1)
    return text if text.replace("\n", "").isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    """A character of JSON: what a terminal would obey, and lone surrogates, as JSON writes characters by number.

    They can only be inside of strings, where a reader gets them back.
    """
    if character.isprintable() or character == "\n":
        return character
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def from_json(text: str) -> Any:
    """The report or trace that `to_json` wrote; ArgumentError if it is neither, or of a later version."""
    content = json.loads(text)
    kind = next(
        (kind for kind, name in FORMATS.items() if isinstance(content, dict) and content.get("format") == name), None
    )
    if kind is None or content.get("version") != VERSION:
        found = {key: content.get(key) for key in ("format", "version")} if isinstance(content, dict) else type(content)
        raise ArgumentError(
            f"this JSON is no report of version {VERSION}: {found}",
            remedy="read what to_json() of this version of bridge wrote",
        )
    if kind is Trace:
        return Trace(content["program"], _value(content["value"]), _timeline(content["timeline"]))
    return Report(
        content["program"],
        content["arguments"],
        [_run(run) for run in content["runs"]],
        [_difference(one) for one in content["differences"]],
        content["remarks"],
        None if content["timeline"] is None else _timeline(content["timeline"]),
        content["smallest"],
        content.get("differentiated", []),
        content.get("left_out", []),
        content.get("asked", []),
        content.get("compared"),
    )


def _fields(shown: Any) -> dict[str, Any]:
    return {f.name: _plain(getattr(shown, f.name), f.name in ("value", "gradients")) for f in fields(shown)}


def _plain(x: Any, is_value: bool = False) -> Any:
    """What JSON can hold; `is_value`: anything that a program may return, told apart by its type."""
    if isinstance(x, (np.ndarray, np.generic)):
        return _array(np.asarray(x))
    if isinstance(x, (Region, Memory, Operation, Timeline, Run, Difference)):
        return _fields(x)
    if isinstance(x, float):
        return x if math.isfinite(x) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(x, "NaN")
    if x is None or isinstance(x, (bool, int)):
        return x
    if is_value:
        return _tagged(x)
    if isinstance(x, str):
        return x
    return [_plain(part) for part in x]


def _tagged(x: Any) -> Any:
    if isinstance(x, str):
        return {"text": x}
    if isinstance(x, complex):
        return {"complex": [_plain(x.real), _plain(x.imag)]}
    if isinstance(x, (list, tuple)):
        return {"tuple" if isinstance(x, tuple) else "list": [_plain(part, True) for part in x]}
    if isinstance(x, dict):
        return {"dict": [[_plain(key, True), _plain(part, True)] for key, part in x.items()]}
    return {"repr": repr(x)}


def _array(array: np.ndarray) -> dict[str, Any]:
    if array.dtype.kind == "c":
        values = np.stack([array.real, array.imag], -1)
    else:
        values = array if array.dtype.kind in "fiub" else np.vectorize(repr, otypes=[object])(array)
    flat = values.astype(float) if array.dtype.kind in "fc" else values
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": _nested(flat.tolist())}


def _nested(values: Any) -> Any:
    return [_nested(part) for part in values] if isinstance(values, list) else _plain(values)


def _value(x: Any) -> Any:
    if isinstance(x, str):
        return _NOT_FINITE[x]
    if not isinstance(x, dict):
        return x
    if "values" in x:
        return _read_array(x)
    ((tag, content),) = x.items()
    if tag == "complex":
        return complex(*map(_value, content))
    if tag == "dict":
        return {_value(key): _value(part) for key, part in content}
    if tag in ("list", "tuple"):
        return (tuple if tag == "tuple" else list)(map(_value, content))
    return content


def _read_array(x: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(x["dtype"])
    if dtype.kind == "c":
        pairs = np.array(_numbers(x["values"]), float).reshape(*x["shape"], 2)
        return (pairs[..., 0] + 1j * pairs[..., 1]).astype(dtype)
    return np.array(_numbers(x["values"]), dtype).reshape(x["shape"])


def _numbers(values: Any) -> Any:
    if isinstance(values, list):
        return [_numbers(part) for part in values]
    return _NOT_FINITE.get(values, values) if isinstance(values, str) else values


def _number(x: Any) -> Any:
    return _NOT_FINITE[x] if isinstance(x, str) else x


def _timeline(x: dict[str, Any]) -> Timeline:
    memory = tuple(Memory(**(one | {"shape": tuple(one["shape"])})) for one in x["memory"])
    return Timeline(tuple(map(_operation, x["operations"])), memory)


def _operation(x: dict[str, Any]) -> Operation:
    regions = {
        side: tuple(Region(**(r | {"shape": tuple(r["shape"])})) for r in x[side]) for side in ("reads", "writes")
    }
    return Operation(**(x | regions | {"cotangent": _number(x["cotangent"])}))


def _run(x: dict[str, Any]) -> Run:
    gradients = _value(x["gradients"])
    return Run(**(x | {"value": _value(x["value"]), "gradients": gradients}))


def _difference(x: dict[str, Any]) -> Difference:
    shapes = tuple(map(tuple, x["shapes"]))
    names = {key: tuple(x.get(key, ())) for key in ("engines", "shared")}
    return Difference(**(x | names | {"shapes": shapes, "largest": _number(x["largest"])}))
