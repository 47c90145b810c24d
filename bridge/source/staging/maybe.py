"""Attributes that a loop or a branch of a compiled program sets on some paths only.

Whether such an attribute is there is known when the program runs. Its value and that flag are kept together in its
place: a read is checked after the run, and `hasattr` gives the flag.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn, cast

import numpy as np
import optree

from bridge.arrays.tracked import is_tracked
from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.objects.levels import NAMESPACE
from bridge.rewind.interpreter import current_context
from bridge.source import callees
from bridge.source.nodes import PART
from bridge.source.staging.truth import is_true, unknown
from bridge.source.staging.watching import refuse
from bridge.state.slots import GONE, Attribute, state_of

_NOTHING = object()


class Maybe:
    """What an attribute holds that may be unset: its value, and whether it is set.

    `answers` says that the class has code which answers a read of the unset attribute (`__getattr__`, a property).
    """

    __slots__ = ("answers", "held", "is_set", "name")

    def __init__(self, name: str, held: Any, is_set: Any, answers: bool = False) -> None:
        self.name, self.held, self.is_set, self.answers = name, held, is_set, answers

    def read(self) -> Any:
        """The value; if the run finds the attribute unset, it raises AttributeError."""
        flag = self.known_if_set()
        if not unknown(flag):
            if is_true(flag):
                return self.held
            raise self._unset()
        trace = flag.place.context.home.trace
        if trace.tries:
            refuse(f"{self.name} may be unset, and the program may catch the AttributeError")
            raise self.refused("may be unset here, and the program may catch the AttributeError")
        trace.faults.check_raises(np.logical_not(flag), self._unset())
        return self.held

    def known_if_set(self) -> Any:
        """Whether it is set, which may be known only when the program runs."""
        if self.answers:
            raise self.refused("is computed by the class where it is unset, and whether it is depends on values")
        return self.is_set

    def refused(self, why: str) -> TraceError:
        return TraceError(
            f"{self.name} {why}",
            where=resolve(here()),
            remedy=f"set {self.name.rpartition('.')[2]} before the loop or the branch",
        )

    def _unset(self) -> AttributeError:
        kind, _, name = self.name.rpartition(".")
        return AttributeError(f"{kind!r} object has no attribute {name!r}")


def _reading(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args: function(self.read(), *args)


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self.read())


# fmt: off
_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
)
_OTHERS: dict[str, Callable[..., Any]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
    "neg": operator.neg, "pos": operator.pos, "abs": abs, "invert": operator.invert, "bool": bool, "len": len,
    "iter": iter, "getitem": operator.getitem, "setitem": operator.setitem, "contains": operator.contains,
    "int": int, "float": float, "complex": complex, "index": operator.index, "array": np.asarray,
    "array_ufunc": lambda value, ufunc, method, *args, **kwargs: NotImplemented,
}
# fmt: on
for _name in _BINARY:
    _function = getattr(operator, f"__{_name}__")
    setattr(Maybe, f"__{_name}__", _reading(_function))
    setattr(Maybe, f"__i{_name}__", _reading(getattr(operator, f"__i{_name}__")))
    setattr(Maybe, f"__r{_name}__", _reflected(_function))
for _name, _reader in _OTHERS.items():
    setattr(Maybe, f"__{_name}__", _reading(_reader))
Maybe.__hash__ = object.__hash__  # type: ignore[method-assign]


def _taken_apart(one: Any) -> tuple[tuple[Any, Any], tuple[str, bool]]:
    return (one.held, one.is_set), (one.name, one.answers)


def _put_together(kind: Any, parts: Any) -> Any:
    held, is_set = parts
    return Maybe(kind[0], held, is_set, kind[1])


optree.register_pytree_node(
    cast(Any, Maybe),
    _taken_apart,
    _put_together,
    namespace=NAMESPACE,
)


def note_uncertain(trace: Any, thing: Any, name: str) -> None:
    """Take note of an object of which it is not known whether an attribute is its own; or of a module's names."""
    for one in (thing, state_of(thing)):
        trace.uncertain.setdefault(id(one), (one, set()))[1].add(name)


def given(value: Any) -> Any:
    """What the program reads from an attribute."""
    if type(value) is Maybe:
        return value.read()
    if type(value) is dict:
        check_certain(value)
    return value


def check_certain(thing: Any, name: str | None = None) -> None:
    """Raise if it depends on values which attributes there are, or whether there is this one, and it is asked."""
    uncertain = _known_by_trace("uncertain").get(id(thing), (None, ()))[1]
    if name in uncertain or (name is None and uncertain):
        _refuse(name or ", ".join(uncertain))


def check_default(kind: Any, name: str) -> None:
    """Before an attribute of a class changes: raise if objects have it that may have none of their own."""
    for thing, names in _known_by_trace("uncertain").values():
        if name in names and isinstance(thing, kind):
            _refuse(name)


def deleting(thing: Any, name: str) -> None:
    """Before `del thing.name`: the attribute has to be there."""
    held = None if isinstance(thing, ModuleType) else Attribute(thing, name).get()
    if type(held) is Maybe:
        held.read()
    elif held is not GONE:
        check_certain(thing, name)


def _known_by_trace(name: str) -> Any:
    """What the trace that is open has noted under a name."""
    context = current_context()
    return getattr(context.home.trace, name) if context is not None and context.home.is_abstract else {}


def _refuse(names: str) -> NoReturn:
    raise TraceError(
        f"the program asks whether there is an attribute {names}, which a loop or a branch that depends on values has "
        "set",
        where=resolve(here()),
        remedy=f"set {names} before the loop or the branch",
    )


def has(thing: Any, name: str) -> Any:
    """`hasattr(thing, name)`, which may be known only when the program runs."""
    if is_tracked(thing):
        return callees.of(hasattr)(thing, name)
    held = _got(thing, name, _NOTHING)
    return held.known_if_set() if type(held) is Maybe else held is not _NOTHING


def get(choice: Callable[..., Any], thing: Any, name: str, *default: Any) -> Any:
    """`getattr(thing, name, default)`; `choice` is Python's conditional expression."""
    held = _got(thing, name, *default)
    if type(held) is not Maybe or not default:
        return given(held)
    return choice(held.known_if_set(), lambda: held.held, lambda: default[0])


def _got(thing: Any, name: str, *default: Any) -> Any:
    if isinstance(thing, ModuleType) and name not in vars(thing):
        check_bound(name)
    return callees.of(getattr)(thing, name, *default)


def check_bound(name: str, cause: BaseException | None = None) -> None:
    """Raise if a name has a value on some paths only: then it is not known whether it is bound."""
    unbound = _known_by_trace("unbound")
    if name in unbound:
        raise TraceError(
            f"{name} is read, and has a value on one side of a branch only, which depends on values",
            where=resolve(unbound[name]),
            remedy=f"give {name} a value of the same kind before the branch",
        ) from cause


def check_error(error: BaseException | None, is_caught: bool = False) -> None:
    """Raise if an error comes from a name of which it is not known whether it is bound.

    A part of a function is a function in staged code: what it raises of a variable without a value is made what the
    function would raise.
    """
    if not isinstance(error, (NameError, AttributeError)):
        return
    # Of a variable without a value Python gives the name in the message alone.
    for name in re.findall(r"'(\w+)'", str(error)):
        check_bound(name, error)
    if is_caught and isinstance(error, NameError):
        refuse("it catches the error of a variable that has no value")
    raised = unbound_local(error)
    if raised is not error:
        raise raised from error


def unbound_local(error: Any) -> Any:
    """The error of a variable of a function that has no value, if one of the function's parts has raised it."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if type(error) is not NameError or at is None or PART not in at.tb_frame.f_code.co_varnames:
        return error
    found = re.search(r"free variable ('\w+')", str(error))
    if found is None:
        return error
    return UnboundLocalError(f"cannot access local variable {found[1]} where it is not associated with a value")
