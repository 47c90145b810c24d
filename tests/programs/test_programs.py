"""Every recorded program under every way of differentiating it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge.errors import BridgeError
from tests.helpers import finite_differences as reference
from tests.programs import PROGRAMS, Program

NAMES = [str(program) for program in PROGRAMS]
RIGHT = [program for program in PROGRAMS if program.raises is None]
REFUSED = [program for program in PROGRAMS if program.raises is not None]
SINGLE = [p for p in RIGHT if p.single and p.gradient is None and all(x.dtype == np.float64 for x in p.inputs)]
SMOOTH = [p for p in RIGHT if p.second_order and all(x.dtype == np.float64 for x in p.inputs)]

_references: dict[str, reference.Arrays] = {}


def expected_gradient(program: Program) -> reference.Arrays:
    """The gradients that the record states, else finite differences of the plain program."""
    if program.gradient is not None:
        return program.gradient
    if program.name not in _references:
        _references[program.name] = reference.gradient(program.under(np), program.inputs)
    return _references[program.name]


def argnums(program: Program) -> tuple[int, ...]:
    return tuple(k for k, x in enumerate(program.inputs) if reference.is_differentiable(x))


def differentiate(program: Program, inputs: reference.Arrays, namespace: ModuleType = bridge.numpy) -> tuple[Any, Any]:
    """Value and gradients, with the rule book alone."""
    positions = argnums(program) or (0,)
    with np.errstate(all="ignore"):
        return bridge.value_and_grad(program.under(namespace), argnums=positions, engine="native")(*inputs)


def assert_close(found: Any, expected: Any, tolerance: float) -> None:
    """Within `tolerance` of the largest element; a tight one (tails, exact cases) is for each element by itself."""
    for g, e in zip(found, expected, strict=True):
        largest = np.max(np.abs(e), initial=1.0, where=np.isfinite(e))
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance * largest if tolerance > 1e-10 else 0.0)


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_record_says_whether_the_program_mutates_its_inputs(program: Program) -> None:
    inputs = reference.replicas(program.inputs)
    try:
        program.under(np)(*inputs)
    except Exception:
        assert program.raises is not None
        return
    changed = any(a.tobytes() != b.tobytes() for a, b in zip(inputs, program.inputs, strict=True))
    assert changed == program.mutates


@pytest.mark.parametrize("program", RIGHT, ids=str)
def test_value_gradient_and_inputs(program: Program) -> None:
    plain = program.under(np)(*reference.replicas(program.inputs))
    before = [x.tobytes() for x in program.inputs]
    value, gradients = differentiate(program, program.inputs)
    assert_close(gradients, tuple(expected_gradient(program)[k] for k in argnums(program)), program.tolerance)
    assert np.asarray(value).tobytes() == np.asarray(plain).tobytes(), f"{value!r} is not plain NumPy's {plain!r}"
    assert [x.tobytes() for x in program.inputs] == before, "the caller's arrays changed"
    for g, k in zip(gradients, argnums(program), strict=True):
        assert (g.shape, g.dtype) == (program.inputs[k].shape, program.inputs[k].dtype)


@pytest.mark.parametrize("program", RIGHT, ids=str)
def test_plain_namespace_is_right_or_refused_by_name(program: Program) -> None:
    """Without `bridge.numpy`, arrays that the program creates are plain: right all the same, or a named error."""
    try:
        _, gradients = differentiate(program, reference.replicas(program.inputs), np)
    except BridgeError as error:
        assert error.remedy is not None
        return
    assert_close(gradients, tuple(expected_gradient(program)[k] for k in argnums(program)), program.tolerance)


@pytest.mark.parametrize("program", RIGHT, ids=str)
def test_pull_repeats(program: Program) -> None:
    with np.errstate(all="ignore"):
        value, pull = bridge.vjp(program.under(bridge.numpy), *reference.replicas(program.inputs), engine="native")
        first, second = pull(np.ones_like(value)), pull(np.ones_like(value))
    for k in argnums(program):
        np.testing.assert_array_equal(first[k], second[k])
    assert_close([first[k] for k in argnums(program)], [expected_gradient(program)[k] for k in argnums(program)], 1e-5)


@pytest.mark.parametrize("program", RIGHT, ids=str)
def test_forward_mode_agrees(program: Program) -> None:
    expected = expected_gradient(program)
    if not all(np.all(np.isfinite(g)) for g in expected):
        pytest.skip("the derivative is not finite: no direction to compare along")
    tangents = reference.random_tangents(program.inputs)
    with np.errstate(all="ignore"):
        _, derivative = bridge.jvp(program.under(bridge.numpy), reference.replicas(program.inputs), tangents)
    differentiable = argnums(program)
    predicted = reference.inner([expected[k] for k in differentiable], [tangents[k] for k in differentiable])
    half = any(x.dtype == np.float16 for x in program.inputs)
    assert derivative == pytest.approx(predicted, rel=1e-2 if half else 1e-6, abs=1e-6)


@pytest.mark.parametrize("program", SINGLE, ids=str)
def test_single_precision_stays_single(program: Program) -> None:
    inputs = tuple(reference.replica(x, np.float32) for x in program.inputs)
    _, gradients = differentiate(program, inputs)
    for g, e in zip(gradients, expected_gradient(program), strict=True):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, e, rtol=0.0, atol=3e-3 * (1.0 + np.max(np.abs(e), initial=0.0)))


@pytest.mark.parametrize("program", SMOOTH, ids=str)
def test_second_derivatives(program: Program) -> None:
    """Forward over reverse and reverse over reverse against differences of the gradient."""
    tangents = reference.random_tangents(program.inputs, seed=1)
    function, positions = program.under(bridge.numpy), tuple(range(len(program.inputs)))
    gradient = bridge.grad(function, argnums=positions, engine="native")
    expected = reference.change_of(gradient, program.inputs, tangents)
    product = bridge.hvp(function, reference.replicas(program.inputs), tangents)

    def slope(*inputs: Any) -> Any:
        return sum(np.sum(g * t) for g, t in zip(gradient(*inputs), tangents, strict=True))

    nested = bridge.grad(slope, argnums=positions, engine="native")(*reference.replicas(program.inputs))
    assert_close(product if len(positions) > 1 else (product,), expected, 1e-5)
    assert_close(nested, expected, 1e-5)


@pytest.mark.parametrize("program", REFUSED, ids=str)
def test_refused_by_a_named_error(program: Program) -> None:
    assert program.raises is not None
    before = [x.tobytes() for x in program.inputs]
    with pytest.raises(program.raises):
        differentiate(program, program.inputs)
    assert [x.tobytes() for x in program.inputs] == before, "the caller's arrays changed"
    assert np.array_equal(bridge.grad(lambda x: np.sum(x * x))(np.array([1.0, 2.0])), [2.0, 4.0])
