"""What is said of compiled programs is said in the program's words: its names, its containers, what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeWarning, NoRuleError, RefusedError, TraceError

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([0.5, 1.5])


def test_a_list_that_grows_in_a_branch_has_its_name() -> None:
    def program(x: Any) -> Any:
        log: list[Any] = []
        for i in range(40):
            if x[0] > i:
                log.append(x[0])
            x = x * 1.1
        return np.sum(x) + 0 * len(log)

    message = r"list 'log' grows in a branch: its length is 1 on one side and 0 on the other(.|\n)*remedy: "
    with pytest.raises(TraceError, match=message):
        bridge.grad(program, engine="xla")(X)


def test_what_is_left_has_its_name() -> None:
    losses: list[Any] = []
    table = np.zeros(2)

    def program(x: Any) -> Any:
        losses.append(np.sum(x))
        table[:] = x
        return np.sum(x)

    with pytest.warns(BridgeWarning, match=r"compiled calls leave list 'losses', an array 'table' of shape \(2,\) as"):
        bridge.xla(program)(X)
    assert losses == [] and not table.any()


def kernel(x: Any) -> Any:
    """In the place of compiled code, which takes plain arrays only."""
    return np.sin(np.ascontiguousarray(x))


def another_kernel(x: Any) -> Any:
    return np.sin(np.ascontiguousarray(x))


def adjoint(ct: Any, x: Any) -> Any:
    return np.ascontiguousarray(ct) * np.cos(np.ascontiguousarray(x))


def test_kernels_are_refused_with_what_to_do_or_called_from_the_program() -> None:
    limited = bridge.rule(another_kernel, orders=1)(lambda ct, out, x: adjoint(ct, x))
    message = r"rule says orders=1(.|\n)*rules without orders=, and say with bridge.extend.lowering"
    with pytest.raises(RefusedError, match=message):
        bridge.grad(lambda x: np.sum(limited(x)), engine="xla")(X)

    def from_the_program(function: Any) -> Any:
        def call(*args: Any) -> Any:
            import jax

            return jax.pure_callback(function, jax.ShapeDtypeStruct(args[0].shape, args[0].dtype), *args)

        return call

    bridge.extend.lowering(kernel)(from_the_program(kernel))
    bridge.extend.lowering(adjoint)(from_the_program(adjoint))
    back = bridge.rule(adjoint)(lambda ct, out, c, x: (ct * np.cos(x), -ct * c * np.sin(x)))
    ruled = bridge.rule(kernel)(lambda ct, out, x: back(ct, x))
    np.testing.assert_allclose(bridge.grad(lambda x: np.sum(ruled(x)), engine="xla")(X), np.cos(X))


def test_a_part_of_the_rule_book_has_the_name_that_the_program_calls() -> None:
    from scipy.linalg import solve_toeplitz

    with pytest.raises(NoRuleError, match=r"no counterpart of scipy\.linalg\.solve_toeplitz\n"):
        bridge.grad(lambda c: np.sum(solve_toeplitz(c, X)), engine="xla")(np.array([3.0, 1.0]))
