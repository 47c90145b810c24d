"""What is installed, what is missing and the line to type: read from the distribution's own metadata."""

from __future__ import annotations

import platform
import re
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np

import bridge
from bridge import in_c
from bridge.engines import registry
from bridge.errors import DISTRIBUTION, install_line
from bridge.loops_in_c import compiling

PURPOSES = {
    "": "needed",
    "c": "a C compiler for loops, where the machine has none",
    "demo": "for the demo; scipy also brings the rules of scipy.special",
    "jax": "for bridge.xla, engine='xla' and engine='jax'",
    "julia": "for bridge.julia and engine='julia'",
    "torch": "for bridge.torch",
    "report": "for reports of bridge.crosscheck and bridge.trace as tables and pages",
    "docs": "for the generated pages of docs/",
    "test": "for the tests",
    "dev": "for the checks of .ci/run",
    "peers": "for comparisons with other systems in tests/ and benchmarks/",
}


class Requirement(NamedTuple):
    """One requirement, and the version that is installed (`None` if there is none)."""

    name: str
    wanted: str
    found: str | None


def examine() -> tuple[list[str], bool]:
    """Return the lines of the report, and whether the package works here (extras may be missing)."""
    lines = [
        f"{DISTRIBUTION} {bridge.__version__} in {Path(bridge.__path__[0])}",
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}",
        "compiled part: in use" if in_c.AVAILABLE else f"compiled part: not in use, {in_c.WHY_NOT}",
        f"loops in C: {compiling.state()}",
    ]
    healthy = True
    try:
        declared = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        declared = []
        lines.append(f"not installed, but imported from a checkout. To install it: {install_line('')}")
    shown: set[str] = set()
    for extra, purpose in PURPOSES.items():
        found = [requirement for requirement in requirements(declared, extra) if requirement.name not in shown]
        shown.update(requirement.name for requirement in found)
        if found:
            lines += ["", f"{purpose}{f' [{extra}]' if extra else ''}"]
            lines += [f"  {name:<16}{version or 'missing':<14}{wanted}" for name, wanted, version in found]
        if any(requirement.found is None for requirement in found):
            lines.append(f"  to get what is missing: {install_line(extra)}")
            healthy = healthy and extra != ""
    for health in [engine.health() for engine in registry.engines()]:
        if health is not None:
            lines += ["", health.heading, *(f"  {line}" for line in health.lines)]
            healthy = healthy and health.works
    for other in others():
        healthy = False
        lines += [
            "",
            f"{other} installs a package named bridge, too, and the files of both lie in one folder",
            f"  to mend it: python -m pip uninstall {other}; python -m pip install --force-reinstall {DISTRIBUTION}",
        ]
    verdict, right = _self_check()
    return [*lines, "", verdict], healthy and right


def others() -> list[str]:
    """Other distributions that install a top-level package of the same name."""
    owners = metadata.packages_distributions().get(bridge.__name__, [])
    return sorted(set(owners) - {DISTRIBUTION})


def requirements(declared: list[str], extra: str) -> list[Requirement]:
    """Pick the requirements of `extra` (of the package itself if empty) from the `declared` metadata lines."""
    found = []
    for line in declared:
        requirement, _, marker = line.partition(";")
        of = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
        parts = re.match(r"([\w.-]+)(?:\[[^]]*\])?\s*\(?([^)]*)", requirement.strip())
        if parts and (of[1] if of else "") == extra and parts[1] != DISTRIBUTION:
            found.append(Requirement(parts[1], parts[2].strip(), _installed_version(parts[1])))
    return found


def _installed_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _self_check() -> tuple[str, bool]:
    def running_sum_of_squares(x: np.ndarray) -> np.generic:
        for k in range(1, len(x)):
            x[k] += x[k - 1]
        return np.sum(x**2)

    x = np.arange(1.0, 6.0)
    expected = 2 * np.cumsum(np.cumsum(x)[::-1])[::-1]
    right = np.array_equal(bridge.grad(running_sum_of_squares)(x), expected)
    return f"gradient of an in-place program: {'right' if right else 'WRONG'}", right
