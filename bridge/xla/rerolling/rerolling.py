"""Python loops that tracing has unrolled, as loops again: where that is provably the same program.

The function runs on a tape first. If segments of the tape repeat themselves, the tape with repeats in their place is
run back as a NumPy program, on a second tape with Python's loops; only if that one is the same, operation by
operation, it takes the place of the function. In all doubt the function is left as it is.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

from bridge.code_position import Position, resolve
from bridge.errors import BridgeWarning
from bridge.rewind.interpreter import current_context
from bridge.rewind.roots import Root, serial_now
from bridge.trees import leaves_of, rebuilt
from bridge.xla.loops.dry_runs import tried
from bridge.xla.rerolling.encoding import Notes, NotRepeatable, Reader, Writer
from bridge.xla.rerolling.repeats import with_repeats
from bridge.xla.rerolling.replaying import Player, in_python
from bridge.xla.rerolling.tape import Tape

LONG = 200
"""Operations of a program after which it is traced again, with loops instead of what repeats itself."""
MANY = 2000
"""Operations of a program that are worth a warning."""


class Unrolled(BaseException):
    """A program has become long; never seen outside. Not an Exception: a program must not swallow it."""


class Rerolling:
    """Counts the operations of a traced program, and puts loops in place of what repeats itself."""

    def __init__(self, state: str) -> None:
        # "short": nothing is done yet; "rolling": functions are run from tapes; "plain": they stay as they are.
        self.state = state
        self.operations = 0
        self.lines: Counter[Position] = Counter()

    def count(self) -> None:
        """Note an operation that XLA will have to compile."""
        self.operations += 1
        if self.state == "short" and self.operations > LONG:
            raise Unrolled

    def function(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """What to run in place of `f`."""
        if self.state != "rolling":
            return f

        def run(*args: Any, **kwargs: Any) -> Any:
            context = current_context()
            leaves, structure = leaves_of((args, kwargs))
            reels = _roots(context, leaves)
            found = None if reels is None else _Recording(context, f, leaves, structure, reels, self.lines).found
            if found is None:
                return f(*args, **kwargs)
            try:
                return found([leaves[k] for k in reels or ()])
            except (NotRepeatable, Exception) as error:
                raise Unrolled from error

        return run

    def warn(self) -> None:
        """Tell the user of a program that has stayed long."""
        if self.operations <= MANY:
            return
        most = self.lines.most_common(1)
        where = f", most of them from {resolve(most[0][0])}" if most else ""
        warnings.warn(
            f"a program of {self.operations} operations is compiled{where}: compiling takes long, and what a Python "
            "loop repeats is repeated in the program\n  remedy: write the loop with bridge.fori_loop",
            BridgeWarning,
            stacklevel=2,
        )


def _roots(context: Any, leaves: list[Any]) -> list[int] | None:
    """Which leaves are tracked, if each has memory of its own; else None."""
    found = [k for k, leaf in enumerate(leaves) if hasattr(leaf, "place")]
    places = [leaves[k].place for k in found]
    if any(not isinstance(place, Root) or place.context is not context for place in places):
        return None
    return found if len({id(place) for place in places}) == len(places) else None


class _Recording:
    """A function on a tape, and what runs in its place: `found`, or None."""

    found: Callable[[list[Any]], Any] | None = None

    def __init__(
        self, context: Any, f: Callable[..., Any], leaves: list[Any], structure: Any, reels: list[int],
        lines: Counter[Position],
    ) -> None:  # fmt: skip
        self.leaves, self.structure, self.reels = leaves, structure, reels
        self.notes = Notes(serial_now())
        self.items: list[Any] = []
        self.container: Any = None
        self.results: list[Any] = []
        tapes: list[Tape] = []
        try:
            written = tried(context, lambda i: self._look(f, tapes))
        except (NotRepeatable, Exception):
            # What an error means is said by the function itself, which runs next.
            written = [None]
        if written or self.found is None:
            self.found = None
            lines.update(entry.position for tape in tapes[:1] for entry in tape.entries)
        else:
            lines.update(item.position for item in self.items)

    def _look(self, f: Callable[..., Any], tapes: list[Tape]) -> None:
        tape = Tape(self.notes)
        tapes.append(tape)
        with tape:
            _, leaves = self._taken(tape)
            args, kwargs = rebuilt(self.structure, leaves)
            found, self.container = leaves_of(f(*args, **kwargs))
            self.results = [self._result(tape, leaf) for leaf in found]
        if tape.escaped is not None:
            # An error that the program swallowed: it must not stay hidden.
            raise NotRepeatable
        used = {number for _, numbers in self.results for number in numbers}
        self.items = with_repeats(tape.entries, used, tape.looks, self.notes)
        if len(self.items) == len(tape.entries):
            return
        if self._is_same(tape):
            self.found = self._played

    def _taken(self, tape: Tape) -> tuple[list[Any], list[Any]]:
        leaves = list(self.leaves)
        taken = [tape.taken(leaves[k]) for k in self.reels]
        for k, stand_in in zip(self.reels, taken, strict=True):
            leaves[k] = stand_in
        return taken, leaves

    def _result(self, tape: Tape, leaf: Any) -> tuple[Any, tuple[int, ...]]:
        if not hasattr(leaf, "place"):
            return leaf, ()
        writer = Writer(tape, self.notes)
        note = writer.operand(leaf, False)
        return (note, tuple(writer.integers)), tuple(writer.roots)

    def _is_same(self, tape: Tape) -> bool:
        """Whether the items, run with Python's loops, are the tape again."""
        other = Tape(self.notes)
        with other:
            taken, _ = self._taken(other)
            outputs = self._run(Player(self.notes, in_python), taken)
            results = [self._result(other, leaf) for leaf in leaves_of(outputs)[0]]
        both = zip(tape.entries, other.entries, strict=False)
        return (
            len(tape.entries) == len(other.entries)
            and all(
                a.sign == b.sign and a.integers == b.integers and a.roots == b.roots and a.data == b.data
                for a, b in both
            )
            and all(_alike(a, b) for a, b in zip(self.results, results, strict=True))
        )

    def _played(self, arguments: list[Any]) -> Any:
        return self._run(Player(self.notes), arguments)

    def _run(self, player: Player, arguments: list[Any]) -> Any:
        memory: dict[Any, Any] = dict(enumerate(arguments))
        player.run(self.items, memory)
        outputs = []
        for result, numbers in self.results:
            if numbers:
                note, integers = result
                result = Reader(self.notes, list(integers), [memory[number] for number in numbers], []).operand(note)
            outputs.append(result)
        return rebuilt(self.container, outputs)


def _alike(a: Any, b: Any) -> bool:
    return a[1] == b[1] and (a[0] == b[0] if a[1] else a[0] is b[0])


__all__ = ["LONG", "MANY", "Rerolling", "Unrolled"]
