"""The context of a program that is being compiled: every operation is computed by JAX on the contents of cells.

The program runs once, on Buffers whose values are ghosts. A differentiating context inside this one makes its
memory, saves, undos and shadows of these Buffers, and so its backward pass is compiled with the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.buffer import Buffer, Scalar, WeakScalar
from bridge.context import Context
from bridge.current import current_context
from bridge.errors import RefusedError
from bridge.inspection import operation_name
from bridge.places import Gathered, Place
from bridge.position import here, resolve
from bridge.rule import Rule
from bridge.tracing import ground_floor, is_traced
from bridge.xla import control
from bridge.xla.affine import Affine
from bridge.xla.cells import Cell, Frame, as_region_key, region_of
from bridge.xla.faults import Faults
from bridge.xla.gathers import gather, scatter_add, scatter_set, survivors
from bridge.xla.ghosts import Ghost, ghost_like
from bridge.xla.integers import affine_of, affine_result
from bridge.xla.lowering import lower
from bridge.xla.pulls import LOWERINGS


class TraceContext(Context):
    """One tracing of a program.

    Parameters
    ----------
    never : a boolean scalar of JAX that is false when the program runs; XLA cannot know.
    index_mode : "error", "clip", "fill" or "drop": what a run-time index outside its array means.
    mends : whether cotangents that structurally do not exist are told apart (strong zeros) at any cost.
    """

    tracing = True

    def __init__(self, never: Any, index_mode: str = "error", mends: bool = False) -> None:
        super().__init__()
        self.frames = [Frame()]
        self.never = never
        self.index_mode = index_mode
        self.mends = mends
        self.engine = LOWERINGS
        self.compiles = self
        self.control = control
        self.faults = Faults(self)
        self.operations = 0
        self.dirty: dict[Cell, None] = {}

    # Values that come in.

    def constant_buffer(self, array: Any) -> Any:
        if hasattr(array, "place"):
            return array
        ghost = ghost_like(array)
        return Buffer(ghost, Cell(self, ghost, _constant(array)))

    def blank(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.entered(np.broadcast_to(np.zeros((), dtype), shape), lax.full(shape, 0, dtype))

    def own_copy(self, array: Any) -> Any:
        return np.copy(array) if hasattr(array, "place") else super().own_copy(array)

    def buffer(self, array: Any, active: bool = True) -> Any:
        """A traced copy of `array`."""
        self.check_usable()
        return array.copy() if hasattr(array, "place") else self.constant_buffer(super().own_copy(array))

    def entered(self, like: np.ndarray, contents: Any) -> Any:
        """A Buffer that lies as `like` does and holds what comes in as `contents`."""
        ghost = ghost_like(like)
        return Buffer(ghost, Cell(self, ghost, contents))

    def number(self, like: Any, contents: Any, affine: Affine | None = None) -> Any:
        """A traced number that promotes as `like` does."""
        weak = type(like) in (bool, int, float, complex)
        kind = np.result_type(like)
        cell = Cell(self, kind.type(0), contents)
        cell.affine = affine
        return WeakScalar(type(like)(0), cell) if weak else Scalar(kind.type(0), cell)

    # Memory.

    def read(self, place: Place) -> Any:
        """What lies at a place, as a JAX value."""
        if isinstance(place, Cell):
            return place.contents
        region = region_of(place)
        self.faults.check(region)
        found = place.root.read(region, self.index_mode)  # type: ignore[attr-defined]
        if isinstance(place, Gathered):
            key = as_region_key(place.key)
            self.faults.check_gather(key, place.parent.shape)
            return gather(found, key, self.index_mode)
        return found

    def put(self, place: Place, value: Any) -> None:
        """Overwrite what lies at a place."""
        cell: Any = place.root
        region = region_of(place)
        self.faults.check(region)
        if isinstance(place, Gathered):
            key = as_region_key(place.key)
            self.faults.check_gather(key, place.parent.shape)
            value = scatter_set(cell.read(region, self.index_mode), key, value, self.index_mode)
        cell.write(region, value, self.index_mode)

    def surviving(self, key: Any, shape: tuple[int, ...]) -> Any:
        """Which elements picked by a key with traced indices survive a write, as a Buffer."""
        mask = survivors(as_region_key(key), shape)
        return self.entered(np.zeros(mask.shape, bool), mask)

    # What dispatch reports.

    def result(
        self, rule: Rule, value: Any, inputs: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any],
        plain: tuple[int, ...], names: tuple[str, ...] = (),
    ) -> Any:  # fmt: skip
        operands = self._operands(args, inputs)
        if names:
            kwargs = kwargs | dict(zip(names, operands[-len(names) :], strict=True))
            operands = operands[: -len(names)]
        return self._computed(rule.function, value, operands, kwargs, args, inputs)

    def unpulled(self, function: Any, value: Any, inputs: Any, args: Any, kwargs: Any = None) -> Any:
        operands = self._operands(args, inputs[: len(args)])
        named = dict(kwargs or {})
        if len(inputs) > len(args):
            found = self._operands(tuple(named.values()), inputs[len(args) :])
            named = dict(zip(named, found, strict=True))
        return self._computed(function, value, operands, named, args, inputs)

    def _operands(self, args: Any, inputs: Any) -> tuple[Any, ...]:
        return tuple([self._operand(x, place) for x, place in zip(args, inputs, strict=True)])

    def _operand(self, x: Any, place: Any) -> Any:
        if isinstance(place, (list, tuple)):
            return type(x)([self._operand(part, inner) for part, inner in zip(x, place, strict=True)])
        if place is not None:
            return self.read(place)
        if isinstance(x, np.ndarray) and x.ndim:
            return self.snapshots.of(x)
        return x

    def _computed(
        self, function: Any, value: Any, operands: tuple[Any, ...], kwargs: dict[str, Any], args: Any, inputs: Any
    ) -> Any:
        self.operations += 1
        try:
            found = lower(function, operands, kwargs, like=value)
        except Exception as error:
            if hasattr(error, "add_place"):
                error.add_place(resolve(here()))
            raise
        result = self.wrapped(value, found, function)
        if type(result) in (Scalar, WeakScalar) and result.dtype.kind in "iu":
            forms = tuple(map(_form, args, inputs))
            result.place.affine = affine_result(function, forms, result.place.contents)
        return result

    def wrapped(self, value: Any, found: Any, function: Any = None) -> Any:
        """What a function returned, as Buffers and Scalars: NumPy's `value` says how it looks, JAX's `found` what it is."""
        if isinstance(value, (list, tuple)):
            parts = [self.wrapped(v, f, function) for v, f in zip(value, found, strict=True)]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if value is None or isinstance(value, (str, bytes)):
            return value
        contents = jnp.asarray(found)
        shape, dtype = np.shape(value), np.result_type(value)
        if contents.shape != shape:
            raise RefusedError(
                f"the shape of what {operation_name(function)} returns depends on values (it may be {shape})",
                where=resolve(here()),
                remedy="use np.where or a mask, whose shapes are known while the program is compiled",
            )
        contents = _in(contents, dtype)
        if isinstance(value, np.ndarray):
            return self.entered(value, contents)
        return self.number(value, contents)

    def copied(self, value: Any, source: Place) -> Any:
        contents = _in(self.read(source), np.result_type(value))
        if isinstance(value, np.ndarray):
            return self.entered(value, contents)
        return self.number(value, contents)

    def inactive(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and not isinstance(value, Ghost):
            return self.constant_buffer(value)
        return value

    def write(self, target: Any, key: Any, place: Place, value: Any, source: Place | None) -> None:
        self.writable(target)
        if source is None:
            value = np.array(value)
            contents = value if value.ndim else value[()]
        else:
            contents = self.read(source)
        shape = np.shape(contents)
        surplus = len(shape) - len(place.shape)
        if surplus > 0 and all(n == 1 for n in shape[:surplus]):
            contents = jnp.reshape(contents, shape[surplus:])
        if np.broadcast_shapes(jnp.shape(contents), place.shape) != place.shape:
            raise ValueError(f"could not broadcast input array from shape {shape} into shape {place.shape}")
        self.put(place, _spread(_in(contents, place.dtype), place.shape))

    def update(
        self, rule: Rule | None, target: Any, inputs: tuple[Any, ...], args: tuple[Any, ...], plain: tuple[int, ...],
        mask: Any, run: Callable[[tuple[Any, ...]], Any],
    ) -> None:  # fmt: skip
        assert rule is not None
        self.writable(target)
        run(args)
        self.operations += 1
        place = target.place
        if mask is None and inputs[0] is place and rule.function in (np.add, np.subtract) and self._added(place, rule, args, inputs):
            return
        found = jnp.asarray(lower(rule.function, self._operands(args, inputs), {}))
        found = _spread(_in(found, place.dtype), place.shape)
        if mask is not None:
            chosen = self.read(mask.place) if hasattr(mask, "place") else mask
            found = jnp.where(chosen, found, self.read(place))
        self.put(place, found)

    def _added(self, place: Place, rule: Rule, args: tuple[Any, ...], inputs: tuple[Any, ...]) -> bool:
        """Add to most of an array in one pass over all of it; whether that is the case."""
        region = region_of(place)
        if not region.is_most or np.result_type(*args) != place.dtype:
            return False
        other = jnp.asarray(self._operand(args[1], inputs[1]))
        if other.size and np.broadcast_shapes(other.shape, place.shape) == place.shape:
            change = _spread(_in(other, place.dtype), place.shape)
            cell: Any = place.root
            cell.contents = region.add(cell.contents, change if rule.function is np.add else -change, self.index_mode)
            return True
        return False

    def scatter_add(self, ufunc: np.ufunc, target: Any, key: Any, operand: Any) -> None:
        self.writable(target)
        place = getattr(operand, "place", None)
        contents = _in(jnp.asarray(operand if place is None else self.read(place)), target.dtype)
        region, cell = region_of(target.place), target.place.root
        indices = as_region_key(key)
        self.faults.check(region)
        self.faults.check_gather(indices, target.shape)
        change = -contents if ufunc is np.subtract else contents
        changed = scatter_add(cell.read(region, self.index_mode), indices, change, self.index_mode)
        cell.write(region, changed, self.index_mode)

    # Loops and branches: what a body writes in outer memory becomes what XLA carries.

    @contextmanager
    def frame(self, scratch: dict[Cell, list[Any]] | None = None, row: Any = None) -> Iterator[Frame]:
        """A part of the program of its own; afterwards outer memory is as before it."""
        frame = Frame(scratch, row)
        self.frames.append(frame)
        self.forget_copies()
        try:
            yield frame
        finally:
            self.forget_copies()
            self.frames.pop()
            frame.open = False
            self.dirty.clear()
            for cell, contents in frame.before.items():
                cell.put_back(contents)
            for cell in frame.reads:
                cell.seen = []

    def flush(self) -> None:
        """Write everything that is pending."""
        for cell in self.dirty:
            if cell.pending:
                cell.flush()
        self.dirty.clear()

    def forget_copies(self) -> None:
        """Forget the copies of outer memory that contexts keep for a while: they belong to one frame."""
        context = current_context()
        while context is not None:
            context.snapshots.forget_outer()
            context = context.outer

    def dry(self, body: Callable[[Any], Any], reads: dict[Cell, list[int]] | None = None) -> list[Cell]:
        """Run a body for what it does to Python's objects; returns the outer cells that it writes."""
        written: list[Cell] = []
        # Before XLA's tracing begins: what is pending belongs to the frame outside.
        self.flush()

        def run(i: Any) -> None:
            with self.frame() as frame:
                body(self.number(0, i))
                self.flush()
                written.extend(frame.before)
                if reads is not None:
                    reads.update(frame.reads)

        jax.eval_shape(run, jax.ShapeDtypeStruct((), np.dtype(np.int64)))
        return written

    def repeat(self, lower: Any, upper: Any, body: Callable[[Any], Any], going: Callable[[], Any] | None = None) -> Any:
        """Run `body(i)` for each i from `lower` up to `upper`, or while `going()` holds; returns where it ended."""
        reads: dict[Cell, list[int]] = {}
        cells = self.dry(body, reads)
        through = [cell for cell in cells if cell in reads and _is_small(reads[cell], cell)]
        scratch = tuple([jnp.zeros((2, size), cell.dtype) for size in reads[cell]] for cell in through)
        (low, high) = affine_of(lower), affine_of(upper)
        bounds = low.bounds()[0], high.bounds()[1]

        def step(i: Any, carry: tuple[Any, ...]) -> tuple[Any, ...]:
            contents, held = carry
            with self.frame({cell: list(arrays) for cell, arrays in zip(through, held, strict=True)}, i & 1) as frame:
                _fill(cells, contents)
                body(self.number(0, i, Affine.unknown(i, bounds[0], None if bounds[1] is None else bounds[1] - 1)))
                self.flush()
                after = tuple([_in(cell.contents, cell.dtype) for cell in cells])
                return after, tuple([frame.scratch[cell] for cell in through])

        start, stop = (jnp.asarray(one.value(), np.int64) for one in (low, high))
        carry = tuple([_in(cell.contents, cell.dtype) for cell in cells]), scratch
        if going is None:
            if low.is_constant and high.is_constant:
                start, stop = low.constant, max(low.constant, high.constant)  # type: ignore[assignment]
            _fill(cells, lax.fori_loop(start, stop, step, carry)[0])
            return upper

        def wanted(state: tuple[Any, tuple[Any, ...]]) -> Any:
            with self.frame():
                _fill(cells, state[1][0])
                return (state[0] < stop) & self.truth(going())

        end, carry = lax.while_loop(wanted, lambda state: (state[0] + 1, step(*state)), (start, carry))
        _fill(cells, carry[0])
        return self.number(0, end, Affine.unknown(end, *bounds))

    def choose(self, predicate: Any, branches: Sequence[Callable[[], Any]]) -> None:
        """Run the first branch where the predicate holds, else the second."""
        written: dict[Cell, None] = {}
        for branch in branches:
            written.update(dict.fromkeys(self.dry(lambda i, branch=branch: branch())))  # type: ignore[misc]
        cells = list(written)

        def run(branch: Callable[[], Any]) -> Callable[[Any], Any]:
            def steps(carry: tuple[Any, ...]) -> tuple[Any, ...]:
                with self.frame():
                    _fill(cells, carry)
                    branch()
                    return tuple([_in(cell.contents, cell.dtype) for cell in cells])

            return steps

        carry = tuple([_in(cell.contents, cell.dtype) for cell in cells])
        _fill(cells, lax.cond(self.truth(predicate), run(branches[0]), run(branches[1]), carry))

    def born_inside(self, atom: Any, frame: Frame) -> bool:
        """Whether an integer was computed in a frame, rather than before it."""
        return atom.serial >= frame.since

    def truth(self, value: Any) -> Any:
        """A condition as a boolean scalar of JAX."""
        contents = jnp.asarray(self.read(ground_floor(value).place) if is_traced(value) else value)
        if contents.shape != ():
            raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
        return contents != 0

    # What a differentiating context asks.

    def suspect(self, gradient: Any) -> bool:
        """Note whether a gradient holds a NaN; the answer says what to assume while the program is traced."""
        self.faults.note_nan(self.read(ground_floor(gradient).place))
        return self.mends


def _fill(cells: list[Cell], contents: Sequence[Any]) -> None:
    for cell, one in zip(cells, contents, strict=True):
        cell.contents = one


def _in(contents: Any, dtype: np.dtype[Any]) -> Any:
    contents = jnp.asarray(contents)
    if contents.dtype == dtype and not contents.weak_type:
        return contents
    if contents.dtype.kind == "c" and dtype.kind != "c":
        contents = contents.real
    return lax.convert_element_type(contents, dtype)


def _is_small(reads: list[int], cell: Cell) -> bool:
    """Whether what a body reads of a cell is little beside the cell itself."""
    return 4 * sum(reads) <= int(np.prod(cell.shape))


def _spread(contents: Any, shape: tuple[int, ...]) -> Any:
    return contents if contents.shape == shape else jnp.broadcast_to(contents, shape)


def _form(x: Any, place: Any) -> Any:
    """An integer operand as a linear form; None for anything else."""
    if isinstance(place, Cell) and place.shape == () and place.dtype.kind in "iu":
        if place.affine is None:
            place.affine = Affine.unknown(place.contents)
        return place.affine
    plain = place is None and isinstance(x, (int, np.integer)) and not isinstance(x, (bool, np.bool_))
    return Affine.of(x) if plain else None


_EMBEDDED = 64


def _constant(array: np.ndarray) -> Any:
    """A plain array as a value of the program; a large one that is all alike is made where it is needed."""
    array = np.asarray(array)
    if array.size > _EMBEDDED and (array == array.flat[0]).all():
        return lax.full(array.shape, array.flat[0], array.dtype)
    return jnp.asarray(array)
