"""The checker is itself checked: wrong rules and gradients are caught by name, right ones pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import bridge
from bridge import rulebook
from bridge.check import check_gradient, check_rule
from bridge.check.finite_differences import slope
from bridge.errors import CheckError
from bridge.extend import MUTATING, RULES, Case, composed, conj, mutating_rule, pulls, rule
from tests import wrong_rules

X = np.array([0.7, -1.3, 2.1])
Y = np.array([1.9, 0.4, -0.6])


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """Put back the rules that a test registers or replaces."""
    rulebook.read_book()
    rules, mutating = dict(RULES), dict(MUTATING)
    yield
    for registry, before in ((RULES, rules), (MUTATING, mutating)):
        registry.clear()
        registry.update(before)


@pytest.mark.parametrize("wrong", wrong_rules.WRONG, ids=lambda wrong: wrong.name)
def test_a_wrong_rule_is_caught_by_name(wrong: wrong_rules.Wrong) -> None:
    with pytest.raises(CheckError) as caught:
        check_rule(wrong.build(), *wrong.args)
    report = caught.value.report
    assert set(report.codes) == set(wrong.codes)
    assert wrong.says in str(caught.value)
    for failure in report.failures:
        assert f"[{failure.code}] {failure.what}" in str(caught.value)
        assert failure.remedy in str(caught.value)
    assert not report.ok


def test_every_failure_is_listed() -> None:
    def careless(x):
        return x * x

    @rule(careless)
    def wrong(ct, out, x):
        ct *= 2
        out += 1
        x *= 1.5
        return ct * x

    with pytest.raises(CheckError) as caught:
        check_rule(wrong, X)
    assert caught.value.report.codes == ["writes-cotangent", "writes-output", "writes-input"]
    assert "3 failures" in str(caught.value)


def right_tanh():
    return rule(np.tanh)(lambda ct, out, x: ct * conj(1 - out * out))


def right_multiply():
    return pulls(np.multiply, lambda ct, out, x, y: ct * np.conj(y), lambda ct, out, x, y: ct * np.conj(x))


def right_maximum():
    def share(ct, ours, theirs):
        return ct * ((ours > theirs) + 0.5 * (ours == theirs)).astype(ct.dtype)

    return pulls(np.maximum, lambda ct, out, x, y: share(ct, x, y), lambda ct, out, x, y: share(ct, y, x))


def right_sum():
    def total(x, axis=None):
        return np.sum(x, axis=axis)

    def pull(ct, out, x, axis=None):
        return np.broadcast_to(ct if axis is None or x.ndim == 0 else np.expand_dims(ct, axis), x.shape)

    return rule(total, reads=(), linear=True)(pull)


def right_two_outputs():
    def both(x):
        return np.sin(x), np.exp(x)

    def pull(ct, out, x):
        total = np.zeros_like(x)
        if ct[0] is not None:
            total = total + ct[0] * conj(np.cos(x))
        return total if ct[1] is None else total + ct[1] * conj(out[1])

    return rule(both, reads=("x", "out"))(pull)


def right_composition():
    def norm(x):
        return np.sqrt(np.sum(x * x))

    return composed(norm)(lambda x: np.sqrt(np.sum(x * x)))


def right_addone():
    @mutating_rule(mutates="a")
    def addone(a):
        a += 1

    return addone.pull(lambda ct, a: ct)


def right_exponential():
    @mutating_rule(mutates="a")
    def exponential(a):
        np.exp(a, out=a)
        return a

    return exponential.pull(lambda ct, a, after: ct * conj(after))


def right_product():
    @mutating_rule(mutates="a")
    def times(a, b, power=1):
        a *= b**power

    def pull(ct, a, b, power=1):
        by_b = ct * conj(a * power * b ** (power - 1))
        return ct * conj(b**power), by_b if b.dtype.kind == "c" else np.real(by_b), None

    return times.pull(pull)


def right_share():
    @mutating_rule(mutates=("a", "total"))
    def share(a, total):
        total[0] += np.sum(a)
        a /= total[0]

    def pull(ct, a, total, after):
        divided, summed = ct
        by_sum = summed - np.sum(divided * conj(after[0] / after[1]))
        return divided / conj(after[1]) + by_sum, by_sum

    return share.pull(pull)


RIGHT = [
    (right_tanh, (X,)),
    (right_tanh, ()),
    (right_tanh, (X.astype("f"),)),
    (right_tanh, (X + 0.1j * Y,)),
    (right_multiply, (np.outer(X, Y), Y)),
    (right_multiply, (X + 1j, Y)),
    (right_maximum, (X, Y)),
    (right_maximum, (X, 0.5)),
    (right_sum, (np.outer(X, Y), 1)),
    (right_sum, ()),
    (right_two_outputs, (X,)),
    (right_composition, (X,)),
    (right_addone, (X,)),
    (right_addone, ()),
    (right_addone, (np.outer(X, Y),)),
    (right_exponential, (X,)),
    (right_product, (X, Y)),
    (right_product, (X, Y, 3)),
    (right_product, (X + 0j, Y + 0j, 2)),
]


@pytest.mark.parametrize(("build", "args"), RIGHT, ids=lambda x: x.__name__ if callable(x) else "")
def test_a_right_rule_passes(build, args) -> None:
    report = check_rule(build(), *args)
    assert report.ok
    assert report.failures == []
    names = {check.name for check in report.checks}
    assert {"gradient", "pull is linear", "in context", "forward mode", "second order"} <= names
    assert all(check.figure is None or check.figure < 1e-2 for check in report.checks)


def test_several_written_arguments() -> None:
    assert check_rule(right_share(), X, np.array([3.0])).ok


def test_keyword_arguments_and_cases() -> None:
    total = right_sum()
    assert check_rule(total, np.outer(X, Y), axis=0).ok
    assert check_rule(total, Case(total.function, (np.outer(X, Y),), {"axis": -1})).ok


def test_a_loss_stands_for_outputs_with_a_gauge() -> None:
    def eigen(a):
        return np.linalg.eigh((wrong_rules.real_only(a) + a.T) / 2)

    equivalent = composed(eigen)(lambda a: np.linalg.eigh((a + a.T) / 2))
    case = Case(eigen, (np.outer(X, Y) + np.diag(X),), {}, loss=lambda out: np.sum(out[1][:, 0] ** 2 * X) * out[0][0])
    assert check_rule(equivalent, case).ok


def test_a_function_stands_for_its_rule() -> None:
    made = right_multiply()
    assert check_rule(np.multiply, X, Y).subject == f"check_rule({made.name})"


def test_a_function_without_a_rule_is_refused() -> None:
    with pytest.raises(bridge.errors.ArgumentError, match="has no rule to check"):
        check_rule(lambda x: x)


def test_what_the_function_refuses_is_noted() -> None:
    def only_vectors(x):
        if x.shape != (3,) or x.dtype != float:
            raise ValueError("three doubles, please")
        return 2 * x

    report = check_rule(rule(only_vectors)(lambda ct, out, x: 2 * ct), X)
    assert any("refuses empty arrays" in note for note in report.notes)
    assert any("refuses complex arguments" in note for note in report.notes)


def test_a_report_shows_names_and_figures() -> None:
    text = repr(check_rule(right_tanh(), X))
    assert text.startswith("check_rule(np.tanh): ")
    assert "gradient" in text
    assert "checks passed" in text


def test_the_callers_arrays_stay_as_they_are() -> None:
    x, y = X.copy(), Y.copy()
    check_rule(right_product(), x, y)
    assert np.array_equal(x, X)
    assert np.array_equal(y, Y)


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

    assert "writes-original" in _failing(f, x).report.codes


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
