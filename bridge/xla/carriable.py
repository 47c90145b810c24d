"""What compiled functions are besides being called: methods of objects, and what can be copied and pickled."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType
from typing import Any, Self

from bridge.code_position import warn
from bridge.engines.protocol import Settings
from bridge.errors import ArgumentError, with_article
from bridge.transforms.transformed import Made

OBJECTS = 32
"""Of how many objects a method that is compiled keeps programs; of those that it was asked of last."""


def _is_callable(function: Any) -> bool:
    """Whether something can be called, or gives what can be when it is asked of an object: a classmethod."""
    return callable(function) or (hasattr(function, "__get__") and not hasattr(function, "__set__"))


class Carriable(Made):
    """A compiled function as classes, copies and pickles meet it; each is compiled anew, of another function."""

    settings: Settings
    cache: Any
    _lock: threading.RLock

    def __init__(self, function: Callable[..., Any]) -> None:
        if not _is_callable(function):
            raise ArgumentError(f"{with_article(type(function).__name__)} cannot be compiled", remedy="give a function")
        self.__name__ = self.__qualname__ = type(function).__name__
        wrapper: Any = self
        functools.update_wrapper(wrapper, function, updated=())
        if not self.__doc__:
            self.__doc__ = f"{self.__name__}, as one program that XLA compiles for each signature of its arguments."
        self.function = function
        self._bound: OrderedDict[int, Self] = OrderedDict()
        self._is_told = False

    def __repr__(self) -> str:
        return (
            f"<xla({self.__name__}) of {getattr(self.function, '__module__', None) or type(self.function).__module__}>"
        )

    def __get__(self, instance: Any, kind: type | None = None) -> Self:
        """What this is in a class: the method of an object, of a class, or a static one, compiled."""
        bind = getattr(self.function, "__get__", None)
        if bind is None:
            return self
        bound = bind(instance, kind)
        if bound is self.function:
            return self
        # The same for all objects, if it knows none of them.
        key = 0 if isinstance(bound, FunctionType) else id(getattr(bound, "__self__", instance))
        with self._lock:
            found = self._bound.get(key)
            if found is None:
                make, given = self.recipe(bound)
                found = self._bound[key] = make(*given)
                if len(self._bound) > OBJECTS:
                    self._bound.popitem(last=False)
                    self._many_objects()
            self._bound.move_to_end(key)
            return found

    def _many_objects(self) -> None:
        """Tell, once, that a method is compiled anew again and again."""
        if not self._is_told:
            warn(
                f"{self.__name__} has been compiled for {OBJECTS} objects, and is compiled anew for each other one"
                f"\n  remedy: pass what differs between objects as arguments, or the object itself: "
                f"bridge.xla(Class.{self.__name__})(object, ...)"
            )
        self._is_told = True

    def recipe(self, function: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (function, self.settings.index_mode, self.cache, self.settings.memory)
