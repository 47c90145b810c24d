"""Addresses of the C functions that Julia calls: CPython's, and NumPy's."""

from __future__ import annotations

import ctypes

from numpy._core import multiarray

_IN_NUMPYS_TABLE = {"PyArray_New": 93}
"""Where a function lies in the table of NumPy's C interface, which keeps its places from version to version."""


def address(name: str) -> int:
    """The address of a function of CPython's stable C interface, or of NumPy's."""
    place = _IN_NUMPYS_TABLE.get(name)
    if place is not None:
        return int(_numpys_table()[place])
    found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert found is not None
    return found


def _numpys_table() -> ctypes._Pointer[ctypes.c_size_t]:
    """The table as C extensions find it, too: in a capsule."""
    prototype = ctypes.PYFUNCTYPE(ctypes.POINTER(ctypes.c_size_t), ctypes.py_object, ctypes.c_char_p)
    return prototype(("PyCapsule_GetPointer", ctypes.pythonapi))(multiarray._ARRAY_API, None)
