"""A value that lies in the memory which it is written into: what NumPy reads of it, by value and by gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors
from tests.helpers.finite_differences import gradient

X = np.array([0.3, -0.7, 1.1, 0.5, 0.9, -0.2, 1.4, -1.3, 0.8, 0.15, -0.55, 0.65])
WEIGHTS = np.linspace(0.5, 1.7, 12)
MASK = np.array([1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1], bool)
SQUARE = MASK.reshape(3, 4)
TWICE = np.array([3, 1, 3, 0])


def on_lines(y: Any, k: int) -> None:
    """One axis: two steps, masks, `.flat`."""
    if k == 0:
        y[1:5] = y[0:8:2]
    elif k == 1:
        y[0:8:2] = y[1:5]
    elif k == 2:
        y[MASK] = y[::-1][: MASK.sum()]
    elif k == 3:
        y[1:][MASK[1:]] = y[: MASK[1:].sum()]
    elif k == 4:
        y.flat[1:9] = y[0:8]
    elif k == 5:
        y.flat[MASK] = y[::-1]
    elif k == 6:
        y.flat[TWICE] = y[2:6]
    elif k == 7:
        y.flat = y[::-1]
    elif k == 8:
        np.copyto(y[4:8], y[::3], where=MASK[:4])
    elif k == 9:
        y[8:0:-2] = y[2:10:2]
    elif k == 10:
        np.concatenate([y[5:], y[:5]], out=y)


def on_planes(y: Any, k: int) -> None:
    """Two axes."""
    if k == 0:
        y[SQUARE] = y.ravel()[: SQUARE.sum()]
    elif k == 1:
        y.flat = y.T
    elif k == 2:
        y.flat[1:] = y
    elif k == 3:
        y[:, ::2].flat = y[:, 1:3]
    elif k == 4:
        y[0, 0:2] = y[0, 0:4:2]
    elif k == 5:
        np.fill_diagonal(y[:, :3].T, y[:, 1])
    elif k == 6:
        np.stack([y[2], y[0], y[1]], out=y)
    elif k == 7:
        np.concatenate([y[:, 1:], y[:, :1]], axis=1, out=y)


def on_complex(z: Any, k: int) -> None:
    """Complex memory, and the same as floats."""
    if k == 0:
        z[:] = z.view(float)[:6]
    elif k == 1:
        z[:] = z.view(float)[3:4]
    elif k == 2:
        z[::2] = z.real[:3]
    elif k == 3:
        z[MASK[:6]] = z.view(float)[1 : 1 + MASK[:6].sum()]


def lines(k: int) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        y = x * 1.5
        on_lines(y, k)
        return np.sum(y * y * WEIGHTS)

    return program


def planes(k: int) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        y = (x * 1.5).reshape(3, 4)
        on_planes(y, k)
        return np.sum((y * y).ravel() * WEIGHTS)

    return program


def complexes(k: int) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        z = x[:6] + 1j * x[6:]
        on_complex(z, k)
        return np.sum(z.real**2 * WEIGHTS[:6] + z.imag * z.real * WEIGHTS[6:])

    return program


def duplicates_along_memory(x: Any) -> Any:
    """Indices and values that lie in Fortran order: NumPy goes along memory, and the last one there wins."""
    rows = np.asfortranarray(np.array([[1, -4], [0, 0], [-1, 1]]))
    columns = np.asfortranarray(np.array([[2, 1], [1, -5], [-3, 0]]))
    y = np.zeros((4, 5))
    y[rows, columns] = np.asfortranarray((x * x)[[4, 7, 1, 3, 0, 9]].reshape(3, 2))
    y[np.array([[0, 1], [1, 0], [2, 2]])[::-1].T[:, ::-1], 0] = x[:6].reshape(3, 2).T
    return np.sum(y * np.arange(20.0).reshape(4, 5))


def flags(x: Any) -> Any:
    known = np.zeros(12, bool)
    known[::3] = True
    known[1:7] = known[0:12:2]
    return np.sum(np.where(known, x * x, x))


def small_integers(x: Any) -> Any:
    order = np.arange(12, dtype=np.int8)
    order[4:8] = order[0:12:3]
    return np.sum(x * order)


PROGRAMS = {
    **{f"line {k}": lines(k) for k in range(11)},
    **{f"plane {k}": planes(k) for k in range(8)},
    **{f"complex {k}": complexes(k) for k in range(4)},
    "duplicates": duplicates_along_memory,
    "booleans": flags,
    "integers of a byte": small_integers,
}


@pytest.mark.ci
@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_value_is_read_as_numpy_reads_it(name: str, engine: str) -> None:
    program = PROGRAMS[name]
    value, found = bridge.value_and_grad(program, engine=engine)(X.copy())
    np.testing.assert_allclose(value, program(X.copy()), rtol=1e-12)
    np.testing.assert_allclose(found, gradient(program, [X])[0], atol=1e-6)


@pytest.mark.parametrize("name", ["line 0", "line 5", "plane 1", "plane 6", "complex 0"])
def test_forward_and_second_order(name: str) -> None:
    program, t = PROGRAMS[name], np.cos(X)
    want = gradient(program, [X])[0]
    np.testing.assert_allclose(bridge.jvp(program, (X.copy(),), (t,))[1], want @ t, atol=1e-6)

    def along(x: Any) -> Any:
        return np.sum(bridge.grad(program)(x) * t)

    np.testing.assert_allclose(bridge.grad(along)(X.copy()), gradient(along, [X])[0], atol=1e-5)


def test_a_step_of_a_compiled_loop_at_places_that_are_not_known() -> None:
    def program(x: Any) -> Any:
        y = x.copy()

        def body(i: Any, y: Any) -> Any:
            y[i + 1 : i + 4] = y[i : i + 6 : 2]
            return y

        return np.sum(bridge.fori_loop(0, 3, body, y))

    with pytest.raises(errors.AliasError, match="at places that are not known"):
        bridge.grad(program, engine="xla")(X.copy())


def test_half_an_element_apart() -> None:
    def program(x: Any) -> Any:
        z = x[:6] + 1j * x[6:]
        z[MASK[:6]] = z.view(float)[1:-1].view(complex)[:4]
        return np.sum(np.abs(z) ** 2)

    with pytest.raises(errors.AliasError, match=r"half an element apart(.|\n)*copy what is read first"):
        bridge.grad(program)(X.copy())


LAYOUTS: dict[str, Any] = {
    "packed": lambda a: a.copy(),
    "reversed": lambda a: a[::-1].copy()[::-1],
    "every second": lambda a: np.repeat(a, 2)[::2],
}
PARTS: dict[str, Any] = {
    "reversed": slice(None, None, -1),
    "head": slice(2),
    "tail": slice(1, None),
    "step": slice(None, None, 2),
}
WAYS: dict[str, Any] = {
    "place": lambda x, mask, part: np.place(x, mask, x[part]),
    "putmask": lambda x, mask, part: np.putmask(x, mask, x[part]),
    "put": lambda x, mask, part: np.put(x, np.flatnonzero(mask), x[part]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_masked_writes_of_a_part_of_the_same_memory(layout: str, way: str) -> None:
    values, weights = np.array([-0.5, 1.25, 0.75, 0.25]), np.array([1.0, 2.0, 4.0, 8.0])
    for part in PARTS.values():
        for mask in ([True] * 4, [False, True, True, True], [True, False, True, True], [True, True, False, False]):

            def f(x: Any, mask: Any = mask, part: slice = part) -> Any:
                WAYS[way](x, np.array(mask), part)
                return np.sum(weights * x)

            value, gradient = bridge.value_and_grad(f, engine="native")(LAYOUTS[layout](values))
            assert value == f(LAYOUTS[layout](values))
            units = [f(LAYOUTS[layout](one)) for one in np.eye(4)]
            np.testing.assert_array_equal(gradient, units)
