# ruff: noqa
# fmt: off
"""Programs that look at themselves: frames, sources, lines, warnings, logging, tracing, debuggers."""

import bdb
import inspect
import io
import linecache
import logging
import sys
import threading
import traceback
import typing
import warnings

import numpy as np


def _line(): return sys._getframe(1).f_lineno


def row_frames(log):
    frame = sys._getframe()
    def inner(): return sys._getframe(1) is frame, sys._getframe(1).f_code.co_name, _line()
    x = inner()
    return x, inspect.currentframe() is frame, frame.f_lineno, _line(), frame.f_code.co_name, frame.f_globals is globals(), inspect.currentframe().f_back is not None


def row_frames_of_methods(log):
    class A:
        def __init__(self): self.made = _line(), sys._getframe(0).f_code.co_name
        def f(self): return _line(), sys._getframe(1).f_code.co_name
        def __call__(self): return _line(), sys._getframe(1).f_code.co_name
        @property
        def p(self): return sys._getframe(1).f_code.co_name, sys._getframe(1).f_lineno
    a = A()
    return (a.made, a.f(),
            a(), a.p,
            a
            .f())


def row_property_of_a_module(log):
    w = _Watched()
    return (w.caller_line,
            w.caller_line)


class _Watched:
    @property
    def caller_line(self): return sys._getframe(1).f_lineno, sys._getframe(1).f_code.co_name


def row_stack(log):
    def f(): return [(s.lineno, s.function, s.code_context) for s in inspect.stack() if s.filename == __file__ and s.function != "outcome"]
    return f()[:2]


def row_sources(log):
    def inner(x):
        # A remark.
        return x
    f = lambda x: x + 1
    class A:
        def m(self): pass
    return (inspect.getsource(inner), inspect.getsource(f), inspect.getsource(A.m), inspect.getsource(row_sources)[:20], inspect.getsourcelines(inner)[1],
            inspect.getsource(sys._getframe())[:15], inner.__code__.co_firstlineno, inner.__code__.co_filename == __file__)


def row_signatures(log):
    def f(a: int, /, b: "text" = 2, *c, d: float = 3.0, **e) -> list:
        """Does nothing."""
        x: unknown = 1
    return (str(inspect.signature(f)), f.__annotations__, f.__doc__, f.__name__, f.__qualname__, f.__module__, f.__defaults__, f.__kwdefaults__,
            inspect.getfullargspec(f).args, typing.get_type_hints(row_signatures), f.__code__.co_varnames[:5], f.__code__.co_argcount, f.__code__.co_freevars)


def row_docstrings(log):
    def with_one():
        """One."""
    def without():
        x = [0]
        x[0] = 1
    def text_later():
        x = 1
        """Not one."""
    class A:
        """Of A."""
        def m(self):
            "Of m."
    def formatted():
        f"""{1}"""
    return with_one.__doc__, without.__doc__, text_later.__doc__, A.__doc__, A.m.__doc__, formatted.__doc__, (lambda: "text").__doc__, sys._getframe().f_code.co_consts[0]


def row_warnings(log):
    def old(level):
        warnings.warn("old", DeprecationWarning, stacklevel=level)
    class A:
        def __init__(self): warnings.warn("class", UserWarning, stacklevel=2)
        @property
        def p(self): warnings.warn("property", UserWarning, stacklevel=2)
        def __add__(self, other): warnings.warn("operator", UserWarning, stacklevel=2)
        def __getitem__(self, k): warnings.warn("item", UserWarning, stacklevel=2)
        def __call__(self): warnings.warn("call", UserWarning, stacklevel=2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        old(1)
        old(2)
        a = A()
        a.p
        a + 1
        a[0]
        a()
        _Warns().p
        [old(2) for _ in range(1)]
    return [(w.lineno, str(w.message), w.category.__name__, w.filename == __file__) for w in seen]


class _Warns:
    @property
    def p(self): warnings.warn("property", UserWarning, stacklevel=2)


def row_warning_as_an_error(log):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.warn("raised")


def row_logging(log):
    class Keep(logging.Handler):
        def emit(self, record):
            log.append((record.getMessage(), record.lineno, record.funcName, record.filename))
    logger = logging.getLogger("tests.source.constructs")
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    handler = Keep()
    logger.addHandler(handler)
    try:
        logger.info("one %d", 1)
        logger.warning("two %s", np.zeros(2))
        def f(): logger.debug("inner")
        f()
        try:
            1 / 0
        except ZeroDivisionError:
            logger.exception("failed")
        def helper(): logger.error("above", stacklevel=2)
        helper()
        logger.log(logging.INFO,
                   "many lines")
    finally:
        logger.removeHandler(handler)
    return log


def row_trace_of_a_loop(log):
    def body(n):
        x = [0, 0]
        t = {}
        for k in range(n):
            x[0] += k
            x[1] = (
                k
                + 1
            )
            t["a"], t["b"] = (
                k, 2
            )
            if k % 2:
                continue
            t.update(
                c=k,
            )
        else:
            x = [v for v in x]
        return x
    return _traced(body, 3)


def row_lines_of_a_chain_of_methods(log):
    def body(x):
        (x
         .append(
             1))
        return x
    # The lines that run: where the callee is asked for, a line may begin twice.
    return {event for event in _traced(body, [])}


def row_trace_of_everything(log):
    def body():
        class A:
            def __init__(self, x):
                self.x = x
        a = A(1)
        a.x += 1
        with A.__new__(A).__class__.__mro__ and _Manager() as a.y:
            try:
                raise ValueError
            except ValueError as e:
                pass
            finally:
                a.z = 1
        for a.x in [
            1,
            2,
        ]:
            while a.x < 2:
                a.x += 1
        del a.x, a.y
        f = lambda: (
            a.z
        )
        match a.z:
            case 2: pass
            case 1 if f():
                a.q = f"{a.z}"
        assert a.q, (
            "never")
        x, (a.k,
            a.l) = 1, (
                2, 3)
        y = a.k if (
            a.l) else 2
        print(y,
              file=open_nothing())
        return a.q
    return _traced(body)


def open_nothing():
    return io.StringIO()


class _Manager:
    def __enter__(self): return 1
    def __exit__(self, *e): return False


def _traced(function, *args):
    """Line, call, return and exception events in this file, as coverage sees them."""
    events = []
    def trace(frame, event, arg):
        if frame.f_code.co_filename != __file__ or frame.f_code is _traced.__code__:
            return None
        events.append((event, frame.f_code.co_name, frame.f_lineno))
        return trace
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*args)
    finally:
        sys.settrace(before)
    return events


def row_profile(log):
    def a(): return b()
    def b(): return len([1])
    def profile(frame, event, arg):
        if frame.f_code.co_filename == __file__ and event in ("call", "return"):
            log.append((event, frame.f_code.co_name))
    before = sys.getprofile()
    sys.setprofile(profile)
    a()
    sys.setprofile(before)
    return log


class _Debugger(bdb.Bdb):
    """Stops at a line, looks at variables, takes steps to the next lines."""
    def __init__(self, log):
        super().__init__()
        self.log = log
    def user_line(self, frame):
        if frame.f_code.co_filename == self.canonic(__file__):
            self.log.append((frame.f_lineno, frame.f_code.co_name, {k: v for k, v in frame.f_locals.items() if k[0] != "."}))
        self.set_next(frame)


def row_breakpoint_by_line(log):
    def stops(n):
        x = [0]
        for k in range(n):
            x[0] += k
        x[0] = k
        return x
    debugger = _Debugger(log)
    first = stops.__code__.co_firstlineno
    debugger.set_break(__file__, first + 3)
    before = sys.gettrace()
    try:
        debugger.runcall(lambda: stops(2))
    finally:
        sys.settrace(before)
        debugger.clear_all_breaks()
    return [(line - first, name, repr(found)) for line, name, found in log if name == "stops"]


def row_condition_of_a_breakpoint(log):
    x = [1]
    x[0] += 1
    frame = sys._getframe()
    return eval("x[0] + 1", frame.f_globals, frame.f_locals)


def row_threads(log):
    found = []
    def work(k):
        x = [0]
        for i in range(50):
            x[0] += i
        found.append((k, x[0]))
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
    return sorted(found)


def row_names_of_modules(log):
    return __name__, __file__ == sys._getframe().f_code.co_filename, __doc__[:8], row_names_of_modules.__module__


def row_code_objects(log):
    def f(a, b): return a
    import types
    g = types.FunctionType(f.__code__, {"k": 1}, "g")
    h = types.FunctionType(f.__code__.replace(co_name="h"), globals())
    return g(1, 2), g.__name__, h(1, 2), f.__code__ is g.__code__, callable(f.__code__)
