"""Telling quickly that nothing has changed: passes over all that was read, in which no code of Python's runs.

Things are compared by identity. Where one is another thing, or there is more than there was, the reads themselves tell
whether that makes a difference.
"""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any

from bridge.state.slots import GONE
from bridge.xla.outside import Read, elements_of, item, keys_of, said, same, shape_of


class Guards:
    """Reads with what they gave, sorted by how they are done again quickly."""

    __slots__ = ("_passes", "_reads", "_shapes", "_sizes")

    def __init__(self, reads: Iterable[tuple[Read, Any]]) -> None:
        reads = list(reads)
        groups: dict[Any, list[tuple[Any, Any]]] = {}
        for read, value in reads:
            groups.setdefault(_way_of(read), []).append((read, value))
        self._reads: list[tuple[Read, Any]] = groups.pop(None, [])
        self._passes: list[tuple[Callable[[], Iterator[Any]], list[Any]]] = []
        names = [(read.args[0], value) for read, value in groups.pop(keys_of, [])]
        spaces = [(vars(one) if isinstance(one, type) else one, value.asked.is_open) for one, value in names]
        dicts = [read.args[0] for read, _ in groups.pop(dict, [])]
        lists = [read.args[0] for read, _ in groups.pop(list, [])]
        arrays = [read.args[0] for read, _ in groups.pop(shape_of, [])]
        self._shapes = arrays, [array.shape for array in arrays]
        if dicts:
            held = [(partial(item, one, key), value) for one in dicts for key, value in dict.items(one)]
            groups[item] = groups.get(item, []) + held
        for way, found in groups.items():
            if len(found) < _FEW:
                self._reads += found
            else:
                self._passes.append((_pass(way, found), [value for _, value in found]))
        ordered = [*(one for one, is_open in spaces if is_open), *lists, *dicts]
        if ordered:
            inside = partial(chain.from_iterable, ordered)
            self._passes.append((inside, list(inside())))
        sized = [*(one for one, is_open in spaces if not is_open), *ordered]
        self._sizes = sized, [*map(len, sized)]

    def hold(self) -> bool:
        """Whether nothing is another thing than it was; if not, it may be the same all the same."""
        for read, before in self._reads:
            now = read()
            if now is not before and not same(now, before):
                return False
        mappings, sizes = self._sizes
        if [*map(len, mappings)] != sizes:
            return False
        arrays, shapes = self._shapes
        if arrays and [*map(_shape, arrays)] != shapes:
            return False
        for again, values in self._passes:  # noqa: SIM110, which is slower
            if not all(map(operator.is_, again(), values)):
                return False
        return True


def _way_of(read: Any) -> Any:
    """How something is read again together with others; None for what is read by itself."""
    function: Any = getattr(read, "func", None)
    args: Any = getattr(read, "args", ())
    if function is elements_of:
        kind = type(args[0])
        return list if kind in (list, deque) else dict if kind in _DICTS else None
    if function is item:
        return item if type(args[0]) in _DICTS else None
    return function if function in (said, getattr, type, keys_of, shape_of) else None


def _pass(way: Any, found: list[tuple[Any, Any]]) -> Callable[[], Iterator[Any]]:
    """What reads all of them in one pass."""
    holders = [read.args[0] for read, _ in found]
    if way is type:
        return partial(map, type, holders)
    names = [read.args[1] for read, _ in found]
    if way is said:
        # A class's proxy shows it as it is.
        return partial(map, MappingProxyType.get, [vars(kind) for kind in holders], names, repeat(GONE))
    return partial(map, dict.get if way is item else getattr, holders, names, repeat(GONE))


_DICTS = (dict, OrderedDict, defaultdict, Counter)
_shape = operator.attrgetter("shape")
_FEW = 8
"""Fewer reads than these are done one by one."""
