"""Prints, as Markdown, what JAX, PyTorch, Zygote and `bridge` answer for programs with surprising gradients.

    python examples/surprises.py                            # the page, on the terminal
    python examples/surprises.py --write docs/surprises.md  # the page, into a file
    python examples/surprises.py --record                   # runs Zygote again and keeps its answers

Every answer is computed when the page is made. Where no Julia is found, Zygote's are those of the last recorded run.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bridge

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from surprise_programs import SURPRISES, Surprise  # noqa: E402

RECORD = HERE / "surprises_zygote.json"
SYSTEMS = ("JAX", "PyTorch", "Zygote", "bridge")

HEAD = """# Gradient surprises of JAX, PyTorch and Zygote

`python examples/surprises.py --write docs/surprises.md` makes this page; every answer on it was computed then.

{versions}.

The program is in the first column, with the point where its gradient is taken; next to it are the slopes by differences
of plain NumPy in float64 (of the expectation, for the coins), two of them (left … right) where the sides differ.
Answers outside of these are **bold**; an error is no answer.

"""


def point(surprise: Surprise) -> Any:
    """Where the gradient is taken: an array, or a number."""
    return np.array(surprise.at, surprise.dtype)[()]


def by_jax(surprise: Surprise) -> Any:
    """The gradient by `jax.grad`, compiled."""
    jax = importlib.import_module("jax")
    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(lambda x: surprise.jax(jax.numpy, x)))
        return np.asarray(gradient(jax.numpy.asarray(point(surprise))))


def by_torch(surprise: Surprise) -> Any:
    """The gradient by `torch.autograd`."""
    torch = importlib.import_module("torch")
    x = torch.tensor(point(surprise), requires_grad=True)
    surprise.torch(torch, x).backward()
    return None if x.grad is None else x.grad.numpy()


def by_bridge(surprise: Surprise, engine: str = "native") -> Any:
    """The gradient by `bridge.grad`."""
    return bridge.grad(lambda x: surprise.numpy(np, x), engine=engine)(point(surprise))


def answer(system: Callable[[Surprise], Any], surprise: Surprise) -> Any:
    """What a system answers: an array, None, or the error that it raises, in words."""
    try:
        with np.errstate(all="ignore"):
            return system(surprise)
    except ModuleNotFoundError:
        return "error: not installed"
    except Exception as error:
        return f"error: {type(error).__name__}: {str(error).splitlines()[0]}"


def run_zygote() -> dict[str, str] | None:
    """Zygote's answers by key, with its version; None where no Julia is found."""
    found = bridge.julia.status()
    if not found.found:
        return None
    command = [str(found.exe), "--startup-file=no", f"--project={found.project}", str(HERE / "surprises.jl")]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return dict(line.split("\t", 1) for line in printed.splitlines() if "\t" in line)


def zygote_answers() -> dict[str, str]:
    """Zygote's answers, run now if that is possible, else as recorded, which their version says."""
    found = run_zygote()
    if found is not None:
        return found
    recorded: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8"))
    return recorded | {"version": f"{recorded['version']} (recorded on {recorded['date']}: no Julia here)"}


def parsed(text: str) -> Any:
    """A recorded answer as an array, None, or the words of an error."""
    if text.startswith("error"):
        return text
    value = eval(compile(ast.parse(text, mode="eval"), "zygote", "eval"), {"nan": np.nan, "inf": np.inf})
    return None if value is None else np.array(value)


def slopes(surprise: Surprise) -> tuple[Any, Any] | None:
    """One-sided slopes of the plain program at every element, from the left and from the right; None if it raises."""
    x = np.array(surprise.at, np.complex128 if surprise.dtype == "complex128" else np.float64)

    def value(moved: np.ndarray) -> Any:
        return (surprise.expected or surprise.numpy)(np, moved.copy()[()])

    sides = []
    try:
        with np.errstate(all="ignore"):
            for step in (-1e-6, 1e-6):
                side = np.zeros_like(x)
                for index in np.ndindex(x.shape):
                    for unit in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
                        unit_step = np.zeros_like(x)
                        unit_step[index] = unit * step
                        side[index] += unit * (value(x + unit_step) - value(x)) / step
                sides.append(side)
    except IndexError:
        return None
    return sides[0], sides[1]


def is_right(found: Any, sides: tuple[Any, Any] | None) -> bool:
    """Whether an answer lies between the slopes of both sides. Errors are no answers, and not wrong."""
    if isinstance(found, str):
        return True
    if sides is None or found is None:
        return False
    left, right = sides
    if np.iscomplexobj(found):
        return bool(np.allclose(found, left, rtol=1e-4))
    low, high = np.minimum(left, right), np.maximum(left, right)
    margin = 1e-4 * (1 + np.abs(low))
    outside = (found < low - margin) | (found > high + margin) | np.isnan(found)
    return not np.any(outside & ~np.isnan(low + high))


def number(x: Any) -> str:
    """A number with four digits, zeros without a sign."""
    text = f"{complex(np.round(x, 4)):.4g}" if np.iscomplexobj(x) else f"{np.round(x, 4) + 0.0:.4g}"
    return text.strip("()")


def written(value: Any) -> str:
    """An answer on the page."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        words = re.sub(r"\s+", " ", value).replace("|", "/")
        return f"`{words}`" if len(words) <= 60 else f"`{words[:57]}...`"
    array = np.asarray(value)
    if array.ndim == 0:
        return number(array[()])
    return "[" + ", ".join(written(part) for part in array) + "]"


def written_slopes(sides: tuple[Any, Any] | None) -> str:
    """The slopes by differences on the page."""
    if sides is None:
        return "none: NumPy raises IndexError"
    left, right = sides
    same = np.allclose(left, right, rtol=1e-4, atol=1e-4)
    return written(right) if same else f"{written(left)} … {written(right)}"


def versions(zygote: dict[str, str]) -> str:
    """The versions of all systems, in one line."""
    named = []
    for title, name in (("JAX", "jax"), ("PyTorch", "torch")):
        try:
            named.append(f"{title} {importlib.import_module(name).__version__}")
        except ImportError:
            named.append(f"{title} is not installed")
    return ", ".join([*named, zygote["version"], f"NumPy {np.__version__}", f"bridge {bridge.__version__}"])


def answers(surprise: Surprise, zygote: dict[str, str]) -> list[Any]:
    """What the systems answer, in the order of `SYSTEMS`."""
    live = [answer(system, surprise) for system in (by_jax, by_torch, by_bridge)]
    return [*live[:2], parsed(zygote[surprise.key]), live[2]]


def page() -> str:
    """The whole page."""
    zygote = zygote_answers()
    lines = [f"| program | slopes | {' | '.join(SYSTEMS)} |", "|---" * (2 + len(SYSTEMS)) + "|"]
    reasons = []
    for k, surprise in enumerate(SURPRISES, 1):
        sides = slopes(surprise)
        found = answers(surprise, zygote)
        cells = [written(one) if is_right(one, sides) else f"**{written(one)}**" for one in found]
        lines.append(f"| {k}. `{surprise.text}` at {surprise.at} | {written_slopes(sides)} | {' | '.join(cells)} |")
        reasons.append(f"{k}. `{surprise.text}`: {surprise.why}")
    why = "\n\n## Why\n\n" + "\n".join(reasons) + "\n"
    return HEAD.format(versions=versions(zygote)) + "\n".join(lines) + why


def main() -> None:
    """Print or write the page, or record Zygote's answers."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--write", type=Path, metavar="FILE", help="write the page into a file")
    options.add_argument("--record", action="store_true", help="run Zygote and keep its answers")
    given = options.parse_args()
    if given.record:
        found = run_zygote()
        if found is None:
            raise SystemExit("no Julia with Zygote is set up here: python -m bridge julia setup")
        kept = {"date": datetime.date.today().isoformat()} | found
        RECORD.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if given.write:
        given.write.write_text(page(), encoding="utf-8")
    elif not given.record:
        print(page(), end="")


if __name__ == "__main__":
    main()
