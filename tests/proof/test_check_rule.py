"""`check_rule` is itself checked: wrong rules are caught by name, right ones pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import bridge
from bridge.errors import CheckError
from bridge.extend import MUTATING, RULES, Case, composed, conj, mutating_rule, pulls, rule
from bridge.proof.rules.check_rule import check_rule
from bridge.rulebook import book
from tests.proof import wrong_rules
from tests.proof.wrong_promises import writes_more_when_tracked

X = np.array([0.7, -1.3, 2.1])
Y = np.array([1.9, 0.4, -0.6])


# Rules that replace those of the book, which is said once.
pytestmark = pytest.mark.filterwarnings("ignore:what you say of")


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """Put back the rules that a test registers or replaces."""
    book.read_book()
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


def test_memory_that_is_not_restored_is_found_even_where_no_write_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.arrays.mutating._Untouched.check", lambda self: None)
    with pytest.raises(
        CheckError, match=r"\[memory-not-restored\].*undo and redo do not bring back what b held"
    ) as caught:
        check_rule(writes_more_when_tracked(), np.array([0.7, -1.3]), np.array([1.0, 2.0]))
    assert caught.value.report is not None and caught.value.report.codes == ["memory-not-restored"]
