"""What parts of a program look like that are met again in the same trace, and the error of one that does otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.source.state import Place
from bridge.trees import containers_of


class Stale(Exception):
    """What was found of a part before does not hold now."""

    def __init__(self) -> None:
        super().__init__()
        self.position = here()


@contextmanager
def staleness_told() -> Iterator[None]:
    """Inside, what is stale when it is found for the first time is an error of the program's."""
    try:
        yield
    except Stale as error:
        raise TraceError(
            "a part of the program was traced again, and left something else than it did before",
            where=resolve(error.position),
            remedy='let its names stand for one array each (y[...] = x for y = x), or use engine="native"',
        ) from error


def look(value: Any) -> Any:
    """What of a value decides what a program does with it while it is traced: numbers that are known, and the looks."""
    if hasattr(value, "place"):
        return type(value), value.shape, value.dtype
    if isinstance(value, np.ndarray):
        return "plain", value.shape, value.dtype
    if isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        return type(value), value
    if type(value) in (tuple, list, dict):
        leaves, structure = containers_of(value)
        return str(structure), *map(look, leaves)
    return id(value)


def looks(places: Iterable[Place]) -> tuple[Any, ...]:
    """The looks of what places hold now."""
    return tuple(look(place.get()) for place in places)
