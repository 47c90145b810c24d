# ruff: noqa
# fmt: off
"""Variables: of the function, of functions around it, global ones, built-in ones."""

import functools
import numpy as np

counter = 0
state = {"n": 0}
table = [1, 2, 3]
array = np.arange(3.0)
hidden_by_comprehension = np.arange(4.0)


def row_late_binding(log):
    return [f() for f in [lambda: k for k in range(3)]], [f() for f in [lambda k=k: k for k in range(3)]]


def row_cell_is_shared(log):
    n = 0
    def up():
        nonlocal n
        n += 1
        return n
    def look():
        return n
    up(); up()
    n += 10
    return n, look(), up(), n, up.__closure__[0] is look.__closure__[0], look.__closure__[0].cell_contents


def row_cell_shared_with_a_function_that_outlives(log):
    made = []
    for k in range(3):
        def add(by, k=k):
            nonlocal total
            total += by * k
            return total
        made.append(add)
    total = 0
    return [f(2) for f in made], total


def row_cell_without_a_value(log):
    def look():
        return late
    try:
        look()
    except NameError as error:
        log.append(str(error))
    late = 1
    value = look()
    del late
    try:
        look()
    except NameError as error:
        log.append(str(error))
    return value


def row_three_levels(log):
    x = 1
    def one():
        y = x + 1
        def two():
            nonlocal y
            z = x + y
            y = z
            def three():
                nonlocal x, y
                x, y = y, x
                return x, y, z
            return three(), x, y
        return two(), y
    return one(), x


def row_global_is_rebound(log):
    global counter
    counter = 0
    def up():
        global counter
        counter += 1
    for _ in range(3):
        up()
    counter = counter * 10
    return counter, globals()["counter"]


def row_global_made_and_deleted(log):
    global made_here
    made_here = 5
    seen = globals()["made_here"], made_here
    del made_here
    try:
        made_here
    except NameError as error:
        return seen, str(error)


def row_globals_are_the_module(log):
    import sys
    return globals() is vars(sys.modules[__name__])


def row_global_targets_of_every_kind(log):
    global counter, first, rest
    for counter in range(3):
        pass
    first, *rest = 1, 2, 3
    counter, first = first, counter
    import math as rest
    with functools.suppress_nothing() if hasattr(functools, "suppress_nothing") else _nothing() as first:
        pass
    counter = first = 7
    return counter, first, rest.__name__


class _nothing:
    def __enter__(self): return "entered"
    def __exit__(self, *a): return False


def row_function_replaced_while_it_runs(log):
    def old(): return "old"
    global replaced
    replaced = old
    found = [replaced()]
    replaced = lambda: "new"
    found.append(replaced())
    del replaced
    return found


def row_global_containers(log):
    state["n"] = 0
    state["n"] += 1
    table[0] = 5
    table.append(4)
    table[1:2] = [7, 8]
    found = dict(state), list(table)
    table[:] = [1, 2, 3]
    return found


def row_global_array(log):
    array[:] = 0.0
    array[0] = 5.0
    array[1:] += 2.0
    view = array[::2]
    view *= 3.0
    return array.copy(), np.sum(array), view.base is array


def row_comprehension_hides_a_global(log):
    found = [hidden_by_comprehension for hidden_by_comprehension in range(2)]
    return found, hidden_by_comprehension.sum(), [hidden_by_comprehension * k for k in range(2)]


def row_shadowed_builtins(log, len=3, print=4):
    type, float, sum, range, isinstance, int = 1, 2, 3, 4, 5, 6
    def max(x): return -x
    np = "numpy"
    return len, print, type, float, sum, range, isinstance, int, max(3), np, [list for list in (1, 2)]


def row_shadowed_builtin_that_is_called(log):
    def isinstance(*a): return "mine"
    def sorted(x, key): return "mine", key
    def locals(): return "mine"
    vars = dir = locals
    return isinstance(1, int), sorted([1], key=len), locals(), vars(), dir()


def row_parameter_called_self(log):
    def norm(self, cls):
        self[0] = 4.0
        self += 1.0
        return self.sum() + cls.sum(), self is given
    given = np.zeros(3)
    return norm(given, np.ones(2)), given


def row_unbound_local(log):
    def early():
        try:
            x += 1
        except UnboundLocalError as error:
            log.append(str(error))
        try:
            y[0] = 1
        except UnboundLocalError as error:
            log.append(str(error))
        try:
            print(x)
        finally:
            x = y = 1
    return early()


def row_names_deleted(log):
    x, y = [1], 2
    del x[0], y
    try:
        y
    except NameError as error:
        log.append(str(error))
    del x
    try:
        x[0] = 3
    except NameError as error:
        log.append(str(error))
    for k in range(2):
        pass
    del k
    return sorted(locals())


def row_handler_forgets_its_name(log):
    error = 1
    try:
        1 / 0
    except ZeroDivisionError as error:
        pass
    return "error" in locals()


def row_class_body_scope(log):
    x = "outer"
    class A:
        y = x
        x = "inner"
        z = x
        def f(self): return x
        w = [x for _ in range(2)]
    return A.x, A.y, A.z, A().f(), A.w


def row_names_of_annotations(log):
    T, U = int, float
    def inner(x):
        x.a: T = 1
        y: U = 2
        x.d = {}
        x.d["k"]: T = 3
        return x.a, y, x.d
    class A: pass
    return inner(A()), inner.__code__.co_freevars


def row_class_cell(log):
    n = 1
    class A:
        nonlocal n
        n = 2
        k = n
    return n, A.k, hasattr(A, "n")


def row_mutable_default(log):
    def f(x, seen=[]):
        seen.append(x)
        return seen
    return f(1), f(2), f(3) is f.__defaults__[0], f.__defaults__


def _keeps(x, seen=[], *, named={}):
    seen.append(x)
    named[x] = len(seen)
    return seen, named


def row_mutable_default_of_a_module(log):
    _keeps.__defaults__[0].clear(); _keeps.__kwdefaults__["named"].clear()
    found = _keeps(1)
    again = _keeps(2)
    return found, again[0] is found[0] is _keeps.__defaults__[0], again[1] is _keeps.__kwdefaults__["named"]


def _counts():
    _counts.calls += 1
    return _counts.calls


def row_attributes_of_a_function(log):
    _counts.calls = 0
    _counts(); _counts()
    return _counts(), _counts.calls


def row_defaults_are_evaluated_once(log):
    def f(a=log.append("a"), *, b=log.append("b")): return a, b
    f(); f()
    return list(log)


def row_defaults_changed_later(log):
    def f(a=1, *, b=2): return a, b
    before = f()
    f.__defaults__, f.__kwdefaults__ = (3,), {"b": 4}
    return before, f()


def row_star_import_of_names(log):
    from math import pi, sqrt as root
    import os.path, os.path as path
    return pi, root(4.0), os.path is path


def row_exec_and_eval(log):
    x = 3
    found = eval("x + 1"), eval("x + k", {"k": 1, "x": 5}), eval("[x for _ in range(2)]", {"x": x})
    scope = {}
    exec("def f(y): return y * 2", scope)
    exec("z = 1")
    return found, scope["f"](4), "z" in vars()


def row_locals(log):
    a, b = 1, [2]
    b[0] = len(locals())
    b[len(locals()) - 2] += len(locals())
    x = locals()
    names = sorted(x)
    for b[0] in range(1):
        log.append(sorted(locals()))
        log.append(sorted(dir()))
        log.append(sorted(vars()))
    return names, b


def row_locals_after_a_failed_store(log):
    a = ()
    try:
        a[0] = 1
    except TypeError:
        pass
    return sorted(locals())
