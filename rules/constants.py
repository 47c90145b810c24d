"""Functions whose derivative is zero wherever it exists, and functions that tracked arrays may not enter.

The one table of zero pulls: their results are tracked arrays through which no gradient flows, or plain
Python values. (`np.sign` is not among them: of complex numbers it has a derivative.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, Facts, nondifferentiable

COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)

TESTS = (np.isfinite, np.isnan, np.isinf, np.isnat, np.isposinf, np.isneginf, np.signbit, np.iscomplex, np.isreal)

LOGIC = (np.logical_and, np.logical_or, np.logical_xor, np.logical_not)

BITS_AND_INTEGERS = (
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.bitwise_count, np.invert, np.left_shift, np.right_shift,
    np.packbits, np.gcd, np.lcm, np.unravel_index,
)  # fmt: skip

_FIX = (np.fix,) if hasattr(np, "fix") else ()  # deprecated since NumPy 2.5
STEPS = (np.floor, np.ceil, np.trunc, np.rint, *_FIX, np.floor_divide)

POSITIONS = (
    np.nonzero, np.flatnonzero, np.argwhere, np.diag_indices_from, np.tril_indices_from, np.triu_indices_from, np.ix_,
)  # fmt: skip

TYPES = (np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast, np.common_type)

LAYOUT = (np.may_share_memory, np.shares_memory, np.einsum_path)

IN_OTHER_WORDS = (np.array2string, np.array_repr, np.array_str, np.min_scalar_type)

FILES = (np.save, np.savez, np.savez_compressed, np.savetxt)
"""They write the values, as `print` does."""

nondifferentiable(*TESTS, *LOGIC, *BITS_AND_INTEGERS, *POSITIONS, np.spacing)
nondifferentiable(np.round, np.around, facts=Facts(static=("decimals",)))
nondifferentiable(np.unpackbits, facts=Facts(static=("count",)))
nondifferentiable(*COMPARISONS, *STEPS, facts=Facts(jumps=True))
nondifferentiable(*TYPES, facts=Facts(describes="types"))
nondifferentiable(*LAYOUT, facts=Facts(describes="layout"))
nondifferentiable(*IN_OTHER_WORDS, *FILES, facts=Facts(describes="values"))
nondifferentiable(np.isclose, facts=Facts(jumps=True, promotes=("a", "b")))
nondifferentiable(np.allclose, facts=Facts(promotes=("a", "b")))
nondifferentiable(np.array_equal, np.array_equiv, facts=Facts(promotes=("a1", "a2")))
nondifferentiable(np.isin, facts=Facts(promotes=("element", "test_elements")))
nondifferentiable(np.ravel_multi_index, facts=Facts(static=("dims",)))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4))
    for function in (np.floor, np.ceil, np.trunc, np.rint, *_FIX, np.round, np.around):
        yield Case(function, (x,))
        yield Case(function, (x.T[::2],))
        yield Case(function, (x[0, 0],))
    yield Case(np.round, (x,), {"decimals": 1})
    yield Case(np.floor_divide, (x, np.array([1.7, -1.3, 2.5, 0.9])))
