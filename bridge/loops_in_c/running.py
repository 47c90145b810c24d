"""Running a loop in C in the place of Python: what it begins with, what it leaves, and its entry in the log."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import perf_counter, thread_time
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from bridge.arrays.buffer import Buffer, Scalar, WeakScalar
from bridge.arrays.tracked import is_tracked
from bridge.code_position import here, resolve
from bridge.errors import MemoryBoundError
from bridge.loops_in_c.aliasing import identity_of
from bridge.loops_in_c.appended import Appended, AppendingRuns
from bridge.loops_in_c.building import Library, Run
from bridge.loops_in_c.compiling import CompilerError, ForkSafeLock
from bridge.loops_in_c.derivative import planned
from bridge.loops_in_c.entry import LoopEntry
from bridge.loops_in_c.expressions import Read, referred
from bridge.loops_in_c.functions import DERIVED
from bridge.loops_in_c.ir import Array, Program, Var
from bridge.loops_in_c.kinds import BY_DTYPE, BY_TYPE, KINDS
from bridge.loops_in_c.last_items import item_of, last_items, lists_read, with_last_items
from bridge.loops_in_c.objects import ABSENT, Path, Step, at, bound, is_same_kind, kind_of, text_of
from bridge.loops_in_c.outermost import FUNCTIONS, Outermost
from bridge.loops_in_c.reading import Reader
from bridge.loops_in_c.replaying import schedule_of, size_of
from bridge.loops_in_c.stopping import Branch, Reason, straight, without
from bridge.loops_in_c.swapping import SWAPPED, Swap, swap_of
from bridge.loops_in_c.tangent import tangent_of, with_tangents
from bridge.loops_in_c.values import Elements, Known, NotCompiled, Number, Undescribed, alike, bound_flag
from bridge.options import as_text
from bridge.rewind.checkpoint_schedule import Placement, Size
from bridge.rewind.forward import ForwardContext, tangent_at
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.log import Overwritten, is_bounded
from bridge.rewind.memory import grounded
from bridge.rewind.roots import Root
from bridge.rulebook import book
from bridge.source import looping
from bridge.source.finding import Unread
from bridge.source.iterating import Iteration
from bridge.source.looping import READER, SITES, Loop, Progress
from bridge.source.reading import source_of
from bridge.source.targets import own, touched

_SMALL = 1 << 31


@dataclass
class Compiled:
    """A loop that was compiled for values of certain types."""

    library: Library
    names: dict[str, Number | Elements | Known]
    written: list[str]
    read: list[Read]
    stored: list[str]
    appending: AppendingRuns
    listed: list[Path]
    held: list[Any] = field(default_factory=list)


@dataclass
class Site:
    """One loop of the program, and what became of it: `count` times, it was compiled.

    `stops` are the branches that are not compiled, with the reasons, and `stopping` is the loop without them.

    Attributes
    ----------
    paths : the paths to slots, for each set of classes of the objects that the loop begins with.
    roots : objects that no variable leads to, such as those of other modules, by the names of their paths.
    """

    loop: Loop
    used: list[str]
    bound: set[str]
    swap: Swap | None
    lists: frozenset[str]
    with_items: dict[frozenset[str], Site] = field(default_factory=dict)
    paths: dict[Any, dict[Path, None]] = field(default_factory=dict)
    roots: dict[str, Callable[[], Any]] = field(default_factory=dict)
    made: dict[Any, Compiled | tuple[str, int] | tuple[str, int, str]] = field(default_factory=dict)
    count: int = 0
    stops: dict[Branch, Reason] = field(default_factory=dict)
    stopping: Site | None = None

    def stop_at(self, error: NotCompiled) -> bool:
        """Let compiled code stop at the branch that is not compiled. Returns whether it is a new one."""
        if error.branch is None or error.branch in self.stops or len(self.stops) >= _MOST_STOPS:
            return False
        self.stops[error.branch] = error.reason, error.line, error.file
        self.stopping = _site(self.loop._replace(node=without(self.node, "", self.stops)))
        self.stopping.stops = self.stops
        return True

    def stop_nowhere(self) -> None:
        """Read all branches again: variables may have other types meanwhile."""
        self.stops, self.stopping = {}, None

    @property
    def node(self) -> Any:
        """The loop as it is written."""
        return self.loop.node

    @property
    def live(self) -> frozenset[str]:
        """The variables that may be read when it is over."""
        return self.loop.live


_sites: dict[int, Site] = {}
_MOST_STOPS = 12
"""The largest number of branches of one loop that are not compiled."""
_MOST = 16
"""How often one loop is compiled, for other types each time."""
_PLACES = 400
"""How many places of objects one loop reads or sets."""
_lock = ForkSafeLock()


def site_of(number: int) -> Site:
    """What is known of a loop."""
    site = _sites.get(number)
    if site is None:
        site = _sites[number] = _site(SITES[number])
    return site


def _site(loop: Loop) -> Site:
    loop = loop._replace(node=straight(loop.node))
    apart = (*loop.node.orelse, getattr(loop.node, "iter", None))
    parts = [one for one in ast.iter_child_nodes(loop.node) if one not in apart]
    names = {one.id for part in parts for one in ast.walk(part) if isinstance(one, ast.Name)}
    assigned = set().union(*map(looping.bound, parts))
    return Site(loop, sorted(names), assigned, swap_of(loop.node), lists_read(loop.node))


def obstacle(context: Any) -> str | None:
    """Why a differentiation leaves its loops to Python; None if it does not."""
    if context.checkpointing:
        return "it is inside a checkpoint"
    if np.geterr()["under"] != "ignore":
        return "NumPy is to tell of numbers that become too small"
    ruled = book.OF_USERS & DERIVED
    if ruled:
        return f"{min(one.__name__ for one in ruled)} has a rule of the user's"
    if context.handed_out or context.merged or context.followers is not None:
        return "code that is not read has got an array"
    return None


def beginning(context: Any, site: Site, iterable: Any, frame: FrameType) -> Beginning:
    """The loop with the values that it begins with; NotCompiled if it does not run in C."""
    if isinstance(site.node, ast.For) and type(iterable) not in (range, Iteration):
        raise NotCompiled("it goes over something else than a range or an array", site.node.lineno)
    site = site.stopping or site
    names, own = frame.f_locals, _own_names(frame)
    for name in sorted(site.bound - own):
        raise NotCompiled(f"{name} is not a local variable, and it is assigned", site.node.lineno)
    live = {name: names[name] for name in site.used if name in names}
    for name in site.used:
        value = frame.f_globals.get(name)
        if name not in own and name not in live and (type(value) in _VARY or _is_root(value)):
            live[name] = value
    items = last_items(site.lists, live) if site.lists else {}
    if items:
        lists = frozenset(items)
        if lists not in site.with_items:
            site.with_items[lists] = _site(site.loop._replace(node=with_last_items(site.node, lists)))
            site.with_items[lists].stops = site.stops
        site = site.with_items[lists]
        live |= {item_of(name): one for name, one in items.items()}
    return Beginning(context, site, live, iterable, frame, frozenset(items))


def _is_root(value: Any) -> bool:
    """Whether a global variable may hold another object of the class when the loop runs again."""
    return bool(kind_of(value)) and type(value) is not FunctionType


class Beginning:
    """One loop that begins.

    Attributes
    ----------
    done, seconds : the iterations that compiled code has run, and the time that this has taken.
    has_stopped : whether it has stopped before the end of the loop.
    """

    done = 0
    seconds = began = 0.0
    has_stopped = False

    def __init__(
        self,
        context: Any,
        site: Site,
        live: dict[str, Any],
        iterable: Any,
        frame: FrameType,
        lists: frozenset[str],
    ) -> None:
        self.context, self.site, self.iterable, self.frame = context, site, iterable, frame
        self.lists = lists
        self.is_forward = isinstance(context, ForwardContext)
        self.outermost = None if iterable is None else Outermost(iterable)
        self.begun = live if self.outermost is None else {**live, **self.outermost.live}
        self._describe()

    def is_ready(self) -> bool:
        """Whether compiled code for these values is there; else it is being compiled. NotCompiled if there is none."""
        return self._compiled().library.job.is_ready()

    def run(self) -> Progress | None:
        """Run the loop; None if Python is to run it. It waits for the compiler."""
        for _ in range(3):
            found = self._compiled()
            try:
                found.library.functions  # noqa: B018
            except CompilerError as error:
                reason = self.site.made[self.key] = f"it could not be compiled: {error}", self.site.node.lineno
                raise NotCompiled(*reason) from None
            if not self._lend(found):
                begun, self.began = thread_time(), perf_counter()
                try:
                    return self._run(found)
                finally:
                    self.seconds = thread_time() - begun
            self._describe()
        raise NotCompiled("arrays that it writes cannot be lent", self.site.node.lineno)

    def _describe(self) -> None:
        """What the names and the slots hold: arrays with their memory, numbers, objects."""
        self._find_slots()
        self.arrays: dict[str, Array] = {}
        self.values: dict[str, np.ndarray] = {}
        self.numbers: dict[str, Any] = {}
        self.objects: dict[str, Known] = {}
        kinds: dict[str, Any] = {}
        key = self.slot_key
        memory: dict[Any, str] = {}
        plain = _overlapping(self.live)
        for name, value in self.live.items():
            kind = type(value)
            if is_tracked(value) and value.place.context is not self.context:
                raise NotCompiled(f"{name} is of another differentiation", self.site.node.lineno)
            if is_tracked(value) and value.place.top is not value.place.root:
                # Whether it carries a gradient depends on the order of reads and writes.
                raise NotCompiled(f"{name} is a second name of a differentiated argument", self.site.node.lineno)
            if kind is Buffer and value.dtype in BY_DTYPE and 1 <= value.ndim <= 6:
                label = memory.setdefault(value.place.root, f"m{len(memory)}")
                self._array(name, value.value, label, key, self._carries(value))
            elif kind is np.ndarray and value.dtype in BY_DTYPE and 1 <= value.ndim <= 6:
                self.context.check_original(value)
                label = memory.setdefault(plain[name], f"m{len(memory)}")
                self._array(name, value, label, key, False)
            elif kind in (Scalar, WeakScalar) and value.dtype in BY_DTYPE:
                kinds[name] = "fw" if kind is WeakScalar else BY_DTYPE[value.dtype]
                self.numbers[name] = float(grounded(value))
                key.append((name, kind, kinds[name], self._carries(value)))
            elif kind in _NUMBERS and (kind is not int or abs(value) < _SMALL):
                kinds[name] = _NUMBERS[kind]
                self.numbers[name] = value
                key.append((name, kind))
            elif is_tracked(value) or isinstance(value, np.ndarray):
                raise NotCompiled(f"{name} is an array of {value.ndim} axes of {value.dtype}", self.site.node.lineno)
            elif kind_of(value):
                self.objects[name] = Known(value, self.paths.get(name, (name,)))
                key.append((name, "", *map(id, kind_of(value))))
            else:
                self.objects[name] = Known(value)
                key.append((name, id(value)))
        found = self.site.swap
        self.swap = found if found is not None and found.permutations[0].keys() <= self.arrays.keys() else None
        if self.swap is not None:
            kinds[SWAPPED], self.numbers[SWAPPED] = "iw", 0
        over = self.outermost
        self.not_negative = frozenset(() if over is None else over.not_negative)
        self.kinds: Mapping[str, Any] = {**kinds, **self.arrays, **self.objects}
        self.key = (*key, None if over is None else over.key, self.not_negative, self.is_forward)

    def _carries(self, value: Any) -> bool:
        """Whether a tracked value carries a gradient; in forward mode, whether it has a tangent."""
        return bool(value.place.active) and not (self.is_forward and value.place.root.shadow is None)

    def _find_slots(self) -> None:
        """The places of objects that the loop reads or sets."""
        self.live = {name: ARRAYS.seen(value) for name, value in self.begun.items()}
        roots = {name: reference() for name, reference in self.site.roots.items()}
        self.live |= {name: value for name, value in roots.items() if value is not None}
        classes = [(name, *map(id, kind_of(value))) for name, value in self.live.items() if kind_of(value)]
        self.sought = self.site.paths.setdefault(tuple(classes), {})
        self.slots: dict[Path, str] = {}
        self.paths: dict[str, Path] = {}
        self.places: dict[str, tuple[Any, Step]] = {}
        self.slot_key: list[Any] = []
        known: dict[Any, str] = {}
        for path in self.sought:
            owner = self._at(path[:-1])
            found = None if owner is None else at(owner, path[-1])
            if found is None:
                continue
            name = self.slots[path] = known.setdefault(found.place, text_of(path))
            self.slot_key.append((text_of(path), name, found.is_own, found.is_settable, found.value is ABSENT))
            self.paths.setdefault(name, path)
            self.places[name] = owner, path[-1]
            if found.value is not ABSENT:
                self.live[name] = ARRAYS.seen(bound(owner, found))

    def _at(self, path: Path) -> Any:
        """The object at the end of a path; None if there is none."""
        thing = self.live.get(path[0])
        for step in path[1:]:
            found = at(thing, step)
            if found is None or found.value is ABSENT:
                return None
            thing = bound(thing, found)
        return thing

    def _root_of(self, thing: Any) -> str:
        """The name for an object that no variable leads to."""
        roots = self.site.roots
        for name, reference in roots.items():
            if reference() is thing:
                return name
        roots[f"@{len(roots)}"] = referred(thing)
        raise Undescribed

    def _array(self, name: str, value: np.ndarray, label: str, key: list[Any], active: bool) -> None:
        is_packed = value.strides[-1] == value.itemsize
        is_contiguous = value.flags.c_contiguous
        ones = frozenset(axis for axis, extent in enumerate(value.shape) if extent == 1)
        made = Array(
            BY_DTYPE[value.dtype], value.ndim, label, False, is_packed, _is_ordered(value), is_contiguous, ones
        )
        if not value.flags.aligned or value.dtype.byteorder not in "=|":
            raise NotCompiled(f"{name} is not aligned", self.site.node.lineno)
        self.arrays[name], self.values[name] = made, value
        key.append((name, made.kind, made.ndim, label, is_packed, made.is_ordered, is_contiguous, ones, active))

    def _compiled(self) -> Compiled:
        with _lock:
            for _ in range(_PLACES):
                try:
                    return self._compiled_once()
                except Undescribed as new:
                    if new.path:
                        self.sought[new.path] = None
                    self._describe()
            raise NotCompiled(f"it reads more than {_PLACES} attributes", self.site.node.lineno)

    def _compiled_once(self) -> Compiled:
        found = self.site.made.get(self.key)
        if isinstance(found, Compiled) and not all(map(self._is_as_it_was, found.read)):
            found = None
        if found is None:
            if self.site.count >= _MOST:
                raise NotCompiled("what it reads is another thing each time", self.site.node.lineno)
            try:
                found = self._make()
            except NotCompiled as error:
                if error.branch is not None:
                    raise
                # An exception would keep what its frames hold.
                found = error.reason, error.line, error.file
            except RecursionError:
                found = "the stack of calls has no room for reading it", self.site.node.lineno
            except (CompilerError, OSError) as error:
                found = f"it could not be compiled: {error}", self.site.node.lineno
            else:
                self._keep(found)
        if not isinstance(found, Compiled):
            raise NotCompiled(*found)
        return found

    def _keep(self, compiled: Compiled) -> None:
        """Keep a compiled loop as long as the objects are alive that it was compiled for, or their classes."""
        made, key = self.site.made, self.key

        def forget(_: object) -> None:
            made.pop(key, None)

        compiled.held = [
            referred(part, forget) for one in self.objects.values() for part in kind_of(one.value) or (one.value,)
        ]
        made[key] = compiled
        self.site.count += 1

    def _is_as_it_was(self, one: Read) -> bool:
        """Whether what was read when the loop was compiled is the same now."""
        try:
            if one.of is None or isinstance(one.of, dict):
                names = self.frame.f_globals if one.of is None else one.of
                return _same(_looked_up(str(one.name), names, self.site.node.lineno), one.value)
            thing = one.of() if callable(one.of) else self._at(one.of)
            assert isinstance(one.name, Step)
            found = at(thing, one.name)
        except NotCompiled:
            return False
        if found is None or found.is_own is not one.is_own:
            return False
        return is_same_kind(kind_of(found.value), one.kind) if one.kind else _same(found.value, one.value)

    def _make(self) -> Compiled:
        node = self.site.node if self.swap is None else self.swap.loop
        if self.outermost is not None:
            over = self.outermost.expression(node.lineno)
            node = ast.copy_location(ast.For(node.target, over, node.body, []), node)
        else:
            # Python runs the `else` of a loop.
            node = ast.copy_location(ast.While(node.test, node.body, []), node)

        own, frame = _own_names(self.frame), self.frame

        def look(name: str) -> Any:
            if name in own:
                raise NotCompiled(f"{name} is not bound", node.lineno)
            return FUNCTIONS[name] if name in FUNCTIONS else _looked_up(name, frame.f_globals, node.lineno)

        cells = frozenset(self.site.bound.intersection((*frame.f_code.co_cellvars, *frame.f_code.co_freevars)))
        code = _as_written(frame)
        shapes = {name: value.shape for name, value in self.values.items()}
        examples, stops = (shapes, self.numbers), self.site.stops
        reader = Reader(
            self.kinds, self.arrays, look, self.slots, self._root_of, code, cells, self.not_negative, examples, stops
        )
        reader.lists = self.lists
        reader.has_else = bool(self.site.node.orelse)
        program = reader.program(node)
        outputs = self._outputs(reader, program)
        active = {self.arrays[name].memory for name, value in self.live.items()
                  if name in self.arrays and isinstance(value, Buffer) and self._carries(value)}  # fmt: skip
        variables = {name for name, value in self.live.items() if isinstance(value, Scalar) and self._carries(value)}
        variables &= program.variables.keys()
        if self.is_forward:
            program, plan = with_tangents(program, active, variables)
        else:
            plan = planned(program, active, variables)
        read = [one for one in reader.read.values() if one.name not in FUNCTIONS]
        histories = AppendingRuns([one for one, _ in reader.histories.values()])
        library, written = Library(program, plan), sorted(program.written)
        return Compiled(library, outputs, written, read, list(reader.stored), histories, list(reader.lists_read))

    def _lend(self, found: Compiled) -> bool:
        """Replace plain arrays that the loop writes gradients into by Buffers. Returns whether there were any."""
        program, plan = found.library.program, found.library.plan
        lent = False
        self._check_second_names(found)
        self._check_lists(found)
        for name in found.written:
            value = self.live.get(name)
            if program.arrays[name].is_local:
                continue
            over = () if self.outermost is None else self.outermost.arrays
            if any(
                type(self.live[one]) is np.ndarray and self.arrays[one].memory == self.arrays[name].memory
                for one in over
            ):
                raise NotCompiled(f"it goes over {name}, which it writes", self.site.node.lineno)
            if not self.values[name].flags.writeable:
                raise NotCompiled(f"{name} is read-only", self.site.node.lineno)
            if _overlaps_itself(self.values[name]):
                raise NotCompiled(f"{name} has elements in the same place", self.site.node.lineno)
            if type(value) is np.ndarray:
                if program.arrays[name].memory in plan.active_memory:
                    self.live[name] = own(value, self._tracked())
                    lent = True
                else:
                    touched(value)
        return lent

    def _check_second_names(self, found: Compiled) -> None:
        """Refuse a loop that writes and has an argument under another name, which shows each write into that."""
        loan = self.context.loan
        if loan is None or all(found.library.program.arrays[name].is_local for name in found.written):
            return
        for name, value in self.live.items():
            if type(value) is np.ndarray and loan.names.may_show(value):
                raise NotCompiled(f"{name} may be an argument under another name", self.site.node.lineno)

    def _check_lists(self, found: Compiled) -> None:
        """Refuse a loop that changes a list which it also reads, or appends to, by another name."""
        lists = [self._at(one.path) for one in found.appending.histories]
        names = [(name,) for name in self.lists]
        others = [
            self._at(path) for path in (*found.listed, *({*names} - {one.path for one in found.appending.histories}))
        ]
        if len({*map(id, lists)}) < len(lists) or any(one is other for one in lists for other in others):
            raise NotCompiled("a list that it appends to may have another name", self.site.node.lineno)
        read = {id(owner) for owner, step in self.places.values() if step.kind == "numbers"}
        if any(id(self.places[name][0]) in read for name in found.stored):
            raise NotCompiled("it sets items of a list that it also reads as an array", self.site.node.lineno)

    def _tracked(self) -> Any:
        """A value that carries a gradient."""
        return next(x for x in self.live.values() if isinstance(x, (Buffer, Scalar)) and x.place.active)

    def _run(self, found: Compiled) -> Progress | None:
        program, line = found.library.program, self.site.node.lineno
        tracked = {name: x for name, x in self.live.items() if name in self.arrays and isinstance(x, Buffer)}
        written = [name for name in found.written if name in tracked]
        for name in written:
            if self.context.refuses(tracked[name]):
                raise NotCompiled(f"{name} is an argument that may not be written", self.site.node.lineno)
        first = [name for name in written if self.context.is_first_write(tracked[name])]
        for name in written:
            if name in first:
                self.context.make_own(tracked[name])
            else:
                self.context.writable(tracked[name])
        # The first write into a large argument moves it, with all that shows it.
        self.values.update((name, one.value) for name, one in tracked.items())
        printer = found.library.printer
        numbers = {name: value for name, value in self.numbers.items() if name in program.variables}
        numbers |= found.appending.rooms(program)
        windows = self._windows(found, tracked)  # raises before anything is written
        tangents = self._tangents(found, tracked)
        shadows = {root: root.shadow.copy() for root in {tracked[name].place.root for name in windows}
                   if tangents and root.shadow is not None}  # fmt: skip
        numbers |= {tangent_of(name): self._tangent(name) for name in numbers if tangent_of(name) in program.variables}
        values = [(self.values | tangents)[name] for name in printer.given]
        run = Run(found.library, values, numbers, self.context)
        args = dict(self.live)
        log = self.context.log
        discards = is_bounded(log)
        needed = {name for name in self.values if discards or self.arrays[name].memory in found.library.plan.memory}
        plain_ones = {name for name in self.values if type(self.live[name]) is np.ndarray}
        copied = self.context.snapshots.of if discards else np.copy
        before = {name: copied(self.values[name]) for name in plain_ones & (needed | set(found.written))}
        plain = {name: self.values[name] for name in found.written if name not in tracked and name in self.values}
        for name, value in plain.items():
            # The backward pass restores a copy of it, which other names show only if they show all of it.
            others = [self.values[x] for x in needed & plain_ones if self.arrays[x].memory == self.arrays[name].memory]
            if not all(_same_window(one, value) for one in others):
                raise NotCompiled(f"{name} overlaps another array", self.site.node.lineno)

        def restore() -> None:
            for window, saved in windows.values():
                window[...] = saved
            for name, value in plain.items():
                value[...] = before[name]
            for root, saved in shadows.items():
                root.shadow[...] = saved

        def forward(limit: int = 1 << 62) -> int:
            try:
                return run.forward(limit, discards)
            except BaseException:
                # Ctrl-C, or another signal's handler.
                restore()
                raise

        done = forward()
        while found.appending.has_grown(run):
            restore()
            done = forward()
        self.done = done
        if run.frame.full:
            restore()
            raise MemoryBoundError(
                "the values that the backward pass of this loop needs do not fit into the memory of the machine",
                where=resolve(here()),
                remedy='memory="2GB" stores them in a file; bridge.checkpoint stores less, and runs parts again',
            )
        self.has_stopped = not run.frame.finished
        if self.has_stopped:
            restore()
            if done:
                forward(done)
        if done == 0:
            return None
        changed = {tracked[name].place.root for name in windows if name in first and _differs(*windows[name])}
        if any(tracked[name].place.root not in changed for name in first):
            # Only Python knows whether the loop has written into it at all.
            restore()
            return None
        schedule = None
        if discards:
            written_bytes = sum(saved.nbytes for _, saved in windows.values())
            written_bytes += sum(value.nbytes for value in plain.values())
            size = size_of(run, written_bytes, done)
            chosen = schedule_of(size, log.amount // 2)
            if chosen is None:
                restore()
                raise NotCompiled(f"{as_text(size.least)} for its backward pass are more than half of memory=", line)
            schedule = size, chosen
        # In forward mode, `writable` copies an argument before its first write.
        latest = [shown.copy() for shown, _ in windows.values()] if first and self.is_forward else []
        for (shown, saved), _ in zip(windows.values(), latest, strict=False):
            shown[...] = saved
        for name in first:
            self.context.writable(tracked[name])
        for (shown, _), held in zip(windows.values(), latest, strict=False):
            shown[...] = held
        is_over = bool(run.frame.finished) and run.frame.limit > done
        # Plain arrays are not restored before the backward pass: it begins with copies of what they hold now, or held
        # before the loop if it runs that again.
        labels = set() if discards else {program.arrays[name].memory for name in found.written}
        ended = {
            name: self.values[name].copy() if self.arrays[name].memory in labels else before[name]
            for name in plain_ones & needed
        }
        appended, arrays = self._appended(found, run)
        values_left = self._values(found, run, arrays)
        born = {name: one for name, one in values_left.items() if not any(one is other for other in arrays.values())}
        self._log(found, run, tracked, windows, args, ended, born, appended, schedule, done)
        rest: Any = self.iterable
        if rest is not None:
            rest = () if is_over else rest[done:]
        for name in found.stored:
            if name in values_left:
                _set(*self.places[name], values_left.pop(name))
        return Progress({**values_left, **self._swapped(run)}, rest, is_over)

    def _appended(self, found: Compiled, run: Run) -> tuple[list[Appended], dict[int, Any]]:
        """Append to lists what the loop has appended."""
        if not found.appending.histories:
            return [], {}
        lists = {one.name: self._at(one.path) for one in found.appending.histories}
        return found.appending.append(run, self._made, lists, [self.live[name] for name in self.arrays])

    def _swapped(self, run: Run) -> dict[str, Any]:
        """The arrays of names that the loop swaps."""
        if self.swap is None:
            return {}
        names = self.frame.f_locals
        return {name: names[other] for name, other in self.swap.permutations[int(run.number(SWAPPED))].items()}

    def _windows(self, found: Compiled, tracked: Mapping[str, Any]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """For each memory that is written, an array that shows all of it that the loop knows, and a copy of that."""
        program = found.library.program
        windows: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for name in found.written:
            if name not in tracked:
                continue
            memory = program.arrays[name].memory
            others = [x for x in tracked if self.arrays[x].memory == memory]
            shown = tracked[name].value
            if any(not _same_window(tracked[x].value, shown) for x in others):
                shown = _owner(tracked[name])
                if shown is None or any(_owner(tracked[x]) is not shown for x in others):
                    said = "what it goes over" if name.startswith(".") else name
                    raise NotCompiled(f"{said} overlaps another array", self.site.node.lineno)
            if not any(one in windows for one in others):
                windows[name] = shown, shown.copy()
        return windows

    def _tangents(self, found: Compiled, tracked: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The tangents of the arrays, by the names that they have in the compiled program."""
        tangents: dict[str, np.ndarray] = {}
        for name in self.values:
            if tangent_of(name) not in found.library.program.arrays:
                continue
            if name not in tracked:
                raise NotCompiled(f"{name} overlaps an array with a tangent", self.site.node.lineno)
            tangent = tangents[tangent_of(name)] = tracked[name].place.region()
            alike = zip(tangent.shape, tangent.strides, self.values[name].strides, strict=True)
            if any(extent > 1 and one != other for extent, one, other in alike):
                raise NotCompiled(f"{name} and its tangent lie otherwise in memory", self.site.node.lineno)
        return tangents

    def _tangent(self, name: str) -> float:
        """The tangent of a number."""
        tangent = tangent_at(self.live[name].place) if isinstance(self.live[name], Scalar) else None
        return 0.0 if tangent is None else float(tangent)

    def _outputs(self, reader: Reader, program: Program) -> dict[str, Number | Elements | Known]:
        """The variables that the loop binds and the function may read, with what they hold at its end."""
        node = self.site.node
        found: dict[str, Number | Elements | Known] = {}
        live = self.site.live | reader.stored.keys()
        for name in sorted((self.site.bound | reader.stored.keys()) - {*map(item_of, self.lists)}):
            value = reader.names.get(name)
            if isinstance(value, Number) and name in program.variables:
                if value.has_one_type:
                    found[name] = value
                elif name in live:
                    raise NotCompiled(f"{name} may be a number of another type when the loop is over", node.lineno)
            elif isinstance(value, Known):
                found[name] = value
            elif name not in live or (
                isinstance(value, Elements) and name in self.arrays and alike(value, reader.whole(name))
            ):
                # It is not read later, or still bound to the same object.
                continue
            elif isinstance(value, Elements) and value.array in reader.arrays and program.arrays[value.array].is_local:
                if value.array in reader.gapped or (len(value.extents) > 1 and value.array in reader.unordered):
                    raise NotCompiled(f"{name} may lie otherwise in memory when the loop is over", node.lineno)
                found[name] = value
            else:
                raise NotCompiled(f"{name} is a view, or not the same kind of thing in each iteration", node.lineno)
        arrays = {name: value for name, value in found.items() if isinstance(value, Elements)}
        for name, value in arrays.items():
            others = [one for other, one in arrays.items() if other != name]
            if not _is_own(name, value, others, reader):
                raise NotCompiled(f"{name} may be another array, or a view of it, when the loop is over", node.lineno)
        return found

    def _values(self, found: Compiled, run: Run, arrays: Mapping[int, Any]) -> dict[str, Any]:
        """The variables that the loop has bound. `arrays` that are in lists already have identities."""
        plan, program, values = found.library.plan, found.library.program, {}
        for name, value in found.names.items():
            if isinstance(value, Known):
                values[name] = self._at(value.path) if value.path else value.value
                continue
            if isinstance(value, Elements):
                assert value.array is not None
                if name in self.arrays and not run.number(bound_flag(name)):
                    continue
                known = identity_of(value.array)
                if known in program.variables and run.number(known) in arrays:
                    values[name] = arrays[run.number(known)]
                    continue
                active = program.arrays[value.array].memory in plan.active_memory
                tangent = run.local(tangent_of(value.array)) if tangent_of(value.array) in program.arrays else None
                values[name] = self._made(run.local(value.array), False, active, tangent)
                continue
            if value.flag is not None and not run.number(value.flag):
                continue
            number, kind = run.number(name), program.variables[name]
            is_weak = run.number(value.weak.name) if isinstance(value.weak, Var) else value.weak
            dtype = KINDS[kind if is_weak else value.strong or kind].dtype
            moved = tangent_of(name)
            tangent = dtype.type(run.number(moved)) if moved in program.variables else None
            values[name] = self._made(dtype.type(number), bool(is_weak), name in plan.active_variables, tangent)
        return values

    def _made(self, value: Any, is_weak: bool, is_active: bool, tangent: Any = None) -> Any:
        """A value that compiled code has computed, as the program's: an array, or a number, Python's if `is_weak`."""
        if value.dtype.kind != "f" or not is_active:
            return value.item() if is_weak else value
        root = Root(self.context, value, True)
        root.shadow = tangent
        if value.ndim:
            return ARRAYS.buffer(value, root)
        return ARRAYS.weak_scalar(value.item(), root) if is_weak else ARRAYS.scalar(value, root)

    def _log(
        self,
        found: Compiled,
        run: Run,
        tracked: Mapping[str, Any],
        windows: Mapping[str, tuple[np.ndarray, np.ndarray]],
        args: Mapping[str, Any],
        ended: Mapping[str, np.ndarray],
        left: Mapping[str, Any],
        appended: list[Appended],
        schedule: tuple[Size, Placement] | None,
        done: int,
    ) -> None:
        plan, program = found.library.plan, found.library.program
        activated = list(dict.fromkeys(
            tracked[name].place.root for name in windows
            if program.arrays[name].memory in plan.active_memory and not tracked[name].place.root.active
        ))  # fmt: skip
        for root in activated:
            root.active = True
        if self.is_forward:
            return
        saved = {
            name: Overwritten(_place_of(tracked[name], shown), shown, Ellipsis, copy)
            for name, (shown, copy) in windows.items()
        }
        arrays = {name: value.array or "" for name, value in found.names.items() if isinstance(value, Elements)}
        entry = LoopEntry(
            self.context, here(), self.site, run, dict(args), dict(ended), dict(left), arrays, saved, activated
        )
        entry.append(appended)
        entry.done = done
        if schedule is None:
            run.keep()
        else:
            entry.size, entry.schedule = schedule
            run.release()
        entry.interval = self.began, perf_counter()
        # Python runs the next iteration.
        entry.has_stopped = not (run.frame.finished and run.frame.limit > done)
        self.context.log.append(entry)


_VARY = (np.ndarray, float, np.float64, np.float32)
"""Values of global variables that may differ from call to call; any other is part of what is compiled."""
_NUMBERS: dict[type, str] = {
    int: "iw", float: "fw", bool: "bw", **BY_TYPE,
}  # fmt: skip


def _as_written(frame: FrameType) -> CodeType:
    """The code object of a function before it was rewritten."""
    try:
        return source_of(frame.f_code, frame.f_globals)[1]
    except Unread:
        return frame.f_code


def _set(owner: Any, step: Step, value: Any) -> None:
    """Set what a slot stands for, as the program does."""
    if step.kind == "item":
        READER.into(owner, value)[step.key] = value
    else:
        READER.set_attribute(owner, step.key, value)


def _is_own(name: str, value: Elements, others: Sequence[Elements], reader: Reader) -> bool:
    """Whether an array that a loop leaves is a whole one, which no other array may be, or what it began with."""
    assert value.array is not None
    whole = reader.whole(value.array)
    known = {value.array, *value.shared}
    if any(not known.isdisjoint({one.array, *one.shared}) for one in others):
        return False
    is_whole = alike(replace(value, shared=frozenset()), whole)
    given = {one for one in value.shared if not reader.is_local(one)}
    is_first = name in reader.first_arrays and name not in reader.given and given == {reader.arrays[name].memory}
    return is_whole and (not given or is_first)


def _owner(tracked: Any) -> np.ndarray | None:
    """The array of all memory that a tracked array shows a part of; None if it is not found."""
    value, root = tracked.value, tracked.place.root
    owner = value if value.base is None else value.base
    is_whole = type(owner) is np.ndarray and owner.flags.c_contiguous and owner.shape == root.shape
    return owner if is_whole and owner.dtype == value.dtype else None


def _place_of(tracked: Any, shown: np.ndarray) -> Any:
    """The place of a tracked array, or of the array of all memory that it is a part of."""
    return tracked.place if shown is tracked.value else tracked.place.root


def _differs(one: np.ndarray, other: np.ndarray) -> bool:
    return not np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _same(one: Any, other: Any) -> bool:
    # 0.0 and -0.0 are two.
    return one is other or (
        type(one) is type(other) and isinstance(one, (int, float, np.generic)) and repr(one) == repr(other)
    )


def _own_names(frame: FrameType) -> frozenset[str]:
    """The local variables of a function. If one is unbound, Python does not read the global of the same name."""
    code = frame.f_code
    return frozenset((*code.co_varnames, *code.co_cellvars, *code.co_freevars))


def _looked_up(name: str, names: Mapping[str, Any], line: int) -> Any:
    """A global variable, or a builtin."""
    if name in names:
        return names[name]
    if hasattr(builtins, name):
        return getattr(builtins, name)
    raise NotCompiled(f"{name} is not bound", line)


def _overlapping(live: Mapping[str, Any]) -> dict[str, int]:
    """A number for each plain array: the same one for all that may overlap, also through others."""
    bounds = {name: np.lib.array_utils.byte_bounds(one) for name, one in live.items() if type(one) is np.ndarray}
    found: dict[str, int] = {}
    end, number = -1, 0
    for name, (low, high) in sorted(bounds.items(), key=lambda one: one[1]):
        number += low >= end
        end = max(end, high)
        found[name] = number
    return found


def _overlaps_itself(value: np.ndarray) -> bool:
    """Whether several indices may be of one place in memory."""
    axes = sorted((abs(step), extent) for step, extent in zip(value.strides, value.shape, strict=True))
    end = value.itemsize
    for step, extent in axes:
        if extent > 1 and step < end:
            return value.size > 0
        end += step * (extent - 1)
    return False


def _is_ordered(value: np.ndarray) -> bool:
    """Whether each axis lies inside of one step of the axis before it."""
    axes = [(step, step * extent) for step, extent in zip(value.strides, value.shape, strict=True) if extent > 1]
    return all(step > 0 for step, _ in axes) and all(one[0] >= other[1] for one, other in pairwise(axes))


def _same_window(one: np.ndarray, other: np.ndarray) -> bool:
    return (one.ctypes.data, one.shape, one.strides) == (other.ctypes.data, other.shape, other.strides)
