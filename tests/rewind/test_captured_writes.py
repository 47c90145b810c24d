"""Plain arrays under captured names, in code that is not read: the caller's own that are written, and constants of
checkpoints that change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError, ReplayError
from bridge.rewind.places import DEEP

VALUES = np.array([1.0, 2.0, 3.0])


def transforms(engine: str) -> list[tuple[str, Callable[[Any, np.ndarray], Any]]]:
    return [
        ("grad", lambda f, x: bridge.grad(f, engine=engine, source=False)(x)),
        ("vjp", lambda f, x: bridge.vjp(f, x, engine=engine, source=False)[1](1.0)[0]),
        ("jvp", lambda f, x: bridge.jvp(f, (x,), (np.ones(3),), engine=engine, source=False)[1]),
    ]


EAGER = [pytest.param(name, run, id=name) for name, run in transforms("native")]


@pytest.mark.parametrize(("name", "run"), EAGER)
@pytest.mark.parametrize("first", ["argument", "captured"])
def test_both_are_written(name: str, run: Any, first: str) -> None:
    x = VALUES.copy()

    def f(a: Any) -> Any:
        if first == "captured":
            x[1] = 9.0
        a[0] = a[1] * 2
        x[1] = 9.0
        return np.sum(a * a)

    with pytest.raises(AliasError, match="captured name"):
        run(f, x)


@pytest.mark.parametrize(("name", "run"), EAGER)
def test_both_are_written_with_the_same_values(name: str, run: Any) -> None:
    x = VALUES.copy()

    def f(a: Any) -> Any:
        a[:] = 0.0 * a
        x[:] = 0.0
        return np.sum(a)

    with pytest.raises(AliasError, match="captured name"):
        run(f, x)


@pytest.mark.parametrize(("name", "run"), EAGER)
def test_a_part_of_a_larger_array(name: str, run: Any) -> None:
    whole = np.arange(12.0)

    def f(a: Any) -> Any:
        a[0] = a[1] * 2
        whole[2] = 7.0
        return np.sum(a * a)

    with pytest.raises(AliasError, match="captured name"):
        run(f, whole[::2][:3])


@pytest.mark.parametrize(("name", "run"), EAGER)
def test_an_argument_that_alone_is_written_is_as_before(name: str, run: Any) -> None:
    x = VALUES.copy()

    def f(a: Any) -> Any:
        a[0] = a[1] * 2
        a[1:] += bridge.checkpoint(lambda v: v * v)(a[:2])
        a.sort()
        return np.sum(a * a)

    def plain(v: np.ndarray) -> Any:
        a = v.copy()
        a[0] = a[1] * 2
        a[1:] += a[:2] ** 2
        a.sort()
        return np.sum(a * a)

    expected = np.array([(plain(x + 1e-6 * e) - plain(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)])
    np.testing.assert_allclose(run(f, x), np.sum(expected) if name == "jvp" else expected, rtol=1e-6)
    np.testing.assert_array_equal(x, VALUES)
    value, pull = bridge.vjp(f, x)
    assert value == plain(x)
    np.testing.assert_allclose(pull(1.0)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(pull(2.0)[0], 2 * expected, rtol=1e-6)


@pytest.mark.parametrize(("name", "run"), EAGER)
def test_nan_compares_equal(name: str, run: Any) -> None:
    x = np.array([np.nan, 2.0, 3.0])

    def f(a: Any) -> Any:
        a[0] = 1.0
        return np.sum(a * a)

    np.testing.assert_allclose(run(f, x), 10.0 if name == "jvp" else [0.0, 4.0, 6.0])


@pytest.mark.parametrize("size", [3, 5000], ids=["small", "large"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_constant_of_a_checkpoint_that_changes_without_changing_the_values(size: int, nested: bool) -> None:
    """0 times 1 is 0 times 2: only the contents of the array tell the two runs apart."""
    factor = np.ones(size)

    def f(x: Any) -> Any:
        y = bridge.checkpoint(lambda v: v * factor)(x)
        factor[:] = 2.0
        return np.sum(y)

    outer = (lambda x: np.sum(bridge.grad(f)(x) * x)) if nested else f
    with pytest.raises(ReplayError, match="read other constants") as caught:
        bridge.grad(outer)(np.zeros(size))
    assert caught.value.remedy and "test_captured_writes.py" in str(caught.value)


@pytest.mark.parametrize("size", [2, 5000], ids=["small", "large"])
def test_an_index_of_a_checkpoint_that_changes_without_changing_the_values(size: int) -> None:
    index = np.zeros(size, int)

    def f(x: Any) -> Any:
        y = bridge.checkpoint(lambda v: v[index] * 2.0)(x)
        index[:] = 1
        return np.sum(y)

    with pytest.raises(ReplayError, match="read other constants"):
        bridge.grad(f)(np.ones(3))


@pytest.mark.parametrize("depth", [DEEP - 1, DEEP, DEEP + 1, DEEP + 2])
def test_a_view_of_views_that_a_checkpoint_captured(depth: int) -> None:
    def f(x: Any) -> Any:
        u = x * 1.0
        for _ in range(depth):
            u = u[:]
        return bridge.checkpoint(lambda v: np.sum(v * u) + np.sum(u[1:] * v[1:]))(x)

    np.testing.assert_allclose(bridge.grad(f)(VALUES), 2 * VALUES * [1.0, 2.0, 2.0])


class Captured:
    """What bodies of checkpoints read, and what it is changed to before the backward pass."""

    def __init__(self) -> None:
        self.mask = np.array([True, False, True, False])
        self.factor, self.matrix = np.arange(1.0, 5.0), np.arange(16.0).reshape(4, 4)
        self.number, self.axis, self.subscripts = 1, 0, "ij,j->i"
        self.ends: Any = (2, None)
        self.key: Any = (None, slice(None))
        self.part: Any = slice(1, 2)

    def change(self) -> None:
        self.mask[:] = ~self.mask
        self.factor[:], self.matrix[:] = 7.0, 1.0
        self.number, self.axis, self.subscripts = 2, 1, "ji,j->i"
        self.ends, self.key = (None, 2), (slice(None), None)
        self.part = slice(2, 3), None


COUNTED = np.arange(4.0)


def written_element(v: Any, c: Captured) -> Any:
    y = np.zeros(4)
    y[c.number] = v[0]
    return np.sum(y * COUNTED)


def overwritten_element(v: Any, c: Captured) -> Any:
    y = v.copy()
    y[c.number] = 0.0
    return np.sum(y)


def scaled_slice(v: Any, c: Captured) -> Any:
    y = v.copy()
    y[: c.number] *= 3.0
    return np.sum(y)


def under_a_mask(v: Any, c: Captured) -> Any:
    y = v.copy()
    np.multiply(y, 3.0, out=y, where=c.mask)
    return np.sum(y)


def total(x: Any, *, scales: Any) -> Any:
    """A function with an argument that is given by keyword only."""
    return np.sum(np.asarray(x) * scales)


READING: dict[str, Callable[[Any, Captured], Any]] = {
    "an element": lambda v, c: v[c.number] * 1.0,
    "a view": lambda v, c: np.sum(v[: c.number]),
    "a view with one axis more": lambda v, c: np.sum(v[c.part] + 0.0),
    "the other end of a view": lambda v, c: np.sum(v[slice(*c.ends)] + 0.0),
    "an axis that is added": lambda v, c: np.sum((v[c.key] + np.zeros((4, 4))) * np.arange(16.0).reshape(4, 4)),
    "a view of a view": lambda v, c: np.sum(v[c.number :][:1]),
    "an element that is written": written_element,
    "an element that a constant overwrites": overwritten_element,
    "a slice that is written": scaled_slice,
    "a mask of a ufunc": under_a_mask,
    "a mask of a function": lambda v, c: np.mean(v, where=c.mask),
    "an array by keyword": lambda v, c: np.average(v, weights=c.factor),
    "an array by keyword only": lambda v, c: TAUGHT(v, scales=c.factor),
    "a number by keyword": lambda v, c: np.sum(np.roll(v, shift=c.number) * COUNTED),
    "an axis": lambda v, c: np.sum(np.sum(np.outer(v, COUNTED), axis=c.axis) * COUNTED),
    "a tuple of numbers": lambda v, c: np.sum(np.pad(v, (c.number, 4 - c.number)) * np.arange(8.0)),
    "a list of masks": lambda v, c: np.sum(np.select([c.mask], [v], 0.0)),
    "a list of arrays": lambda v, c: np.sum(np.linalg.multi_dot([c.matrix, c.matrix.T, v])),
    "a text": lambda v, c: np.sum(np.einsum(c.subscripts, np.arange(16.0).reshape(4, 4), v) * COUNTED),
}

TAUGHT: Any = None


@pytest.fixture
def _taught(monkeypatch: pytest.MonkeyPatch) -> None:
    def pull(ct: Any, out: Any, x: Any, *, scales: Any) -> Any:
        return ct * scales, ct * x

    monkeypatch.setitem(globals(), "TAUGHT", bridge.rule(total)(pull))


@pytest.mark.usefixtures("_taught")
@pytest.mark.parametrize("reading", READING)
def test_whatever_a_checkpoint_reads_that_changes_without_changing_the_values(reading: str) -> None:
    """At zeros all of these give 0, whatever they read; their derivatives differ."""

    def gradient(changes: bool) -> Any:
        captured = Captured()

        def f(x: Any) -> Any:
            y = bridge.checkpoint(lambda v: READING[reading](v, captured))(x)
            if changes:
                captured.change()
            return y * 2.0

        return bridge.grad(f)(np.zeros(4))

    before, after = Captured(), Captured()
    after.change()
    right, other = (bridge.grad(lambda x, c=c: READING[reading](x, c) * 2.0)(np.zeros(4)) for c in (before, after))
    assert not np.array_equal(right, other)
    np.testing.assert_array_equal(gradient(changes=False), right)
    with pytest.raises(ReplayError, match="read other constants") as caught:
        gradient(changes=True)
    assert caught.value.remedy and "test_captured_writes.py" in str(caught.value)


@pytest.mark.parametrize("size", [3, 5000], ids=["small", "large"])
def test_constants_of_a_checkpoint_that_do_not_change(size: int) -> None:
    factor, index = np.linspace(1.0, 2.0, size), np.arange(size)[::-1]

    def f(x: Any) -> Any:
        for _ in range(3):
            x = bridge.checkpoint(lambda v: np.sin(v)[index] * factor)(x)
        return np.sum(x)

    def plain(x: Any) -> Any:
        for _ in range(3):
            x = np.sin(x)[index] * factor
        return np.sum(x)

    x = np.cos(np.arange(float(size)))
    np.testing.assert_allclose(bridge.grad(f)(x), bridge.grad(plain)(x), rtol=1e-12)
    np.testing.assert_allclose(bridge.hvp(f, (x,), (x,)), bridge.hvp(plain, (x,), (x,)), rtol=1e-12)


class Held:
    k: Any = 1.0


def an_attribute(o: Held, v: Any) -> Any:
    return v * o.k


def an_element(o: Held, v: Any) -> Any:
    return v * vars(o)["k"]


def of_an_array(o: Held, v: Any) -> Any:
    return v + v * np.float64(o.k)


def an_inner_one(o: Held, v: Any) -> Any:
    return bridge.checkpoint(lambda w: w * o.k)(v * 2.0)


def a_tracked_one(o: Held, v: Any) -> Any:
    return v * o.u


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("body", [an_attribute, an_element, of_an_array, an_inner_one, a_tracked_one])
def test_a_number_of_a_checkpoint_that_changes_without_changing_the_values(body: Any, engine: str) -> None:
    """0 times 1 is 0 times 7: the derivative is not."""

    def f(x: Any) -> Any:
        o: Any = Held()
        o.k, o.u = 1.0, x * 2.0
        y = bridge.checkpoint(lambda v: body(o, v))(x - VALUES)
        o.k, o.u = 7.0, x * 9.0
        return np.sum(y)

    with pytest.raises(ReplayError, match=r"read other constants(.|\n)*a number"):
        bridge.grad(f, engine=engine)(VALUES)


def test_a_mapped_file_of_a_checkpoint_that_changes(tmp_path: Any) -> None:
    factor = np.memmap(tmp_path / "factor", dtype=float, mode="w+", shape=3)
    factor[:] = 2.0

    def f(x: Any) -> Any:
        y = bridge.checkpoint(lambda v: v * factor)(x - VALUES)
        factor[:] = 5.0
        return np.sum(y)

    with pytest.raises(ReplayError, match="read other constants"):
        bridge.grad(f)(VALUES)


def test_numbers_of_a_loop_that_count() -> None:
    def f(x: Any) -> Any:
        turns = [1.0]

        def body(i: int, c: Any) -> Any:
            turns[0] = turns[0] * 2
            return c * turns[0]

        return np.sum(bridge.fori_loop(0, 3, body, x - VALUES))

    with pytest.raises(ReplayError, match="read other constants"):
        bridge.grad(f)(VALUES)
