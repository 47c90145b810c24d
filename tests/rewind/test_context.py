"""The layer below the transforms: roots, shadows, the log, undo and redo, constants, positions."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import Context, errors
from bridge.errors import AliasError
from bridge.rewind.log import Operation
from bridge.rewind.roots import Root
from bridge.rewind.writes import Update, Write

X = np.array([0.5, -1.0, 2.0, 0.25])


def test_gradient_of_a_program_written_out() -> None:
    with Context() as ctx:
        x = ctx.buffer(X)
        y = np.sin(x)
        y[1:] *= x[:-1]
        s = np.sum(y)
        np.testing.assert_allclose(ctx.gradient(s, x), bridge.grad(lambda x: np.sum(_same(x)))(X))
    assert bridge.current_context() is None


def _same(x: Any) -> Any:
    y = np.sin(x)
    y[1:] *= x[:-1]
    return y


def test_gradients_may_be_asked_again_and_of_several_values() -> None:
    with Context() as ctx:
        x, w = ctx.buffer(X), ctx.buffer(2 * X)
        y = x * w
        first = np.sum(y)
        y[0] = 7.0
        second = np.sum(y)
        gx, gw = ctx.gradient(first, (x, w))
        np.testing.assert_allclose(gx, 2 * X)
        np.testing.assert_allclose(gw, X)
        np.testing.assert_allclose(ctx.gradient(second, x), 2 * X * [0, 1, 1, 1])
        np.testing.assert_allclose(ctx.gradient(y, x, cotangent=np.ones(4)), 2 * X * [0, 1, 1, 1])
        z = first * second
        np.testing.assert_allclose(ctx.gradient(first, x), gx)
        np.testing.assert_allclose(bridge.detach(y), [7.0, *(2 * X * X)[1:]])
        assert bridge.detach(z) == bridge.detach(first) * bridge.detach(second)


def test_gradient_with_respect_to_an_intermediate_value() -> None:
    with Context() as ctx:
        x = ctx.buffer(X)
        y = np.sin(x)
        z = np.sum(y * y * x)
        np.testing.assert_allclose(ctx.gradient(z, y), 2 * np.sin(X) * X)
        y[:] = 0.0
        np.testing.assert_allclose(ctx.gradient(z, y), 2 * np.sin(X) * X)


def test_gradient_refuses_what_it_cannot_answer() -> None:
    with Context() as ctx:
        x = ctx.buffer(X)
        scratch = np.zeros_like(x)
        scratch[0] = x[0]
        with pytest.raises(errors.CotangentError, match="one real number"):
            ctx.gradient(x * 2, x)
        with pytest.raises(errors.ArgumentError, match="not a Buffer of this context"):
            ctx.gradient(np.sum(x), X)
        with pytest.raises(errors.ArgumentError, match="not a Buffer of this context"):
            ctx.gradient(3.0, x)
        with pytest.raises(errors.ArgumentError, match="does not depend"):
            ctx.gradient(np.sum(scratch), scratch)
        with pytest.raises(errors.ArgumentError, match="does not depend"):
            ctx.gradient(np.sum(x), ctx.buffer(np.arange(3)))
        with pytest.raises(errors.CotangentError, match="shape"):
            ctx.gradient(x * 2, x, cotangent=np.ones(3))


def test_a_context_is_entered_once() -> None:
    ctx = Context()
    with pytest.raises(errors.ContextError, match="not entered"):
        ctx.buffer(X)
    with ctx:
        pass
    with pytest.raises(errors.ContextError, match="entered before"), ctx:
        pass


def test_roots_own_a_copy_and_share_it_only_among_views() -> None:
    with Context() as ctx:
        given = X.copy()
        x = ctx.buffer(given)
        x[0] = 9.0
        assert given[0] == X[0]
        given[1] = 8.0
        assert bridge.detach(x)[1] == X[1]
        views = [x[1:], x[::-1], np.reshape(x, (2, 2)), np.reshape(x, (2, 2)).T, x[None], np.ravel(x), x[...], x.view()]
        assert all(view.place.root is x.place.root for view in views)
        copies = [x.copy(), x[[0, 1]], x[x > 0], x.flatten(), np.ravel(x[::2].reshape(2, 1).T), x.astype(float), +x]
        assert all(copied.place.root is not x.place.root for copied in copies)


def test_scalars_are_immutable_copies() -> None:
    with Context() as ctx:
        x = ctx.buffer(X)
        s = x[0]
        t = s
        s += 1.0
        assert bridge.detach(t) == X[0]
        assert isinstance(x[0, ...], bridge.Buffer)
        assert x[0, ...].shape == ()
        assert [type(part).__name__ for part in x] == ["Scalar"] * 4
        assert type(np.sum(x)).__name__ == type(np.max(x)).__name__ == "Scalar"
        with pytest.raises(TypeError):
            s[0] = 1.0


def test_only_overwritten_bytes_are_saved() -> None:
    with Context() as ctx:
        x = ctx.buffer(np.zeros(1000))
        x[10:20] = 1.0
        x[5] = 2.0
        x[30:40] += 1.0
        x[[1, 2]] = 3.0
        saved = [entry.saved for entry in ctx.log if isinstance(entry, (Write, Update))]
        assert [np.size(part) for part in saved] == [10, 1, 10, 2]


def test_what_a_rule_does_not_read_is_not_kept() -> None:
    with Context() as ctx:
        x = ctx.buffer(np.ones(1000))
        y = x + x
        alive = weakref.ref(y.value)
        z = np.sum(3.0 * y)
        del y
        gc.collect()
        assert alive() is None
        np.testing.assert_allclose(ctx.gradient(z, x), np.full(1000, 6.0))


def test_undo_and_redo_exchange_bytes() -> None:
    with Context() as ctx:
        x = ctx.buffer(X)
        x[1:3] = np.sin(x[0:2])
        np.multiply(x, x, out=x)
        after = bridge.detach(x)
        for entry in reversed(ctx.log):
            entry.undo()
        np.testing.assert_array_equal(bridge.detach(x), X)
        for entry in ctx.log:
            entry.undo()
        np.testing.assert_array_equal(bridge.detach(x), after)


def test_a_shadow_adopts_only_what_nobody_else_holds() -> None:
    with Context() as ctx:
        x, y = ctx.buffer(X), ctx.buffer(X)
        s = x + y
        root = x.place.root
        assert isinstance(root, Root)
        ones = np.ones(4)
        gx, gy = ctx.gradient(np.sum(s * 1.0 + x), (x, y))
        np.testing.assert_allclose(gx, 2 * ones)
        np.testing.assert_allclose(gy, ones)
        ct = np.ones(4)
        gx = ctx.gradient(s, x, cotangent=ct)
        gx += 5.0
        np.testing.assert_array_equal(ct, np.ones(4))


def test_shadows_are_freed_at_birth() -> None:
    with Context() as ctx:
        x = ctx.buffer(X)
        y = np.sum(np.sin(x) ** 2)
        ctx.gradient(y, x)
        roots = [entry.out for entry in ctx.log if isinstance(entry, Operation)]
        assert all(root.shadow is None for root in roots)
        assert x.place.root.shadow is None


def test_a_finished_gradient_leaves_nothing_behind() -> None:
    def f(x: Any) -> Any:
        for _ in range(20):
            x = np.sin(x) * x
        return np.sum(x)

    x = np.ones(100_000)
    bridge.grad(f)(x)
    gc.collect()
    gc.disable()
    try:
        tracemalloc.start()
        bridge.grad(f)(x)
        left, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    finally:
        gc.enable()
    assert left < 2_000_000 < peak


def test_constants_are_snapshotted_once_per_change() -> None:
    big = np.ones(10_000)
    with Context() as ctx:
        x = ctx.buffer(X)
        total = 0.0
        for _ in range(3):
            total = total + np.sum(x[0] * big)
        kept = {
            id(entry.call.args[1]) for entry in ctx.log if isinstance(entry, Operation) and entry.name == "np.multiply"
        }
        assert len(kept) == 1
        big[0] = 5.0
        total = total + np.sum(x[0] * big)
        kept = {
            id(entry.call.args[1]) for entry in ctx.log if isinstance(entry, Operation) and entry.name == "np.multiply"
        }
        assert len(kept) == 2
        big[:] = 0.0
        assert ctx.gradient(total, x)[0] == 4 * 10_000 + 4.0


def test_what_cannot_change_is_not_copied() -> None:
    frozen = np.ones(10_000)
    frozen.flags.writeable = False
    promised = bridge.constant(np.ones(10_000))
    with Context() as ctx:
        x = ctx.buffer(X)
        np.sum(x[0] * frozen)
        np.sum(x[0] * promised)
        kept = [entry.call.args[1] for entry in ctx.log if isinstance(entry, Operation) and entry.name == "np.multiply"]
        assert kept[0] is frozen
        assert np.shares_memory(kept[1], promised)


def test_a_read_only_view_of_memory_that_can_change_is_copied() -> None:
    memory = np.ones(10_000)
    view = memory[:]
    view.flags.writeable = False

    def f(x: Any) -> Any:
        y = np.sum(x[0] * view)
        memory[:] = 3.0
        return y

    assert bridge.grad(f)(X)[0] == 10_000


def thawed(big: np.ndarray) -> None:
    big.flags.writeable = True
    big *= 3


def thawed_by_name(big: np.ndarray) -> None:
    big.flags["WRITEABLE"] = True
    big[:] = 3


def thawed_by_a_method(big: np.ndarray) -> None:
    big.setflags(write=True)
    big *= 3


def thawed_for_a_while(big: np.ndarray) -> None:
    big.flags.writeable = True
    big *= 3
    big.flags.writeable = False


THAWED = [thawed, thawed_by_name, thawed_by_a_method, thawed_for_a_while]


@pytest.mark.parametrize("change", THAWED)
@pytest.mark.parametrize("part", [slice(None), slice(5, None)])
def test_what_was_read_only_and_is_changed_is_an_error(change: Callable[[Any], None], part: slice) -> None:
    def f(x: Any) -> Any:
        big = np.ones(10_000)
        big.flags.writeable = False
        y = np.sum(x[0] * big[part])
        change(big)
        return y

    with pytest.raises(AliasError, match=r"read-only array of shape .* was changed(.|\n)*remedy: leave it read-only"):
        bridge.grad(f)(X)


def test_a_view_from_before_is_written() -> None:
    def f(x: Any) -> Any:
        big = np.ones(10_000)
        view = big[:]
        big.flags.writeable = False
        y = np.sum(x[0] * big)
        view *= 3
        return y

    with pytest.raises(AliasError, match="read-only array"):
        bridge.grad(f)(X)


def test_a_read_only_array_that_is_changed_between_forward_and_backward() -> None:
    big = np.ones(10_000)
    big.flags.writeable = False
    _, pull = bridge.vjp(lambda x: np.sum(x[0] * big), X)
    assert pull(1.0)[0][0] == 10_000
    big.flags.writeable = True
    with pytest.raises(AliasError, match="made writable where that is not seen"):
        pull(1.0)


def test_a_read_only_array_may_be_made_writable() -> None:
    def f(x: Any) -> Any:
        big = np.ones(10_000)
        big.flags.writeable = False
        y = np.sum(x[0] * big)
        big.flags.writeable = True
        return y

    assert bridge.grad(f)(X)[0] == 10_000


def test_constants_do_not_spread() -> None:
    c = bridge.constant(np.arange(3.0))
    assert type(c * 2) is np.ndarray
    assert not c.flags.writeable


def test_positions_are_those_of_the_user() -> None:
    with Context() as ctx:
        x = ctx.buffer(X)
        np.linalg.norm(x)
        here = ctx.log[-1].where
        np.add(x, 1.0, out=x)
    assert here is not None
    assert "test_context.py" in here
    assert "test_positions_are_those_of_the_user" in here
    assert here != ctx.log[-1].where


def test_nested_contexts_hold_the_outer_one_s_buffers() -> None:
    with Context() as outer:
        x = outer.buffer(X)
        with Context() as inner:
            y = inner.buffer(x)
            assert isinstance(y.value, bridge.Buffer)
            z = np.sum(y**3)
            g = inner.gradient(z, y)
            assert isinstance(g, bridge.Buffer)
        np.testing.assert_allclose(outer.gradient(np.sum(g * g), x), 36 * X**3)


def test_printing_is_no_escape() -> None:
    with Context() as ctx:
        x = ctx.buffer(X)
        assert repr(x) == f"Buffer({X!r})"
        assert str(x[0]) == "0.5"
        assert f"{x[0]:.2f}" == "0.50"
    assert ctx.escaped is None


def test_a_buffer_of_a_buffer_is_a_logged_copy() -> None:
    with Context() as ctx:
        x = ctx.buffer(X)
        y = ctx.buffer(x)
        s = np.sum(y * y * x)
        gx, gy = ctx.gradient(s, (x, y))
        assert type(gx) is type(gy) is np.ndarray
        np.testing.assert_allclose(gx, 3 * X**2)
        np.testing.assert_allclose(gy, 2 * X**2)
