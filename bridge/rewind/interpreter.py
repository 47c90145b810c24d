"""The one interface between arrays and who interprets a program: what arrays report, and to whom.

A program meets arrays. Whatever it does to them, they report as an *event* to the context that they belong to: a
function was called, memory was copied, written, updated. A `Call` says what was called with what; the context answers
with the arrays that the program goes on with. Contexts that differentiate, carry tangents, compile or watch are
`Interpreter`s alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from bridge.errors import BridgeError
from bridge.rewind.memory import Home, Memory
from bridge.signatures import operation_name

Place = TypeVar("Place", contravariant=True)

NO_KEYWORDS: Mapping[str, Any] = {}


class Call:
    """A function and its operands, as the context that interprets the call gets them.

    Parameters
    ----------
    function : what is called.
    rule : how cotangents pass through it; None where none can (comparisons, `argmax`).
    args : the operands' values: memory of this context as it is, everything else as it was given.
    inputs : the places of those that carry a gradient, None for the others; a list for a sequence of arrays.
    kwargs : keywords that hold no tracked value.
    plain : positions of plain arrays, which the program may change later.
    names : the names of the last operands, where they were given by keyword.
    """

    __slots__ = ("args", "function", "inputs", "kwargs", "names", "plain", "rule")

    def __init__(
        self,
        function: Any,
        rule: Any,
        args: tuple[Any, ...],
        inputs: tuple[Any, ...],
        kwargs: Mapping[str, Any] = NO_KEYWORDS,
        plain: tuple[int, ...] = (),
        names: tuple[str, ...] = (),
    ) -> None:
        self.function = function
        self.rule = rule
        self.args = args
        self.inputs = inputs
        self.kwargs = kwargs
        self.plain = plain
        self.names = names

    @property
    def name(self) -> str:
        """What messages call the function."""
        return operation_name(self.function) if self.rule is None else self.rule.name

    @property
    def wanted(self) -> tuple[int, ...]:
        """Positions of the operands that carry a gradient."""
        inputs = self.inputs
        if len(inputs) == 2:
            return _WANTED[(inputs[0] is not None) + 2 * (inputs[1] is not None)]
        return tuple([k for k, place in enumerate(inputs) if place is not None])

    def spelled(self, operands: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """`operands`, one for each of `args`, as the function's positional and keyword arguments."""
        count = len(operands) - len(self.names)
        return operands[:count], {**self.kwargs, **dict(zip(self.names, operands[count:], strict=True))}

    def on(self, args: tuple[Any, ...], rule: Any = None) -> Call:
        """The same call with other operands, or another rule."""
        return Call(self.function, rule or self.rule, args, self.inputs, self.kwargs, self.plain, self.names)


_WANTED: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (0, 1))


class Interpreter(Protocol[Place]):
    """Who makes sense of a program: the events that arrays report, each answered before the program goes on.

    Values and places are those of the interpreter's own level: under nested differentiations, values are Buffers of the
    interpreter outside. `Place` is the type of its places.
    """

    def result(self, call: Call, value: Any) -> Any:
        """`call` was run and gave the fresh `value`; returns it as the program gets it."""

    def copied(self, value: Any, source: Place) -> Any:
        """What lies at `source` was copied, perhaps into another dtype; returns the copy as the program gets it."""

    def write(self, target: Any, key: Any, place: Place, value: Any, source: Place | None) -> None:
        """Assign `value` to `target[key]`, which lies at `place`; `source` is where the value lies, if active."""

    def update(self, call: Call, target: Any, mask: Any, run: Callable[[tuple[Any, ...]], Any]) -> None:
        """Run a ufunc by `run(args)`, with `target` as its `out`, under a mask if there is one."""

    def scatter_add(self, call: Call, target: Any, key: Any) -> None:
        """Run `np.add.at` or `np.subtract.at` of the call's operand: an index named twice counts twice."""

    def mutated(self, call: Call, targets: tuple[Any, ...], saved: tuple[Any, ...]) -> None:
        """`call` of a mutating rule was run and wrote into `targets`, which held `saved` before."""

    def left(self, tracked: Any, how: str) -> None:
        """The plain value of a tracked one was handed out."""


class AnyContext(Protocol):
    """The attributes of a context that roots, places, arrays and transforms use, in addition to its events."""

    # Nesting level, thread and execution mode.
    level: int
    thread: int | None
    home: Home
    memory: Memory
    engine: Any

    @property
    def outer(self) -> AnyContext | None:
        """The context around it."""

    # Nesting, and errors that the transform raises again at the end.
    nested: bool
    remembers: bool
    escaped: BridgeError | None
    written: dict[float, None]

    @property
    def is_walked(self) -> bool:
        """Whether a sweep goes on, of this context or of one around it."""

    # Captured arrays that get tracked values, copies of constants, and the caller's arrays.
    loan: Any
    snapshots: Any
    originals: list[tuple[Any, Any]]

    # Whether a checkpointed call runs, and whether NumPy writes for it.
    checkpointing: bool
    busy: bool

    # Backward pass: roots whose cotangents are kept, and roots whose shadows were written.
    asked: dict[Any, Any]
    touched: Any

    def blank(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A Buffer of zeros, of which no gradient is asked."""

    def constant_buffer(self, array: Any) -> Any:
        """A Buffer on fresh memory, of which no gradient is asked."""

    def buffer(self, array: Any, active: bool = True) -> Any:
        """A tracked copy of `array`."""

    def gradient(self, y: Any, wrt: Any, cotangent: Any = None) -> Any:
        """Gradients of `y` with respect to the Buffers `wrt`."""


EVENTS = ("result", "copied", "write", "update", "scatter_add", "mutated")
"""The events that a listener hears, by the names of an interpreter's methods."""


class Listener(Protocol):
    """Hears the events of a context before the context answers them, and changes nothing."""

    def heard(self, event: str, *what: Any) -> None:
        """`event` is the name of an `Interpreter`'s method, `what` its arguments."""


class Arrays:
    """What the rewind asks of the arrays above it; `bridge.arrays` fills it in when it is imported."""

    buffer: type[Any]
    # A Buffer on memory that another one shows as well.
    shown: Callable[[Any, Any], Any]
    scalar: type[Any]
    weak_scalar: type[Any]
    # Arrays whose length is known only when a compiled program runs; there are none where nothing is compiled.
    bounded: type[Any] = type("Nothing", (), {})
    # Arrays of pandas and xarray whose numbers are tracked.
    labelled: type[Any] = type("Nothing", (), {})
    # Whether there ever were any.
    has_labels = False
    # What computes an operation of a tracked value and an array of these libraries; None for any other operand.
    combine: Callable[[Any], Callable[..., Any] | None] = staticmethod(lambda operand: None)
    call: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    # What moves or makes memory, by no rule: functions that the core handles itself.
    handled: Mapping[Any, Any] = {}
    # Reads the rule book, before the first context opens.
    read_rules: Callable[[], None] = staticmethod(lambda: None)
    call_mutating: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

    # Whether a class is a subclass of np.ndarray, whose arrays `view` makes.
    of_subclass: Callable[[Any], bool] = staticmethod(lambda kind: False)
    view: Callable[..., Any]
    # Operands with twins in place of plain masked arrays and matrices; the same tuple if there are none.
    met: Callable[[tuple[Any, ...]], tuple[Any, ...]] = staticmethod(lambda operands: operands)
    # What substitutes a subclass of np.ndarray where its arrays are tracked.
    twin_of: Callable[[Any], Any] = staticmethod(lambda kind: kind)

    # What stands for a plain array that a tracked value is written into; None if the array stays what it is.
    own_target: Callable[[Any, Any], Any] = staticmethod(lambda value, target: None)
    # A tracked number as one of Python's: what `item` and `tolist` give.
    own_number: Callable[[Any], Any]
    weak: Callable[..., Any]
    # NumPy with functions that make tracked arrays.
    namespace: Any = None
    # What stands for a plain array that was lent to a context; anything else as it is.
    seen: Callable[[Any], Any] = staticmethod(lambda value: value)


ARRAYS = Arrays()

CURRENT: ContextVar[AnyContext | None] = ContextVar("bridge.context", default=None)


def current_context() -> AnyContext | None:
    """The innermost context that is open in this thread, or None."""
    context = CURRENT.get()
    return context if context is None or context.thread is not None else still_open(context)


def still_open(context: AnyContext | None) -> AnyContext | None:
    """The innermost context from this one outwards that has not been closed.

    One may be closed before those inside of it, or by another thread, where a generator holds it that is dropped.
    """
    while context is not None and context.thread is None:
        context = context.outer
    return context
