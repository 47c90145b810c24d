"""Calls with arguments like those of a call before: their leaves, and gradients in their containers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from bridge.julia.calls import Kept
from bridge.julia.plans import KINDS, Flattened


class Plain:
    """Calls whose arguments are arrays and numbers."""

    __slots__ = ("kept",)

    def __init__(self, kept: Kept) -> None:
        self.kept = kept

    def leaves(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The leaves of arguments whose types are those of the call before; None if their containers are others."""
        return args

    def gradient(self, args: tuple[Any, ...], gradients: Sequence[Any]) -> Any:
        """Gradients of leaves in the container of the argument that is differentiated."""
        return gradients[0]


class Dictionaries(Plain):
    """Calls among whose arguments are dictionaries of arrays and numbers."""

    __slots__ = ("argument", "kinds", "names")

    def __init__(self, kept: Kept, flat: Flattened, argument: int, names: list[list[str] | None]) -> None:
        super().__init__(kept)
        self.argument = argument
        self.names = names
        self.kinds = tuple(map(type, flat.leaves))

    @classmethod
    def of(cls, kept: Kept, args: tuple[Any, ...], flat: Flattened, argument: int) -> Self | None:
        """For calls like this one; None if there are other containers in it."""
        names: list[list[str] | None] = []
        for arg, structure in zip(args, flat.positional.children(), strict=True):
            if type(arg) is dict and all(type(leaf) in KINDS for leaf in arg.values()):
                names.append(structure.entries())
            elif type(arg) in KINDS:
                names.append(None)
            else:
                return None
        return cls(kept, flat, argument, names)

    def leaves(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        found: list[Any] = []
        for arg, names in zip(args, self.names, strict=True):
            if names is None:
                found.append(arg)
            elif len(arg) == len(names):
                try:
                    found += [arg[name] for name in names]
                except KeyError:
                    return None
            else:
                return None
        return tuple(found) if tuple(map(type, found)) == self.kinds else None

    def gradient(self, args: tuple[Any, ...], gradients: Sequence[Any]) -> Any:
        names = self.names[self.argument]
        return gradients[0] if names is None else args[self.argument] | dict(zip(names, gradients, strict=True))
