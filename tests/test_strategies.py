"""What the strategies draw is what they say; and writes that they draw have the gradient that differences give."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import bridge
from bridge import strategies
from bridge.errors import ArgumentError

FEW = hypothesis.settings(max_examples=60, suppress_health_check=list(hypothesis.HealthCheck))


@pytest.mark.parametrize("layout", strategies.LAYOUTS)
@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3), (2, 1, 3), (0, 2)])
def test_layouts_hold_the_numbers_and_lie_as_they_say(layout: Any, shape: tuple[int, ...]) -> None:
    plain = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    made = strategies.laid_out(plain, layout)
    np.testing.assert_array_equal(made, plain)
    assert made.flags.writeable
    if plain.size > 1 and len(shape) == 2 and min(shape) > 1:
        assert made.flags.c_contiguous == (layout in ("C", "offset"))
        assert made.flags.f_contiguous == (layout == "F")
    if layout == "offset" and plain.size:
        assert made.base is not None and made.base.size > made.size


@FEW
@hypothesis.given(st.data())
def test_keys_are_taken_by_numpy(data: st.DataObject) -> None:
    x = data.draw(strategies.arrays())
    key = data.draw(strategies.keys(x.shape))
    value = data.draw(strategies.values_for(x, key))
    x[key] = value
    if not any(isinstance(part, np.ndarray) and part.dtype != bool for part in (key if type(key) is tuple else (key,))):
        np.testing.assert_array_equal(x[key], np.broadcast_to(value, x[key].shape))


@FEW
@hypothesis.given(strategies.overlapping())
def test_windows_overlap(drawn: strategies.Overlap) -> None:
    first, second = drawn.memory[drawn.first], drawn.memory[drawn.second]
    assert first.shape == second.shape and np.shares_memory(first, second)


@FEW
@hypothesis.given(strategies.elements(low=0.5, high=1.0), strategies.elements(np.complex128, negative=False))
def test_elements_stay_within_their_bounds(real: float, of_two: complex) -> None:
    assert 0.5 <= abs(real) <= 1 and 0.25 <= of_two.real <= 2 and 0.25 <= of_two.imag <= 2


PROVED = hypothesis.settings(FEW, max_examples=40)


def written(x: Any, key: Any, value: Any) -> Any:
    y = 2.0 * x
    y[key] = value * np.sum(x)
    y[key] *= y[key]
    return np.sum(y * y)


@PROVED
@hypothesis.given(st.data())
def test_any_write_has_its_gradient(data: st.DataObject) -> None:
    x = data.draw(strategies.arrays(shape=st.sampled_from([(3,), (2, 3), (4,), (2, 2, 2)])))
    key = data.draw(strategies.keys(x.shape))
    value = data.draw(strategies.values_for(x, key))
    assert bridge.check_gradient(written, argnums=(0, 2))(x, key, value).ok


def shifted(memory: Any, first: slice, second: slice) -> Any:
    y = memory * 1.0
    y[first] += 0.5 * y[second]
    y[second] = y[first] * y[second]
    return np.sum(y**2)


@PROVED
@hypothesis.given(strategies.overlapping())
def test_overlapping_writes_have_their_gradient(drawn: strategies.Overlap) -> None:
    assert bridge.check_gradient(shifted)(*drawn).ok


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: strategies.elements(np.int64), "elements of dtype int64"),
        (lambda: strategies.elements(low=2.0, high=1.0), r"low=2.0, high=1.0"),
        (lambda: strategies.arrays(layouts=("K",)).example(), r"layouts=\('K',\)"),
        (lambda: strategies.overlapping(most=1).example(), "most=1"),
    ],
)
@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
def test_what_cannot_be_drawn_is_named(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_without_hypothesis_the_error_names_it() -> None:
    code = "import sys; sys.modules['hypothesis'] = None; import bridge.strategies"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "bridge.strategies needs hypothesis, which is not installed" in done.stderr
    assert "pip install hypothesis" in done.stderr
