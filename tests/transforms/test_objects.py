"""Objects as arguments and results: of every kind of class, under every transform."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import optree
import pytest

import bridge

attrs = pytest.importorskip("attrs")

X = np.array([0.7, -0.4, 1.3])
U = np.array([0.3, 0.9, -1.1])
K = 1.7


def loss_of(m: Any, x: Any) -> Any:
    """What every class here computes: it writes its array in place, reads its number, its text and its count."""
    u = m.u
    for _ in range(m.n):
        u[1:] += 0.5 * m.k * u[:-1] * x[1:]
    return np.sum(u * u) + (m.k * x[0] if m.name == "left" else 0.0)


class Methods:
    def loss(self, x: Any) -> Any:
        return loss_of(self, x)


class Bare(Methods):
    def __init__(self, u: Any, k: Any) -> None:
        self.u, self.k, self.n, self.name = u, k, 2, "left"


class Plain(Methods):
    def __init__(self, u: Any, k: Any) -> None:
        assert isinstance(u, np.ndarray), "a constructor that looks at what it gets"
        self.u, self.k, self.n, self.name, self.act, self.nothing = u, k, 2, "left", np.tanh, None


class Slots:
    loss = loss_of
    __slots__ = ("__dict__", "__weakref__", "_unset", "k", "u")

    def __init__(self, u: Any, k: Any) -> None:
        assert isinstance(u, np.ndarray)
        self.u, self.k, self.n, self.name = u, k, 2, "left"


class OnlySlots:
    __slots__ = ("_Mine__n", "k", "name", "u")
    n = 2

    def __init__(self, u: Any, k: Any) -> None:
        self.u, self.k, self.name, self._Mine__n = u, k, "left", 2

    loss = loss_of


class Derived(OnlySlots):
    __slots__ = ("extra",)

    def __init__(self, u: Any, k: Any) -> None:
        super().__init__(u, k)
        self.extra = [1, "two", {"three": None}]


@dataclasses.dataclass
class Data(Methods):
    u: Any
    k: Any
    n: int = 2
    name: str = "left"
    size: int = dataclasses.field(init=False)
    table: dict[str, Any] = dataclasses.field(default_factory=lambda: {"none": None, "on": True})
    count: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if not isinstance(self.u, np.ndarray):
            raise ValueError("no array")
        self.size = len(self.u)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    u: Any
    k: Any
    n: int = 2
    name: str = "left"
    size: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        if not isinstance(self.u, np.ndarray):
            raise ValueError("no array")
        object.__setattr__(self, "size", len(self.u))

    loss = loss_of


@attrs.define
class Attrs:
    u: Any = attrs.field(validator=attrs.validators.instance_of(np.ndarray))
    k: Any = attrs.field(validator=attrs.validators.instance_of(float))
    n: int = 2
    name: str = "left"
    loss = loss_of


@attrs.frozen(slots=False)
class FrozenAttrs:
    u: Any = attrs.field(validator=attrs.validators.instance_of(np.ndarray))
    k: Any = attrs.field(converter=float)
    n: int = 2
    name: str = attrs.field(default="left", validator=attrs.validators.in_(["left", "right"]))
    loss = loss_of


class Tuple(NamedTuple):
    u: Any
    k: Any
    n: int = 2
    name: str = "left"
    loss = loss_of


@optree.register_pytree_node_class(namespace="bridge")
class Registered:
    def __init__(self, u: Any, k: Any) -> None:
        self.u, self.k, self.n, self.name = u, k, 2, "left"

    def tree_flatten(self) -> Any:
        return (self.u, self.k), (), ("u", "k")

    @classmethod
    def tree_unflatten(cls, _: Any, children: Any) -> Any:
        return cls(*children)

    loss = loss_of


@optree.register_pytree_node_class(namespace="of another")
class RegisteredElsewhere(Registered):
    def __init__(self, u: Any, k: Any) -> None:
        assert isinstance(u, np.ndarray)
        super().__init__(u, k)


class Names(SimpleNamespace):
    loss = loss_of


class Parameters(dict):
    u = property(lambda self: self["u"])
    k = property(lambda self: self["k"])
    loss = loss_of


def parameters(u: Any, k: Any) -> Parameters:
    made = Parameters(u=u, k=k)
    made.n, made.name = 2, "left"
    return made


KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "plain": Plain,
    "with slots and a dict": Slots,
    "with slots": OnlySlots,
    "derived": Derived,
    "dataclass": Data,
    "frozen dataclass": Frozen,
    "attrs": Attrs,
    "frozen attrs": FrozenAttrs,
    "named tuple": Tuple,
    "registered": Registered,
    "registered elsewhere": RegisteredElsewhere,
    "namespace": lambda u, k: Names(u=u, k=k, n=2, name="left"),
    "subclass of dict": parameters,
}


def equinox_module(u: Any, k: Any) -> Any:
    equinox = pytest.importorskip("equinox", reason="equinox.Module needs equinox")

    class Module(equinox.Module):
        u: Any
        k: Any
        n: int = equinox.field(static=True, default=2)
        name: str = equinox.field(static=True, default="left")
        length: float = equinox.field(static=True, default=2.0)
        loss = loss_of

    return Module(u, k)


def jax_class(u: Any, k: Any) -> Any:
    tree_util = pytest.importorskip("jax.tree_util", reason="needs JAX")

    @tree_util.register_pytree_node_class
    class OfJax:
        def __init__(self, u: Any, k: Any) -> None:
            self.u, self.k, self.n, self.name = u, k, 2, "left"

        def tree_flatten(self) -> Any:
            return (self.u, self.k), ("static", 3.0)

        @classmethod
        def tree_unflatten(cls, _: Any, children: Any) -> Any:
            return cls(*children)

        loss = loss_of

    return OfJax(u, k)


KINDS |= {"equinox": equinox_module, "registered with JAX": jax_class}


def plain_loss(u: Any, k: Any, x: Any) -> Any:
    return loss_of(SimpleNamespace(u=u, k=k, n=2, name="left"), x)


@pytest.fixture(params=["native", pytest.param("xla", id="xla")])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "xla":
        pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')
    return str(request.param)


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest) -> Any:
    return KINDS[request.param]


def close(one: Any, other: Any) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.ci
@pytest.mark.parametrize("how", ["method", "inside"])
def test_gradients_of_every_kind(made: Any, engine: str, how: str) -> None:
    m = made(U.copy(), K)
    gu, gk, gx = bridge.grad(plain_loss, argnums=(0, 1, 2))(U, K, X)
    if how == "method":
        f = type(m).loss
        value, (gm, by_x) = bridge.value_and_grad(f, argnums=(0, 1), engine=engine)(m, X)
    else:
        value, tree = bridge.value_and_grad(lambda p: p["models"][0].loss(p["x"]), engine=engine)(
            {"models": [m], "x": X}
        )
        gm, by_x = tree["models"][0], tree["x"]
    close(value, loss_of(made(U.copy(), K), X))
    assert type(gm) is type(m)
    close(gm.u, gu)
    close(gm.k, gk)
    close(by_x, gx)
    assert m.u.tobytes() == U.tobytes() and m.k == K and type(m.u) is np.ndarray
    if "n" in getattr(m, "__dict__", ()) and type(m).__name__ not in ("Registered", "OfJax", "Module"):
        assert gm.n is None and gm.name is None
    close(m.loss(X), value)


# Compiled, an object is taken apart as for a gradient: here some kinds stand for all.
KIND_AND_ENGINE = [*((kind, "native") for kind in KINDS), *[(kind, "xla") for kind in KINDS]]


@pytest.mark.ci
@pytest.mark.parametrize(("made", "engine"), KIND_AND_ENGINE, indirect=True)
def test_products_of_every_kind(made: Any, engine: str) -> None:
    m = made(U.copy(), K)
    f = type(m).loss
    direction = bridge.grad(f)(m, X)
    dx = np.array([0.1, 0.2, -0.3])
    _, expected = bridge.jvp(plain_loss, (U, K, X), (direction.u, direction.k, dx))
    value, tangent = bridge.jvp(f, (m, X), (direction, dx), engine=engine)
    close(tangent, expected)
    close(bridge.jvp(f, (m, X), (None, dx))[1], bridge.jvp(plain_loss, (U, K, X), (None, None, dx))[1])
    repeated, pull = bridge.vjp(f, m, X, engine=engine)
    close(repeated, value)
    by_m, _ = pull(2.0)
    close(by_m.u, 2 * direction.u)
    close(by_m.k, 2 * direction.k)
    hu, hk, hx = bridge.hvp(plain_loss, (U, K, X), (direction.u, direction.k, dx))
    found, found_x = bridge.hvp(f, (m, X), (direction, dx), engine=engine)
    assert type(found) is type(m)
    close(found.u, hu)
    close(found.k, hk)
    close(found_x, hx)


@pytest.mark.ci
@pytest.mark.parametrize(("made", "engine"), KIND_AND_ENGINE, indirect=True)
def test_jacobians_of_every_kind(made: Any, engine: str) -> None:
    def state(m: Any, x: Any) -> Any:
        m.loss(x)
        return m.u * m.k

    def plain_state(u: Any, k: Any, x: Any) -> Any:
        return state(Bare(u, k), x)

    m = made(U.copy(), K)
    ju = bridge.jacrev(plain_state)(U, K, X)
    jk = bridge.jacrev(plain_state, argnums=1)(U, K, X)
    for jacobian in (bridge.jacrev, bridge.jacfwd):
        found = jacobian(state, engine=engine)(m, X)
        assert type(found) is type(m)
        close(found.u, ju)
        close(found.k, jk)
        close(jacobian(state, argnums=1, engine=engine)(m, X), bridge.jacrev(plain_state, argnums=2)(U, K, X))


def test_a_layer_of_equinox(engine: str) -> None:
    """An object of an installed library's class, whose code and whose modules hold no state of the program's."""
    equinox = pytest.importorskip("equinox", reason="equinox.nn.Linear needs equinox")
    jax = pytest.importorskip("jax")
    layer = equinox.nn.Linear(3, 2, key=jax.random.key(0))

    def loss(layer: Any, x: Any) -> Any:
        return np.sum((layer.weight @ x + layer.bias) ** 2)

    x = np.array([0.5, -1.0, 2.0])
    found = bridge.grad(loss, engine=engine)(layer, x)
    errors = np.asarray(layer.weight) @ x + np.asarray(layer.bias)
    np.testing.assert_allclose(found.weight, 2 * np.outer(errors, x), rtol=1e-5)
    np.testing.assert_allclose(found.bias, 2 * errors, rtol=1e-5)
