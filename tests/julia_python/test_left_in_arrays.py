"""What is left in arrays after errors in Julia functions that write, and which undeclared writes are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import JuliaError, RuleError

pytestmark = pytest.mark.julia

HALFWAY = """
function halfway!(u, v, stop)
    for (k, i) in enumerate(eachindex(u, v))
        u[i] *= 2
        v[i] = u[i] + 1
        k == stop && throw(DomainError(k, "halfway"))
    end
    return u
end
"""


@pytest.mark.parametrize("size", [8, 20_000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_error_halfway_leaves_written_arrays_as_they_were(size: int, order: Any) -> None:
    function = bridge.julia.function(HALFWAY, mutates=("u", "v"))
    u, v = np.ones((size, 2), order=order), np.zeros((size, 2), order=order)
    with pytest.raises(JuliaError, match="halfway"):
        function(u, v, size // 2)
    assert np.all(u == 1) and np.all(v == 0)
    function(u, v, 0)
    assert np.all(u == 2) and np.all(v == 3)
    with pytest.raises(JuliaError, match="halfway"):
        function(u[::2], v[::2], size // 4)
    assert np.all(u == 2) and np.all(v == 3)


def test_an_error_halfway_inside_a_program() -> None:
    function = bridge.julia.function(HALFWAY, mutates=("u", "v"))

    def program(x: Any, stop: int) -> Any:
        work = np.zeros(6)
        try:
            function(x, work, stop)
        except JuliaError:
            assert np.all(work == 0)
            work[:] = x
        return np.sum(work**2)

    x = np.linspace(1.0, 2.0, 6)
    np.testing.assert_allclose(bridge.grad(program)(x, 3), 2 * x)
    np.testing.assert_allclose(bridge.grad(program)(x, 0), 4 * (2 * x + 1))
    np.testing.assert_array_equal(x, np.linspace(1.0, 2.0, 6))


# A rule that hides its write: neither the name nor the code that is differentiated shows it.
HIDDEN = """
hidden_write(x, write) = (write && (x[end] = 5.0); nothing)
function MutationBridge.ChainRulesCore.rrule(::typeof(hidden_write), x, write)
    hidden_write(x, write)
    none = MutationBridge.ChainRulesCore.NoTangent()
    return nothing, _ -> (none, none, none)
end
(x, write) -> (hidden_write(x, write); sum(abs2, x))
"""


@pytest.mark.parametrize("size", [5, 2_047, 2_049, 100_003])
def test_undeclared_writes_are_found_in_every_call(size: int) -> None:
    function = bridge.julia.function(HIDDEN, ad="zygote")
    x = np.ones(size)
    ways = {
        "call": lambda write: function(x, write),
        "gradient": lambda write: bridge.grad(function)(x, write),
        "vjp": lambda write: bridge.vjp(lambda x: function(x, write), x),
        "program": lambda write: bridge.grad(lambda x: function(2.0 * x, write))(x),
    }
    for way, run in ways.items():
        x[:] = 1.0
        run(False)
        run(False)
        for _ in range(2):
            with pytest.raises(RuleError, match=r"writes its array argument number 0 .* not declared"):
                run(True)
            assert size > 2_048 or np.all(x == 1), way
            x[:] = 1.0
        run(False)


def test_an_error_does_not_hide_an_undeclared_write() -> None:
    function = bridge.julia.function("(x, write) -> (write && (x[1] = 2.0; error(1)); sum(x))")
    for x in (np.ones(5), np.ones(5_000)):
        function(x, False)
        with pytest.raises(RuleError, match="not declared"):
            function(x, True)
