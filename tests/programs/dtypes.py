"""Dtypes: single stays single, casts carry gradients, tails keep their digits."""

from __future__ import annotations

import numpy

from bridge.errors import ArgumentError
from tests.programs.record import Family

program = Family("dtype")

SINGLE = numpy.array([0.5, -1.25, 2.0], numpy.float32)
VECTOR = [0.4, -0.9, 1.3]


@program(SINGLE, gradient=[[1.5, -0.25, 3.0]], single=False)
def single_stays_single_beside_python_numbers(np, x):
    y = x * 2 / 3 + 0.25
    assert y.dtype == numpy.float32
    y *= numpy.float32(1.5)
    return np.sum(x / 2 * x + x * 1 - y * 0.0)


@program(SINGLE, VECTOR, tolerance=1e-5, single=False)
def single_and_double_meet(np, x, y):
    z = x * y
    assert z.dtype == numpy.float64
    a = x.copy()
    a[:] = z
    a += y
    return np.sum(a * x) + np.sum(z)


@program(VECTOR, single=False, tolerance=1e-6, second_order=False, gradient=[[1.1, -1.5, 2.9]])
def cast_down_and_up_again(np, x):
    y = x.astype(np.float32)
    return np.sum((y * y + 0.3 * y).astype(float))


@program(VECTOR, single=False)
def accumulator_wider_than_its_input(np, x):
    return np.sum(x * x, dtype=float) + np.cumsum(x, dtype=float)[-1] + np.mean(x, dtype=float) ** 2


@program(VECTOR)
def integers_and_booleans_take_part(np, x):
    counts = np.array([1, 2, 3])
    signs = (x > 0).astype(int)
    signs[0] += 4
    y = x * counts
    y[1:] *= signs[:2]
    y[0] = 2
    return np.sum(y * x) + np.sum(y // 1) * 0 + np.sum(x * (x < 0.0)) + np.sum(x**counts)


@program(VECTOR)
def floor_division_and_integer_parts_are_flat(np, x):
    whole = (x * 3.0) // 1.0
    return np.sum((x * 3.0 - whole) ** 2)


@program(3.0)
def zero_dimensional_input(np, x):
    return x**3 + np.sum(x)


@program(-40.0, gradient=[numpy.exp(-40.0)], tolerance=1e-14, single=False, second_order=False)
def tail_of_exponential_minus_one(np, x):
    return np.expm1(x)


@program(1e-20, gradient=[1.0], tolerance=1e-14, single=False, second_order=False)
def logarithm_near_one(np, x):
    return np.log1p(x)


@program([1e-300, 1e300], gradient=[[1.0, 1.0]], tolerance=1e-14, single=False, second_order=False)
def moduli_near_the_ends_of_the_range(np, x):
    return np.sum(np.hypot(x, 0.0)) + 0.0 * np.sum(np.abs(x * 1e-300))


@program([40.0, -40.0], gradient=[[numpy.exp(-40.0), 1.0]], tolerance=1e-12, single=False, second_order=False)
def softplus_of_large_arguments(np, x):
    return np.sum(np.logaddexp(0.0, -x) * np.array([-1.0, -1.0]))


@program(numpy.array([1, 2, 3]), raises=ArgumentError)
def integer_argument(np, x):
    return np.sum(x * 1.5)


@program(numpy.array([1.0, None], dtype=object), raises=ArgumentError)
def object_argument(np, x):
    return x[0] * 2.0


@program(numpy.array([0.5, -1.25], numpy.float16), gradient=[[1.0, -2.5]], single=False, second_order=False)
def half_precision(np, x):
    return np.sum(x * x)


@program(numpy.array([0.5 + 1j, -1.25], numpy.complex64), single=False, tolerance=1e-5)
def single_precision_complex(np, z):
    w = z * 2.0
    w *= z
    return np.sum(np.abs(w))
