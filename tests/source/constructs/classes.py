# ruff: noqa
# fmt: off
"""Classes: methods, super, private names, properties, descriptors, slots, metaclasses, dataclasses, enumerations."""

import abc
import collections
import contextlib
import copy
import dataclasses
import enum
import pickle
import typing
from functools import cached_property

import numpy as np


class Base:
    kind = "base"
    def __init__(self, x=1):
        self.x = x
        self.__secret = 10
    def area(self): return self.x
    def secret(self): return self.__secret
    @classmethod
    def make(cls, x): return cls(x)
    @staticmethod
    def twice(x): return 2 * x
    @property
    def double(self):
        return self.twice(self.x)
    @double.setter
    def double(self, value):
        self.x = value / 2
    @double.deleter
    def double(self):
        self.x = None
    @cached_property
    def costly(self):
        self.count = getattr(self, "count", 0) + 1
        return self.x * 100
    def __mangled(self): return "base"
    def call_mangled(self): return self.__mangled()


class Child(Base):
    kind = "child"
    def __init__(self, x=2):
        super().__init__(x)
        self.__secret = 20
    def area(self): return super().area() + super(Child, self).area() + Base.area(self)
    def both(self): return self.__secret, self._Base__secret, self.secret()
    @classmethod
    def make(cls, x): return super().make(x + 1)
    @property
    def double(self): return super().double + 1
    def __mangled(self): return "child"
    def where(self): return __class__.__name__, type(self).__name__
    def change(self):
        self.__secret += 5
        self.__made = [0]
        self.__made[0] += 1
        del self.__secret
        try:
            self.__secret
        except AttributeError as error:
            return sorted(vars(self)), str(error)


class GrandChild(Child):
    def area(self):
        def inner(): return super(GrandChild, self).area()
        found = [super(GrandChild, self).area() for _ in range(1)]
        return inner(), found


def row_methods(log):
    b, c = Base(3), Child.make(4)
    bound = b.area
    b.area = lambda: "own"
    return bound(), b.area(), c.area(), c.x, Base.twice(3), c.twice(4), Base.area(c), type(c).__name__, Base.make(1).x


def row_super(log):
    return GrandChild(2).area(), Child(1).where(), GrandChild().where(), Child(3).double


def row_private_names(log):
    return Child().both(), Child().call_mangled(), Child().change()


def row_properties(log):
    b = Base(3)
    found = [b.double]
    b.double = 10
    b.double += 1
    found.append(b.x)
    del b.double
    return found, b.x


def row_property_of_a_local_class(log):
    class A:
        @property
        def total(self): log.append("got"); return self._t
        @total.setter
        def total(self, t): log.append("set"); self._t = t
    a = A()
    a.total = 1
    a.total += 2
    return a.total


def row_property_that_raises(log):
    class A:
        @property
        def double(self): return self.missing
    return A().double


def row_attribute_that_is_not_there(log):
    return Base().costlier


def row_property_without_setter(log):
    class A:
        @property
        def fixed(self): return 1
    A().fixed = 2


def row_cached_property(log):
    b = Base(2)
    first = b.costly, b.costly, b.count
    b.costly = 3
    second = b.costly
    del b.costly
    return first, second, b.costly, b.count, Base.costly.attrname


class Slotted:
    __slots__ = ("a", "__b", "double")
    def __init__(self): self.a, self.__b = 1, [2]
    def change(self):
        self.a += 1
        self.__b[0] += 1
        self.double = 5
        del self.a
        try:
            self.a
        except AttributeError as error:
            return self.__b, self.double, str(error)
    def bad(self): self.c = 1


def row_slots(log):
    return Slotted().change(), hasattr(Slotted(), "__dict__")


def row_slots_refuse(log):
    Slotted().bad()


class Logged:
    """A data descriptor."""
    def __init__(self, log): self.log = log
    def __set_name__(self, owner, name): self.name = name
    def __get__(self, thing, kind=None):
        self.log.append(f"get {self.name}")
        return vars(thing).get("_" + self.name, 0)
    def __set__(self, thing, value):
        self.log.append(f"set {self.name} {value}")
        vars(thing)["_" + self.name] = value
    def __delete__(self, thing):
        self.log.append(f"delete {self.name}")


def row_descriptors(log):
    class A:
        x = Logged(log)
        y = Logged(log)
    a = A()
    a.x = 1
    a.x += 2
    a.y, a.x = a.x, 5
    for a.y in range(2): pass
    del a.x
    return log, vars(a)


def row_non_data_descriptor(log):
    class Shift:
        def __get__(self, thing, kind=None): return lambda x: (kind.__name__, x)
    class A:
        s = Shift()
    a = A()
    found = a.s(1), A.s(2)
    a.s = 3
    return found, a.s


def row_attribute_hooks(log):
    class A:
        def __init__(self): self.seen = 0
        def __getattr__(self, name):
            log.append(f"getattr {name}")
            if name == "no": raise AttributeError("refused")
            return name.upper()
        def __setattr__(self, name, value):
            log.append(f"setattr {name}")
            object.__setattr__(self, name, value)
        def __delattr__(self, name):
            log.append(f"delattr {name}")
    a = A()
    a.x = 1
    a.x += 1
    del a.x
    return a.y, a.x, getattr(a, "z"), hasattr(a, "no"), getattr(a, "no", "default"), log


def row_getattribute(log):
    class A:
        kind = 1
        def __getattribute__(self, name):
            log.append(name)
            return object.__getattribute__(self, name)
        def f(self): return self.kind
    a = A()
    a.kind = 5
    a.kind += 1
    return a.f(), log


def row_metaclass(log):
    class Meta(type):
        def __new__(mcs, name, bases, names, **extra):
            log.append(("new", name, extra))
            return super().__new__(mcs, name, bases, names)
        def __init__(cls, name, bases, names, **extra):
            super().__init__(name, bases, names)
            cls.made = 0
        def __call__(cls, *args, **kwargs):
            cls.made += 1
            return super().__call__(*args, **kwargs)
        @classmethod
        def __prepare__(mcs, name, bases, **extra):
            log.append("prepare")
            return {}
        def __len__(cls): return 42
        def __getitem__(cls, k): return cls.__name__, k
    class A(metaclass=Meta, flag=1):
        def __init__(self, x): self.x = x
    class B(A): pass
    return A(1).x, B(2).x, A.made, B.made, len(A), A["k"], log


def row_metaclass_without_call(log):
    class Meta(type):
        pass
    class A(metaclass=Meta):
        def __init__(self, x): self.x = [x]; self.x[0] += 1
    return A(1).x


def row_init_subclass(log):
    class A:
        def __init_subclass__(cls, tag=None, **rest):
            super().__init_subclass__(**rest)
            log.append((cls.__name__, tag))
        def __class_getitem__(cls, k): return "item", k
    class B(A, tag="b"): pass
    return log, A[3], B[4]


def row_new_and_init(log):
    class A:
        def __new__(cls, x, *, other=False):
            log.append("new")
            return [x] if other else super().__new__(cls)
        def __init__(self, x, *, other=False):
            log.append("init")
            self.x = x
    class Number(int):
        def __new__(cls, x): return super().__new__(cls, x + 1)
        def __init__(self, x): self.given = x
    return A(1).x, A(2, other=True), Number(3), Number(3).given, log


def row_init_that_returns(log):
    class A:
        def __init__(self): return 5
    A()


def row_init_with_wrong_arguments(log):
    class A:
        def __init__(self, a, b): pass
    A(1)


def row_init_that_raises(log):
    class A:
        def __init__(self, a):
            raise ValueError(a)
    A(1)


def row_no_init(log):
    class A: pass
    A(1)


def row_abstract_class(log):
    class A(abc.ABC):
        def __init__(self): self.x = 1
        @abc.abstractmethod
        def f(self): ...
        @property
        @abc.abstractmethod
        def p(self): ...
    class B(A):
        def f(self): return self.x
        p = 3
    found = B().f(), B().p
    try:
        A()
    except TypeError as error:
        return found, str(error)


def row_dataclasses(log):
    @dataclasses.dataclass
    class Point:
        x: float
        y: float = 2.0
        tags: list = dataclasses.field(default_factory=list)
        norm: float = dataclasses.field(init=False)
        seed: dataclasses.InitVar[int] = 3
        def __post_init__(self, seed):
            self.norm = self.x ** 2 + self.y ** 2 + seed
            log.append("post")
    @dataclasses.dataclass(frozen=True, order=True, slots=True)
    class Frozen:
        a: int
        b: int = 1
        def __post_init__(self): log.append("frozen")
    @dataclasses.dataclass
    class Sub(Point):
        z: int = 4
    p = Point(1.0)
    p.tags.append(1)
    p.x += 3
    f = dataclasses.replace(Frozen(1), b=5)
    try:
        f.a = 1
    except dataclasses.FrozenInstanceError as error:
        log.append(str(error))
    return p, Point(1.0, seed=5).norm, Point(1.0) == Point(1.0), dataclasses.asdict(p), f, Frozen(1) < Frozen(2), Sub(1.0, z=7), log


def row_dataclass_with_wrong_arguments(log):
    @dataclasses.dataclass
    class Point:
        x: float
        def __post_init__(self): self.y = self.x
    Point()


def row_enumerations(log):
    class Colour(enum.Enum):
        RED = 1
        GREEN = enum.auto()
        def hex(self): return self.value * 16
        @classmethod
        def first(cls): return cls.RED
        @property
        def double(self): return self.value * 2
    class Flag(enum.IntFlag):
        A = 1
        B = 2
    return Colour(2).name, Colour["RED"].hex(), Colour.first() is Colour.RED, [c.double for c in Colour], int(Flag.A | Flag.B), Colour.GREEN in Colour


def row_enumeration_of_no_such_value(log):
    class Colour(enum.Enum):
        RED = 1
    Colour(5)


def row_named_tuples(log):
    P = collections.namedtuple("P", "x y", defaults=[5])
    class Q(typing.NamedTuple):
        a: int
        b: str = "b"
        def both(self): return self.a, self.b
    p = P(1)._replace(y=3)
    return p, p.x, Q(1).both(), P.__module__ == __name__, Q(2, "c")


def row_generic_classes(log):
    T = typing.TypeVar("T")
    class Box(typing.Generic[T]):
        def __init__(self, x: T): self.x = x
        def get(self) -> T: return self.x
    return Box[int](3).get(), Box(4).get(), type(Box[int](1)).__name__


def row_class_decorators_and_bases(log):
    def tag(name):
        def decorate(cls):
            cls.tag = name
            return cls
        return decorate
    def bases(): log.append("bases"); return Base
    @tag("a")
    class A(bases(), object): x = [k for k in range(3)]
    return A.tag, A.x, A().area(), log


def row_multiple_inheritance(log):
    class A:
        def f(self): log.append("A"); return "A"
    class B(A):
        def f(self): log.append("B"); return "B" + super().f()
    class C(A):
        def f(self): log.append("C"); return "C" + super().f()
    class D(B, C):
        def f(self): return "D" + super().f()
        def __init_subclass__(cls): pass
    return D().f(), [k.__name__ for k in D.__mro__], log


def row_type_with_three_arguments(log):
    A = type("A", (Base,), {"area": lambda self: self.x * 5, "__module__": __name__})
    return A(2).area(), type(A(1)) is A, A.__name__


def row_class_changed_later(log):
    class A:
        def f(self): return 1
    a = A()
    found = [a.f()]
    A.f = lambda self: 2
    found.append(a.f())
    a.__class__ = Child
    a.x = 1
    found.append(a.area())
    return found


class Vector:
    def __init__(self, *x): self.x = list(x)
    def __repr__(self): return f"Vector{tuple(self.x)}"
    def __eq__(self, other): return isinstance(other, Vector) and self.x == other.x
    def __add__(self, other): return Vector(*(a + b for a, b in zip(self.x, other.x))) if isinstance(other, Vector) else NotImplemented
    def __radd__(self, other): return self if other == 0 else NotImplemented
    def __iadd__(self, other): self.x = [a + b for a, b in zip(self.x, other.x)]; return self
    def __mul__(self, s): return Vector(*(a * s for a in self.x)) if isinstance(s, (int, float)) else NotImplemented
    __rmul__ = __mul__
    def __matmul__(self, other): return sum(a * b for a, b in zip(self.x, other.x))
    def __neg__(self): return Vector(*(-a for a in self.x))
    def __abs__(self): return sum(a * a for a in self.x) ** 0.5
    def __getitem__(self, k): return Vector(*self.x[k]) if isinstance(k, slice) else self.x[k]
    def __setitem__(self, k, v): self.x[k] = v
    def __delitem__(self, k): del self.x[k]
    def __len__(self): return len(self.x)
    def __iter__(self): return iter(self.x)
    def __contains__(self, v): return v in self.x
    def __bool__(self): return any(self.x)
    def __lt__(self, other): return abs(self) < abs(other)
    def __call__(self, k=0): return self.x[k]
    def __enter__(self): self.x.append(0); return self
    def __exit__(self, *error): self.x.pop()
    def __mod__(self, other): return "mod", other
    def __rmod__(self, other): return "rmod", other


def row_operators_of_a_class(log):
    a, b = Vector(1, 2), Vector(3, 4)
    c = a
    c += b
    a[0] += 5
    a[1:] = [7, 8]
    del a[2]
    with a as same:
        inside = list(same)
    return (a + b, sum([a, b]), 2 * a, a * 2, a @ b, -a, abs(b), a[0], a[:1], len(a), list(a), 7 in a, bool(a), not a, a < b, c is a,
            a(), a(k=1), inside, a == Vector(9, 7), a != b, max(a, b), [x for x in a], {**{"k": a}}, (*a,), a % 3, 3 % a, sorted([b, a]),
            isinstance(a, Vector), a and b, a or b, a if a else b)


def row_operands_that_do_not_fit(log):
    return Vector(1) + 5


def row_operands_that_do_not_fit_in_place(log):
    v = Vector(1)
    v @= 5


def row_reflected_operators(log):
    class A:
        def __add__(self, other): log.append("A+"); return NotImplemented
        def __eq__(self, other): log.append("A=="); return NotImplemented
        def __lt__(self, other): log.append("A<"); return NotImplemented
    class B:
        def __radd__(self, other): log.append("+B"); return type(other).__name__
        def __gt__(self, other): log.append(">B"); return True
    class C(A):
        def __radd__(self, other): log.append("+C"); return "C first"
        def __add__(self, other): return "C"
    return A() + B(), A() + C(), A() < B(), A() == 3, A() is A, 1 + B(), [1] + [2] if A() else 0, log


def row_identity_of_operands(log):
    class A:
        def __add__(self, other): return self is a, other is b, type(self) is A, type(other) is A
        def __eq__(self, other): return self is other
        def __iter__(self): yield self is a
        def __getitem__(self, k): return self, k is b
        def __enter__(self): return self
        def __exit__(self, *e): pass
        def __neg__(self): return self
        def __iadd__(self, other): return self
        def __contains__(self, x): return x is b
        def __bool__(self): return self is a
        __hash__ = object.__hash__
    a, b = A(), A()
    c = a
    c += b
    with a as d: pass
    return a + b, a == a, a == b, list(a), [*a], a[b][0] is a, a[b][1], d is a, -a is a, c is a, b in a, bool(a), not b, {a: 1}[a], (a or 1) is a, (b and 1) is b


def row_contextlib(log):
    @contextlib.contextmanager
    def managed(x):
        log.append(f"enter {x}")
        try:
            yield x * 2
        except ValueError as error:
            log.append(f"caught {error}")
        finally:
            log.append(f"exit {x}")
    with managed(1) as y, managed(y) as z:
        log.append((y, z))
        raise ValueError("inside")
    with contextlib.suppress(KeyError), contextlib.ExitStack() as stack:
        stack.enter_context(managed(5))
        stack.callback(log.append, "callback")
        {}["k"]
    return log


def row_copies(log):
    c = Child(5)
    c.list = [1]
    d, e = copy.copy(c), copy.deepcopy(c)
    c.list[0] = 2
    return d.list, e.list, d.area(), pickle.loads(pickle.dumps(c)).area()
