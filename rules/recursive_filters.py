"""Recursive filters of `scipy.signal`: difference equations, forwards and back, with initial states.

The filter `a[0] y[n] = sum b[k] x[n - k] - sum a[k] y[n - k]` is linear in `x`; its adjoint runs backwards. In the
transposed direct form that SciPy computes, the initial state is what is added to the first right-hand sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, conj, lowering, needs, pulls, refuse, stand_in
from bridge.rules.contractions import as_operand, fitted

signal = needs("scipy.signal")


def filtered(b: Any, a: Any, x: Any, zi: Any) -> Any:
    """`lfilter` along the last axis; `a` leaves out its leading 1, and `zi` has the leading axes of `x`."""
    return signal.lfilter(b, _with_one(a), x, -1, zi)[0]


def _with_one(a):
    return np.concatenate([np.ones(1, a.dtype), a])


def _rest(x, order, *coefficients):
    """The initial state of a filter at rest."""
    return np.zeros((*x.shape[:-1], order), np.result_type(*(part.dtype for part in (x, *coefficients))))


def _driven(ct, a):
    """The cotangent of the right-hand side: the recursion, run from the last number to the first."""
    one = np.ones(1, a.dtype)
    return FILTERED(one, conj(a), ct[..., ::-1], _rest(ct, a.shape[0], a))[..., ::-1]


def _lagged(driven, x, lags):
    """Sums of `driven[n] * conj(x[n - lag])` over all n."""
    length = x.shape[-1]
    return np.stack([np.sum(driven[..., lag:] * conj(x[..., : max(length - lag, 0)])) for lag in lags])


def _by_b(ct, out, b, a, x, zi):
    return fitted(_lagged(_driven(ct, a), x, range(b.shape[0])), b.shape, b.dtype)


def _by_a(ct, out, b, a, x, zi):
    if a.shape[0] == 0:
        return np.zeros_like(a)
    return fitted(-_lagged(_driven(ct, a), out, range(1, a.shape[0] + 1)), a.shape, a.dtype)


def _by_x(ct, out, b, a, x, zi):
    driven = _driven(ct, a)[..., ::-1]
    none = np.zeros(0, b.dtype)
    return fitted(FILTERED(conj(b), none, driven, _rest(driven, b.shape[0] - 1, b))[..., ::-1], x.shape, x.dtype)


def _by_zi(ct, out, b, a, x, zi):
    kept = _driven(ct, a)[..., : zi.shape[-1]]
    unused = zi.shape[-1] - kept.shape[-1]
    if unused:
        kept = np.concatenate([kept, np.zeros((*zi.shape[:-1], unused), kept.dtype)], axis=-1)
    return fitted(kept, zi.shape, zi.dtype)


FILTERED = pulls(filtered, _by_b, _by_a, _by_x, _by_zi)


@lowering(filtered)
def _(b, a, x, zi):
    """The transposed direct form, one sample after the other; an axis of length 0 has no sample to begin with."""
    import jax
    import jax.numpy as jnp

    b, a, x, zi = map(jnp.asarray, (b, a, x, zi))
    order = zi.shape[-1]
    ahead = jnp.zeros(order + 1, b.dtype).at[: b.shape[0]].set(b)
    back = jnp.zeros(order, a.dtype).at[: a.shape[0]].set(a)
    kind = jnp.result_type(b, a, x, zi)

    def step(state, sample):
        y = ahead[0] * sample + (state[..., 0] if order else 0)
        if not order:
            return state, y.astype(kind)
        moved = jnp.concatenate([state[..., 1:], jnp.zeros_like(state[..., :1])], axis=-1)
        return (moved + ahead[1:] * sample[..., None] - back * y[..., None]).astype(kind), y.astype(kind)

    _, found = jax.lax.scan(step, zi.astype(kind), jnp.moveaxis(x, -1, 0))
    return jnp.moveaxis(found, 0, -1)


def lfilter_along(b: Any, a: Any, x: Any, zi: Any) -> tuple[Any, Any]:
    """`lfilter` along the last axis, and the final state; `zi` is None for rest."""
    b, a = np.reshape(as_operand(b), -1), np.reshape(as_operand(a), -1)
    if a[0] == 0:
        raise ValueError("lfilter: the first coefficient of a recursive filter, a[0], is zero")
    b, a = b / a[0], a[1:] / a[0]
    order = max(a.shape[0] + 1, b.shape[0]) - 1
    start = _rest(x, order, a, b) if zi is None else zi
    if tuple(start.shape) != (*x.shape[:-1], order):
        start = np.broadcast_to(start, (*x.shape[:-1], order))
    return FILTERED(b, a, x, start), (b, a, start)


def _final_state(y: Any, x: Any, b: Any, a: Any, start: Any) -> Any:
    """What earlier terms add to the right-hand sides that come after the last one."""
    length, order = x.shape[-1], start.shape[-1]
    parts = []
    for k in range(order):
        total = start[..., length + k] if length + k < order else 0 * start[..., 0]
        for lag in range(k + 1, min(order, length + k) + 1):
            if lag < b.shape[0]:
                total = total + b[lag] * x[..., length + k - lag]
            if lag <= a.shape[0]:
                total = total - a[lag - 1] * y[..., length + k - lag]
        parts.append(total)
    return np.stack(parts, axis=-1) if parts else start


@stand_in(signal.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    x = np.moveaxis(as_operand(x), axis, -1)
    zi = None if zi is None else np.moveaxis(as_operand(zi), axis, -1)
    y, (b, a, start) = lfilter_along(b, a, x, zi)
    y_back = np.moveaxis(y, -1, axis)
    return y_back if zi is None else (y_back, np.moveaxis(_final_state(y, x, b, a, start), -1, axis))


@stand_in(signal.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Any:
    """The state in which a step is answered by its final value: a linear system of the companion matrix."""
    b, a = as_operand(b), as_operand(a)
    b, a = b / a[0], a / a[0]
    n = max(a.shape[0], b.shape[0])
    b, a = (np.concatenate([part, np.zeros(n - part.shape[0])]) for part in (b, a))
    shift = np.eye(n - 1, k=1)
    first = np.zeros(n - 1)
    first[:1] = 1
    return np.linalg.solve(np.eye(n - 1) - shift + np.outer(a[1:], first), b[1:] - a[1:] * b[0])


def extended(x: Any, padtype: str | None, padlen: int | None, taps: int) -> tuple[int, Any]:
    """What is filtered there and back: `x` continued at both ends of the last axis, and by how much."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(f"Unknown value '{padtype}' given to padtype: 'even', 'odd', 'constant', or None")
    edge = 0 if padtype is None else 3 * taps if padlen is None else padlen
    if x.shape[-1] <= edge:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {edge}.")
    if edge == 0:
        return 0, x
    left, right = x[..., edge:0:-1], x[..., -2 : -(edge + 2) : -1]
    if padtype == "odd":
        left, right = 2 * x[..., :1] - left, 2 * x[..., -1:] - right
    elif padtype == "constant":
        left, right = 0 * left + x[..., :1], 0 * right + x[..., -1:]
    return edge, np.concatenate([left, x, right], axis=-1)


@stand_in(signal.filtfilt)
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Any:
    if method != "pad":
        refuse(f"scipy.signal.filtfilt with method={method!r}", 'use method="pad"')
    b, a = np.reshape(as_operand(b), -1), np.reshape(as_operand(a), -1)
    edge, x = extended(np.moveaxis(as_operand(x), axis, -1), padtype, padlen, max(a.shape[0], b.shape[0]))
    rest = lfilter_zi(b, a)
    for _ in range(2):
        x = lfilter_along(b, a, x, rest * x[..., :1])[0][..., ::-1]
    return np.moveaxis(x[..., edge : x.shape[-1] - edge], -1, axis)


def _sections(sos: Any, x: Any, zi: Any) -> tuple[Any, Any]:
    """One section after the other along the last axis; `zi[k]` is the state of number k, None for rest."""
    final = []
    for k in range(sos.shape[0]):
        y, (b, a, start) = lfilter_along(sos[k, :3], sos[k, 3:], x, None if zi is None else zi[k])
        final.append(None if zi is None else _final_state(y, x, b, a, start))
        x = y
    return x, final


@stand_in(signal.sosfilt)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    sos, x = as_operand(sos), as_operand(x)
    axis %= x.ndim
    states = None if zi is None else np.moveaxis(as_operand(zi), axis + 1, -1)
    y, final = _sections(sos, np.moveaxis(x, axis, -1), states)
    y = np.moveaxis(y, -1, axis)
    return y if zi is None else (y, np.moveaxis(np.stack(final), -1, axis + 1))


@stand_in(signal.sosfilt_zi)
def sosfilt_zi(sos: Any) -> Any:
    sos, scale, states = as_operand(sos), 1.0, []
    for k in range(sos.shape[0]):
        states.append(scale * lfilter_zi(sos[k, :3], sos[k, 3:]))
        scale = scale * np.sum(sos[k, :3]) / np.sum(sos[k, 3:])
    return np.stack(states)


@stand_in(signal.sosfiltfilt)
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None) -> Any:
    sos = as_operand(sos)
    taps = 2 * sos.shape[0] + 1 - min(int(np.sum(sos[:, 2] == 0)), int(np.sum(sos[:, 5] == 0)))
    edge, x = extended(np.moveaxis(as_operand(x), axis, -1), padtype, padlen, taps)
    rest = np.reshape(sosfilt_zi(sos), (sos.shape[0],) + (1,) * (x.ndim - 1) + (2,))
    for _ in range(2):
        x = _sections(sos, x, rest * x[..., :1])[0][..., ::-1]
    return np.moveaxis(x[..., edge : x.shape[-1] - edge], -1, axis)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for shape in ((6,), (2, 5)):
        for a in (np.array([-0.5, 0.2]), np.array([0.3])):
            for taps in (1, 2, 4):
                b, x = rng.normal(size=taps), rng.normal(size=shape)
                state = rng.normal(size=(*shape[:-1], max(taps - 1, a.size)))
                yield Case(filtered, (b, a, x, state))
                yield Case(filtered, (b + 1j, 1j * a, x + 1j, state + 1j))
