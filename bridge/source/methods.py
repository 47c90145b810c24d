"""Methods of containers, plain arrays and generators that a program which is read gives tracked values to."""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.arrays.unknown_text import ASKING, MAKING, UnknownText, refuse_decision
from bridge.rewind.escapes import remember
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.values import describes, is_abstract, known
from bridge.source import targets
from bridge.source.callees import METHODS, SPECIAL
from bridge.source.creating import tracked_array
from bridge.source.keeping import any_tracked
from bridge.source.targets import own
from bridge.source.texts import reads_text
from bridge.state.slots import Contents

_CHANGE = {
    list: ("append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort", "__setitem__", "__delitem__"),
    dict: ("update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__"),
    set: ("add", "update", "discard", "remove", "pop", "clear"),
    collections.OrderedDict: ("update", "setdefault", "pop", "popitem", "clear", "move_to_end"),
    collections.defaultdict: ("update", "setdefault", "pop", "popitem", "clear"),
    collections.deque: (
        "append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "rotate", "remove", "clear",
    ),
}  # fmt: skip
_BY_FUNCTION = ("dot", "clip", "compress", "choose", "searchsorted", "take")
_RESAMPLED = frozenset({"choice", "permutation", "permuted"})
_NO_DRAWS = ("bit_generator", "spawn", "get_state", "set_state", "seed")


def _changing(kind: type, name: str) -> Callable[..., Any]:
    """A method that changes a container: what it held is remembered if tracked values come in."""
    plain = getattr(kind, name)

    def call(container: Any, /, *args: Any, **kwargs: Any) -> Any:
        context = current_context()
        if context is not None and context.loan is not None:
            context.loan.keep(Contents, container, None, [*args, *kwargs.values()])
        return ARRAYS.seen(plain(container, *args, **kwargs))

    return call


def _filled(array: np.ndarray, value: Any) -> None:
    """`array.fill(value)`."""
    target: Any = own(array, value)
    target.fill(value)


def _put(array: np.ndarray, indices: Any, values: Any, mode: str = "raise") -> None:
    """`array.put(indices, values)`."""
    target: Any = own(array, values)
    target.put(indices, values, mode=mode)


def _method(name: str) -> Callable[..., Any]:
    """A method of plain arrays, which the function of NumPy does if it gets tracked values."""
    function, plain = getattr(np, name), getattr(np.ndarray, name)

    def call(array: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        return (function if any_tracked(args, kwargs) else plain)(array, *args, **kwargs)

    return call


def _shuffle(generator: Any, x: Any, *args: Any, **kwargs: Any) -> None:
    """`generator.shuffle(x)`, of a Buffer whose elements carry nothing, too."""
    held = _constant(x)
    if held is None:
        generator.shuffle(x, *args, **kwargs)
        return
    generator.shuffle(held, *args, **kwargs)
    x[...] = held


def _constant(x: Any) -> Any:
    """A copy of what a Buffer holds that carries no gradient; None for anything else."""
    if not hasattr(x, "view_as") or (x.place.active and not is_abstract(x)):
        return None
    found = known(x)
    return None if found is None else np.array(found)


def _touching(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method that changes its array, or what it is given first, where that is plain."""

    def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
        first = [targets.touched(one) if type(one) is np.ndarray else one for one in (owner, *args[:1])]
        if first[0] is not owner:
            return getattr(first[0], plain.__name__)(*first[1:], *args[1:], **kwargs)
        return plain(*first, *args[1:], **kwargs)

    return call


def _of_lists(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method of ufuncs, with operands that may be lists: NumPy's dispatch finds no tracked values in them."""

    def call(ufunc: np.ufunc, *args: Any, **kwargs: Any) -> Any:
        # The second argument names elements, or an axis.
        given = [one if k == 1 else _operand(one) for k, one in enumerate(args)]
        return plain(ufunc, *given, **kwargs)

    return call


def _operand(one: Any) -> Any:
    return tracked_array(one) if type(one) in (list, tuple) and any_tracked(one, {}) else one


def _set_item(array: np.ndarray, key: Any, value: Any) -> None:
    """`array.__setitem__(key, value)`."""
    target: Any = targets.own(array, value)
    target[key] = value


def _draw(name: str) -> Callable[..., Any]:
    """A method of NumPy's generators: what it draws carries no gradient to the parameters."""

    def call(generator: Any, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *(value for key, value in kwargs.items() if key != "out"))
        lost = next((value for value in given if targets.carries(value)), None)
        if lost is not None and hasattr(lost, "place") and name not in _RESAMPLED:
            error = remember(lost, f"{name}() of a generator of NumPy's, whose draws carry no gradient to a parameter")
            error.remedy = (
                "draw standard numbers and transform them (mu + sigma * rng.standard_normal(n)), use bridge.random, "
                "whose draws have one, or bridge.detach the parameter"
            )
            raise error
        target: Any = kwargs.get("out")
        if hasattr(target, "view_as"):
            drawn = np.empty(target.shape, target.dtype)
            target[...] = getattr(generator, name)(*args, **{**kwargs, "out": drawn})
            return target
        return getattr(generator, name)(*args, **kwargs)

    return call


def _asked(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method of texts that tells something of one: nobody knows it of what a compiled program computes."""

    def call(text: str, /, *args: Any, **kwargs: Any) -> Any:
        if is_unknown(text):
            raise refuse_decision(text)
        return plain(text, *args, **kwargs)

    return call


def _made_of(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method that makes another text of one, of which nobody knows more."""

    def call(text: str, /, *args: Any, **kwargs: Any) -> Any:
        args = tuple([list(one) if hasattr(one, "__next__") else one for one in args])
        made = plain(text, *args, **kwargs)
        parts = (text, *(part for one in args for part in (one if type(one) is list else (one,))))
        return UnknownText(made) if any(map(is_unknown, parts)) else made

    return call


def is_unknown(text: Any) -> bool:
    """Whether something is a text that was written of a value which a compiled program computes."""
    if not isinstance(text, str) or not describes(text):
        return False
    context = current_context()
    return context is not None and context.home.is_abstract


def _looking_into(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that looks into texts."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        for one in (*args, *kwargs.values()):
            if is_unknown(one):
                raise refuse_decision(one)
        return function(*args, **kwargs)

    return call


def _cast(array: Any, *args: Any, **kwargs: Any) -> Any:
    """`array.astype(dtype)`, which makes numbers of an array of texts."""
    found = array.astype(*args, **kwargs)
    if array.dtype.kind in "USO" and found.dtype.kind in "fc":
        reads_text(lambda texts: found)(array.ravel().tolist())
    return found


def _set_flags(array: Any, *args: Any, **kwargs: Any) -> None:
    """`array.setflags(write=True)`."""
    targets.mark_frozen()
    array.setflags(*args, **kwargs)


METHODS.update({(kind, name): _changing(kind, name) for kind, names in _CHANGE.items() for name in names})
METHODS.update({(np.ndarray, name): _method(name) for name in _BY_FUNCTION})
METHODS.update({(np.ndarray, name): _touching(getattr(np.ndarray, name)) for name in ("sort", "partition", "resize")})
METHODS[np.ufunc, "at"] = _of_lists(_touching(np.ufunc.at))
METHODS.update({(np.ufunc, name): _of_lists(getattr(np.ufunc, name)) for name in ("reduce", "accumulate", "reduceat")})
METHODS[np.ufunc, "outer"] = lambda ufunc, a, b, **options: ufunc.outer(*map(_operand, (a, b)), **options)
METHODS[np.ndarray, "__setitem__"] = _set_item
METHODS.update({(np.ndarray, "fill"): _filled, (np.ndarray, "put"): _put, (np.ndarray, "setflags"): _set_flags})
METHODS[np.ndarray, "astype"] = _cast
METHODS.update({
    (kind, name): _draw(name)
    for kind in (np.random.Generator, np.random.RandomState)
    for name in dir(kind)
    if not name.startswith("_") and name not in _NO_DRAWS
})  # fmt: skip
METHODS.update({(kind, "shuffle"): _shuffle for kind in (np.random.Generator, np.random.RandomState)})
METHODS.update({(str, name): _asked(getattr(str, name)) for name in ASKING if not name.startswith("_")})
METHODS.update({(str, name): _made_of(getattr(str, name)) for name in (*MAKING, "join") if not name.startswith("_")})
_OF_PATTERNS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")
SPECIAL.update({getattr(re, name): _looking_into(getattr(re, name)) for name in _OF_PATTERNS})
METHODS.update({(re.Pattern, name): _looking_into(getattr(re.Pattern, name)) for name in _OF_PATTERNS})
