"""The life of a context: entered once, nested, of one thread, never left by a value that would lose its gradient."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bridge.errors import BridgeError, ContextError, EscapeError
from bridge.position import here, resolve
from bridge.rewind.interpreter import CURRENT, current_context
from bridge.rewind.memory import ON_ARRAYS, ArrayMemory, Memory, OuterMemory, grounded
from bridge.rewind.values import is_abstract, known, needs_value, settled

if TYPE_CHECKING:
    from bridge.rewind.context import Context


class Lifetime:
    """When a context may be used, and by whom."""

    engine: Any = None
    # Whether another differentiation ran inside of it.
    nested = False
    zeros: str

    def __init__(self) -> None:
        self.outer: Context | None = None
        self.level = -1
        self.memory: Memory = ArrayMemory()
        self.home = ON_ARRAYS
        self.escaped: BridgeError | None = None
        self.thread: int | None = None
        self._maker = get_ident()
        self._sweeping = False

    def __enter__(self) -> Self:
        if self.level >= 0:
            raise ContextError("this context was entered before", remedy="make a new one: a context is used once")
        self.outer = current_context()
        self.level = 0
        if self.outer is not None:
            self.level = self.outer.level + 1
            self.outer.nested = self.outer.nested or self.zeros == "strong"
            self.memory = OuterMemory(self.outer)
            self.home = self.outer.home
            self.engine = self.home.engine or self.engine
        self.thread = self._maker = get_ident()
        CURRENT.set(self)  # type: ignore[arg-type]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if CURRENT.get() is self:
            CURRENT.set(self.outer)
        self.thread = None
        if self.escaped is not None and error is not self.escaped:
            raise self.escaped from error

    def check_usable(self) -> None:
        """Raise if this is another thread, or if the context is not open."""
        if self.thread != get_ident():
            self._complain()

    def must_differentiate(self) -> None:
        """Say that what comes means something else where a context differentiates; a tape refuses it."""

    def _complain(self) -> None:
        where = resolve(here())
        if self.thread is None:
            raise ContextError(
                "a Buffer is used outside its context, which has closed"
                if self.level >= 0
                else "this context was not entered",
                where=where,
                remedy="use it inside `with Context() as ctx:`, return values from the function that is "
                "differentiated, or take them out with bridge.detach; do not keep Buffers in globals or closures",
            )
        raise ContextError(
            f"a Buffer of a context of thread {self.thread} is used in thread {get_ident()}",
            where=where,
            remedy="differentiate inside each thread: a context belongs to the thread that made it",
        )

    @contextmanager
    def reopened(self) -> Iterator[None]:
        """Open again, for a replay during the backward pass."""
        before, thread = CURRENT.get(), self.thread
        CURRENT.set(self)  # type: ignore[arg-type]
        self.thread = self._maker
        try:
            yield
        finally:
            self.thread = thread
            CURRENT.set(before)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Run pulls one level out, and only in this context's thread."""
        if get_ident() != self._maker:
            raise ContextError(
                f"a gradient of a context of thread {self._maker} is asked in thread {get_ident()}",
                remedy="call the pull in the thread that ran the function",
            )
        if self._sweeping:
            raise ContextError("a gradient is asked of a context during its own backward pass")
        before = CURRENT.get()
        self._sweeping = True
        CURRENT.set(self.outer)
        try:
            with np.errstate(all="ignore"):
                yield
        finally:
            CURRENT.set(before)
            self._sweeping = False


def escape(tracked: Any, how: str) -> Any:
    """The plain value of a tracked one that is being turned into an untracked number or array.

    Integers and booleans may leave, and so may floats that do not depend on what is differentiated.
    Anything else is an EscapeError, which the context remembers, so that code that swallows it cannot hide it.
    """
    place = tracked.place
    place.context.check_usable()
    spelled = known(tracked) if is_abstract(tracked) else None
    if spelled is None and is_abstract(tracked):
        raise _noted(tracked, needs_value(tracked, how, _REMEDIES.get(how.partition("(")[0])))
    if spelled is None and (place.active or (hasattr(tracked.value, "place") and _active_below(tracked.value))):
        raise remember(tracked, how)
    place.context.left(tracked, how)
    plain = grounded(tracked) if spelled is None else spelled
    if isinstance(plain, np.ndarray):
        plain = plain.copy()
        plain.flags.writeable = False
    return plain


def remember(tracked: Any, how: str) -> EscapeError:
    """The error of an escape, noted in every context whose gradient would be lost."""
    error = EscapeError(
        f"a tracked value of shape {tracked.shape} and dtype {tracked.dtype} leaves tracking through {how}: "
        f"its gradient would be lost (value {_short(grounded(tracked))})",
        where=resolve(here()),
        remedy="keep it tracked: np.stack([...]) for np.array([...]), np.zeros_like(x), np.empty(n, like=x) or "
        "`import bridge.numpy as np` for arrays that are written into, np.* for math.*; "
        "or let it go on purpose with bridge.detach(value)",
    )
    return _noted(tracked, error)


def _noted(tracked: Any, error: BridgeError) -> Any:
    value = tracked
    while hasattr(value, "place"):
        if value.place.context.escaped is None:
            value.place.context.escaped = error
        value = value.value
    return error


def detach(value: Any) -> Any:
    """The plain NumPy value of a tracked one, without its gradient; anything else as it is.

    Accepts Buffers, Scalars, and tuples, lists and dicts of them. Arrays are copies.
    """
    if isinstance(value, (tuple, list)):
        parts = [detach(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: detach(part) for key, part in value.items()}
    if not hasattr(value, "place"):
        return value
    value.place.context.check_usable()
    value.place.context.must_differentiate()
    value.place.context.left(value, "bridge.detach")
    plain = settled(value)
    if is_abstract(plain):
        return plain
    return plain.copy() if hasattr(plain, "copy") else plain


def _active_below(value: Any) -> bool:
    while hasattr(value, "place"):
        if value.place.active:
            return True
        value = value.value
    return False


def _short(plain: Any) -> str:
    return np.array2string(np.asarray(plain), precision=4, threshold=6, edgeitems=2)


_TRACKED = (
    "keep it tracked: np.stack([...]) for np.array([...]), np.zeros_like(x) or `import bridge.numpy as np` for arrays "
    'that are written into, np.* for math.*; or use engine="native"'
)
_REMEDIES = {
    "np.asarray": _TRACKED,
    "float": _TRACKED,
    "complex": _TRACKED,
    "an index": "index a tracked array: np.array(table) of `import bridge.numpy as np`, or an argument; plain ones and "
    'lists must be indexed by plain integers; or use engine="native"',
}
