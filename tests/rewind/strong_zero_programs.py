"""Programs in which infinite or undefined slopes meet elements that were not selected, with the derivatives they have.

Gradients, and products of the Hessian with ones, are written by hand from what was selected; elements that were not
have none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

import bridge
from bridge.rules import special

INF, NAN = np.inf, np.nan


@dataclass(frozen=True)
class StrongZero:
    """One program, its input, its gradient, and the product of its Hessian with a vector of ones.

    `curvature` None: the second derivative must be finite. `first_only` says why it is not asked for, `eager` why
    the program is not compiled, `not_jax` why JAX's pulls are refused in the second derivative.
    """

    function: Callable[[Any], Any]
    x: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray | None = None
    first_only: str | None = None
    eager: str | None = None
    not_jax: str | None = None

    def __str__(self) -> str:
        return self.function.__name__.replace("_", " ")


PROGRAMS: list[StrongZero] = []
Program = Callable[[Any], Any]


def at(x: Any, gradient: Any, curvature: Any = None, **reasons: str) -> Callable[[Program], Program]:
    """Record a function of one array with the derivatives that it has at `x`."""

    def record(function: Program) -> Program:
        second = None if curvature is None else np.asarray(curvature, float)
        point, slope = np.asarray(x, float), np.asarray(gradient, float)
        PROGRAMS.append(StrongZero(function, point, slope, second, **reasons))
        return function

    return record


LINE = [-1.0, 0.0, 4.0]


@at(LINE, [0, 0, 0.25], [0, 0, -1 / 32])
def half_power_in_the_branch_not_taken(x: Any) -> Any:
    return np.sum(np.where(x > 0, x**0.5, 3.0))


@at(LINE, [0, 0, 3.0], [0, 0, 0.375])
def power_of_three_halves_in_the_branch_not_taken(x: Any) -> Any:
    return np.sum(np.where(x > 0, x**1.5, 0.0))


@at(LINE, [0, 0, 1 / 12 * 4 ** (1 / 3)], [0, 0, -(4 ** (1 / 3)) / 72])
def cube_root_in_the_branch_not_taken(x: Any) -> Any:
    return np.sum(np.where(x > 0, np.cbrt(x), 0.0))


@at(LINE, [0, 0, 0.25], [0, 0, -1 / 16])
def logarithm_in_the_branch_not_taken(x: Any) -> Any:
    return np.sum(np.where(x > 0, np.log(x), -1.0))


@at(LINE, [0, 0, 0.25], [0, 0, -1 / 32])
def masked_after_the_root(x: Any) -> Any:
    return np.sum((x**0.5)[x > 0])


@at(LINE, [0, 0, -1 / 16], [0, 0, 1 / 32])
def reciprocal_of_what_was_not_taken(x: Any) -> Any:
    return np.sum(np.where(x > 0, 1.0 / x, 0.0))


@at(LINE, [0, 0, 1 / 8], [0, 0, -1 / 32])
def chain_of_four_elementwise_operations(x: Any) -> Any:
    y = np.log(np.sqrt(x))
    return np.sum(np.where(x > 0, y, 0.0))


@at([0.0, 4.0], [0, 0.25 * np.exp(2.0)], [0, np.exp(2.0) * (1 / 16 - 1 / 32)])
def chain_through_an_exponential(x: Any) -> Any:
    return np.sum(np.where(x > 0, np.exp(np.sqrt(x)), 0.0))


@at([0.0, 3.0, 4.0], [0, 0.6, 0.8])
def angle_at_the_origin_beside_others(x: Any) -> Any:
    return np.where(np.array([False, True]), np.hypot(x[:2], x[1:] * np.array([0.0, 1.0])), 0.0)[1]


@at([0.0, 0.0, 1.0], [0, 0, 0.0])
def arctan2_at_the_origin_not_taken(x: Any) -> Any:
    return np.sum(np.where(np.array([False, False, True]), np.arctan2(x, x), 0.0))


@at([INF, 2.0], [0, 0.2 * 1.0])
def arctan2_of_infinities_not_taken(x: Any) -> Any:
    return np.arctan2(x, np.array([INF, 1.0]))[1]


@at([0.0, 0.25], [0, 2 / np.sqrt(3)])
def arc_sine_of_a_root(x: Any) -> Any:
    return np.arcsin(np.sqrt(x))[1]


@at([1.0, 0.0], [0, -1.0], [0, 0])
def arc_cosine_at_its_end_not_taken(x: Any) -> Any:
    return np.arccos(x)[1]


@at([[0.0, 0.0], [3.0, 4.0]], [[0, 0], [0.6, 0.8]])
def norm_of_the_row_that_counts(x: Any) -> Any:
    return np.linalg.norm(x, axis=1)[1]


@at([[0.0, 0.0], [3.0, 4.0]], [[0, 0], [0.6, 0.8]])
def root_of_a_sum_of_squares_beside_a_row_of_zeros(x: Any) -> Any:
    return np.sqrt(np.sum(x * x, axis=1))[1]


@at([[0.0, 0.0], [3.0, 4.0]], [[0, 0], [0.6, 0.8]])
def distances_masked_by_multiplication_are_masked_by_where(x: Any) -> Any:
    length = np.sqrt(np.einsum("ij,ij->i", x, x))
    return np.sum(np.where(length > 0, length, 0.0))


@at([[0.0, 0.0], [3.0, 4.0]], [[0, 0], [-0.6 / 25, -0.8 / 25]])
def inverse_distances_without_the_own_one(x: Any) -> Any:
    length = np.linalg.norm(x, axis=1)
    return np.sum(np.where(length > 0, 1.0 / length, 0.0))


@at([[1.0, -INF], [-INF, -INF]], [[1.0, 0], [0, 0]])
def log_sum_exp_with_minus_infinity(x: Any) -> Any:
    top = np.max(x, axis=1, keepdims=True)
    return (top[:, 0] + np.log(np.sum(np.exp(x - top), axis=1)))[0]


@at([[1.0, 2.0], [-INF, -INF]], [[1 / (1 + np.e), np.e / (1 + np.e)], [0, 0]])
def log_sum_exp_of_the_rows_that_have_terms(x: Any) -> Any:
    total = np.logaddexp.reduce(x, axis=1)
    return np.sum(np.where(np.isfinite(total), total, 0.0))


@at([[1.0, -INF, 2.0], [-INF, -INF, -INF]], [[-np.e / (1 + np.e) ** 2, 0, np.e / (1 + np.e) ** 2], [0, 0, 0]])
def softmax_with_a_row_of_minus_infinity(x: Any) -> Any:
    weights = np.exp(x - np.max(x, axis=1, keepdims=True))
    weights = weights / np.sum(weights, axis=1, keepdims=True)
    return np.sum(weights[0] * np.array([0.0, 5.0, 1.0]))


@at([0.0, 4.0, 1.0], [0, 0.25, 0], [0, -1 / 32, 0])
def largest_of_the_roots(x: Any) -> Any:
    return np.max(np.sqrt(x))


@at([0.0, 4.0, 1.0], [0, 0, 0.5], [0, 0, -0.25])
def second_of_the_sorted_roots(x: Any) -> Any:
    return np.sort(np.sqrt(x))[1]


@at([0.0, 4.0, 1.0], [0, 0, 1.0], [0, 0, -1.0], eager="how many elements x[mask] has is known at run time only")
def smallest_of_those_that_were_kept(x: Any) -> Any:
    y = np.log(x)
    return np.min(y[x > 0]) + np.sum(y[:0])


@at([0.0, 4.0, 1.0], [0, 0.25, 0.5], [0, -1 / 32, -0.25])
def maximum_with_a_larger_constant(x: Any) -> Any:
    return np.sum(np.maximum(np.sqrt(x), np.array([1.0, 0.0, 0.0])))


@at([0.0, 4.0, 1.0], [0, 0.25, 0.5], [0, -1 / 32, -0.25])
def clipped_away(x: Any) -> Any:
    return np.sum(np.clip(np.sqrt(x), 0.5, 9.0))


@at([0.0, 4.0, 1.0], [0, 0.25, 0.5], [0, -1 / 32, -0.25])
def gathered_without_the_first(x: Any) -> Any:
    return np.sum(np.take(np.sqrt(x), [1, 2]))


@at([0.0, 4.0, 1.0], [0, 0.5, 0.5], [0, -1 / 16, -0.25])
def gathered_twice(x: Any) -> Any:
    return np.sum(np.sqrt(x)[np.array([1, 2, 1])])


@at([0.0, 4.0, 1.0], [0, 0.25, 0.5], [0, -1 / 32, -0.25])
def overwritten_by_a_constant(x: Any) -> Any:
    y = np.sqrt(x)
    y[0] = 7.0
    return np.sum(y)


@at([0.0, 4.0, 1.0], [0, 0.25, 0.5], [0, -1 / 32, -0.25])
def overwritten_under_a_mask(x: Any) -> Any:
    y = np.sqrt(x)
    y[x <= 0] = 7.0
    return np.sum(y)


@at([0.0, 4.0, 1.0], [0, 0.25, 0.5], [0, -1 / 32, -0.25])
def written_only_where_the_root_is_smooth(x: Any) -> Any:
    return np.sum(np.sqrt(x, out=np.ones_like(x), where=x > 0))


@at([[0.0, 1.0], [4.0, 9.0]], [[0, 0], [0.25 * 3, 1 / 6 * 3]])
def product_whose_first_row_is_not_read(x: Any) -> Any:
    return np.sum((np.sqrt(x) @ np.array([[1.0, 2.0], [1.0, 2.0]]))[1])


@at([[0.0, 1.0], [4.0, 9.0]], [[0, 0.5], [0, 1 / 6]])
def sum_of_the_column_that_is_read(x: Any) -> Any:
    return np.sum(np.sqrt(x), axis=0)[1]


@at([[0.0, 1.0], [4.0, 9.0]], [[0, 0], [0.125, 1 / 12]])
def mean_of_the_row_that_is_read(x: Any) -> Any:
    return np.mean(np.sqrt(x), axis=1)[1]


@at([[0.0, 1.0], [4.0, 9.0]], [[0, 0], [0.75, 1 / 3]])
def product_of_the_row_that_is_read(x: Any) -> Any:
    return np.prod(np.sqrt(x), axis=1)[1]


@at([1.0, 2.0], [32.0, 48.0], [20.0, 30.0])
def matrix_with_an_infinite_row_that_is_not_read(x: Any) -> Any:
    return (np.array([[INF, 1.0], [2.0, 3.0]]) @ x)[1] ** 2


@at([0.0, 4.0, 1.0], [0, 0.25, 0.75])
def running_sum_from_behind_the_pole(x: Any) -> Any:
    return np.sum(np.cumsum(np.sqrt(x)[1:])[1:]) + 0.25 * x[2]


@at([0.0, 4.0, 1.0], [0, 0.25, 0.5], [0, -1 / 32, -0.25])
def joined_and_cut_again(x: Any) -> Any:
    y = np.sqrt(x)
    return np.sum(np.concatenate([y, y[1:]])[3:])


@at([0.0, 4.0, 1.0], [0, 0.25, 0.5], [0, -1 / 32, -0.25])
def padded_turned_and_cut(x: Any) -> Any:
    return np.sum(np.flip(np.pad(np.sqrt(x), 1))[1:3])


@at([0.0, 1.0, 4.0], [0, -0.5, 0.25])
def differences_of_what_was_kept(x: Any) -> Any:
    return np.diff(np.sqrt(x))[1]


@at([0.0, 4.0], [0.0, 0.25], [0, -1 / 32])
def loop_that_adds_what_is_smooth(x: Any) -> Any:
    y = np.sqrt(x)
    total = 0.0
    for k in range(1, 2):
        total = total + y[k]
    return total


@at([0.0, 1.0], [0.0, 0.0])
def entropy_guarded(x: Any) -> Any:
    return np.sum(np.where(x > 0, -x * np.log(x) + x - 1.0, 0.0)) + 0.0 * np.sum(x[1:])


@at([0.0, 0.5], [0.0, np.log(2.0) - 1.0], [0.0, -2.0])
def special_entropy_not_taken(x: Any) -> Any:
    return scipy.special.entr(x)[1]


@at([0.0, 2.0], [0.0, -0.5], [0.0, 0.5])
def loss_that_is_one_at_the_pole(x: Any) -> Any:
    y = 1.0 / x
    return np.sum(np.where(np.isfinite(y), y, 0.0) * 2.0)


@at([[1.0, 1.0], [1.0, 3.0]], [[0, 0], [-0.5, 0.5]])
def deviation_of_the_row_that_varies(x: Any) -> Any:
    return np.std(x, axis=1)[1]


@at([[0.0, 5.0], [1.0, 3.0]], [[0, 0], [1.0, 1 / 3]])
def logarithm_of_a_product_of_a_row(x: Any) -> Any:
    return np.log(np.prod(x, axis=1))[1]


@at([[-1.0, 1.0], [np.e, 1.0]], [[0, 0], [1 / np.e, 0.0]])
def logarithms_of_sums_of_rows(x: Any) -> Any:
    return np.where(np.sum(x, axis=1) > 0, np.log(np.abs(x[:, 0])), 0.0)[1]


@at([0.0, 2.0], [0.0, 4 * (np.log(2.0) + 1)], [0.0, 4 * (np.log(2.0) + 1) ** 2 + 2.0])
def power_to_itself(x: Any) -> Any:
    return np.where(x > 0, x**x, 1.0)[1]


@at([-2.0, 2.0], [0.0, 4 * (np.log(2.0) + 1)])
def power_to_itself_of_a_negative_number(x: Any) -> Any:
    return np.power(x, x)[1]


@at([0.0, 2.0], [0.0, -0.25], [0.0, 0.25])
def power_with_a_negative_exponent(x: Any) -> Any:
    return np.where(x > 0, x ** np.array([-1.0, -1.0]), 0.0)[1]


@at([0.0, 4.0], [0.0, 0.25], [0.0, -1 / 32])
def select_among_three(x: Any) -> Any:
    return np.sum(np.select([x > 1, x > 0], [np.sqrt(x), np.log(x)], 0.0))


@at([0.0, 4.0], [1.0, 0.25])
def choose_among_two(x: Any) -> Any:
    return np.sum(np.choose(np.array([0, 1]), [x, np.sqrt(x)]))


@at([0.0, 4.0, 9.0], [0.0, 0.25, 1 / 6])
def compressed(x: Any) -> Any:
    return np.sum(np.compress([False, True, True], np.sqrt(x)))


@at([0.0, 4.0, 9.0], [0.0, 0.0, 1 / 6])
def added_at_repeated_places(x: Any) -> Any:
    y = np.zeros_like(x)
    np.add.at(y, np.array([0, 0, 1]), np.sqrt(x))
    return y[1]


@at([0.0, 4.0, 9.0], [0.0, 0.0, 1 / 6])
def only_the_last_of_repeated_writes(x: Any) -> Any:
    y = np.zeros_like(x)
    y[np.array([0, 0, 0])] = np.sqrt(x)
    return y[0]


@at([0.0, 4.0, 9.0], [0.0, 0.25, 1 / 6])
def root_written_under_a_mask(x: Any) -> Any:
    y = np.zeros_like(x)
    y[x > 0] = np.sqrt(x[x > 0])
    return np.sum(y)


@at([0.0, 4.0, 9.0], [0.0, 0.25, 1 / 6])
def sorted_order_gathers(x: Any) -> Any:
    order = np.argsort(np.array([2.0, 1.0, 0.0]))
    return np.sum(np.sqrt(x)[order][:2])


@at([0.0, 4.0, 9.0], [0.0, 0.25, 1 / 6])
def checkpointed_root(x: Any) -> Any:
    return np.sum(bridge.checkpoint(lambda v: np.where(v > 0, np.sqrt(v), 0.0))(x))


@at([0.0, 4.0, 9.0], [0.0, 0.25, 1 / 6])
def root_inside_of_a_loop(x: Any) -> Any:
    y = np.sqrt(x)

    def body(k: Any, total: Any) -> Any:
        return total + np.where(x[k] > 0, y[k], 0.0)

    return bridge.fori_loop(0, 3, body, 0.0)


@at([[INF, 1.0], [2.0, 3.0]], [[0, 0], [14.0, 7.0]])
def matrix_times_matrix_with_an_infinite_row(x: Any) -> Any:
    return (x @ np.array([[1.0, 2.0], [3.0, 4.0]]))[1, 0] * 7.0 - 7.0 * 2.0 * x[1, 1] + 7.0 * x[1, 0]


@at([[INF, 1.0], [2.0, 3.0]], [[0, 0], [1.0, 3.0]])
def contraction_with_an_infinite_row(x: Any) -> Any:
    return np.einsum("ij,jk->ik", x, np.array([[1.0, 2.0], [3.0, 4.0]]))[1, 0]


@at([[INF, 1.0], [2.0, 3.0]], [[0, 0], [1.0, 3.0]])
def tensor_product_with_an_infinite_row(x: Any) -> Any:
    return np.tensordot(x, np.array([[1.0, 2.0], [3.0, 4.0]]), axes=1)[1, 0]


@at([[0.0, 0.0], [1.0, 2.0]], [[0.0, 0.0], [4.0, 4.0]], first_only="products are not seen through twice")
def product_with_roots_that_are_not_read(x: Any) -> Any:
    y = np.sqrt(x * x)
    return (y @ y.T)[1, 1] + 2.0 * y[1, 0]


@at([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], [[-0.5 / np.sqrt(2), -0.5 / np.sqrt(2)]] + [[0.0, 0.0]] * 2)
def distances_between_points_without_the_own_ones(x: Any) -> Any:
    gap = x[:, None, :] - x[None, :, :]
    away = np.sqrt(np.sum(gap * gap, axis=-1))
    return away[0, 1] * 0.5 + 0.25 * np.sum(x[1]) - 0.25 * np.sum(x[1]) - np.sum(x[1] * 0.5 / np.sqrt(2))


@at([[[2.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 3.0]]], [[[0, 0], [0, 0]], [[0, 0], [0, 1.0]]])
def eigenvectors_of_the_matrix_without_repeated_values(x: Any) -> Any:
    values, vectors = np.linalg.eigh(x)
    return values[1, 1] + 0.0 * vectors[1, 0, 0]


@at([0.0, 4.0, 9.0], [0.0, 0.25, 0.0])
def median_of_roots(x: Any) -> Any:
    return np.median(np.sqrt(x))


@at([0.0, 4.0, 9.0], [0.0, 0.125, 1 / 12])
def quantile_of_roots(x: Any) -> Any:
    return np.quantile(np.sqrt(x), 0.75)


@at([0.0, 4.0, 9.0], [0.0, 0.5, 1 / 6])
def cumulated_from_behind(x: Any) -> Any:
    return np.sum(np.cumsum(np.sqrt(x)[::-1])[:2]) - np.sqrt(x)[2] + 0.25 * x[1]


@at([0.0, 4.0, 9.0], [0.0, 0.5, 1 / 6], first_only="products are not seen through twice")
def running_product_from_behind(x: Any) -> Any:
    return np.log(np.cumprod(np.sqrt(x)[::-1])[1]) * 2.0 + (np.sqrt(x)[2] - 2.0 / 9.0 * 0.5 * x[2]) + 0.25 * x[1]


@at([-INF, 0.0, 1.0], [0.0, 1 / (1 + np.e), np.e / (1 + np.e)])
def log_sum_exp_of_special(x: Any) -> Any:
    return special.logsumexp(x)


@at([[-INF, -INF], [0.0, 1.0]], [[0, 0], [1 / (1 + np.e), np.e / (1 + np.e)]])
def log_sum_exp_of_rows_of_special(x: Any) -> Any:
    return special.logsumexp(x, axis=1)[1]


@at([[-INF, -INF], [0.0, 0.0]], [[0, 0], [0.25, -0.25]])
def softmax_of_special(x: Any) -> Any:
    return special.softmax(x, axis=1)[1, 0]


@at([1.0, 2.0], [0.0, 1.0], [0.0, 0.0])
def infinite_mask_added_to_scores(x: Any) -> Any:
    scores = x + np.array([-INF, 0.0])
    return np.max(scores) + np.log(np.sum(np.exp(scores - np.max(scores))))


@at([1.0, 2.0, 3.0], [-np.e / (1 + np.e) ** 2, np.e / (1 + np.e) ** 2, 0.0])
def softmax_with_a_mask_of_minus_infinity(x: Any) -> Any:
    scores = np.where(np.array([True, True, False]), x, -INF)
    weights = np.exp(scores - np.max(scores))
    weights /= np.sum(weights)
    return weights[1] + 0.0 * x[2]


@at([[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [1.0, 0.0]])
def row_divided_by_its_own_zero(x: Any) -> Any:
    y = x / np.array([[0.0], [1.0]])
    return y[1, 0]


@at([2.0, 0.0], [0.5, 0.0], [-0.25, 0.0])
def argument_overwritten(x: Any) -> Any:
    y = np.log(x)
    x[1] = 5.0
    return y[0] + 0.0 * x[1]


@at([0.5, 2.0], [-2 / np.sqrt(3) * np.sqrt(3) / np.sqrt(3), 0.0])
def arc_cosine_outside_of_its_domain(x: Any) -> Any:
    return np.arccos(x)[0]


@at([0.0, 1.0], [0.0, 1.0], not_jax="JAX has another value of psi at its pole")
def gamma_function_at_a_pole_not_taken(x: Any) -> Any:
    return x[1] + 0.0 * np.where(x > 0, scipy.special.gammaln(x), 0.0)[0]


@at([0.0, 3.0], [0.0, 2.0])
def inner_jvp_of_a_root(x: Any) -> Any:
    return np.sum(bridge.jvp(lambda v: np.where(v > 0, v**1.5 * 0 + v * v, 0.0), (x,), (np.ones(2),))[1])


@at([0.0, 4.0], [0.0, 0.375])
def inner_gradient_of_a_power(x: Any) -> Any:
    return np.sum(bridge.grad(lambda v: np.sum(np.where(v > 0, v**1.5, 0.0)))(x))


@at([0.0, 4.0], [0.0, -3 / 64])
def inner_second_derivative_of_a_power(x: Any) -> Any:
    return np.sum(bridge.hvp(lambda v: np.sum(np.where(v > 0, v**1.5, 0.0)), (x,), (np.ones(2),)))
