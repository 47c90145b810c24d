"""The corpus of reported cases, compiled by XLA: as the rule book has them, or refused by a named error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge.errors import BridgeError, TraceError
from tests.conformance.test_corpus import AT_KINKS, GRADIENT, KINKS, argument, differentiate, function, name
from tests.helpers import finite_differences as reference

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

# Branches and loops of Python's on values.
NOT_COMPILED: dict[str, type[BridgeError]] = dict.fromkeys(
    ("i12-scatter-index-smaller-than-src", "c06-while-dynamic-trip-count", "k12-cummax-ties"), TraceError
)
COMPILED = [case for case in GRADIENT if name(case) not in NOT_COMPILED]


def compiled(case: dict[str, Any], x: np.ndarray) -> tuple[Any, np.ndarray]:
    return bridge.value_and_grad(function(case, bridge.numpy), engine="xla")(x)


def assert_equal(found: Any, expected: Any) -> None:
    assert (type(found), found.dtype, found.shape) == (type(expected), expected.dtype, expected.shape)
    largest = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * largest)


@pytest.mark.ci
@pytest.mark.parametrize("case", COMPILED, ids=name)
def test_value_and_gradient(case: dict[str, Any]) -> None:
    x = argument(case)
    for found, expected in zip(compiled(case, x), differentiate(case, x), strict=True):
        assert_equal(found, expected)
    assert x.tobytes() == argument(case).tobytes(), "the caller's array changed"


@pytest.mark.parametrize(
    "case", [c if k % 4 == 0 else pytest.param(c, marks=pytest.mark.nightly) for k, c in enumerate(COMPILED)], ids=name
)
def test_forward_mode(case: dict[str, Any]) -> None:
    x = argument(case)
    (tangent,) = reference.random_tangents([x])
    with np.errstate(all="ignore"):
        expected = bridge.jvp(function(case, bridge.numpy), (x,), (tangent,), engine="native")
    for one, other in zip(
        bridge.jvp(function(case, bridge.numpy), (x,), (tangent,), engine="xla"), expected, strict=True
    ):
        assert_equal(one, other)


@pytest.mark.parametrize("case", [c for c in KINKS if name(c) not in NOT_COMPILED], ids=name)
def test_convention_at_a_kink(case: dict[str, Any]) -> None:
    _, gradient = compiled(case, argument(case))
    np.testing.assert_array_equal(gradient, AT_KINKS[name(case)])


@pytest.mark.parametrize("case", [c for c in GRADIENT + KINKS if name(c) in NOT_COMPILED], ids=name)
def test_what_is_not_compiled_is_refused_by_name(case: dict[str, Any]) -> None:
    with pytest.raises(NOT_COMPILED[name(case)]) as caught:
        compiled(case, argument(case))
    assert caught.value.remedy
