"""What names reach is decided when a turn is first run: on the way back, the program has gone on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.rewind.fingerprint import Fingerprint

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

H, Y = np.array([[0.3, -0.7], [1.1, 0.4]]), np.array([[0.2, 0.5, -0.1], [1.0, -0.6, 0.8]])
Z = np.array([0.4, 1.7, -0.8, 2.3])


def memory() -> Any:
    """What a fingerprint asks of memory."""
    return SimpleNamespace(serial=5)


def one_way(columns: int, h: Any, z: Any) -> Any:
    total = np.zeros((2, columns))
    for one in z:
        if columns == 2:  # noqa: SIM108
            x = np.sin(h * one)
        else:
            x = (h * one) @ Y
        if abs(one) < 1.0:
            x = -x
        total += x
    return np.sum(total**2)


def a_loop_in_it(columns: int, h: Any, z: Any) -> Any:
    total = np.zeros((2, columns))
    for one in z:
        for k in range(3):
            if columns == 2:  # noqa: SIM108
                x = h * one
            else:
                x = (h * one) @ Y
            if one * k < 1.0:
                x = x * x
            total += x * k
    return np.sum(total**2)


@pytest.mark.ci
@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("f", [one_way, a_loop_in_it])
def test_a_name_that_pythons_if_and_a_branch_bind(f: Any, columns: int) -> None:
    expected = bridge.grad(f, argnums=(1, 2))(columns, H, Z)
    for found in (
        bridge.grad(f, argnums=(1, 2), engine="xla")(columns, H, Z),
        bridge.xla(bridge.grad(f, argnums=(1, 2)))(columns, H, Z),
    ):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_run_that_repeats_another_decides_as_that_did() -> None:
    root = memory()
    around = Fingerprint(root.serial, None)
    first = Fingerprint(root.serial, around)
    assert first.decides("a", root, lambda: True)
    assert Fingerprint(root.serial, around, first).decides("a", root, lambda: False)
    assert not Fingerprint(root.serial, around, first).decides("b", root, lambda: False)
    # A body inside of one that is repeated, which itself is new.
    inside = Fingerprint(root.serial, Fingerprint(root.serial, None, around))
    assert inside.decides("a", root, lambda: False)


def test_one_name_for_two_decisions_decides_nothing() -> None:
    root, answers = memory(), iter([True, False])
    first = Fingerprint(root.serial, None)
    assert first.decides("a", root, lambda: next(answers)) and not first.decides("a", root, lambda: next(answers))
    assert not Fingerprint(root.serial, None, first).decides("a", root, lambda: False)
