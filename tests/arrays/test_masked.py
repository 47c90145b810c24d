"""Masked arrays with tracked data: values, masks and fill values are those of NumPy, gradients those of differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError
from tests.helpers.by_differences import differences

X = np.array([0.7, -1.3, 2.1, 0.4])
CONSTANT = np.ma.array([1.0, 2.0, 3.0, 4.0], mask=[0, 0, 1, 0])
NESTED = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])


def m(x: Any, mask: Any = (0, 1, 0, 0), **how: Any) -> Any:
    return np.ma.array(x, mask=list(mask), **how)


EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "array": lambda x: np.ma.array(2 * x, mask=[0, 1, 0, 0]),
    "array of a list": lambda x: np.ma.array([x[0], x[1] * 2, 3.0], mask=[0, 0, 1]),
    "masked_array": lambda x: np.ma.masked_array(x, mask=x < 0),
    "MaskedArray": lambda x: np.ma.MaskedArray(x, mask=[1, 0, 0, 0], fill_value=-9.0),
    "no mask": lambda x: np.ma.array(x) * 2,
    "mask of one": lambda x: np.ma.array(x, mask=True),
    "masked_where": lambda x: np.ma.masked_where(x < 0, x) ** 2,
    "masked_where of a constant": lambda x: np.ma.masked_where(x < 0, np.ones(4)) * x,
    "masked_where without a copy": lambda x: np.ma.masked_where([1, 0, 0, 0], x, copy=False) * x,
    "index by masked": lambda x: np.ma.array(x)[(np.ma.array(x) > 0) & (np.ma.array(x) < 2)] * 2,
    "masked_invalid": lambda x: np.ma.masked_invalid(x / np.array([1.0, 0.0, 2.0, 3.0])),
    "masked_less": lambda x: np.ma.masked_less(x, 0.5) * x,
    "masked_less_equal": lambda x: np.ma.masked_less_equal(x, 0.41) * x,
    "masked_greater": lambda x: np.ma.masked_greater(x, 0.5) * x,
    "masked_greater_equal": lambda x: np.ma.masked_greater_equal(x, 0.69) * x,
    "masked_equal": lambda x: np.ma.masked_equal(np.round(x), 1.0) * x,
    "masked_not_equal": lambda x: np.ma.masked_not_equal(np.round(x), 1.0) * x,
    "masked_values": lambda x: np.ma.masked_values(x, 0.7) * x,
    "masked_inside": lambda x: np.ma.masked_inside(x, 0, 1) * x,
    "masked_outside": lambda x: np.ma.masked_outside(x, 0, 1) * x,
    "fix_invalid": lambda x: np.ma.fix_invalid(np.sqrt(x), fill_value=3.0),
    "+": lambda x: m(x) + x,
    "+ of two": lambda x: m(x) + m(x, (1, 0, 0, 0)),
    "r+": lambda x: x + m(x),
    "r+ of a number": lambda x: 2.0 + m(x),
    "r-": lambda x: x - m(2 * x),
    "-": lambda x: m(x) - 3 * x,
    "*": lambda x: m(x) * m(x),
    "/": lambda x: m(x) / np.array([1.0, 2.0, 0.0, 3.0]),
    "/ by tracked": lambda x: 1.0 / (m(x) - 0.1),
    "r/": lambda x: x / m(x),
    "//": lambda x: m(x) // 0.37,
    "%": lambda x: m(x) % 0.37,
    "**": lambda x: m(x) ** 3,
    "** 0.5": lambda x: m(x) ** 0.5,
    "** negative": lambda x: m(x, (0, 0, 1, 0)) ** -2,
    "** array": lambda x: m(x, (0, 0, 1, 0)) ** np.array([2.0, 0.5, 1.0, 3.0]),
    "neg": lambda x: -m(x),
    "abs": lambda x: abs(m(x, (0, 0, 1, 0))),
    "@": lambda x: np.ma.dot(m(x).reshape(2, 2), m(x).reshape(2, 2)),
    "plain * tracked": lambda x: CONSTANT * x,
    "tracked * plain": lambda x: x * CONSTANT,
    "plain / tracked": lambda x: CONSTANT / x,
    "np.multiply of plain": lambda x: np.multiply(CONSTANT, x),
    "np.ma.multiply of plain": lambda x: np.ma.multiply(CONSTANT, x),
    "plain and tracked masked": lambda x: CONSTANT * m(x) + CONSTANT,
    "tracked > plain": lambda x: np.where(np.ma.filled(x > CONSTANT, False), x, 2 * x),
    "plain < tracked": lambda x: np.where(np.ma.filled(m([1.0, 0.0, 1.0, 1.0]) < x, False), x, 2 * x),
    "<": lambda x: np.ma.where(m(x) < 0.5, x, x**2),
    "==": lambda x: np.ma.where(m(x) == x, x, x**2),
    "np.exp": lambda x: np.exp(m(x)),
    "np.ma.exp": lambda x: np.ma.exp(m(x)),
    "np.log": lambda x: np.log(m(x, (0, 0, 0, 1))),
    "np.ma.log": lambda x: np.ma.log(m(x, (0, 0, 0, 1))),
    "np.ma.log of an array": lambda x: np.ma.log(x),
    "np.ma.log10": lambda x: np.ma.log10(m(x, (0, 0, 0, 1))),
    "np.sqrt": lambda x: np.sqrt(m(x, (0, 0, 0, 1))),
    "np.ma.sqrt": lambda x: np.ma.sqrt(m(x, (0, 0, 0, 1))),
    "np.ma.arcsin": lambda x: np.ma.arcsin(m(x, (0, 0, 0, 1))),
    "np.ma.tan": lambda x: np.ma.tan(m(x)),
    "np.add": lambda x: np.add(m(x), x),
    "np.add, swapped": lambda x: np.add(x, m(x)),
    "np.divide": lambda x: np.divide(x, m(x * np.array([0.0, 1.0, 2.0, 1.0]))),
    "np.ma.divide": lambda x: np.ma.divide(x, m(x * np.array([0.0, 1.0, 2.0, 1.0]))),
    "np.hypot": lambda x: np.hypot(m(x), x[::-1]),
    "np.maximum": lambda x: np.maximum(m(x), x[::-1]),
    "np.ma.maximum": lambda x: np.ma.maximum(m(x), x[::-1]),
    "np.ma.minimum": lambda x: np.ma.minimum(m(x), 0.5),
    "np.ma.power": lambda x: np.ma.power(m(x), 2.0),
    "sum": lambda x: (m(x) ** 2).sum(),
    "sum of all masked": lambda x: np.ma.filled(m(x, (1, 1, 1, 1)).sum(), 3.0) + x[0],
    "np.sum": lambda x: np.sum(m(x) ** 2),
    "np.ma.sum": lambda x: np.ma.sum(m(x) ** 2),
    "sum of an axis": lambda x: (m(x).reshape(2, 2) ** 2).sum(axis=0),
    "sum, keepdims": lambda x: (m(x).reshape(2, 2) ** 2).sum(axis=1, keepdims=True),
    "sum of a masked row": lambda x: m(x, (1, 1, 0, 0)).reshape(2, 2).sum(axis=1),
    "mean": lambda x: m(x).mean(),
    "mean without mask": lambda x: np.ma.array(x).mean(),
    "mean of an axis": lambda x: m(x).reshape(2, 2).mean(axis=0),
    "np.mean": lambda x: np.mean(m(x)),
    "np.ma.mean": lambda x: np.ma.mean(m(x)),
    "min": lambda x: m(x).min(),
    "max": lambda x: m(x, (0, 0, 1, 0)).max(),
    "min of an axis": lambda x: m(x).reshape(2, 2).min(axis=1),
    "max of an axis": lambda x: m(x, (1, 1, 0, 0)).reshape(2, 2).max(axis=1),
    "ptp": lambda x: m(x).ptp(),
    "std": lambda x: m(x).std(),
    "std without mask": lambda x: np.ma.array(x).std(),
    "var": lambda x: m(x).var(),
    "var of an axis": lambda x: m(x).reshape(2, 2).var(axis=0, ddof=1),
    "np.var": lambda x: np.var(m(x)),
    "prod": lambda x: m(x).prod(),
    "prod of an axis": lambda x: m(x).reshape(2, 2).prod(axis=0),
    "cumsum": lambda x: m(x).cumsum(),
    "cumprod": lambda x: m(x).cumprod(),
    "any": lambda x: x * (m(x) > 1.0).any(),
    "all": lambda x: x * (m(x) > 0.0).all(),
    "count": lambda x: x * m(x).count(),
    "count of an axis": lambda x: x[:2] * m(x).reshape(2, 2).count(axis=0),
    "np.ma.count": lambda x: x * np.ma.count(m(x)),
    "np.ma.count_masked": lambda x: x * np.ma.count_masked(m(x)),
    "average": lambda x: np.ma.average(m(x), weights=x**2),
    "average of an axis": lambda x: np.ma.average(m(x).reshape(2, 2), axis=0, weights=[1.0, 2.0]),
    "np.average": lambda x: np.ma.average(m(x)),
    "anom": lambda x: m(x).anom(),
    "dot": lambda x: m(x).dot(m(x)),
    "np.ma.dot": lambda x: np.ma.dot(m(x), x),
    "inner": lambda x: np.ma.inner(m(x), x),
    "outer": lambda x: np.ma.outer(m(x), x),
    "median": lambda x: np.ma.median(m(x)),
    "filled": lambda x: m(x * 2).filled(5.0),
    "filled, default": lambda x: m(x * 2, fill_value=7.0).filled() * x,
    "np.ma.filled": lambda x: np.ma.filled(m(x), 0.0) * x,
    "compressed": lambda x: m(x).compressed() ** 2,
    "np.ma.compressed": lambda x: np.ma.compressed(m(x)) ** 2,
    "getmask": lambda x: np.where(np.ma.getmask(m(x)), x, 2 * x),
    "getmaskarray": lambda x: np.where(np.ma.getmaskarray(np.ma.array(x)), x, 2 * x),
    "getdata": lambda x: np.ma.getdata(m(x)) ** 2,
    "data": lambda x: m(x).data ** 2,
    "mask": lambda x: x * m(x).mask,
    "T": lambda x: m(x).reshape(2, 2).T * x.reshape(2, 2),
    "reshape": lambda x: m(x).reshape(2, 2) * x[:2],
    "ravel": lambda x: m(x).reshape(2, 2).ravel() * 2,
    "transpose": lambda x: m(x).reshape(2, 2).transpose() * x[:2],
    "swapaxes": lambda x: m(x).reshape(2, 2).swapaxes(0, 1) * x[:2],
    "squeeze": lambda x: m(x).reshape(1, 4).squeeze() * x,
    "copy": lambda x: m(x).copy() * x,
    "astype": lambda x: m(x).astype(float) * x,
    "repeat": lambda x: m(x).repeat(2) * 2,
    "take": lambda x: m(x).take([0, 1, 1]) * 2,
    "clip": lambda x: m(x).clip(0.0, 1.0) * 2,
    "round": lambda x: m(x).round(1) + x,
    "diagonal": lambda x: m(x).reshape(2, 2).diagonal() * 2,
    "trace": lambda x: m(x).reshape(2, 2).trace() * 2,
    "element": lambda x: m(x)[2] * x,
    "masked element": lambda x: x * (1.0 if m(x)[1] is np.ma.masked else 2.0),
    "slice": lambda x: m(x)[1:] * 2,
    "index": lambda x: m(x)[[0, 1, 3]] * 2,
    "mask index": lambda x: m(x)[x > 0] * 2,
    "row": lambda x: m(x).reshape(2, 2)[0] * 2,
    "newaxis": lambda x: m(x)[:, None] * x,
    "iteration": lambda x: sum(v * v for v in m(x, (0, 0, 0, 0))),
    "where": lambda x: np.ma.where(m(x) > 0.5, x, m(2 * x)),
    "where, masked": lambda x: np.ma.where(x > 0.5, x, np.ma.masked),
    "concatenate": lambda x: np.ma.concatenate([m(x), x, CONSTANT]),
    "stack": lambda x: np.ma.stack([m(x), x]),
    "vstack": lambda x: np.ma.vstack([m(x), x]),
    "hstack": lambda x: np.ma.hstack([m(x), x]),
    "append": lambda x: np.ma.append(m(x), x),
    "diff": lambda x: np.ma.diff(m(x)),
    "sort": lambda x: np.ma.sort(m(x)) * X,
    "argmax": lambda x: x[m(x).argmax()] * x,
    "clump": lambda x: [x[one] for one in np.ma.clump_unmasked(m(x))][1],
    "masked_all": lambda x: np.ma.masked_all(4) + x,
    "isMaskedArray": lambda x: x * np.ma.isMaskedArray(m(x)) + x * isinstance(m(x), np.ma.MaskedArray),
    "isinstance of ndarray": lambda x: x * isinstance(m(x), np.ndarray),
    "is_masked": lambda x: x * np.ma.is_masked(m(x)),
    "class": lambda x: x * (type(m(x)) is np.ma.MaskedArray),
    "nomask": lambda x: x * (np.ma.array(x).mask is np.ma.nomask),
    "from another": lambda x: np.ma.array(m(x), mask=[1, 0, 0, 0]),
    "keep_mask": lambda x: np.ma.array(m(x), mask=[1, 0, 0, 0], keep_mask=False),
    "asarray": lambda x: np.asarray(m(x)) * x,
    "asanyarray": lambda x: np.asanyarray(m(x)) * x,
    "plain asarray": lambda x: np.ma.asarray(x) * CONSTANT,
    "np.zeros_like": lambda x: np.zeros_like(m(x)) + x,
    "NaN under the mask": lambda x: np.ma.masked_invalid(np.log(x)).sum() + x.sum(),
    "NaN under the mask, squared": lambda x: (np.ma.masked_invalid(np.log(x)) ** 2).sum(),
    "NaN under the mask, mean": lambda x: (np.ma.masked_invalid(np.sqrt(x)) * x).mean(),
    "plain 2-d": lambda x: (NESTED * x.reshape(2, 2)).sum(axis=0),
    "plain method": lambda x: CONSTANT.dot(x),
    "all masked mean": lambda x: np.ma.filled(m(x, (1, 1, 1, 1)).mean(), 2.0) * x,
    "all masked max": lambda x: np.ma.filled(m(x, (1, 1, 1, 1)).max(), 2.0) * x,
}


def writes_masked(x: Any) -> Any:
    z = np.ma.array(x, mask=False)
    z[1] = np.ma.masked
    z[0] = 5.0 * z[2]
    return z


def writes_unmask(x: Any) -> Any:
    z = m(x * 2)
    z[1] = x[0] * x[2]
    return z


def writes_hard(x: Any) -> Any:
    z = m(x * 2, hard_mask=True)
    z[1] = x[0] * x[2]
    z[:] = x**2
    return z


def writes_soft_again(x: Any) -> Any:
    z = m(x * 2)
    z.harden_mask()
    z[1] = 3.0
    z.soften_mask()
    z[0:2] = x[2:]
    return z


def writes_slice(x: Any) -> Any:
    z = m(x * 2)
    z[:2] = m(x[2:], (1, 0))
    return z


def writes_by_mask(x: Any) -> Any:
    z = np.ma.array(x * 1.0)
    z[x > 1.0] = np.ma.masked
    z[x < 0.0] = x[0]
    return z


def writes_to_view(x: Any) -> Any:
    z = m(x * 2)
    part = z[1:3]
    part[0] = x[3]
    part[1] = np.ma.masked
    return z * x


def writes_to_data(x: Any) -> Any:
    z = m(x * 2)
    z.data[1] = x[0] ** 2
    z.mask[1] = False
    return z


def writes_to_base(x: Any) -> Any:
    y = x * 2
    z = np.ma.array(y, mask=[0, 1, 0, 0])
    y[0] = y[2] * 3
    return z


def writes_to_base_of_copy(x: Any) -> Any:
    y = x * 2
    z = np.ma.array(y, mask=[0, 1, 0, 0], copy=True)
    y[0] = y[2] * 3
    return z * y


def shares_mask(x: Any) -> Any:
    z = m(x * 2)
    w = np.ma.array(z)
    w[0] = np.ma.masked
    w[1] = x[3]
    return z + 2 * w


def shares_given_mask(x: Any) -> Any:
    mask = np.array([False, True, False, False])
    z = np.ma.array(x * 2, mask=mask)
    z[0] = np.ma.masked
    return z * np.where(mask, 3.0, 5.0)


def shares_tracked_mask(x: Any) -> Any:
    mask = x < 0
    z = np.ma.array(x * 2, mask=mask)
    z[0] = np.ma.masked
    mask[2] = True
    return z * np.where(mask, 3.0, 5.0)


def unshares_mask(x: Any) -> Any:
    z = m(x * 2)
    w = z.view()
    w.unshare_mask()
    w[0] = np.ma.masked
    return z + w.filled(1.0)


def mask_of_copy(x: Any) -> Any:
    z = m(x)
    w = z.copy()
    w[0] = np.ma.masked
    return z * w.filled(2.0)


def sets_mask(x: Any) -> Any:
    z = m(x * 2)
    z.mask = [1, 0, 0, 0]
    z.mask[2] = True
    return z


def drops_mask(x: Any) -> Any:
    z = m(x * 2)
    z.mask = np.ma.nomask
    return z


def mask_by_tracked(x: Any) -> Any:
    z = np.ma.array(x * 2)
    z.mask = x < 0
    return z


def sets_fill_value(x: Any) -> Any:
    z = m(x * 2)
    z.fill_value = 3.0
    return z.filled() * x


def in_place(x: Any) -> Any:
    z = m(x * 2)
    z += x
    z *= m(x, (1, 0, 0, 0))
    z /= x - 0.5
    z -= 1.0
    z **= 2
    return z


def in_place_view(x: Any) -> Any:
    z = m(x * 2)
    z[1:] += z[:-1]
    z[:] *= 2.0
    return z


def zeros(x: Any) -> Any:
    z = np.ma.zeros(4)
    z[1:] = x[1:] ** 2
    z[0] = np.ma.masked
    return z


def masked_all(x: Any) -> Any:
    z = np.ma.masked_all((2, 2))
    z[0] = x[:2]
    z[1, 0] = x[2] * x[3]
    return z.filled(1.0)


def put(x: Any) -> Any:
    z = m(x * 2)
    z.put([0, 1], [x[3], x[2]])
    return z


def putmask(x: Any) -> Any:
    z = m(x * 2)
    np.ma.putmask(z, [1, 0, 0, 1], x**2)
    return z


def shapes(x: Any) -> Any:
    z = m(x * 2)
    z.shape = (2, 2)
    return z.sum(axis=0)


def shrinks(x: Any) -> Any:
    z = m(x, (0, 0, 0, 0), shrink=False)
    z.shrink_mask()
    return z * (z.mask is np.ma.nomask)


def loops(x: Any) -> Any:
    z = m(x * 2)
    total = 0.0
    for k in range(4):
        if z[k] is not np.ma.masked:
            total = total + z[k] * k
    return total


def loops_over_time(x: Any) -> Any:
    z = np.ma.masked_less(x, 0.0)
    for _ in range(5):
        z[1:-1] = z[1:-1] + 0.1 * (z[2:] - 2 * z[1:-1] + z[:-2])
        z = np.ma.masked_greater(z * 1.1, 2.5)
    return z


def flat(x: Any) -> Any:
    z = m(x * 2)
    z.flat[0] = x[1]
    return z


def plain_data(x: Any) -> Any:
    d = np.zeros(4)
    z = np.ma.array(d, mask=x < 0)
    d[0] = 5.0
    z[2] = x[0] * x[3]
    return z + d


def into_tracked(x: Any) -> Any:
    y = x * 2
    y += m(x)
    y[1:] = m(x)[1:] * y[1:]
    return y


def into_plain(x: Any) -> Any:
    y = np.zeros(4)
    y[:] = m(x) * 2
    return y


def out(x: Any) -> Any:
    z = m(x * 2)
    np.add(z, x, out=z)
    return z


STATEMENTS = [
    writes_masked, writes_unmask, writes_hard, writes_soft_again, writes_slice, writes_by_mask, writes_to_view,
    writes_to_data, writes_to_base, writes_to_base_of_copy, shares_mask, shares_given_mask, shares_tracked_mask,
    unshares_mask, mask_of_copy, sets_mask, drops_mask, mask_by_tracked, sets_fill_value, in_place, in_place_view,
    zeros, masked_all, put, putmask, shapes, shrinks, loops, loops_over_time, flat, plain_data, into_tracked,
    into_plain, out,
]  # fmt: skip
PROGRAMS = EXPRESSIONS | {one.__name__: one for one in STATEMENTS}

SEEN: list[Any] = []


def parts(z: Any) -> Any:
    """Data, mask and fill value of a masked array; the value of anything else."""
    if z is np.ma.masked or not isinstance(z, np.ma.MaskedArray):
        return bridge.detach(z), None, None, None
    return bridge.detach(z.data), np.array(bridge.detach(z.mask)), z.fill_value, z.mask is np.ma.nomask


def loss(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def of(x: Any) -> Any:
        z = program(x.copy())
        SEEN.append(parts(z))
        d = np.ma.filled(z, 0.5) if isinstance(z, np.ma.MaskedArray) else np.asarray(z)
        return np.sum(np.cos(d) * (1.0 + np.arange(np.size(d)).reshape(np.shape(d))))

    return of


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_numpy(name: str) -> None:
    if name == "zeros" and np.lib.NumpyVersion(np.__version__) < "2.3.0":
        pytest.skip("np.ma.zeros is no function in this NumPy, and is not read")
    f = loss(PROGRAMS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SEEN.clear()
        expected = f(X.copy())
        value, gradient = bridge.value_and_grad(f)(X.copy())
        plain, tracked = SEEN
        slopes = differences(f, X)
    for one, other in zip(plain, tracked, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other), strict=True)
    assert value == expected
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-7)


def test_arguments() -> None:
    z = np.ma.array(X, mask=[0, 1, 0, 0])
    np.testing.assert_allclose(bridge.grad(lambda z: (z**2).sum())(z), [1.4, 0, 4.2, 0.8])
    np.testing.assert_allclose(bridge.grad(lambda x, z: (x * z).sum())(X, z), [0.7, 0, 2.1, 0.4])

    def writes(z: Any) -> Any:
        z[0] = np.ma.masked
        z.mask[2] = True
        return (z**2).sum()

    np.testing.assert_allclose(bridge.grad(writes)(z), [0, 0, 0, 0.8])
    assert z.mask.tolist() == [False, True, False, False]


def test_detach_and_text() -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        z = np.ma.array(x * 2, mask=[0, 1, 0, 0], fill_value=3.0)
        found.extend((bridge.detach(z), str(z), repr(z)))
        return z.sum()

    bridge.grad(f)(X)
    expected = np.ma.array(X * 2, mask=[0, 1, 0, 0], fill_value=3.0)
    assert type(found[0]) is np.ma.MaskedArray
    assert found[1:] == [str(expected), repr(expected)]
    assert repr(found[0] + 1) == repr(expected + 1)


def test_second_derivatives() -> None:
    def f(x: Any) -> Any:
        z = np.ma.masked_less(x, 0)
        z[0] = z[2] * x[3]
        return (z**2).sum()

    # (x2 x3)**2 + x2**2 + x3**2
    a, b = X[2], X[3]
    expected = np.zeros((4, 4))
    expected[2:, 2:] = [[2 * b * b + 2, 4 * a * b], [4 * a * b, 2 * a * a + 2]]
    np.testing.assert_allclose(bridge.hessian(f)(X), expected)


def _result(x: Any) -> Any:
    return np.ma.array(x * 2, mask=[0, 1, 0, 0])


def _plain_written(x: Any) -> Any:
    z = np.ma.array([1.0, 2.0], mask=[0, 1])
    z[0] = x[1]
    return z.sum()


def _swallowed(x: Any) -> Any:
    try:
        return np.ma.apply_along_axis(np.sum, 0, np.ma.array(x)).sum()
    except TypeError:
        return x.sum()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (_result, r"returns a masked array: its mask would be lost(.|\n)*x\.filled\(value\)"),
        (_plain_written, r"leaves tracking(.|\n)*np\.ma\.zeros, np\.ma\.masked_all"),
        (_swallowed, r"np\.ma\.apply_along_axis with tracked values(.|\n)*z\.filled"),
        (lambda x: np.gradient(np.ma.array(x)).sum(), r"np\.gradient of a numpy\.MaskedArray(.|\n)*x\.filled"),
    ],
)
def test_what_is_refused(program: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(BridgeError, match=message):
        bridge.vjp(program, X)


@pytest.mark.parametrize("name", ["*", "sum", "filled", "masked_where", "writes_masked"])
def test_the_compiled_engine_refuses_by_name(name: str) -> None:
    with pytest.raises(BridgeError, match=r"MaskedArray(.|\n)*remedy: (.|\n)*np\.where"):
        bridge.grad(loss(PROGRAMS[name]), engine="xla")(X)


def test_a_mask_of_copyto_is_a_list_of_integers() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        np.copyto(y, x**2, where=[1, 0, 0, 1])
        return np.sum(y)

    np.testing.assert_allclose(bridge.grad(f)(X), [1.4, 2, 2, 0.8])
