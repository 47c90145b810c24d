"""Gradients by structs where memory outlives the call: held against finite differences, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import JuliaError

pytestmark = pytest.mark.julia

X = np.array([0.5, 1.5])


@pytest.fixture(scope="module", autouse=True)
def definitions() -> None:
    bridge.julia.eval(
        "begin; struct HeldSpring{T,V}; stiffness::T; rest::V; name::String; end;"
        " const HELD_STORE = Dict{Int,Any}(); const HELD_LAST = [0.0]; end; nothing"
    )


def own(code: str) -> Any:
    """A Julia value that stays one."""
    import juliacall

    return juliacall.Main.seval(code)


def test_what_is_right_stands() -> None:
    f = bridge.julia.function(
        "(s, x) -> (HELD_STORE[1] = s.stiffness; s.stiffness * sum(abs2, x - s.rest[2]) * s.rest[1].stiffness)"
    )
    spring = own('HeldSpring(2.0, (HeldSpring(2.0, [3.0], ""), [1.0, 0.5]), "")')
    found = bridge.grad(f)(spring, X)
    assert (found["stiffness"], found["rest"][0]["stiffness"]) == (2.5, 2.5)
    np.testing.assert_array_equal(found["rest"][1], [4.0, -8.0])
    np.testing.assert_array_equal(found["rest"][0]["rest"], [0.0])


def test_what_the_memory_makes_wrong_is_an_error() -> None:
    f = bridge.julia.function(
        "using ChainRulesCore; (s, x) -> (ignore_derivatives(() -> (HELD_LAST[1] = s.stiffness; nothing));"
        " s.stiffness * sum(x) + HELD_LAST[1]^2)"
    )
    with pytest.raises(JuliaError, match=r"HELD_LAST\), which is taken for constant: Zygote says that the derivative"):
        bridge.grad(f)(own('HeldSpring(2.0, [1.0], "")'), X)


def test_what_cannot_be_held_is_refused() -> None:
    f = bridge.julia.function("(s, x) -> (HELD_STORE[1] = s.stiffness; s.stiffness * sum(abs2, x))")
    with pytest.raises(
        JuliaError, match=r"outlives the call \(Main.HELD_STORE\), and its gradient by a HeldSpring"
    ) as e:
        bridge.grad(f)(own('HeldSpring(2.0, Dict("a" => 1.0), "")'), X)
    assert "make it in Julia" in str(e.value)
