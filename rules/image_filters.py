"""Linear filters of `scipy.ndimage`: an array is continued beyond its ends, then met by a kernel in every place.

Continuing an array is `np.pad`, whose pull folds the cotangents of what was continued back onto it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, conj, lowering, needs, pulls, refuse, stand_in
from bridge.rules.contractions import as_operand, fitted

ndimage = needs("scipy.ndimage")

PADS = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "constant": "constant",
    "grid-constant": "constant",
    "nearest": "edge",
    "mirror": "reflect",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}


def windowed(x: Any, kernel: Any) -> Any:
    """Sums of `kernel` times the part of `x` under it, wherever it lies inside of `x`; computed in double precision."""
    if 0 in (x.ndim, x.size, kernel.size) or any(n > m for m, n in zip(x.shape, kernel.shape, strict=True)):
        raise ValueError("a kernel that is larger than the array")
    kind = x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)
    kind = np.result_type(kind, kernel) if kernel.dtype.kind == "c" else kind
    total = np.zeros(tuple(m - n + 1 for m, n in zip(x.shape, kernel.shape, strict=True)), kind)
    for part, unit in ((x.real, 1), (x.imag, 1j)) if x.dtype.kind == "c" else ((x, 1),):
        for taps, other in ((kernel.real, 1), (kernel.imag, 1j)) if kernel.dtype.kind == "c" else ((kernel, 1),):
            total += (unit * other * _real_window(part, taps)).astype(kind)
    return total


def _real_window(x, kernel):
    inside = tuple(slice(n // 2, n // 2 + m - n + 1) for m, n in zip(x.shape, kernel.shape, strict=True))
    long = [axis for axis, n in enumerate(kernel.shape) if n > 1]
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    if len(long) == 1:
        return ndimage.correlate1d(x, kernel.reshape(-1), long[0], mode="constant")[inside]
    return ndimage.correlate(x, kernel, mode="constant")[inside]


def _by_x(ct, out, x, kernel):
    around = [(n - 1, n - 1) for n in kernel.shape]
    turned = conj(kernel)[(slice(None, None, -1),) * len(kernel.shape)]
    return fitted(WINDOWED(np.pad(ct, around), turned), x.shape, x.dtype)


def _by_kernel(ct, out, x, kernel):
    sums = []
    for place in np.ndindex(*kernel.shape):
        under = tuple(slice(k, k + length) for k, length in zip(place, ct.shape, strict=True))
        sums.append(np.sum(ct * conj(x[under])))
    return fitted(np.reshape(np.stack(sums), kernel.shape), kernel.shape, kernel.dtype).astype(kernel.dtype, copy=False)


WINDOWED = pulls(windowed, _by_x, _by_kernel)


@lowering(windowed)
def _(x, kernel):
    import jax.numpy as jnp
    from jax.scipy.signal import correlate

    x, kernel = jnp.asarray(x), jnp.conj(jnp.asarray(kernel))
    found = correlate(x, kernel, "valid")
    return found.astype(x.dtype) if x.dtype.kind == "c" or kernel.dtype.kind != "c" else found


def in_dtype(name: str, result: Any, like: Any, output: Any) -> Any:
    """The result in the dtype that SciPy gives it: that of its input, unless `output` says another one."""
    if isinstance(output, np.ndarray) or hasattr(output, "place"):
        refuse(f"scipy.ndimage.{name} with an array as output=", "assign the result: out[...] = ...")
    dtype = like.dtype if output is None else np.dtype(output)
    if dtype.kind not in "fc":
        refuse(f"scipy.ndimage.{name} with a result of dtype {dtype}, which is rounded", "give it a float array")
    return result.astype(np.result_type(dtype, np.complex64) if result.dtype.kind == "c" else dtype, copy=False)


def axes_of(axes: Any, ndim: int) -> tuple[int, ...]:
    """The axes that `axes` names, all of them for None."""
    chosen = range(ndim) if axes is None else np.atleast_1d(axes)
    found = tuple(int(axis) % ndim for axis in chosen)
    if len(set(found)) != len(found):
        raise ValueError("axes must be unique")
    return found


def each(value: Any, count: int) -> list[Any]:
    """One value for each axis; a value that is given once serves all."""
    if isinstance(value, (list, tuple)) or (hasattr(value, "shape") and value.shape):
        if len(value) != count:
            raise RuntimeError("sequence argument must have length equal to input rank")
        return list(value)
    return [value] * count


def continued(x: Any, axis: int, before: int, after: int, mode: str, cval: Any) -> Any:
    """`x` with so many numbers more at both ends of an axis."""
    if mode not in PADS:
        raise RuntimeError("boundary mode not supported")
    widths = [(before, after) if k == axis else (0, 0) for k in range(x.ndim)]
    fill = {"constant_values": cval} if PADS[mode] == "constant" else {}
    return np.pad(x, widths, PADS[mode], **fill)


def lengths_around(size: int, origin: int) -> tuple[int, int]:
    """How many numbers of a window lie before and after its place."""
    before = size // 2 + int(origin)
    if not 0 <= before < size:
        raise ValueError("Invalid origin; origin must satisfy -(size // 2) <= origin <= (size - 1) // 2")
    return before, size - 1 - before


def _along(x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int) -> Any:
    """The correlation with a row of weights along one axis."""
    axis %= x.ndim
    x = continued(x, axis, *lengths_around(weights.shape[0], origin), mode, cval)
    shape = tuple(-1 if k == axis else 1 for k in range(x.ndim))
    return WINDOWED(x, np.reshape(weights, shape))


def _turned(weights: Any, origin: int) -> tuple[Any, int]:
    """The weights and the origin of the correlation that a convolution is."""
    return weights[::-1], -origin - (weights.shape[0] % 2 == 0)


@stand_in(ndimage.correlate1d)
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    input, weights = as_operand(input), np.conj(as_operand(weights))
    return in_dtype("correlate1d", _along(input, weights, axis, mode, cval, origin), input, output)


@stand_in(ndimage.convolve1d)
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    weights, origin = _turned(as_operand(weights), origin)
    input = as_operand(input)
    return in_dtype("convolve1d", _along(input, weights, axis, mode, cval, origin), input, output)


def _in_all_axes(name: str, input: Any, weights: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any) -> Any:
    input, weights = as_operand(input), as_operand(weights)
    axes = axes_of(axes, input.ndim)
    if weights.ndim != len(axes):
        raise RuntimeError(f"weights.ndim ({weights.ndim}) must match len(axes) ({len(axes)})")
    origins = dict(zip(axes, each(origin, len(axes)), strict=True))
    turned = (slice(None, None, -1),) * weights.ndim
    weights = weights[turned] if name == "convolve" else np.conj(weights)
    shape, x = [1] * input.ndim, input
    # SciPy lays the axes of the weights along the axes in ascending order, however they are listed.
    for axis, n in zip(sorted(axes), weights.shape, strict=True):
        shape[axis] = n
        first = -origins[axis] - (n % 2 == 0) if name == "convolve" else origins[axis]
        x = continued(x, axis, *lengths_around(n, first), mode, cval)
    return in_dtype(name, WINDOWED(x, np.reshape(weights, shape)), input, output)


@stand_in(ndimage.correlate)
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    return _in_all_axes("correlate", input, weights, output, mode, cval, origin, axes)


@stand_in(ndimage.convolve)
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    return _in_all_axes("convolve", input, weights, output, mode, cval, origin, axes)


Along = Callable[[Any, int, str], Any]


def filtered_along(x: Any, axes: Any, mode: Any, along: list[Along]) -> Any:
    """One filter of one axis after the other."""
    for axis, one_mode, one in zip(axes, each(mode, len(axes)), along, strict=True):
        x = one(x, axis, one_mode)
    return x


@stand_in(ndimage.uniform_filter1d)
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    input = as_operand(input)
    result = _along(input, np.full(size, 1 / size), axis, mode, cval, origin)
    return in_dtype("uniform_filter1d", result, input, output)


@stand_in(ndimage.uniform_filter)
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    input = as_operand(input)
    axes = axes_of(axes, input.ndim)
    along: list[Along] = [
        lambda x, axis, mode, n=int(n), origin=origin: (
            uniform_filter1d(x, n, axis, None, mode, cval, origin) if n > 1 else x
        )
        for n, origin in zip(each(size, len(axes)), each(origin, len(axes)), strict=True)
    ]
    return in_dtype("uniform_filter", filtered_along(input, axes, mode, along), input, output)


def _differences(name: str, smoothing: list[float]) -> Callable[..., Any]:
    """Central differences along one axis, smoothed along the others."""

    def differ(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
        input = as_operand(input)
        axis %= input.ndim
        modes = each(mode, input.ndim)
        x = _along(input, np.array([-1.0, 0.0, 1.0]), axis, modes[axis], cval, 0)
        for other in range(input.ndim):
            if other != axis:
                x = _along(x, np.array(smoothing), other, modes[other], cval, 0)
        return in_dtype(name, x, input, output)

    differ.__name__ = differ.__qualname__ = name
    return differ


sobel = stand_in(ndimage.sobel)(_differences("sobel", [1.0, 2.0, 1.0]))
prewitt = stand_in(ndimage.prewitt)(_differences("prewitt", [1.0, 1.0, 1.0]))


@stand_in(ndimage.laplace)
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Any:
    input = as_operand(input)
    axes = axes_of(axes, input.ndim)
    weights = np.array([1.0, -2.0, 1.0])
    parts = [_along(input, weights, axis, one, cval, 0) for axis, one in zip(axes, each(mode, len(axes)), strict=True)]
    return in_dtype("laplace", sum(parts[1:], parts[0]) if parts else np.copy(input), input, output)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for m, n in (((5,), (3,)), ((4, 5), (2, 3)), ((4, 5), (1, 3)), ((3, 4, 3), (2, 1, 3))):
        x, kernel = rng.normal(size=m), rng.normal(size=n)
        yield Case(windowed, (x, kernel))
        yield Case(windowed, (x + 1j * x[::-1], kernel))
        yield Case(windowed, (x + 1j * x[::-1], kernel - 1j))
