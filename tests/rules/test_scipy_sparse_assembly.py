"""Sparse matrices that are assembled entry by entry, and put in order: `lil_matrix`, `dok_matrix`, `sum_duplicates`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg
from numpy.testing import assert_allclose

import bridge
from bridge.errors import BridgeError, RefusedError

X = np.array([0.7, -1.3, 2.1, 0.4])
W = np.arange(1.0, 5.0)
KINDS = [sparse.lil_matrix, sparse.dok_matrix, sparse.lil_array, sparse.dok_array]
PLACES = [3, 0, 1, 2, 3], [1, 1, 2, 0, 1]
BEFORE = sparse.lil_matrix((4, 4))


@pytest.mark.parametrize("kind", KINDS)
def test_entries_one_by_one(kind: Any) -> None:
    def program(x: Any) -> Any:
        a = kind((4, 4))
        a[1, 1] = 5.0
        for i in range(4):
            a[i, i] += x[i] * x[0] + 4
        a[0, 1] = x[2]
        a[0, 1] = x[3] * 2
        a[2, 3] = 0.0
        copied = a.copy()
        copied[1, 0] = x[1]
        assert isinstance(a, kind)
        assert sparse.issparse(a)
        products = (a @ x) * W + a.T.tocsr() @ x + copied.tocsc() @ W
        return (
            np.sum(products)
            + a[0, 1] ** 2
            + np.sum(a.toarray() ** 2)
            + a[0:2, 0:3].tocsr().sum() * a.shape[0]
            + a.diagonal()[2]
        )

    bridge.check_gradient(program)(X)
    found, expected = (bridge.grad(program, engine=engine)(X) for engine in ("xla", "native"))
    assert_allclose(found, expected)


def test_slices() -> None:
    def program(x: Any) -> Any:
        a = sparse.lil_matrix((4, 4))
        a[0, :] = x
        a[1:3, 1:3] = x.reshape(2, 2)
        a[[3, 3], [0, 2]] = [x[0], x[1] * 3]
        a[:, 0] = x[:, None] * 2
        a[2, :] = 1.0
        a[-1, -1] = x[3]
        return np.sum((a.tocsr() @ W) * W) + np.sum(a[0, 1:].toarray()) + sparse.vstack([a, a]).tocsr().sum()

    bridge.check_gradient(program)(X)


def test_a_matrix_from_outside_is_plain_again() -> None:
    def program(x: Any) -> Any:
        BEFORE[0, 0] = x[0] * x[1]
        return np.sum(BEFORE.tocsr() @ x)

    bridge.grad(program)(X)
    assert type(BEFORE) is sparse.lil_matrix
    assert set(vars(BEFORE)) == set(vars(sparse.lil_matrix((4, 4))))


def test_what_is_stored() -> None:
    def program(x: Any) -> Any:
        a = sparse.lil_matrix((4, 4))
        a[0, 0], a[1, 0] = x[0], x[1] * 0
        return a.tocsr().nnz * x[0] + a.nnz * x[1] + np.sum(a.tocsr().data)

    bridge.check_gradient(program)(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_entries_have_scipys_order(kind: Any, format: str) -> None:
    def program(x: Any) -> Any:
        a = kind((4, 4))
        for k, (i, j) in enumerate(((2, 3), (0, 1), (2, 0), (1, 1))):
            a[i, j] = x[k]
        return np.sum(a.asformat(format).data * W)

    bridge.check_gradient(program)(X)


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_a_solver_sorts_the_entries_as_scipy_does(format: str, memory: bool) -> None:
    def program(x: Any) -> Any:
        kind = getattr(sparse, f"{format}_array")
        a = kind((np.append(x, 3.0), [3, 0, 1, 2, 3], [0, 2, 3, 4, 5]), shape=(4, 4))
        a = a if memory else a * 2.0
        return np.sum(linalg.spsolve(a, W) * W) + np.sum(a @ W) + np.sum(a.data[:4] * W)

    bridge.check_gradient(lambda x: program(x) - np.sum(x))(X)


def test_integers_cut_what_is_assigned() -> None:
    def program(x: Any) -> Any:
        a = sparse.lil_matrix((4, 4), dtype=int)
        a[0, 0] = x[2]
        return a.sum() * x[0]

    bridge.check_gradient(program)(X)


@pytest.mark.parametrize("by", ["len(a)", "a.items()", "a.tolil()", "a == a", "del a[0, 0]"])
def test_what_is_refused(by: str) -> None:
    def program(x: Any) -> Any:
        a = sparse.dok_matrix((4, 4))
        a[1, 2] = x[0]
        if by == "len(a)":
            return len(a) * x[0]
        if by == "a == a":
            return (a == a).sum() * x[0]
        if by == "del a[0, 0]":
            del a[0, 0]
        return sum(a.items()) if by == "a.items()" else a.tolil().sum()

    with pytest.raises(RefusedError, match="tracked entries"):
        bridge.grad(program)(X)


def test_sums_of_entries_at_one_place() -> None:
    def program(x: Any) -> Any:
        given = np.append(x, x[0])
        a = sparse.coo_matrix((given, PLACES), shape=(4, 4)).tocsr()
        a.sum_duplicates()
        a.eliminate_zeros()
        a.sort_indices()
        b = sparse.coo_matrix((given, PLACES), shape=(4, 4)).tocsc().tocoo()
        b.sum_duplicates()
        return np.sum(a @ x) + np.sum((a.data + b.data) * W) + np.sum((a.indices + b.row) * W) * x[0] + a.nnz * x[1]

    bridge.check_gradient(program)(X)


def test_sorting_moves_what_data_has_shown() -> None:
    def program(x: Any) -> Any:
        a = (sparse.csr_matrix((x, [3, 0, 1, 0], [0, 2, 2, 4, 4]), shape=(4, 4)) * 2.0).copy()
        data = a.data
        a.sort_indices()
        return np.sum(a.data * W) + np.sum(data * W**2) + np.sum(a @ x)

    bridge.check_gradient(program)(X)


def test_a_zero_that_is_eliminated_has_its_derivative() -> None:
    def program(x: Any) -> Any:
        a = sparse.csr_matrix((x, [0, 3, 0, 1], [0, 2, 2, 4, 4]), shape=(4, 4)).tocsc()
        a.eliminate_zeros()
        return np.sum(a @ W)

    assert_allclose(bridge.grad(program)(np.array([0.7, 0.0, 2.1, 0.4])), [1.0, 4.0, 1.0, 2.0])


@pytest.mark.parametrize("name", ["sort_indices", "sum_duplicates"])
def test_sorting_moves_the_programs_memory(name: str) -> None:
    def program(x: Any) -> Any:
        given = x * 2
        a = sparse.csr_matrix((given, [3, 0, 1, 0], [0, 2, 2, 4, 4]), shape=(4, 4))
        before = np.sum((a @ x) * W)
        getattr(a, name)()
        return before + np.sum(a.data * W) + np.sum(given * W**2) + np.sum(a.indices * W) * x[0] + np.sum(a @ x)

    bridge.check_gradient(program)(X)


def test_sums_in_the_programs_memory_are_refused() -> None:
    def program(x: Any) -> Any:
        a = sparse.csr_matrix((x, [3, 3, 0, 1], [0, 2, 2, 4, 4]), shape=(4, 4))
        a.sum_duplicates()
        return np.sum(a.data)

    with pytest.raises(RefusedError, match="sum_duplicates"):
        bridge.grad(program)(X)


@pytest.mark.parametrize("solver", [linalg.cg, linalg.gmres, linalg.bicgstab])
def test_where_an_iteration_starts_is_a_constant(solver: Any) -> None:
    def program(x: Any) -> Any:
        more = 0 if solver is linalg.cg else x * x
        a = sparse.diags([np.full(4, 4.0) + more, -np.ones(3), -np.ones(3)], [0, 1, -1]).tocsr()
        return np.sum(solver(a, x * x, x0=np.sin(x), rtol=1e-13)[0] * W)

    bridge.check_gradient(program)(X)


COUPLED = np.diag([1.0, 2.0, 3.0], 1)


def operator(x: Any, **options: Any) -> Any:
    return linalg.LinearOperator((4, 4), lambda v: (x * x + 3) * v + COUPLED @ v, **options)


def test_systems_with_operators_of_the_program() -> None:
    def program(x: Any) -> Any:
        a = operator(x)
        symmetric = linalg.LinearOperator((4, 4), lambda v: (x * x + 3) * v, dtype=float)
        by_bicg = operator(x, rmatvec=lambda v: (x * x + 3) * v + COUPLED.T @ v)
        solutions = [
            linalg.gmres(a, np.ones(4), rtol=1e-13)[0],
            linalg.bicgstab(a, x, x0=np.sin(x), rtol=1e-13)[0],
            linalg.cg(symmetric, x, rtol=1e-13)[0],
            linalg.bicg(by_bicg, x, rtol=1e-13)[0],
            a @ x,
            a.matvec(x**2),
        ]
        return np.sum(np.stack(solutions) * W)

    bridge.check_gradient(program)(X)
    assert_allclose(bridge.hessian(program)(X), bridge.hessian(program)(X).T, rtol=1e-7, atol=1e-8)


def test_an_operator_of_constants_is_scipys() -> None:
    calls = []

    def program(x: Any) -> Any:
        a = linalg.LinearOperator((4, 4), lambda v: calls.append(1) or 3 * v)
        assert type(a).__module__.startswith("scipy")
        return np.sum(linalg.cg(a, x, rtol=1e-13)[0])

    assert_allclose(bridge.grad(program)(X), np.full(4, 1 / 3))


def test_what_operators_refuse() -> None:
    for program, what in (
        (lambda x: linalg.gmres(operator(x), x, maxiter=1, restart=1)[0].sum(), "did not converge"),
        (lambda x: linalg.gmres(operator(x), x, M=operator(x))[0].sum(), "tracked M="),
        (lambda x: linalg.eigsh(operator(x), k=1)[0].sum(), "with tracked values"),
        (lambda x: (2 * operator(x)).matvec(x).sum(), "__rmul__"),
        (lambda x: operator(x).T.matvec(x).sum(), "LinearOperator.T "),
        (lambda x: (operator(x) @ COUPLED).sum(), "times a matrix"),
    ):
        with pytest.raises(RefusedError, match=what):
            bridge.grad(program)(X)
    with pytest.raises(BridgeError):
        bridge.grad(lambda x: linalg.gmres(operator(x), x)[0].sum(), engine="xla")(X)
