"""Subclasses of np.ndarray with tracked memory: methods as written, classes, values and gradients of NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, BridgeError
from tests.helpers.by_differences import differences

X = np.array([0.7, -1.3, 2.1, 0.4])
EYE = np.eye(2)


class Field(np.ndarray):
    """A name that is inherited, and methods."""

    count = 3

    def __new__(cls, v: Any, name: str = "") -> Any:
        obj = np.asarray(v).view(cls)
        obj.name = name
        return obj

    def __array_finalize__(self, obj: Any) -> None:
        if obj is None:
            return
        self.name = getattr(obj, "name", "")

    def squares(self) -> Any:
        return self * self

    @property
    def norm(self) -> Any:
        return np.sqrt((self**2).sum())

    @classmethod
    def zeros(cls, n: int) -> Any:
        return cls(np.zeros(n), "zeros")

    @staticmethod
    def twice(v: Any) -> Any:
        return 2 * v


class Named(Field):
    """A subclass of a subclass, with super()."""

    def __new__(cls, v: Any, name: str = "", unit: str = "m") -> Any:
        obj = super().__new__(cls, v, name)
        obj.unit = unit
        return obj

    def __array_finalize__(self, obj: Any) -> None:
        super().__array_finalize__(obj)
        self.unit = getattr(obj, "unit", "?")

    def __mul__(self, other: Any) -> Any:
        made = super().__mul__(other)
        made.unit = self.unit + "*"
        return made

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key)


class Units(np.ndarray):
    """All of NumPy's ufuncs through `__array_ufunc__`."""

    def __array_ufunc__(self, ufunc: Any, method: str, *ins: Any, **kw: Any) -> Any:
        r = getattr(ufunc, method)(*[np.asarray(i) if isinstance(i, Units) else i for i in ins], **kw)
        return r.view(Units) if isinstance(r, np.ndarray) else r


class Wrapped(np.ndarray):
    """`__array_wrap__` is called."""

    def __array_wrap__(self, a: Any, context: Any = None, return_scalar: bool = False) -> Any:
        r = np.ndarray.__array_wrap__(self, a, context, return_scalar)
        r.wrapped = True
        return r


class Allocated(np.ndarray):
    """Memory by `np.ndarray.__new__`, and `__init__`."""

    def __new__(cls, v: Any) -> Any:
        return np.ndarray.__new__(cls, np.shape(v))

    def __init__(self, v: Any) -> None:
        self[...] = v
        self.scale = 2.0

    def scaled(self) -> Any:
        return self * self.scale


class Reflected(np.ndarray):
    """Operators that are asked first on the right."""

    def __rmul__(self, other: Any) -> Any:
        return np.asarray(self) * other * 5.0

    def __gt__(self, other: Any) -> Any:
        return np.array([True, False])


class High(np.ndarray):
    """Wins over other arrays."""

    __array_priority__ = 20.0


def is_a(x: Any, kind: type) -> float:
    return 1.0 if isinstance(x, kind) and isinstance(x, np.ndarray) else 2.0


EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "Field": lambda x: Field(2 * x, "u") * Field(x),
    "Field of a list": lambda x: Field([x[0], 2 * x[1]]) + 1,
    "isinstance": lambda x: Field(x) * is_a(Field(x), Field) + is_a(x, Field),
    "isinstance of a result": lambda x: Field(x) * is_a(Field(x)[1:] + x[0], Field),
    "type": lambda x: x * (type(Field(x)) is Field) + x * (Field(x).__class__ is Field),
    "attribute": lambda x: Field(x, "abc") * len((Field(x, "abc") * 2).name),
    "class attribute": lambda x: Field(x) * Field(x).count,
    "method": lambda x: Field(x).squares(),
    "property": lambda x: Field(x).norm * x,
    "classmethod": lambda x: Field.zeros(4) + x,
    "staticmethod": lambda x: Field.twice(Field(x)),
    "r*": lambda x: x * Field(x),
    "r/": lambda x: 1.0 / Field(x),
    "**": lambda x: Field(x) ** 2 + Field(x) ** 3,
    "** tracked": lambda x: Field(np.abs(x)) ** x,
    "@": lambda x: Field(x.reshape(2, 2)) @ Field(x.reshape(2, 2)),
    "neg": lambda x: -Field(x),
    "<": lambda x: np.where(Field(x) < 0.5, x, x**2),
    "sum": lambda x: Field(x).sum() * x,
    "np.sum": lambda x: np.sum(Field(x) ** 2),
    "mean": lambda x: Field(x).mean() * x,
    "std": lambda x: Field(x).std() * x,
    "max": lambda x: Field(x).max() * x,
    "axis": lambda x: Field(x.reshape(2, 2)).sum(axis=0) * 2,
    "argmax": lambda x: x[Field(x).argmax()] * x,
    "cumsum": lambda x: Field(x).cumsum() * 2,
    "T": lambda x: Field(x.reshape(2, 2)).T * x[:2],
    "reshape": lambda x: Field(x).reshape(2, 2) * x[:2],
    "ravel": lambda x: Field(x.reshape(2, 2)).ravel() * x,
    "take": lambda x: np.take(Field(x), [0, 2]) * 3,
    "np.exp": lambda x: np.exp(Field(x)),
    "np.dot": lambda x: np.dot(Field(x), x) * x,
    "np.diff": lambda x: np.diff(Field(x)),
    "np.clip": lambda x: np.clip(Field(x), 0.0, 1.0),
    "np.roll": lambda x: np.roll(Field(x), 1) * x,
    "np.cross": lambda x: np.cross(Field(x[:3]), x[1:]),
    "np.concatenate": lambda x: np.concatenate([Field(x), x]) * 2,
    "np.concatenate of priority": lambda x: np.concatenate([x.view(High), x]) * 2,
    "np.where": lambda x: np.where(x > 0, Field(x), 2 * x),
    "np.linalg.norm": lambda x: np.linalg.norm(Field(x)) * x,
    "np.zeros_like": lambda x: np.zeros_like(Field(x)) + x,
    "np.median": lambda x: np.median(Field(x)) * x,
    "element": lambda x: Field(x)[2] * x,
    "index": lambda x: Field(x)[[0, 2]] * 2,
    "mask": lambda x: Field(x)[x > 0] * 2,
    "iteration": lambda x: sum(v * v for v in Field(x)) * x,
    "asarray": lambda x: np.asarray(Field(x)) * 2,
    "asanyarray": lambda x: np.asanyarray(Field(x)) * 2,
    "array": lambda x: np.array(Field(x)) * 2,
    "array, subok": lambda x: np.array(Field(x), subok=True) * 2,
    "view back": lambda x: Field(x).view(np.ndarray) * 2,
    "view of a subclass": lambda x: x.view(Field) * 2,
    "view of a view": lambda x: Field(x, "ab").view(Named) * 2,
    "super": lambda x: Named(x, "n") * 2,
    "super, attribute": lambda x: x * len((Named(x, "n", "kg") * 2).unit),
    "super, getitem": lambda x: Named(x)[1:] * 2,
    "array_ufunc": lambda x: np.exp(x.view(Units)) * x.view(Units),
    "array_ufunc, sum": lambda x: x.view(Units).sum() * x,
    "array_ufunc, np.sum": lambda x: np.sum(np.asarray(x.view(Units) * 2)),
    "array_ufunc, divmod": lambda x: np.divmod(x.view(Units), 0.37)[1],
    "array_wrap": lambda x: np.sin(x.view(Wrapped)) ** 2,
    "array_wrap, attribute": lambda x: x * (np.sin(x.view(Wrapped)).wrapped + 1),
    "ndarray.__new__": lambda x: Allocated(x).scaled() * 2,
    "priority": lambda x: x.view(High) + Field(x),
    "matrix": lambda x: np.matrix(x.reshape(2, 2)) * np.matrix(x.reshape(2, 2)),
    "matrix of a list": lambda x: np.matrix([[x[0], x[1]], [1.0, x[2]]]) * 2,
    "matrix, array *": lambda x: x.reshape(2, 2) * np.asmatrix(x.reshape(2, 2)),
    "matrix, plain *": lambda x: np.asmatrix(np.eye(2) * 3) * x.reshape(2, 2),
    "matrix, constant array *": lambda x: EYE * np.matrix(x.reshape(2, 2)),
    "matrix, local array *": lambda x: np.array([[1.0, 2.0], [3.0, 4.0]]) * np.matrix(x.reshape(2, 2)),
    "matrix argmax": lambda x: np.matrix(x.reshape(2, 2)).argmax() * x,
    "reflected": lambda x: EYE[0] * x[:2].view(Reflected),
    "reflected comparison": lambda x: x[:2] * (EYE[0] < x[:2].view(Reflected)),
    "matrix **": lambda x: np.asmatrix(x.reshape(2, 2)) ** 2,
    "matrix T": lambda x: np.asmatrix(x.reshape(2, 2)).T * np.asmatrix(x.reshape(2, 2)),
    "matrix A": lambda x: np.asmatrix(x.reshape(2, 2)).A * 2,
    "matrix A1": lambda x: np.asmatrix(x.reshape(2, 2)).A1 * x,
    "matrix I": lambda x: np.asmatrix(x.reshape(2, 2)).I * 2,
    "matrix H": lambda x: np.asmatrix(x.reshape(2, 2)).H * 2,
    "matrix row": lambda x: np.asmatrix(x.reshape(2, 2))[0] * 2,
    "matrix column": lambda x: np.asmatrix(x.reshape(2, 2))[:, 1] * 2,
    "matrix element": lambda x: np.asmatrix(x.reshape(2, 2))[0, 1] * x,
    "matrix sum": lambda x: np.asmatrix(x.reshape(2, 2)).sum() * x,
    "matrix sum of an axis": lambda x: np.asmatrix(x.reshape(2, 2)).sum(axis=0) * 2,
    "matrix mean": lambda x: np.asmatrix(x.reshape(2, 2)).mean(axis=1) * 2,
    "matrix max": lambda x: np.asmatrix(x.reshape(2, 2)).max() * x,
    "matrix of a vector": lambda x: np.asmatrix(x) * np.asmatrix(x).T,
    "np.multiply of matrices": lambda x: np.multiply(np.asmatrix(x.reshape(2, 2)), np.asmatrix(x.reshape(2, 2))),
    "np.linalg.inv of a matrix": lambda x: np.linalg.inv(np.asmatrix(x.reshape(2, 2))),
    "matrix, concatenate": lambda x: np.concatenate([np.matrix(np.eye(4)), np.outer(x, x)]) * np.ones((4, 1)),
    "matrix isinstance": lambda x: x * isinstance(np.asmatrix(x.reshape(2, 2)), np.matrix),
}


def writes(x: Any) -> Any:
    f = Field(x, "u")
    f[1:] += f[:-1] * 2
    return (f**2).sum() * len(f.name)


def writes_to_base(x: Any) -> Any:
    f = Field(x)
    x[0] = 3 * x[1]
    f[2] = x[0] * x[3]
    return f * x


def writes_to_new(x: Any) -> Any:
    f = Field(np.zeros(4))
    f[:] = x
    h = f.copy()
    h[0] = 3.0
    assert isinstance(h, Field)
    return np.dot(h, f) * x


def writes_to_plain_base(x: Any) -> Any:
    d = np.zeros(4)
    f = d.view(Field)
    f[1] = x[0] * x[1]
    d[2] = x[2] ** 2
    return f + 2 * d + x


def writes_to_view(x: Any) -> Any:
    f = Field(x * 2)
    part = f[1:3].reshape(2, 1)
    part[0, 0] = x[3]
    part *= 2
    return f * x


def in_place(x: Any) -> Any:
    f = Field(x * 2)
    g = f
    f += x
    f *= f
    f /= 3.0
    f -= 1.0
    assert g is f
    return g


def out(x: Any) -> Any:
    f = Field(x * 2)
    np.multiply(f, x, out=f)
    np.exp(x, out=f[:])
    return f


def sets_shape(x: Any) -> Any:
    f = Field(x * 2)
    f.shape = (2, 2)
    return f.sum(axis=0)


def sets_attribute(x: Any) -> Any:
    f = Field(x * 2)
    f.name = x[0]
    return f.name * f


def loops(x: Any) -> Any:
    u = Field(x, "u")
    for _ in range(10):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def matrix_writes(x: Any) -> Any:
    a = np.asmatrix(x.reshape(2, 2))
    a[0, 1] = a[1, 0] * 2
    a[1] = x[:2]
    return a * a


def matrix_of_zeros(x: Any) -> Any:
    a = np.matrix(np.zeros((2, 2)))
    a[0, 0] = x[0]
    a[1] = x[:2]
    return a * a + (x[0] * a) + a**3


STATEMENTS = [
    writes, writes_to_base, writes_to_new, writes_to_plain_base, writes_to_view, in_place, out, sets_shape,
    sets_attribute, loops, matrix_writes, matrix_of_zeros,
]  # fmt: skip
PROGRAMS = EXPRESSIONS | {one.__name__: one for one in STATEMENTS}

SEEN: list[Any] = []


def loss(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def of(x: Any) -> Any:
        z = program(x.copy())
        SEEN.append((type(z).__name__ if isinstance(z, np.ndarray) else "", bridge.detach(np.asarray(z))))
        d = np.asarray(z)
        return np.sum(np.cos(d) * (1.0 + np.arange(np.size(d)).reshape(np.shape(d))))

    return of


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_numpy(name: str) -> None:
    f = loss(PROGRAMS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SEEN.clear()
        expected = f(X.copy())
        value, gradient = bridge.value_and_grad(f)(X.copy())
        plain, tracked = SEEN
        slopes = differences(f, X)
    assert plain[0] == tracked[0]
    np.testing.assert_array_equal(plain[1], tracked[1], strict=True)
    assert value == expected
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-7)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_compiled_engine_is_right_or_refuses(name: str) -> None:
    f = loss(PROGRAMS[name])
    expected, slopes = bridge.value_and_grad(f)(X.copy())
    try:
        value, gradient = bridge.value_and_grad(f, engine="xla")(X.copy())
    except BridgeError as error:
        assert "remedy" in str(error)
        return
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-12)


class Tripled(np.ndarray):
    """Another product."""

    def __mul__(self, other: Any) -> Any:
        return np.asarray(self) * np.asarray(other) * 3


def test_an_argument_keeps_its_class() -> None:
    field = Field(X, "abc")
    np.testing.assert_allclose(bridge.grad(lambda f: (f * f).sum() * len(f.name))(field), 6 * X)
    np.testing.assert_allclose(bridge.grad(lambda f: (f * f).sum())(X.view(Tripled)), 6 * X)
    with pytest.raises(ArgumentError, match="Tripled"):
        bridge.grad(lambda f: (f * f).sum(), engine="xla")(X.view(Tripled))


def test_detach_gives_the_class_itself() -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        found.append(bridge.detach(Field(x, "abc")))
        return x.sum()

    bridge.grad(f)(X)
    assert type(found[0]) is Field
    assert found[0].name == "abc"
