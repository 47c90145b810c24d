"""Global lists that change their length, between calls of a function that Mooncake differentiates and in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import JuliaError, JuliaNotAvailable

pytestmark = pytest.mark.julia

X = np.array([1.0, 2.0, 3.0])
CODE = """
module GlobalLists
const LOSSES = Float64[]
const DATA = [1.0]
function recorded(x)
    y = copy(x)
    y[2] *= y[1]
    push!(LOSSES, sum(y))
    return sum(abs2, y)
end
function weighted(x)
    y = similar(x)
    for i in eachindex(x)
        y[i] = sum(DATA) * x[i]
    end
    return sum(abs2, y)
end
applied(f, x) = f(x)
held() = copy(LOSSES)
extend(n) = (append!(DATA, ones(n)); nothing)
end
"""


@pytest.fixture(autouse=True)
def functions(tmp_path: Path) -> None:
    """Define the functions, with new lists."""
    try:
        if "Mooncake" not in bridge.julia.status().engines:
            pytest.skip("Mooncake is not in the Julia project")
        (tmp_path / "lists.jl").write_text(CODE)
        bridge.julia.include(tmp_path / "lists.jl")
    except JuliaNotAvailable as missing:
        pytest.skip(str(missing))


def of_recorded(x: np.ndarray) -> np.ndarray:
    a, b, c = x
    return np.array([2 * a + 2 * a * b**2, 2 * a**2 * b, 2 * c])


def is_right(function: bridge.julia.JuliaFunction, *args: Any) -> bool:
    """Whether there is a gradient, a right one. From Julia 1.11 on `push!`, inlined, names the list in several places.

    Then Mooncake may lose track of it, which is told by name.
    """
    try:
        found = bridge.grad(function, argnums=len(args) - 1)(*args)
    except JuliaError as error:
        assert bridge.julia.eval('VERSION >= v"1.11"')
        assert re.search(r"Mooncake refused: Disproved: .* the size of memory .*GlobalLists\.LOSSES", str(error))
        return False
    np.testing.assert_allclose(found, of_recorded(args[-1]))
    return True


def test_a_list_that_each_call_makes_longer() -> None:
    function = bridge.julia.function("GlobalLists.recorded")
    told = []
    for k in range(1, 31):
        x = X * k
        told.append(is_right(function, x))
        for _ in range(k % 3):
            function(x)
    held = bridge.julia.function("GlobalLists.held")()
    assert len(held) >= 30 + sum(told) and held[0] == 1 + 2 + 3
    assert not all(told) or (len(held) == 30 + 30 and "Mooncake" in function.explain())


def test_a_list_that_others_make_longer() -> None:
    function = bridge.julia.function("GlobalLists.weighted")
    np.testing.assert_allclose(bridge.grad(function)(X), 2 * X)
    bridge.julia.function("GlobalLists.extend")(2000)
    np.testing.assert_allclose(bridge.grad(function)(X), 2 * 2001**2 * X)
    np.testing.assert_allclose(bridge.grad(function)(2 * X), 4 * 2001**2 * X)


def test_by_a_function_that_is_an_argument() -> None:
    applied = bridge.julia.function("GlobalLists.applied")
    recorded = bridge.julia.function("GlobalLists.recorded")
    told = [is_right(applied, recorded, X * k) for k in range(1, 11)]
    assert len(bridge.julia.function("GlobalLists.held")()) >= sum(told)
    assert not all(told) or len(bridge.julia.function("GlobalLists.held")()) == 10
