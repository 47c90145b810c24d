"""`bridge.crosscheck` on programs without fault: what it runs, what it says, and what it leaves alone."""

from __future__ import annotations

import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from benchmarks.crosscheck.figures import Figures, count_correct, run_all
from bridge.errors import ArgumentError
from bridge.proof.numerics.sampling import complex_step, sampled
from bridge.proof.programs.kinks import convention_of, table
from bridge.proof.subject import Subject

HAS_JAX = importlib.util.find_spec("jax") is not None
ENGINES = ("native", "jax", "xla") if HAS_JAX else ("native",)
X = np.array([0.3, -0.7, 1.1, 0.4])
A = np.array([[1.2, 0.3, -0.4], [0.2, 0.9, 0.1], [-0.3, 0.5, 1.4]])


def heat(u: Any, steps: int) -> Any:
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def filled(x: Any, out: Any = None) -> Any:
    out[...] = np.sin(x)
    x *= out
    return np.sum(x * out)


def nested(parameters: Any) -> Any:
    return {"loss": np.sum(np.tanh(parameters["w"])), "parts": (parameters["b"] * 2.0, 3)}


@pytest.mark.ci
def test_what_begins_is_told() -> None:
    told: list[str] = []
    bridge.crosscheck(heat, engines=("native",), progress=told.append)(np.linspace(0, 1, 6), 2)
    assert told == ["numpy", "finite differences", "native"]
    wrong = bridge.rule(lambda x: np.asarray(x) * 2.0)(lambda ct, out, x: ct * 3.0)
    told.clear()
    bridge.crosscheck(lambda x: np.sum(wrong(x)), engines=("native",), progress=told.append)(X)
    assert told[-2:] == ["the operation to blame under native", "a smaller input"]


def test_engines_that_were_not_asked_are_named() -> None:
    report = bridge.crosscheck(heat, engines="native")(np.linspace(0, 1, 6), 2)
    assert report.remarks[-1] == "not asked: julia, jax, xla"
    assert "not asked" not in repr(bridge.crosscheck(heat)(np.linspace(0, 1, 6), 2))


HONEST: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "stencil": (heat, (np.linspace(0, 1, 6) ** 2, 3), {}),
    "written arguments": (filled, (X,), {"out": np.zeros(4)}),
    "containers": (nested, ({"w": X, "b": A},), {}),
    "arrays out": (lambda x: x * np.sum(x), (X,), {}),
    "complex": (lambda z: np.sum(np.abs(z) ** 2 * np.real(z)), (X + 1j * X[::-1],), {}),
    "numbers": (lambda a, b: np.sin(a) * b, (0.3, 0.4), {}),
    "without axes": (lambda x: x * x, (np.array(0.4),), {}),
    "linear algebra": (lambda a: np.linalg.det(a) + np.sum(np.linalg.inv(a)), (A,), {}),
    "eigenvalues": (lambda a: np.sum(np.linalg.eigh(a + a.T)[0] ** 3), (A,), {}),
    "checkpoint": (lambda x: bridge.checkpoint(lambda y: np.sum(np.sin(y) * y))(x), (X,), {}),
    "gradient inside": (lambda x: np.sum(bridge.grad(lambda y: np.sum(np.sin(y) ** 2))(x) ** 2), (X,), {}),
    "single precision": (lambda x: np.sum(np.exp(x) * x), (X.astype(np.float32),), {}),
    "one array twice": (lambda x, y: np.sum(x * y), (X, X), {}),
    "constant": (lambda x: 3.0, (X,), {}),
}


@pytest.mark.ci
@pytest.mark.parametrize("name", list(HONEST))
def test_honest_programs_have_no_differences(name: str) -> None:
    f, args, kwargs = HONEST[name]
    report = bridge.crosscheck(f, engines=ENGINES)(*args, **kwargs)
    assert report.ok, str(report)
    assert not report.differences, str(report)
    assert all(run.status == "ran" for run in report.runs), str(report)


def test_every_engine_is_in_the_report_with_its_gradient() -> None:
    report = bridge.crosscheck(heat, engines=ENGINES)(np.linspace(0, 1, 6), 3)
    assert [run.engine for run in report.runs] == ["numpy", *ENGINES, "complex step"]
    expected = bridge.grad(heat)(np.linspace(0, 1, 6), 3)
    for run in report.runs[1:]:
        np.testing.assert_allclose(run.gradients[0], expected, rtol=1e-9, atol=1e-12)
    assert report.program == "heat"
    assert report.arguments == "float64[6], 3"
    assert report.timeline is not None
    assert len(report.timeline.operations) > 10


def test_engines_that_are_not_there_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.engines.julia import ENGINE as JULIA

    monkeypatch.setattr(JULIA, "missing", lambda: "no Julia is set up: bridge.julia.setup()")
    report = bridge.crosscheck(heat, engines=("native", "julia"))(np.linspace(0, 1, 6), 3)
    assert not report.ok
    assert [(run.status, run.why) for run in report.runs if run.engine == "julia"] == [
        ("not available", "no Julia is set up: bridge.julia.setup()")
    ]


def test_refusals_are_reported_and_a_report_without_a_gradient_is_not_ok() -> None:
    report = bridge.crosscheck(lambda x: np.sum(np.frombuffer(x.tobytes())), engines=("native",))(X)
    (run,) = [run for run in report.runs if run.engine == "native"]
    assert run.status == "refused"
    assert "EscapeError" in run.why
    assert not report.ok
    assert any("nothing was compared" in text for text in report.remarks)


def test_what_the_program_raises_is_raised() -> None:
    with pytest.raises(IndexError, match="out of bounds"):
        bridge.crosscheck(lambda x: np.sum(x[7]), engines=ENGINES)(X)


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match="engines=") as caught:
        bridge.crosscheck(heat, engines=("native", "numba"))
    assert "choose among" in str(caught.value)
    with pytest.raises(ArgumentError, match="without a float or complex argument"):
        bridge.crosscheck(lambda x: np.sum(x))(np.arange(3))


def test_the_callers_arrays_and_generators_are_left_alone() -> None:
    x, out = X.copy(), np.zeros(4)
    np.random.seed(5)
    before = np.random.get_state()
    bridge.crosscheck(lambda x, out: filled(x * np.random.uniform(), out), engines=("native",))(x, out)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(out, np.zeros(4))
    np.testing.assert_array_equal(before[1], np.random.get_state()[1])  # type: ignore[index]
    assert before[2] == np.random.get_state()[2]  # type: ignore[index]


def test_generators_that_a_function_holds_are_put_back() -> None:
    generator = np.random.default_rng(3)
    before = generator.bit_generator.state
    report = bridge.crosscheck(lambda x: np.sum(x * generator.normal(size=4)), engines=("native",))(X)
    assert report.differences[0].kind == "random"
    assert generator.bit_generator.state == before


def test_an_old_generator_that_a_function_holds_is_put_back() -> None:
    generator = np.random.RandomState(3)
    generator.normal()
    before = generator.get_state()
    bridge.crosscheck(lambda x: np.sum(x * generator.normal()), engines=("native",))(X)
    after = generator.get_state()
    assert [np.array_equal(a, b) for a, b in zip(before, after, strict=True)] == [True] * 5


def test_a_derivative_far_below_the_value_is_rounding() -> None:
    report = bridge.crosscheck(lambda x: np.expm1(x), engines=ENGINES)(np.array(-40.0))
    assert report.ok, str(report)


def test_generators_among_the_arguments_are_copied() -> None:
    generator = np.random.default_rng(3)
    report = bridge.crosscheck(lambda x, g: np.sum(x * g.normal(size=4)), engines=ENGINES)(X, generator)
    assert report.ok, str(report)
    assert generator.bit_generator.state == np.random.default_rng(3).bit_generator.state


def test_a_kink_is_remarked_on_with_its_line_and_the_convention() -> None:
    report = bridge.crosscheck(lambda x: np.sum(np.abs(x)), engines=ENGINES)(np.array([0.0, 1.0]))
    assert report.ok
    assert not report.differences
    (text,) = [text for text in report.remarks if "kink" in text]
    assert "np.absolute" in text
    assert "test_crosscheck.py" in text


def test_where_strong_and_ieee_zeros_differ_is_remarked_on() -> None:
    report = bridge.crosscheck(lambda x: np.sum(np.where(x > 0, np.sqrt(x), x)), engines=ENGINES)(np.array([-0.0, 4.0]))
    (text,) = [text for text in report.remarks if "IEEE" in text]
    assert "np.sqrt" in text
    assert "x[0]" in text


def test_a_value_that_is_not_finite_is_traced_to_its_line() -> None:
    report = bridge.crosscheck(lambda x: np.sum(np.log(x)), engines=("native",))(np.array([-1.0, 2.0]))
    assert report.ok, str(report)
    assert any("np.log" in text and "test_crosscheck.py" in text for text in report.remarks)


@pytest.mark.ci
def test_tolerances_and_differences_are_options() -> None:
    report = bridge.crosscheck(heat, engines=("native",), fd=False)(np.linspace(0, 1, 6), 2)
    assert [run.engine for run in report.runs] == ["numpy", "native"]
    with bridge_planted(np.sin, 1.0 + 1e-4):
        strict = bridge.crosscheck(lambda x: np.sum(np.sin(x)), engines=("native",))(X)
        loose = bridge.crosscheck(lambda x: np.sum(np.sin(x)), engines=("native",), rtol=1e-2)(X)
    assert (strict.ok, loose.ok) == (False, True)


def bridge_planted(function: Any, factor: float) -> Any:
    from tests.proof.planted import planted

    return planted(function, lambda c: c * factor)


@pytest.mark.parametrize("argnums", [(0, 0), (0, -2), (1, 0, 1)])
def test_an_argument_that_is_named_twice(argnums: tuple[int, ...]) -> None:
    report = bridge.crosscheck(lambda x, y: np.sum(x * x * y), engines=("native",), argnums=argnums)(X, 2 * X)
    assert report.ok, str(report)


def test_only_the_arguments_that_are_asked_for_are_differentiated() -> None:
    report = bridge.crosscheck(lambda x, y: np.sum(x * y), engines=("native",), argnums=1)(X, 2 * X)
    (run,) = [run for run in report.runs if run.engine == "native"]
    assert len(run.gradients) == 1
    np.testing.assert_array_equal(run.gradients[0], X)


@pytest.mark.ci
def test_a_small_sample_of_random_programs_raises_no_alarm() -> None:
    counted = Figures()
    run_all(20, lambda program: count_correct(program, ("native",), counted))
    assert (counted.correct, counted.alarms) == (20, 0)


def test_the_complex_step_is_taken_where_the_program_is_analytic() -> None:
    smooth = Subject(lambda x: np.sum(np.sin(x) * x), (X,), {}, None)
    exact = complex_step(smooth, sampled(smooth, 2.0**-52, 8, 0))
    assert exact is not None
    np.testing.assert_allclose(exact.gradient(smooth)[0], np.cos(X) * X + np.sin(X), rtol=1e-14)
    rough = Subject(lambda x: np.sum(np.real(x) ** 2), (X,), {}, None)
    assert complex_step(rough, sampled(rough, 2.0**-52, 8, 0)) is None


def test_the_table_of_conventions_is_read_from_its_page() -> None:
    assert len(table()) > 50
    found = convention_of("np.maximum")
    assert found is not None
    assert (found.gradient, found.section) == ("0.5", "Kinks: the mean of the subgradients")


def test_arguments_keep_their_layout_and_share_memory_as_given() -> None:
    base = np.arange(12.0)
    args = (base[::2].reshape(2, 3), base[1:7])
    subject = Subject(lambda x, y: np.sum(x), args, {}, 0)
    (first, second), _ = subject.arguments()
    assert first.strides == args[0].strides
    assert np.shares_memory(first, second) == np.shares_memory(*args)
    np.testing.assert_array_equal(first, args[0])
    assert not np.shares_memory(first, base)


@pytest.mark.ci
@pytest.mark.skipif(not HAS_JAX, reason="the page's first example runs JAX (pip install jax)")
def test_the_examples_of_the_page_give_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "crosscheck.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    code = "".join(text for language, text in blocks if language == "python")
    path = tmp_path / "page.py"
    path.write_text(code, encoding="utf-8")
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out == "".join(text for language, text in blocks if not language)


def test_import_of_bridge_does_not_load_it() -> None:
    code = "import bridge, sys; print(any(name.startswith('bridge.proof') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.ci
def test_an_engine_that_is_imported_on_the_way_does_not_move_the_generators() -> None:
    pytest.importorskip("jax")
    code = (
        "import numpy as np, bridge\n"
        "report = bridge.crosscheck(lambda x: np.sum(x * np.random.rand(3)), engines=('jax', 'xla'))(np.ones(3))\n"
        "print([one.kind for one in report.differences])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "['random']\n"


def test_without_time_the_first_engine_answers_and_no_smaller_input_is_looked_for() -> None:
    def program(x: Any) -> Any:
        y = x * 1.0
        y[1:] *= np.tanh(y[:-1])
        return np.sum(y)

    with bridge_planted(np.tanh, 1.5):
        report = bridge.crosscheck(program, seconds=0)(np.array([0.3, 0.7, 1.1]))
    assert not report.ok and report.smallest is None
    assert "the input was not made smaller: the time that was given is over" in report.remarks


def test_a_remark_is_one_line() -> None:
    """Also of an error that says where and what to do."""

    def once(x: Any) -> Any:
        return np.sin(np.asarray(x))

    ruled = bridge.rule(once, orders=1)(lambda ct, out, x: ct * np.cos(x))
    report = bridge.crosscheck(lambda x: np.sum(ruled(x)), engines=("native",))(np.ones(2))
    assert any("in forward mode: RefusedError" in text and "remedy: " in text for text in report.remarks)
    assert not any("\n" in text for text in report.remarks)
