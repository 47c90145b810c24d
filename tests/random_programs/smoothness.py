"""Where a random program has no gradient that can be checked: kinks, infinite slopes, values that rounding decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.helpers import finite_differences as reference
from tests.random_programs.program import RandomProgram, held_by

# Of the directional derivative: at 1e-5 and below, extrapolated once, one side is exact to about ten digits.
STEP = 1e-5
NEAR = 1e-12
STEEP = 1e5


def kink(program: RandomProgram, tangents: Any) -> float:
    """How far the derivatives along a direction and against it are apart: ties of a sort, a whole number floored."""
    ahead, behind = (_one_sided(program, tangents, step) for step in (STEP, -STEP))
    return abs(ahead - behind)


def unevenness(program: RandomProgram, quantity: Callable[[tuple[np.ndarray, ...]], Any]) -> float:
    """How far a number moves with its inputs when these are rounded otherwise, several times over."""
    inputs = reference.replicas(program.inputs)
    middle, seen = quantity(inputs), [0.0]
    for seed in range(4):
        signs = reference.random_tangents(program.inputs, seed)
        near = reference.replicas(program.inputs)
        for x, sign in zip(near, signs, strict=True):
            x += 4 * np.finfo(x.dtype).eps * np.maximum(np.abs(x), 0.25) * np.sign(sign)
        seen.append(abs(float(quantity(near) - middle)))
    return max(seen)


def steep(program: RandomProgram) -> str:
    """The ufunc that the program calls where it jumps or rises without bound (`np.sqrt` at 0); empty if none."""
    watch = _Watch()
    held_by(program.function(watch), inputs := reference.replicas(program.inputs))(*inputs)  # type: ignore[arg-type]
    return watch.found


def _one_sided(program: RandomProgram, tangents: Any, step: float) -> float:
    def value(distance: float) -> float:
        inputs = [reference.wide(x) for x in program.inputs]
        for x, tangent in zip(inputs, tangents, strict=True):
            x += distance * tangent
        return float(program.plain(*inputs))

    start = value(0.0)
    near, far = ((value(distance) - start) / distance for distance in (step / 2, step))
    return 2 * near - far


class _Watch:
    """NumPy as a namespace, which looks at what its ufuncs of one operand are given."""

    def __init__(self) -> None:
        self.found = ""

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        if not isinstance(function, np.ufunc) or (function.nin, function.nout) != (1, 1):
            return function

        def watched(x: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.found and _rise(function, np.asarray(x)) > STEEP:
                self.found = name
            return function(x, *args, **kwargs)

        return watched


def _rise(function: np.ufunc, x: np.ndarray) -> float:
    if x.dtype.kind != "f" or not x.size:
        return 0.0
    with np.errstate(all="ignore"):
        middle, *around = (np.asarray(function(x.astype(float) + step), float) for step in (0.0, NEAR, -NEAR))
        return max(float(np.nanmax(np.abs(each - middle), initial=0.0)) for each in around) / NEAR
