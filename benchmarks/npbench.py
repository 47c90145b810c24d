"""`python -m benchmarks.npbench CHECKOUT`: the kernels of NPBench (spcl/npbench), differentiated as they stand.

A kernel is a function in a file `*_numpy.py`; a JSON file in `bench_info` says how its arguments are made and in which
order they are passed. Gradients are taken with respect to all float arrays and float numbers among them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.published import command
from benchmarks.published.modules import load_module, load_precise
from benchmarks.published.program import Program, in_precision

TITLE = "NPBench"
PRESETS = ("S", "M", "L", "paper")

LOOPS = (
    "seidel_2d", "adi", "cavity_flow", "fdtd_2d", "heat_3d", "jacobi_1d", "jacobi_2d", "cholesky", "lu", "ludcmp",
    "trisolv", "durbin", "gramschmidt", "deriche", "symm", "syr2k", "syrk", "trmm", "vadv",
)  # fmt: skip
"""The kernels whose time is spent in loops over slices or single elements."""

QUOTED = "DaCe AD, tuned (quoted)"
FIGURES = {
    "S": {
        "seidel_2d": 1.05, "adi": 96, "cavity_flow": 41, "fdtd_2d": 32, "heat_3d": 39, "jacobi_1d": 13, "jacobi_2d": 14,
        "cholesky": 0.64, "lu": 1.75, "ludcmp": 1.9, "trisolv": 7.6, "durbin": 14, "gramschmidt": 3.3, "deriche": 10.7,
        "symm": 2.6, "syr2k": 4.6, "syrk": 2.9, "trmm": 0.44, "vadv": 36, "go_fast": 29, "hdiff": 6.3,
        "conv2d_bias": 4.2, "lenet": 2.5, "resnet": 7.2, "softmax": 171, "correlation": 273, "covariance": 819,
        "doitgen": 78, "gemm": 1693, "mlp": 15391, "atax": 468, "bicg": 458, "mvt": 672,
    },
}  # fmt: skip
"""Milliseconds of a gradient in processor time of one thread, by preset: DaCe AD's source snapshot with settings tuned
by hand, measured before on a virtual machine with two cores, smallest of many. Not measured by this program."""


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


def port(checkout: Path, name: str) -> tuple[ModuleType, str]:
    """The module with NPBench's own port of a kernel to JAX, and the function's name in it."""
    info = json.loads((checkout / "bench_info" / f"{name}.json").read_text(encoding="utf-8"))["benchmark"]
    stem = info["module_name"]
    path = checkout / "npbench" / "benchmarks" / info["relative_path"] / f"{stem}_jax.py"
    return load_module(path, f"npbench_{stem}_jax"), info["func_name"]


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
