"""Julia from Python: functions with gradients, set-up and status. Nothing here starts Julia before its first use."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.julia.function import JuliaFunction as JuliaFunction
    from bridge.julia.function import eval as eval
    from bridge.julia.function import function as function
    from bridge.julia.function import include as include
    from bridge.julia.function import using as using
    from bridge.julia.status import setup as setup
    from bridge.julia.status import status as status
    from bridge.julia.to_jax import to_jax as to_jax

HOMES = {
    "JuliaFunction": "bridge.julia.function",
    "eval": "bridge.julia.function",
    "function": "bridge.julia.function",
    "setup": "bridge.julia.status",
    "status": "bridge.julia.status",
    "to_jax": "bridge.julia.to_jax",
    "include": "bridge.julia.function",
    "using": "bridge.julia.function",
}


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module 'bridge.julia' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})


class _Package(ModuleType):
    """Keeps `bridge.julia.function` the function, also after the module of the same name was imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
