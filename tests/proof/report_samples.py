"""Reports and traces made by hand: a program of 10 operations, one of 10,000, and every kind of difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import bridge
from bridge.proof.report.model import KINDS, Difference, Report, Run, Timeline
from bridge.proof.report.timeline import names_of, timeline_of
from bridge.transforms.arguments import Arguments


def small(x: Any, w: Any) -> Any:
    y = np.zeros_like(x)
    y[1:-1] = np.sin(x[2:]) * w[:-2]
    y[0] = x[1]
    y *= 2.0
    z = y[::-1]
    z[:3] += x[3:]
    return np.sum(np.sqrt(np.abs(y)))


def heat(u: Any, steps: int) -> Any:
    u = u.copy()
    flux = np.zeros_like(u)
    for _ in range(steps):
        flux[1:-1] = 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u += flux
    return np.sum(u**2)


def recorded(f: Callable[..., Any], *args: Any, cotangents: Any = None) -> Timeline:
    """The timeline of the log of `f(*args)`; `cotangents` maps the number of operations to a list."""
    with bridge.Context() as context:
        wanted = tuple(k for k, x in enumerate(args) if isinstance(x, (np.ndarray, float)))
        arguments = Arguments(context, args, {}, wanted, False)
        f(*arguments.args)
    count = len(context.log)
    return timeline_of(context, None if cotangents is None else cotangents(count), names_of(f, arguments))


def sizes(count: int) -> list[float | None]:
    """Cotangents of every size, some of them missing, one not finite."""
    found: list[float | None] = [10.0 ** (k % 9 - 4) for k in range(count)]
    found[count // 2] = np.nan
    for k in range(2, count, 7):
        found[k] = None
    return found


def difference(kind: str = "mismatch", timeline: Timeline | None = None, operation: int | None = None) -> Difference:
    blamed = None if timeline is None or operation is None else timeline.operations[operation]
    return Difference(
        kind,
        ("jax", "native"),
        "gradient of x[3]",
        1.25,
        "2.5",
        "1.25",
        f"An explanation of <b>{kind}</b> & its values.",
        0.97,
        operation,
        "" if blamed is None else blamed.name,
        None if blamed is None else blamed.where,
        None if blamed is None else blamed.source,
        () if blamed is None else ((6,),),
    )


RUNS = (
    Run("native", "ran", "", 1.5, (np.array([1.0, np.nan, -np.inf]), None), 0.01),
    Run("jax", "ran", "", 1.5, (np.array([1.0, 2.0, 3.0]), None), 0.4),
    Run("xla", "refused", "TraceError: a condition on a traced value\n  at f.py:3", None, (), 0.0),
    Run("julia", "not available", "no Julia is set up here"),
)


def report_of(timeline: Timeline | None, blamed: Sequence[tuple[int | None, str]] = (), name: str = "small") -> Report:
    found = [difference(kind, timeline, operation) for operation, kind in blamed]
    smallest = "x = np.array([0.0])" if found else None
    remarks = ["x[0] lies at a kink of np.abs"]
    return Report(name, "float64 (6,), float64 (6,)", list(RUNS), found, remarks, timeline, smallest)


def small_report() -> Report:
    """10 operations, and a difference of every kind."""
    x = np.arange(6.0) - 2.5
    timeline = recorded(small, x, x + 1, cotangents=sizes)
    return report_of(timeline, [(k, kind) for k, kind in enumerate(KINDS)])


@cache
def large_report() -> Report:
    """10,005 operations, and two differences."""
    timeline = recorded(heat, np.linspace(0.0, 1.0, 64), 1667, cotangents=sizes)
    return report_of(timeline, [(4000, "nan"), (7001, "precision")], "heat")


def agreeing_report() -> Report:
    """Nothing wrong."""
    x = np.arange(6.0)
    return report_of(recorded(small, x, x + 1), [])
