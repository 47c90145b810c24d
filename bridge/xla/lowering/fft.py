"""Fourier transforms along several axes, one after the other, as NumPy does it: axes may repeat, `s` may hold -1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from bridge.xla.lowering.register import entry


def _sizes(a: Any, s: Any, axes: Any, halved: bool) -> tuple[list[int], list[int]]:
    """Lengths and axes; a length of -1 stands for the axis as it is."""
    if axes is None:
        axes = range(a.ndim) if s is None else range(-len(s), 0)
    axes = [int(k) for k in axes]
    lengths = [a.shape[k] for k in axes] if s is None else [a.shape[k] if n == -1 else int(n) for n, k in zip(s, axes, strict=True)]  # fmt: skip  # noqa: E501
    if halved and axes and (s is None or s[-1] == -1):
        lengths[-1] = 2 * (a.shape[axes[-1]] - 1)
    return lengths, axes


def _complex(name: str, default: Any) -> Callable[..., Any]:
    one = getattr(jnp.fft, name)

    def transform(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        lengths, axes = _sizes(a, s, axes, False)
        for n, k in reversed(list(zip(lengths, axes, strict=True))):
            a = one(a, n, k, norm)
        return a

    return transform


def _of_real(default: Any) -> Callable[..., Any]:
    def transform(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        lengths, axes = _sizes(a, s, axes, False)
        a = jnp.fft.rfft(a, lengths[-1], axes[-1], norm)
        for n, k in reversed(list(zip(lengths[:-1], axes[:-1], strict=True))):
            a = jnp.fft.fft(a, n, k, norm)
        return a

    return transform


def _to_real(default: Any) -> Callable[..., Any]:
    def transform(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        lengths, axes = _sizes(a, s, axes, True)
        for n, k in zip(lengths[:-1], axes[:-1], strict=True):
            a = jnp.fft.ifft(a, n, k, norm)
        return jnp.fft.irfft(a, lengths[-1], axes[-1], norm)

    return transform


for _suffix, _default in (("2", (-2, -1)), ("n", None)):
    entry(f"np.fft.fft{_suffix}")(_complex("fft", _default))
    entry(f"np.fft.ifft{_suffix}")(_complex("ifft", _default))
    entry(f"np.fft.rfft{_suffix}")(_of_real(_default))
    entry(f"np.fft.irfft{_suffix}")(_to_real(_default))
