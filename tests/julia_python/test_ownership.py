"""Whose memory it is: nothing that Julia returns is used again by Julia, nothing that it keeps is freed by Python."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import bridge
from bridge.errors import RuleError

pytestmark = pytest.mark.julia


@pytest.mark.parametrize("size", [3, 100_000])
def test_results_do_not_share_memory_that_julia_uses_again(size: int) -> None:
    same = bridge.julia.function("identity")
    x = np.ones(size)
    for _ in range(3):
        assert not np.shares_memory(same(x), x)
    cached = bridge.julia.function(f"let cache = zeros({size}); x -> (cache .+= x; cache) end")
    first = cached(x)
    second = cached(x)
    assert first[0] == 1 and second[0] == 2


CACHING_RULE = """
module CachingRule
using ChainRulesCore
const CACHE = Dict{Int,Vector{Float64}}()
f(x) = sum(abs2, x)
function ChainRulesCore.rrule(::typeof(f), x)
    pull(ct) = (c = get!(() -> similar(x), CACHE, length(x)); c .= 2 .* ct .* x; (NoTangent(), c))
    return f(x), pull
end
end
CachingRule.f
"""


def test_large_gradients_are_not_memory_that_a_rule_uses_again() -> None:
    function = bridge.julia.function(CACHING_RULE)
    x = np.ones(300_000)
    gradients = [bridge.grad(function)(k * x) for k in range(1, 6)]
    for k, gradient in enumerate(gradients, start=1):
        assert np.all(gradient == 2 * k)


def test_large_gradients_live_as_long_as_numpy_needs_them() -> None:
    function = bridge.julia.function("(x, y) -> sum(x .* y)")
    gradient = bridge.value_and_grad(function, argnums=(0, 1))
    x, y = np.arange(300_000.0), np.full(300_000, 2.0)
    kept = [gradient(x, y)[1] for _ in range(20)]
    bridge.julia.eval("GC.gc()")
    gc.collect()
    for by_x, by_y in kept:
        assert np.all(by_x == 2) and np.array_equal(by_y, x) and not np.shares_memory(by_y, x)
    kept[0][0][:] = 7
    assert np.all(kept[1][0] == 2)
    views = [pair[0][::2] for pair in kept]
    del kept
    bridge.julia.eval("GC.gc()")
    assert all(np.all(view == 2) for view in views[1:])


def test_two_large_gradients_in_one_memory_are_two_arrays() -> None:
    plain = bridge.julia.function("(x, y) -> sum(x + y)")
    bridge.julia.eval(
        "using ChainRulesCore; summed(x, y) = sum(x .+ y);"
        "ChainRulesCore.rrule(::typeof(summed), x, y) ="
        " (summed(x, y), ct -> (g = fill(ct, size(x)); (NoTangent(), g, g)))"
    )
    for function in (plain, bridge.julia.function("summed")):
        for _ in range(5):
            by_x, by_y = bridge.grad(function, argnums=(0, 1))(np.ones(200_000), np.ones(200_000))
            assert not np.shares_memory(by_x, by_y) and np.all(by_x == 1) and np.all(by_y == 1)


def test_an_array_that_julia_keeps_keeps_its_memory() -> None:
    bridge.julia.eval("const REMEMBERED = Any[]")
    for kept in ("x", "reshape(x, 10, :)", "vec(reshape(x, 10, :))", "view(x, 1:10)"):
        remember = bridge.julia.function(f"x -> (push!(REMEMBERED, {kept}); nothing)")
        for k in range(20):
            remember(np.full(100_000, float(k)))
        bridge.julia.eval("GC.gc()")
        bridge.julia.function("sum")(np.zeros(3))  # a call releases what Julia has let go
        gc.collect()
        assert [np.full(100_000, -1.0)[0] for _ in range(20)] == [-1] * 20
        assert bridge.julia.eval("[x[1] for x in REMEMBERED]").tolist() == [float(k) for k in range(20)]
        bridge.julia.eval("empty!(REMEMBERED); GC.gc()")


@pytest.mark.parametrize("size", [3, 100_000])
def test_writes_into_undeclared_arguments_are_found(size: int) -> None:
    write = bridge.julia.function("(x, y) -> (y[1] = 5; nothing)")
    y = np.zeros(size)
    with pytest.raises(RuleError, match=r"writes its array argument number 1[\s\S]*mutates"):
        write(np.zeros(2), y)
    assert not y.any()
