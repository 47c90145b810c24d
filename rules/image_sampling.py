"""Arrays read between their elements: `scipy.ndimage.map_coordinates`, and the shifts, zooms and turns that it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.extend import needs, stand_in, without_gradient
from bridge.rules.contractions import as_operand

ndimage = needs("scipy.ndimage")

from bridge.rules.image_filters import each, in_dtype  # noqa: E402, once the library is there
from bridge.rules.image_splines import sampled  # noqa: E402


def _of_parts(function: Callable[..., Any], input: Any, cval: Any) -> Any:
    """A linear function of complex arrays, by their real and imaginary parts."""
    if input.dtype.kind != "c":
        return function(input, cval)
    return function(np.real(input), np.real(cval)) + 1j * function(np.imag(input), np.imag(cval))


@stand_in(ndimage.map_coordinates)
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    input, coordinates = as_operand(input), as_operand(coordinates)
    if coordinates.shape[0] != input.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    at = [coordinates[k] for k in range(input.ndim)]
    found = _of_parts(lambda part, c: sampled(part, at, order, mode, c, prefilter), input, cval)
    return in_dtype("map_coordinates", found, input, output)


def _on_grid(
    name: str, input: Any, lines: list[Any], output: Any, order: int, mode: str, cval: Any, prefilter: bool
) -> Any:
    """The values where coordinates of every axis, given apart, meet."""
    at = np.broadcast_arrays(*np.ix_(*lines)) if not any(hasattr(line, "place") for line in lines) else _meshed(lines)
    found = _of_parts(lambda part, c: sampled(part, list(at), order, mode, c, prefilter), input, cval)
    return in_dtype(name, found, input, output)


def _meshed(lines: list[Any]) -> list[Any]:
    shape = tuple(line.shape[0] for line in lines)
    spread = [np.reshape(line, (-1,) + (1,) * (len(lines) - k - 1)) for k, line in enumerate(lines)]
    return [np.zeros(shape) + line for line in spread]


@stand_in(ndimage.shift)
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    input = as_operand(input)
    lines = [np.arange(n) - by for n, by in zip(input.shape, each(shift, input.ndim), strict=True)]
    return _on_grid("shift", input, lines, output, order, mode, cval, prefilter)


@stand_in(ndimage.zoom)
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    what = "scipy.ndimage.zoom by a tracked factor, which decides the shape"
    zoom = without_gradient(zoom, what, "pass bridge.detach(zoom)")
    input = as_operand(input)
    factors = each(zoom, input.ndim)
    if prefilter and all(factor == 1 for factor in factors):
        return in_dtype("zoom", np.copy(input), input, output)
    lines = []
    for n, factor in zip(input.shape, factors, strict=True):
        m = round(n * factor)
        by = (n / m if grid_mode else (n - 1) / (m - 1)) if m > (not grid_mode) else 1.0
        lines.append((np.arange(m) + 0.5) * by - 0.5 if grid_mode else np.arange(m) * by)
    return _on_grid("zoom", input, lines, output, order, mode, cval, prefilter)


@stand_in(ndimage.affine_transform)
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    input, matrix = as_operand(input), as_operand(matrix)
    n = input.ndim
    shape = input.shape if output_shape is None else tuple(output_shape)
    if matrix.ndim == 2 and matrix.shape[1] == n + 1 and matrix.shape[0] in (n, n + 1):
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    if matrix.ndim not in (1, 2) or matrix.shape[0] != n or (matrix.ndim == 2 and matrix.shape[1] != len(shape)):
        raise RuntimeError("affine matrix has wrong number of rows or columns")
    offsets = each(offset, n)
    if matrix.ndim == 1:
        lines = [matrix[k] * np.arange(shape[k]) + offsets[k] for k in range(n)]
        return _on_grid("affine_transform", input, lines, output, order, mode, cval, prefilter)
    grid = np.indices(shape)
    at = [sum((matrix[k, j] * grid[j] for j in range(len(shape))), offsets[k]) for k in range(n)]
    found = _of_parts(lambda part, c: sampled(part, at, order, mode, c, prefilter), input, cval)
    return in_dtype("affine_transform", found, input, output)


@stand_in(ndimage.rotate)
def rotate(
    input: Any,
    angle: Any,
    axes: Any = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    input = as_operand(input)
    if input.ndim < 2:
        raise ValueError("input array should be at least 2D")
    first, second = sorted(axis % input.ndim for axis in axes)
    turn = angle * (np.pi / 180)
    c, s = np.cos(turn), np.sin(turn)
    rows, columns = input.shape[first], input.shape[second]
    shape = [rows, columns]
    if reshape:
        corners = np.array([[0, 0, rows, rows], [0, columns, 0, columns]])
        spans = (c * corners[0] + s * corners[1], c * corners[1] - s * corners[0])
        shape = [int(np.floor(np.max(span) - np.min(span) + 0.5)) for span in spans]
    y, x = np.indices(shape)
    y, x = y - (shape[0] - 1) / 2, x - (shape[1] - 1) / 2
    at = [c * y + s * x + (rows - 1) / 2, c * x - s * y + (columns - 1) / 2]
    planes = np.moveaxis(input, (first, second), (0, 1))
    flat = np.reshape(planes, (rows, columns, -1))

    def turned(part: Any, fill: Any) -> Any:
        layers = [sampled(part[..., k], at, order, mode, fill, prefilter) for k in range(part.shape[-1])]
        return np.stack(layers, axis=-1)

    found = np.reshape(_of_parts(turned, flat, cval), (*shape, *planes.shape[2:]))
    return in_dtype("rotate", np.moveaxis(found, (0, 1), (first, second)), input, output)
