"""Which functions, classes and modules are a library's, that keeps no state of the user's in them."""

from __future__ import annotations

import sys
from typing import Any

from bridge.objects.anatomy import LIBRARIES, is_made_at_run_time
from bridge.source.finding import is_library

# fmt: off
_NOT_READ = frozenset({
    "bridge", "builtins", "functools", "itertools", "jax", "jaxlib", "math", "numpy", "operator", "optree", "rules",
    "scipy", "sys", "typing",
})
# fmt: on
"""Modules of which nothing is followed."""

_CLASSES = LIBRARIES | sys.stdlib_module_names | {"optree", "statsmodels", "networkx", "astropy", "docutils"}


def root_of(thing: Any) -> str:
    """The package of a function or a class."""
    return str(getattr(thing, "__module__", "")).partition(".")[0]


def is_module_not_read(name: str) -> bool:
    """Whether a module is this package's, Python's, or of a library that has no state of the user's."""
    return name.partition(".")[0] in _NOT_READ


def is_users(function: Any) -> bool:
    """Whether what a function asks for is what the program asks for."""
    if root_of(function) in _CLASSES:
        return False
    code = getattr(function, "__code__", None)
    return code is None or not is_library(code.co_filename, str(function.__module__))


def is_users_module(name: str) -> bool:
    """Whether a module is no library's."""
    if name.partition(".")[0] in _CLASSES:
        return False
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is None or not is_library(file, name)


def is_users_class(kind: type) -> bool:
    """Whether what a class says can be of the user's making."""
    root = root_of(kind)
    if not is_made_at_run_time(kind):
        return False
    # What `exec` makes in a namespace without a name says that it is of builtins; what `abc.ABCMeta(...)`,
    # `dataclasses.make_dataclass` or `types.new_class` makes, that it is of a module where nothing has its name.
    return is_users_module(str(kind.__module__)) or root == "builtins" or not _is_in_its_module(kind)


def _is_in_its_module(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return module is None or kind.__qualname__.partition(".")[0] in vars(module)
