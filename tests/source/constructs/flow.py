# ruff: noqa
# fmt: off
"""Exceptions, finally, with, returns."""

import sys
import traceback

from tests.source.constructs.objects import Noisy, said


def row_try(log):
    def f(x):
        try:
            log.append("try")
            if x == 0: return "returned"
            if x == 1: raise ValueError("v")
            if x == 2: raise KeyError("k")
            if x == 3: {}[x]
        except ValueError as e:
            log.append(repr(e))
        except (KeyError, TypeError):
            log.append("key")
            if x == 3: return "handler"
        except:
            log.append("never")
        else:
            log.append("else")
        finally:
            log.append("finally")
        return "end"
    return [f(k) for k in range(5)], log


def row_return_in_finally(log):
    def f():
        try:
            return said(log, 1)
        finally:
            return said(log, 2)
    def g():
        for k in range(3):
            try:
                raise ValueError
            finally:
                if k == 1: break
                continue
        return k
    def h():
        try:
            1 / 0
        finally:
            return "swallowed"
    def i(x):
        try:
            return x
        finally:
            x = 5
            log.append(x)
    return f(), g(), h(), i(1)


def row_bare_raise(log):
    def f():
        try:
            raise ValueError("first")
        except ValueError:
            try:
                raise KeyError("second")
            except KeyError:
                pass
            raise
    f()


def row_raise_without_one(log):
    raise


def row_chained(log):
    try:
        try:
            1 / 0
        except ZeroDivisionError as e:
            raise ValueError("from") from e
    except ValueError as e:
        try:
            raise KeyError("none") from None
        except KeyError as k:
            found = (type(e.__cause__).__name__, type(e.__context__).__name__, e.__suppress_context__,
                     type(k.__context__).__name__, k.__suppress_context__, k.__context__ is e)
    try:
        {}["a"]
    except KeyError as first:
        try:
            [].b
        except AttributeError as second:
            return found, second.__context__ is first, second.name, second.obj


def row_raise_with_context(log):
    try:
        [][1]
    except IndexError:
        {}["missing"]


def row_raise_from(log):
    try:
        [][1]
    except IndexError as e:
        raise RuntimeError("outer") from e


def row_raise_of_no_exception(log):
    raise 3


def row_exception_with_an_init(log):
    class Mine(Exception):
        def __init__(self, code, *rest):
            super().__init__(f"code {code}")
            self.code = code
        def __str__(self): return f"<{self.args[0]}>"
    try:
        raise Mine(5)
    except Mine as e:
        log.append((e.code, str(e), e.args))
    raise Mine(7, 8)


def row_groups(log):
    def f(*errors):
        try:
            if errors: raise ExceptionGroup("group", errors)
        except* ValueError as g:
            log.append(("value", [str(e) for e in g.exceptions]))
        except* (KeyError, TypeError) as g:
            log.append(("key", len(g.exceptions)))
        else:
            log.append("else")
        finally:
            log.append("finally")
    f()
    f(ValueError(1), KeyError(2), ValueError(3))
    f(ExceptionGroup("inner", [TypeError("t"), ValueError("v")]))
    try:
        f(OSError("o"), ValueError(1))
    except ExceptionGroup as g:
        log.append([repr(e) for e in g.exceptions])
    return log


def row_lines_of_a_traceback(log):
    def f(x):
        if x:
            return f(x - 1)
        return [k / x for k in (1,)]
    try:
        f(2)
    except ZeroDivisionError as e:
        trace = e.__traceback__
        lines = []
        while trace:
            if trace.tb_frame.f_code.co_filename == __file__:
                lines.append((trace.tb_lineno, trace.tb_frame.f_code.co_name))
            trace = trace.tb_next
        return lines


def row_printed_traceback(log):
    x = {"a": [1, 2]}
    try:
        x["a"][0] = x["a"][1] + x["b"]["c"]
    except KeyError:
        text = traceback.format_exc()
    try:
        x["a"].append(x["a"][5] / 2)
    except IndexError as e:
        text += "".join(traceback.format_exception(e))
    return text


def row_exc_info(log):
    try:
        1 / 0
    except ZeroDivisionError as e:
        return sys.exc_info()[1] is e, sys.exc_info()[2].tb_lineno, e.__traceback__.tb_frame is sys._getframe()


def row_with(log):
    with Noisy(log, "a") as a, Noisy(log, "b"):
        log.append(a.name)
    with Noisy(log, "suppresses", 1):
        raise ValueError
    def returns():
        with Noisy(log, "c"):
            return said(log, "value")
    def breaks():
        for k in range(3):
            with Noisy(log, k):
                if k == 1: break
        return k
    return returns(), breaks()


def row_with_that_raises(log):
    with Noisy(log, "a"), Noisy(log, "b"):
        1 / 0


def row_with_that_is_none(log):
    with 3:
        pass


def row_with_exit_that_raises(log):
    class A:
        def __enter__(self): return self
        def __exit__(self, *e): raise KeyError("exit")
    with A():
        raise ValueError("body")


def row_with_without_exit(log):
    class A:
        def __enter__(self): log.append("never")
    with A():
        pass


def row_enter_looked_up_on_the_class(log):
    class A:
        def __enter__(self): return "class"
        def __exit__(self, *e): pass
    a = A()
    a.__enter__ = lambda: "object"
    with a as x:
        return x


def row_stop_iteration_in_a_function(log):
    def f(): return next(iter([]))
    try:
        f()
    except StopIteration as e:
        return e.value


def row_system_exit(log):
    try:
        sys.exit(3)
    except SystemExit as e:
        return e.code


def row_nested_functions_that_raise(log):
    def a(): b()
    def b(): c()
    def c(): raise LookupError("deep")
    try:
        a()
    finally:
        log.append("finally")


def row_print(log):
    print("one", 2, sep="-", end="!\n")
    print(f"{3}", *[4, 5])
    print("text", file=sys.stdout, flush=True)
