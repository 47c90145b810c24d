"""Arguments of the Julia functions in this folder, and what is refused of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import bridge

X = np.array([0.7, -0.4, 1.3, 0.2])
P = np.array([1.3, 0.6, 1.1, 0.9])
M = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [0.3, 0.8, 1.1]])
V = np.array([0.4, -1.2, 0.9])
Z = np.array([0.3 + 0.4j, -0.2 + 0.1j])


@dataclass(frozen=True)
class Case:
    """A Julia function and its arguments, of which the first is differentiated.

    says : what the error says under `ad="auto"`; it must be right if this is empty.
    by_name : what the error says under an engine that `ad=` names, for those that must refuse.
    """

    name: str
    args: tuple[Any, ...] = (X,)
    keywords: dict[str, Any] = field(default_factory=dict)
    says: str = ""
    by_name: dict[str, str] = field(default_factory=dict)

    @property
    def single(self) -> bool:
        return self.name.endswith("_precision")

    def points(self) -> Iterator[tuple[Any, ...]]:
        """The arguments, and the same function asked again elsewhere: what an engine keeps must not be seen."""
        leaves, structure = bridge.trees.leaves_of(self.args[0])
        for scale, shift in ((1, 0), (-1, 0.05), (1.25, 0.1), (1, 0)):
            moved = [
                leaf if isinstance(leaf, (int, str)) else np.asarray(leaf * scale + shift, np.asarray(leaf).dtype)[()]
                for leaf in leaves
            ]
            yield bridge.trees.rebuilt(structure, moved), *self.args[1:]


def cases(module: str, *rows: Any) -> list[Case]:
    return [Case(f"{module}.{row}") if isinstance(row, str) else Case(f"{module}.{row[0]}", *row[1:]) for row in rows]


def refused(name: str, says: str, args: tuple[Any, ...] = (X,)) -> tuple[Any, ...]:
    """The row of a function that is not differentiated, at some of its points at least."""
    return name, args, {}, says


MEMORY = "writes memory that outlives the call"
RESIZED = "may change the size of memory that outlives the call"
TRY = "try/catch/finally blocks"
C_CODE = "Mooncake refused: No rrule!! available for foreigncall"

CASES = [
    *cases(
        "Writes",
        "exponential_smoothing",
        ("finite_volume", (X, 0.01, 0.1)),
        ("pairwise_distances", (M,)),
        ("standardise_columns", (M,)),
        "running_products",
        "keep_positive",
        ("padded_convolution", (X, V)),
        "resized_workspace",
        "stencil_views",
        "relu_in_place",
        "cumulative",
        "shifted",
        "bubble_sort",
        "rank_weighted",
        "partial_quantiles",
        "histogram_counts",
        ("sliding_maximum", (X, 2)),
        ("three_dimensional", (M,)),
        ("triangular_fill", (np.linspace(-0.5, 0.5, 6) + 0.03,)),
        "reshaped_alias",
        "reinterpreted",
    ),
    *cases(
        "Caches",
        "with_new_workspace",
        "with_global_workspace",
        "with_captured_workspace",
        refused("global_scratch", MEMORY),
        "filled_before",
        refused("late_global_scratch", MEMORY, (-X,)),
        refused("global_scratch_inside", MEMORY),
        refused("untyped_global", MEMORY),
        "global_ref",
        "global_number",
        "lazy_cache",
        "diff_cache",
        "memoised_constant",
        refused("memoised_result", MEMORY),
        refused("memoised_by_hand", MEMORY),
        "keeps_history",
        "keeps_two_histories",
        refused("history_of_steps", RESIZED),
        refused("grown_workspace", MEMORY),
        "reads_a_list_that_others_extend",
        "counts_in_a_dictionary",
        "counted",
        "constant_weights",
        ("branch_on_constant", (np.array([0.3, 0.5]), False)),
        refused("stored_in_any", "Mooncake refused: "),
        refused("global_optimiser_state", MEMORY),
        "own_optimiser_state",
        ("passed_scratch", (X, P)),
        "counting_closure",
    ),
    *cases(
        "Algebra",
        ("gemm_into", (M, M.T)),
        ("power_iteration", (M @ M.T,)),
        ("solve_in_place", (M, V)),
        ("cholesky_logdet", (M,)),
        ("gauss_elimination", (M + 3 * np.eye(3), V)),
        ("gram_schmidt", (M,)),
        refused("scaled_rows", C_CODE, (M,)),
        ("triangular_solve", (M, V)),
        refused("conjugate_gradients", C_CODE, (M, V)),
        "newton_step",
        ("sparse_assembly", (P,)),
        "sparse_written",
        "diagonal_written",
        ("symmetric_written", (M,)),
        ("tridiagonal_written", (P + 2,)),
        ("kalman_filter", (X[:2], V)),
        refused("in_place_svd", C_CODE, (M,)),
        refused("in_place_qr", C_CODE, (M,)),
        refused("in_place_eigen", C_CODE, (M,)),
        ("matrix_exponential", (M,)),
        ("in_place_inverse", (M,)),
    ),
    *cases(
        "Simulations",
        ("lotka", (P,)),
        ("lotka_from", (P[:2], P)),
        ("brusselator", (P[:3],)),
        ("saved_steps", (P[:2],)),
        ("aliased_steps", (P[:2],)),
        ("leapfrog", (X, 1.5)),
        "game_of_life",
        "smooth_automaton",
        ("metropolis", (P, np.array([0.3, 0.8, 0.1, 0.6, 0.45]))),
        "newton_sqrt",
        ("fixed_point", (P[1:],)),
        refused("edit_costs", "Mooncake refused: ", (P,)),
        ("viterbi", (M + 0.01 * np.arange(3),)),
        ("forward_algorithm", (M,)),
        ("charged_line", (np.array([0.0, 1.1, 2.3]), 0.5)),
        ("gradient_descent", (P,)),
        "chebyshev",
        ("beam", (P,)),
    ),
    *cases(
        "State",
        "account",
        "two_particles",
        ("linked_list", (X,), {}, "", {"mooncake": "the type Main.State.Node refers to itself"}),
        "tree_sum",
        "recursion",
        "dictionary_of_layers",
        "counted_words",
        ("named_parameters", ({"W": M, "b": V, "scale": 0.7},)),
        ("nested_parameters", ({"layers": ({"W": M}, {"W": M.T.copy()}), "b": V},)),
        "captured_in_comprehension",
        "captured_in_foreach",
        "boxed_variable",
        refused("caught_error", TRY),
        refused("guarded_log", TRY),
        refused("finally_restores", TRY),
        "early_return",
        "several_values",
        ("varargs", (X, P, P**2)),
        ("keyword_scale", (X,), {"scale": 1.5, "shift": P}),
        "splatted",
        refused("printing", C_CODE),
        refused("logging", "Mooncake refused: "),
        refused("threaded", "through threading is not safe"),
        "spawned",
        refused("channelled", TRY),
        refused("atomic_sum", "llvmcall"),
        ("complex_phase", (Z,)),
        ("mandelbrot", (Z,)),
        ("single_precision", (X.astype(np.float32),)),
        "mixed_precision",
        "integers_between",
        "static_vectors",
        "static_matrices",
        "vector_of_statics",
        "subarray_argument",
        "offset_loop",
        "let_block",
        "generated_tuple",
        "callable_table",
    ),
]
