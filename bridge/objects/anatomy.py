"""Objects of the user's classes: which are taken apart, what their state is, and how one is made of another state."""

from __future__ import annotations

import sys
from collections import UserDict, UserList
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MemberDescriptorType, SimpleNamespace
from typing import Any

# fmt: off
LIBRARIES = frozenset({
    "bridge", "rules", "numpy", "scipy", "jax", "jaxlib", "optree", "juliacall", "juliapkg", "torch", "tensorflow",
    "keras", "cupy", "pandas", "polars", "pyarrow", "xarray", "dask", "zarr", "h5py", "netCDF4", "matplotlib", "plotly",
    "bokeh", "sympy", "numba", "sklearn", "tqdm", "rich", "IPython", "pytest", "_pytest",
})
# fmt: on
"""Packages whose objects are passed on as they are: they have state of their own, and no parameters of the user's."""
STATELESS = frozenset({"abc", "typing", "typing_extensions", "collections.abc", "numbers"})
"""Modules of the standard library whose classes a user's may derive from: they hold nothing."""
DUCKS = (
    "__array__",
    "__array_function__",
    "__array_ufunc__",
    "__jax_array__",
    "__dlpack__",
    "__torch_function__",
)
"""A class with one of these is a kind of array."""
_BASES: tuple[type, ...] = (SimpleNamespace, dict, list, object)
_HEAP = 1 << 9


@dataclass(frozen=True)
class Anatomy:
    """How objects of a class are taken apart and put together, without a run of `__init__`.

    `slots` are the descriptors of the class's own slots; `cached` the names of its cached properties, which are no
    state; `items` is dict or list if the class derives from one; `base` the built-in class that makes the object.
    """

    kind: type
    base: Any = field(compare=False)
    slots: Mapping[str, Any] = field(compare=False)
    cached: frozenset[str] = field(compare=False)
    items: type | None = field(compare=False)

    @property
    def is_value(self) -> bool:
        """Whether objects are told apart by what they hold, so that nobody can ask which of two equal ones it is."""
        return self.kind.__hash__ is None

    def state(self, one: Any) -> dict[str, Any]:
        """The attributes that an object has now, by name."""
        found = {}
        for name, slot in self.slots.items():
            try:
                found[name] = slot.__get__(one)
            except AttributeError:  # a slot that is empty
                continue
        attributes = getattr(one, "__dict__", {})
        if attributes is one:  # a dict that is its own attributes
            return {"__dict__": one}
        found.update(attributes)
        for name in self.cached.intersection(found):
            del found[name]
        return found

    def contents(self, one: Any) -> Any:
        """What an object holds as a dict or a list, as a plain one."""
        return None if self.items is None else dict(dict.items(one)) if self.items is dict else list(list.__iter__(one))

    def shell(self) -> Any:
        """An object of the class without any state."""
        return self.base.__new__(self.kind)

    def fill(self, shell: Any, names: Iterable[str], values: Iterable[Any], contents: Any) -> None:
        """Give a shell its state; the class's `__setattr__` and properties have no part in it."""
        for name, value in zip(names, values, strict=True):
            slot = self.slots.get(name)
            if name == "__dict__":
                shell.__dict__ = value
            elif slot is None:
                shell.__dict__[name] = value
            else:
                slot.__set__(shell, value)
        if self.items is dict:
            dict.update(shell, contents)
        elif self.items is list:
            list.extend(shell, contents)


@lru_cache(maxsize=4096)
def anatomy(kind: type) -> Anatomy | None:
    """How objects of a class are taken apart; None for a class whose objects are passed on as they are.

    Taken apart are classes written in Python (dataclasses, attrs, plain ones, with `__dict__` or `__slots__`), unless
    they, or what they derive from, are of the standard library, of one of `LIBRARIES`, in C, or a kind of array.
    """
    if any(hasattr(kind, name) for name in DUCKS) or not all(map(_is_open, kind.__mro__)):
        return None
    base: Any = next(one for one in _BASES if issubclass(kind, one))
    try:
        base.__new__(kind)
    except TypeError:  # state in C
        return None
    return Anatomy(kind, base, _slots(kind), _cached(kind), base if base in (dict, list) else None)


def _is_open(kind: type) -> bool:
    if kind in _BASES or kind in (UserDict, UserList):
        return True
    module = str(getattr(kind, "__module__", ""))
    root = module.partition(".")[0]
    if not is_made_at_run_time(kind) or root in LIBRARIES:
        return False
    # What `exec` makes in a namespace without a name says that it is of builtins.
    return root not in sys.stdlib_module_names or module in STATELESS or root == "builtins"


def is_made_at_run_time(kind: type) -> bool:
    """Whether a class was made by a class statement, or as one makes it, and not by C."""
    return bool(kind.__flags__ & _HEAP)


def _slots(kind: type) -> dict[str, Any]:
    members = (pair for klass in reversed(kind.__mro__) if klass not in _BASES for pair in vars(klass).items())
    return {name: member for name, member in members if isinstance(member, MemberDescriptorType)}


def _cached(kind: type) -> frozenset[str]:
    """Cached properties follow from the rest of the state: a copy computes them anew, from what it holds itself."""
    members = {name: member for klass in reversed(kind.__mro__) for name, member in vars(klass).items()}
    return frozenset(name for name, member in members.items() if isinstance(member, cached_property))
