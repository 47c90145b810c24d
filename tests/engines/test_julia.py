"""The engine "julia": the gradients of the rule book, from ChainRules and Zygote, or an error that says why not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.engines.julia import engine as julia
from bridge.engines.julia import forward_by_pulls
from bridge.engines.julia.engine import entries
from bridge.engines.julia.rules import JuliaRule
from bridge.errors import ArgumentError, NoRuleError, RefusedError, RuleError
from bridge.extend import RULES, Case, rule
from bridge.rulebook.rule import Rule
from tests.engines.julia_comparison.comparison import of_case
from tests.helpers.julia_process import ROOT, environment

pytestmark = pytest.mark.julia

X = np.array([[0.3, -1.2, 0.7], [1.1, 0.4, -0.5], [-0.9, 0.8, 0.2]])

# Rules of NumPy functions that the table has no entry for.
WITHOUT_ENTRY = {"bridge.rules.gamma_quantiles.gamma_moved", "bridge.rules.gamma_quantiles.gamma_slope"}
WITHOUT_ENTRIES = ("np.lib.scimath.", "np.polynomial.")
"""Modules whose functions have none: `np.emath`, and the series of polynomials."""
# Recorded programs that use one of them, or a function of SciPy or of Python's `math`.
PROGRAMS_WITHOUT_ENTRY = 8

# Its matrix has rank one: LAPACK's builds choose other vectors of its null space, and the engine refuses by name.
ANOTHER_BASIS = "l04-sum-singular-values-rank-one: ValueDiffersError"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What `python -m tests.engines.julia_comparison` reports; all parts run at the same time, interpreted."""
    variables = environment(tmp_path_factory.mktemp("homes"), PYTHON_JULIACALL_COMPILE="min")
    running = {
        what: subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.engines.julia_comparison", what],
            cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for what in ("cases", "programs", "forward")
    }  # fmt: skip
    yield _Answers(running)
    for process in running.values():
        process.kill()
        process.communicate()


class _Answers(dict[str, Any]):
    """Waits for a process when its answer is asked."""

    def __init__(self, running: dict[str, subprocess.Popen[str]]) -> None:
        self.running = running

    def __missing__(self, what: str) -> Any:
        printed, complaints = self.running[what].communicate(timeout=900)
        assert self.running[what].returncode == 0, complaints[-2000:]
        self[what] = json.loads(printed.splitlines()[-1])
        return self[what]


def test_pulls_and_values_agree_on_the_cases_of_the_rules(compared: Any) -> None:
    found = compared["cases"]
    assert not found["failures"], "\n".join(found["failures"])
    print(f"{sum(found['agree'].values())} cases of {len(found['agree'])} functions agree in {found['seconds']:.0f} s")
    print(f"without an entry: {len(found['without_rule'])} functions; not as called: {found['partly']}")
    asked = [name for name in found["without_rule"] if not name.startswith(WITHOUT_ENTRIES)]
    missing = {name for name in asked if name.startswith("np.") or name in WITHOUT_ENTRY}
    assert missing == WITHOUT_ENTRY
    assert len(found["agree"]) > 310
    assert sum(found["partly"].values()) < 30


def test_every_entry_was_compared(compared: Any) -> None:
    # A page of the docs loads a table of its own, for the functions of a module that it makes.
    own = {name for name in entries() if not name.startswith("activations.")}
    assert sorted(own - set(compared["cases"]["agree"])) == []


def test_recorded_programs_have_the_same_gradients(compared: Any) -> None:
    found = compared["programs"]
    failures = [text for text in found["failures"] if not text.startswith(ANOTHER_BASIS)]
    assert not failures, "\n".join(failures)
    print(f"{sum(found['agree'].values())} programs agree in {found['seconds']:.0f} s; without rule: {found['partly']}")
    assert sum(found["agree"].values()) > 220
    assert sum(found["partly"].values()) <= PROGRAMS_WITHOUT_ENTRY


def test_forward_mode_is_reverse_mode_and_the_rule_books(compared: Any) -> None:
    found = compared["forward"]
    assert not found["failures"], "\n".join(found["failures"])
    print(f"{sum(found['agree'].values())} cases of {len(found['agree'])} functions agree in {found['seconds']:.0f} s")
    print(f"not as called: {found['partly']}")
    assert found["by_pulls"] == {}
    assert len(found["agree"]) > 210
    # None that has a pull lacks it: what is not there is linear, whose tangents are the core's, or a composition.
    pushed = {name for name in compared["cases"]["agree"] if _is_pushed(name)}
    assert sorted(pushed - set(found["agree"])) == []


def _is_pushed(name: str) -> bool:
    return any(
        isinstance(julia.ENGINE.started().rule(native.function, native), JuliaRule) and not native.linear
        for native in RULES.values()
        if native.name == name
    )


def test_an_order_without_a_derivative_is_refused_by_name() -> None:
    special = pytest.importorskip("scipy.special", reason="SciPy is not installed")
    expected = bridge.grad(lambda z: special.jv(0.7, z))(1.3)
    assert np.isclose(bridge.grad(lambda z: special.jv(0.7, z), engine="julia")(1.3), expected, rtol=1e-12)
    with pytest.raises(NoRuleError, match=r"scipy\.special\.jv with respect to its argument number 0") as raised:
        bridge.grad(lambda v: special.jv(v, 1.3), engine="julia")(0.7)
    assert "detach that argument" in str(raised.value)
    with pytest.raises(NoRuleError, match="argument number 0"):
        bridge.jvp(lambda v: special.jv(v, 1.3), (0.7,), (1.0,), engine="julia")


EQUAL = np.diag([1.0, 1.0, 2.0])
NO_ENTRY_FOR = {
    "eig of equal values": (lambda a: np.sum(np.linalg.eig(a)[1]), EQUAL, "two of which are equal"),
    "qr of a singular matrix": (lambda a: np.sum(np.linalg.qr(a)[1]), np.ones((2, 2)), "full rank"),
    "qr, complete": (lambda a: np.sum(np.linalg.qr(a, "complete")[0]), np.ones((3, 1)), 'mode="complete" adds'),
    "poly of a matrix": (lambda a: np.sum(np.poly(a)), EQUAL, "not for a matrix"),
    "roots at 0": (lambda p: np.sum(np.roots(p)), np.array([1.0, -3.0, 2.0, 0.0]), "polynomial that ends in zeros"),
    "histogram by number": (
        lambda w: np.sum(np.histogram(np.arange(3.0), 2, weights=w)[0]), np.ones(3), "edges that are given",
    ),
    "insert by a mask": (lambda x: np.sum(np.insert(x, np.array([True, False]), 0.0)), X[0, :2], "not for a mask"),
}  # fmt: skip


@pytest.mark.parametrize(("f", "x", "why"), NO_ENTRY_FOR.values(), ids=NO_ENTRY_FOR)
def test_what_an_entry_does_not_cover_is_refused_by_name(f: Any, x: Any, why: str) -> None:
    with pytest.raises(NoRuleError) as raised:
        bridge.grad(f, engine="julia")(x)
    assert why in str(raised.value)


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["all-cases", "all-forward"])
def test_all_cases_of_the_rules_agree(tmp_path: Path, what: str) -> None:
    variables = environment(tmp_path, PYTHON_JULIACALL_COMPILE="min")
    command = [sys.executable, "-W", "ignore", "-m", "tests.engines.julia_comparison", what]
    completed = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    assert json.loads(completed.stdout.splitlines()[-1])["failures"] == []


def smooth(x: Any) -> Any:
    """An operation of this file: the table has no entry for it but those that tests plant."""
    return np.tanh(x) @ np.diag(np.arange(1.0, x.shape[-1] + 1))


@rule(smooth)
def smooth_rule(ct: Any, out: Any, x: Any) -> Any:
    return (ct @ np.diag(np.arange(1.0, x.shape[-1] + 1))) * (1 - np.tanh(x) ** 2)


# The rule is there for the tests of this file alone.
RULES.pop(smooth)


@pytest.fixture(autouse=True)
def rule_of_this_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, smooth, smooth_rule)


NAME = f"{__name__}.smooth"
RIGHT = "tanh.(x) .* (1:size(x, 1))"
CASE = Case(smooth, (X,))


def planted(folder: Path, body: str, more: str = "") -> Rule:
    """The engine's rule of `smooth` once a table says that it is `body`."""
    path = folder / f"planted_{abs(hash(body + more))}.jl"
    path.write_text(f"{more}\n@numpy {NAME}(x) = {body}\n", encoding="utf-8")
    julia.load_rules(path)
    found = julia.ENGINE.rule(smooth, RULES[smooth])
    assert found is not None
    return found


def test_an_entry_of_the_user_is_used(tmp_path: Path) -> None:
    assert of_case(planted(tmp_path, RIGHT), RULES[smooth], CASE) is None
    expected = bridge.grad(lambda x: np.sum(smooth_rule(x) ** 2), engine="native")(X)
    found = bridge.grad(lambda x: np.sum(smooth_rule(x) ** 2), engine="julia")(X)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_planted_wrong_values_are_found(tmp_path: Path) -> None:
    wrong = {
        "another value": "tanh.(x) .* (2:size(x, 1) + 1)",
        "axes as in NumPy": "tanh.(x) .* transpose(1:size(x, 1))",
        "nearly right": "tanh.(x) .* (1:size(x, 1)) .* (1 + 1e-9)",
        "another shape": "vec(tanh.(x) .* (1:size(x, 1)))",
        "nothing of it": "zero(x)",
    }
    for what, body in wrong.items():
        with pytest.raises(RuleError, match=r"the Julia function that the table names|the value has shape"):
            of_case(planted(tmp_path, body), RULES[smooth], CASE)
            pytest.fail(what)


def test_a_planted_wrong_gradient_is_found(tmp_path: Path) -> None:
    own = """
    slanted(x) = tanh.(x) .* (1:size(x, 1))
    function ChainRulesCore.rrule(::typeof(slanted), x)
        return slanted(x), ct -> (NoTangent(), 1.0001 .* ct .* (1:size(x, 1)) .* (1 .- tanh.(x) .^ 2))
    end
    """
    assert "is not" in str(of_case(planted(tmp_path, "slanted(x)", own), RULES[smooth], CASE))


def test_values_are_compared_only_where_that_is_asked(tmp_path: Path) -> None:
    planted(tmp_path, "tanh.(x) .* (1:size(x, 1)) .+ 1")
    slope = bridge.grad(lambda x: np.sum(smooth_rule(x)), engine="julia")
    expected = bridge.grad(lambda x: np.sum(smooth_rule(x)), engine="native")(X)
    np.testing.assert_allclose(slope(X), expected)
    with julia.checked_values(), pytest.raises(RuleError) as caught:
        slope(X)
    assert f"names for {NAME} gives" in str(caught.value) and "and NumPy gives" in str(caught.value)
    assert "test_julia.py" in str(caught.value)


def test_a_table_that_does_not_load_says_why(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="there is no file"):
        julia.load_rules(tmp_path / "none.jl")
    path = tmp_path / "broken.jl"
    path.write_text("@numpy np.tanh(x = tanh\n", encoding="utf-8")
    with pytest.raises(RuleError, match=r"broken\.jl is no table of Julia functions"):
        julia.load_rules(path)
    assert bridge.grad(lambda x: np.sum(np.tanh(x)), engine="julia")(np.zeros(2)).tolist() == [1.0, 1.0]


def test_what_has_no_entry_is_named() -> None:
    special = pytest.importorskip("scipy.special", reason="SciPy is not installed")
    with pytest.raises(NoRuleError) as caught:
        bridge.grad(lambda x: np.sum(special.gammainc(2.0, x)), engine="julia")(X)
    message = str(caught.value)
    assert "engine='julia' has no rule for scipy.special.gammainc" in message
    assert 'use engine="native", which has one' in message and "load_rules" in message
    assert "test_julia.py" in message


def test_a_keyword_that_an_entry_does_not_know_is_named() -> None:
    with pytest.raises(NoRuleError, match=r"no rule for np\.linalg\.pinv with rcond="):
        bridge.grad(lambda x: np.sum(np.linalg.pinv(x, rcond=1e-3)), engine="julia")(X)


def test_a_call_that_chainrules_does_not_cover_is_named() -> None:
    with pytest.raises(NoRuleError, match="vectors of a complex matrix"):
        bridge.grad(lambda x: np.sum(np.abs(np.linalg.svd(x)[0] * 2)), engine="julia")(X + 1j)


def test_a_dtype_that_julia_lacks_is_named() -> None:
    with pytest.raises(NoRuleError, match="has no arrays of dtype"):
        bridge.grad(lambda x: np.sum(np.tanh(x)), engine="julia")(np.ones(2, np.longdouble))


def test_half_precision_stays_half() -> None:
    found = bridge.grad(lambda x: np.sum(np.exp(x)), engine="julia")(np.zeros(2, np.float16))
    assert found.dtype == np.float16 and found.tolist() == [1.0, 1.0]


def heat(u: Any) -> Any:
    u = u.copy()
    for _ in range(3):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * np.tanh(u[1:-1])
    return np.sum(u**2)


def test_mutation_is_the_cores_and_pulls_may_repeat() -> None:
    u = np.linspace(-1.0, 2.0, 6)
    value, pull = bridge.vjp(heat, u, engine="julia")
    assert value == heat(u)
    first, second = pull(1.0)[0], pull(1.0)[0]
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, bridge.grad(heat, engine="native")(u), rtol=1e-12)


def test_forward_mode() -> None:
    u, du = np.linspace(-1.0, 2.0, 6), np.cos(np.arange(6.0))
    expected = bridge.jvp(heat, (u,), (du,), engine="native")
    np.testing.assert_allclose(bridge.jvp(heat, (u,), (du,), engine="julia"), expected, rtol=1e-12)

    def complex_product(z: Any) -> Any:
        return (z * z) @ z

    z, dz = X + 1j * X.T, X.T - 2j * X
    expected = bridge.jvp(complex_product, (z,), (dz,), engine="native")
    for f, e in zip(bridge.jvp(complex_product, (z,), (dz,), engine="julia"), expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-12)


def test_forward_mode_of_an_operation_with_parameters() -> None:
    def f(x: Any) -> Any:
        return np.cumprod(x, axis=1)

    expected = bridge.jvp(f, (X,), (X.T,), engine="native")
    np.testing.assert_allclose(bridge.jvp(f, (X,), (X.T,), engine="julia"), expected, rtol=1e-12)


FORWARD = {
    "sine": lambda x: np.sum(np.sin(x) * x),
    "running product": lambda x: np.cumprod(1 + x / 1000),
    "sorted": lambda x: np.sort(x) ** 2,
    "largest of two that are equal": lambda x: np.max(np.concatenate([x, x])),
    "deviation": np.std,
    "solution": lambda x: np.linalg.solve(np.reshape(x, (20, 20)) + 20 * np.eye(20), np.ones(20)),
    "singular vectors": lambda x: np.linalg.svd(np.reshape(x, (20, 20)))[0] ** 2,
}


@pytest.mark.parametrize("f", FORWARD.values(), ids=FORWARD)
def test_forward_mode_of_many_elements_takes_one_run(f: Any) -> None:
    rng = np.random.default_rng(3)
    x, dx = rng.standard_normal(400), rng.standard_normal(400)
    before = forward_by_pulls()
    expected, found = (bridge.jvp(f, (x,), (dx,), engine=engine) for engine in ("native", "julia"))
    for e, g in zip(expected, found, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-8, atol=1e-10)
    assert forward_by_pulls() == before


def test_what_takes_no_dual_numbers_is_pushed_by_its_pull(tmp_path: Path) -> None:
    rule = planted(tmp_path, "plain(x)", "plain(x::Array{Float64}) = tanh.(x) .* (1:size(x, 1))")
    found = bridge.jvp(smooth_rule, (X,), (X.T,), engine="julia")
    np.testing.assert_allclose(found, bridge.jvp(smooth_rule, (X,), (X.T,), engine="native"), rtol=1e-12)
    assert forward_by_pulls()[rule.name].startswith("dual numbers do not get through: MethodError")
    assert of_case(rule, RULES[smooth], CASE) is None
    many = np.linspace(0, 1, 3000).reshape(1000, 3)
    with pytest.raises(
        NoRuleError, match=r"in forward mode, with 3000 elements: dual numbers do not get through"
    ) as raised:
        bridge.jvp(smooth_rule, (many,), (many,), engine="julia")
    assert "one pull for each of 2048 elements at most" in str(raised.value)


def test_the_frule_of_the_page_is_used(tmp_path: Path) -> None:
    from bridge.arrays.dispatch import call

    def gentle(x: Any) -> Any:
        return x / (1 + x**2)

    gentle.__module__, gentle.__qualname__ = "mymodule", "gentle"
    page = (ROOT / "docs" / "julia.md").read_text(encoding="utf-8")
    (block,) = [text.split("```")[0] for text in page.split("```julia\n")[1:] if "by_frule" in text.split("```")[0]]
    (tmp_path / "gentle.jl").write_text(block, encoding="utf-8")
    julia.load_rules(tmp_path / "gentle.jl")
    x, dx = np.linspace(-1, 2, 3000), np.cos(np.arange(3000.0))
    found = bridge.jvp(lambda x: call(gentle, (x,), {}), (x,), (dx,), engine="julia")[1]
    np.testing.assert_allclose(found, bridge.jvp(gentle, (x,), (dx,), engine="native")[1], rtol=1e-12)
    assert "mymodule.gentle" not in forward_by_pulls()


@pytest.mark.parametrize("scale", ["1.0001", "(abs(x[1, 2] - 1.1) < 1e-9 ? 2 : 1)"], ids=["everywhere", "at one point"])
def test_planted_wrong_dual_numbers_are_found(tmp_path: Path, scale: str) -> None:
    # A rule of forward mode that differs from the pull, if only at one point, is not believed.
    own = f"""
    leaning(x) = tanh.(x) .* (1:size(x, 1))
    function leaning(x::MovingArray)
        value = leaning(at_rest(x))
        return joined_with(value, {scale} .* along_of(x) .* (1:size(x, 1)) .* (1 .- tanh.(at_rest(x)) .^ 2))
    end
    """
    rule = planted(tmp_path, "leaning(x)", own)
    found = bridge.jvp(smooth_rule, (X,), (X.T,), engine="julia")
    np.testing.assert_allclose(found, bridge.jvp(smooth_rule, (X,), (X.T,), engine="native"), rtol=1e-12)
    assert forward_by_pulls()[rule.name] == "dual numbers and the pull do not agree to rounding"
    many = np.where(np.ones((1000, 3)), 1.1, 0)
    with pytest.raises(NoRuleError, match="dual numbers and the pull do not agree"):
        bridge.jvp(smooth_rule, (many,), (many,), engine="julia")


def test_a_cross_check_has_forward_mode_of_large_programs() -> None:
    report = bridge.crosscheck(lambda x: np.sum(np.cumprod(1 + np.sin(x) / 1000)), engines=("native", "julia"))(
        np.linspace(0, 1, 600)
    )
    assert report.ok and "forward mode" not in str(report), report


def test_a_cotangent_of_another_shape_is_an_error(tmp_path: Path) -> None:
    own = """
    turned(x) = tanh.(x) .* (1:size(x, 1))
    ChainRulesCore.rrule(::typeof(turned), x) = turned(x), ct -> (NoTangent(), vec(ct))
    """
    with pytest.raises(RuleError, match=r"a cotangent has shape \(9,\) for an input of shape \(3, 3\)"):
        of_case(planted(tmp_path, "turned(x)", own), RULES[smooth], CASE)


def test_jacobians_and_hessians() -> None:
    def f(x: Any) -> Any:
        return np.tanh(x) * np.roll(x, 1)

    x = X[0]
    expected = bridge.jacrev(f, engine="native")(x)
    np.testing.assert_allclose(bridge.jacrev(f, engine="julia")(x), expected, rtol=1e-12)
    np.testing.assert_allclose(bridge.jacfwd(f, engine="julia")(x), expected, rtol=1e-12)

    def loss(x: Any) -> Any:
        return np.sum(f(x) ** 2)

    np.testing.assert_allclose(
        bridge.hessian(loss, engine="julia")(x), bridge.hessian(loss, engine="native")(x), rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(
        bridge.hvp(loss, (x,), (x,), engine="julia"), bridge.hvp(loss, (x,), (x,), engine="native"), rtol=1e-10
    )


def test_a_pull_of_julia_is_not_differentiated_again() -> None:
    inner = bridge.grad(lambda x: np.sum(x**3), engine="julia")
    with pytest.raises(RefusedError) as caught:
        bridge.grad(lambda x: np.sum(inner(x)))(X)
    assert 'use engine="native" for the inner derivative' in str(caught.value)
    found = bridge.grad(lambda x: np.sum(bridge.grad(lambda y: np.sum(y**3))(x)), engine="julia")(X)
    np.testing.assert_allclose(found, 6 * X, rtol=1e-12)


def test_absent_cotangents_stay_absent() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.log(x), x))

    with np.errstate(all="ignore"):
        assert bridge.grad(f, engine="julia")(np.array([0.0, 2.0])).tolist() == [1.0, 0.5]
        assert np.isnan(bridge.grad(f, engine="julia", zeros="ieee")(np.array([0.0, 2.0]))[0])


def test_auto_asks_julia_where_the_rule_book_has_nothing(tmp_path: Path) -> None:
    from bridge.arrays.dispatch import call

    def cubes(x: Any) -> Any:
        return x**3

    cubes.__module__, cubes.__name__ = "elsewhere", "cubes"
    with pytest.raises(NoRuleError, match=r"nobody has a rule for elsewhere\.cubes"):
        bridge.grad(lambda x: np.sum(call(cubes, (x,), {})))(X)
    path = tmp_path / "elsewhere.jl"
    path.write_text("@elementwise elsewhere.cubes(x) = x^3\n", encoding="utf-8")
    julia.load_rules(path)
    for engine in ("eager", "julia"):
        found = bridge.grad(lambda x: np.sum(call(cubes, (x,), {})), engine=engine)(X)
        np.testing.assert_allclose(found, 3 * X**2, rtol=1e-12)
    with pytest.raises(NoRuleError, match=r"nobody has a rule for elsewhere\.cubes"):
        bridge.grad(lambda x: np.sum(call(cubes, (x,), {})), engine="native")(X)


def test_the_text_of_the_table_names_what_julia_has_read() -> None:
    rows = julia.ENGINE.started().rows()
    assert set(entries()) == set(rows)
    assert {name: path.name for name, path in entries().items()} == {name: row.file for name, row in rows.items()}


def test_fourier_transforms_need_a_package_and_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.errors import JuliaNotAvailable
    from bridge.julia.session import Session

    def absent(self: Session, name: str) -> None:
        raise JuliaNotAvailable(f"no {name}", remedy=f"julia -e 'using Pkg; Pkg.add(\"{name}\")'")

    engine = julia.ENGINE.started()
    others = {name: row for name, row in engine._rows.items() if row.file != "fft.jl"}
    monkeypatch.setattr(Session, "require", absent)
    monkeypatch.setattr(engine, "_rows", others)
    monkeypatch.setattr(engine, "_rules", {})
    monkeypatch.setattr(engine, "_absent", {})
    with pytest.raises(NoRuleError, match=r"no rule for np\.fft\._pocketfft\.fft|no rule for np\.fft\.fft") as caught:
        bridge.grad(lambda x: np.sum(np.abs(np.fft.fft(x))), engine="julia")(X)
    assert 'Pkg.add("FFTW")' in str(caught.value)
