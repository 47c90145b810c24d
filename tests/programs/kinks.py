"""Kinks: the mean of the subgradients, however the function is spelled."""

from __future__ import annotations

from tests.programs.record import Family

program = Family("kinks", defaults={"second_order": False})


@program([0.0, -0.0, 2.0], gradient=[[0.0, 0.0, 2.0]])
def absolute_value(np, x):
    return np.sum(np.abs(x)) + np.sum(np.fabs(x))


@program([1.0, 1.0, 3.0], [1.0, 0.0, 3.0], gradient=[[1.5, 2.0, 1.5], [1.5, 1.0, 1.5]])
def maximum_and_minimum_at_ties(np, x, y):
    return np.sum(2.0 * np.maximum(x, y)) + np.sum(np.minimum(x, y))


@program([1.0, 2.0], gradient=[[5.0, 5.0]])
def both_operands_are_the_same_array(np, x):
    return np.sum(2.0 * np.maximum(x, x)) + np.sum(3.0 * np.fmin(x, x))


@program([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], gradient=[[[0.0, 0.5, 0.5], [2 / 3, 2 / 3, 2 / 3]]])
def ties_of_a_maximum_along_an_axis(np, x):
    return np.sum(np.max(x, axis=1) * np.array([1.0, 2.0]))


@program([[1.0, 3.0], [1.0, 2.0]], gradient=[[[0.5, 0.0], [0.5, 0.0]]])
def ties_of_a_minimum_over_everything(np, x):
    return np.min(x, keepdims=True)[0, 0]


@program([-1.0, 0.0, 0.5, 1.0, 2.0], gradient=[[0.0, 0.5, 1.0, 0.5, 0.0]])
def clip_at_its_bounds(np, x):
    return np.sum(np.clip(x, 0.0, 1.0))


@program([0.0, 1.0], gradient=[[0.0, 1.0]])
def rectifier_by_where_mask_and_assignment_agree(np, x):
    a = x.copy()
    a[a <= 0.0] = 0.0
    return (np.sum(np.where(x > 0.0, x, 0.0)) + np.sum(x * (x > 0.0)) + np.sum(a)) / 3.0


@program([0.0, 2.0], gradient=[[1.0, 1.0]])
def positive_minus_negative_part(np, x):
    return np.sum(np.maximum(x, 0.0) - np.maximum(-x, 0.0))


@program([0.0, 0.0, 0.0], gradient=[[0.0, 0.0, 0.0]])
def norms_at_zero(np, x):
    return np.linalg.norm(x) + np.linalg.norm(x, 1) + np.linalg.norm(x.reshape(1, 3), "fro")


@program([0.0, 1.4, -2.6], gradient=[[0.0, 0.0, 0.0]])
def steps_are_flat(np, x):
    return np.sum(np.sign(x) + np.floor(x) + np.round(x) + np.heaviside(x, 0.5) + np.ceil(x) + np.trunc(x))


@program([1.0, 1.0, 0.0], gradient=[[2.0, 1.0, 0.0]])
def running_maximum_with_a_tie(np, x):
    return np.sum(np.maximum.accumulate(x))


@program([2.0, 2.0, 1.0], gradient=[[2.0, 2.0, 2.0]])
def sorting_equal_values(np, x):
    ordered = np.sort(x)
    return np.sum(ordered * 2.0)


@program([1.5, -1.5], [1.0, 1.0], gradient=[[1.0, 1.0], [-1.0, 2.0]])
def remainder_between_its_jumps(np, x, y):
    return np.sum(x % y)


@program([0.0 + 0.0j, 3.0 + 4.0j], gradient=[[0.0, 0.6 + 0.8j]])
def complex_modulus_at_zero(np, x):
    return np.sum(np.abs(x))


@program([1.0, 4.0, 4.0, 2.0], gradient=[[-1.0, 0.5, 0.5, 0.0]])
def range_of_values_with_a_tie(np, x):
    return np.ptp(x)


@program([3.0, 1.0, 2.0, 4.0], gradient=[[0.5, 0.0, 0.5, 0.0]])
def median_of_an_even_number(np, x):
    return np.median(x)


@program([1.0, 1.0, 1.0], gradient=[[3.0, 0.0, 0.0]])
def python_maximum_takes_the_branch_that_ran(np, x):
    return 3.0 * max(x)
