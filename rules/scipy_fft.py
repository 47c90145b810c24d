"""`scipy.fft`, and what programs use of `scipy.fftpack`: Fourier transforms are NumPy's, cosine and sine ones are here.

Without scaling, the transposes of these are such transforms again, up to the weights of the first and the last element.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, conj, needs, rule, stand_in, zeros
from bridge.rules.scipy_arguments import inexact

fft = needs("scipy.fft")

_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
_REAL_INPUT = ("rfft", "ihfft")


def _operand(x, name, plan=None):
    if plan is not None:
        raise NotImplementedError("Passing a precomputed plan is not yet supported by scipy.fft functions")
    x = inexact(x)
    if name.startswith(_REAL_INPUT) and x.dtype.kind == "c":
        raise TypeError("x must be a real sequence")
    return x


def _integers(x):
    return [operator.index(x)] if np.ndim(x) == 0 else list(map(operator.index, x))


def _lengths_and_axes(shape, s, axes):
    """The lengths and axes of a transform along several axes, as SciPy completes and checks them."""
    if axes is None:
        axes = list(range(len(shape))) if s is None else list(range(len(shape)))[-len(_integers(s)) :]
    axes = [k + len(shape) if k < 0 else k for k in _integers(axes)]
    if any(not 0 <= k < len(shape) for k in axes):
        raise ValueError("axes exceeds dimensionality of input")
    if len(set(axes)) != len(axes):
        raise ValueError("all axes must be unique")
    lengths = [shape[k] for k in axes] if s is None else _integers(s)
    if len(lengths) != len(axes):
        raise ValueError("when given, axes and shape arguments have to be of the same length")
    return [shape[k] if n == -1 else n for n, k in zip(lengths, axes, strict=True)], axes


def _of_one_axis(name: str) -> Callable[..., Any]:
    computes = getattr(np.fft, name)

    def transform(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None):
        return computes(_operand(x, name, plan), n, axis, norm)

    return transform


def _of_several_axes(name: str, all_axes: Any) -> Callable[..., Any]:
    """`hfftn` is `irfftn` of the conjugate, `ihfftn` the conjugate of `rfftn`, with the normalizations exchanged."""
    computes = getattr(np.fft, {"hfft": "irfftn", "ihfft": "rfftn"}.get(name[:-1], name[:-1] + "n"))

    def transform(x, s=None, axes=all_axes, norm=None, overwrite_x=False, workers=None, *, plan=None):
        x = _operand(x, name, plan)
        given = s is not None
        lengths, axes = _lengths_and_axes(x.shape, s, axes)
        if name.startswith(("irfft", "hfft")) and not given:
            lengths[-1] = 2 * (lengths[-1] - 1)
        if name.startswith("hfft"):
            return computes(conj(x), lengths, axes, _SWAPPED[norm])
        if name.startswith("ihfft"):
            return conj(computes(x, lengths, axes, _SWAPPED[norm]))
        return computes(x, lengths, axes, norm)

    return transform


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    stand_in(getattr(fft, _name))(_of_one_axis(_name))
    for _suffix, _axes in (("2", (-2, -1)), ("n", None)):
        stand_in(getattr(fft, _name + _suffix))(_of_several_axes(_name + _suffix, _axes))


@stand_in(fft.fftshift)
def fftshift(x, axes=None):
    return np.fft.fftshift(x, axes)


@stand_in(fft.ifftshift)
def ifftshift(x, axes=None):
    return np.fft.ifftshift(x, axes)


def _ends(n: int, first: float, last: float, dtype: Any) -> Any:
    """Ones, with other weights at the two ends."""
    weights = np.ones(n, np.empty(0, dtype).real.dtype)
    weights[0] *= first
    weights[-1] *= last
    return weights


def cosine_or_sine(x, name, kind):
    """The transform without scaling, along the last axis: `name` is dct or dst, `kind` 1 to 4."""
    return getattr(fft, name)(x, kind)


@rule(cosine_or_sine, reads=(), linear=True, facts=Facts(static=("name", "kind"), precision="inexact"))
def cosine_or_sine(ct, out, x, name, kind):
    n = ct.shape[-1]
    cosine = name == "dct"
    ends = partial(_ends, n, dtype=ct.dtype)
    if kind == 1 and cosine:
        weights = 2 / ends(2, 2)
        return cosine_or_sine(ct / weights, name, kind) * weights
    if kind == 2:
        return cosine_or_sine(ct * (ends(2, 1) if cosine else ends(1, 2)), name, 3)
    if kind == 3:
        return cosine_or_sine(ct, name, 2) * (ends(0.5, 1) if cosine else ends(1, 0.5))
    return cosine_or_sine(ct, name, kind)


_INVERSE_KINDS = {1: 1, 2: 3, 3: 2, 4: 4}


def _along(x, name, kind, n, axis, norm, orthogonal, inverse):
    """A cosine or sine transform along one axis, scaled."""
    if kind not in _INVERSE_KINDS:
        raise ValueError("Invalid type", kind)
    if norm not in _SWAPPED:
        raise ValueError(f'Invalid norm value {norm!r}, should be "backward", "ortho" or "forward"')
    orthogonal = norm == "ortho" if orthogonal is None else orthogonal
    x = _resized(np.moveaxis(x, axis, -1), x.shape[axis] if n is None else operator.index(n))
    length, cosine, root = x.shape[-1], name == "dct", 2**0.5
    kind = _INVERSE_KINDS[kind] if inverse else kind
    if orthogonal and kind in (1, 3) and (cosine or kind == 3):
        last = root if kind == 1 or not cosine else 1
        x = x * _ends(length, root if cosine else 1, last, x.dtype)
    y = cosine_or_sine(x, name, kind)
    if orthogonal and kind in (1, 2) and (cosine or kind == 2):
        last = 1 / root if kind == 1 or not cosine else 1
        y = y * _ends(length, 1 / root if cosine else 1, last, x.dtype)
    period = 2 * (length + (0 if kind != 1 else -1 if cosine else 1))
    if norm == "ortho":
        y = y * (1 / period**0.5)
    elif (norm == "forward") != inverse:
        y = y * (1 / period)
    return np.moveaxis(y, -1, axis)


def _resized(x, length):
    """`x` cut, or filled up with zeros, to `length` along the last axis."""
    if length < 1:
        raise ValueError(f"invalid number of data points ({length}) specified")
    if length <= x.shape[-1]:
        return x[..., :length]
    return np.concatenate([x, zeros((*x.shape[:-1], length - x.shape[-1]), like=x)], axis=-1)


def _several(x, name, kind, s, axes, norm, orthogonal, inverse):
    x = inexact(x)
    for n, axis in zip(*_lengths_and_axes(x.shape, s, axes), strict=True):
        x = _along(x, name, kind, n, axis, norm, orthogonal, inverse)
    return x


def _register_trigonometric(name: str, inverse: bool) -> None:
    spelled = f"i{name}" if inverse else name

    def one(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
        return _along(inexact(x), name, type, n, axis, norm, orthogonalize, inverse)

    def several(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None):
        return _several(x, name, type, s, axes, norm, orthogonalize, inverse)

    stand_in(getattr(fft, spelled))(one)
    stand_in(getattr(fft, spelled + "n"))(several)


for _name in ("dct", "dst"):
    for _inverse in (False, True):
        _register_trigonometric(_name, _inverse)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for name in ("dct", "dst"):
        for kind in (1, 2, 3, 4):
            yield Case(cosine_or_sine.function, (rng.normal(size=4), name, kind))
            yield Case(cosine_or_sine.function, (rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3)), name, kind))
