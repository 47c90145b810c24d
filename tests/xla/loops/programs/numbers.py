"""Integers, floats and dtypes that turns hand on."""

from __future__ import annotations

import numpy as np

from tests.xla.loops.programs.record import Family

program = Family("numbers")


@program
def type_change(x):
    s = 0
    for i in range(6):
        s = s + x[i]
    return s


@program
def type_change2(x):
    s = None
    for i in range(6):
        s = x[i] if s is None else s + x[i] * 2
    return s


@program
def shape_change(x):
    y = x[:1]
    for i in range(5):
        y = np.concatenate([y, x[i : i + 1] * y[-1:]])
    return np.sum(y**2)


@program
def shape_change1(x):
    y = 0.0
    for i in range(8):
        y = y + x * 0.5
    return np.sum(y**2)


@program
def int_to_float(x):
    n = 1
    for i in range(6):
        n = n / 2
    return x[0] * n


@program
def int_to_float_arr(x):
    a = np.arange(6)
    for i in range(6):
        a = a * 0.5 + 1
    return np.sum(x * a)


@program
def floordiv(x):
    s = 0.0
    for i in range(6):
        s += x[(i - 3) // 2] * ((i - 3) % 4) + x[-i] * (i << 1) + x[(i * 7) >> 3] * (i & 3) + x[i ^ 1] * (i | 2)
    return s


@program
def neg_index(x):
    y = np.zeros(6)
    for i in range(6):
        y[-i - 1] = x[i - 6] * 2
        y[i - 3] += x[-1]
    return np.sum(y * np.arange(6))


@program
def quotient_and_rest(x):
    s = 0.0
    for i in range(-6, 6):
        q, r = divmod(i, 4)
        s += x[r] * q + x[abs(i) % 6] * (i**2)
    return s


@program
def quotient_of_negatives(x):
    s = 0.0
    for i in range(-6, 6):
        q, r = divmod(i, -4)
        s += x[-r] * q + (i // -3) * x[0] + (i % -5) * x[1]
    return s


@program
def truediv_int(x):
    s = 0.0
    for i in range(6):
        s += x[i] * (i / 4) + x[int(i / 2)]
    return s


@program
def pow_int(x):
    s = 0.0
    for i in range(6):
        s += x[i] * 2**i + x[i] ** i + x[0] * (-1) ** i
    return s


@program
def pow_neg(x):
    s = 0.0
    for i in range(6):
        s += x[i] * 2**-i
    return s


@program
def pow_negbase(x):
    s = 0.0
    for i in range(6):
        s += x[i] * 2.0 ** (-i)
    return s


@program
def uint8(x):
    k = np.array([0, 1, 2, 3], dtype=np.uint8)
    s = 0.0
    for i in range(4):
        s += x[int(k[i])] * 2
    return s


@program
def uint8_wrap(x):
    k = np.uint8(250)
    s = 0.0
    for i in range(10):
        k = k + np.uint8(1)
        s += x[0] * k
    return s


@program
def int8arr(x):
    k = np.zeros(6, np.int8)
    for i in range(6):
        k[i] = i * 20
    k += k
    return np.sum(x * k)


@program
def f32(x):
    s = np.float32(0)
    for i in range(6):
        s = s + np.float32(0.1)
    return x[0] * s


@program
def f32_arr(x):
    y = np.zeros(6, np.float32)
    for i in range(6):
        y[i] = x[i] * 1.1
    return np.sum(y)


@program
def f32_weak(x):
    y = x.astype(np.float32)
    s = 1.0
    n = 1
    for i in range(6):
        s = s * 0.5
        n = n * 2
        y = y * s + n
    return np.sum(y) * (y.dtype == np.float32)


@program
def f32_weak2(x):
    y = x.astype(np.float32)
    s = 1.0
    while s > 0.01:
        s = s * 0.5
    z = y * s
    return np.sum(z) * (z.dtype == np.float32)


@program
def complex_number(x):
    z = 0j
    for i in range(6):
        z = z * 1j + x[i]
    return z.real + 2 * z.imag


@program
def fib(x):
    a, b = 0, 1
    for i in range(60):
        a, b = b, a + b
    return x[0] * a


@program
def lcg(x):
    seed = 1
    s = 0.0
    for i in range(20):
        seed = (1103515245 * seed + 12345) % 2147483648
        s += x[seed % 6]
    return s


@program
def cnt_cond(x):
    n = 0
    for i in range(20):
        if x[i % 6] > 0:
            n += 1
        else:
            n -= 2
    return x[0] * n


@program
def clamp(x):
    s = 0.0
    for i in range(6):
        lo = max(0, i - 1)
        hi = min(6, i + 2)
        for j in range(lo, hi):
            s += x[i] * x[j]
    return s


@program
def minmax(x):
    m = x[0]
    M = -1e9
    for i in range(6):
        m = min(m, x[i])
        M = max(M, x[i] * (i - 2))
    return m * M


@program
def while_float(x):
    t = 0.0
    n = 0
    s = x[0]
    while t < 1.0:
        s = s * 1.1 + x[1]
        t += 0.1
        n += 1
    return s * n


@program
def while_float_x(x):
    t = 0.0
    s = x[0]
    while t < 1.0:
        s = s * 1.1 + x[1]
        t += abs(x[2]) + 0.1
    return s * t


@program
def while_unknown(x):
    s = x[0] ** 2 + 1
    n = 0
    while s < 100:
        s = s * 1.5
        n += 1
    return s * n


@program
def while_zero(x):
    s = x[0]
    n = 0
    while s > 1e9:
        s = s / 2
        n += 1
    return s + n


@program
def while_long(x):
    s = x[0] ** 2 + 1
    n = 0
    while n < 700:
        s = s * 1.0005 + x[1] * 1e-3
        n += 1
        if s > 1e9:
            break
    return s * n


@program
def perm(x):
    p = np.array([3, 1, 4, 0, 5, 2])
    k = 0
    s = 0.0
    for i in range(6):
        s += x[k] * (i + 1)
        k = p[k]
    return s


@program
def perm_inplace(x):
    p = np.array([3, 1, 4, 0, 5, 2])
    s = 0.0
    for i in range(6):
        p[i], p[5 - i] = p[5 - i], p[i]
        s += x[p[i]] * (i + 1)
    return s


@program
def bool_arr(x):
    v = np.zeros(6, bool)
    s = 0.0
    for i in range(10):
        k = (i * 3) % 6
        if not v[k]:
            s += x[k]
        v[k] = True
    return s


@program
def int_arr_state(x):
    cnt = np.zeros(3, int)
    for i in range(6):
        if x[i] > 0:
            cnt[i % 3] += 1
    return np.sum(x[:3] * cnt)


@program
def closure_array_rw(x):
    t = np.arange(6)
    w = np.zeros(6, int)
    for i in range(6):
        w[i] = t[i] * 2
    return np.sum(x * w)


@program
def counter_is_asked_for_its_type(x):
    steps, size = 0, 1.0
    while size > 0.1:
        size = size * 0.5
        steps += 1
    weight = 100.0 if isinstance(steps, float) or type(steps) is not int else 1.0
    return weight * np.sum(x**2) * size


@program
def truth_is_asked_for_its_type(x):
    found = False
    for i in range(6):
        found = found or i > 3
    return np.sum(x) * (1.0 if isinstance(found, bool) else 100.0)


@program
def truth_of_an_integer_of_a_branch(x):
    c = 2
    for v in x:
        if v > 0.5:
            c = c // 2
    s = 1.0 if bool(c % 2) else 3.0
    if (not (c % 2 == 0)) != (not (len(x) > c)):
        s = s + 1.0
    return np.sum(x) * s
