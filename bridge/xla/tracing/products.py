"""Products of matrices of which one is seen transposed: no transposed copy is made.

XLA contracts any axes; a transpose that stands before a product it carries out.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import lax

from bridge.rewind.interpreter import Call
from bridge.rewind.places import Gathered
from bridge.xla.regions.windows import Window
from bridge.xla.tracing.accessing import region_of


def product_of_transposed(context: Any, call: Call, value: Any) -> Any:
    """`a @ b` of vectors and matrices, as a JAX value; None unless one of them is a whole matrix seen transposed."""
    if call.function not in (np.matmul, np.dot) or call.kwargs or len(call.args) != 2:
        return None
    turned = [_is_transposed(place) for place in call.inputs]
    if not any(turned) or any(np.ndim(x) not in (1, 2) or x.dtype != value.dtype for x in call.args):
        return None
    sides = [
        place.root.contents if is_turned else context.operand(x, place)
        for x, place, is_turned in zip(call.args, call.inputs, turned, strict=True)
    ]
    if not all(isinstance(side, (jax.Array, np.ndarray)) and side.dtype == value.dtype for side in sides):
        return None
    left, right = sides
    axes = (left.ndim - 1 - turned[0], right.ndim - 2 + turned[1] if right.ndim == 2 else 0)
    return lax.dot_general(left, right, (((axes[0],), (axes[1],)), ((), ())), precision=lax.Precision.HIGHEST)


def _is_transposed(place: Any) -> bool:
    """Whether a place is the whole of a float or complex matrix, transposed."""
    if place is None or place is place.root or isinstance(place, Gathered) or len(place.shape) != 2:
        return False
    if place.dtype.kind not in "fc" or place.root.dtype != place.dtype:
        return False
    steps = region_of(place).steps
    return (
        len(steps) == 1
        and isinstance(steps[0], Window)
        and steps[0].outputs == (1, 0)
        and all(one.start.is_constant and not one.start.constant and one.step == 1 for one in steps[0].axes)
        and steps[0].is_bijective
    )
