"""Who differentiates a Julia function under `ad="auto"`, and how that is told."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import JuliaError
from bridge.julia.choosing import PACKAGES
from bridge.julia.session import Session

pytestmark = pytest.mark.julia

WRITES = "(x, twice) -> twice ? (y = copy(x); y[1] *= 2; sum(abs2, y)) : sum(x)"
X = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the project seem to have these packages and none of the other engines."""

    def set_to(*names: str) -> None:
        monkeypatch.setattr(Session, "has", lambda self, name: name in names)

    return set_to


def test_without_other_engines_the_packages_to_add_are_named(only: Any) -> None:
    only()
    function = bridge.julia.function(WRITES)
    for _ in range(2):
        with pytest.raises(JuliaError, match="setindex! mutates a plain Vector") as caught:
            bridge.grad(function)(X, True)
        for part in ("MutationBridge.Buffer", "add Mooncake or Enzyme", "DifferentiationInterface", "Mooncake"):
            assert part in str(caught.value)
        assert "no engine (Zygote refused: MutationError: setindex!" in function.explain()
        assert function.explain().count("Zygote refused") == 1
    np.testing.assert_array_equal(bridge.grad(function)(X, False), np.ones(3))
    only("DifferentiationInterface")
    with pytest.raises(JuliaError, match=r"Pkg\.add|juliapkg add") as caught:
        bridge.grad(function)(X, True)
    assert '"DifferentiationInterface"' not in str(caught.value)


def test_it_says_who_and_why(pytestconfig: pytest.Config) -> None:
    function = bridge.julia.function(WRITES)
    assert "nothing was differentiated yet; the order is Zygote, Mooncake, Enzyme" in function.explain()
    np.testing.assert_array_equal(bridge.grad(function)(X, False), np.ones(3))
    assert function.explain().endswith("\n  (array, bool): Zygote")
    status = bridge.julia.status()
    assert status.engines["Zygote"] == status.versions["Zygote"]
    assert "ad=auto         Zygote" in str(status)
    if "Mooncake" not in status.engines:
        assert "not in the project: " in str(status)
        pytest.skip("there is no Mooncake")
    np.testing.assert_array_equal(bridge.grad(function)(X, True), [8.0, 4, 6])
    told = "(array, bool): Mooncake (Zygote refused: MutationError: setindex! mutates a plain Vector"
    assert told in function.explain() and told in str(bridge.julia.status())
    assert "ad='zygote'" in bridge.julia.function(WRITES, ad="zygote").explain()
    assert repr(function) == f"<Julia function {function.name}>"


def test_enzyme_takes_over_where_there_is_no_mooncake(only: Any) -> None:
    if "Enzyme" not in bridge.julia.status().engines:
        pytest.skip("there is no Enzyme")
    only("DifferentiationInterface", "Enzyme")
    function = bridge.julia.function(WRITES)
    np.testing.assert_allclose(bridge.grad(function)(X, True), [8.0, 4, 6])
    assert "(array, bool): Enzyme (Zygote refused: MutationError: setindex!" in function.explain()


def test_a_crosscheck_asks_every_engine_and_says_whom_auto_takes() -> None:
    report = bridge.crosscheck(bridge.julia.function(WRITES))(X, True)
    status = {run.engine: run.status for run in report.runs}
    assert list(status) == [
        "julia", "Zygote", "ForwardDiff", "ReverseDiff", "Mooncake", "Enzyme", "finite differences",
    ]  # fmt: skip
    assert report.ok and status["Zygote"] == "refused" and status["ForwardDiff"] == "ran"
    has = bridge.julia.status().engines
    for name in ("ReverseDiff", "Mooncake", "Enzyme"):
        assert status[name] == ("ran" if name in has else "not available")
    assert any('ad="auto"' in remark and "Zygote refused" in remark for remark in report.remarks)
    other = bridge.crosscheck(bridge.julia.function("x -> sum(x .^ 2)"))(X)
    assert other.ok and not any('ad="auto"' in remark for remark in other.remarks)


def test_errors_of_the_function_itself_are_its_own(only: Any) -> None:
    only()
    function = bridge.julia.function('x -> (x[1] > 0 && throw(DomainError(x[1], "mine")); sum(x))')
    with pytest.raises(JuliaError, match=r"DomainError.*\n?.*mine") as caught:
        bridge.grad(function)(X)
    assert "Mooncake" not in str(caught.value)
    np.testing.assert_array_equal(bridge.grad(function)(-X), np.ones(3))


def test_a_pull_that_zygote_refuses_on_the_way_back() -> None:
    """In a NumPy program the run is over when Zygote refuses: the next engine has to find the same value."""
    if "Mooncake" not in bridge.julia.status().engines:
        pytest.skip("there is no Mooncake")
    function = bridge.julia.function(
        "x -> (y = zeros(3); GC.@preserve x y unsafe_copyto!(pointer(y), pointer(x), 3); sum(abs2, y) * rand())"
    )
    value, found = bridge.value_and_grad(lambda x: function(2.0 * x))(X)
    assert value == pytest.approx(found @ X / 2)
    assert "Mooncake" in function.explain()


def test_an_engine_that_was_passed_over_is_asked_again() -> None:
    """What Mooncake takes for constant, Zygote differentiates; what Zygote refuses, Mooncake differentiates."""
    if "Mooncake" not in bridge.julia.status().engines:
        pytest.skip("there is no Mooncake")
    function = bridge.julia.function(
        """
        const choosing_total = Ref(0.0)
        function (x, writes)
            writes && (y = copy(x); y[1] *= 2; return sum(abs2, y))
            choosing_total[] = 0.0
            for v in x
                choosing_total[] += v^2
            end
            return choosing_total[]
        end
        """
    )
    for _ in range(2):
        np.testing.assert_allclose(bridge.grad(function)(X, True), 2 * X * [4, 1, 1])
        assert "Mooncake (Zygote refused: MutationError" in function.explain()
        np.testing.assert_allclose(bridge.grad(function)(X, False), 2 * X)
        assert "Zygote (Mooncake refused: Disproved: the function writes memory that outlives" in function.explain()


@pytest.mark.parametrize("ad", ["mooncake", "forwarddiff"])
def test_a_refusal_of_an_engine_by_name_says_what_else_to_do(ad: str) -> None:
    if PACKAGES[ad] not in bridge.julia.status().engines:
        pytest.skip(f"there is no {PACKAGES[ad]}")
    code = "x -> (y = zeros(3); for i in 1:3; y[i] = try; log(x[i]); catch; 0.0; end; end; sum(y))"
    with pytest.raises(JuliaError, match=r'let ad="auto" try one engine after another') as caught:
        bridge.grad(bridge.julia.function(code, ad=ad))(X)
    assert ad == "mooncake" or "zeros(eltype(x), n)" in str(caught.value)
    with pytest.raises(JuliaError, match="of its own") as caught:
        bridge.grad(bridge.julia.function('x -> error("of its own")', ad=ad))(X)
    assert "ad=" not in str(caught.value)


def test_a_type_that_refers_to_itself_is_refused_before_the_stack_overflows() -> None:
    """Mooncake derives tangent types without end for such a type, and the overflow ended the Python process."""
    if "Mooncake" not in bridge.julia.status().engines:
        pytest.skip("there is no Mooncake")
    code = """
        mutable struct ChoosingLink
            value::Float64
            next::Union{Nothing,ChoosingLink}
        end
        function choosing_links(x, writes)
            y = writes ? (z = copy(x); z[1] *= 2; z) : x
            link = ChoosingLink(y[1], ChoosingLink(y[2], nothing))
            return link.value * link.next.value
        end
    """
    function = bridge.julia.function(code, ad="mooncake")
    for _ in range(2):
        with pytest.raises(JuliaError) as caught:
            bridge.grad(function)(X, True)
        assert re.search(
            r"raised: RecursiveType: Mooncake cannot differentiate choosing_links: the type \S*ChoosingLink refers to "
            r"itself \(\S*ChoosingLink\.next::Union\{Nothing, \S*ChoosingLink\}\)",
            str(caught.value),
        )
        assert caught.value.remedy is not None
        assert 'ask for ad="zygote", or keep the elements in arrays' in caught.value.remedy
    np.testing.assert_allclose(bridge.grad(bridge.julia.function(code))(X, False), [2.0, 1.0, 0.0])
    with pytest.raises(JuliaError, match="Mooncake refused: RecursiveType: Mooncake cannot differentiate choosing_li"):
        bridge.grad(bridge.julia.function(code))(X, True)
