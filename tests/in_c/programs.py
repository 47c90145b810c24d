"""Programs that meet each compiled step, and what lies just beside it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

import bridge

X = np.linspace(0.3, 1.7, 12)


def elements(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[-i] + x[i] ** 2 / x[0] - 3.0 * x[i]
        y[i - 1] = 0.5
        y[i] = -y[i]
    return np.sum(y)


def matrix(x: Any) -> Any:
    a = x.reshape(3, 4).T
    b = np.zeros((4, 3))
    for i in range(4):
        b[i, 1:] = a[i, :2] * x[i]
        b[i, 0] = a[i, -1]
        b[i] = b[i] * 2.0 + a[i]
        b[:, None, 1][..., 0] = a[:, 0] / 3
    a[0, 0] = b[3, 2]
    return np.sum(a * b)


def views(x: Any) -> Any:
    y = x[2:][::2][1:]
    y[:2] = x[:2] * y[-2:]
    y[-1:] = 0.25
    x[4:8] = np.float64(0.5)
    x[1:3] = x[0]
    return np.sum(x[::-1] * np.sin(x)) + y[0]


def functions(x: Any) -> Any:
    y = np.exp(-x) * np.sqrt(x) + np.maximum(x, 1.0) - np.power(x, 2) + x**0.5 + 2**x + x**3
    return np.sum(np.hypot(y, x) + abs(y)) + np.sum(+x - (1 - x) / (2 + x))


def many_views(x: Any) -> Any:
    y = x
    for _ in range(40):
        y = y[:]
    y[0] = y[1] * 2
    return np.sum(x * y[3])


def second_names(x: Any) -> Any:
    y = x
    y[1:] = y[:-1]
    y[0:4] += x[4:8]
    x[2] += x[3]
    x[3:5] *= 2
    return np.sum(x * x)


def kinds(x: Any) -> Any:
    small = x.astype(np.float32)
    whole = np.arange(12)
    small[2] = small[3] * x[0]
    small[4:6] = small[1]
    z = x * 1j
    z[2] = x[2] * 2
    return np.sum(small * 2).astype(float) + np.sum(np.real(z * z)) + np.sum(x * x.copy()[whole]) + x[np.int64(3)]


def broadcast(x: Any) -> Any:
    a = np.zeros((3, 12))
    a[1:] = x
    a[0] = x[3]
    a[:, 2] = x[:3] * a[:, 3]
    return np.sum(a * x) + np.sum(x[:3, None] * a)


def floats(x: Any) -> Any:
    t = float(x.sum() * 0 + 2) if False else 2.0
    s = x[0].item() if hasattr(x[0], "item") else x[0]
    for k in range(5):
        s = s * t + x[k] / (1 + s)
    return s


def checkpointed(x: Any) -> Any:
    part = bridge.checkpoint(lambda x: np.sum(x[1:] * x[:-1]) + elements(x))
    return part(x) * x[0] + part(x * 2)


def sparse(x: Any, rows: Any, columns: Any) -> Any:
    total = np.zeros(3)
    for i in range(3):
        own = columns[rows[i] : rows[i + 1]]
        total[i] = x[rows[i] : rows[i + 1]] @ x[own] + x[rows[i]] * x[(rows[i] + 1,)]
        total[rows[0] :] *= 1.5
        total[rows[0]] += x[columns[-1]]
    return np.sum(total)


def products(x: Any) -> Any:
    a = x.reshape(3, 4) * 1.0
    plain = np.arange(12.0).reshape(4, 3)
    s = np.dot(x[:4], x[4:8]) + x[1:5] @ x[:4] + np.dot(a[0], a[1] * 2) + np.inner(a[1], x[:4])
    b = a @ a.T + np.dot(a, plain) + np.matmul(a, a.T)
    s = s + np.sum(np.outer(x[:2], x[2:4])) + np.sum(np.tensordot(a, b, (0, 0))) + np.sum(np.vdot(x, x))
    with_constant = np.zeros(4)
    with_constant[:2] = 3.0
    return s + np.dot(with_constant, a[2]) + np.dot(a[1], np.dot(plain, b[0])) + np.sum(np.dot(b, b[0]) * b[:, 1])


def updates(x: Any) -> Any:
    a = np.zeros((4, 3))
    a += x[:3]
    a[1] -= x[3:6] * a[0]
    a[1:, 0] *= x[1:4]
    a[2] /= x[0] + a[1]
    a[2] *= a[2]
    a[3] += a[3]
    a[:, 1] += 2.0
    b = a[1:3]
    b -= x[4]
    b *= 0.5
    y = x * 1.0
    y += y[::-1]
    y[2:] += y[:-2]
    y -= np.float64(0.5)
    y += 1
    y **= 2
    return np.sum(a * a) + np.sum(y) + np.sum(b)


def updates_of_memory_without_gradient(x: Any) -> Any:
    y = np.ones(12)
    y += 1.0
    y *= 2.0
    y -= x
    y[0:3] *= 3.0
    return np.sum(y * x)


def plain_arrays(x: Any) -> Any:
    w, flags, whole = np.linspace(0.5, 1.5, 12), np.arange(12) % 2 == 0, np.arange(12, dtype=np.int8)
    y = x * w + w * x - flags * x + x / (whole + 1) + w**x - (2.0 - w) / x
    w[3] = 7.0
    y = y * w[::-1] + np.hypot(w, x) + np.maximum(x, w.astype(np.float32)) + x * w.astype(">f8")
    y *= w
    y[2:] += w[:10]
    y -= whole
    y /= w.astype(np.float32)
    y[1:4] = w[4:7]
    y[5] = w[5]
    y[6:8] = whole[:2]
    w[:] = 0.25
    table = np.array(0.75)
    return np.sum(y * w) + np.sum(x * table) + x[2] * table + np.sum(x[:0] * w[:0]) + np.sum(x[1] * w)


def products_with_plain_arrays(x: Any) -> Any:
    a = np.arange(144.0).reshape(12, 12) / 100
    y = a @ x + x @ a + np.dot(a, x) + np.dot(x, a.T) + a[0] @ x * x
    a[1] = 3.0
    s = np.inner(x, a[1]) + np.vdot(a[2], x) + np.sum(np.outer(x[:2], a[0, :3])) + np.sum(np.dot(a[:, :1].T, x))
    return s + np.sum(np.matmul(a.astype(np.float32), y)) + np.sum(np.dot(np.arange(12), y) * np.dot(x, 2.0))


def large_plain_arrays(x: Any) -> Any:
    rows = np.linspace(0.0, 1.0, 12 * 400).reshape(400, 12)
    y = np.sum(rows * x) + np.sum(rows + x) + np.sum(rows @ x)
    rows[7] = 2.0
    z = rows * 1.0
    z += x
    z *= rows
    return y + np.sum(z) + np.sum(x - rows)


def plain_arrays_that_do_not_fit(x: Any) -> Any:
    w, y = np.ones(3), x * 2.0
    for use in (lambda: y * w, lambda: w @ y, lambda: y.__iadd__(w), lambda: y.__setitem__(slice(0, 5), w)):
        with suppress(ValueError):
            use()
    y[0] = w
    return np.sum(y)


def plain_arrays_of_other_kinds(x: Any) -> Any:
    y = np.real(x * np.array([1j])) + x * np.arange(3.0).view(bridge.constant)[1]
    y = y + x * bridge.constant(np.ones(12)) + np.broadcast_to(np.array([2.0]), (12,)) * x
    return np.sum(y) + np.sum(x * np.ones(12, object))


def shown_to_code_that_is_not_read(x: Any) -> Any:
    b = np.zeros_like(x) + np.linspace(0.5, 1.5, 12)
    c, held = b * 2.0, np.require(b)
    y = x * b
    held[2] = 5.0
    y = b * y + c
    b[1] = 2.0
    b[2:4] = held[:2]
    b *= 0.5
    held *= 1.5
    y += b
    y *= b
    total = x @ b + np.dot(b, x) + np.sum(np.hypot(b, x)) + b[3] * x[0] + np.sum(b[2:5] * x[:3])
    held[:] = 0.25
    c[0] = x[3]
    part = np.require(b[::3])
    part += 1.0
    return total + np.sum(y * b) + np.sum(c) + np.sum(x[::3] * part)


def wrong_update(x: Any) -> Any:
    x[1:4] += x[:2]
    return np.sum(x)


def raising_update(x: Any) -> Any:
    with np.errstate(all="raise"):
        try:
            x[2:4] /= x[:2] * 0
        except FloatingPointError:
            x[2] = 5.0
        with suppress(FloatingPointError):
            x *= 1e308 * x
    return np.sum(x[:3] * x[1:4])


def wrong_product(x: Any) -> Any:
    return np.dot(x[:3], x[:4])


def fails_to_fit(x: Any) -> Any:
    x[0] = x[1] * 2
    x[2:5] = x[:2]
    return np.sum(x)


def beyond(x: Any) -> Any:
    x[3] = 1.0
    return x[12] * x[0]


def beyond_written(x: Any) -> Any:
    x[-13] = x[0]
    return np.sum(x)


def read_only(x: Any) -> Any:
    y = np.broadcast_to(x, (2, 12))
    y[0, 0] = x[0]
    return np.sum(y)


def no_number(x: Any) -> Any:
    x[0] = x[1] * "a"
    return np.sum(x)


OWN = [
    elements, matrix, views, functions, many_views, second_names, kinds, broadcast, floats, checkpointed, products,
    updates, updates_of_memory_without_gradient, plain_arrays, products_with_plain_arrays, large_plain_arrays,
    plain_arrays_that_do_not_fit, plain_arrays_of_other_kinds, shown_to_code_that_is_not_read, wrong_update,
    raising_update, wrong_product, fails_to_fit, beyond, beyond_written, read_only, no_number,
]  # fmt: skip
