"""What becomes of the state of objects: what is shared, what is passed on, what is refused, what comes out."""

from __future__ import annotations

import io
import logging
import threading
import types
from collections import OrderedDict, deque
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import bridge
from bridge import errors

X = np.array([0.7, -0.4, 1.3])


@pytest.fixture(params=["native", "xla"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "xla":
        pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')
    return str(request.param)


class Node:
    def __init__(self, w: float) -> None:
        self.w, self.children, self.parent = np.full(2, w), [], None

    def add(self, child: Any) -> Any:
        self.children.append(child)
        child.parent = self
        return self

    def total(self) -> Any:
        above = 0.0 if self.parent is None else np.sum(self.parent.w * self.w)
        return np.sum(self.w**2) + above + sum(child.total() for child in self.children)


def test_an_object_that_refers_to_itself(engine: str) -> None:
    root = Node(1.0).add(Node(3.0)).add(Node(2.0))
    value, g = bridge.value_and_grad(Node.total, engine=engine)(root)
    assert value == 2 + 18 + 8 + 6 + 4
    np.testing.assert_allclose(g.w, 2 + 5)
    np.testing.assert_allclose(g.children[0].w, 6 + 1)
    assert [child.parent for child in g.children] == [g, g] and g.parent is None
    assert bridge.jvp(Node.total, (root,), (g,), engine=engine)[1] == pytest.approx(2 * 49 + 2 * 49 + 2 * 25)


def test_a_tuple_may_lie_in_a_cycle_and_what_must_be_whole_first_may_not() -> None:
    one = SimpleNamespace(w=X.copy())
    one.pair = (one, 2.0)
    g = bridge.grad(lambda o: np.sum(o.pair[0].w) * o.pair[1])(one)
    np.testing.assert_allclose(g.w, 2.0)
    assert g.pair[0] is g and g.pair[1] == pytest.approx(X.sum())
    one = SimpleNamespace(w=X.copy(), queue=deque())
    one.queue.append(one.queue)
    with pytest.raises(errors.ArgumentError, match=r"a deque among the arguments holds itself(.|\n)*plain class"):
        bridge.grad(lambda o: np.sum(o.w))(one)


def test_a_long_chain_is_refused_by_name() -> None:
    chain = None
    for _ in range(5000):
        chain = SimpleNamespace(w=1.0, rest=chain)
    with pytest.raises(errors.ArgumentError, match=r"too many of them one in another(.|\n)*list"):
        bridge.grad(lambda c: c.w)(chain)


class Shared:
    """The same array under two names, and a view of it."""

    def __init__(self) -> None:
        self.u = np.arange(1.0, 5.0)
        self.fields = {"u": self.u}
        self.inner = self.u[1:-1]
        self.me = self

    def write(self) -> Any:
        self.me.fields["u"][0] *= 3.0
        self.inner[:] = self.inner * 2.0
        return np.sum(self.u**2)

    def read(self) -> Any:
        return np.sum(self.u**2) + np.sum(self.fields["u"]) + np.sum(self.inner)


@pytest.mark.parametrize(("name", "expected"), [("write", [18.0, 16.0, 24.0, 8.0]), ("read", [3.0, 6.0, 8.0, 9.0])])
def test_arrays_that_share_memory_in_an_object_are_one_memory(engine: str, name: str, expected: Any) -> None:
    one = Shared()
    f = getattr(Shared, name)
    g = bridge.grad(f, engine=engine)(one)
    np.testing.assert_allclose(g.u, expected)
    assert g.fields["u"] is g.u and g.me is g
    np.testing.assert_allclose(g.inner, expected[1:-1])
    np.testing.assert_allclose(one.u, np.arange(1.0, 5.0))
    tangent = Shared()
    tangent.inner = None
    assert bridge.jvp(f, (one,), (tangent,), engine=engine)[1] == pytest.approx(np.dot(expected, tangent.u))


def test_tangents_of_shared_memory_must_agree() -> None:
    one, tangent = Shared(), Shared()
    _, along = bridge.jvp(Shared.read, (one,), (tangent,))
    assert along == pytest.approx(np.dot([3.0, 6.0, 8.0, 9.0], tangent.u))
    tangent.inner = tangent.inner + 1.0
    with pytest.raises(errors.CotangentError, match=r"shape \(4,\) and a view of it of shape \(2,\)(.|\n)*None"):
        bridge.jvp(Shared.read, (one,), (tangent,))
    tangent = Shared()
    tangent.fields = {"u": np.ones(4)}
    with pytest.raises(errors.CotangentError, match=r"held at two places is given two values(.|\n)*containers"):
        bridge.jvp(Shared.read, (one,), (tangent,))
    pytest.importorskip("jax")
    with pytest.raises(errors.RefusedError, match=r"cannot compare(.|\n)*None for the view"):
        bridge.jvp(Shared.read, (one,), (Shared(),), engine="xla")


def test_parts_that_overlap_without_a_whole_are_refused_where_they_are_written() -> None:
    base = np.arange(4.0)
    one = SimpleNamespace(left=base[:-1], right=base[1:])

    def f(one: Any) -> Any:
        one.left[:] = 1.0
        return np.sum(one.right)

    with pytest.raises(errors.AliasError, match=r"argument 0\.left, argument 0\.right"):
        bridge.grad(f)(one)


def test_an_object_that_two_arguments_hold(engine: str) -> None:
    clock = SimpleNamespace(t=1.5, log=[])
    model = SimpleNamespace(clock=clock, w=X.copy())

    def reads(model: Any, clock: Any) -> Any:
        return np.sum(model.w) * model.clock.t * clock.t

    g, by_clock = bridge.grad(reads, argnums=(0, 1), engine=engine)(model, clock)
    assert g.clock.t == by_clock.t == pytest.approx(1.5 * X.sum())

    def writes(model: Any, clock: Any) -> Any:
        clock.t = 2.0 * clock.t
        return reads(model, clock)

    with pytest.raises(errors.AliasError, match=r"argument 0 and argument 1 hold the same SimpleNamespace(.|\n)*\.t"):
        bridge.grad(writes, engine=engine)(model, clock)

    def appends(model: Any, *, clock: Any) -> Any:
        clock.log.append(1)
        return reads(model, clock)

    with pytest.raises(errors.AliasError, match=r"argument 0 and a keyword argument hold the same list(.|\n)*\[0\]"):
        bridge.grad(appends, engine=engine)(model, clock=clock)
    assert clock.log == [] and clock.t == 1.5


class Mode(Enum):
    FAST = 1.5


def test_a_class_from_a_namespace_without_a_name() -> None:
    scope: dict[str, Any] = {}
    exec("class One:\n    def __init__(self, w): self.w = w", scope)
    assert scope["One"].__module__ == "builtins"
    np.testing.assert_allclose(bridge.grad(lambda one: np.sum(one.w**2))(scope["One"](X)).w, 2 * X)


class Sentinel:
    def __init__(self, name: str) -> None:
        self.name = name


IMPLICIT = Sentinel("implicit")


class Everything:
    """A model that holds what models hold."""

    def __init__(self) -> None:
        self.u, self.t = X.copy(), 0.5
        self.file, self.lock, self.logger, self.module = io.StringIO(), threading.Lock(), logging.getLogger("x"), types
        self.generator, self.mode, self.scheme = np.random.default_rng(0), Mode.FAST, IMPLICIT
        self.on, self.n, self.count, self.text, self.nothing = True, 2, np.int64(2), "text", None
        self.index, self.mask = np.array([0, 2]), np.array([True, False, True])
        self.history, self.table = [], OrderedDict(a=1.0, b=[X.copy()])
        self.function = np.sin

    def loss(self) -> Any:
        assert self.scheme is IMPLICIT and self.mode is Mode.FAST and self.on is True
        assert isinstance(self.file, io.StringIO) and isinstance(self.generator, np.random.Generator)
        self.history.append(self.n)
        self.t += 1.0
        self.n += 1
        self.extra = self.t
        self.u[self.index] *= self.t
        self.index[:] = 0
        return np.sum(self.function(self.u[self.mask]) ** self.count) + np.sum(self.table["b"][0]) * self.table["a"]


def test_what_is_no_array_is_passed_on_and_the_callers_object_keeps_its_state(engine: str) -> None:
    one = Everything()
    before = dict(vars(one))
    g = bridge.grad(Everything.loss, engine=engine)(one)
    assert vars(one) == before and one.u.tobytes() == X.tobytes() and one.history == [] and one.n == 2
    assert one.index.tolist() == [0, 2]
    chosen = X[[0, 2]]
    np.testing.assert_allclose(g.u, [*(2 * np.sin(1.5 * X) * np.cos(1.5 * X) * 1.5)[[0]], 0.0, *_last()])
    slope = np.sum(2 * np.sin(1.5 * chosen) * np.cos(1.5 * chosen) * chosen)
    assert g.t == pytest.approx(slope) and list(vars(g)) == list(before)
    assert type(g.table) is OrderedDict and g.table["a"] == pytest.approx(X.sum()) and g.history == []
    assert {name for name, value in vars(g).items() if value is not None} == {"u", "t", "history", "table"}


def _last() -> Any:
    return [2 * np.sin(1.5 * X[2]) * np.cos(1.5 * X[2]) * 1.5]


def test_arrays_of_words_in_an_object_are_copied() -> None:
    one = SimpleNamespace(u=X.copy(), names=np.array(["a", "b"]), masked=np.ma.masked_array([1.0], [True]))

    def f(one: Any) -> Any:
        one.names[0] = "z"
        return np.sum(one.u)

    one.masked = None
    assert bridge.grad(f)(one).names is None
    one.masked = np.ma.masked_array([1.0], [True])
    bridge.grad(lambda x, one: np.sum(x) + f(one))(X, one)
    assert one.names.tolist() == ["a", "b"]
    with pytest.raises(errors.ArgumentError, match="MaskedArray"):
        bridge.grad(f)(one)


class Callbacks:
    """Bound methods and partial functions as attributes, as schemes are chosen."""

    def __init__(self) -> None:
        self.w = X.copy()
        self.flux = self.square
        self.schemes = {"scaled": partial(self.scaled, factor=3.0), "other": partial(np.multiply, self.w)}

    def square(self) -> Any:
        return np.sum(self.w**2)

    def scaled(self, factor: Any) -> Any:
        return factor * np.sum(self.w)

    def loss(self) -> Any:
        self.w *= 2.0
        return self.flux() + self.schemes["scaled"]() + np.sum(self.schemes["other"](self.w))


def test_methods_that_an_object_holds_are_those_of_the_copy(engine: str) -> None:
    one = Callbacks()
    g = bridge.grad(Callbacks.loss, engine=engine)(one)
    np.testing.assert_allclose(g.w, 16 * X + 6.0)
    assert g.flux.__self__ is g and one.flux.__self__ is one
    assert g.schemes["scaled"].func.__self__ is g and g.schemes["other"].args[0] is g.w
    tangent = bridge.jvp(Callbacks.loss, (one,), (g,), engine=engine)[1]
    assert tangent == pytest.approx(np.dot(g.w, g.w) + np.sum(2 * X) * g.schemes["scaled"].keywords["factor"])


def test_a_function_with_the_object_in_its_closure_is_refused(engine: str) -> None:
    one = SimpleNamespace(w=X.copy())
    inner = lambda: np.sum(one.w)  # noqa: E731
    one.hooks = [lambda: inner()]
    with pytest.raises(errors.ArgumentError, match=r"with a SimpleNamespace in its closure(.|\n)*make it a method"):
        bridge.grad(lambda o: o.hooks[0](), engine=engine)(one)


class Cached:
    def __init__(self, e: Any) -> None:
        self.e = e

    @cached_property
    def stiffness(self) -> Any:
        return np.outer(self.e, self.e)


def test_a_cached_property_is_computed_anew() -> None:
    one = Cached(X.copy())
    kept = one.stiffness
    g = bridge.grad(lambda c: np.sum(c.stiffness))(one)
    np.testing.assert_allclose(g.e, 2 * X.sum())
    assert vars(g).keys() == {"e"} and one.stiffness is kept


class Own(dict):
    """A dict whose keys are its attributes."""

    def __init__(self, **items: Any) -> None:
        super().__init__(items)
        self.__dict__ = self


def test_a_dict_that_is_its_own_attributes() -> None:
    def f(p: Any) -> Any:
        p.k = p.k * 2.0
        return p["k"] * np.sum(p.u)

    g = bridge.grad(f)(Own(u=X.copy(), k=3.0))
    assert g.__dict__ is g and g.k == pytest.approx(2 * X.sum())
    np.testing.assert_allclose(g["u"], 6.0)


class Foreign:
    def __init__(self) -> None:
        self.values = [1.0]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.values, dtype)


class Metres(float):
    pass


class Triple(tuple):
    pass


@dataclass
class Holder:
    w: Any
    other: Any = None


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (Holder(1.0, Foreign()), r"argument 0\.other is a .*Foreign, which may hold floats(.|\n)*leave the object out"),
        (Holder(1.0, np.array([1.0, None])), r"argument 0\.other is a numpy\.ndarray of dtype object"),
        (Holder(1.0, [{"a": Metres(2.0)}]), r"argument 0\.other\[0\]\['a'\] is a .*Metres"),
        (Holder(1.0, Triple((1.0, 2.0))), r"argument 0\.other is a .*Triple"),
        (Holder(1), r"argument 0 is an object that holds no float(.|\n)*leave it out of argnums"),
        (Holder("a"), r"argument 0 is an object that holds no float"),
        (Holder, r"argument 0 has type type"),
        (Sentinel("a"), r"argument 0 has type Sentinel"),
        ([Holder(1.0), 3], r"argument 0\[1\] has type int(.|\n)*allow_int=True"),
    ],
)
def test_what_could_lose_a_gradient_is_refused(one: Any, words: str) -> None:
    with pytest.raises(errors.ArgumentError, match=words):
        bridge.grad(lambda one: 1.0)(one)


def test_what_is_refused_may_be_in_an_object_that_is_not_differentiated() -> None:
    one = Holder(np.ones(3), Foreign())
    np.testing.assert_allclose(bridge.grad(lambda x, one: np.sum(x * one.w) + one.other.values[0])(X, one), 1.0)


class Settings(NamedTuple):
    w: Any
    n: int = 3
    name: str = "a"


def test_integers_in_named_tuples_are_no_error() -> None:
    g = bridge.grad(lambda s: np.sum(s.w) * s.n)(Settings(X))
    np.testing.assert_allclose(g.w, 3.0)
    assert g.n is None and g.name is None
    with pytest.raises(errors.ArgumentError, match=r"argument 0\['n'\] has type int"):
        bridge.grad(lambda s: np.sum(s["w"]) * s["n"])({"w": X, "n": 3})


def outputs(x: Any) -> Any:
    return Holder(x * 2.0, SimpleNamespace(total=np.sum(x), name="out", parts=(x[0], 3)))


def test_objects_as_results(engine: str) -> None:
    value, pull = bridge.vjp(outputs, X, engine=engine)
    assert type(value) is Holder and type(value.w) is np.ndarray and value.other.name == "out"
    np.testing.assert_allclose(value.w, 2 * X)
    ct = Holder(np.ones(3), SimpleNamespace(total=3.0, name=None, parts=(None, None)))
    np.testing.assert_allclose(pull(ct)[0], [5.0, 5.0, 5.0])
    np.testing.assert_allclose(pull(Holder(np.ones(3)))[0], 2.0)
    np.testing.assert_allclose(pull(value)[0], 4 * X + X.sum() + [X[0], 0, 0])
    _, tangent = bridge.jvp(outputs, (X,), (np.ones(3),), engine=engine)
    np.testing.assert_allclose(tangent.w, 2.0)
    assert tangent.other.total == 3.0 and tangent.other.name is None
    g, aux = bridge.grad(lambda x: (np.sum(x), outputs(x)), has_aux=True, engine=engine)(X)
    assert type(aux.w) is np.ndarray and type(aux.other.total) is np.float64
    np.testing.assert_allclose(g, 1.0)
    with pytest.raises(errors.CotangentError, match="Foreign stands where a Holder is"):
        bridge.vjp(outputs, X)[1](Foreign())


def test_results_that_carry_nothing_are_themselves() -> None:
    held = Holder(X)
    assert bridge.grad(lambda x: (np.sum(x), held), has_aux=True)(X)[1] is held


def test_loops_and_checkpoints_carry_objects(engine: str) -> None:
    class Model:
        def __init__(self) -> None:
            self.u, self.name, self.t = X.copy(), "a", 0.0

        def step(self, k: Any) -> Any:
            self.u[1:] += k * self.u[:-1]
            self.t = self.t + 0.5 * k
            return self

    def looped(m: Any, k: Any) -> Any:
        m = bridge.fori_loop(0, 4, lambda i, m: m.step(k), m)
        return np.sum(m.u**2) * m.t

    def plain(m: Any, k: Any) -> Any:
        for _ in range(4):
            m = m.step(k)
        return np.sum(m.u**2) * m.t

    expected, by_k = bridge.grad(plain, argnums=(0, 1))(Model(), 0.3)
    found, found_k = bridge.grad(looped, argnums=(0, 1), engine=engine)(Model(), 0.3)
    np.testing.assert_allclose(found.u, expected.u)
    assert found.t == pytest.approx(expected.t) and found_k == pytest.approx(by_k)


def test_a_hessian_of_an_object_holds_one_for_each_pair_of_arrays() -> None:
    found = bridge.hessian(lambda m: np.sum(m.w**2))(Holder(X))
    np.testing.assert_allclose(found.w.w, 2 * np.eye(X.size).reshape(X.shape * 2))


def test_jax_arrays_in_objects_are_taken_in() -> None:
    jnp = pytest.importorskip("jax.numpy")
    g = bridge.grad(lambda m: np.sum(m.w**2))(Holder(jnp.asarray(X, jnp.float32)))
    np.testing.assert_allclose(g.w, 2 * X.astype(np.float32))
    np.testing.assert_allclose(bridge.grad(lambda x: np.sum(x**2))(jnp.ones(3)), 2.0)


def test_jacobians_leave_their_other_arguments_as_they_were(engine: str) -> None:
    def f(x: Any, scratch: Any, holder: Any) -> Any:
        scratch[0] = 5.0
        holder.w[:] = x * x
        return holder.w * scratch[0]

    scratch, holder = np.ones(2), Holder(np.zeros(3))
    for jacobian in (bridge.jacrev, bridge.jacfwd):
        np.testing.assert_allclose(jacobian(f, engine=engine)(X, scratch, holder), np.diag(10 * X))
        assert scratch.tolist() == [1.0, 1.0] and holder.w.tolist() == [0.0, 0.0, 0.0]
        assert jacobian(f, engine=engine)(np.ones(0), scratch, Holder(np.zeros(0))).shape == (0, 0)
        assert scratch.tolist() == [1.0, 1.0]
