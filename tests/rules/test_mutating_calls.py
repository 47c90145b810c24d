"""What a mutating rule does not know of is refused where it happens: windows that overlap, writes, lost numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError, CheckError, RuleError

KERNEL: dict[str, Any] = {"orders": 1, "dtypes": "float64", "layouts": "C", "empty": False}


def grown(y: Any, x: Any) -> None:
    for i in range(len(y)):
        y[i] += 0.5 * x[i] * y[i]


def of_grown(ct: Any, y: Any, x: Any) -> Any:
    return ct * (1 + 0.5 * x), 0.5 * ct * y


M = np.array([1.0, 0.5, 2.0, 0.3])


def rule_of(function: Any, pull: Any, mutates: Any, **supports: Any) -> Any:
    return bridge.mutating_rule(mutates=mutates, **supports)(function).pull(pull)


def differences(f: Any, x: Any) -> Any:
    steps = 1e-6 * np.eye(len(x))
    return np.array([(f(x + h) - f(x - h)) / 2e-6 for h in steps])


WINDOWS = {
    "shifted": lambda m: (m[1:], m[:-1]),
    "shifted back": lambda m: (m[:-1], m[1:]),
    "one inside of the other": lambda m: (m[:3:2], m[1:3]),
    "turned": lambda m: (m, m[::-1]),
    "with strides": lambda m: (m[0:4:2], m[::3]),
}


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("supports", [{}, {"orders": 1}], ids=["numpy", "kernel"])
def test_windows_that_overlap_in_part_are_refused(windows: str, supports: Any) -> None:
    rule = rule_of(grown, of_grown, "y", **supports)

    def program(m: Any) -> Any:
        m = m.copy()
        rule(*WINDOWS[windows](m))
        return np.sum(m**2)

    with pytest.raises(AliasError, match=r"writes its argument y, and y and x overlap in part.*") as caught:
        bridge.grad(program)(M)
    assert "remedy: pass x.copy()" in str(caught.value) and __file__ in str(caught.value)


def test_windows_that_only_lie_between_each_other_are_right() -> None:
    rule = rule_of(grown, of_grown, "y")

    def program(m: Any) -> Any:
        m = m.copy()
        rule(m[::2], m[1::2])
        return np.sum(m**2)

    np.testing.assert_allclose(bridge.grad(program)(M), differences(program, M), rtol=1e-7)


def test_a_captured_array_that_overlaps_is_refused_too() -> None:
    rule = rule_of(grown, of_grown, "y")
    memory = np.zeros(4)

    def program(x: Any) -> Any:
        memory[:] = x
        rule(memory[1:], memory[:-1])
        return np.sum(memory)

    with pytest.raises(AliasError, match="overlap in part"):
        bridge.grad(program)(M)


def conv(x: Any, out: Any) -> None:
    out[:] = 0
    out += x * x[0]


def of_conv(ct: Any, x: Any, out: Any) -> Any:
    of_x = ct * x[0]
    of_x[0] += np.sum(ct * x)
    return of_x, np.zeros_like(out)


def test_the_same_array_twice_is_proved_or_declared() -> None:
    x = np.array([1.0, 2.0, 3.0])
    with pytest.raises(CheckError, match=r"\[ignores-alias\].*\n.*aliased=False"):
        bridge.check_rule(rule_of(conv, of_conv, "out", **KERNEL), x, np.ones(3))
    rule = rule_of(conv, of_conv, "out", **KERNEL, aliased=False)
    assert bridge.check_rule(rule, x, np.ones(3)).ok

    def program(x: Any) -> Any:
        y = x.copy()
        rule(y, y)
        return np.sum(y)

    with pytest.raises(AliasError, match=r"out and x are the same array"):
        bridge.grad(program)(x)


def axpy(y: Any, x: Any, a: Any) -> None:
    y += a * x


@pytest.mark.parametrize("supports", [{}, KERNEL], ids=["numpy", "kernel"])
@pytest.mark.parametrize("number", [2.0, np.float64(2.0), np.array(2.0)], ids=repr)
def test_a_pull_without_a_cotangent_for_a_number_is_an_error(number: Any, supports: Any) -> None:
    rule = rule_of(axpy, lambda ct, y, x, a: (ct, a * ct), "y", **supports)

    def program(a: Any) -> Any:
        y = np.zeros(3)
        rule(y, np.arange(1.0, 4.0), a)
        return np.sum(y)

    with pytest.raises(RuleError, match=r"returned 2 cotangents for 3 array arguments \(y, x, a\)"):
        bridge.grad(program)(number)
    complete = rule_of(axpy, lambda ct, y, x, a: (ct, a * ct, np.sum(ct * x)), "y", **supports)
    assert complete is not rule

    def right(a: Any) -> Any:
        y = np.zeros(3)
        complete(y, np.arange(1.0, 4.0), a)
        return np.sum(y)

    assert bridge.grad(right)(number) == 6.0


def test_a_number_that_is_not_differentiated_needs_no_cotangent() -> None:
    rule = rule_of(axpy, lambda ct, y, x, a: (ct, a * ct), "y")

    def program(x: Any) -> Any:
        y = np.zeros(3)
        rule(y, x, 2.0)
        return np.sum(y * y)

    np.testing.assert_allclose(bridge.grad(program)(np.ones(3)), 8.0 * np.ones(3))


def two(y: Any, z: Any, x: Any) -> None:
    y += x
    z += 2 * x


@pytest.mark.parametrize("length", [3, 5000])
def test_a_write_that_is_not_declared_is_found_when_the_function_runs(length: int) -> None:
    rule = rule_of(two, lambda ct, y, z, x: (ct, 0 * z, ct), "y", orders=1)
    kept = np.full(length, 7.0)

    def program(x: Any) -> Any:
        y = np.zeros(length)
        rule(y, kept, x)
        return np.sum(y) + np.sum(kept)

    with pytest.raises(RuleError, match="two has written its argument z, which its rule does not declare") as caught:
        bridge.grad(program)(np.ones(length))
    assert "mutating_rule(mutates=('y', 'z'))" in str(caught.value)
    np.testing.assert_array_equal(kept, 7.0)  # the caller's array has its values back


@pytest.mark.parametrize("length", [3, 5000])
def test_arrays_are_looked_at_in_every_call(length: int) -> None:
    writes = [False]

    def sometimes(y: Any, z: Any) -> None:
        y += z
        if writes[0]:
            z[0] = np.nan

    rule = rule_of(sometimes, lambda ct, y, z: (ct, ct), "y", orders=1)

    def program(z: Any) -> Any:
        y = np.zeros(length)
        rule(y, z)
        return np.sum(y)

    np.testing.assert_array_equal(bridge.grad(program)(np.ones(length)), np.ones(length))
    writes[0] = True
    with pytest.raises(RuleError, match="has written its argument z"):
        bridge.grad(program)(np.ones(length))


def scaled(x: Any, a: Any) -> Any:
    return x * a


def test_numbers_given_by_position_are_proved() -> None:
    def rule(of_a: Any) -> Any:
        return bridge.rule(scaled, dtypes="float64")(lambda ct, out, x, a: (ct * a, of_a(ct, x)))

    x = np.arange(3.0)
    right = rule(lambda ct, x: np.sum(ct * x))
    assert bridge.check_rule(right, x, 2.0).ok
    report = bridge.check_rule(right, x, a=2.0)
    assert "not differentiated: a, given by keyword; give it by position" in report.notes
    with pytest.warns(bridge.errors.BridgeWarning, match="replaces what the rule book says"):
        wrong = rule(lambda ct, x: -np.sum(ct * x))
    with pytest.raises(CheckError, match=r"\[wrong-gradient\].*the cotangent of a is"):
        bridge.check_rule(wrong, x, 2.0)
    with pytest.raises(CheckError, match=r"\[missing-cotangent\].*the cotangent of a is 0"):
        bridge.check_rule(rule(lambda ct, x: None), x, 2.0)
    taught = rule_of(axpy, lambda ct, y, x, a: (ct, a * ct, -np.sum(ct * x)), "y", **KERNEL)
    with pytest.raises(CheckError, match=r"\[wrong-gradient\].*the cotangent of a"):
        bridge.check_rule(taught, np.ones(3), x, 2.0)


@pytest.mark.parametrize("keyword", ["empty", "aliased"])
def test_what_is_neither_true_nor_false_is_an_error(keyword: str) -> None:
    with pytest.raises(RuleError, match=f"says {keyword}='no'"):
        bridge.mutating_rule(mutates="y", **{keyword: "no"})(axpy)  # type: ignore[arg-type]
