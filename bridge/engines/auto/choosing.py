"""The engine "auto": a function that is called eagerly, and compiled for the signatures of which that pays.

The steps of one signature, of which each is taken in a call that has an eager result already, and so cannot lose
anything: it is traced; it is compiled, and its result compared with the eager one; it is compared once more, with what
eager calls leave behind, and timed. From then on calls are compiled. Whatever goes wrong, the signature stays eager.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Hashable
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from bridge.engines.auto.account import TIMES_TRACING, Account, Changed
from bridge.engines.eager import Eager
from bridge.engines.protocol import Compiler, Settings, is_same_value
from bridge.rewind.interpreter import current_context
from bridge.source.staging import effects
from bridge.transforms.transformed import Made
from bridge.trees import leaves_of, rebuilt

SHORT = 0.1
"""Seconds of all calls up to which nothing is looked at: JAX is not imported for less."""

_MANY = 256
"""Signatures of which accounts are kept."""

_LOG = logging.getLogger("bridge.auto")
_NUMBERS = (bool, int, float, complex, str, bytes, type(None), np.generic, np.ndarray)


class Choosing(Made):
    """A function that runs eagerly or compiled, whichever is known to be faster and right.

    Parameters
    ----------
    function : what runs eagerly: a transform of the user's program, with the engine "eager".
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__name__ = type(function).__name__
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self._spent = 0.0
        self._has_run = False
        self._accounts: dict[Any, Account] = {}
        self._compiled: Any = None
        self._lock = threading.RLock()
        self._is_there = find_spec("jax") is not None

    def recipe(self, function: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (function,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._is_there or current_context() is not None:
            return self.function(*args, **kwargs)
        if self._spent < SHORT:
            return self._unnoted(args, kwargs)
        account = self._account(args, kwargs)
        if account is None or account.state == "stays eager":
            return self.function(*args, **kwargs)
        if account.state == "trusted":
            return self._trusting(account, args, kwargs)
        if not account.is_due or not self._lock.acquire(blocking=False):
            return self._timed(account, args, kwargs)
        try:
            return self._next_step(account, args, kwargs)
        finally:
            self._lock.release()

    def explain(self) -> str:
        """What runs compiled, what does not, and why: a line or two for each signature that was looked at."""
        lines = [f"  {account}" for account in self._accounts.values()]
        if not self._is_there:
            lines = ['  all calls are eager: JAX is not installed: pip install "mutation-bridge[jax]"']
        elif not lines:
            lines = [f"  all calls are eager: they have taken {self._spent:.2g} s, which is too little to compile for"]
        return "\n".join([f"{self.__name__}:", *lines])

    def _unnoted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An eager call of which the time alone is noted; but not of the first one, which reads rules and source."""
        start = time.perf_counter()
        result = self.function(*args, **kwargs)
        self._spent = self._spent + time.perf_counter() - start if self._has_run else 0.0
        self._has_run = True
        return result

    def _account(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Account | None:
        """The account of a call; None if such calls are no business of this."""
        signature = self._steady().key(args, kwargs)
        if signature is None:
            return None
        found = self._accounts.get(signature)
        if found is None:
            if len(self._accounts) >= _MANY:
                return None
            found = self._accounts[signature] = Account(_looks(args, kwargs))
        return found

    def _steady(self) -> Any:
        """The function compiled: one program for each signature."""
        from bridge.engines.auto.tracing import Steady

        if self._compiled is None:
            self._compiled = Steady(self.function)
        return self._compiled

    def _timed(self, account: Account, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An eager call."""
        start = time.perf_counter()
        result = self.function(*args, **kwargs)
        account.ran(time.perf_counter() - start)
        return result

    def _trusting(self, account: Account, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A compiled call; an eager one if it fails, which raises what the program raises."""
        try:
            return _of_kinds(self._compiled(*args, **kwargs), account.kinds)
        except Changed as change:
            account.changed(change.name)
            return self._timed(account, args, kwargs)
        except Exception as error:
            result = self.function(*args, **kwargs)
            account.failed(error)
            self._tell(account)
            return result

    def _next_step(self, account: Account, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An eager call, and after it one step more towards a compiled one."""
        # What the program changes when it runs, a compiled one would not.
        reached = self._compiled.reached(args, kwargs)
        result = self._timed(account, args, kwargs)
        left = reached.changed()
        if left is not None:
            account.stays_eager(f"the program changes {left}; return it instead")
        else:
            try:
                with effects.watched() as watch:
                    self._step(account, args, kwargs, result)
                if watch.error is not None:
                    account.failed(watch.error)
            except Changed as change:
                account.changed(change.name)
            except Exception as error:
                account.failed(watch.error or error)
        if account.state in ("trusted", "stays eager"):
            self._tell(account)
        return result

    def _step(self, account: Account, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        start = time.perf_counter()
        if account.state == "eager":
            self._compiled.lower(*args, **kwargs)
            account.price = time.perf_counter() - start
            account.state, account.needed = "traced", max(account.needed, TIMES_TRACING * account.price)
            if not account.is_due:
                return
        found = self._compiled(*args, **kwargs)
        seconds = time.perf_counter() - start
        account.kinds = _kinds(result)
        differs = _difference(_of_kinds(found, account.kinds), result)
        if differs is not None:
            account.stays_eager(differs)
        elif account.state == "traced":
            account.price = max(account.price, seconds)
            account.state, account.needed = "compiled", 0.0
        elif seconds > account.fastest:
            account.stays_eager(f"a compiled call takes {seconds:.2g} s, an eager one {account.fastest:.2g} s")
        else:
            account.state, account.compiled = "trusted", seconds

    def _tell(self, account: Account) -> None:
        _LOG.info("%s: %s", self.__name__, account)


def _kinds(result: Any) -> tuple[type | None, ...]:
    """Where a result has floats and complex numbers of Python's; empty if it has none."""
    kinds = tuple(type(leaf) if type(leaf) in (float, complex) else None for leaf in leaves_of(result)[0])
    return kinds if any(kinds) else ()


def _of_kinds(result: Any, kinds: tuple[type | None, ...]) -> Any:
    """A compiled result with Python's numbers where eagerly there are such."""
    if not kinds:
        return result
    leaves, structure = leaves_of(result)
    if len(leaves) != len(kinds):
        return result
    made = [
        kind(leaf) if kind is not None and isinstance(leaf, np.inexact) and isinstance(leaf, kind) else leaf
        for leaf, kind in zip(leaves, kinds, strict=True)
    ]
    return rebuilt(structure, made)


def _difference(found: Any, expected: Any) -> str | None:
    """How a compiled result is not the eager one, but for rounding; None if it is."""
    (leaves, structure), (others, wanted) = leaves_of(found), leaves_of(expected)
    if structure != wanted or len(leaves) != len(others):
        return f"compiled it returns {structure}, and eagerly {wanted}"
    for one, other in zip(leaves, others, strict=True):
        if not isinstance(other, _NUMBERS):
            return f"it returns a {type(other).__name__}, which is neither an array nor a number"
        if type(one) is not type(other) or getattr(one, "dtype", None) != getattr(other, "dtype", None):
            return f"compiled it returns a {type(one).__name__} where eagerly it returns a {type(other).__name__}"
        is_number = isinstance(other, (float, complex, np.inexact)) or _kind(other) in "fc"
        same = is_same_value(one, other) if is_number else _is_equal(one, other)
        if not same:
            return f"its compiled result differs from the eager one by more than rounding: {one!r:.80}, {other!r:.80}"
    return None


def _is_equal(one: Any, other: Any) -> bool:
    return np.shape(one) == np.shape(other) and bool(np.all(one == other))


def _kind(value: Any) -> str:
    return value.dtype.kind if hasattr(value, "dtype") else "?"


def _looks(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Arguments as a report names them."""
    named = [*map(_look, args), *(f"{name}={_look(value)}" for name, value in kwargs.items())]
    return f"({', '.join(named)})"


def _look(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, (float, complex, np.inexact)):
        return type(value).__name__
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} of {len(value)}"
    return f"{value!r:.40}" if isinstance(value, (bool, int, str, type(None))) else type(value).__name__


class Auto(Eager, Compiler):
    """Compiles what is called often enough and can be compiled, and leaves the rest to the engine "eager".

    It needs nothing: without JAX everything is eager. `vjp` is eager always, whose pull keeps what it needs.
    """

    name = "auto"
    has_settings = compiles_pulls = compared = False

    def compiled(self, function: Callable[..., Any], settings: Settings) -> Any:
        """A function, transforms in it included, which chooses for each signature how it is run."""
        return Choosing(function)

    def kept(
        self, make: Callable[..., Callable[..., Any]], f: Callable[..., Any], settings: Settings, *options: Hashable
    ) -> Any:
        """The same of `make(f, *options)`, with what is known of it from calls before."""
        try:
            hash(f)
        except TypeError:
            return make(f, *options)
        return _kept(make, f, options)


@lru_cache(maxsize=256)
def _kept(make: Callable[..., Any], f: Callable[..., Any], options: tuple[Hashable, ...]) -> Any:
    made = Choosing(make(f, *options))
    made.__name__ = f"{make.__name__.strip('_')}({getattr(f, '__name__', type(f).__name__)})"
    return made


ENGINE = Auto()
