"""`check_gradient` is itself checked: wrong gradients, kinks and noise are told apart, right ones pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import bridge
from bridge.errors import CheckError
from bridge.extend import MUTATING, RULES, rule
from bridge.proof.numerics.finite_differences import slope
from bridge.proof.programs.check_gradient import check_gradient
from bridge.rulebook import book

X = np.array([0.7, -1.3, 2.1])
Y = np.array([1.9, 0.4, -0.6])


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """Put back the rules that a test registers or replaces."""
    book.read_book()
    rules, mutating = dict(RULES), dict(MUTATING)
    yield
    for registry, before in ((RULES, rules), (MUTATING, mutating)):
        registry.clear()
        registry.update(before)


def heat(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def test_a_right_gradient_passes(rng: np.random.Generator) -> None:
    report = check_gradient(heat)(rng.normal(size=20), 5)
    assert report.ok
    figures = {check.name: check.figure for check in report.checks}
    assert figures["gradient"] < 1e-9
    assert figures["forward mode"] < 1e-12


@pytest.mark.parametrize(
    ("f", "args", "argnums"),
    [
        (lambda p, q: np.sum(p["a"] * q) + p["b"][0] ** 2, ({"a": X, "b": [2.0]}, 3.0), (0, 1)),
        (lambda x: np.sum(x * x), (X.astype(np.float32),), 0),
        (lambda z: np.sum(np.abs(z) ** 2), (X + 1j * Y,), 0),
        (lambda z: z * z, (X + 1j * Y,), 0),
        (lambda x: (np.sum(x), np.exp(x)), (X,), 0),
        (lambda x: np.sum(np.sqrt(x)), (np.array([0.0, 1.0]),), 0),
        (lambda a, x: a @ x, (np.outer(X, Y), Y), (0, -1)),
    ],
)
def test_containers_dtypes_and_other_values(f, args, argnums) -> None:
    assert check_gradient(f, argnums)(*args).ok


def test_a_program_that_mutates_its_arguments() -> None:
    def into(out, x):
        out[...] = x
        out += 1
        x *= 2
        return np.sum(out * x)

    x = X.copy()
    assert check_gradient(into, argnums=1)(np.zeros(3), x).ok
    assert np.array_equal(x, X)


def test_a_large_argument_is_compared_along_directions(rng: np.random.Generator) -> None:
    report = check_gradient(heat, coordinates=5)(rng.normal(size=3000), 2)
    assert report.ok
    assert next(check.call for check in report.checks if check.name == "gradient") == "10 directions"


def _failing(f, *args, **options):
    with pytest.raises(CheckError) as caught:
        check_gradient(f, **options)(*args)
    return caught.value


def test_a_wrong_pull_inside_a_program_is_a_wrong_gradient() -> None:
    def tripled(x):
        return 3 * x

    wrong = rule(tripled)(lambda ct, out, x: 2 * ct)
    error = _failing(lambda x: np.sum(wrong(x) * x), X)
    assert error.report.codes == ["wrong-gradient"]
    assert "the gradient of argument 0 at index" in str(error)
    assert "remedy" in str(error)


def test_a_wrong_gradient_in_float32_is_seen() -> None:
    def tripled(x):
        return 3 * x

    wrong = rule(tripled)(lambda ct, out, x: ct * ct.dtype.type(3.1))
    assert _failing(lambda x: np.sum(wrong(x)), X.astype("f")).report.codes == ["wrong-gradient"]


def test_a_small_wrong_gradient_is_seen() -> None:
    def tripled(x):
        return 3 * x

    wrong = rule(tripled)(lambda ct, out, x: ct * 3.1)
    assert _failing(lambda x: 1e-12 * np.sum(wrong(x)), X).report.codes == ["wrong-gradient"]


def test_a_subgradient_at_a_kink_passes_and_is_noted() -> None:
    report = check_gradient(lambda x: np.sum(np.where(x > 0, x, -x)))(np.array([0.0, 1.0]))
    assert report.ok
    assert any("a kink" in note for note in report.notes)


@pytest.mark.parametrize("at", [0.0, 1e-9, -1e-9])
def test_near_a_kink_it_is_said_to_be_a_kink(at: float) -> None:
    def size(x):
        return np.abs(x)

    wrong = rule(size, structure="elementwise")(lambda ct, out, x: ct * np.where(np.abs(x) < 1e-6, 2, np.sign(x)))
    error = _failing(lambda x: np.sum(wrong(x)), np.array([at, 1.0]))
    assert error.report.codes == ["kink"]
    assert "outside of the one-sided slopes of a kink, -" in str(error)


def test_a_kink_some_way_off_does_not_matter() -> None:
    report = check_gradient(lambda x: np.sum(np.abs(x)))(np.array([1e-4, 1.0]))
    assert report.notes == []


def test_an_infinite_slope_is_named() -> None:
    def root(x):
        return np.sqrt(x)

    wrong = rule(root, structure="elementwise")(lambda ct, out, x: ct * np.where(x > 0, 0.5 / np.sqrt(x + (x == 0)), 0))
    assert _failing(lambda x: np.sum(wrong(x)), np.array([0.0, 1.0])).report.codes == ["infinite"]


def test_a_jump_is_named() -> None:
    def upward(x):
        return np.where(x >= 0, x + 1, x)

    wrong = rule(upward, structure="elementwise")(lambda ct, out, x: ct * np.where(x == 0, 5, 1))
    assert _failing(lambda x: np.sum(wrong(x)), np.array([0.0, 1.0])).report.codes == ["jump"]


def test_a_nondeterministic_function_is_named() -> None:
    generator = np.random.default_rng(0)
    error = _failing(lambda x: np.sum(x) * generator.random(), X)
    assert error.report.codes == ["nondeterministic"]


def test_another_value_under_differentiation_is_named() -> None:
    error = _failing(lambda x: np.sum(x) + (1.0 if bridge.current_context() else 0.0), X)
    assert error.report.codes == ["value-differs"]


def test_a_gradient_with_state_is_named() -> None:
    calls = []

    def doubled(x):
        return 2 * x

    def pull(ct, out, x):
        calls.append(1)
        return ct * (2 + 1e-3 * len(calls))

    counting = rule(doubled)(pull)
    assert "not-repeatable" in _failing(lambda x: np.sum(counting(x)), X).report.codes


def test_a_captured_array_that_changes_is_named() -> None:
    x = X.copy()

    def f(y):
        if bridge.current_context():
            x[0] += 1
        return np.sum(y)

    with pytest.raises(CheckError, match="value-differs"):
        check_gradient(f)(x)
    np.testing.assert_array_equal(x, X)


def test_forward_mode_that_disagrees_is_named() -> None:
    def doubled(x):
        return 2 * x

    wrong = rule(doubled)(lambda ct, out, x: (4 if bridge.current_context() else 2) * ct)
    error = _failing(lambda x: np.sum(wrong(x)), X)
    assert error.report.codes == ["forward-mode"]
    assert check_gradient(lambda x: np.sum(wrong(x)), forward=False)(X).ok


def test_noise_is_no_convergence() -> None:
    def rough(x):
        return np.sum(np.sin(1e9 * x) / 1e3)

    assert _failing(rough, np.array([0.3])).report.codes == ["no-convergence"]


@pytest.mark.parametrize(
    ("f", "at", "kind", "value"),
    [
        (np.sin, 1.0, "smooth", np.cos(1.0)),
        (np.exp, 3.0, "smooth", np.exp(3.0)),
        (np.arcsin, 0.9999, "smooth", 1 / np.sqrt(1 - 0.9999**2)),
        (lambda x: np.sin(50 * x), 1.0, "smooth", 50 * np.cos(50.0)),
        (lambda x: x * abs(x), 0.0, "smooth", 0.0),
        (lambda x: x**3, 0.0, "smooth", 0.0),
        (abs, 1e-4, "smooth", 1.0),
        (abs, 0.0, "kink", 0.0),
        (lambda x: x**1.5 if x >= 0 else np.nan, 0.0, "edge", 0.0),
        (lambda x: np.where(x >= 0, x + 1, x), 0.0, "jump", 1.0),
    ],
)
def test_slopes_of_known_functions(f, at: float, kind: str, value: float) -> None:
    with np.errstate(invalid="ignore"):
        found = slope(lambda h: float(f(at + h) - f(at)), abs(float(f(at))))
    assert found.kind == kind
    assert abs(found.central - value) <= 1e-9 * max(abs(value), 1)


def test_the_slope_of_a_root_at_zero_is_infinite() -> None:
    with np.errstate(invalid="ignore"):
        found = slope(lambda h: float(np.sqrt(h)), 0.0)
    assert found.kind == "infinite"
    assert found.right == np.inf
    assert found.admits(np.inf, 1e-6, 0.0)
    assert not found.admits(1e9, 1e-6, 0.0)


def test_one_sided_slopes_bound_subgradients() -> None:
    found = slope(abs, 0.0)
    assert found.is_clear_kink
    assert [found.admits(got, 1e-6, 1.0) for got in (-1.0, 0.3, 1.0, 1.01)] == [True, True, True, False]
