"""A check that has checked nothing fails: engines that were asked for and refuse, no elements, no number to compare."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.cli import commands as cli
from bridge.errors import ArgumentError, CheckError, EscapeError
from bridge.extend import MUTATING, RULES, Case, mutating_rule, rule
from bridge.proof.report import text
from bridge.proof.report.json_form import from_json
from bridge.proof.report.model import Report
from bridge.rulebook import book

HAS_JAX = importlib.util.find_spec("jax") is not None
needs_jax = pytest.mark.skipif(not HAS_JAX, reason="JAX is not installed (pip install jax)")
X = np.arange(1.0, 5.0)


def smooth(x):
    return np.sum(np.sin(x) * x)


def native_refuses(x):
    a = np.zeros(4, int)
    a[:] = x
    return np.sum(x**2) + 0 * np.sum(a)


def xla_refuses(x):
    return np.sum(np.unique(x) ** 2)


def noisy(x):
    return np.sum(np.sin(1e17 * x))


def half_noisy(x, y):
    return np.sum(x**2) + np.sum(np.sin(1e17 * y))


@pytest.fixture(autouse=True)
def no_julia(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from bridge.engines.julia import ENGINE as JULIA

    monkeypatch.setattr(JULIA, "missing", lambda: "no Julia is set up: bridge.julia.setup()")
    book.read_book()
    rules, mutating = dict(RULES), dict(MUTATING)
    yield
    for registry, before in ((RULES, rules), (MUTATING, mutating)):
        registry.clear()
        registry.update(before)


@dataclass(frozen=True)
class Checked:
    """A cross-check, whether it is a success, and what its verdict says."""

    program: Callable[..., Any]
    args: tuple[Any, ...]
    ok: bool
    says: str
    engines: Any = None
    options: tuple[tuple[str, Any], ...] = ()


NAN, EMPTY = np.full(3, np.nan), np.zeros(0)
BOTH = ("native", "xla")
RECORDS = {
    "asked for by name, and refused": Checked(native_refuses, (X,), False, "native gave no answer (refused)", BOTH),
    "in another order": Checked(native_refuses, (X,), False, "native gave no answer (refused)", ["xla", "native"]),
    "alone": Checked(native_refuses, (X,), False, "nothing was compared", "native"),
    "by all": Checked(native_refuses, (X,), False, "native gave no answer (refused); jax", ("native", "jax")),
    "compiled": Checked(xla_refuses, (X,), False, "xla gave no answer (refused); numpy, native", BOTH),
    "compiled, not asked for": Checked(xla_refuses, (X,), True, "numpy, native, jax, complex step agree"),
    "the first of all engines": Checked(native_refuses, (X,), False, "native gave no answer (refused)"),
    "who can was asked": Checked(native_refuses, (X,), True, "numpy, xla, complex step agree", ("xla",)),
    "not installed": Checked(smooth, (X,), False, "julia gave no answer (not available)", ("native", "julia")),
    "not installed, not asked for": Checked(smooth, (X,), True, "agree"),
    "too late": Checked(smooth, (X,), False, "jax gave no answer", ("native", "jax"), (("seconds", 0.0),)),
    "too late, not asked for": Checked(smooth, (X,), True, "numpy, native, complex", None, (("seconds", 0),)),
    "no engine": Checked(smooth, (X,), False, "nothing was compared", ()),
    "no element": Checked(smooth, (EMPTY,), False, "nothing was compared with a gradient by native, xla", BOTH),
    "no element beside some": Checked(lambda x, y: np.sum(x) + np.sum(y), (X, EMPTY), True, "agree", BOTH),
    "no number": Checked(smooth, (NAN,), False, "nothing was compared with a gradient by native, xla", BOTH),
    "no number in a gradient": Checked(lambda x: np.sum(x * np.nan), (X,), False, "nothing was compared", BOTH),
    "a number beside NaN": Checked(lambda x: np.sum(np.log(x)), (np.array([-1.0, 2.0]),), True, "agree", "native"),
    "noise": Checked(noisy, (X,), False, "nothing was compared with a gradient by native", "native"),
    "noise by one argument": Checked(half_noisy, (X, X), False, "nothing was compared with a grad", "native"),
    "noise, two engines": Checked(half_noisy, (X, X), True, "agree", BOTH),
    "no differences": Checked(smooth, (X,), True, "agree, beside no differences", "native", (("fd", False),)),
    "no differences, no element": Checked(smooth, (EMPTY,), False, "nothing", "native", (("fd", False),)),
    "all kinks": Checked(lambda x: np.sum(np.abs(x)), (np.zeros(3),), True, "agree", "native"),
    "infinite slopes": Checked(lambda x: np.sum(np.sqrt(x)), (np.zeros(3),), True, "agree", "native"),
    "a constant": Checked(lambda x: 3.0, (X,), True, "agree", "native"),
}


@needs_jax
@pytest.mark.parametrize("record", [pytest.param(one, id=name) for name, one in RECORDS.items()])
def test_a_cross_check_is_a_success_if_each_answer_that_was_asked_for_was_compared(record: Checked) -> None:
    report = bridge.crosscheck(record.program, record.engines, **dict(record.options))(*record.args)
    assert report.ok == record.ok, str(report)
    assert record.says in text.verdict(report)
    assert ("✓" if record.ok else "✗") == str(report)[0]
    again = from_json(report.to_json())
    assert again.ok == record.ok and again.asked == report.asked and text.verdict(again) == text.verdict(report)


@needs_jax
def test_every_way_to_look_at_a_report_shows_who_did_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    report = bridge.crosscheck(native_refuses, BOTH)(X)
    assert [run.engine for run in report.unanswered] == ["native"]
    for shown in (repr(report), str(report), report.to_html(), report._repr_html_()):
        assert "native gave no answer (refused); numpy, xla, complex step agree" in shown
        assert "refused: EscapeError: a tracked value is written" in " ".join(shown.split())
    assert '"ok": false' in report.to_json()
    assert 'class="verdict wrong"' in report.to_html() and "✗</span> refused" in report.to_html()
    assert "✗ refused" in str(report) and "native gave no answer" in repr(from_json(report.to_json()))


@needs_jax
@pytest.mark.parametrize(("engines", "status"), [("native,xla", 1), ("xla", 0), ("julia,xla", 1), (None, 1)])
def test_the_command_fails(
    engines: str | None, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["import numpy as np", "def f(x):", "    a = np.zeros(2, int)", "    a[:] = x", "    return np.sum(x**2)"]
    (tmp_path / "whole.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    named = [] if engines is None else ["--engines", engines]
    assert cli.main(["check", f"{tmp_path / 'whole.py'}:f", "--arg", "[1.0, 2.5]", *named]) == status
    assert ("gave no answer" in " ".join(capsys.readouterr().out.split())) == bool(status)


@needs_jax
def test_a_twin_that_an_engine_refuses() -> None:
    import jax.numpy as jnp

    def squares(x):
        return jnp.sum(x**2)

    assert bridge.crosscheck(squares, "xla", twin=native_refuses)(X).ok
    for engines in (BOTH, None):
        report = bridge.crosscheck(squares, engines, twin=native_refuses)(X)
        assert not report.ok and "native gave no answer" in text.verdict(report)


class Several:
    """A function with differentiators of its own, as Julia functions have them."""

    def __init__(self, f: Callable[..., Any], *others: Callable[..., Any]) -> None:
        self.f, self.others = f, others

    def __call__(self, x: Any) -> Any:
        return self.f(x)

    def differentiators(self) -> dict[str, Callable[[], Any]]:
        return {f"number {k}": (lambda one=one: one) for k, one in enumerate(self.others)}

    def remark(self, refused: dict[str, str]) -> str:
        return ""


@needs_jax
def test_a_function_with_differentiators_of_its_own() -> None:
    import jax.numpy as jnp

    for others, ok in (((smooth,), True), ((native_refuses, smooth), True), ((native_refuses,), False), ((), False)):
        assert bridge.crosscheck(Several(smooth, *others))(X).ok == ok
    assert not bridge.crosscheck(Several(noisy, noisy))(X).ok
    for twin, ok in ((lambda x: jnp.sum(jnp.sin(x) * x), True), (lambda x: x.no_such_thing, False)):
        assert bridge.crosscheck(Several(smooth, smooth), twin=twin)(X).ok == ok


def test_what_a_program_raises_is_no_report() -> None:
    with pytest.raises(EscapeError):
        bridge.grad(native_refuses)(X)
    with pytest.raises(ZeroDivisionError):
        bridge.crosscheck(lambda x: np.sum(x) / 0 + 1 // 0, "native")(X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_tolerances_that_are_none(value: float) -> None:
    for check in (
        lambda: bridge.crosscheck(smooth, rtol=value),
        lambda: bridge.crosscheck(smooth, atol=value),
        lambda: bridge.check_gradient(smooth, tolerance=value),
        lambda: bridge.check_rule(wrong_cube(), Case(None, (X,), tolerance=value)),
    ):
        with pytest.raises(ArgumentError, match="give a finite number"):
            check()


def test_a_report_without_a_run_is_no_success() -> None:
    assert not Report("f", "1.0").ok


def wrong_cube() -> Any:
    def cube(x):
        return np.asarray(x) ** 3

    return rule(cube)(lambda ct, out, x: ct * 7 * x)


def wrong_double() -> Any:
    @mutating_rule(mutates="a")
    def double(a):
        a *= 2

    double.pull(lambda ct, a: 7 * ct)
    return double


def wrong_noise() -> Any:
    def noise(x):
        return np.sin(1e17 * np.asarray(x))

    return rule(noise)(lambda ct, out, x: ct * 7 * x)


def without_pull() -> Any:
    @mutating_rule(mutates="a")
    def double(a):
        a *= 2

    return double


def no_loss(result: Any) -> float:
    return 0.0


# The rules are wrong. What they are checked at says nothing of them, or all.
UNCHECKED_RULES = [
    (wrong_cube, (EMPTY,), {}, "nothing-checked"),
    (wrong_cube, (np.zeros((3, 0)),), {}, "nothing-checked"),
    (wrong_cube, ([1.0, 2.0],), {}, "nothing-checked"),
    (wrong_cube, (), {"x": 2.0}, "nothing-checked"),
    (wrong_cube, (Case(None, (EMPTY,)),), {}, "nothing-checked"),
    (wrong_cube, (Case(None, (X,), loss=no_loss),), {}, "nothing-checked"),
    (wrong_cube, (NAN,), {}, "no-convergence"),
    (wrong_cube, (np.full(3, np.inf),), {}, "no-convergence"),
    (wrong_cube, (np.arange(3),), {}, "pull-raises"),
    (wrong_noise, (X,), {}, "no-convergence"),
    (wrong_double, (EMPTY,), {}, "nothing-checked"),
    (wrong_double, (np.arange(3),), {}, "nothing-checked"),
    (wrong_double, (X,), {}, "wrong-gradient"),
    (without_pull, (X,), {}, "no-pull"),
]


@pytest.mark.parametrize(("build", "args", "kwargs", "code"), UNCHECKED_RULES)
def test_a_rule_of_which_nothing_was_proved_fails(build: Any, args: Any, kwargs: Any, code: str) -> None:
    with pytest.raises(CheckError) as caught:
        bridge.check_rule(build(), *args, **kwargs)
    assert code in caught.value.report.codes and not caught.value.report.ok


def test_an_empty_case_beside_others_is_noted() -> None:
    report = bridge.check_rule(np.tanh, Case(np.tanh, (EMPTY,)))
    assert report.ok and any("other cases of the rule prove its gradient" in note for note in report.notes)


UNCHECKED_GRADIENTS = [
    (smooth, (EMPTY,), {}, CheckError, "nothing-checked"),
    (lambda x, y: np.sum(x) + np.sum(y), (EMPTY, EMPTY), {"argnums": (0, 1)}, CheckError, "nothing-checked"),
    (smooth, (NAN,), {}, CheckError, "no-convergence"),
    (lambda x: np.sum(x * np.nan), (X,), {}, CheckError, "no-convergence"),
    (noisy, (X,), {}, CheckError, "no-convergence"),
    (half_noisy, (X, X), {"argnums": (0, 1)}, CheckError, "finite differences by argument 1 do not converge"),
    (lambda x: np.sum(np.sign(x)), (np.zeros(1),), {}, CheckError, "no-convergence"),
    (smooth, (X,), {"argnums": ()}, ArgumentError, "no float or complex number"),
    (smooth, (np.arange(3),), {}, ArgumentError, "no float or complex number"),
    (lambda d: 1.0, ({},), {}, ArgumentError, "no float or complex number"),
    (lambda x, n: np.sum(x) * n, (X, 3), {"argnums": 1}, ArgumentError, "no float or complex number"),
    (smooth, (X,), {"directions": -1}, ArgumentError, "directions=-1"),
    (smooth, (X,), {"coordinates": -1}, ArgumentError, "coordinates=-1"),
]


@pytest.mark.parametrize(("f", "args", "options", "error", "says"), UNCHECKED_GRADIENTS)
def test_a_gradient_of_which_nothing_was_proved_fails(f: Any, args: Any, options: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        bridge.check_gradient(f, **options)(*args)


def test_without_random_directions_one_is_left() -> None:
    wrong = wrong_cube()
    with pytest.raises(CheckError, match="wrong-gradient"):
        bridge.check_gradient(lambda x: np.sum(wrong(x)), directions=0, coordinates=0)(X)


def test_a_derivative_that_is_a_number_in_one_mode_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.proof.programs import check_gradient

    monkeypatch.setattr(check_gradient, "jvp", lambda *args: (0.0, np.nan))
    with pytest.raises(CheckError, match="forward-mode"):
        bridge.check_gradient(smooth)(X)
