"""`python -m examples.gallery [NAME ...] [--to FOLDER]`: run examples, print what they find, save their pictures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# In the order of docs/gallery.md: each with what it needs beside the package itself.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "rain": ("jax", "scipy", "matplotlib"),
    "stencil": ("jax", "optax", "matplotlib"),
    "kernel": ("numba", "scipy", "matplotlib"),
    "posterior": ("jax", "matplotlib"),
    "epidemic": ("juliacall", "scipy", "matplotlib"),
    "pendulum": ("juliacall", "jax", "optax", "matplotlib"),
    "nile": ("juliacall", "jax", "numpyro", "matplotlib"),
    "shock": ("juliacall", "jax", "optax", "matplotlib"),
}
OF_JULIA = {"nile": ("Distributions",), "shock": ("Flux",)}


def missing(name: str) -> str | None:
    """What an example lacks here, with the line that brings it; None if it can run."""
    absent = [package for package in EXAMPLES[name] if find_spec(package) is None]
    if absent:
        return f"needs {', '.join(absent)}: pip install {' '.join(absent)}"
    if "juliacall" in EXAMPLES[name]:
        import bridge

        if not bridge.julia.status().found:
            return "needs Julia: python -m bridge julia setup"
        try:
            bridge.julia.using(*OF_JULIA.get(name, ()))
        except bridge.errors.JuliaNotAvailable as error:
            return f"needs more of Julia: {error.what}; {error.remedy}"
    return None


def run(name: str) -> tuple[str, Any]:
    """What an example found, in words, and its picture, a figure of matplotlib's."""
    text, figure = import_module(f"examples.gallery.{name}").run()
    return text, figure


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.gallery", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which of {', '.join(EXAMPLES)} (all)")
    parser.add_argument(
        "--to", type=Path, default=Path("gallery"), metavar="FOLDER", help="where pictures go (gallery)"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in EXAMPLES]
    if unknown:
        parser.error(f"there is no example {unknown[0]!r}: choose among {', '.join(EXAMPLES)}")
    import matplotlib

    matplotlib.use("Agg")
    options.to.mkdir(parents=True, exist_ok=True)
    left_out = 0
    for name in options.names or EXAMPLES:
        lacks = missing(name)
        if lacks:
            left_out += 1
            print(f"{name}: left out, it {lacks}\n")
            continue
        text, figure = run(name)
        file = options.to / f"{name}.png"
        figure.savefig(file, dpi=110)
        print(f"{name}\n{text}\n{file}\n")
    return int(left_out == len(options.names or EXAMPLES))


if __name__ == "__main__":
    sys.exit(main())
