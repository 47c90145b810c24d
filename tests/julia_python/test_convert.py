"""NumPy arrays in Julia and back: every layout, dtype and shape, containers, structured tangents."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import optree
import pytest

import bridge
from bridge.errors import ArgumentError
from bridge.julia.convert import to_julia, to_numpy

pytestmark = pytest.mark.julia

DTYPES = ["float16", "float32", "float64", "complex64", "complex128", "bool"] + [
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
]
SHAPES = [(), (1,), (5,), (0,), (2, 3), (3, 0, 2), (1, 4), (2, 3, 4), (2, 1, 3, 2)]
LAYOUTS = ["C", "F", "every second", "negative strides", "swapped axes", "misaligned", "byte-swapped"]
LAYOUTS += ["read-only", "broadcast"]


def numbered(shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> np.ndarray:
    size = int(np.prod(shape))
    values = (np.arange(size) % 7 - (0 if dtype.startswith("u") or dtype == "bool" else 3)) * scale
    if dtype.startswith("complex"):
        values = values + 1j * np.arange(size)
    return values.astype(dtype).reshape(shape)


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same values in another layout."""
    if array.ndim == 0 and layout in ("every second", "negative strides", "broadcast"):
        return array.copy()
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "every second":
        whole = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
        part = whole[tuple(slice(None, None, 2) for _ in array.shape)]
        part[...] = array
        return part
    if layout == "negative strides":
        return np.flip(np.flip(array).copy())
    if layout == "swapped axes":
        return np.ascontiguousarray(array.swapaxes(0, -1)).swapaxes(0, -1) if array.ndim else array.copy()
    if layout == "misaligned":
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
        part = raw[: array.nbytes].view(array.dtype).reshape(array.shape)
        part[...] = array
        return part
    if layout == "byte-swapped":
        return array.astype(array.dtype.newbyteorder("S"))
    if layout == "read-only":
        array = array.copy()
        array.flags.writeable = False
        return array
    if layout == "broadcast":
        return np.broadcast_to(array, (2, *array.shape))
    return np.ascontiguousarray(array)


@pytest.fixture(scope="module")
def same() -> Any:
    return bridge.julia.function("x -> x isa Number ? x : collect(x)")


@pytest.fixture(scope="module")
def weighted() -> Any:
    """A function whose gradient differs from element to element."""
    return bridge.julia.function("x -> real(sum(x .^ 2 .* reshape(1:length(x), size(x)))) / 2")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_there_and_back(same: Any, dtype: str) -> None:
    for shape in SHAPES:
        array = numbered(shape, dtype)
        for found in (same(array), to_numpy(to_julia(array))):
            assert found.dtype == array.dtype and found.shape == shape
            np.testing.assert_array_equal(found, array)
            assert not np.shares_memory(found, array)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int32"])
def test_every_layout_keeps_shape_and_values(same: Any, layout: str, shape: tuple[int, ...], dtype: str) -> None:
    array = laid_out(numbered(shape, dtype), layout)
    before = array.tobytes()
    found = same(array)
    assert found.shape == array.shape and found.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, array)
    np.testing.assert_array_equal(to_numpy(to_julia(array)), array)
    assert array.tobytes() == before


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 3, 4), (0, 2)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_of_every_layout(weighted: Any, layout: str, shape: tuple[int, ...], dtype: str) -> None:
    array = laid_out(numbered(shape, dtype, 0.5), layout)
    before = array.tobytes()
    gradient = bridge.grad(weighted)(array)
    weights = np.arange(1, array.size + 1).reshape(array.shape, order="F")
    assert gradient.dtype == array.dtype and gradient.shape == array.shape and type(gradient) is np.ndarray
    np.testing.assert_allclose(gradient, array * weights, rtol=1e-6)
    assert array.tobytes() == before and not np.shares_memory(gradient, array)
    gradient[...] = 0  # the caller's own, and writable


@pytest.mark.parametrize("size", [4, 100_000])
def test_matrices_in_c_order_are_the_same_matrices(size: int) -> None:
    array = np.arange(2.0 * size).reshape(2, size)
    rows = bridge.julia.function("x -> (size(x), x[2, 1], sum(x; dims=2))")
    for given in (array, np.asfortranarray(array)):
        shape, corner, sums = rows(given)
        assert shape == (2, size) and corner == size
        np.testing.assert_allclose(sums, array.sum(axis=1, keepdims=True))
    shape, corner, sums = bridge.julia.function("x -> (size(x), x[1, 2], sum(x; dims=1))", order="reversed")(array)
    assert shape == (size, 2) and corner == size
    np.testing.assert_allclose(sums, array.sum(axis=1, keepdims=True))


def test_reversed_axes_need_no_copy() -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    kind = bridge.julia.function("x -> string(typeof(x))", order="reversed")
    assert kind(array) == "Array{Float64, 3}"
    julia = to_julia(array, order="reversed")
    array[0, 0, 1] = -5
    np.testing.assert_array_equal(to_numpy(julia, order="reversed"), array)
    weighted = bridge.julia.function("x -> sum(x .^ 2 .* reshape(1:length(x), size(x)))", order="reversed")
    np.testing.assert_allclose(bridge.grad(weighted)(array), 2 * array * np.arange(1, 25).reshape(2, 3, 4))


def test_scalars_keep_their_types() -> None:
    kind = bridge.julia.function("x -> string(typeof(x))")
    for value, name in [
        (1.5, "Float64"), (np.float32(1), "Float32"), (np.float64(1), "Float64"), (np.float16(1), "Float16"),
        (2, "Int64"), (np.int8(2), "Int8"), (True, "Bool"), (np.bool_(True), "Bool"), (1j, "ComplexF64"),
        (np.complex64(1j), "ComplexF32"), ("text", "String"), (None, "Nothing"), (np.zeros(()), "Array{Float64, 0}"),
    ]:  # fmt: skip
        assert kind(value) == name
    same = bridge.julia.function("identity")
    for value in (1.5, np.float32(1), 2, np.uint8(2), True, 1j, np.complex64(1j), "text", None):
        found = same(value)
        assert found == value and (not isinstance(value, np.generic) or found.dtype == value.dtype)
    assert type(same(True)) is bool and type(same(3)) is int


Point = collections.namedtuple("Point", "x y")


@optree.dataclasses.dataclass(namespace="bridge")
class Layer:
    weight: Any
    bias: Any


def test_containers_have_gradients_in_the_same_nesting() -> None:
    loss = bridge.julia.function(
        "p -> sum(p.layers[1].weight * p.layers[2].weight) + sum(p.point.x .* p.point.y) * p.list[1][2]"
        " + sum(p.layers[1].bias)^2"
    )
    rng = np.random.default_rng(0)
    parameters = {
        "layers": (Layer(rng.normal(size=(2, 3)), rng.normal(size=2)), Layer(rng.normal(size=(3, 2)), np.zeros(1))),
        "point": Point(rng.normal(size=3), rng.normal(size=3)),
        "list": [[1.0, 2.0], 3.0],
    }
    value, gradient = bridge.value_and_grad(loss)(parameters)
    first, second = parameters["layers"]
    x, y = parameters["point"]
    assert value == pytest.approx(np.sum(first.weight @ second.weight) + np.sum(x * y) * 2 + np.sum(first.bias) ** 2)
    assert optree.tree_structure(gradient, namespace="bridge") == optree.tree_structure(parameters, namespace="bridge")
    np.testing.assert_allclose(gradient["layers"][0].weight, np.ones((2, 2)) @ second.weight.T)
    np.testing.assert_allclose(gradient["layers"][0].bias, 2 * np.sum(first.bias) * np.ones(2))
    np.testing.assert_array_equal(gradient["layers"][1].bias, [0.0])
    np.testing.assert_allclose(gradient["point"].x, 2 * y)
    np.testing.assert_allclose(gradient["list"][0], [0.0, np.sum(x * y)])
    assert gradient["list"][1] == 0


def test_results_in_containers() -> None:
    function = bridge.julia.function('x -> (sum=sum(x), parts=(x[1:2], (last=x[end], none=nothing)), name="n")')
    found = function(np.arange(3.0))
    assert found["sum"] == 3 and found["name"] == "n" and found["parts"][1] == {"last": 2.0, "none": None}
    np.testing.assert_array_equal(found["parts"][0], [0.0, 1.0])


def test_keys_that_are_no_strings_are_refused() -> None:
    with pytest.raises(ArgumentError, match="strings as keys"):
        bridge.julia.function("identity")({1: 2.0})


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "code, expected",
    [
        ("x -> 3.0", lambda x: 0 * x),
        ("x -> sum(x)", np.ones_like),
        ("x -> sum(LinearAlgebra.diag(x) .^ 2)", lambda x: np.diag(2 * np.diag(x))),
        ("x -> sum(LinearAlgebra.Diagonal(x) .^ 2)", lambda x: np.diag(2 * np.diag(x))),
        ("x -> sum(LinearAlgebra.Symmetric(x) .^ 2)", lambda x: 4 * np.triu(x, 1) + 2 * np.diag(np.diag(x))),
        ("x -> sum(LinearAlgebra.UpperTriangular(x) .^ 2)", lambda x: 2 * np.triu(x)),
        ("x -> sum(abs2, transpose(x) * x)", lambda x: 4 * x @ x.T @ x),
        ("x -> sum(abs2, x')", lambda x: 2 * x),
        ("x -> sum(abs2, vec(x)[1:2:end])", lambda x: 2 * x * np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]])),
        ("x -> LinearAlgebra.tr(x)", lambda x: np.eye(3)),
        ("x -> sum(abs2, reshape(x, 9))", lambda x: 2 * x),
        ("x -> sum(abs2, view(x, 1:2, 2))", lambda x: 2 * x * np.array([[0, 1, 0], [0, 1, 0], [0, 0, 0]])),
        ("x -> sum(abs2, SparseArrays.sparse([1], [2], [1.0f0], 3, 3) * x)",
         lambda x: 2 * x * np.array([[0], [1], [0]])),
        ("x -> x[2, 3]^2", lambda x: 2 * x * np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0]])),
    ],
)  # fmt: skip
@pytest.mark.parametrize("order", ["C", "F"])
def test_structured_tangents_come_back_dense(code: str, expected: Any, order: str, dtype: str) -> None:
    bridge.julia.using("LinearAlgebra", "SparseArrays")
    x = np.array(np.random.default_rng(1).normal(size=(3, 3)), dtype, order=order)
    gradient = bridge.grad(bridge.julia.function(code))(x)
    assert gradient.dtype == x.dtype and gradient.shape == x.shape
    np.testing.assert_allclose(gradient, expected(x), rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-6)


def test_structured_results_come_back_dense() -> None:
    bridge.julia.using("LinearAlgebra", "SparseArrays")
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    for code, expected in [
        ("x -> LinearAlgebra.Diagonal(x)", np.diag([1.0, 4.0])), ("x -> x'", x.T),
        ("x -> LinearAlgebra.Symmetric(x)", np.array([[1.0, 2], [2, 4]])), ("x -> 1:3", np.arange(1, 4)),
        ("x -> x .> 2", x > 2), ("x -> view(x, 2, :)", x[1]), ("x -> SparseArrays.sparse(x)", x),
        ("x -> Any[1.0, 2.0]", np.array([1.0, 2.0])), ("x -> 0.5:0.5:1.5", np.array([0.5, 1.0, 1.5])),
    ]:  # fmt: skip
        found = bridge.julia.function(code)(x)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


def test_complex_gradients_are_those_of_the_parts() -> None:
    loss = bridge.julia.function("z -> abs2(sum(z .^ 2 .* (1:length(z)))) + imag(z[1])")
    z = np.array([1 + 2j, 0.5 - 1j, 3j])
    gradient = bridge.grad(loss)(z)

    def parts(xy: np.ndarray) -> float:
        return float(loss(xy[0] + 1j * xy[1]))

    xy = np.stack([z.real, z.imag])
    steps = [np.reshape(1e-6 * unit, xy.shape) for unit in np.eye(xy.size)]
    expected = np.reshape([(parts(xy + step) - parts(xy - step)) / 2e-6 for step in steps], xy.shape)
    np.testing.assert_allclose(gradient, expected[0] + 1j * expected[1], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["longdouble", "datetime64[s]", "object", "S3", [("a", "f8")]])
def test_dtypes_without_a_counterpart_are_refused(dtype: Any) -> None:
    with pytest.raises(ArgumentError, match="has no counterpart in Julia"):
        bridge.julia.function("identity")(np.zeros(2, dtype))
