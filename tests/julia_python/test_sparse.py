"""SciPy's sparse matrices as arguments of Julia functions, and gradients by their entries, against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import bridge
from bridge.errors import ArgumentError, CotangentError, JuliaError, RuleError

pytestmark = pytest.mark.julia

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
CLASSES = [f"{name}_{suffix}" for name in FORMATS for suffix in ("array", "matrix")]
DENSE = np.array([[4.0, 0.5, 0.0, 0.0], [0.0, 5.0, 0.0, -0.3], [1.5, 0.0, 6.0, 0.0], [0.0, -0.7, 0.0, 3.0]])
X = np.array([0.3, -0.2, 0.9, 0.4])

# What people do with sparse matrices; S is square, and x is at hand.
OF_ONE = {
    "product": "(S, x) -> sum(abs2, S * x)",
    "adjoint": "(S, x) -> sum(abs2, S' * x)",
    "solution": "(S, x) -> sum(abs2, S \\ x)",
    "solution of adjoint": "(S, x) -> sum(abs2, S' \\ x)",
    "sum": "(S, x) -> sum(S) * x[1]",
    "sum of squares": "(S, x) -> sum(abs2, S)",
    "sum of rows": "(S, x) -> sum(abs2, sum(S; dims=2) .* x)",
    "broadcast": "(S, x) -> sum((S .* 2 .+ S .^ 2) .* x)",
    "not zero elsewhere": "(S, x) -> sum(abs2, cos.(S) .* x)",
    "scaled": "(S, x) -> sum(abs2, (2 * S - S / 3) * x)",
    "squared": "(S, x) -> sum(abs2, S * S * x)",
    "symmetric part": "(S, x) -> sum(abs2, (S + S') * x)",
    "entries": "(S, x) -> sum(abs2, S.nzval) * x[2]",
    "nonzeros": "using SparseArrays; (S, x) -> sum(abs2, nonzeros(S)) + sum(S * x)",
    "element": "(S, x) -> S[1, 1] * S[3, 1] + S[1, 3]",
    "row": "(S, x) -> sum(abs2, S[1, :] .* x)",
    "block": "(S, x) -> sum(abs2, S[1:3, 2:4])",
    "dense": "(S, x) -> sum(abs2, Matrix(S) * x)",
    "form": "using LinearAlgebra; (S, x) -> dot(x, S * x)",
    "with a matrix": "(S, x) -> sum(abs2, S * [x 2 .* x])",
    "shifted": "using LinearAlgebra; (S, x) -> sum(abs2, (S + 2I) * x)",
    "diagonal": "using LinearAlgebra; (S, x) -> sum(abs2, diag(S)) + tr(S)",
    "steps": "(S, x) -> (y = x; for _ in 1:3; y = tanh.(S * y); end; sum(y))",
    "not used": "(S, x) -> sum(x)",
}


def differences(f: Callable[[Any], float], entries: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences by each entry."""
    found = np.zeros(entries.shape)
    for at in np.ndindex(entries.shape):
        values = []
        for sign in (1, -1):
            moved = entries.copy()
            moved[at] += sign * step
            values.append(f(moved))
        found[at] = (values[0] - values[1]) / (2 * step)
    return found


def with_data(matrix: Any, data: np.ndarray) -> Any:
    made = matrix.copy()
    made.data = data
    return made


def unordered() -> Any:
    """Rows whose indices are not in order, and two entries at one place."""
    data = np.array([0.5, 4.0, 1.0, -0.3, 5.0, 6.0, 1.5, 3.0, 0.2])
    return sparse.csr_array((data, [1, 0, 0, 3, 1, 2, 0, 3, 1], [0, 3, 5, 7, 9]), shape=(4, 4))


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_arrives_as_a_sparse_matrix(name: str) -> None:
    matrix = getattr(sparse, name)(DENSE)
    seen = bridge.julia.function("S -> (string(typeof(S)), Matrix(S), S * [1.0, 2.0, 3.0, 4.0])")
    kind, values, product = seen(matrix)
    assert kind.endswith("SparseMatrixCSC{Float64, Int64}")
    np.testing.assert_array_equal(values, DENSE)
    np.testing.assert_allclose(product, DENSE @ [1, 2, 3, 4])


@pytest.mark.parametrize("name", CLASSES)
def test_a_gradient_has_class_and_pattern_of_its_argument(name: str) -> None:
    matrix = getattr(sparse, name)(DENSE)
    f = bridge.julia.function(OF_ONE["product"])
    found = bridge.grad(f)(matrix, X)
    assert type(found) is type(matrix)
    assert found.nnz == matrix.nnz
    pattern = DENSE != 0 if name.startswith(("lil", "dok")) else with_data(matrix, np.ones_like(matrix.data)).toarray()
    np.testing.assert_allclose(found.toarray(), 2 * np.outer(DENSE @ X, X) * pattern)
    np.testing.assert_allclose(bridge.grad(f, argnums=1)(matrix, X), 2 * DENSE.T @ (DENSE @ X))


@pytest.mark.parametrize("name", OF_ONE)
def test_gradients_against_differences(name: str) -> None:
    f = bridge.julia.function(OF_ONE[name])
    for matrix in (sparse.csc_array(DENSE), unordered()):
        value, (by_entries, by_x) = bridge.value_and_grad(f, argnums=(0, 1))(matrix, X)
        assert value == pytest.approx(f(matrix, X))
        expected = differences(lambda data, matrix=matrix: f(with_data(matrix, data), X), matrix.data)
        np.testing.assert_allclose(by_entries.data, expected, rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(by_entries.indices, matrix.indices)
        np.testing.assert_array_equal(by_entries.indptr, matrix.indptr)
        np.testing.assert_allclose(by_x, differences(lambda x, matrix=matrix: f(matrix, x), X), rtol=1e-6, atol=1e-7)


def test_the_caller_s_matrix_stays_as_it_is() -> None:
    matrix = unordered()
    before = [array.copy() for array in (matrix.data, matrix.indices, matrix.indptr)]
    f = bridge.julia.function("S -> sum(abs2, S)")
    assert f(matrix) == pytest.approx(np.sum(matrix.toarray() ** 2))
    found = bridge.grad(f)(matrix)
    for array, old in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)
    assert not any(np.shares_memory(found.indices, array) for array in (matrix.indices, matrix.indptr))


def test_arrays_longer_than_what_is_stored() -> None:
    matrix = sparse.csr_array(DENSE)
    matrix.data = np.append(matrix.data, [7.0, 8.0])
    matrix.indices = np.append(matrix.indices, [0, 0]).astype(matrix.indices.dtype)
    found = bridge.grad(bridge.julia.function("S -> sum(abs2, S)"))(matrix)
    np.testing.assert_array_equal(found.data, np.append(2 * matrix.data[:-2], [0, 0]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_dtypes(dtype: str) -> None:
    entries = DENSE * (1 + (0.5j if dtype.startswith("complex") else 0))
    matrix, x = sparse.csr_array(entries.astype(dtype)), X.astype(dtype)
    f = bridge.julia.function("(S, x) -> sum(abs2, S * x)")
    found = bridge.grad(f)(matrix, x)
    assert found.dtype == dtype
    dense = bridge.grad(f)(matrix.toarray(), x)
    np.testing.assert_allclose(found.toarray(), dense * (DENSE != 0), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "int64", "bool"])
def test_whole_numbers_are_constants(dtype: str) -> None:
    matrix = sparse.coo_array((np.array([1, 1, 1], dtype), ([0, 2, 0], [1, 2, 1])), shape=(4, 4))
    f = bridge.julia.function("(S, x) -> sum(abs2, S * x)")
    found = bridge.grad(f, argnums=1)(matrix, X)
    whole = matrix.toarray()
    np.testing.assert_allclose(found, 2 * whole.T @ (whole @ X))
    with pytest.raises(ArgumentError, match=f"argument 0 has dtype {dtype}, and a gradient is asked of it"):
        bridge.grad(f)(matrix, X)


def test_rectangles_and_empty_ones() -> None:
    f = bridge.julia.function("(S, x) -> sum(abs2, S * x)")
    for shape in ((2, 5), (5, 2), (3, 0), (0, 3)):
        matrix = sparse.csr_array(np.arange(float(np.prod(shape))).reshape(shape) % 3)
        x = np.arange(1.0, shape[1] + 1)
        found = bridge.grad(f)(matrix, x)
        assert found.shape == shape
        np.testing.assert_allclose(found.toarray(), 2 * np.outer(matrix @ x, x) * (matrix.toarray() != 0))


def test_the_order_of_axes_reversed() -> None:
    matrix = sparse.bsr_array(np.kron(np.array([[1.0, 0, 2], [0, 3, 0]]), np.array([[1.0, 2], [3, 4]])))
    f = bridge.julia.function("(S, x) -> sum(abs2, S * x)", order="reversed")
    x = np.arange(1.0, 5)
    assert f(matrix, x) == pytest.approx(np.sum((matrix.T @ x) ** 2))
    found = bridge.grad(f)(matrix, x)
    np.testing.assert_allclose(found.toarray(), 2 * np.outer(x, matrix.T @ x) * (matrix.toarray() != 0))


def test_in_containers_and_by_keyword() -> None:
    matrix = sparse.csr_array(DENSE)
    f = bridge.julia.function("(p; T) -> sum(abs2, p.S * p.x) + sum(T * p.more[1]) + p.more[2]")
    given = {"S": matrix, "x": X, "more": (2 * X, 3.0)}
    found = bridge.grad(f)(given, T=sparse.coo_array(DENSE))
    assert list(found) == ["S", "x", "more"]
    assert isinstance(found["S"], sparse.csr_array)
    np.testing.assert_allclose(found["S"].toarray(), 2 * np.outer(DENSE @ X, X) * (DENSE != 0))
    np.testing.assert_allclose(found["x"], 2 * DENSE.T @ DENSE @ X)
    np.testing.assert_allclose(found["more"][0], DENSE.sum(0))
    assert found["more"][1] == 1
    assert "(sparse, array, float, array, sparse): Zygote" in f.explain()


def test_a_constant_beside_what_is_differentiated() -> None:
    matrix = sparse.csc_matrix(DENSE)
    solve, product = bridge.julia.function("(S, x) -> S \\ x"), bridge.julia.function("(S, x) -> S' * x")

    def solved(x: Any) -> Any:
        y = np.zeros_like(x)
        y[:] = solve(matrix, x * x)
        return np.sum(y**3)

    expected = differences(lambda x: np.sum(np.linalg.solve(DENSE, x * x) ** 3), X)
    np.testing.assert_allclose(bridge.grad(solved)(X), expected, rtol=1e-6)
    with pytest.raises(JuliaError, match=r"no method matching ldiv!\(::SparseArrays.UMFPACK"):
        bridge.hessian(solved)(X)  # Julia's sparse solver takes no dual numbers
    found = bridge.hessian(lambda x: np.sum(product(matrix, x * x) ** 3))(X)
    np.testing.assert_allclose(found, bridge.hessian(lambda x: np.sum((DENSE.T @ (x * x)) ** 3))(X))
    np.testing.assert_allclose(
        bridge.hessian(bridge.julia.function("(S, x) -> sum(abs2, S * x)"), argnums=1)(matrix, X), 2 * DENSE.T @ DENSE
    )
    np.testing.assert_allclose(bridge.jacfwd(bridge.julia.function("(S, x) -> S * x"), argnums=1)(matrix, X), DENSE)


def with_a_zero() -> Any:
    matrix = sparse.csr_array(DENSE)
    matrix.data[2] = 0.0
    return matrix


def test_what_sparse_arithmetic_leaves_out_has_a_gradient_or_an_error() -> None:
    for code in ("(S, x) -> sum((2 * S) * x)", "(S, x) -> sum((S .* 2) * x)", "(S, x) -> sum((S .^ 2 .- S) * x)"):
        f = bridge.julia.function(code)
        program = lambda data, f=f: f(with_data(with_a_zero(), data), X)  # noqa: E731
        for ask in (lambda f=f: bridge.grad(f)(with_a_zero(), X), lambda p=program: bridge.grad(p)(with_a_zero().data)):
            with pytest.raises(JuliaError, match="leaves out an element that is zero here, and an engine loses") as e:
                ask()
            assert "eliminate_zeros" in e.value.remedy
        matrix = sparse.csr_array(DENSE)
        expected = differences(lambda data, f=f, matrix=matrix: f(with_data(matrix, data), X), matrix.data)
        np.testing.assert_allclose(bridge.grad(f)(matrix, X).data, expected, rtol=1e-6)
    for name in ("product", "solution", "entries", "sum of squares", "squared"):
        f, matrix = bridge.julia.function(OF_ONE[name]), with_a_zero()
        expected = differences(lambda data, f=f, matrix=matrix: f(with_data(matrix, data), X), matrix.data)
        np.testing.assert_allclose(bridge.grad(f)(matrix, X).data, expected, rtol=1e-6, atol=1e-7)


MADE_INSIDE = {
    "made of an argument": "using SparseArrays; x -> sum(sparse(x) .* [1.0, 2.0, 3.0])",
    "times a matrix of its own": "using SparseArrays; x -> sum(sparse([1, 2, 3], [1, 2, 3], [4.0, 5.0, 6.0]) .* x)",
    "captured": "using SparseArrays; const S = sparse([1.0 0 2; 0 3 0; 4 0 5]); x -> sum(S .* x)",
    "by its module": "import SparseArrays; x -> sum(SparseArrays.sparse(x .* 2) .* [1.0, 2.0, 3.0])",
    "in a function that it calls": "using SparseArrays; inner(x) = sparse(x); x -> sum(inner(x) .* [1.0, 2.0, 3.0])",
    "in a closure": "using SparseArrays; (S -> x -> sum(S .* x))(sparse([1.0 0 2; 0 3 0; 4 0 5]))",
}


@pytest.mark.parametrize("name", MADE_INSIDE)
def test_what_matrices_that_a_function_makes_leave_out_is_an_error(name: str) -> None:
    f = bridge.julia.function(MADE_INSIDE[name])
    x = np.array([0.5, 0.25, 2.0])
    expected = differences(f, x)
    np.testing.assert_allclose(bridge.grad(f)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(bridge.jvp(f, (x,), (np.ones(3),))[1], expected.sum(), rtol=1e-6)
    x[0] = 0.0
    for ask in (lambda: bridge.grad(f)(x), lambda: bridge.vjp(f, x)[1](1.0)):
        with pytest.raises(JuliaError, match="leaves out an element that is zero here, and an engine loses") as e:
            ask()
        assert "Diagonal" in e.value.remedy


def test_what_a_struct_of_julias_leaves_out() -> None:
    import juliacall

    bridge.julia.eval("begin using SparseArrays; struct Scaled; rows; by::Vector{Float64}; end end; nothing")
    make = "Scaled(sparse([1.0 0 2; 0 3 0; 4 0 5]), [{}, 0.25, 2.0])"
    loses, squares = (bridge.julia.function(f"m -> sum({of}m.rows .* m.by)") for of in ("", "abs2, "))
    lost, kept = (juliacall.Main.seval(make.format(first)) for first in ("0.0", "0.5"))
    np.testing.assert_allclose(bridge.grad(loses)(kept)["by"], [3.0, 3.0, 9.0])
    with pytest.raises(JuliaError, match="leaves out an element that is zero here, and an engine loses"):
        bridge.grad(loses)(lost)
    np.testing.assert_allclose(bridge.grad(squares)(lost)["by"], [0.0, 4.5, 164.0])


def test_products_with_a_matrix_of_the_functions_own() -> None:
    f = bridge.julia.function("using SparseArrays; const S = sparse([1.0 0 2; 0 3 0; 4 0 5]); x -> sum(abs2, S * x)")
    x = np.array([0.0, 0.25, 2.0])
    np.testing.assert_allclose(bridge.grad(f)(x), differences(f, x), rtol=1e-6, atol=1e-8)


def test_a_kink_is_nothing_that_was_left_out() -> None:
    f = bridge.julia.function("S -> sum(abs, S.nzval)")
    np.testing.assert_array_equal(bridge.grad(f)(with_a_zero()).data, np.sign(with_a_zero().data))


@pytest.mark.parametrize("name", ["csr_array", "csc_matrix", "coo_array"])
def test_tracked_entries_inside_of_a_numpy_program(name: str) -> None:
    f = bridge.julia.function("(S, x) -> tanh.(S * x)")
    matrix = getattr(sparse, name)(DENSE)
    kind, places = type(matrix), ((matrix.row, matrix.col),) if name == "coo_array" else (matrix.indices, matrix.indptr)

    def program(data: Any, x: Any) -> Any:
        made = kind((data * 2, *places), (4, 4))
        return np.sum(f(made, x) * x) + np.sum(f(made * 3, x))

    def plain(data: np.ndarray) -> float:
        made = kind((data * 2, *places), (4, 4))
        return float(np.sum(np.tanh(made @ X) * X) + np.sum(np.tanh(made @ X * 3)))

    found = bridge.grad(program)(matrix.data, X)
    np.testing.assert_allclose(found, differences(plain, matrix.data), rtol=1e-6, atol=1e-8)


def test_vjp_jvp_and_products_with_the_hessian() -> None:
    matrix = unordered()
    f = bridge.julia.function("(S, x) -> S * (S * x)")
    value, pull = bridge.vjp(f, matrix, X)
    by_entries, _ = pull(np.arange(4.0))
    expected = differences(lambda data: f(with_data(matrix, data), X) @ np.arange(4.0), matrix.data)
    np.testing.assert_allclose(by_entries.data, expected, rtol=1e-7)
    along = with_data(matrix, np.cos(np.arange(9.0)))
    primal, tangent = bridge.jvp(f, (matrix, X), (along, None))
    np.testing.assert_allclose(primal, value)
    assert np.arange(4.0) @ tangent == pytest.approx(expected @ along.data)
    square = bridge.julia.function("(S, x) -> sum(abs2, S * x)")
    product, _ = bridge.hvp(square, (matrix, X), (along, np.zeros(4)))
    gradient = bridge.grad(square)
    moved = [gradient(with_data(matrix, matrix.data + h * along.data), X).data for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(product.data, (moved[0] - moved[1]) / 2e-5, rtol=1e-6, atol=1e-8)


def test_a_tangent_of_another_pattern() -> None:
    f = bridge.julia.function("S -> sum(abs2, S)")
    for other in (sparse.csr_array(DENSE.T), sparse.csc_array(DENSE), DENSE):
        with pytest.raises(CotangentError, match="that does not have its format and pattern") as e:
            bridge.jvp(f, (sparse.csr_array(DENSE),), (other,))
        assert "t = S.copy()" in e.value.remedy


@pytest.mark.parametrize("ad", ["zygote", "forwarddiff", "mooncake"])
def test_who_differentiates(ad: str) -> None:
    f = bridge.julia.function("(S, x) -> sum(abs2, S * x) + sum(S)", ad=ad)
    for matrix in (unordered(), sparse.bsr_array(DENSE)):
        found = bridge.grad(f)(matrix, X)
        expected = differences(lambda data, matrix=matrix: f(with_data(matrix, data), X), matrix.data)
        np.testing.assert_allclose(found.data, expected, rtol=1e-6, atol=1e-7)

    of_dict = bridge.julia.function("p -> sum(abs2, p.S * p.x)", ad=ad)
    found = bridge.grad(of_dict)({"S": sparse.coo_array(DENSE), "x": X})
    np.testing.assert_allclose(found["S"].toarray(), 2 * np.outer(DENSE @ X, X) * (DENSE != 0))


RETURNED = """
import MutationBridge.Python as P
using SparseArrays
() -> begin
    p, entries = P.pattern([1, 0, 1, 1], [0, 1, 0, 1], nothing, 2, 2), [1.0, 2.0, 3.0, 4.0]
    found = Any[nothing]
    of(gradient) = (P.scatter!(found, P.SparseLeaf(1, false), gradient, Any[entries, p]); found[1])
    G, stored, lazy = [1.0 2.0; 3.0 4.0], [3.0, 2.0, 4.0], P.ChainRulesCore.Thunk
    some = (
        G, sparse(G), sparse([2, 1, 2], [1, 2, 2], stored), lazy(() -> G), (nzval=stored,), (nzval=lazy(() -> stored),),
        P.ChainRulesCore.Tangent{SparseMatrixCSC{Float64,Int}}(; nzval=stored), ([3.0, 2.0, 3.0, 4.0], nothing),
    )
    none = (nothing, P.ChainRulesCore.ZeroTangent(), (nzval=nothing,))
    map(of, some), map(g -> P.conformed(of(g), entries), none), P.MutationBridge.is_lost([1.0], nothing, nothing)
end
"""


def test_whatever_a_pullback_returns_for_a_sparse_matrix() -> None:
    some, none, is_lost = bridge.julia.function(RETURNED)()
    assert [list(one) for one in some] == [[3, 2, 3, 4]] * 8
    assert [list(one) for one in none] == [[0, 0, 0, 0]] * 3
    assert is_lost is False


def test_loops_over_the_columns_go_to_the_next_engine() -> None:
    f = bridge.julia.function(
        "using SparseArrays; (S, x) -> begin\n"
        "y = zeros(eltype(S), size(S, 1))\n"
        "for j in axes(S, 2), k in nzrange(S, j); y[S.rowval[k]] += S.nzval[k]^2 * x[j]; end\n"
        "sum(abs2, y) end"
    )
    matrix = sparse.csr_array(DENSE)
    found = bridge.grad(f)(matrix, X)
    expected = differences(lambda data: f(with_data(matrix, data), X), matrix.data)
    np.testing.assert_allclose(found.data, expected, rtol=1e-6)
    assert "(sparse, array): Mooncake (Zygote refused" in f.explain()


def test_a_function_that_writes_its_sparse_argument() -> None:
    f = bridge.julia.function("(S, x) -> (S.nzval .*= 2; sum(S * x))")
    matrix = sparse.csr_array(DENSE)
    for call in (lambda: f(matrix, X), lambda: bridge.grad(f)(matrix, X), lambda: bridge.grad(f, argnums=1)(matrix, X)):
        with pytest.raises(RuleError, match="writes a sparse argument, which is a copy of SciPy's matrix") as e:
            call()
        assert "copy(S)" in e.value.remedy
    np.testing.assert_array_equal(matrix.toarray(), DENSE)
    with pytest.raises(RuleError, match="writes its array argument number 1 "):
        bridge.julia.function("(S, x) -> (x .*= 2; sum(S * x))")(matrix, X.copy())
    with pytest.raises(RuleError, match="writes a sparse argument"):
        bridge.julia.function("(x; S) -> (S.nzval .*= 2; sum(S * x))")(X, S=matrix)


def test_beside_an_argument_that_is_written() -> None:
    f = bridge.julia.function("(y, S, x) -> (y .= S * x; y)", mutates=0)
    y = np.zeros(4)
    f(y, sparse.csr_array(DENSE), X)
    np.testing.assert_allclose(y, DENSE @ X)

    def program(x: Any) -> Any:
        y = np.zeros_like(x)
        f(y, sparse.csr_array(DENSE), x)
        return np.sum(y**2)

    np.testing.assert_allclose(bridge.grad(program)(X), 2 * DENSE.T @ (DENSE @ X))
    with pytest.raises(ArgumentError, match="writes its argument 0, which is a csr_array"):
        bridge.julia.function("(S, x) -> (S.nzval .*= 2; S)", mutates=0)(sparse.csr_array(DENSE), X)


def test_what_is_no_matrix_and_what_is_no_sound_one() -> None:
    f = bridge.julia.function("S -> sum(S)")
    with pytest.raises(ArgumentError, match=r"sparse array of shape \(4,\), which has no counterpart") as e:
        f(sparse.coo_array(X))
    assert "reshape" in e.value.remedy
    for index, shown in ((9, 9), (-2, -2)):
        matrix = sparse.csr_array(DENSE)
        matrix.indices[0] = index
        with pytest.raises(ArgumentError, match=rf"shape \(4, 4\) with an entry in column {shown}") as e:
            f(matrix)
        assert "check_format" in e.value.remedy


def test_a_sparse_result_is_dense() -> None:
    f = bridge.julia.function("using SparseArrays; x -> sparse(x)")
    x = DENSE.copy()
    assert isinstance(f(x), np.ndarray)
    np.testing.assert_array_equal(f(x), DENSE)
    # What is zero, and not stored, has a gradient too.
    np.testing.assert_array_equal(bridge.grad(lambda x: np.sum(f(x) * DENSE.T))(x), DENSE.T)
    doubled = bridge.julia.function("S -> 2 .* S")
    found = bridge.vjp(doubled, sparse.csr_array(DENSE))[1](np.ones((4, 4)))[0]
    np.testing.assert_array_equal(found.toarray(), 2.0 * (DENSE != 0))


def test_a_large_sparse_result_says_how_to_return_it() -> None:
    with pytest.raises(JuliaError, match=r"sparse result of size \(100000, 100000\) is too large") as e:
        bridge.julia.function("using SparseArrays; n -> sparse(1.0:n, 1:n, 1:n)' .+ 0 .* spzeros(n, n)")(100_000)
    assert "findnz(S)" in e.value.remedy
    rows, columns, entries = bridge.julia.function("using SparseArrays; n -> findnz(sparse(1:n, 1:n, 1.0:n))")(100_000)
    assert rows[-1] == columns[-1] == entries[-1] == 100_000
