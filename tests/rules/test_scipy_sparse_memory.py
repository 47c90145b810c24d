"""Sparse matrices over memory that is written after they were made: SciPy's show what is written, and so do tracked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

import bridge
from bridge.errors import BridgeError
from tests.helpers.by_differences import differences

X = np.array([0.71, 1.33, -0.42, 2.13])
W = np.array([1.0, 2.0])
W4 = np.arange(1.0, 5.0)
FULL = [0, 1, 0, 1], [0, 2, 4]
DIAGONAL = [0, 1, 2, 3], [0, 1, 2, 3, 4]
PLACES = [0, 0, 1, 1], [0, 1, 0, 1]
ENGINES = ("native", "xla")


class Model:
    v: Any
    matrix: Any


def csr(x: Any) -> Any:
    v = np.zeros(4)
    matrix = sparse.csr_matrix((v, *FULL))
    v[:] = x
    return matrix @ W


def csr_array_changed(x: Any) -> Any:
    v = np.ones(4)
    matrix = sparse.csr_array((v, *FULL))
    v *= x
    return matrix @ W


def coo(x: Any) -> Any:
    v = np.zeros(4)
    matrix = sparse.coo_matrix((v, PLACES))
    v[:] = x
    return matrix @ W


def dia(x: Any) -> Any:
    v = np.zeros((1, 4))
    matrix = sparse.dia_matrix((v, [0]), shape=(4, 4))
    v[0] = x
    return matrix @ W4


def bsr(x: Any) -> Any:
    v = np.zeros((1, 2, 2))
    matrix = sparse.bsr_array((v, [0], [0, 1]))
    v[0] = x.reshape(2, 2)
    return matrix @ W


def plain_values_later(x: Any) -> Any:
    v = np.zeros(4)
    matrix = sparse.csr_matrix((v, *FULL))
    v[:] = 1.5
    return matrix @ x[:2]


def integers_later(x: Any) -> Any:
    v = np.zeros(4, int)
    matrix = sparse.csr_matrix((v, *FULL))
    v[:] = [1, 2, 3, 4]
    return (matrix @ W) * x[0]


def copied(x: Any) -> Any:
    v = np.ones(4)
    matrix = sparse.csr_matrix((v, *FULL), copy=True)
    v[:] = x
    return matrix @ W + v[:2]


def of_coordinates(x: Any) -> Any:
    v = np.ones(4)
    matrix = sparse.csr_matrix((v, PLACES))
    v[:] = x
    return matrix @ W + v[:2]


def data_of_a_product(x: Any) -> Any:
    v = np.zeros(4)
    matrix = sparse.csr_matrix((v, *FULL))
    v[:] = x
    return (matrix * 2.0).data * W4


def dense(x: Any) -> Any:
    v = np.zeros(4)
    matrix = sparse.csr_matrix((v, *FULL))
    v[:] = x
    return matrix.toarray() * [[1.0, 2.0], [3.0, 4.0]]


def elements(x: Any) -> Any:
    v = np.zeros(4)
    matrix = sparse.csr_matrix((v, *FULL))
    v[:] = x
    return matrix[0, 1] * matrix[1, 1] + matrix.diagonal() + matrix.sum() + matrix.trace()


def stacked(x: Any) -> Any:
    v = np.ones(4)
    matrix = sparse.csr_matrix((v, *FULL))
    v[:] = x
    return sparse.hstack([matrix, matrix]) @ W4


def transposed(x: Any) -> Any:
    v = np.ones(4)
    matrix = sparse.csr_matrix((v, *FULL))
    shows, copy = matrix.T, matrix.T.tocsr()
    v[:] = x
    return shows @ W + 3 * (copy @ W) + x[0]


def parts(x: Any) -> Any:
    v = np.zeros(4, complex)
    matrix = sparse.csr_matrix((v, *FULL))
    real = matrix.real
    v[:] = x * (1 + 2j)
    return real @ W + matrix.imag @ W + np.abs(matrix.conj().T @ W)


def in_an_object(x: Any) -> Any:
    model = Model()
    model.v = np.zeros(4)
    model.matrix = sparse.csr_matrix((model.v, *FULL))
    model.v[:] = x
    return model.matrix @ W


def in_a_list(x: Any) -> Any:
    v = np.zeros(4)
    matrices = [sparse.csr_array((v, *FULL))]
    v[:] = x
    return matrices[0] @ W


def its_data(x: Any) -> Any:
    matrix = sparse.eye(4, format="csr")
    matrix.data[:] = x
    return matrix @ W4


def its_data_in_a_loop(x: Any) -> Any:
    matrix = sparse.csr_matrix(sparse.diags([1.0, 2.0, 3.0, 4.0]))
    total = 0.0
    for _ in range(3):
        matrix.data *= x
        total = total + np.sum((matrix @ W4) * W4)
    return total


def its_data_by_name(x: Any) -> Any:
    matrix = sparse.eye(4, format="csr")
    data = matrix.data
    data[:] = x
    return matrix @ W4


def other_data(x: Any) -> Any:
    matrix = sparse.eye(4, format="csr")
    matrix.data = x * 2
    return matrix @ W4


def other_tracked_data(x: Any) -> Any:
    matrix = sparse.csr_matrix((x * 2, *FULL)) * 1.0
    matrix.data = x**2
    matrix.data += x
    return matrix @ W


def scaled(x: Any) -> Any:
    matrix = sparse.csr_matrix((np.array([1.0, 2.0, 3.0, 4.0]), *FULL))
    same = matrix
    matrix *= x[0]
    matrix /= x[1]
    return same @ W


def tracked_scaled(x: Any) -> Any:
    matrix = sparse.csr_matrix((x * 2, *FULL))
    same, result = matrix, matrix + matrix
    again = result
    matrix *= 2.0
    result *= x[0]
    return same @ W + again @ W


def tracked_memory(x: Any) -> Any:
    v = x * 2
    matrix = sparse.csr_matrix((v, *FULL))
    converted = sparse.coo_matrix((v, PLACES)).tocsr()
    v[0] = x[1] ** 2
    return matrix @ W + converted @ W


def several_at_a_place(x: Any) -> Any:
    matrix = sparse.csr_matrix((x * 2, [0, 0, 0, 1], [0, 2, 4]))
    matrix.data[0] = x[3] ** 2
    return matrix @ W + matrix.nnz


def several_coordinates(x: Any) -> Any:
    matrix = sparse.coo_matrix((x * 2, ([1, 0, 1, 1], [1, 1, 0, 0])))
    compressed = matrix.tocsr()
    return matrix @ W + np.sum(matrix.data * W4) * matrix.nnz + np.sum(compressed.data * W4[:3]) * compressed.nnz


def in_scipys_order(x: Any) -> Any:
    matrix = sparse.csr_matrix((x * 2, [1, 0, 1, 0], [0, 2, 4]))
    square = matrix @ matrix.T.tocsr()
    return matrix.data * W4 + (matrix * 3).data * W4 + square.data * W4 + square.indices[0]


def asked_for_its_class(x: Any) -> Any:
    matrix = sparse.csr_matrix((x * 2, *FULL))
    result = matrix * 2
    is_one = all(isinstance(one, sparse.csr_matrix) and type(one) is sparse.csr_matrix for one in (matrix, result))
    return (matrix @ W) * (2 if is_one and sparse.issparse(matrix) and sparse.isspmatrix_csr(matrix) else 1)


def made_of_its_class(x: Any) -> Any:
    matrix = sparse.csr_matrix((x * 2, *FULL))
    return type(matrix)((matrix.data, matrix.indices, matrix.indptr)) @ W


CAPTURED = np.ones(4)
OVER_CAPTURED = sparse.csr_matrix((CAPTURED, *FULL))


def captured(x: Any) -> Any:
    before = OVER_CAPTURED.sum()
    CAPTURED[:] = x
    return OVER_CAPTURED @ W + before


PROGRAMS: tuple[Callable[[Any], Any], ...] = (
    csr, csr_array_changed, coo, dia, bsr, plain_values_later, integers_later, copied, of_coordinates,
    data_of_a_product, dense, elements, stacked, transposed, parts, in_an_object, in_a_list, its_data,
    its_data_in_a_loop, its_data_by_name, other_data, other_tracked_data, scaled, tracked_scaled, tracked_memory,
    several_at_a_place, several_coordinates, in_scipys_order, asked_for_its_class, made_of_its_class, captured,
)  # fmt: skip


def assert_right(program: Callable[[Any], Any], engine: str) -> None:
    CAPTURED[:] = 1.0

    def weighted(x: Any) -> Any:
        y = program(x)
        return np.sum(y * np.cos(np.arange(np.size(y)).reshape(np.shape(y))))

    def plain(x: Any) -> Any:
        CAPTURED[:] = 1.0
        return weighted(x)

    value, gradient = bridge.value_and_grad(weighted, engine=engine)(X)
    np.testing.assert_allclose(value, plain(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(plain, X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_written_into_memory_is_in_the_matrix(program: Callable[[Any], Any], engine: str) -> None:
    assert_right(program, engine)


def solved(x: Any) -> Any:
    v = np.ones(4)
    matrix = sparse.csc_matrix((v, *DIAGONAL))
    v[:] = x**2 + 1
    return linalg.spsolve(matrix, W4)


def iterated(x: Any) -> Any:
    v = np.ones(4)
    matrix = sparse.dia_matrix((v, [0]), shape=(4, 4))
    v[:] = x**2 + 1
    return linalg.cg(matrix, W4, rtol=1e-12)[0]


def zeros_of_a_dense_matrix(x: Any) -> Any:
    matrix = sparse.csr_matrix(np.diag(x))
    return matrix.data * W4 + matrix.nnz


def zeros_of_a_sum(x: Any) -> Any:
    matrix = sparse.csr_matrix((x * 2, *FULL))
    return (matrix - matrix.T).data * W


@pytest.mark.parametrize("program", [solved, iterated, zeros_of_a_dense_matrix, zeros_of_a_sum])
def test_what_needs_the_numbers_is_right_where_they_are_known(program: Callable[[Any], Any]) -> None:
    assert_right(program, "native")


def test_a_matrix_is_its_own_again_when_the_call_is_over() -> None:
    matrix = sparse.csr_matrix((np.ones(4), *FULL))
    data = matrix.data

    def program(x: Any) -> Any:
        matrix.data[:] = x
        return np.sum(matrix @ W)

    bridge.grad(program)(X)
    assert type(matrix) is sparse.csr_matrix
    assert matrix.data is data
    np.testing.assert_array_equal(data, np.ones(4))


def an_element(x: Any) -> Any:
    matrix = sparse.csr_matrix((x * 2, *FULL))
    matrix[0, 1] = 2.0
    return matrix @ W


def compared(x: Any) -> Any:
    matrix = sparse.csr_matrix((x * 2, *FULL))
    return x * (matrix != matrix.T).nnz


def without_zeros(x: Any) -> Any:
    matrix = sparse.csr_matrix((x * np.array([2, 0, 1, 1]), *FULL))
    matrix.eliminate_zeros()
    return matrix @ W


def data_of_a_dia_sum(x: Any) -> Any:
    matrix = sparse.dia_matrix((x[None], [0]), shape=(4, 4))
    return (matrix + matrix).data


def too_long(x: Any) -> Any:
    matrix = sparse.csr_matrix((x * 2, *FULL)) * 2
    matrix.data = x[:2]
    return matrix @ W


REFUSED = {
    an_element: r"an assignment into a sparse matrix(.|\n)*remedy: write into its data",
    compared: r"__ne__ of a sparse matrix with tracked entries(.|\n)*remedy",
    without_zeros: r"eliminate_zeros of a csr_matrix whose data is tracked memory(.|\n)*remedy",
    data_of_a_dia_sum: r"\.data of a tracked sparse matrix in the format dia(.|\n)*remedy",
    too_long: r"\.data of shape \(2,\) .* whose data has shape \(4,\)(.|\n)*remedy",
}
NOT_KNOWN = {
    zeros_of_a_dense_matrix: r"of a dense array: what is zero there is not stored(.|\n)*remedy: give the entries",
    zeros_of_a_sum: r"\.data of .* that an operation has made: sums that are zero(.|\n)*remedy",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", REFUSED)
def test_what_is_not_done_is_named(program: Callable[[Any], Any], engine: str) -> None:
    with pytest.raises(BridgeError, match=REFUSED[program]):
        bridge.grad(lambda x: np.sum(program(x)), engine=engine)(X)


@pytest.mark.parametrize("program", NOT_KNOWN)
def test_what_is_stored_is_not_known_while_a_program_is_compiled(program: Callable[[Any], Any]) -> None:
    with pytest.raises(BridgeError, match=NOT_KNOWN[program]):
        bridge.grad(lambda x: np.sum(program(x)), engine="xla")(X)
