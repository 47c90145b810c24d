"""The same call with arguments, and with cotangents, that lie in memory in other ways.

Sums and slices of a program make cotangents that no `numpy.empty` has made: broadcast ones, whose strides are zero,
parts of others, read-only ones. A pull that hands their address to compiled code reads what is not theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.errors import BridgeError
from bridge.proof.numerics.arrays import leaves, replace
from bridge.proof.numerics.sampling import rounding
from bridge.proof.numerics.tolerances import furthest
from bridge.proof.report.checks import CheckReport
from bridge.proof.rules.calls import Call
from bridge.proof.rules.values import Point, prove_gradient
from bridge.proof.rules.variants import COORDINATES, Variant, accepted

REMEDY = 'say layouts="C" where the rule is registered, or heed the strides of the cotangent'


def prove_layouts(call: Call, report: CheckReport, rng: np.random.Generator) -> None:
    """Prove the pull at arguments and at cotangents in the layouts that the rule supports."""
    cts = call.seeds(rng)
    if _arguments(call, cts, report, rng) and _cotangents(call, cts, report):
        report.passed("non-contiguous", str(call))


def _arguments(call: Call, cts: Sequence[Any], report: CheckReport, rng: np.random.Generator) -> bool:
    expected = call.cotangents(cts)
    bound = 1e4 * rounding(call)
    for name, lay in LAYOUTS:
        laid = {path: lay(p) for path, p in zip(call.paths, call.points, strict=True) if np.ndim(p)}
        if not laid or any(map(call.supports.complaint, laid.values())):
            continue
        moved = accepted(call, Variant(f"{name} arrays", "wrong-noncontiguous", laid), report)
        if moved is None:
            continue
        if max(furthest(expected, moved.cotangents(cts)), furthest(call.outputs(), moved.outputs())) > bound:
            point = Point("wrong-noncontiguous", words=f" in {name} memory", every=COORDINATES)
            if not prove_gradient(moved, report, rng, point):
                return False
    return True


def _cotangents(call: Call, cts: Sequence[Any], report: CheckReport) -> bool:
    for name, lay in (*LAYOUTS, ("broadcast", _broadcast)):
        laid = [lay(ct) if isinstance(ct, np.ndarray) and ct.ndim and ct.size else ct for ct in cts]
        expected = call.cotangents([ct.copy() if isinstance(ct, np.ndarray) else ct for ct in laid])
        handed = call.hand(laid)
        places = {path: leaf for path, leaf in leaves(handed["cotangent"]) if isinstance(leaf, np.ndarray)}
        handed["cotangent"] = replace(handed["cotangent"], {path: _as_it_lies(x, laid) for path, x in places.items()})
        try:
            pulled = zip(call.pull(handed), call.points, strict=True)
            gap = furthest(expected, [call.fitted(raw, point) for raw, point in pulled])
            what = f"gives another result, which differs by {gap:.1e} (relative)"
        except (BridgeError, np.linalg.LinAlgError):
            continue
        except Exception as error:
            gap, what = np.inf, f"raises {type(error).__name__}: {error}"
        if gap > 1e4 * rounding(call, cts):
            report.failed("wrong-noncontiguous", f"{call}: for a cotangent in {name} memory the pull {what}", REMEDY)
            return False
    return True


def _as_it_lies(copy: np.ndarray, laid: Sequence[Any]) -> np.ndarray:
    """The cotangent of which `copy` is one."""
    same = (ct for ct in laid if isinstance(ct, np.ndarray) and np.array_equal(ct, copy) and ct.dtype == copy.dtype)
    return next(same, copy)


def _strided(x: np.ndarray) -> np.ndarray:
    memory = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    view = memory[(slice(None, None, 2),) * x.ndim]
    view[...] = x
    return view


def _reversed(x: np.ndarray) -> np.ndarray:
    flip = (slice(None, None, -1),) * x.ndim
    return x[flip].copy()[flip]


def _broadcast(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x.flat[0], x.shape)


LAYOUTS: tuple[tuple[str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("strided", _strided),
    ("reversed", _reversed),
    ("Fortran", np.asfortranarray),
)
