"""The same call at harder arguments: zeros, ties, other dtypes and layouts, empty and 0-d arrays, NaN.

A variant counts only where the plain function accepts it; one that it refuses is noted. Sums and slices of a program
make cotangents that no `numpy.empty` has made: broadcast ones, whose strides are zero, parts of others, read-only
ones. A pull that passes their address to compiled code reads memory outside of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bridge.errors import BridgeError
from bridge.proof.numerics.arrays import Path, leaves, replace
from bridge.proof.numerics.compare import EVERY_COORDINATE
from bridge.proof.numerics.sampling import rounding
from bridge.proof.numerics.tolerances import furthest, worst_difference
from bridge.proof.report.checks import CheckReport
from bridge.proof.rules.calls import Call
from bridge.proof.rules.contract import prove_returns
from bridge.proof.rules.rule_calls import RuleCall
from bridge.proof.rules.values import Point, prove_gradient

COORDINATES = 8


@dataclass(frozen=True, slots=True)
class Variant:
    """Another point: what it is called in messages, the code of a wrong gradient there, the new arguments."""

    name: str
    code: str
    values: dict[Path, Any]


def variants(call: Call, rng: np.random.Generator) -> Iterator[Variant]:
    """The variants of a call that its rule supports, which are proved against finite differences."""
    for variant in _variants(call, rng):
        if call.rule.supports is None or not any(map(call.supports.complaint, variant.values.values())):
            yield variant


def _variants(call: Call, rng: np.random.Generator) -> Iterator[Variant]:
    points = dict(zip(call.paths, call.points, strict=True))
    arrays = {path: point for path, point in points.items() if np.ndim(point)}
    for path, point in points.items():
        yield Variant(f"zeros in {call.name_of(path)}", "wrong-at-zero", {path: np.zeros_like(point)})
    if sum(np.size(point) for point in points.values()) > 1 and (call.elementwise or len(points) == 1):
        yield Variant("equal elements", "wrong-at-kink", {path: np.full_like(p, 0.5) for path, p in points.items()})
    if arrays:
        yield Variant("0-d arrays", "wrong-0d", {path: np.asarray(p.flat[0]) for path, p in arrays.items() if p.size})
    if arrays and not call.others:
        yield Variant("empty arrays", "wrong-empty", {path: p[:0] for path, p in arrays.items()})
        yield Variant("arrays with an empty last axis", "wrong-empty", {path: p[..., :0] for path, p in arrays.items()})
    real = {path: point for path, point in points.items() if point.dtype.kind == "f"}
    imaginary = {path: _complex(point, rng) for path, point in real.items()}
    if real:
        yield Variant("complex arguments", "wrong-complex", imaginary)
    if len(real) > 1:
        for path in real:
            yield Variant(f"complex {call.name_of(path)} only", "wrong-complex", {path: imaginary[path]})


def prove_variants(call: Call, report: CheckReport, rng: np.random.Generator) -> None:
    """Prove the pull at every variant of a call that the plain function accepts."""
    for variant in variants(call, rng):
        moved = accepted(call, variant, report)
        if moved is not None:
            _prove_at(moved, variant, report, rng)
    _prove_float32(call, report)
    if isinstance(call, RuleCall):
        _prove_nan(call, report, rng)


def accepted(call: Call, variant: Variant, report: CheckReport) -> Call | None:
    """The call at a variant; None, with a note, if the plain function refuses it or has no float value there."""
    moved = call.at(variant.values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            outputs = moved.outputs()
        if call.loss is not None:
            moved.seeds(np.random.default_rng(0))
    except Exception as error:
        report.note(f"{call.rule.name} refuses {variant.name} ({type(error).__name__})")
        return None
    finite = all(np.any(np.isfinite(out)) or not np.size(out) for out in outputs)
    return moved if outputs and finite else None


def _prove_at(call: Call, variant: Variant, report: CheckReport, rng: np.random.Generator) -> None:
    kinky = variant.code in ("wrong-at-zero", "wrong-at-kink")
    # Where elements tie, a selection is smooth only along the direction that moves them all alike.
    along = kinky and call.selects and len(call.points) == 1
    strict = along or not kinky or (call.elementwise and len(call.points) <= 2)
    try:
        if prove_returns(call, report, rng):
            name = variant.code.removeprefix("wrong-") if kinky else variant.name
            every = 0 if along else COORDINATES if strict else EVERY_COORDINATE
            point = Point(variant.code, name, f" with {variant.name}", every, 0 if along else 2, strict)
            prove_gradient(call, report, rng, point)
    except BridgeError as error:
        report.note(f"{call} with {variant.name}: the pull refuses it: {error.what}")
    except np.linalg.LinAlgError as error:
        report.note(f"{call} with {variant.name}: the pull meets a singular matrix ({error})")


def _prove_float32(call: Call, report: CheckReport) -> None:
    narrow = {path: point.astype(_halved(point)) for path, point in zip(call.paths, call.points, strict=True)}
    if all(point.dtype == _halved(point) for point in call.points):
        return
    if any(map(call.supports.complaint, narrow.values())):
        return
    moved = accepted(call, Variant("float32 arguments", "wrong-float32", narrow), report)
    if moved is None or not prove_returns(moved, report, np.random.default_rng(0)):
        return
    wide = call.at({path: point.astype(call.points[k].dtype) for k, (path, point) in enumerate(narrow.items())})
    cts = [np.asarray(ct) for ct in wide.seeds(np.random.default_rng(0))]
    outputs = moved.outputs()
    if call.loss is not None or [np.shape(out) for out in outputs] != [ct.shape for ct in cts]:
        return
    narrow_cts = [_as(ct, out) for ct, out in zip(cts, outputs, strict=True)]
    for path, expected, got in zip(call.paths, wide.cotangents(cts), moved.cotangents(narrow_cts), strict=True):
        gap, index = worst_difference(expected, got)
        if gap > max(5e-3, call.tolerance):
            report.failed(
                "wrong-float32",
                f"{moved}: the cotangent of {call.name_of(path)} at index {index} is {got[index]:.6g} in float32, "
                f"but {expected[index]:.6g} in float64",
                "look for constants or steps that assume double precision",
            )
            return
    report.passed("float32", str(moved))


def _prove_nan(call: RuleCall, report: CheckReport, rng: np.random.Generator) -> None:
    """A NaN in one element of an argument spoils only the cotangents that go through it."""
    outputs = call.outputs()
    if not call.elementwise or len(outputs) != 1 or np.size(outputs[0]) < 2:
        return
    cts = call.seeds(rng)
    before = call.pull(call.hand(cts))
    for path, point in zip(call.paths, call.points, strict=True):
        if not np.size(point):
            continue
        spoiled = np.array(point)
        spoiled.flat[0] = np.nan
        moved = call.at({path: spoiled if isinstance(point, np.ndarray) else spoiled[()]})
        clean = np.asarray(moved.outputs()[0] == outputs[0]) & ~np.isnan(np.broadcast_to(spoiled, np.shape(outputs[0])))
        after = moved.pull(moved.hand(cts))
        for target, a, b in zip(call.paths, before, after, strict=True):
            if a is None or np.shape(a) != clean.shape or np.shape(b) != clean.shape:
                continue
            if not np.array_equal(np.asarray(a)[clean], np.asarray(b)[clean], equal_nan=True):
                report.failed(
                    "nan-spreads",
                    f"{call}: a NaN in one element of {call.name_of(path)} changes the cotangent of "
                    f"{call.name_of(target)} at other elements",
                    "compute every element by itself; no sums or extrema over the array in an elementwise pull",
                )
                return
    report.passed("NaN stays where it is", str(call))


def _complex(x: Any, rng: np.random.Generator) -> Any:
    made = np.asarray(x + 0.3j * rng.standard_normal(np.shape(x)), np.result_type(x.dtype, np.complex64))
    return made if isinstance(x, np.ndarray) else made[()]


def _halved(x: Any) -> type[np.generic]:
    return np.complex64 if x.dtype.kind == "c" else np.float32


def _as(ct: Any, out: Any) -> Any:
    made = np.asarray(ct, np.asarray(out).dtype)
    return made if isinstance(out, np.ndarray) else made[()]


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
