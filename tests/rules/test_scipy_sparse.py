"""Sparse matrices: operators with tracked arrays, tracked entries, systems. One row a call, beside its dense twin."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

import bridge
from bridge.errors import RefusedError
from tests.helpers.stand_ins import stand_in

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
X = np.array([0.5, -1.2, 2.0, 0.7])
ROWS, COLUMNS = np.array([0, 1, 2, 3, 0, 0]), np.array([1, 0, 2, 3, 1, 3])
INDICES, INDPTR = np.array([0, 1, 1, 3, 2, 3]), np.array([0, 2, 3, 5, 6])
DENSE = np.random.default_rng(0).normal(size=(4, 4))
SPD = DENSE @ DENSE.T + 3 * np.eye(4)


def assert_same(mine: Callable[..., Any], dense: Callable[..., Any], *args: Any, tolerance: float = 1e-9) -> None:
    """Two programs have one value and one gradient."""
    values = []
    for program in (mine, dense):
        values.append(
            bridge.value_and_grad(lambda *args, f=program: np.sum(np.sin(f(*args))), tuple(range(len(args))))(*args)
        )
    for got, wanted in zip(np.atleast_1d(values[0][0]), np.atleast_1d(values[1][0]), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=tolerance)
    for got, wanted in zip(values[0][1], values[1][1], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def plain_matrix(format: str, kind: str) -> Any:
    random = sparse.random_array((4, 4), density=0.6, rng=0) + np.eye(4)
    return getattr(sparse, f"{format}_{kind}")(random)


OPERATORS = {
    "A @ x": lambda a, x: a @ x,
    "x @ A": lambda a, x: x @ a,
    "A.T @ X": lambda a, x: a.T @ np.outer(x, x[:3]),
    "X @ A": lambda a, x: np.outer(x[:3], x) @ a,
    "A @ column": lambda a, x: a @ x[:, None],
    "A @ A @ x": lambda a, x: a @ (a @ x),
}
OF_ARRAYS = {
    "A * X": (lambda a, x: (a * np.outer(x, x)).toarray(), lambda d, x: d * np.outer(x, x)),
    "x * A": (lambda a, x: (x * a).toarray(), lambda d, x: x * d),
    "A + X": (lambda a, x: a + np.outer(x, x), lambda d, x: d + np.outer(x, x)),
    "X - A": (lambda a, x: np.outer(x, x) - a, lambda d, x: np.outer(x, x) - d),
    "A - X": (lambda a, x: a - np.outer(x, x), lambda d, x: d - np.outer(x, x)),
}


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", FORMATS)
def test_operators_of_plain_matrices_need_no_reading(format: str, kind: str) -> None:
    matrix = plain_matrix(format, kind)
    dense = matrix.toarray()
    for program in OPERATORS.values():
        assert_same(lambda x, f=program: f(matrix, x), lambda x, f=program: f(dense, x), X)
    assert_same(lambda x: (matrix * x[1]).toarray(), lambda x: dense * x[1], X)
    assert_same(lambda x: (x[1] * matrix / x[0]) @ x, lambda x: x[1] * dense / x[0] @ x, X)
    if kind == "matrix":
        assert_same(lambda x: matrix * x + x * matrix, lambda x: dense @ x + x @ dense, X)
    else:
        for mine, theirs in OF_ARRAYS.values():
            assert_same(lambda x, f=mine: f(matrix, x), lambda x, f=theirs: f(dense, x), X)
    dot = stand_in(sparse.coo_array.dot) if format == "coo" else type(matrix).dot
    assert_same(lambda x: dot(matrix, x), lambda x: dense @ x, X)


def test_a_matrix_changed_after_its_use_gives_the_gradient_of_what_it_was() -> None:
    def program(x: Any) -> Any:
        matrix = sparse.csr_array(DENSE)
        y = matrix @ x
        matrix.data *= 2
        return y

    assert_same(program, lambda x: DENSE @ x, X)


# Constructor, its arguments made of the tracked entries, and the plain constructor's result is the reference.
CONSTRUCTORS = {
    **{
        f"{format}_{kind} of places": (
            getattr(sparse, f"{format}_{kind}"),
            lambda e: (((e, (ROWS, COLUMNS)),), {"shape": (4, 4)}),
        )
        for format in ("csr", "csc", "coo", "bsr")
        for kind in ("array", "matrix")
    },
    **{
        f"{format}_array compressed": (getattr(sparse, f"{format}_array"), lambda e: (((e, INDICES, INDPTR),), {}))
        for format in ("csr", "csc")
    },
    "csr_matrix of a dense one": (sparse.csr_matrix, lambda e: ((e[:, None] * e,), {})),
    "dia_array": (sparse.dia_array, lambda e: (((e[:4] * np.ones((2, 1)), np.array([0, 1])),), {"shape": (4, 4)})),
    "diags": (sparse.diags, lambda e: (([e[:3], e[:4], 2 * e[3:]], [-1, 0, 1]), {"format": "csc"})),
    "diags of numbers": (sparse.diags, lambda e: (([e[0], -2.0, 1.0], [-1, 0, 1]), {"shape": (4, 4)})),
    "diags of one": (sparse.diags, lambda e: ((e,), {})),
    "diags_array": (sparse.diags_array, lambda e: ((e[:4],), {"offsets": 1})),
    "spdiags": (sparse.spdiags, lambda e: ((e[:5] * np.ones((2, 1)), [0, -1], 5, 5), {})),
}
ENTRIES = np.array([0.5, -1.2, 2.0, 0.7, 1.1, -0.4])


def finished(matrix: Any) -> Any:
    return matrix.toarray()


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_matrices_of_tracked_entries(name: str) -> None:
    make, given = CONSTRUCTORS[name]

    def program(entries: Any) -> Any:
        args, kwargs = given(entries)
        return finished((stand_in(make) if hasattr(entries, "place") else make)(*args, **kwargs))

    bridge.check_gradient(
        lambda e: np.sum(np.sin(program(e)) * np.arange(1, program(e).size + 1).reshape(program(e).shape)), (ENTRIES,)
    )
    with bridge.Context() as context:
        tracked = program(context.buffer(ENTRIES))
        np.testing.assert_array_equal(bridge.detach(tracked), program(ENTRIES))


def made(entries: Any, shape: Any = (4, 4), kind: Any = sparse.csr_array) -> Any:
    """A matrix of the entries, tracked or plain."""
    make = stand_in(kind) if hasattr(entries, "place") else kind
    return make((entries, (ROWS, COLUMNS)), shape=shape)


PLAIN = sparse.csr_array(DENSE * (DENSE > 0))
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "A @ x": lambda a, x: a @ x,
    "x @ A": lambda a, x: x @ a,
    "A.T @ x": lambda a, x: a.T @ x,
    "A.dot": lambda a, x: a.dot(x),
    "A + B": lambda a, x: (a + PLAIN).toarray(),
    "B - A": lambda a, x: (PLAIN - a).toarray(),
    "A - A.T": lambda a, x: (a - a.T).toarray(),
    "A @ B": lambda a, x: (a @ PLAIN).toarray(),
    "B @ A": lambda a, x: (PLAIN @ a).toarray(),
    "A @ A": lambda a, x: (a @ a).toarray(),
    "A * 2 - A / x": lambda a, x: (a * 2 - a / x[0] + x[1] * a).toarray(),
    "A * B": lambda a, x: (a * PLAIN).toarray(),
    "multiply": lambda a, x: a.multiply(x[:, None]).toarray() + a.multiply(x).toarray(),
    "dense": lambda a, x: a + np.outer(x, x) - a,
    "-abs(A)": lambda a, x: (-abs(a)).toarray(),
    "power": lambda a, x: (a**2).toarray() + a.power(3).toarray(),
    "rows": lambda a, x: a[1:3].toarray(),
    "columns": lambda a, x: a[:, [1, 3, 1]].toarray(),
    "element": lambda a, x: a[0, 1] + a[1, 1],
    "diagonal": lambda a, x: a.diagonal() + a.trace(),
    "sum": lambda a, x: a.sum() + a.sum(axis=0) + a.sum(axis=1) + a.mean(),
    "formats": lambda a, x: a.tocsc().tocoo().tocsr().data,
    "csc data": lambda a, x: a.tocsc().data,
    "todense": lambda a, x: a.todense() + a.conj().real.astype(float).copy().toarray(),
    "sin": lambda a, x: a.sin().toarray(),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_of_tracked_entries(name: str) -> None:
    def program(entries: Any, x: Any) -> Any:
        return OPERATIONS[name](made(entries), x)

    bridge.check_gradient(lambda e, x: np.sum(np.sin(program(e, x))), (ENTRIES, X))
    with bridge.Context() as context:
        tracked = program(context.buffer(ENTRIES), context.buffer(X))
        np.testing.assert_allclose(bridge.detach(tracked), program(ENTRIES, X), rtol=1e-14)


PLACING: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "hstack": lambda f, a: f(sparse.hstack)([a, PLAIN, a]),
    "vstack": lambda f, a: f(sparse.vstack)([PLAIN, a], format="csc"),
    "bmat": lambda f, a: f(sparse.bmat)([[a, None], [PLAIN, a]]),
    "block_array": lambda f, a: f(sparse.block_array)([[a, PLAIN]], format="csr"),
    "block_diag": lambda f, a: f(sparse.block_diag)([a, PLAIN]),
    "tril": lambda f, a: f(sparse.tril)(a, -1),
    "triu": lambda f, a: f(sparse.triu)(a),
    "kron": lambda f, a: f(sparse.kron)(a, PLAIN),
    "kron of arrays": lambda f, a: f(sparse.kron)(np.eye(2), a, "csr"),
    "kronsum": lambda f, a: f(sparse.kronsum)(a, PLAIN),
    "csc of csr": lambda f, a: f(sparse.csc_array)(a),
    "coo of csr": lambda f, a: f(sparse.coo_matrix)(a, dtype=float),
}


@pytest.mark.parametrize("name", PLACING)
def test_functions_that_place_entries(name: str) -> None:
    def program(entries: Any) -> Any:
        choose = stand_in if hasattr(entries, "place") else lambda function: function
        return PLACING[name](choose, made(entries)).toarray()

    assert_same_as_plain(program, ENTRIES)


def assert_same_as_plain(program: Callable[..., Any], *args: Any, rtol: float = 1e-12) -> None:
    seen = []

    def loss(*args: Any) -> Any:
        seen.append(bridge.detach(program(*args)))
        return np.sum(np.sin(program(*args)))

    bridge.value_and_grad(loss)(*args)
    np.testing.assert_allclose(seen[0], program(*args), rtol=rtol)
    bridge.check_gradient(lambda *args: np.sum(np.sin(program(*args))), args)


SYSTEM = sparse.csc_array(SPD)
SOLVERS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "spsolve": lambda f, b: f(linalg.spsolve)(SYSTEM, b),
    "spsolve of columns": lambda f, b: f(linalg.spsolve)(SYSTEM.tocsr(), np.outer(b, b[:2])),
    "spsolve of a column": lambda f, b: f(linalg.spsolve)(SYSTEM, b[:, None]),
    "spsolve of a matrix": lambda f, b: f(linalg.spsolve)(sparse.csr_matrix(SPD), b),
    "splu": lambda f, b: f(type(linalg.splu(SYSTEM)).solve)(linalg.splu(SYSTEM), b),
    "splu, transposed": lambda f, b: f(type(linalg.splu(SYSTEM)).solve)(linalg.splu(SYSTEM), b, "T"),
    **{
        solver.__name__: lambda f, b, solver=solver: f(solver)(SYSTEM, b, rtol=1e-12)[0]
        for solver in (linalg.cg, linalg.gmres, linalg.bicgstab, linalg.bicg, linalg.minres, linalg.lgmres, linalg.cgs)
    },
    "cg of a dense one": lambda f, b: f(linalg.cg)(SPD, b, rtol=1e-12, M=np.diag(1 / np.diag(SPD)))[0],
    "gmres of an operator": lambda f, b: f(linalg.gmres)(linalg.aslinearoperator(DENSE + 4 * np.eye(4)), b, rtol=1e-12)[
        0
    ],
}


@pytest.mark.parametrize("name", SOLVERS)
def test_systems_of_plain_matrices(name: str) -> None:
    def program(b: Any) -> Any:
        return SOLVERS[name](stand_in if hasattr(b, "place") else lambda function: function, b)

    assert_same_as_plain(program, X)


@pytest.mark.parametrize("solver", [linalg.spsolve, linalg.gmres, linalg.bicgstab], ids=lambda solver: solver.__name__)
def test_systems_of_tracked_entries(solver: Any) -> None:
    options = {} if solver is linalg.spsolve else {"rtol": 1e-12}

    def program(entries: Any, b: Any) -> Any:
        matrix = made(entries, kind=sparse.csc_array) + sparse.diags_array([4.0] * 4, format="csc")
        solved = (stand_in(solver) if hasattr(b, "place") else solver)(matrix, b, **options)
        return solved[0] if isinstance(solved, tuple) else solved

    assert_same_as_plain(program, ENTRIES, X)


def test_what_is_written_into_the_entries_is_in_the_matrix() -> None:
    def program(entries: Any) -> Any:
        matrix = made(entries)
        matrix.data[1:3] = matrix.data[:2] * entries[0]
        return matrix @ X

    assert_same_as_plain(program, ENTRIES)


def test_matrices_that_the_program_makes_of_constants_are_scipys() -> None:
    def program(b: Any) -> Any:
        matrix = sparse.diags([np.ones(3), 4 * np.ones(4), np.ones(3)], [-1, 0, 1], format="csc")
        assert isinstance(matrix, sparse.spmatrix)
        return linalg.splu(matrix).solve(b)

    assert_same_as_plain(program, X)


def test_hessians_go_through_systems() -> None:
    def energy(b: Any) -> Any:
        return np.sum(stand_in(linalg.spsolve)(SYSTEM, b) ** 3)

    inverse = np.linalg.inv(SPD)
    np.testing.assert_allclose(bridge.hessian(energy)(X), 6 * inverse.T @ np.diag(inverse @ X) @ inverse, rtol=1e-9)


def test_an_iteration_that_did_not_converge_has_no_gradient() -> None:
    def program(b: Any) -> Any:
        solution, info = stand_in(linalg.cg)(SYSTEM, b, maxiter=1, rtol=1e-14)
        assert info == 1
        return np.sum(solution)

    with pytest.raises(RefusedError, match=r"cg did not converge \(info=1\)"):
        bridge.grad(program)(X)


REFUSED = {
    "to_something": (
        lambda a, x: a.tolil(),
        "csr_array.tolil of a sparse matrix with tracked entries",
    ),
    "assignment": (lambda a, x: operator.setitem(a, (0, 0), x[0]), "an assignment into a sparse matrix"),
    "todense": (lambda a, x: (stand_in(sparse.csr_matrix)(a)).todense(), "np.matrix"),
    "power": (lambda a, x: a.power(-1), "what is not stored would not stay zero"),
    "splu": (lambda a, x: stand_in(linalg.splu)(a), "a factorization of a sparse matrix with tracked entries"),
    "lil": (lambda a, x: stand_in(sparse.lil_array)(a.toarray()), "lil_array of tracked entries"),
    "cg": (lambda a, x: stand_in(linalg.cg)(PLAIN, x, rtol=a.diagonal()[0]), "with a tracked rtol="),
    "floor": (lambda a, x: PLAIN // x[0], "floor_divide of a csr_array and a tracked value"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_so(name: str) -> None:
    program, message = REFUSED[name]
    with pytest.raises(RefusedError, match=message) as caught:
        bridge.grad(lambda e, x: program(made(e), x))(ENTRIES, X)
    assert caught.value.remedy
