"""Sparse systems: direct solvers, factorizations of plain matrices, and iterative solvers by implicit derivatives.

`A @ x == b` gives the cotangent of `b` by one more solve, with the adjoint of `A`, and that of an entry of `A` by a
product of the two solutions. An iterative solver's answer is differentiated as what it approximates; the further solve
is done to the same tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.extend import (
    Aside,
    Case,
    Facts,
    RefusedError,
    TrackedObject,
    conj,
    known,
    needs,
    pulls,
    refuse,
    solved,
    stand_in,
    without_gradient,
)
from bridge.rules.contractions import fitted
from bridge.rules.factorizations import LU_SOLVED
from bridge.rules.sparse import CLASSES, OTHER, PATTERN, outer_at
from bridge.rules.sparse_matrices import compressed, is_sparse

sparse = needs("scipy.sparse")
linalg = needs("scipy.sparse.linalg")

SuperLU = linalg.SuperLU


def system_solved(entries: Any, indices: Any, indptr: Any, b: Any, shape: tuple[int, int], format: str) -> Any:
    """The solution of a sparse system by a direct method; for several right-hand sides, columns of `b`."""
    matrix = CLASSES[format]((entries, indices, indptr), shape=shape)
    # SciPy would sort these arrays in place.
    matrix = matrix if matrix.has_canonical_format else matrix.copy()
    return np.asarray(linalg.spsolve(matrix, b)).reshape(b.shape)


def _solution_by_entries(ct, out, entries, indices, indptr, b, shape, format):
    by_b = SOLVED(conj(entries), indices, indptr, ct, shape[::-1], OTHER[format])
    return -outer_at(by_b, out, indices, indptr, format, entries.dtype)


def _solution_by_b(ct, out, entries, indices, indptr, b, shape, format):
    by_b = SOLVED(conj(entries), indices, indptr, ct, shape[::-1], OTHER[format])
    return fitted(by_b, b.shape, b.dtype)


SOLVED = pulls(system_solved, _solution_by_entries, None, None, _solution_by_b, facts=PATTERN)


@stand_in(linalg.spsolve)
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    if is_sparse(b):
        refuse("scipy.sparse.linalg.spsolve with a sparse right-hand side", "write b.toarray()")
    if not is_sparse(A):
        refuse("scipy.sparse.linalg.spsolve with a dense matrix of tracked values", "use np.linalg.solve")
    b = b if hasattr(b, "shape") else np.array(b)
    if isinstance(A, TrackedObject) and A.format in ("csr", "csc"):
        # As SciPy does, and `.data` shows it.
        A.sort_indices()
    entries, indices, indptr, shape, format = compressed(A)
    solution = SOLVED(entries, indices, indptr, b, shape, format)
    return np.ravel(solution) if b.ndim == 2 and b.shape[1] == 1 else solution


@stand_in(linalg.factorized, of_constants=True)
def factorized(A: Any) -> Callable[[Any], Any]:
    return lambda b: spsolve(A, b)


@stand_in(linalg.inv, of_constants=True)
def inv(A: Any) -> Any:
    refuse(
        "scipy.sparse.linalg.inv of tracked entries", "solve with spsolve(A, b), or write np.linalg.inv(A.toarray())"
    )


@stand_in(linalg.splu, linalg.spilu)
def splu(A: Any, *args: Any, **kwargs: Any) -> Any:
    refuse("a factorization of a sparse matrix with tracked entries", "use spsolve(A, b), or factorized(A)")


@stand_in(SuperLU.solve)
def solve(factors: Any, rhs: Any, trans: str = "N") -> Any:
    if trans == "T":
        return conj(LU_SOLVED(factors, conj(rhs), "H"))
    return LU_SOLVED(factors, rhs, trans)


SOLVERS = {
    getattr(linalg, name): name
    for name in ("cg", "cgs", "bicg", "bicgstab", "gmres", "lgmres", "minres", "gcrotmk", "tfqmr")
}
_SELF_ADJOINT = (linalg.cg, linalg.minres)
_OPTIONS = Facts(static=("shape", "format", "solver", "options"))


def iterated(
    entries: Any, indices: Any, indptr: Any, b: Any, shape: Any, format: str, solver: Any, options: dict[str, Any]
) -> Any:
    """What an iterative solver answers: the solution, and behind it, as its last number, 0 if it converged."""
    return _answer(solver(CLASSES[format]((entries, indices, indptr), shape=shape), b, **options))


def iterated_operator(operator: Any, b: Any, solver: Any, options: dict[str, Any]) -> Any:
    """`iterated` of a plain operator, or a plain dense matrix."""
    return _answer(solver(operator, b, **options))


def _answer(found: Any) -> Any:
    solution, info = found
    return np.append(solution, info)


def _solution(answer: Any, solver: Any) -> Any:
    """The solution of an answer, for a cotangent: without convergence there is none that it could be of."""
    info = int(np.rint(np.real(answer[-1])))
    if info != 0:
        raise RefusedError(
            f"scipy.sparse.linalg.{SOLVERS[solver]} did not converge (info={info}): "
            "its answer has no implicit derivative",
            remedy="raise maxiter=, loosen rtol=, or use spsolve",
        )
    return answer[:-1]


def _adjoint_options(solver: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options of the further solve: a preconditioner serves the adjoint only if both are self-adjoint."""
    dropped = (
        {"x0", "callback", "callback_type"} if solver in _SELF_ADJOINT else {"x0", "callback", "callback_type", "M"}
    )
    return {name: value for name, value in options.items() if name not in dropped}


def _solved_back(solve, ct, out, solver):
    """The cotangent of the right-hand side; every number of it depends on every cotangent, also on a NaN."""
    _solution(out, solver)
    right = ct[:-1]
    return _solution(solve(right), solver) if np.all(np.isfinite(right)) else right + np.sum(0 * right)


def _adjoint_solution(ct, out, entries, indices, indptr, shape, format, solver, options):
    def solve(right):
        arrays = conj(entries), indices, indptr, right, shape[::-1], OTHER[format]
        return ITERATED(*arrays, solver, _adjoint_options(solver, options))

    return _solved_back(solve, ct, out, solver)


def _iterated_by_b(ct, out, entries, indices, indptr, b, shape, format, solver, options):
    by_b = _adjoint_solution(ct, out, entries, indices, indptr, shape, format, solver, options)
    return fitted(np.reshape(by_b, b.shape), b.shape, b.dtype)


def _iterated_by_entries(ct, out, entries, indices, indptr, b, shape, format, solver, options):
    by_b = _adjoint_solution(ct, out, entries, indices, indptr, shape, format, solver, options)
    return -outer_at(by_b, out[:-1], indices, indptr, format, entries.dtype)


def _operator_by_b(ct, out, operator, b, solver, options):
    adjoint = operator if solver in _SELF_ADJOINT else linalg.aslinearoperator(operator).adjoint()

    def solve(right):
        return BY_OPERATOR(adjoint, right, solver, _adjoint_options(solver, options))

    return fitted(np.reshape(_solved_back(solve, ct, out, solver), b.shape), b.shape, b.dtype)


ITERATED = pulls(iterated, _iterated_by_entries, None, None, _iterated_by_b, facts=_OPTIONS)
BY_OPERATOR = pulls(iterated_operator, None, _operator_by_b, facts=Facts(static=("operator", "solver", "options")))


class Operator(TrackedObject):
    """A `LinearOperator` of the program that is computed with values that carry a gradient: `apply` is its matvec.

    SciPy searches with `plain`, whose functions run aside in `search`.
    """

    library_class = property(lambda self: linalg.LinearOperator)
    __array_ufunc__ = None

    def __init__(self, plain: Any, apply: Callable[[Any], Any], search: Aside) -> None:
        self.plain, self.apply, self.search = plain, apply, search

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "dtype"):
            return getattr(self.plain, name)
        if (name.startswith("__") and name not in _OF_OPERATORS) or name in ("place", "plain", "apply", "search"):
            raise AttributeError(name)
        refuse(f"LinearOperator.{name} of a matvec with tracked values", "call matvec, or make it a sparse matrix")

    def matvec(self, x: Any) -> Any:
        if is_sparse(x) or np.ndim(x) != 1:
            refuse("a LinearOperator with tracked values times a matrix", "multiply one column after the other")
        if np.shape(x) != self.shape[1:]:
            raise ValueError("dimension mismatch")
        return np.reshape(self.apply(x), self.shape[:1])

    dot = __matmul__ = __mul__ = __call__ = matvec


_OF_OPERATORS = [f"__{name}__" for name in ("add", "sub", "neg", "pow", "truediv", "rmul", "rmatmul")]
for _name in _OF_OPERATORS:
    setattr(Operator, _name, lambda self, *others, _name=_name: Operator.__getattr__(self, _name))


@stand_in(linalg.LinearOperator, of_constants=False, calls=True)
def linear_operator(shape: Any, matvec: Any, *functions: Any, **options: Any) -> Any:
    """SciPy's operator, unless `matvec` computes with values that carry a gradient."""
    search = Aside("scipy.sparse.linalg.LinearOperator")
    aside = search.plain(matvec)
    plain = linalg.LinearOperator(
        shape,
        aside,
        *(search.plain(x) if callable(x) and not isinstance(x, type) else x for x in functions),
        **{name: search.plain(x) if callable(x) and name != "dtype" else x for name, x in options.items()},
    )
    if not search.tracked:
        aside(np.zeros(plain.shape[1], plain.dtype))
    if search.tracked:
        return Operator(plain, matvec, search)
    if len(functions) < _BEFORE_DTYPE:
        options["dtype"] = plain.dtype
    return linalg.LinearOperator(shape, matvec, *functions, **options)


_BEFORE_DTYPE = 3


def _solved_by_operator(name: str, solver: Any, A: Operator, b: Any, options: dict[str, Any]) -> Any:
    """The implicit derivative of a system with an operator: its matrix is that of derivatives of `matvec`."""
    n = A.shape[1]
    if n > _LARGEST:
        what = f"scipy.sparse.linalg.{name} with a LinearOperator of {n} unknowns whose matvec has tracked values"
        refuse(what, f"make it a sparse matrix: derivatives of a matvec are a dense matrix, for {_LARGEST} at most")
    solution, info = solver(A.plain, A.search.value_of(b), **options)
    if np.iscomplexobj(solution):
        refuse(f"scipy.sparse.linalg.{name} with a complex LinearOperator with tracked values", "use a sparse matrix")
    if info != 0:
        _solution(np.append(solution, info), solver)
    right = np.reshape(b, (n,))
    return solved(A.search, lambda x: A.matvec(x) - right, solution), info


_LARGEST = 2000


def _stands_in_for(solver: Any) -> Callable[..., Any]:
    name = SOLVERS[solver]

    def solve(A: Any, b: Any, x0: Any = None, **options: Any) -> Any:
        # The solution does not depend on where the search for it starts.
        start = known(x0)
        given = {"x0": np.copy(start) if hasattr(x0, "place") and start is not None else x0, **options}
        for option, value in given.items():
            what = f"scipy.sparse.linalg.{name} with a tracked {option}="
            given[option] = without_gradient(value, what, f"pass bridge.detach({option})")
        if x0 is None:
            del given["x0"]
        b = b if hasattr(b, "shape") else np.array(b)
        if isinstance(A, Operator):
            return _solved_by_operator(name, solver, A, b, given)
        if is_sparse(A):
            entries, indices, indptr, shape, format = compressed(A)
            answer = ITERATED(entries, indices, indptr, b, shape, format, solver, given)
        else:
            what = f"scipy.sparse.linalg.{name} with a dense matrix of tracked values"
            A = without_gradient(A, what, "use np.linalg.solve")
            answer = BY_OPERATOR(A.copy() if isinstance(A, np.ndarray) else A, b, solver, given)
        return answer[:-1], int(np.rint(np.real(answer[-1])))

    solve.__name__ = solve.__qualname__ = name
    return solve


for _solver in SOLVERS:
    stand_in(_solver)(_stands_in_for(_solver))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    dense = np.diag([4.0, 5.0, 6.0]) + rng.normal(size=(3, 3))
    symmetric = dense @ dense.T
    for format, kind in CLASSES.items():
        for matrix in (dense, dense + 0.3j, dense * np.array([1, 0, 1])[:, None] + np.eye(3)):
            whole = kind(matrix)
            for b in (rng.normal(size=3), rng.normal(size=(3, 2)), rng.normal(size=3) + 1j):
                yield Case(system_solved, (whole.data, whole.indices, whole.indptr, b, (3, 3), format))
    exact = {"rtol": 1e-7}
    for solver, matrix in ((linalg.cg, symmetric), (linalg.gmres, dense), (linalg.bicgstab, dense)):
        b = rng.normal(size=3)
        yield Case(iterated_operator, (linalg.aslinearoperator(matrix), b, solver, exact), loss=_of_solution)
        whole = sparse.csr_array(matrix)
        if solver is not linalg.cg:
            arrays = whole.data, whole.indices, whole.indptr, b, (3, 3), "csr"
            yield Case(iterated, (*arrays, solver, exact), loss=_of_solution)


def _of_solution(answer: Any) -> Any:
    return np.sum(answer[:-1] ** 2)
