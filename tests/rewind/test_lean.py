"""The commonest events in few steps: what they log is what the general events log."""

import gc
import threading

import numpy as np
import pytest

import bridge
from bridge.errors import RefusedError
from bridge.rewind.context import Context
from bridge.rewind.lean import ElementRead, ElementWrite, One, Pair
from bridge.rewind.lifetime import COLLECTING_RARELY


def elements(x, y):
    for i in range(1, 4):
        x[i] = np.tanh(x[i] + 0.5 * x[i - 1]) * y[i]
    x[-1] *= x[0]
    return np.sum(x * x)


def of_views(x, y):
    a = np.outer(x, y)
    row, turned = a[1], a.T
    row[2] += a[0, 1] * turned[3, 0]
    turned[0, 1] = row[2] / 2
    a[1:, 1:][0, 0] = x[0]
    return np.sum(np.sin(a)) + row[1]


def numbers_of_all_kinds(x, y):
    x[0] = 2
    x[1] = np.float32(1.5)
    x[2] = y[0] > 0
    x[3] = np.float64(0.5)
    y[1] = 3.25
    return np.sum(x * y) + x[1] ** 2


def overwritten_and_read_again(x, y):
    s = x[0] * x[1]
    x[0] = s + y[0]
    t = x[0] * s
    x[0] = 0.0
    x[1] = t
    x[1] = x[1]
    return x[1] * s + x[0] + np.sum(x * y)


def plain_and_tracked(x, y):
    k = np.zeros_like(x)
    w = np.sum(x)
    for i in range(4):
        k[i] = x[i] * w if i % 2 else 1.0
    return np.sum(k * y) + -x[0] + abs(x[1])


def products(x, y):
    a = np.outer(x, y)
    for i in range(1, 4):
        a[i, i] -= np.dot(a[i, :i], a[:i, i])
        a[i] /= 2 + np.inner(x, y) ** 2
    return np.sum(a) + np.vdot(x, y) + np.sum(np.dot(a, a) @ x)


PROGRAMS = [elements, of_views, numbers_of_all_kinds, overwritten_and_read_again, plain_and_tracked, products]


class General(Context):
    """A context that answers by the general events."""

    def __enter__(self):
        super().__enter__()
        self.lean = False
        return self


def gradients(kind, program, x, y):
    with kind() as context:
        given = [context.buffer(x), context.buffer(y)]
        value = program(*given)
        names = [(entry.name, entry.where, len(list(entry.reads()))) for entry in context.log]
        found = [context.gradient(value, given) for _ in range(2)]
        held = [np.array(bridge.detach(one)) for one in given]
    return names, found, held


@pytest.mark.parametrize("dtype", [np.float64, np.float32, ">f8"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_as_the_general_events(program, dtype):
    rng = np.random.default_rng(4)
    x, y = rng.uniform(0.5, 2, 4).astype(dtype), rng.uniform(0.5, 2, 4).astype(dtype)
    lean, general = gradients(Context, program, x, y), gradients(General, program, x, y)
    assert lean[0] == general[0]
    np.testing.assert_array_equal(lean[1], general[1])
    np.testing.assert_array_equal(lean[1][0], lean[1][1])
    np.testing.assert_array_equal(lean[2], general[2])


def test_what_is_logged():
    with Context() as context:
        x = context.buffer(np.ones(3))
        x[0] = np.sin(x[1]) * x[2]
        kinds = [type(entry) for entry in context.log]
        assert kinds == [ElementRead, One, ElementRead, Pair, ElementWrite]
        read, one, _, pair, write = context.log
        assert one.call.function is np.sin and pair.call.function is np.multiply
        assert pair.call.wanted == pair.wanted == (0, 1)
        assert read.source.key == 1 and write.out.key == 0 and write.out.root is x.place
        assert [entry.activates for entry in context.log] == [False] * 5


def test_a_write_outside_raises_and_logs_nothing():
    with Context() as context:
        x = context.buffer(np.ones(3))
        for key in (3, -4, (0, 0)):
            with pytest.raises(IndexError):
                x[key] = 2.0
            with pytest.raises(IndexError):
                x[key]
        assert context.log == []


@pytest.mark.parametrize("value", [1j, np.complex128(2), "text"])
def test_what_does_not_fit_raises_as_before(value):
    with Context() as context:
        x = context.buffer(np.ones(3))
        with pytest.raises((TypeError, ValueError, RefusedError)):
            x[0] = value
        np.testing.assert_array_equal(bridge.detach(x), np.ones(3))


def test_integers_stay_plain():
    with Context() as context:
        k = context.buffer(np.arange(3))
        k[0] = 2.75
        assert type(k[0]) is np.int64 and k[0] == 2


def test_the_collector_is_as_before():
    before = gc.get_threshold()
    seen = []

    def program(x):
        seen.append(gc.get_threshold())
        return np.sum(x)

    bridge.grad(program, engine="native")(np.ones(2))
    assert seen[0][:2] == before[:2] and seen[0][2] > before[2]
    assert gc.get_threshold() == before
    with pytest.raises(ZeroDivisionError):
        bridge.grad(lambda x: 1 / 0, engine="native")(np.ones(2))
    assert gc.get_threshold() == before


def test_the_last_thread_puts_the_collector_back():
    before = gc.get_threshold()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with COLLECTING_RARELY:
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with COLLECTING_RARELY:
        thread.start()
        assert entered.wait(10)
    assert gc.get_threshold() != before
    leave.set()
    thread.join()
    assert gc.get_threshold() == before


def test_what_the_program_sets_meanwhile_stays():
    before = gc.get_threshold()
    try:
        with COLLECTING_RARELY:
            gc.set_threshold(500, 5, 5)
        assert gc.get_threshold() == (500, 5, 5)
    finally:
        gc.set_threshold(*before)
