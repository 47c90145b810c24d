"""GradBench's protocol: one JSON object a line, a message in, a response out, with the message's `id`.

`define` asks whether a module is known, `evaluate` runs one of its functions; whatever else comes is acknowledged.
"""

from __future__ import annotations

import importlib
import json
import traceback
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

EVALS = ("hello", "gmm", "ba", "ht", "lstm", "llsq", "lse", "ode", "kmeans", "det", "particle", "saddle")
FUNCTION = "evaluate"


class Runs(Protocol):
    """Who runs functions: `evaluation.Runner`."""

    engine: Any

    def run(self, module: Any, name: str, given: Any) -> tuple[Any, list[int]]:
        """The output, and the nanoseconds of each run."""
        ...


class Mistake(Exception):
    """A message that asks for what there is not, or is none; the words are what the response says."""


def responses(lines: Iterable[str], runner: Runs) -> Iterator[str]:
    """A line for each line, in order; a message that is wrong is answered with what is wrong about it."""
    for line in lines:
        if line.strip():
            yield json.dumps(response(line, runner), allow_nan=False)


def response(line: str, runner: Runs) -> dict[str, Any]:
    """What is said to one line."""
    number = None
    try:
        message = parsed(line)
        number = message["id"]
        match message["kind"]:
            case "start":
                return {"id": number, "tool": "bridge", "config": {"engine": runner.engine}}
            case "define":
                module_of(message)
                return {"id": number, "success": True}
            case "evaluate":
                return {"id": number, **evaluated(message, runner)}
            case _:
                return {"id": number}
    except Mistake as mistake:
        return {"id": number, "success": False, "error": str(mistake)}


def parsed(line: str) -> dict[str, Any]:
    """The message of a line."""
    try:
        message = json.loads(line)
    except ValueError as error:
        raise Mistake(f"a message is a JSON object in one line: {error}") from error
    missing = [key for key in ("id", "kind") if not isinstance(message, dict) or key not in message]
    if missing:
        raise Mistake(f"a message is a JSON object with {' and '.join(missing)}: {line.strip()[:80]}")
    return message


def module_of(message: dict[str, Any]) -> Any:
    """The eval that a message names."""
    name = message.get("module")
    if name not in EVALS:
        raise Mistake(f"no eval {name!r} is implemented here; those that are: {', '.join(EVALS)}")
    return importlib.import_module(f"benchmarks.gradbench.evals.{name}").EVAL


def evaluated(message: dict[str, Any], runner: Runs) -> dict[str, Any]:
    """Output and times of the function that a message names; what it raises is the response's error."""
    module, name = module_of(message), message.get("function")
    if name not in module.functions:
        raise Mistake(f"{message['module']} has no function {name!r}; it has {', '.join(module.functions)}")
    if "input" not in message:
        raise Mistake("an evaluate message has an input")
    try:
        output, times = runner.run(module, name, message["input"])
        json.dumps(output, allow_nan=False)
    except Exception as error:
        return {"success": False, "error": "".join(traceback.format_exception(error))}
    return {
        "success": True,
        "output": output,
        "timings": [{"name": FUNCTION, "nanoseconds": one} for one in times],
    }
