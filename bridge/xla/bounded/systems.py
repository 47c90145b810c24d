"""Linear systems: a matrix of run-time size is one of static size with ones on the rest of its diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.xla.bounded.bounded import Bounded, knows, shown, unknown
from bridge.xla.bounded.elementwise import as_operands, rank
from bridge.xla.bounded.extents import Extent
from bridge.xla.bounded.masks import dense, inside
from bridge.xla.bounded.meeting import Joint, laid_out, met, side_of
from bridge.xla.regions.affine import Affine


def _square(a: Any, function: str, *others: Any) -> tuple[Any, Joint]:
    """The static matrix, and its axis: both begin at 0, and have the length of the first axis of `others`."""
    if rank(a) != 2:
        raise unknown(f"{function} of stacks of matrices")
    a = dense(a) if isinstance(a, Bounded) else a
    trace = next(x for x in (a, *others) if isinstance(x, Bounded)).trace
    given = [side_of(a, 0), side_of(a, 1), *(side_of(x, 0) for x in others)]
    joint = met(trace, given, broadcasts=False)
    if joint.extent is not None:
        joint = Joint(joint.size, Extent(Affine.of(0), joint.extent.length))
    whole = a.whole if isinstance(a, Bounded) else a
    for axis in (0, 1):
        whole = laid_out(trace, whole, axis, given[axis], joint, broadcasts=False)
    mask = inside(trace, (joint.size, joint.size), (joint.extent, joint.extent))
    return (whole if mask is None else np.where(mask, whole, np.eye(joint.size, dtype=whole.dtype))), joint


@knows(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """`np.linalg.solve` of one matrix."""
    a, b = as_operands((a, b))
    b = dense(b) if isinstance(b, Bounded) else b
    if rank(b) not in (1, 2):
        raise unknown("np.linalg.solve of stacks of matrices")
    matrix, joint = _square(a, "np.linalg.solve", b)
    trace = next(x for x in (a, b) if isinstance(x, Bounded)).trace
    right = laid_out(trace, b.whole if isinstance(b, Bounded) else b, 0, side_of(b, 0), joint, broadcasts=False)
    extents = (joint.extent, *(b.extents[1:] if isinstance(b, Bounded) else (None,) * (rank(b) - 1)))
    mask = inside(trace, right.shape, extents)
    right = right if mask is None else np.where(mask, right, np.zeros((), right.dtype)[()])
    return shown(np.linalg.solve(matrix, right), extents)


def _of_matrix(function: Any, name: str, is_matrix: bool) -> None:
    def run(a: Any) -> Any:
        matrix, joint = _square(a, name)
        found = function(matrix)
        return shown(found, (joint.extent, joint.extent)) if is_matrix else found

    knows(function)(run)


_of_matrix(np.linalg.inv, "np.linalg.inv", True)
_of_matrix(np.linalg.cholesky, "np.linalg.cholesky", True)
_of_matrix(np.linalg.det, "np.linalg.det", False)
_of_matrix(np.linalg.slogdet, "np.linalg.slogdet", False)
