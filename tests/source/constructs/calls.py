# ruff: noqa
# fmt: off
"""Calls: how arguments arrive, decorators, what is called."""

import functools
import itertools
import operator
import pickle

import numpy as np

from tests.source.constructs.objects import Anything, Noisy, said


def _all_kinds(a, b=2, /, c=3, *d, e, f=6, **g):
    return a, b, c, d, e, f, g


def row_kinds_of_parameters(log):
    return _all_kinds(1, e=5), _all_kinds(*range(6), e=0, **{"a": 1, "x": 2}), _all_kinds(1, c=4, e=5, f=7, b=8)


def row_missing_argument(log):
    return _all_kinds(1)


def row_unexpected_argument(log):
    def f(a, b): return a
    return f(1, 2, c=3)


def row_too_many_arguments(log):
    return (lambda x, y=1: x)(1, 2, 3)


def row_positional_only_by_name(log):
    def f(a, /): return a
    return f(a=1)


def row_argument_twice(log):
    return _all_kinds(1, 2, 3, c=4, e=5)


def row_order_of_arguments(log):
    f = Noisy(log, "f")
    return repr(f(said(log, 1), *said(log, (2, 3)), k=said(log, 4), **said(log, {"m": 5}))), log


def row_order_of_callee_and_arguments(log):
    try:
        unknown_function(said(log, 1))
    except NameError as error:
        log.append(str(error))
    (log.append("callee") or print)(said(log, "argument"))
    [].append(said(log, 3))
    said(log, {}).get(said(log, 1), said(log, 2))


def row_not_callable(log):
    x = 3
    return x(said(log, 1))


def row_attribute_not_there(log):
    return [].no_such_method(said(log, 1))


def row_method_of_none(log):
    x = None
    return x.method()


def _wrapping(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return "wrapped", function(*args, **kwargs)
    return wrapper


def _with_arguments(log, name):
    log.append(f"made {name}")
    def decorate(function):
        log.append(f"applied {name} to {function.__name__}")
        @functools.wraps(function)
        def wrapper(*args):
            log.append(f"called {name}")
            return function(*args)
        return wrapper
    return decorate


@_wrapping
def _decorated(x):
    """Doc."""
    return x + 1


class _Counting:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function, self.calls = function, 0
    def __call__(self, *args):
        self.calls += 1
        return self.function(*args), self.calls
    def __get__(self, thing, kind=None):
        return functools.partial(self, thing)


def row_decorators(log):
    return _decorated(1), _decorated.__name__, _decorated.__doc__, _decorated.__wrapped__(1)


def row_decorators_are_stacked(log):
    @_with_arguments(log, "outer")
    @_with_arguments(log, "inner")
    def f(x):
        return x
    return f(1), f.__name__, f.__wrapped__.__name__


def row_class_as_decorator(log):
    @_Counting
    def f(x): return x
    class A:
        @_Counting
        def g(self, x): return self is a, x
    a = A()
    return f(1), f(2), f.calls, a.g(1), a.g(2)


def row_decorator_that_returns_no_function(log):
    @lambda f: f.__name__
    def name(): pass
    @[len, repr][1].__call__
    def text(): pass
    return name, text.startswith("<function")


def row_recursion(log):
    def fact(n): return 1 if n < 2 else n * fact(n - 1)
    def even(n): return n == 0 or odd(n - 1)
    def odd(n): return n != 0 and even(n - 1)
    return fact(20), even(30), (lambda f: f(f, 5))(lambda f, n: n and n + f(f, n - 1))


def _deep(n, log):
    log[0] = n
    return _deep(n + 1, log)


def row_recursion_without_end(log):
    log.append(0)
    try:
        _deep(0, log)
    except RecursionError:
        log.clear()
        return "recursion"


def row_partial(log):
    def f(a, b, c=3): return a, b, c
    p = functools.partial(f, 1)
    q = functools.partial(p, c=5)
    return p(2), q(2), p.func is f, q.args, functools.partial(max, key=len)(["a", "bb"])


def row_partial_is_pickled(log):
    p = pickle.loads(pickle.dumps(functools.partial(_decorated, 1)))
    return p(), pickle.loads(pickle.dumps(_all_kinds)) is _all_kinds, pickle.loads(pickle.dumps([_decorated]))[0] is _decorated


def row_functions_of_functions(log):
    def key(x): log.append(x); return -x
    return (
        sorted([3, 1, 2], key=key), min([1, 2], key=key), max(1, 2, key=key), list(map(key, [1], )),
        list(map(lambda a, b: a + b, [1, 2], [3, 4])), list(filter(None, [0, 1])), list(filter(lambda x: x > 1, [1, 2])),
        functools.reduce(lambda a, b: a * 10 + b, [1, 2, 3]), list(itertools.accumulate([1, 2, 3], lambda a, b: a * b)),
        list(itertools.starmap(pow, [(2, 3)])), sorted("bA", key=str.lower), [3, 1, 2].sort(key=lambda x: -x),
    )


def row_iterators_are_lazy(log):
    m = map(lambda x: log.append(x) or x, [1, 2, 3])
    log.append("made")
    return next(m), list(log), type(m).__name__, type(filter(None, [])).__name__


def row_lru_cache(log):
    @functools.lru_cache(maxsize=None)
    def f(x):
        log.append(x)
        return x * 2
    return f(1), f(1), f(2), f.cache_info()[:2], f.__wrapped__(1), log


def row_singledispatch(log):
    @functools.singledispatch
    def f(x): return "object"
    @f.register
    def _(x: int): return "int"
    @f.register(list)
    def _(x): return "list", f(x[0])
    return f(1.5), f(1), f([1]), f.dispatch(bool)(True)


def row_total_ordering(log):
    @functools.total_ordering
    class A:
        def __init__(self, x): self.x = x
        def __eq__(self, other): return self.x == other.x
        def __lt__(self, other): return self.x < other.x
    return A(1) < A(2), A(1) >= A(2), sorted([A(2), A(1)], key=lambda a: a.x)[0].x, max(A(1), A(3)).x


def row_callable_objects(log):
    class Adder:
        def __init__(self, n): self.n = n
        def __call__(self, x, *rest, **named): return self.n + x, rest, named
    a = Adder(5)
    a.__call__ = lambda x: "never"
    return a(1), a(1, 2, k=3), Adder(1)(2), [Adder(k) for k in range(2)][1](1), list(map(a, [1, 2]))


def row_callable_object_with_its_own_equality(log):
    class Odd:
        def __eq__(self, other):
            log.append("eq")
            raise ValueError("never compared")
        def __hash__(self):
            log.append("hash")
            return hash(len)
        def __call__(self): return "called"
    return Odd()(), log


def row_unhashable_callables(log):
    class Unhashable:
        __hash__ = None
        def __eq__(self, other): return np.array([True, False])
        def __call__(self, x): return x
        def method(self, x): return x
    u = Unhashable()
    return u(1), u.method(2), functools.partial(u, 3)(), list(map(u, [4])), [].__len__(), {}.get(1, 2)


def row_equality_that_is_an_array(log):
    class A:
        def __init__(self): self.x = np.array([1.0, 2.0])
        def __eq__(self, other): return self.x == other
        __hash__ = object.__hash__
        def __call__(self): return self.x
    a = A()
    a.other = a
    box = [a]
    box[0] = a
    return (a == 1.0).tolist(), a()[0], a.other is a, box[0] is a


def row_objects_with_every_attribute(log):
    a = Anything()
    a.x = a
    box = {"a": a}
    box["b"] = a
    listed = [a]
    listed.append(a)
    return (repr(a(1)) if callable(a) else "no", isinstance(a, np.ndarray), isinstance(a, float), isinstance(a, Anything),
            len(box), len(listed), "%s" % a, repr(a.x), f"{a!r}", repr(a.b.c))


def row_mock(log):
    from unittest.mock import MagicMock, Mock
    m = MagicMock(return_value=3)
    m.attribute = 4
    m[0] = 5
    n = Mock()
    n.method.return_value = 7
    return m(1, k=2), m.call_args, m.attribute, m.__setitem__.call_args, n.method(1), n.method.mock_calls, isinstance(n, float)


def row_builtin_methods(log):
    d, s, x = {"a": 1}, {1, 2}, [3, 1]
    d.update(container=1, b=2); d.update([("c", 3)]); d.setdefault("d", []).append(4)
    s.add(3); s.update([4], [5])
    x.append(2); x.extend([5, 6]); x.insert(0, 9); x.sort(); x.reverse(); x.pop(); x.remove(9)
    return d, sorted(s), x, d.pop("a"), "a,b".split(","), "x".join(["1", "2"]), (1).bit_length(), str.upper("a")


def row_wrong_builtin_method(log):
    return [].append(1, 2)


def row_wrong_keyword_of_builtin_method(log):
    return {}.setdefault(key=1)


def row_wrong_isinstance(log):
    return isinstance(1, "int")


def row_isinstance(log):
    class Meta(type):
        def __instancecheck__(cls, x): log.append(f"check {x}"); return x == 3
    class A(metaclass=Meta): pass
    return isinstance(3, A), isinstance(4, A), isinstance(1, int | str), isinstance(True, (str, (int, float))), issubclass(bool, int)


def row_conversions(log):
    class A:
        def __int__(self): return 7
        def __float__(self): return 2.5
        def __complex__(self): return 1j
        def __index__(self): return 3
        def __str__(self): return "text"
        def __bytes__(self): return b"bytes"
        def __round__(self, n=None): return "round", n
        def __abs__(self): return "abs"
        def __len__(self): return 5
        def __reversed__(self): return "reversed"
        def __divmod__(self, x): return "divmod", x
    a = A()
    return (int(a), float(a), complex(a), hex(a), str(a), bytes(a), round(a), round(a, 2), abs(a), len(a), reversed(a),
            divmod(a, 2), int("12", base=3), int(3.7), float("1.5"), complex("1+2j"), complex(1, imag=2), bool(a), [1, 2, 3][a:],
            f"{a}", range(5)[a])


def row_wrong_int(log):
    return int("x")


def row_wrong_float(log):
    return float([])


def row_iteration(log):
    class Up:
        def __init__(self, n): self.n, self.k = n, 0
        def __iter__(self): log.append("iter"); return self
        def __next__(self):
            self.k += 1
            if self.k > self.n:
                raise StopIteration("over")
            return self.k
    u = Up(2)
    return list(Up(3)), [x for x in Up(2)], sum(Up(3)), next(u), next(u), next(u, "end"), tuple(zip(Up(2), Up(3))), max(Up(4)), iter(u) is u


def row_old_iteration_by_items(log):
    class Items:
        def __getitem__(self, k):
            if k > 2: raise IndexError(k)
            return k * 2
        def __contains__(self, x): return x == "in"
    return list(Items()), [x for x in Items()], "in" in Items(), 2 in Items(), next(iter(Items()))


def row_iter_with_sentinel(log):
    values = iter([1, 2, 3, 0, 4])
    return list(iter(lambda: next(values), 0))


def row_operators_module(log):
    return operator.add(1, 2), operator.itemgetter(1)([4, 5]), operator.attrgetter("real")(3), operator.methodcaller("upper")("a")


def row_numpy_functions(log):
    a = np.arange(6.0).reshape(2, 3)
    b = np.zeros_like(a)
    np.add(a, 1.0, out=b)
    np.copyto(b[0], 7.0)
    c = np.array([[1, 2], [3, 4]]) @ np.eye(2)
    b.fill(2.0); b[0].put([0, 1], [9.0, 8.0])
    return (a.sum(), b, c, np.vectorize(lambda x, y: x * y)(a, b), np.apply_along_axis(lambda r: r.max(), 1, a), np.float64(3) / 2,
            np.fromiter((k for k in range(3)), float), np.r_[1, a[0]], np.c_[a[0], a[1]], np.isscalar(3), np.stack([a, b]).shape,
            [(k, v) for k, v in np.ndenumerate(a[0])], np.fromfunction(lambda i, j: i + j, (2, 2)), a.dot(a.T), a.clip(1, 3))


def row_numpy_errors_name_what_they_did(log):
    return np.zeros(3) + np.zeros(4)


def row_wrong_index(log):
    a = np.zeros(3)
    a[0] = 1.0
    a[7] = 2.0


def row_wrong_shape(log):
    a = np.zeros(3)
    a[:] = np.ones(2)


def row_read_only_array(log):
    a = np.zeros(3)
    a.flags.writeable = False
    a[0] = 1.0
