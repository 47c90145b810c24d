"""Gaussian filters and their derivatives, rank filters of `scipy.ndimage`."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.extend import needs, refuse, stand_in
from bridge.rules.contractions import as_operand
from bridge.rules.image_filters import (
    axes_of,
    continued,
    correlate1d,
    each,
    filtered_along,
    in_dtype,
    lengths_around,
)

ndimage = needs("scipy.ndimage")


def _kernel(sigma: Any, order: int, radius: int) -> Any:
    """A sampled Gaussian of unit sum, or a derivative: a polynomial times it, with coefficients by recursion."""
    if order < 0:
        raise ValueError("order must be non-negative")
    x = np.arange(-radius, radius + 1)
    bell = np.exp(-0.5 / (sigma * sigma) * x**2)
    bell = bell / np.sum(bell)
    factor, powers = [1.0], 1
    for _ in range(order):
        # (q exp(p))' = (q' + q p') exp(p), where p' = -x / sigma**2.
        slope = [k * factor[k] for k in range(1, powers)] + [0.0, 0.0]
        shifted = [0.0, *(-one / (sigma * sigma) for one in factor)]
        factor = [one + other for one, other in zip(slope, shifted, strict=True)]
        powers += 1
    return bell * sum(one * x**k for k, one in enumerate(factor)) if order else bell


@stand_in(ndimage.gaussian_filter1d)
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    reach = int(np.floor(truncate * sigma + 0.5)) if radius is None else radius
    return correlate1d(input, _kernel(sigma, order, reach)[::-1], axis, output, mode, cval)


@stand_in(ndimage.gaussian_filter)
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    input = as_operand(input)
    axes = axes_of(axes, input.ndim)
    chosen = zip(*(each(value, len(axes)) for value in (sigma, order, radius)), strict=True)

    def along(sigma: Any, order: int, radius: Any) -> Any:
        if not sigma > 1e-15:
            return lambda x, axis, mode: x
        return lambda x, axis, mode: gaussian_filter1d(x, sigma, axis, order, None, mode, cval, truncate, radius=radius)

    result = filtered_along(input, axes, mode, [along(*one) for one in chosen])
    return in_dtype("gaussian_filter", result, input, output)


def _derivatives(
    name: str, input: Any, sigma: Any, order: int, mode: Any, cval: Any, axes: Any, options: Any
) -> list[Any]:
    """Gaussian derivatives of this order along each of the axes."""
    if not isinstance(mode, str):
        refuse(f"scipy.ndimage.{name} with one mode for each axis", "give one mode for all")
    axes = axes_of(axes, input.ndim)
    widths = [0] * input.ndim
    for axis, width in zip(axes, each(sigma, len(axes)), strict=True):
        widths[axis] = width
    orders = [[order if axis == other else 0 for other in range(input.ndim)] for axis in axes]
    return [gaussian_filter(input, widths, one, None, mode, cval, **options) for one in orders]


@stand_in(ndimage.gaussian_laplace)
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    input = as_operand(input)
    first, *rest = _derivatives("gaussian_laplace", input, sigma, 2, mode, cval, axes, kwargs)
    return in_dtype("gaussian_laplace", sum(rest, first), input, output)


@stand_in(ndimage.gaussian_gradient_magnitude)
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    input = as_operand(input)
    parts = _derivatives("gaussian_gradient_magnitude", input, sigma, 1, mode, cval, axes, kwargs)
    first, *rest = [part * part for part in parts]
    return in_dtype("gaussian_gradient_magnitude", np.sqrt(sum(rest, first)), input, output)


def _stacked(by_axis: bool, input: Any, size: Any, footprint: Any, mode: Any, cval: Any, origin: Any, axes: Any) -> Any:
    """What lies under a footprint, place by place, along a new first axis.

    SciPy lays the axes of the footprint along the axes in ascending order, however they are listed; but extremes
    in a box (`by_axis`) are taken along one axis after the other, as they are listed.
    """
    axes = axes_of(axes, input.ndim)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        footprint = np.ones([int(n) for n in each(size, len(axes))], bool)
    footprint = np.asarray(footprint, bool)
    if footprint.ndim != len(axes):
        raise RuntimeError(f"footprint.ndim ({footprint.ndim}) must match len(axes) ({len(axes)})")
    origins = dict(zip(axes, each(origin, len(axes)), strict=True))
    modes = dict(zip(axes, each(mode, len(axes)), strict=True))
    if by_axis and footprint.all():
        footprint = np.transpose(footprint, np.argsort(axes))
    axes, x = sorted(axes), input
    for axis, n in zip(axes, footprint.shape, strict=True):
        x = continued(x, axis, *lengths_around(n, origins[axis]), modes[axis], cval)
    parts = []
    for place in np.argwhere(footprint):
        start = dict(zip(axes, map(int, place), strict=True))
        parts.append(x[tuple(slice(start.get(k, 0), start.get(k, 0) + n) for k, n in enumerate(input.shape))])
    return np.stack(parts)


def _picked(name: str, rank_of: Any, input: Any, size: Any, footprint: Any, output: Any, *where: Any) -> Any:
    """The number of some rank among those under a footprint; `rank_of` says which, given how many there are."""
    input = as_operand(input)
    stack = _stacked(name in ("maximum_filter", "minimum_filter"), input, size, footprint, *where)
    count = stack.shape[0]
    rank = rank_of(count)
    rank = rank + count if rank < 0 else rank
    if not 0 <= rank < count:
        raise RuntimeError("rank not within filter footprint size")
    if rank in (0, count - 1):
        picked = np.min(stack, axis=0) if rank == 0 else np.max(stack, axis=0)
    else:
        picked = np.sort(stack, axis=0)[rank]
    return in_dtype(name, picked, input, output)


def _of_percentile(count: int, percentile: float) -> int:
    percentile = percentile + 100.0 if percentile < 0 else percentile
    if not 0 <= percentile <= 100:
        raise RuntimeError("invalid percentile")
    return count - 1 if percentile == 100.0 else int(float(count) * percentile / 100.0)


@stand_in(ndimage.maximum_filter)
def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    return _picked("maximum_filter", lambda count: count - 1, input, size, footprint, output, mode, cval, origin, axes)


@stand_in(ndimage.minimum_filter)
def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    return _picked("minimum_filter", lambda count: 0, input, size, footprint, output, mode, cval, origin, axes)


@stand_in(ndimage.median_filter)
def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    return _picked("median_filter", lambda count: count // 2, input, size, footprint, output, mode, cval, origin, axes)


@stand_in(ndimage.rank_filter)
def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    return _picked("rank_filter", lambda count: rank, input, size, footprint, output, mode, cval, origin, axes)


@stand_in(ndimage.percentile_filter)
def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    return _picked(
        "percentile_filter",
        lambda count: _of_percentile(count, percentile),
        input,
        size,
        footprint,
        output,
        mode,
        cval,
        origin,
        axes,
    )
