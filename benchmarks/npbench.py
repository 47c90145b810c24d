"""`python -m benchmarks.npbench CHECKOUT`: the kernels of NPBench (spcl/npbench), differentiated as they stand.

A kernel is a function in a file `*_numpy.py`; a JSON file in `bench_info` says how its arguments are made and in which
order they are passed. Gradients are taken with respect to all float arrays and float numbers among them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.published import command
from benchmarks.published.modules import load_module, load_precise
from benchmarks.published.program import Program, in_precision

TITLE = "NPBench"
PRESETS = ("S", "M", "L", "paper")


def names(checkout: Path) -> list[str]:
    """The kernels of a checkout: the files of `bench_info`."""
    return sorted(path.stem for path in (checkout / "bench_info").glob("*.json"))


def load(checkout: Path, name: str, preset: str, own_dtype: bool) -> Program:
    """One kernel with its arguments, in float64 unless `own_dtype`."""
    info = json.loads((checkout / "bench_info" / f"{name}.json").read_text(encoding="utf-8"))["benchmark"]
    folder = checkout / "npbench" / "benchmarks" / info["relative_path"]
    made = data(info, folder, preset)
    arguments = {name: made[name] if own_dtype else in_precision(made[name]) for name in info["input_args"]}
    path, module = folder / f"{info['module_name']}_numpy.py", f"npbench_{info['module_name']}_numpy"
    return Program(
        getattr(load_module(path, module), info["func_name"]),
        arguments,
        getattr(load_precise(path, module), info["func_name"]),
        tuple(info["output_args"]),
    )


def data(info: dict[str, Any], folder: Path, preset: str) -> dict[str, Any]:
    """The parameters of a preset, and what the kernel's own initialisation makes of them."""
    known = dict(info["parameters"][preset])
    init = info.get("init")
    if init:
        module = load_module(folder / f"{info['module_name']}.py", f"npbench_{info['module_name']}")
        made = getattr(module, init["func_name"])(*(known[name] for name in init["input_args"]))
        known |= dict(zip(init["output_args"], made if len(init["output_args"]) > 1 else (made,), strict=True))
    return known


if __name__ == "__main__":
    sys.exit(command.main(sys.modules[__name__], "benchmarks.npbench"))
