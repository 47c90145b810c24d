"""Filters and sampling of `scipy.ndimage`: SciPy's values over all options, gradients. One row a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as ndimage

import bridge
from bridge.errors import RefusedError
from tests.helpers.stand_ins import Row, assert_gradient, assert_value, stand_in

MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap")
RNG = np.random.default_rng(0)
LINE, IMAGE, VOLUME = RNG.normal(size=9), RNG.normal(size=(6, 7)), RNG.normal(size=(4, 5, 6))
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
AFFINE = np.array([[1.1, 0.2], [-0.3, 0.8]])
POINTS = np.stack([RNG.uniform(-20, 26, 60), RNG.uniform(-20, 26, 60)])


def rows_of_filters(mode: str) -> Iterator[Row]:
    for size in (1, 2, 3, 4, 7):
        weights = RNG.normal(size=size)
        for origin in range(-(size // 2), (size - 1) // 2 + 1):
            for function in (ndimage.correlate1d, ndimage.convolve1d):
                yield function, (IMAGE, weights), {"axis": origin % 2, "mode": mode, "cval": 0.3, "origin": origin}
    for function in (ndimage.correlate, ndimage.convolve):
        for shape in ((3, 3), (2, 5), (4, 1)):
            yield function, (IMAGE, RNG.normal(size=shape)), {"mode": mode, "cval": 0.7}
        yield function, (IMAGE, RNG.normal(size=(2, 5))), {"mode": mode, "origin": (-1, 1)}
        yield function, (IMAGE, RNG.normal(size=(3, 2)) + 1j), {"mode": mode}
        yield function, (IMAGE + 1j * IMAGE[::-1], RNG.normal(size=(3, 2))), {"mode": mode}
        yield function, (VOLUME, RNG.normal(size=(2, 3))), {"mode": mode, "axes": (2, 0)}
        yield function, (LINE[:3], RNG.normal(size=9)), {"mode": mode}
    for order in range(4):
        yield ndimage.gaussian_filter, (IMAGE, (1.3, 0.7)), {"order": order, "mode": mode, "cval": 1.0}
    yield ndimage.gaussian_filter1d, (LINE, 1.3), {"mode": mode, "radius": 2}
    yield ndimage.gaussian_filter, (VOLUME, (1, 2.0)), {"mode": mode, "axes": (2, 0)}
    yield ndimage.gaussian_filter, (IMAGE.astype(np.float32), 1.5), {"mode": mode}
    yield ndimage.gaussian_filter, (IMAGE, (0, 2.0)), {"mode": mode, "truncate": 2.0}
    yield ndimage.uniform_filter, (IMAGE, (2, 4)), {"mode": mode, "origin": (-1, 1), "cval": 2.0}
    yield ndimage.uniform_filter1d, (LINE, 4), {"mode": mode, "origin": -2}
    for axis in (0, -1):
        yield ndimage.sobel, (IMAGE, axis), {"mode": mode}
        yield ndimage.prewitt, (VOLUME, axis), {"mode": mode, "cval": 1.0}
    yield ndimage.laplace, (VOLUME,), {"mode": mode, "axes": (0, 2)}
    yield ndimage.gaussian_laplace, (VOLUME, (1.2, 0.8)), {"mode": mode, "axes": (0, 2)}
    yield ndimage.gaussian_gradient_magnitude, (IMAGE, 1.2), {"mode": mode}
    for function in (ndimage.maximum_filter, ndimage.minimum_filter, ndimage.median_filter):
        yield function, (IMAGE, (2, 3)), {"mode": mode, "origin": (-1, 1), "cval": 0.4}
        yield function, (IMAGE,), {"footprint": CROSS, "mode": mode}
        yield function, (VOLUME, (2, 3)), {"axes": (2, 0), "mode": mode}
    yield ndimage.rank_filter, (IMAGE, -2, 3), {"mode": mode}
    yield ndimage.percentile_filter, (IMAGE, 30, (3, 4)), {"mode": mode}


OTHER_FILTERS: list[Row] = [
    (ndimage.gaussian_filter, (IMAGE, 1), {"output": np.float32}),
    (ndimage.gaussian_filter, (IMAGE, 1), {"mode": ("wrap", "nearest")}),
    (ndimage.sobel, (IMAGE, 0), {"mode": ["wrap", "nearest"]}),
    (ndimage.laplace, (IMAGE,), {"mode": ["wrap", "nearest"]}),
    (ndimage.uniform_filter, (IMAGE, 3), {"mode": ["wrap", "nearest"]}),
    (ndimage.maximum_filter, (IMAGE, 3), {"mode": ["wrap", "nearest"]}),
]


@pytest.mark.parametrize("mode", MODES)
def test_filters_have_scipys_values(mode: str) -> None:
    for row in rows_of_filters(mode):
        assert_value(*row, tolerance=1e-12)


def test_filters_have_scipys_values_in_other_options() -> None:
    for row in OTHER_FILTERS:
        assert_value(*row, tolerance=1e-12)


def gradients_of_filters(mode: str) -> Iterator[Row]:
    small = IMAGE[:4, :5]
    yield ndimage.correlate1d, (small, np.array([0.3, -1.2, 0.5, 2.0])), {"axis": 0, "mode": mode, "cval": 0.3}
    yield ndimage.convolve, (small, RNG.normal(size=(3, 2))), {"mode": mode, "origin": (0, -1)}
    yield ndimage.gaussian_filter, (small, np.array([1.3, 0.8])), {"mode": mode}
    yield ndimage.gaussian_filter1d, (LINE, 1.2), {"order": 2, "mode": mode}
    yield ndimage.uniform_filter, (small, 3), {"mode": mode}
    yield ndimage.sobel, (small,), {"mode": mode}
    yield ndimage.gaussian_gradient_magnitude, (small, 1.1), {"mode": mode}
    yield ndimage.maximum_filter, (small, 3), {"mode": mode}
    yield ndimage.median_filter, (small, (2, 3)), {"mode": mode}


@pytest.mark.parametrize("mode", MODES)
def test_filters_have_gradients(mode: str) -> None:
    for row in gradients_of_filters(mode):
        assert_gradient(*row)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", range(6))
def test_sampling_has_scipys_values(order: int, mode: str) -> None:
    ties = np.stack([np.arange(-8, 15) + 0.5, np.arange(-8, 15)[::-1]])
    for points in (POINTS, ties):
        for prefilter in (True, False):
            options = {"order": order, "mode": mode, "prefilter": prefilter, "cval": 0.4}
            assert_value(ndimage.map_coordinates, (IMAGE, points), options)
    long = RNG.normal(size=90)
    options = {"order": order, "mode": mode}
    assert_value(ndimage.map_coordinates, (long, np.linspace(-200, 300, 351)[None]), options)
    assert_value(ndimage.spline_filter1d, (long,), options)
    assert_value(ndimage.spline_filter1d, (IMAGE,), {**options, "axis": 0})
    assert_value(ndimage.shift, (IMAGE, (0.3, -1.7)), {**options, "cval": 0.2})
    for grid_mode in (False, True):
        if grid_mode and mode in ("constant", "wrap"):
            continue
        assert_value(ndimage.zoom, (IMAGE, (1.7, 0.6)), {**options, "grid_mode": grid_mode})
    for angle in (0, 30.0, -100):
        assert_value(ndimage.rotate, (IMAGE, angle), {**options, "cval": 1.0})
    assert_value(ndimage.rotate, (VOLUME, 20.0), {**options, "axes": (0, 2), "reshape": False})
    assert_value(ndimage.affine_transform, (IMAGE, AFFINE), {**options, "offset": (0.3, 0.5)})
    assert_value(ndimage.affine_transform, (IMAGE, np.array([[1.1, 0.2, 0.2], [-0.3, 0.8, 0.4]])), options)
    scaled = {**options, "offset": 0.5, "output_shape": (5, 4)}
    assert_value(ndimage.affine_transform, (IMAGE, np.array([1.3, 0.7])), scaled)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
def test_sampling_has_gradients(order: int, mode: str) -> None:
    points = RNG.uniform(-3, 8, (2, 10))
    assert_gradient(ndimage.map_coordinates, (IMAGE[:5], points), {"order": order, "mode": mode, "cval": 0.3})


TURNS: list[Row] = [
    (ndimage.shift, (IMAGE, np.array([0.3, 0.4])), {"mode": "nearest"}),
    (ndimage.rotate, (IMAGE, 20.0), {}),
    (ndimage.zoom, (IMAGE, 1.5), {"order": 1}),
    (ndimage.affine_transform, (IMAGE, AFFINE, np.array([0.2, 0.3])), {"mode": "reflect"}),
    (ndimage.spline_filter, (IMAGE,), {}),
]


@pytest.mark.parametrize("row", TURNS, ids=lambda row: row[0].__name__)
def test_turns_have_gradients(row: Row) -> None:
    assert_gradient(*row)


def test_a_width_has_a_gradient() -> None:
    def program(sigma: Any) -> Any:
        filtered = stand_in(ndimage.gaussian_filter) if hasattr(sigma, "place") else ndimage.gaussian_filter
        return np.sum(filtered(IMAGE, sigma) ** 2)

    bridge.check_gradient(program, (np.float64(1.3),))


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "output": (lambda x: stand_in(ndimage.sobel)(x, 0, np.zeros((6, 7))), "sobel with an array as output="),
    "integers": (
        lambda x: stand_in(ndimage.correlate1d)(np.arange(5), x[0]),
        "a result of dtype int64, which is rounded",
    ),
    "zoom": (lambda x: stand_in(ndimage.zoom)(x, x[0, 0]), "zoom by a tracked factor"),
    "modes": (lambda x: stand_in(ndimage.gaussian_laplace)(x, 1, None, ["wrap", "wrap"]), "one mode for each axis"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_so(name: str) -> None:
    program, message = REFUSED[name]
    with pytest.raises(RefusedError, match=message) as caught:
        bridge.grad(lambda x: np.sum(program(x)))(IMAGE)
    assert caught.value.remedy
    assert "test_scipy_ndimage.py" in str(caught.value)
