"""Telling quickly that nothing has changed: one pass over all that was read, in which no code of Python's runs.

Things are compared by identity. Where one is another thing, or there is more than there was, the reads themselves tell
whether that makes a difference.
"""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any

from bridge.xla.outside import GONE, Read, elements_of, item, keys_of, said, same


class Guards:
    """Reads with what they gave, sorted by how they are done again quickly."""

    __slots__ = ("_attributes", "_classes", "_dicts", "_lists", "_names", "_others", "_said", "_sizes")

    def __init__(self, reads: Iterable[tuple[Read, Any]]) -> None:
        names, says, attributes, classes = _Group(), _Group(), _Group(), _Group()
        lists: list[tuple[Any, Any]] = []
        dicts: list[tuple[Any, Any]] = []
        sizes: list[Any] = []
        ordered: list[Any] = []
        others: list[tuple[Read, Any]] = []
        for read, value in reads:
            function: Any = getattr(read, "func", None)
            args: Any = getattr(read, "args", ())
            if function is item and type(args[0]) is dict:
                names.add(args[0], args[1], value)
            elif function is said:
                says.add(vars(args[0]), args[1], value)
            elif function is getattr:
                attributes.add(args[0], args[1], value)
            elif function is type:
                classes.add(args[0], "", value)
            elif function is keys_of:
                sizes.append(vars(args[0]) if isinstance(args[0], type) else args[0])
                ordered += [sizes[-1]] if value.asked.is_open else []
            elif function is elements_of and type(args[0]) in (list, deque):
                lists.append((args[0], value))
            elif function is elements_of and type(args[0]) in (dict, OrderedDict, defaultdict, Counter):
                dicts.append((args[0], value))
            else:
                others.append((read, value))
        self._names, self._said, self._attributes, self._classes = names, says, attributes, classes
        held = [one for one, _ in lists], [one for one, _ in dicts]
        self._sizes = [*sizes, *held[0], *held[1]], [*map(len, (*sizes, *held[0], *held[1]))]
        self._lists = (
            [*ordered, *held[0]],
            [part for one in ordered for part in one] + [part for _, value in lists for part in value.values],
        )
        keys = [part for _, value in dicts for part in value.keys]
        self._dicts = held[1], keys, [part for one, _ in dicts for part in dict.values(one)]
        self._others = others

    def hold(self) -> bool:
        """Whether nothing is another thing than it was; if not, it may be the same all the same."""
        sizes, lists, dicts = self._sizes, self._lists, self._dicts
        if [*map(len, sizes[0])] != sizes[1]:
            return False
        if not (self._names.holds(_get) and self._attributes.holds(getattr)):
            return False
        if lists[0] and not all(map(operator.is_, chain.from_iterable(lists[0]), lists[1])):
            return False
        if dicts[0] and not (
            all(map(operator.is_, chain.from_iterable(dicts[0]), dicts[1]))
            and all(map(operator.is_, chain.from_iterable(map(dict.values, dicts[0])), dicts[2]))
        ):
            return False
        said, classes = self._said, self._classes
        if said.holders and not said.holds(MappingProxyType.get):
            return False
        if classes.holders and not all(map(operator.is_, map(type, classes.holders), classes.values)):
            return False
        for read, before in self._others:
            now = read()
            if now is not before and not same(now, before):
                return False
        return True


_get: Callable[..., Any] = dict.get


class _Group:
    """Names that are read from holders in the same way, and what was there."""

    __slots__ = ("holders", "names", "values")

    def __init__(self) -> None:
        self.holders: list[Any] = []
        self.names: list[str] = []
        self.values: list[Any] = []

    def add(self, holder: Any, name: str, value: Any) -> None:
        self.holders.append(holder)
        self.names.append(name)
        self.values.append(value)

    def holds(self, get: Callable[..., Any]) -> bool:
        """Whether the same things are there."""
        return all(map(operator.is_, map(get, self.holders, self.names, repeat(GONE)), self.values))
