"""Code that is not read gets what stands for arrays that are lent, wherever it has them; or an error names who has."""

from __future__ import annotations

import ctypes
import functools
import itertools
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError, EscapeError

UNREAD: dict[str, Any] = {"np": np}
exec(
    """
def largest(a):
    return 2.0 if np.max(a) > 1.2 else 1.0

def of(a):
    def get():
        return np.array([2.0 if np.max(a) > 1.2 else 1.0])
    return get

def with_default(a):
    def get(b=a):
        return np.sort(b)[-1:]
    return get

def fill(a, v):
    a[0] = v

class Keeper:
    def __init__(self, u):
        self.u = u
    def largest(self):
        return 2.0 if np.max(self.u) > 1.2 else 1.0
""",
    UNREAD,
)


def deep(a: np.ndarray) -> Any:
    return [{"k": [((UNREAD["Keeper"](a),),)]}]


HOLDERS: dict[str, tuple[Callable[[np.ndarray], Any], Callable[[Any], Any]]] = {
    "an enclosing variable": (UNREAD["of"], lambda k: k()[0]),
    "a default": (UNREAD["with_default"], lambda k: k()[0]),
    "an object": (UNREAD["Keeper"], lambda k: k.largest()),
    "a deep object": (deep, lambda k: k[0]["k"][0][0][0].largest()),
    "a list": (lambda a: [a], lambda k: next(map(UNREAD["largest"], k))),
    "a tuple": (lambda a: (a, 1), lambda k: max(map(np.max, k))),
    "a partial": (lambda a: functools.partial(UNREAD["largest"], a), lambda k: k()),
    "a method of the array": (lambda a: a.max, lambda k: k()),
    "an iterator": (itertools.repeat, lambda k: np.max(next(k))),
    "a map": (lambda a: map(UNREAD["largest"], [a] * 9), lambda k: next(k)),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_unread_code_compares(holder: str) -> None:
    make, read = HOLDERS[holder]

    def differentiated(a: np.ndarray) -> Callable[[Any], Any]:
        k = make(a)

        def f(x: Any) -> Any:
            a[1] = x
            return x**2 if read(k) > 1.2 else x

        return f

    a = np.ones(3)
    assert bridge.value_and_grad(differentiated(a))(1.5) == (2.25, 3.0)
    np.testing.assert_array_equal(a, np.ones(3))
    assert bridge.value_and_grad(differentiated(np.ones(3)))(1.1) == (1.1, 1.0)


def test_evaluated_text() -> None:
    a = np.ones(3)

    def f(x: Any) -> Any:
        a[1] = x
        return eval("b", {"b": a})[1] * 2

    assert bridge.value_and_grad(f)(1.5) == (3.0, 2.0)


REFUSED: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy.ma.MaskedArray": lambda a: np.ma.array(a, copy=False),
    "builtins.memoryview": memoryview,
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_nothing_can_stand_for(kind: str) -> None:
    a = np.ones(3)
    k = REFUSED[kind](a)

    def f(x: Any) -> Any:
        a[1] = x
        return x if k[1] > 1.2 else x**2

    with pytest.raises(EscapeError, match="shows memory of an array that tracked values were written into") as caught:
        bridge.grad(f)(1.5)
    assert kind in str(caught.value)
    assert "remedy: use the array itself" in str(caught.value)
    np.testing.assert_array_equal(a, np.ones(3))


def test_an_object_that_keeps_the_array_itself_is_no_argument_of_unread_code() -> None:
    a = np.ones(3)
    k = [memoryview(a)]

    def f(x: Any) -> Any:
        a[1] = x
        return x * UNREAD["largest"](k)

    with pytest.raises(EscapeError, match=r"an object that\s+keeps the array itself: a builtins.memoryview") as caught:
        bridge.grad(f)(1.5)
    assert "remedy: use the array itself, or make that object after the write" in str(caught.value)


@pytest.mark.parametrize("function", [memoryview, bytes, bytearray, np.frombuffer], ids=lambda f: f.__name__)
def test_bytes_of_a_tracked_array(function: Callable[..., Any]) -> None:
    with pytest.raises(EscapeError, match=rf"{function.__name__}\(...\) looks at the bytes of a tracked value"):
        bridge.grad(lambda x: x[0] * len(function(x)))(np.ones(3))


def test_the_reason_why_code_is_not_read_is_in_the_error() -> None:
    names: dict[str, Any] = {"np": np}
    exec("def f(x):\n    a = np.zeros(3)\n    a[0] = x\n    return a.sum()", names)
    with pytest.raises(EscapeError, match="not read from its source: the source of f cannot be had"):
        bridge.grad(names["f"])(1.0)


def test_unread_code_that_writes_into_what_is_lent() -> None:
    a = np.ones(3)
    pointer = a.ctypes.data

    def overwritten() -> None:
        ctypes.memset(pointer, 0, 8)

    def f(x: Any) -> Any:
        a[1] = x
        overwritten()
        return a.sum()

    with pytest.raises(AliasError, match="was written by code that is not read: what it wrote is lost"):
        bridge.grad(f)(1.0)
    np.testing.assert_array_equal(a, np.ones(3))


def an_iterator_made_before(x: Any) -> Any:
    b = np.zeros(3)
    iterator = np.nditer(b, op_flags=["readwrite"])
    b[:] = x
    for v in iterator:
        v[...] = v * 2
    return np.sum(b**2)


def an_iterator_of_tracked_arrays(x: Any) -> Any:
    b = np.zeros(3)
    for v, w in np.nditer([x, b], op_flags=[["readonly"], ["writeonly"]]):
        w[...] = v * 2
    return np.sum(b**2)


def packed(x: Any) -> Any:
    b = x.copy()
    struct.pack_into("d", b, 0, 5.0)
    return np.sum(b**2)


@pytest.mark.parametrize("program", [an_iterator_made_before, an_iterator_of_tracked_arrays, packed])
def test_what_works_on_memory_past_numpys_protocols(program: Any) -> None:
    with pytest.raises(EscapeError, match=r"(nditer|pack_into)(.|\n)*test_unread_code\.py(.|\n)*remedy"):
        bridge.grad(program)(np.arange(1.0, 4.0))
