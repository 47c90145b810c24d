"""The log of a context as a `Timeline`: numbered operations, and the bytes that they read and write."""

from __future__ import annotations

import inspect
import linecache
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bridge.code_position import Position, resolve
from bridge.proof.report.model import Memory, Operation, Region, Timeline
from bridge.proof.report.naming import made_at, written_at
from bridge.rewind.memory import address
from bridge.rewind.places import Alias, Layout, View
from bridge.rewind.roots import Root
from bridge.transforms.arguments import Arguments
from bridge.trees import leaves_of, paths_of


def timeline_of(
    context: Any, cotangents: Sequence[float | None] | None = None, names: Mapping[Root, str] | None = None
) -> Timeline:
    """The operations in the log of `context`, numbered as the log is.

    Parameters
    ----------
    context : a context of reverse mode whose forward pass has run, and whose log was not dropped.
    cotangents : for each entry, the largest absolute value of the cotangent that went into its pull, None for none.
    names : names of roots, `names_of(f, arguments)`; others are called as the program calls them, and what has no
        name there after the operation that made it.

    The log holds the operations through which a gradient passes and those that overwrite memory. A checkpointed call
    is one operation. Plain arrays that operations read are not in it; `bridge.trace` shows them.
    """
    builder = Builder()
    for root, name in (names or {}).items():
        builder.memory_of(root, name)
    for root in context.roots:
        builder.memory_of(root, "an argument")
    for number, entry in enumerate(context.log):
        # What the first operation overwrites was made without a gradient.
        made = dict.fromkeys(entry.bore(), builder.made(entry.position) or entry.name)
        others = builder.written(entry.position)
        written = tuple(builder.region(place, made.get(place.root, others)) for place in entry.writes())
        read = tuple(builder.region(place, "a new array") for place in entry.reads())
        cotangent = None if cotangents is None else cotangents[number]
        builder.add(entry.name, entry.position, read, written, entry.overwrites, cotangent)
    return builder.timeline()


def names_of(f: Callable[..., Any], arguments: Arguments) -> dict[Root, str]:
    """What the arguments of `f` are called, by root: `x`, `params['w']`; `x, y` where two share memory."""
    named: dict[Root, list[str]] = {}
    parameters = _parameters(f, len(arguments.args))
    for name, value in [*zip(parameters, arguments.args, strict=True), *arguments.kwargs.items()]:
        leaves, structure = leaves_of(value)
        for (path, _), leaf in zip(paths_of(structure), leaves, strict=True):
            root = getattr(getattr(leaf, "place", None), "root", None)
            if root is not None:
                named.setdefault(root, []).append(name + path)
    return {root: ", ".join(dict.fromkeys(found)) for root, found in named.items()}


def _parameters(f: Callable[..., Any], count: int) -> list[str]:
    """Names of the first `count` positional arguments of a call of `f`."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    for k in range(len(names), count):
        names.append(f"argument {k}" if rest is None else f"{rest}[{k - len(names)}]")
    return names[:count]


class Builder:
    """Numbers memory and operations while a timeline grows."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.memory: list[Memory] = []
        self._numbers: dict[Root, int] = {}
        self._places: dict[Position, tuple[str | None, str | None]] = {}
        self._names: dict[tuple[str, Position], str | None] = {}

    def timeline(self) -> Timeline:
        """What was added."""
        return Timeline(tuple(self.operations), tuple(self.memory))

    def new_memory(self, name: str, shape: tuple[int, ...], dtype: Any, size: int) -> int:
        """The number of one more piece of memory, of `size` bytes."""
        self.memory.append(Memory(len(self.memory), name, tuple(shape), str(dtype), size))
        return len(self.memory) - 1

    def memory_of(self, root: Root, name: str) -> int:
        """The number of a root's memory, which gets its name where it is new."""
        number = self._numbers.get(root)
        if number is None:
            number = self._numbers[root] = self.new_memory(name, root.shape, root.dtype, size_of(root))
        return number

    def made(self, position: Position) -> str | None:
        """What the program calls the memory that the operation at a position makes, if it calls it anything."""
        return self._kept(("made", position), made_at)

    def written(self, position: Position) -> str:
        """What the program calls the memory into which the operation at a position writes."""
        return self._kept(("written", position), written_at) or "a new array"

    def _kept(self, key: tuple[str, Position], naming: Callable[[Position], str | None]) -> str | None:
        if key not in self._names:
            self._names[key] = naming(key[1])
        return self._names[key]

    def region(self, place: Any, name: str) -> Region:
        """The bytes of a place."""
        return Region(self.memory_of(place.root, name), *extent_of(place), tuple(place.shape), str(place.dtype))

    def add(
        self,
        name: str,
        position: Position,
        reads: Iterable[Region],
        writes: Iterable[Region],
        overwrites: bool,
        cotangent: float | None = None,
    ) -> None:
        """Append an operation."""
        where, source = self._resolved(position)
        number = len(self.operations)
        self.operations.append(
            Operation(number, name, where, source, tuple(reads), tuple(writes), overwrites, cotangent)
        )

    def _resolved(self, position: Position) -> tuple[str | None, str | None]:
        found = self._places.get(position)
        if found is None:
            where = resolve(position)
            found = self._places[position] = where, source_at(where)
        return found


def source_at(where: str | None) -> str | None:
    """The line of code at `file:line in function`, without its indentation; None where it cannot be read."""
    if where is None:
        return None
    file, _, line = where.rpartition(" in ")[0].rpartition(":")
    return linecache.getline(file, int(line)).strip() or None


Extent = tuple[int, int]


def size_of(root: Any) -> int:
    """Bytes of a root's memory."""
    return math.prod(root.shape) * root.dtype.itemsize


def extent_of(place: Any) -> Extent:
    """First and last byte, the last one excluded, of `place` in the memory of its root.

    Of a strided or gathered place it is the span: bytes inside of it may belong to others.
    """
    if isinstance(place, Root):
        return 0, size_of(place)
    start, ghost = _ghost(place)
    if not ghost.size:
        return start, start
    low, high = np.lib.array_utils.byte_bounds(ghost)
    first = start + low - address(ghost)
    return first, first + high - low


def _ghost(place: Any) -> tuple[int, np.ndarray]:
    """Offset of a place's first byte, and an array that lies as the place does, whose elements must not be read."""
    if isinstance(place, Root):
        return 0, _lying(place.shape, place.strides, place.dtype)
    if isinstance(place, Layout):
        start, _ = _ghost(place.parent)
        offset, like = place.key
        return start + offset, _lying(like.shape, like.strides, like.dtype)
    start, ghost = _ghost(place.parent)
    if isinstance(place, Alias):
        return start, ghost
    key = place.key if isinstance(place, View) else bounding(place.key, ghost.shape)
    parts = key if isinstance(key, tuple) else (key,)
    # Always a view, also of one element: reading the ghost would read memory that is not its own.
    view = ghost[parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)]
    return start + address(view) - address(ghost), view


def _lying(shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: Any) -> np.ndarray:
    seed = np.empty(1, dtype)
    if strides is None:
        strides = tuple(math.prod(shape[k + 1 :]) * seed.itemsize for k in range(len(shape)))
    return np.lib.stride_tricks.as_strided(seed, shape, strides, writeable=False)


def bounding(key: Any, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Slices, one for each axis of `shape`, that cover what `key` picks."""
    parts = key if isinstance(key, tuple) else (key,)
    consumed = sum(_axes(part) for part in parts)
    slices: list[slice] = []
    for part in parts:
        if part is Ellipsis:
            slices += [slice(None)] * (len(shape) - consumed)
        elif isinstance(part, slice):
            slices.append(part)
        elif part is not None:
            slices += _covered(np.asarray(part), shape[len(slices) :])
    return (*slices, *[slice(None)] * (len(shape) - len(slices)))


def _axes(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, slice):
        return 1
    array = np.asarray(part)
    return array.ndim if array.dtype == bool else 1


def _covered(index: np.ndarray, lengths: tuple[int, ...]) -> list[slice]:
    if index.dtype == bool:
        if not index.ndim:
            return []
        return [_span(chosen) for chosen in np.nonzero(index)]
    return [_span(np.where(index < 0, index + lengths[0], index))]


def _span(chosen: np.ndarray) -> slice:
    return slice(int(chosen.min()), int(chosen.max()) + 1) if chosen.size else slice(0, 0)
