"""NaN and infinity: absent elements stay absent, and a genuinely infinite derivative is reported."""

from __future__ import annotations

import numpy
import scipy.special

from tests.programs.record import Family

program = Family("nan and inf")

NAN, INF = numpy.nan, numpy.inf
WITH_ZERO = [0.0, 0.5, 2.0]


@program([-1.0, 0.0, 0.5, 2.0], gradient=[[0.0, 0.0, 2.0, 0.5]], second_order=False)
def logarithm_in_the_branch_not_selected(np, x):
    return np.sum(np.where(x > 0.0, np.log(x), 0.0))


@program([-1.0, 0.0, 4.0], gradient=[[0.0, 0.0, 0.25]], second_order=False)
def root_in_the_branch_not_selected(np, x):
    return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0))


@program([3.0, 0.0, -5.0], gradient=[[0.0, 0.0, 0.0]], second_order=False)
def angle_at_the_origin_not_selected(np, x):
    return np.sum(np.where(np.array([False, False, True]), np.arctan2(x, x), 1.0))


@program(WITH_ZERO, gradient=[[0.0, 2.0, 0.5]], second_order=False)
def logarithm_with_a_mask(np, x):
    y = np.zeros_like(x)
    np.log(x, out=y, where=x > 0.0)
    return np.sum(y)


@program(WITH_ZERO, gradient=[[0.0, -16.0, 0.0]], second_order=False)
def one_element_gathered_beside_a_pole(np, x):
    y = 1.0 / x
    return y[1] ** 2


@program([-2.0, 4.0, 9.0], gradient=[[0.0, 0.25, 1.0 / 6.0]], second_order=False)
def invalid_element_overwritten(np, x):
    y = np.sqrt(x)
    y[0] = 1.0
    return np.sum(y)


@program([-2.0, 4.0, 9.0], gradient=[[0.0, 0.25, 1.0 / 6.0]], second_order=False)
def invalid_element_masked_out(np, x):
    y = np.sqrt(x)
    return np.sum(y[x > 0.0])


@program([NAN, 1.0, 2.0], gradient=[[0.0, 2.0, 4.0]], second_order=False)
def invalid_input_not_read(np, x):
    y = x * x
    return np.sum(y[1:])


@program([NAN, 1.0, 3.0], gradient=[[0.0, 5.0, 2.0]], second_order=False)
def functions_that_skip_nan(np, x):
    return np.nansum(x) + 2.0 * np.nanmean(x) + np.nanprod(x) - np.nanmax(x)


@program([0.3, -0.7, 0.9])
def attention_mask_of_minus_infinity(np, x):
    scores = np.where(np.array([True, False, True]), x, -INF)
    weights = np.exp(scores - np.max(scores))
    weights /= np.sum(weights)
    return np.sum(weights * np.array([1.0, 2.0, 4.0]))


@program([1.0, -INF, 2.0], gradient=[[1 / (1 + numpy.e), 0.0, numpy.e / (1 + numpy.e)]], second_order=False)
def log_sum_exp_with_an_infinite_term(np, x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


@program([0.0, 2.0, 3.0], [0.0, 0.0, 3.0], single=True)
def product_with_zeros(np, x, y):
    return np.prod(x) + np.prod(y) + np.prod(x * 2.0 + y)


@program([0.5, 0.0, 2.0, 3.0], [[0.0, 1.0], [2.0, 0.0], [1.5, 0.0]])
def cumulative_product_with_zeros(np, x, y):
    return np.sum(np.cumprod(x) * np.array([1.0, 2.0, 3.0, 4.0])) + np.sum(np.cumprod(y, axis=0))


@program([1.0, 3.0], gradient=[[0.0, 6.0]], second_order=False)
def infinite_coefficient_not_selected(np, x):
    y = x * np.array([INF, 2.0])
    return y[1] + np.sum(np.where(np.array([False, False]), y, 0.0)) + 4.0 * x[1]


@program([0.0, 4.0], gradient=[[NAN, 1.0]], second_order=False)
def square_of_a_root_at_zero_is_not_silently_zero(np, x):
    return np.sum(np.sqrt(x) ** 2)


@program([0.0, 4.0], gradient=[[INF, 0.25]], second_order=False)
def root_at_zero_is_infinite(np, x):
    return np.sum(np.sqrt(x)) + 0.0 * np.sum(np.cos(x))


@program([0.0], gradient=[[INF]], second_order=False)
def half_power_at_zero_is_infinite(np, x):
    return np.sum(x**0.5)


@program([0.0, -2.0], gradient=[[1.0, 13.0]])
def integer_powers_at_zero_and_below(np, x):
    return np.sum(x**3) + np.sum(x**1) + np.sum(x ** np.array([0, 0]))


@program([2.0, 1.0], gradient=[[0.0, 0.0]], second_order=False)
def zero_to_a_tracked_power(np, x):
    return np.sum(np.array([0.0, 0.0]) ** x)


@program([0.0, 0.5], gradient=[[-INF, -4.0]], second_order=False)
def pole(np, x):
    return np.sum(1.0 / x)


@program([1.0, 0.0], gradient=[[-INF, -1.0]], second_order=False)
def arc_cosine_at_its_end(np, x):
    return np.sum(np.arccos(x))


@program([0.0, 0.5], gradient=[[INF, numpy.log(2.0) - 1.0]], second_order=False)
def entropy_of_zero(np, x):
    return np.sum(scipy.special.entr(x))


@program([0.0, 0.5], gradient=[[0.0, numpy.log(2.0) - 1.0]], second_order=False)
def entropy_guarded_by_where(np, x):
    return np.sum(np.where(x > 0.0, -x * np.log(x), 0.0))


@program([2.0, 3.0], gradient=[[0.0, numpy.log(5.0)]], second_order=False)
def zero_times_logarithm(np, x):
    return np.sum(scipy.special.xlogy(x, np.array([1.0, 5.0])))


@program([[0.0, 0.0], [3.0, 4.0]], gradient=[[[0.0, 0.0], [0.6, 0.8]]], second_order=False)
def norms_of_rows_one_of_them_zero(np, x):
    return np.sum(np.linalg.norm(x, axis=1))


@program([[0.0, 0.0], [3.0, 4.0]], gradient=[[[0.0, 0.0], [6.0, 8.0]]], second_order=False)
def squared_norm_at_zero(np, x):
    return np.sum(np.linalg.norm(x, axis=1) ** 2)


@program([0.0, 0.5])
def sinc_at_zero(np, x):
    return np.sum(np.sinc(x) * np.array([2.0, 3.0])) + np.sum(np.sinc(x - 0.5))


@program([0.0, 2.0], [0.0, 4.0], gradient=[[0.0, 0.25], [0.0, -0.125]], second_order=False)
def ratio_guarded_in_the_denominator(np, x, y):
    safe = np.where(y == 0.0, 1.0, y)
    return np.sum(np.where(y == 0.0, 0.0, x / safe))


@program([0.0, 2.0], [0.0, 4.0], gradient=[[0.0, 0.25], [0.0, -0.125]], second_order=False)
def ratio_masked_by_where_of_the_ufunc(np, x, y):
    return np.sum(np.divide(x, y, out=np.zeros_like(x), where=y != 0.0))


@program([1.0, INF, 2.0], gradient=[[0.0, 0.0, 1.0]], second_order=False)
def maximum_of_the_finite_ones(np, x):
    finite = x[np.isfinite(x)]
    return np.max(finite) + 0.0 * 3.0


@program([NAN, -1.0, 2.0], gradient=[[0.0, 3.0, 12.0]], second_order=False)
def nan_replaced_in_place(np, x):
    a = x.copy()
    a[np.isnan(a)] = 0.0
    return np.sum(a**3)


@program([INF, 1.0, -3.0], gradient=[[0.0, 1.0, 1.0]], second_order=False)
def nan_to_num_lets_nothing_through_where_it_replaced(np, x):
    return np.sum(np.nan_to_num(x, posinf=7.0))
