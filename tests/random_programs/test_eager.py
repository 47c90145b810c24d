"""Random programs of mutation and aliasing: right against the complex step, finite differences and PyTorch.

`python -m pytest tests/random_programs/test_eager.py --programs 10000` is the nightly run.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from tests.helpers import finite_differences as reference
from tests.random_programs import RandomProgram, programs
from tests.random_programs.reduction import smallest

HAS_TORCH = importlib.util.find_spec("torch") is not None
Check = Callable[[RandomProgram], None]


def run_all(check: Check, count: int) -> None:
    for program in programs(count):
        try:
            # BLAS kernels of single precision raise floating point flags on finite operands.
            with np.errstate(all="ignore"):
                check(program)
        except Exception as failure:
            kind = type(failure)
            small = smallest(program, lambda candidate, kind=kind: _fails_alike(check, candidate, kind))
            raise AssertionError(f"{failure}\n\nthe smallest program that fails so:\n{small!r}") from failure


@pytest.mark.ci
def test_gradients_of_random_programs(request: pytest.FixtureRequest) -> None:
    run_all(check_gradient, request.config.getoption("--programs"))


def test_second_derivatives_of_random_programs(request: pytest.FixtureRequest) -> None:
    run_all(check_second_derivative, request.config.getoption("--programs") // 5)


def test_checkpointed_random_programs(request: pytest.FixtureRequest) -> None:
    run_all(check_checkpoint, request.config.getoption("--programs") // 5)


def test_random_programs_agree_with_pytorch(request: pytest.FixtureRequest) -> None:
    if not HAS_TORCH:
        pytest.skip("PyTorch is not installed: the twin of each random program was not run (pip install torch)")
    without = Counter[str]()
    run_all(lambda program: check_twin(program, without), request.config.getoption("--programs"))
    print(f"programs without a PyTorch twin, by operation: {dict(without)}")


def check_gradient(program: RandomProgram) -> None:
    """Value, caller's arrays, reverse mode twice, forward mode, in both namespaces."""
    expected = reference.complex_step_gradient(program.function(np), program.inputs)
    tangents = reference.random_tangents(program.inputs, seed=1)
    single = program.inputs[0].dtype == np.float32
    tolerance = 2e-3 if single else 1e-9
    _check_reference(program, expected)
    for namespace in (np, bridge.numpy):
        function = program.function(namespace)
        inputs = reference.replicas(program.inputs)
        value, pull = bridge.vjp(function, *inputs, engine="native")
        plain = program.function(np)(*reference.replicas(program.inputs))
        assert np.asarray(value).tobytes() == np.asarray(plain).tobytes(), f"value {value!r}, plain NumPy {plain!r}"
        for gradient in (pull(np.ones_like(plain)), pull(np.ones_like(plain))):
            _compare("gradient", gradient, expected, tolerance)
            assert all(g.dtype == x.dtype for g, x in zip(gradient, program.inputs, strict=True)), "dtype"
        _, forward = bridge.jvp(function, inputs, tangents)
        predicted = reference.inner(expected, tangents)
        assert abs(forward - predicted) <= tolerance * _scale(expected), f"jvp {forward}, expected {predicted}"
        for x, original in zip(inputs, program.inputs, strict=True):
            assert x.tobytes() == original.tobytes(), "the caller's array changed"


def check_second_derivative(program: RandomProgram) -> None:
    """Forward over reverse and reverse over reverse, against differences of the exact gradient."""
    if program.inputs[0].dtype == np.float32:
        return
    tangents = reference.random_tangents(program.inputs, seed=2)
    function, count = program.function(np), len(program.inputs)

    def exact(*inputs: np.ndarray) -> reference.Arrays:
        return reference.complex_step_gradient(function, inputs)

    expected = reference.change_of(exact, program.inputs, tangents)
    product = bridge.hvp(function, program.inputs, tangents)
    _compare("hvp", product if count > 1 else (product,), expected, 1e-5)

    def slope(*inputs: Any) -> Any:
        gradients = bridge.grad(function, argnums=tuple(range(count)), engine="native")(*inputs)
        return sum(np.sum(g * t) for g, t in zip(gradients, tangents, strict=True))

    nested = bridge.grad(slope, argnums=tuple(range(count)), engine="native")(*program.inputs)
    _compare("gradient of gradient", nested, expected, 1e-5)


def check_checkpoint(program: RandomProgram) -> None:
    """Dropping the log and making it again changes nothing."""
    function, argnums = program.function(np), tuple(range(len(program.inputs)))
    expected = bridge.grad(function, argnums=argnums, engine="native")(*program.inputs)
    found = bridge.grad(bridge.checkpoint(function), argnums=argnums, engine="native")(*program.inputs)
    _compare("gradient under checkpoint", found, expected, 1e-6)


def check_twin(program: RandomProgram, without: Counter[str]) -> None:
    from tests.random_programs import torch_twin

    try:
        expected = torch_twin.gradient(program)
    except torch_twin.NotWritten as operation:
        without[str(operation)] += 1
        return
    tolerance = 2e-3 if program.inputs[0].dtype == np.float32 else 1e-9
    argnums = tuple(range(len(program.inputs)))
    gradient = bridge.grad(program.function(np), argnums=argnums, engine="native")(*program.inputs)
    _compare("gradient beside PyTorch's", gradient, expected, tolerance)


def _check_reference(program: RandomProgram, expected: tuple[np.ndarray, ...]) -> None:
    """The two references agree, or the program is no fair test (a jump, too steep)."""
    tangents = reference.random_tangents([reference.wide(x) for x in program.inputs])
    differences = reference.directional(program.function(np), program.inputs, tangents, largest_step=1e-3)
    predicted = reference.inner(expected, tangents)
    assert abs(differences - predicted) <= 1e-5 * _scale(expected), f"references: {differences}, {predicted}"


def _compare(what: str, found: Any, expected: tuple[np.ndarray, ...], tolerance: float) -> None:
    for position, (g, e) in enumerate(zip(found, expected, strict=True)):
        error = np.max(np.abs(g - e))
        assert error <= tolerance * _scale(expected), f"{what} of argument {position}:\n{g}\nexpected\n{e}"


def _scale(expected: tuple[np.ndarray, ...]) -> float:
    return 1.0 + max(float(np.max(np.abs(e))) for e in expected)


def _fails_alike(check: Check, program: RandomProgram, kind: type[Exception]) -> bool:
    try:
        check(program)
    except kind:
        return True
    except Exception:
        return False
    return False
