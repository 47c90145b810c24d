"""Arrays of JAX, PyTorch and whoever speaks DLPack go to Julia on their own memory, or are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError

pytestmark = pytest.mark.julia

SQUARES = "x -> sum(abs2, x)"
ADDRESS = "x -> (sum(x), string(UInt(pointer(x))))"


class Exchanged:
    """An array of a library that nobody knows."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device
        self.dtype, self.shape = array.dtype, array.shape

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def address_in_julia(x: Any) -> int:
    address = bridge.julia.function(ADDRESS)
    address(x)  # the first call of a kind gets copies
    return int(address(x)[1])


def test_arrays_of_jax_enter_on_their_memory_and_get_gradients_of_their_kind() -> None:
    jax = pytest.importorskip("jax", reason='pip install "mutation-bridge[jax]"')
    with jax.enable_x64(True):
        x = jax.numpy.linspace(0.0, 1.0, 5000)
        assert address_in_julia(x) == x.unsafe_buffer_pointer()
        value, gradient = bridge.value_and_grad(bridge.julia.function(SQUARES))(x)
        np.testing.assert_allclose(value, np.sum(np.asarray(x) ** 2))
        assert isinstance(gradient, jax.Array)
        np.testing.assert_array_equal(gradient, 2 * x)
        nested = bridge.grad(bridge.julia.function("p -> sum(p.w) * p.b[1]"))({"w": x, "b": np.array([2.0])})
        assert isinstance(nested["w"], jax.Array) and type(nested["b"]) is np.ndarray
        np.testing.assert_array_equal(nested["w"], np.full(5000, 2.0))
        _, pull = bridge.vjp(bridge.julia.function(SQUARES), x)
        np.testing.assert_array_equal(pull(1.0)[0], 2 * x)


def test_what_julia_returns_goes_to_jax_without_a_copy_where_jax_can_take_it() -> None:
    jax = pytest.importorskip("jax", reason='pip install "mutation-bridge[jax]"')
    out = bridge.julia.function("x -> 2 .* x")(np.linspace(0.0, 1.0, 5000))
    with jax.enable_x64(True):
        taken = jax.numpy.from_dlpack(out)
    np.testing.assert_array_equal(np.asarray(taken), out)
    if out.ctypes.data % 64 == 0:
        assert taken.unsafe_buffer_pointer() == out.ctypes.data


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch", reason='pip install "mutation-bridge[torch]"')
    x = torch.linspace(0.0, 1.0, 5000, dtype=torch.float64)
    assert address_in_julia(x) == x.data_ptr()
    gradient = bridge.grad(bridge.julia.function(SQUARES))(x)
    assert isinstance(gradient, torch.Tensor) and torch.equal(gradient, 2 * x)
    with pytest.raises(
        ArgumentError, match=r"torch\.Tensor that cannot be handed to Julia.*\n.*\n.*bridge\.torch\.function"
    ):
        bridge.julia.function(SQUARES)(x.requires_grad_())


def test_whoever_speaks_dlpack() -> None:
    array = np.linspace(0.0, 1.0, 5000)
    assert address_in_julia(Exchanged(array)) == array.ctypes.data
    np.testing.assert_array_equal(bridge.grad(bridge.julia.function(SQUARES))(Exchanged(array)), 2 * array)


def test_arrays_on_devices_are_named() -> None:
    on_device = Exchanged(np.ones(3), (2, 0))
    for call in (bridge.julia.function(SQUARES), bridge.grad(bridge.julia.function(SQUARES))):
        with pytest.raises(ArgumentError, match="Exchanged in the memory of a device") as caught:
            call(on_device)
        assert "np.asarray(x), x.cpu()" in str(caught.value) and __file__ in str(caught.value)
