"""`scipy.spatial.transform.Rotation` of tracked values: SciPy's values to the bit, and gradients by differences."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import bridge
from bridge.errors import RefusedError
from tests.helpers.stand_in_rows import weighted

RNG = np.random.default_rng(0)
VECTOR, VECTORS = RNG.normal(size=3), RNG.normal(size=(4, 3))
QUATERNION, QUATERNIONS = RNG.normal(size=4), RNG.normal(size=(4, 4))
KNOWN = Rotation.from_euler("xyz", [0.1, 0.2, 0.3])


def from_vectors(x: Any) -> Any:
    r = Rotation.from_rotvec(x)
    parts = [r.as_matrix(), r.as_quat(), r.as_quat(canonical=True, scalar_first=True), r.apply(2 * x)]
    return weighted([*parts, r.as_rotvec(), Rotation.from_rotvec(x, degrees=True).as_rotvec(degrees=True)])


def from_quaternions(x: Any) -> Any:
    r, s = Rotation.from_quat(x), Rotation.from_quat(x, scalar_first=True)
    return weighted([(r * s).as_rotvec(), s.inv().as_quat(), (KNOWN * r).as_matrix(), (r * KNOWN).magnitude()])


def powers(x: Any) -> Any:
    return weighted((Rotation.from_quat(x) ** 2).as_quat())


def from_matrices(x: Any) -> Any:
    r = Rotation.from_matrix(Rotation.from_quat(x).as_matrix())
    return weighted([r.as_quat(), r.as_rotvec()])


def of_known(x: Any) -> Any:
    return weighted([KNOWN.apply(x), KNOWN.apply(x[0], inverse=True), Rotation.from_rotvec(x[0]).apply(x, True)])


def picked(x: Any) -> Any:
    r = Rotation.from_rotvec(x)
    assert isinstance(r, Rotation)
    assert not r.single
    return weighted([r[1].as_matrix(), r[1:3].inv().apply(x[0])]) + len(r) * x[0, 0]


def angles(sequence: str) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        given = x[: len(sequence)]
        r, s = Rotation.from_euler(sequence, given), Rotation.from_euler(sequence, 30 * given, degrees=True)
        return weighted([r.as_quat(), s.as_matrix()])

    return program


def as_angles(sequence: str) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        r = Rotation.from_rotvec(x)
        return weighted([r.as_euler(sequence), r.as_euler(sequence, degrees=True)])

    return program


COMPILED = {
    "a vector": (from_vectors, VECTOR),
    "vectors": (from_vectors, VECTORS),
    "the identity": (from_vectors, np.zeros(3)),
    "nearly the identity": (from_vectors, 1e-4 * VECTOR),
    "more than half a turn": (from_vectors, 3 * VECTOR),
    "a quaternion": (from_quaternions, QUATERNION),
    "quaternions": (from_quaternions, QUATERNIONS),
    "a power": (powers, QUATERNION),
    "plain rotations": (of_known, VECTORS),
    "items": (picked, VECTORS),
    **{sequence: (angles(sequence), VECTOR) for sequence in ("xyz", "ZYX", "zxz", "yx", "Z")},
}
NATIVE = {
    "a matrix": (from_matrices, QUATERNION),
    "matrices": (from_matrices, QUATERNIONS),
    **{f"as {sequence}": (as_angles(sequence), VECTORS) for sequence in ("xyz", "ZYX", "zxz", "XYX")},
}


@pytest.mark.parametrize("name", [*COMPILED, *NATIVE])
def test_gradients(name: str) -> None:
    program, x = (COMPILED | NATIVE)[name]
    bridge.check_gradient(program, tolerance=1e-5)(x)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name: str) -> None:
    program, x = COMPILED[name]
    found, expected = (bridge.value_and_grad(program, engine=engine)(x) for engine in ("xla", "native"))
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_second_derivatives_at_the_identity() -> None:
    def program(x: Any) -> Any:
        return weighted(Rotation.from_rotvec(x).as_matrix())

    step = np.array([1e-4, 0, 0])
    gradient = bridge.grad(program)
    by_differences = (gradient(step) - gradient(-step)) / 2e-4
    assert_allclose(bridge.hessian(program)(np.zeros(3))[0], by_differences, rtol=1e-6)


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_errors_are_scipys(engine: Any) -> None:
    for program, x in (
        (lambda x: weighted(Rotation.from_rotvec(x[:2]).as_quat()), VECTOR),
        (lambda x: weighted(Rotation.from_euler("xxq", x).as_quat()), VECTOR),
        (lambda x: weighted(Rotation.from_quat(0 * x).as_quat()), QUATERNION),
    ):
        with pytest.raises(ValueError, match=r"Expected|zero norm"):
            bridge.grad(program, engine=engine)(x)


def test_what_is_refused() -> None:
    for program, what in (
        (lambda x: weighted(Rotation.from_rotvec(x).mean().as_quat()), "mean"),
        (lambda x: weighted(Rotation.concatenate([Rotation.from_rotvec(x)]).as_quat()), "concatenate"),
        (lambda x: weighted(Rotation.from_matrix(np.eye(3) + 0.1 * x).as_quat()), "not orthogonal"),
        (lambda x: weighted(Rotation.from_euler("xz", [np.pi, x[0, 0]]).as_euler("zyz")), "gimbal lock"),
    ):
        with pytest.raises(RefusedError, match=what), pytest.warns() if what == "gimbal lock" else nullcontext():
            bridge.grad(program)(VECTORS[:3])
    for program, what in ((from_matrices, "from_matrix"), (lambda x: as_angles("xyz")(x[:3]), "as_euler")):
        with pytest.raises(RefusedError, match=f"{what} in a compiled program"):
            bridge.grad(program, engine="xla")(QUATERNION)
