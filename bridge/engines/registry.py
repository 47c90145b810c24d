"""Which engines there are: one line each, and a door for those from outside. Each is imported when it is asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from bridge.engines.protocol import Compilation, Compiler, Engine, Settings, compiling
from bridge.errors import ArgumentError, choice
from bridge.options import IndexMode, bytes_of
from bridge.rewind.bounded_log import BoundedLog
from bridge.rewind.context import Context
from bridge.rewind.forward import ForwardContext

_INDEX_MODES = ("error", "clip", "fill", "drop")

# The name that users write, and the module whose `ENGINE` it is.
_HOMES = {
    "eager": "bridge.engines.eager",
    "native": "bridge.engines.native",
    "julia": "bridge.engines.julia",
    "jax": "bridge.engines.jax",
    "xla": "bridge.engines.xla",
    "auto": "bridge.engines.auto",
}


def register(name: str, home: str) -> None:
    """Make `engine="name"` the `ENGINE` of the module `home`, a `bridge.engines.protocol.Engine` of that name.

    From then on every transform, `crosscheck`, the doctor and the pytest plugin know it. The module is imported on
    first use. ArgumentError if there is another engine of that name.
    """
    if _HOMES.setdefault(name, home) != home:
        raise ArgumentError(f"there is an engine {name!r} already, in {_HOMES[name]}", remedy="choose another name")


def names() -> tuple[str, ...]:
    """The names of all engines."""
    return tuple(_HOMES)


@cache
def _at(home: str) -> Engine:
    found: Engine = import_module(home).ENGINE
    return found


def engine(name: str) -> Engine:
    """The engine of that name, whether or not it is there; ArgumentError if nobody has registered one."""
    home = _HOMES.get(name)
    if home is None:
        raise ArgumentError(f"engine={name!r}", remedy=choice(name, _HOMES))
    return _at(home)


def engines() -> tuple[Engine, ...]:
    """All engines."""
    return tuple(_at(home) for home in tuple(_HOMES.values()))


def compared() -> tuple[str, ...]:
    """The names of the engines that a cross-check compares."""
    return tuple(one.name for one in engines() if one.compared)


def replaying() -> tuple[str, ...]:
    """The names of those whose contexts keep a log that can be walked again."""
    return tuple(one.name for one in engines() if one.compared and one.replays)


def checked(name: str, index_mode: str = "error") -> Engine:
    """The engine of that name; ArgumentError for an unknown one, EngineNotAvailable for one that is not there."""
    if index_mode not in _INDEX_MODES:
        raise ArgumentError(f"index_mode={index_mode!r}", remedy=choice(index_mode, _INDEX_MODES))
    found = engine(name)
    if index_mode != "error" and not found.has_settings:
        raise ArgumentError(
            f"index_mode={index_mode!r} with engine={name!r}, where an index outside is NumPy's IndexError",
            remedy='use engine="xla", or say what you mean in the program: np.clip(index, 0, n - 1), np.take(mode=...)',
        )
    found.check()
    return found


def compiler(name: str, index_mode: IndexMode = "error", memory: Any = None) -> Compilation | None:
    """The engine of that name, checked, with its settings, if a transform is to compile its program with it.

    None for an engine that compiles nothing, and in a transform that is part of a program which is compiled already.
    """
    found = checked(name, index_mode)
    amount = bytes_of(memory)
    if amount is not None and isinstance(found, Compiler) and not found.has_settings:
        raise ArgumentError(
            f"memory={memory!r} with engine={name!r}, which may run a program in two ways",
            remedy='say in which: engine="eager" or engine="xla"',
        )
    if not compiling():
        return Compilation(found, Settings(index_mode, amount)) if isinstance(found, Compiler) else None
    if amount is not None:
        raise ArgumentError(
            f"memory={memory!r} of a transform inside of a program that is compiled",
            remedy="give it to what compiles the program: bridge.xla(f, memory=...)",
        )
    return None


def context(name: str, zeros: str, memory: Any = None) -> Context:
    """A context of reverse mode whose pulls come from an engine; with "julia", Julia starts here if it has not yet.

    With an amount of memory (`bridge.options.bytes_of`) its log keeps within it.
    """
    made = engine(name).context(zeros)
    amount = None if memory is None else bytes_of(memory)
    if amount is not None:
        made.log = BoundedLog(made, amount)
    return made


def forward_context(name: str, zeros: str) -> ForwardContext:
    """A context of forward mode, likewise."""
    return checked(name).forward_context(zeros)
