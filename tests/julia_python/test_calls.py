"""Addresses of C functions: called through ctypes they do what they are for."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from bridge.julia.calls import address


def test_a_function_of_cpython() -> None:
    size = ctypes.PYFUNCTYPE(ctypes.c_ssize_t, ctypes.py_object)(address("PyTuple_Size"))
    assert size((1, 2, 3)) == 3


@pytest.mark.parametrize("letter", "?bhilqBHILQefdFD")
def test_numpys_arrays_are_made_by_type_and_shape(letter: str) -> None:
    number, flags, any_size = np.dtype(letter).num, 1, 0
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.POINTER(ctypes.c_ssize_t), ctypes.c_int,
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
    )  # fmt: skip
    shape = (ctypes.c_ssize_t * 2)(3, 2)
    made = prototype(address("PyArray_New"))(np.ndarray, 2, shape, number, None, None, any_size, flags, None)
    assert made.shape == (3, 2) and made.dtype == np.dtype(letter) and made.flags.f_contiguous and made.flags.owndata


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="PyNothing_AtAll"):
        address("PyNothing_AtAll")
