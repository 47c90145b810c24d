"""What a compiled program reads without being given it is read again when it has changed."""

from __future__ import annotations

import types
import warnings
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge.errors import BridgeWarning

jax = pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([1.0, 2.0, 3.0])
scale = 2.0
table = np.array([1.0, 10.0, 100.0])


class TestArrays:
    @pytest.mark.ci
    def test_an_operand_that_changes_between_calls(self) -> None:
        w = np.ones(3)
        run = bridge.value_and_grad(lambda x: np.sum(x * w), engine="xla")
        assert run(X)[0] == 6
        w[1] = 5
        value, gradient = run(X)
        assert value == 14
        np.testing.assert_array_equal(gradient, w)

    @pytest.mark.ci
    def test_a_view_made_inside(self) -> None:
        w = np.arange(8.0)
        run = bridge.xla(lambda x: x * w[::2][1:])
        run(X)
        w[4] = -1
        np.testing.assert_array_equal(run(X), X * np.array([2.0, -1.0, 6.0]))

    @pytest.mark.ci
    def test_one_that_numpy_computes_with_first(self) -> None:
        w = np.ones(3)
        run = bridge.xla(lambda x: x * (2 * w))
        run(X)
        w[:] = 3
        np.testing.assert_array_equal(run(X), 6 * X)

    @pytest.mark.ci
    def test_an_index(self) -> None:
        picks = [np.array([0, 1])]
        run = bridge.xla(lambda x: x[picks[0]])
        run(X)
        picks[0][:] = 2
        np.testing.assert_array_equal(run(X), [3, 3])

    @pytest.mark.ci
    def test_one_copied_into_a_buffer(self) -> None:
        held = [np.ones(3)]
        run = bridge.xla(lambda x: x + bridge.numpy.array(held[0]))
        run(X)
        held[0][0] = 7
        np.testing.assert_array_equal(run(X), [8, 3, 4])

    @pytest.mark.ci
    def test_one_written_into_memory(self) -> None:
        held = [np.ones(3)]

        def f(x: Any) -> Any:
            y = x.copy()
            y[:] = held[0]
            return y + x

        run = bridge.xla(f)
        run(X)
        held[0][0] = 7
        np.testing.assert_array_equal(run(X), [8, 3, 4])

    @pytest.mark.ci
    def test_nan_is_no_change(self) -> None:
        w = np.array([np.nan, 1.0, 1.0])
        run = bridge.xla(lambda x: x * w)
        run(X)
        run(X)
        assert len(run.compile_seconds) == 1

    @pytest.mark.ci
    def test_a_promised_constant_is_not_looked_at(self) -> None:
        w = np.ones(3)
        promised = bridge.constant(w)
        held = [promised]
        run = bridge.xla(lambda x: x * held[0])
        run(X)
        w[:] = 2
        np.testing.assert_array_equal(run(X), X)

    @pytest.mark.ci
    def test_in_a_default_value(self) -> None:
        def f(x: Any, numbers: Any = [1.0, 2.0]) -> Any:  # noqa: B006
            return x * numbers[0]

        run = bridge.xla(f)
        np.testing.assert_array_equal(run(X), f(X))
        f.__defaults__[0][0] = 5.0  # type: ignore[index]
        np.testing.assert_array_equal(run(X), f(X))
        f.__defaults__ = ([7.0],)
        np.testing.assert_array_equal(run(X), f(X))

    @pytest.mark.ci
    def test_inside_of_a_loop(self) -> None:
        held = [np.arange(30.0)]

        def f(x: Any) -> Any:
            s = x[0]
            for i in range(30):
                s = s * 0.5 + held[0][i : i + 1] * x[1]
            return np.sum(s)

        run = bridge.xla(f)
        assert run(X) == pytest.approx(float(f(X)))
        held[0][3] = 50
        assert run(X) == pytest.approx(float(f(X)))


class Model:
    def __init__(self) -> None:
        self.power = 2
        self.w = np.ones(3)

    def __call__(self, x: Any) -> Any:
        return np.sum(self.w * x**self.power)

    def loss(self, x: Any) -> Any:
        return self(x)


class TestNames:
    @pytest.mark.ci
    def test_a_number_of_a_closure(self) -> None:
        factor = 2.0
        run = bridge.grad(lambda x: np.sum(x * factor), engine="xla")
        np.testing.assert_array_equal(run(X), [2, 2, 2])
        factor = 3.0
        np.testing.assert_array_equal(run(X), [3, 3, 3])

    @pytest.mark.ci
    def test_a_number_of_a_module(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = bridge.xla(lambda x: x * scale)
        np.testing.assert_array_equal(run(X), 2 * X)
        monkeypatch.setitem(globals(), "scale", 4.0)
        np.testing.assert_array_equal(run(X), 4 * X)

    @pytest.mark.ci
    def test_a_number_that_a_helper_reads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = bridge.xla(lambda x: helper(x) + 1)
        np.testing.assert_array_equal(run(X), 2 * X + 1)
        monkeypatch.setitem(globals(), "scale", 4.0)
        np.testing.assert_array_equal(run(X), 4 * X + 1)

    @pytest.mark.ci
    def test_another_array_under_the_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = bridge.xla(lambda x: x * np.log10(table))
        np.testing.assert_array_equal(run(X), [0, 2, 6])
        monkeypatch.setitem(globals(), "table", np.array([10.0, 10.0, 10.0]))
        np.testing.assert_array_equal(run(X), X)

    @pytest.mark.ci
    def test_a_helper_that_is_defined_anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = bridge.xla(lambda x: helper(x))
        run(X)
        monkeypatch.setitem(globals(), "helper", lambda x: x - 1)
        np.testing.assert_array_equal(run(X), X - 1)

    @pytest.mark.ci
    @pytest.mark.parametrize("how", ["object", "method", "closure"])
    def test_attributes_of_an_object(self, how: str) -> None:
        model = Model()
        f = {"object": model, "method": model.loss, "closure": lambda x: model(x)}[how]
        run = bridge.value_and_grad(f, engine="xla")
        assert run(X)[0] == 14
        model.w = np.full(3, 2.0)
        assert run(X)[0] == 28
        model.power = 1
        assert run(X)[0] == 12
        model.w[0] = 0
        assert run(X)[0] == 10


def helper(x: Any) -> Any:
    return x * scale


@pytest.mark.ci
def test_inside_of_a_jax_program() -> None:
    w = np.ones(3)
    run = bridge.xla(lambda x: np.sum(x * w))
    np.testing.assert_array_equal(jax.grad(run)(X), [1, 1, 1])
    w[0] = 5
    np.testing.assert_array_equal(jax.grad(run)(X), [5, 1, 1])


@pytest.mark.ci
def test_who_changes_it_all_the_time_is_told() -> None:
    step = [np.zeros(1)]
    run = bridge.xla(lambda x: x + step[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(8):
            run(X)
            step[0] += 1
    with pytest.warns(BridgeWarning, match=r"compiled 8 times more because an array of shape \(1,\).*\n  remedy: pass"):
        np.testing.assert_array_equal(run(X), X + 8)


class Simulation:
    """State as programs keep it: arrays, numbers, lists and dictionaries, and an object inside."""

    def __init__(self) -> None:
        self.u = np.ones(3)
        self.rate = 2.0
        self.layers: list[Any] = [1.0, np.ones(3)]
        self.options: dict[str, Any] = {"gain": 3.0, "mask": np.ones(3)}
        self.inner: Any = None

    def loss(self, x: Any) -> Any:
        own = np.sum(self.u * x) * self.rate + self.layers[0] * np.sum(self.layers[1] * x)
        return own + np.sum(self.options["mask"] * x) * self.options["gain"] + self.inner.u[0] * self.inner.rate * x[0]


def simulation() -> Simulation:
    made = Simulation()
    made.inner = Simulation()
    return made


def exchanged(container: Any, key: Any, value: Any) -> None:
    container[key] = value


CHANGES: dict[str, Any] = {
    "an array": lambda m: exchanged(m.u, 0, 5.0),
    "a number": lambda m: setattr(m, "rate", 5.0),
    "an attribute": lambda m: setattr(m, "u", np.full(3, 7.0)),
    "a number in a list": lambda m: exchanged(m.layers, 0, 4.0),
    "an array in a list": lambda m: exchanged(m.layers, 1, np.full(3, 4.0)),
    "the contents of an array in a list": lambda m: exchanged(m.layers[1], 0, 4.0),
    "a number in a dictionary": lambda m: exchanged(m.options, "gain", 4.0),
    "an array in a dictionary": lambda m: exchanged(m.options, "mask", np.zeros(3)),
    "an object": lambda m: setattr(m, "inner", Simulation()) or setattr(m.inner, "rate", 9.0),
    "a number of an object inside": lambda m: setattr(m.inner, "rate", 9.0),
    "an array of an object inside": lambda m: exchanged(m.inner.u, 0, 9.0),
}


@pytest.mark.ci
@pytest.mark.parametrize("change", CHANGES)
def test_state_that_changes_between_calls(change: str) -> None:
    own = simulation()
    run = bridge.value_and_grad(own.loss, engine="xla")
    run(X)
    CHANGES[change](own)
    value, gradient = run(X)
    expected, slope = bridge.value_and_grad(own.loss)(X)
    assert value == expected == own.loss(X)
    np.testing.assert_allclose(gradient, slope)


class TestModulesAndClasses:
    @pytest.mark.ci
    def test_a_name_of_a_module_and_what_its_functions_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = bridge.xla(lambda x: np.sum(x) * SETTINGS.rate)
        through = bridge.xla(lambda x: SETTINGS.scaled(x))
        assert run(X) == 12 and through(X) == 12
        monkeypatch.setattr(SETTINGS, "rate", 3.0)
        monkeypatch.setitem(globals(), "scale", 5.0)
        assert run(X) == 18 and through(X) == 30

    @pytest.mark.ci
    def test_what_a_method_reads_and_what_a_class_has(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = bridge.value_and_grad(Scaled().loss, engine="xla")
        assert run(X)[0] == 12
        monkeypatch.setitem(globals(), "scale", 5.0)
        assert run(X)[0] == 30
        monkeypatch.setattr(Scaled, "factor", 2.0)
        assert run(X)[0] == 60

    @pytest.mark.ci
    def test_a_change_between_lowering_and_the_first_call(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = bridge.xla(lambda x: np.sum(x) * scale)
        run.lower(X)
        monkeypatch.setitem(globals(), "scale", 5.0)
        assert run(X) == 30


def scaled(x: Any) -> Any:
    return np.sum(x) * scale


SETTINGS: Any = types.ModuleType("settings")
SETTINGS.rate, SETTINGS.scaled = 2.0, scaled


class Scaled:
    factor = 1.0

    def step(self, x: Any) -> Any:
        return x * scale * self.factor

    def loss(self, x: Any) -> Any:
        return np.sum(self.step(x))


@pytest.mark.ci
@pytest.mark.parametrize("size", [10, 10_000])
@pytest.mark.parametrize("is_frozen_again", [False, True])
def test_a_read_only_array_that_is_written_between_calls(size: int, is_frozen_again: bool) -> None:
    big = np.ones(size)
    big.flags.writeable = False
    gradient = bridge.grad(lambda x: (big * x[0])[:10].sum(), engine="xla")
    assert gradient(np.ones(2))[0] == 10
    big.flags.writeable = True
    big[:] = 3
    big.flags.writeable = not is_frozen_again
    assert gradient(np.ones(2))[0] == 30
