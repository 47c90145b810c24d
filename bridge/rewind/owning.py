"""How memory enters a context: copies of the caller's arrays, and arrays that the program makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.arrays.buffer import Buffer, wrap
from bridge.errors import AliasError, ArgumentError
from bridge.position import here, resolve
from bridge.rewind.places import Entered, Root

if TYPE_CHECKING:
    from bridge.rewind.context import Context


class Owning:
    """Makes roots that no operation made."""

    outer: Context | None
    compiles: Any
    roots: list[Root]
    originals: list[tuple[np.ndarray, Entered]]

    def check_usable(self) -> None:
        """Raise unless the context is open, in this thread."""
        raise NotImplementedError

    def buffer(self, array: Any, active: bool = True) -> Any:
        """A tracked copy of `array`: a Buffer of the same shape and dtype, on a root of its own.

        Parameters
        ----------
        array : float, complex, integer or boolean array (or number), copied.
        active : whether gradients may be asked of it; of integers and booleans they never are.
        """
        self.check_usable()
        if getattr(getattr(array, "place", None), "context", None) is self:
            return array.copy()
        value = self.own_copy(array)
        return Buffer(value, self.entering(value, active))

    def entering(self, value: Any, active: bool) -> Root:
        """A root for memory that came from outside."""
        root = Entered(self, value, active and value.dtype.kind in "fc")
        self.roots.append(root)
        return root

    def own_copy(self, array: Any) -> Any:
        """Memory of this context that holds a copy of `array`."""
        if hasattr(array, "place"):
            return np.copy(array)
        value = np.array(array, copy=True, order="K", subok=False)
        if value.dtype.kind not in "fciub":
            raise ArgumentError(
                f"an array of dtype {value.dtype} cannot be tracked",
                where=resolve(here()),
                remedy="use a float, complex, integer or boolean array",
            )
        return value if self.outer is None else self.outer.constant_buffer(value)

    def constant_buffer(self, array: Any) -> Any:
        """A Buffer on the fresh memory `array`, of which no gradient is asked."""
        value = array if self.outer is None or hasattr(array, "place") else self.outer.constant_buffer(array)
        return Buffer(value, Root(self, value, False))

    def blank(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A Buffer of zeros, of which no gradient is asked."""
        if self.outer is None:
            return self.constant_buffer(np.zeros(shape, dtype))
        value = self.outer.blank(shape, dtype)
        return Buffer(value, Root(self, value, False))

    def inactive(self, value: Any) -> Any:
        """A value through which no gradient passes."""
        return wrap(self, value, False)

    def unpulled(self, function: Any, value: Any, inputs: Any, args: Any, kwargs: Any = None) -> Any:
        """The result of a function through which no gradient passes."""
        return wrap(self, value, False)

    def left(self, tracked: Any, how: str) -> None:
        """Take note that the plain value of a tracked one was handed out; the contexts below are told."""
        if hasattr(tracked.value, "place"):
            tracked.value.place.context.left(tracked.value, how)

    def check_original(self, array: np.ndarray) -> None:
        """Raise if a plain operand is the caller's original of an argument that the function has written."""
        if self.compiles is not None:
            self.compiles.captured.add(array)
        for original, root in self.originals:
            if root.written and np.may_share_memory(array, original):
                raise AliasError(
                    f"an array of shape {array.shape} is read under a global or captured name after the function "
                    "wrote into the argument that shares its memory: the name still holds the old values",
                    where=resolve(here()),
                    remedy="read the argument itself, or capture a copy made before the call",
                )
