"""Who computes a function in JAX: a rule author, one of the families here, or JAX itself under the same name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy import special

from bridge.code_position import frames
from bridge.rulebook.book import LOWERINGS, REFUSED, STAND_INS, read_book
from bridge.rulebook.facts import facts_of
from bridge.signatures import operation_name


@dataclass(frozen=True)
class Lowering:
    """What computes a function in JAX, and how it is called.

    Parameters
    ----------
    run : the function in JAX, with NumPy's parameters.
    foreign : it is JAX's own, which may lack some of them.
    direct : of real numbers it is one operation of XLA (`elementwise.direct`).
    raw : it takes a call as it is, lists and all.
    keeps_integers : a Python integer as its last operand stays one, beside complex numbers also a Python float.
    in_complex : it needs a complex argument where NumPy's result may be real or complex.
    gauge : `gauge(found, out)` turns what it found, where that is defined up to phases, into NumPy's choice.
    """

    run: Callable[..., Any]
    foreign: bool = False
    direct: bool = False
    raw: bool = False
    keeps_integers: bool = False
    in_complex: bool = False
    gauge: Callable[[Any, Any], Any] | None = None


ENTRIES: dict[str, Lowering] = {}
UFUNC_METHODS: dict[str, Callable[..., Any]] = {}
"""`reduce` and its kin, as functions of the ufunc and of the method's arguments."""


def entry(*names: str, **how: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make the decorated function the lowering of the functions that messages call by these names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        ENTRIES.update(dict.fromkeys(names, Lowering(function, **how)))
        return function

    return register


def lowering_of(function: Any) -> Lowering | None:
    """The lowering of a function, a ufunc or a bound method of a ufunc; None if there is none."""
    read_book()
    own = LOWERINGS.get(function)
    if own is not None:
        return Lowering(own)
    ufunc = getattr(function, "__self__", None)
    if isinstance(ufunc, np.ufunc):
        method = UFUNC_METHODS.get(function.__name__)
        return None if method is None or lowering_of(ufunc) is None else Lowering(partial(method, ufunc), raw=True)
    if function in REFUSED or facts_of(function).describes:
        return None
    name = operation_name(function)
    return ENTRIES.get(name) or _of_jax(name)


def called(name: str) -> str:
    """A name for a message: in the place of a part of the rule book, what the program called that consists of it."""
    if not name.startswith("bridge.rules."):
        return name
    made_by: dict[Any, list[Any]] = {}
    for key, computes in STAND_INS.items():
        made_by.setdefault(getattr(inspect.unwrap(computes), "__code__", None), []).append(key)
    for frame in frames():
        found = made_by.get(frame.f_code, ())
        if len(found) == 1:
            return _public(found[0])
    module = name.rpartition(".")[0]
    return " or ".join(sorted({_public(key) for key, made in STAND_INS.items() if made.__module__ == module})) or name


def _public(function: Any) -> str:
    """The name of a library's function without the modules that its library keeps to itself."""
    return ".".join(part for part in operation_name(function).split(".") if not part.startswith("_"))


@cache
def _of_jax(name: str) -> Lowering | None:
    first, *path = name.split(".")
    if name.startswith("scipy.special."):
        found: Any = getattr(special, path[-1].strip("_"), None)
    elif first == "np":
        found = jnp
        for part in path:
            found = getattr(found, part, None)
    else:
        return None
    return Lowering(found, foreign=True) if callable(found) and not isinstance(found, type) else None
