"""Functions and classes inside of functions, decorators, contexts."""

import contextlib
import functools

import numpy as np

from tests.programs_as_they_stand.ways.record import W, way


@way
def functions_in_a_function():
    def f(x):
        buf = np.zeros(4)

        def put(k, v):
            buf[k] = v

        def get(k):
            return buf[k]

        def total():
            return sum(get(k) for k in range(4))

        for k in range(4):
            put(k, x**k)
        return total() + max(buf) + (buf > 0.5).sum() * x

    return f


@way
def a_variable_of_the_function_around():
    def f(x):
        u = np.zeros(4)
        n = 0

        def step():
            nonlocal u, n
            un = u.copy()
            u[1:] = un[:-1] + x
            n += 1
            u = u * 1.1
            return u

        for _ in range(3):
            step()
        return u.sum() * n

    return f


@way
def a_class_in_a_function():
    def f(x):
        class S:
            u = np.zeros(4)
            k = x

            def run(self):
                self.u[0] = self.k
                S.u[1] = x
                type(self).u[2] = x**2
                return self

            @classmethod
            def tot(cls):
                return cls.u.sum() if cls.u.max() > 0.1 else 0

            @staticmethod
            def st(a):
                a[3] = x
                return a

        s = S().run()
        S.st(S.u)
        return S.tot() + s.u[0]

    return f


@way
def a_decorator_with_a_buffer():
    def deco(g):
        buf = np.zeros(4)

        @functools.wraps(g)
        def w(x, *a):
            buf[:] = g(x, *a)
            return buf.sum() if buf.max() > 0 else 0

        return w

    @deco
    def f(x):
        return x * W

    return lambda x: f(x) * 2


@way
def partial_methods():
    class S:
        def __init__(s):
            s.u = np.zeros(4)

        def put(s, k, v):
            s.u[k] = v
            return s.u

        first = functools.partialmethod(put, 0)

    s = S()

    def f(x):
        s.first(x)
        s.put(1, x**2)
        P = functools.partial(s.put, 2)
        P(x**3)
        q = s.put
        q(3, x)
        return s.u @ W if s.u.max() > 0.1 else x

    return f


@way
def methods_in_a_dictionary():
    class S:
        def __init__(s):
            s.u = np.zeros(4)
            s.t = {"a": s.a, "b": lambda v: s.b(v)}

        def a(s, v):
            s.u[0] = v

        def b(s, v):
            s.u[1:] = v

    s = S()

    def f(x):
        s.t["a"](x)
        s.t["b"](x**2)
        for g in s.t.values():
            g(x)
        return s.u @ W if s.u.max() > 0.1 else x

    return f


@way
def writes_in_try_except_finally():
    a = np.ones(4)

    def f(x):
        try:
            a[0] = x
            a[10] = x
        except IndexError:
            a[1] = x**2
        else:
            a[2] = 5
        finally:
            a[3] = x
        return a @ W if a.max() > 0 else x

    return f


@way
def a_context_that_scales_and_restores():
    a = np.ones(4)

    @contextlib.contextmanager
    def scaled(s):
        a[:] *= s
        yield a
        a[:] /= s

    def f(x):
        with scaled(x) as b, contextlib.ExitStack() as st:
            st.callback(lambda: a.__setitem__(0, x**2))
            r = b.sum() + (b.max() if b.max() > 0.1 else 0)
        return r + a @ W

    return f


@way
def exec_and_eval():
    def f(x):
        ns = {"np": np, "x": x}
        exec("y=np.sin(x)*2", ns)
        return ns["y"] + eval("x**2", {"x": x})

    return f


@way
def star_args():
    def g(*a, **k):
        return sum(a) + sum(k.values())

    def f(x):
        a = np.zeros(3)
        a[0] = x
        a[1] = x**2
        return g(*a, **{"p": x, "q": a[1]})

    return f
