"""Faults of every kind, planted in every engine: each is found, named at its line, and classified."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import bridge
from benchmarks.crosscheck.figures import Figures, count_wrong, run_all
from bridge.arrays.dispatch import call
from bridge.extend import MUTATING, composed, mutating_rule, nondifferentiable, rule
from bridge.proof.programs import shrinking
from bridge.proof.report.model import Difference, Report
from bridge.rewind.places import Gathered
from tests.proof.planted import MISTAKES, planted

X = np.array([0.3, -0.7, 1.1, 0.4])
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed (pip install jax)")


def program(x: Any) -> Any:
    y = np.tanh(x)  # tanh
    y[1:] *= np.sin(x[:-1])  # sin
    z = y[[0, 2, 2]]  # gather
    return np.sum(y * y) + np.sum(z)


def line_of(f: Callable[..., Any], mark: str) -> str:
    """`file:line in name` of the line of `f` that holds the comment `mark`."""
    lines, start = inspect.getsourcelines(f)
    (number,) = [start + k for k, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}")]
    return f"{inspect.getsourcefile(f)}:{number} in {f.__name__}"


def assert_found(report: Report, kind: str, engine: str, name: str, where: str | None) -> Difference:
    """The first difference is this one; the report is not ok unless the kind is harmless."""
    assert report.differences, f"nothing was found:\n{report}"
    first = report.differences[0]
    assert (first.kind, first.engines[0], first.name, first.where) == (kind, engine, name, where), str(report)
    assert report.ok == (kind in ("kink", "precision")), str(report)
    assert 0.5 <= first.confidence <= 0.99
    if where is not None:
        assert first.source
        assert first.where in str(report) or first.where.rpartition("/")[2].partition(" ")[0] in str(report)
    return first


@pytest.mark.ci
@pytest.mark.parametrize("mistake", sorted(set(MISTAKES) - {"nothing"}))
def test_a_wrong_rule_of_the_rule_book(mistake: str) -> None:
    with planted(np.tanh, MISTAKES[mistake]):
        report = bridge.crosscheck(program, engines=("native",))(X)
    first = assert_found(report, "mismatch", "native", "np.tanh", line_of(program, "tanh"))
    assert first.operation == 0
    assert first.shapes == ((4,), (4,))
    assert first.what.startswith("gradient of x")
    assert "np.tanh" in first.explanation


@pytest.mark.ci
def test_a_pull_that_gives_nothing_is_a_missing_gradient() -> None:
    with planted(np.tanh, MISTAKES["nothing"]):
        report = bridge.crosscheck(program, engines=("native",))(X)
    assert_found(report, "missing-gradient", "native", "np.tanh", line_of(program, "tanh"))


@pytest.mark.ci
def test_a_wrong_rule_inside_of_a_checkpointed_loop() -> None:
    def body(k: Any, y: Any) -> Any:
        return np.tanh(y) * 1.5  # looped

    def loops(x: Any) -> Any:
        return np.sum(bridge.fori_loop(0, 5, body, x))

    with planted(np.tanh, MISTAKES["a factor"]):
        report = bridge.crosscheck(loops, engines=("native",))(X)
    assert_found(report, "mismatch", "native", "np.tanh", line_of(body, "looped"))


def test_an_honest_program_beside_the_plants_is_fine() -> None:
    assert bridge.crosscheck(program, engines=("native",))(X).ok


@pytest.mark.ci
@needs_jax
def test_a_wrong_pull_of_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.engines.jax.rules import JaxRule

    right = JaxRule.pull

    def wrong(self: Any, ct: Any, out: Any, args: Any, kwargs: Any, wanted: Any) -> Iterator[tuple[int, Any]]:
        for number, cotangent in right(self, ct, out, args, kwargs, wanted):
            yield number, cotangent * 1.5 if self.name == "np.sin" else cotangent

    monkeypatch.setattr(JaxRule, "pull", wrong)
    report = bridge.crosscheck(program, engines=("native", "jax"))(X)
    assert_found(report, "mismatch", "jax", "np.sin", line_of(program, "sin"))
    assert {one.engines[0] for one in report.differences} == {"jax"}


@contextmanager
def lowered(name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Inside, XLA computes `name` by another function."""
    from bridge.xla.lowering.register import ENTRIES, Lowering

    before = ENTRIES.get(name)
    ENTRIES[name] = Lowering(function)
    try:
        yield
    finally:
        if before is None:
            del ENTRIES[name]
        else:
            ENTRIES[name] = before


@pytest.mark.ci
@needs_jax
def test_a_wrong_value_under_xla_is_found_before_gradients() -> None:
    def sines(x: Any) -> Any:
        y = np.sin(x)  # sines
        return np.sum(y * x)

    with lowered("np.sin", lambda x: x - x**3 / 6):
        report = bridge.crosscheck(sines, engines=("native", "xla"))(X)
    first = assert_found(report, "primal", "xla", "np.sin", line_of(sines, "sines"))
    assert first.what == "value"
    assert len(report.differences) == 1


@pytest.mark.ci
@needs_jax
def test_a_wrong_gradient_under_xla_is_localised_by_compiling_its_operations() -> None:
    def turned(x: Any) -> Any:
        y = np.sin(x)  # turned
        return np.sum(y * x)

    with lowered("np.cos", lambda x: 1 - x * x / 2):
        report = bridge.crosscheck(turned, engines=("native", "xla"))(X)
    assert_found(report, "mismatch", "xla", "np.sin", line_of(turned, "turned"))


@pytest.mark.ci
@needs_jax
def test_a_function_that_jax_computes_otherwise_is_a_primal_difference() -> None:
    from bridge.engines.jax import programs

    def squares(x: Any) -> Any:
        y = np.square(x)  # squares
        return np.sum(y * x)

    programs.program_of.cache_clear()
    with lowered("np.square", lambda x: x * x * 1.01):
        report = bridge.crosscheck(squares, engines=("native", "jax"))(X)
    programs.program_of.cache_clear()
    first = assert_found(report, "primal", "jax", "np.square", line_of(squares, "squares"))
    assert "JAX computes np.square" in first.explanation


@pytest.mark.ci
def test_a_rule_taken_from_another_function_is_a_primal_difference() -> None:
    def clipped(x: Any) -> Any:
        return np.minimum(x, 0.5) * x

    @composed(clipped)
    def equivalent(x: Any) -> Any:
        return np.minimum(x, 0.4) * x

    made = rule_of(clipped)

    def calls(x: Any) -> Any:
        return np.sum(made(x) * x)  # composed

    report = bridge.crosscheck(calls, engines=("native",))(X)
    first = assert_found(report, "primal", "native", made.name, line_of(calls, "composed"))
    assert "the composition" in first.explanation


def rule_of(function: Any) -> Any:
    from bridge.extend import RULES

    return RULES[function]


def test_a_program_that_asks_what_it_got_is_a_primal_difference() -> None:
    def asks(x: Any) -> Any:
        factor = 3.0
        if not hasattr(x, "place"):  # asks
            factor = 2.0
        return np.sum(x * factor)

    report = bridge.crosscheck(asks, engines=("native",))(X)
    first = assert_found(report, "primal", "native", "control flow", line_of(asks, "asks"))
    assert first.what == "value"


@pytest.mark.ci
def test_a_dropped_index(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_repeats(self: Any, ct: Any) -> None:
        self.parent.region()[self.key] += self._conform(ct)

    monkeypatch.setattr(Gathered, "accumulate", without_repeats)
    report = bridge.crosscheck(program, engines=("native",))(X)
    assert_found(report, "index", "native", "getitem", line_of(program, "gather"))


def test_a_rule_that_is_nan_at_zero() -> None:
    def squares(x: Any) -> Any:
        y = np.square(x)  # nan at zero
        return np.sum(np.where(x > 1, y, y * 2.0))

    with planted(np.square, lambda c: np.where(c == 0, np.nan, c)):
        report = bridge.crosscheck(squares, engines=("native",))(np.array([0.0, 4.0]))
    first = assert_found(report, "nan", "native", "np.square", line_of(squares, "nan at zero"))
    assert first.found == "nan"
    assert first.what == "gradient of x[0]"


def updates(x: Any) -> Any:
    y = np.zeros_like(x)
    np.add.at(y, [0, 1, 1, 2], np.sin(x))  # scatter
    y[[3, 3]] = x[:2] * x[:2]  # last write stays
    np.multiply(y, x, out=y, where=x > 0)  # masked
    y[1:3] -= 0.5 * x[:2]
    scaled(y)  # mutating
    return np.sum(y * y)


@mutating_rule(mutates="a")
def scaled(a: Any) -> None:
    a *= 2.0


@scaled.pull
def _(ct: Any, a: Any) -> Any:
    return 2.0 * ct


MUTATING.pop(scaled.function)  # not of the rule book


def test_updates_in_place_are_proved() -> None:
    assert bridge.crosscheck(updates, engines=("native",))(X).ok


@pytest.mark.ci
def test_a_wrong_mutating_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaled, "pull_function", lambda ct, a: 3.0 * ct)
    report = bridge.crosscheck(updates, engines=("native",))(X)
    assert_found(report, "mismatch", "native", scaled.name, line_of(updates, "mutating"))


@pytest.mark.ci
def test_a_scatter_that_takes_the_wrong_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.rewind.writes import Scatter

    monkeypatch.setattr(Scatter, "pull", lambda self, ct: ((self.source, -ct),))
    report = bridge.crosscheck(updates, engines=("native",))(X)
    assert_found(report, "index", "native", "np.add.at", line_of(updates, "scatter"))


@pytest.mark.ci
def test_an_overwritten_element_that_keeps_its_cotangent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gathered, "take", lambda self: self.peek())
    report = bridge.crosscheck(updates, engines=("native",))(X)
    assert_found(report, "index", "native", "setitem", line_of(updates, "last write stays"))


@pytest.mark.ci
def test_a_masked_update_that_forgets_its_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.rewind.writes import Update

    monkeypatch.setattr(Update, "_masked", lambda self, ct, pull: pull(ct))
    report = bridge.crosscheck(updates, engines=("native",))(X)
    assert_found(report, "mismatch", "native", "np.multiply", line_of(updates, "masked"))


def test_a_nan_of_the_program_itself_and_a_wrong_rule_behind_it() -> None:
    def both(x: Any) -> Any:
        y = np.tanh(x)  # wrong
        return np.sum(np.sqrt(x) ** 2) + np.sum(y[1:])  # nan

    with planted(np.tanh, MISTAKES["a factor"]):
        report = bridge.crosscheck(both, engines=("native",))(np.array([0.0, 0.4, 0.7]))
    assert_found(report, "nan", "native", "np.sqrt", line_of(both, "nan"))
    second = report.differences[1]
    assert (second.kind, second.name, second.where) == ("mismatch", "np.tanh", line_of(both, "wrong"))


def test_cancellation_in_single_precision() -> None:
    def cancels(x: Any) -> Any:
        moved = x + x.dtype.type(3e4)
        back = moved - x.dtype.type(3e4)  # back
        return np.sum(back * back)

    report = bridge.crosscheck(cancels, engines=("native",))(X.astype(np.float32))
    first = assert_found(report, "precision", report.differences[0].engines[0], "np.subtract", line_of(cancels, "back"))
    assert "double precision" in first.explanation
    assert bridge.crosscheck(cancels, engines=("native",))(X).ok


def test_cancellation_that_double_precision_feels_too_is_no_kink() -> None:
    def versine(x: Any) -> Any:
        rest = 1 - np.cos(x)  # versine
        return np.sum(rest / x**2)

    report = bridge.crosscheck(versine, engines=("native",))(np.array([1e-3], np.float32))
    assert_found(report, "precision", "native", "np.subtract", line_of(versine, "versine"))
    assert not any("kink" in text for text in report.remarks)


def test_a_kink_where_the_program_takes_a_side() -> None:
    def sided(x: Any) -> Any:
        return np.sum(np.where(x > 0, x, 0.0))  # sided

    report = bridge.crosscheck(sided, engines=("native",))(np.array([0.0, 1.0]))
    first = assert_found(report, "kink", "native", "np.greater", line_of(sided, "sided"))
    assert "one-sided: 0 and 1" in first.explanation


def test_another_convention_at_a_kink_is_a_kink_and_not_a_mismatch() -> None:
    def ties(x: Any) -> Any:
        return np.sum(np.maximum(x, 0.0))  # tie

    def to_the_first(c: Any) -> Any:
        return np.where(c == 0.5, 1.0, c)

    with planted(np.maximum, to_the_first):
        report = bridge.crosscheck(ties, engines=("native",))(np.array([0.0, 1.0, -1.0]))
    first = assert_found(report, "kink", "native", "np.maximum", line_of(ties, "tie"))
    assert "docs/conventions.md" in first.explanation


def test_a_slope_outside_of_the_one_sided_ones_is_no_kink() -> None:
    with planted(np.maximum, lambda c: np.where(c == 0.5, 1.5, c)):
        report = bridge.crosscheck(lambda x: np.sum(np.maximum(x, 0.0)), engines=("native",))(np.array([0.0, 1.0]))
    assert report.differences[0].kind == "mismatch", str(report)
    assert not report.ok


def test_a_detached_value_is_a_missing_gradient() -> None:
    def lets_go(x: Any) -> Any:
        weights = bridge.detach(np.exp(x))  # detach
        return np.sum(weights * x)

    report = bridge.crosscheck(lets_go, engines=("native",))(X)
    assert_found(report, "missing-gradient", "native", "bridge.detach", line_of(lets_go, "detach"))


def smoothed(x: Any) -> Any:
    return np.asarray(x) ** 3


def test_a_function_declared_without_derivative_is_a_missing_gradient() -> None:
    nondifferentiable(smoothed)

    def calls(x: Any) -> Any:
        y = call(smoothed, (x,), {})  # undeclared
        return np.sum(y * x)

    report = bridge.crosscheck(calls, engines=("native",))(X)
    first = report.differences[0]
    assert (first.kind, first.where) == ("missing-gradient", line_of(calls, "undeclared")), str(report)


def test_random_numbers_are_found_and_their_line_is_named() -> None:
    def draws(x: Any) -> Any:
        return np.sum(x * np.random.normal(size=4))  # draw

    report = bridge.crosscheck(draws, engines=("native",))(X)
    first = assert_found(report, "random", "numpy", "np.multiply", line_of(draws, "draw"))
    assert "np.random" in first.explanation
    fresh = bridge.crosscheck(lambda x: np.sum(x * np.random.default_rng().normal()), engines=("native",))(X)
    assert [one.kind for one in fresh.differences] == ["random"]


def test_an_answer_where_the_program_raises_is_an_index_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.arrays.buffer import Buffer

    right = Buffer.__getitem__
    monkeypatch.setattr(Buffer, "__getitem__", lambda self, key: right(self, min(key, len(self) - 1)))
    report = bridge.crosscheck(lambda x: x[9] ** 2, engines=("native",))(X)
    (first,) = report.differences
    assert (first.kind, first.engines) == ("index", ("native", "numpy"))
    assert "IndexError" in first.explanation


@pytest.mark.ci
def test_the_input_shrinks_to_what_shows_the_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrinking, "SECONDS", np.inf)

    def sums(x: Any, w: Any) -> Any:
        return np.sum(np.tanh(x * w))

    with planted(np.tanh, MISTAKES["a factor"]):
        report = bridge.crosscheck(sums, engines=("native",))(np.linspace(0.1, 2.3, 9), np.linspace(1.0, 0.3, 9))
        assert report.smallest == "sums(np.array([0.0]), np.array([1.0]))"
        again = eval(report.smallest, {"np": np, "sums": bridge.crosscheck(sums, engines=("native",))})
    assert again.differences[0].name == "np.tanh"


@pytest.mark.ci
def test_a_small_sample_of_random_plants_is_found_and_localised() -> None:
    counted = Figures()
    rng = np.random.default_rng(1)
    run_all(60, lambda one: count_wrong(one, rng, counted, 25))
    assert counted.wrong == 25
    assert (counted.found, counted.localised) == (25, 25)


def test_a_wrong_rule_of_ones_own_is_named() -> None:
    def cube(x: Any) -> Any:
        return np.asarray(x) ** 3

    made = rule(cube)(lambda ct, out, x: ct * 2 * x * x)

    def calls(x: Any) -> Any:
        return np.sum(made(x))  # own

    report = bridge.crosscheck(calls, engines=("native",))(X)
    assert_found(report, "mismatch", "native", made.name, line_of(calls, "own"))
