"""Who supplies pulls: one folder or file an engine, and a registry."""

import typing as _typing
from importlib import import_module as _import_module

_ON_USE = ("auto", "eager", "jax", "julia", "native", "xla")

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _ON_USE:
            return _import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
