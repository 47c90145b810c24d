"""The body of a loop as a graph: what depends on what, and parts of it that are computed for all turns at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal

from bridge.xla.equations.graph import Graph, Values, followed, plain, value_of
from bridge.xla.tracing.kernels import LOOP


@dataclass(frozen=True)
class Known:
    """What is known of inputs of a program: which one is `never` true, and the `integers` that are constants."""

    never: Any
    integers: dict[Any, int]


class Body:
    """The body of a loop that counts, each thing in it computed once, and no small function called.

    `index` is which of the `carried` values counts the turns, from `start` on, `turns` times; `constants` are what all
    turns read, `outside` the values of the program that these are, and `begun` those that are carried into the first
    turn. `touched` says of each value on which carried ones it depends, a bit for each; `never` and `integers` are what
    is known of constants.
    """

    def __init__(self, equation: Any, index: int, start: int, turns: int, known: Known) -> None:
        cond_count, count = equation.params["counts"]
        self.index, self.start, self.turns = index, start, turns
        self.jaxpr = plain(equation.params["body"].jaxpr)
        self.graph = Graph(self.jaxpr)
        self.constants, self.carried = self.jaxpr.invars[:count], self.jaxpr.invars[count:]
        self.outside = equation.invars[cond_count : cond_count + count]
        self.begun = equation.invars[cond_count + count :]
        both = [
            (one, atom) for one, atom in zip(self.constants, self.outside, strict=True) if not isinstance(atom, Literal)
        ]
        self.never = {one for one, atom in both if atom is known.never}
        self.integers = {one: known.integers[atom] for one, atom in both if atom in known.integers}
        self.touched: dict[Any, int] = {one: 1 << k for k, one in enumerate(self.carried)}
        for one in self.jaxpr.eqns:
            bits = 0
            for atom in one.invars:
                bits |= self.depends(atom)
            self.touched |= dict.fromkeys(one.outvars, bits)

    def depends(self, atom: Any) -> int:
        return 0 if isinstance(atom, Literal) else self.touched.get(atom, 0)

    def is_indexed(self, atom: Any) -> bool:
        """Whether a value follows from the number of the turn."""
        return not self.depends(atom) & ~(1 << self.index)

    def is_constant(self, atom: Any) -> bool:
        return not isinstance(atom, Literal) and self.depends(atom) == 0

    def resolved(self, atom: Any) -> Any:
        """A value without the ways that in-place writes ask for: through scratch memory, and never another one."""
        while (maker := self.graph.maker(atom, "select_n", "dynamic_slice")) is not None:
            if maker.primitive.name == "select_n":
                if maker.invars[0] not in self.never:
                    break
                atom = maker.invars[1]
                continue
            written = self.graph.maker(maker.invars[0], "dynamic_update_slice")
            if written is None or not same(written.invars[2:], maker.invars[1:]):
                break
            if written.invars[1].aval.shape != maker.outvars[0].aval.shape:
                break
            atom = written.invars[1]
        return atom

    def bare(self, atom: Any) -> Any:
        """A value without reshapes."""
        while (maker := self.graph.maker(self.resolved(atom), "reshape")) is not None:
            atom = maker.invars[0]
        return self.resolved(atom)

    def between(self, wanted: Iterable[Any], given: Iterable[Any]) -> list[Any]:
        """The equations that compute what is wanted from what is given, the index and constants."""
        known = set(given)
        needed = {atom for atom in wanted if not isinstance(atom, Literal)} - known
        found = []
        for one in reversed(self.jaxpr.eqns):
            if not needed.isdisjoint(one.outvars):
                found.append(one)
                needed |= {atom for atom in one.invars if not isinstance(atom, Literal)} - known
        return found[::-1]

    def read_by(self, wanted: Iterable[Any], given: Iterable[Any]) -> set[Any]:
        """What of the carried values computing that reads."""
        wanted, given = list(wanted), set(given)
        atoms = [*wanted, *(atom for one in self.between(wanted, given) for atom in one.invars)]
        read = {atom for atom in atoms if not isinstance(atom, Literal)}
        return (read - given).intersection(self.carried)

    def progression(self, atom: Any) -> tuple[int, int] | None:
        """An integer as `scale * turn + first`, turns counted from 0; None if it is something else."""
        if isinstance(atom, Literal):
            return (0, int(atom.val)) if np.ndim(atom.val) == 0 and np.result_type(atom.val).kind in "iu" else None
        if atom is self.carried[self.index]:
            return 1, self.start
        if atom in self.integers:
            return 0, self.integers[atom]
        maker = self.graph.maker(atom, "add", "sub", "mul", "neg", "convert_element_type")
        if maker is None or np.dtype(maker.outvars[0].aval.dtype).kind not in "iu":
            return None
        parts = [form for one in maker.invars if (form := self.progression(one)) is not None]
        if len(parts) != len(maker.invars):
            return None
        (a, b), (c, d) = parts[0], parts[-1]
        match maker.primitive.name:
            case "add":
                return a + c, b + d
            case "sub":
                return a - c, b - d
            case "neg":
                return -a, -b
            case "mul" if 0 in (a, c):
                return a * d + c * b, b * d
            case "convert_element_type":
                return a, b
        return None


def counted(equation: Any, known: Known) -> Body | None:
    """The body of a loop whose number of turns is known; None if it is not."""
    position = position_of_index(equation)
    if position is None:
        return None
    cond, (outside, around) = equation.params["cond"].jaxpr, equation.params["counts"]
    stop = cond.eqns[0].invars[1]
    if not isinstance(stop, Literal):
        if stop not in cond.invars[:outside]:
            return None
        stop = equation.invars[cond.invars.index(stop)]
    start = equation.invars[outside + around + position]
    if not (isinstance(start, Literal) and isinstance(stop, Literal)):
        return None
    body = Body(equation, position, int(start.val), int(stop.val) - int(start.val), known)
    return body if body.turns > 1 and body.progression(body.jaxpr.outvars[position]) == (1, body.start + 1) else None


def position_of_index(equation: Any) -> int | None:
    """Which carried value a loop compares with its end, if it does nothing else between two turns."""
    if equation.primitive is not LOOP:
        return None
    cond, (outside, _) = equation.params["cond"].jaxpr, equation.params["counts"]
    if len(cond.eqns) != 1 or cond.eqns[0].primitive.name != "lt" or cond.outvars[0] is not cond.eqns[0].outvars[0]:
        return None
    index, carried = cond.eqns[0].invars[0], cond.invars[outside:]
    return None if isinstance(index, Literal) or index not in carried else carried.index(index)


def same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether values are the same ones: numbers that are equal, or results of one equation."""
    return len(some) == len(others) and all(
        a is b or (isinstance(a, Literal) and isinstance(b, Literal) and a.val == b.val)
        for a, b in zip(some, others, strict=True)
    )


def stacked(body: Body, wanted: Sequence[Any], stacks: Values, values: Values, backward: bool = False) -> list[Any]:
    """Values of a body in all turns, a row for each, from those that are given so and the constants.

    If `backward`, the first row is that of the last turn.
    """
    rows = dict(stacks)
    index = body.carried[body.index]
    rows[index] = _turned(lax.iota(index.aval.dtype, body.turns) + body.start, backward)
    for one in body.between(wanted, rows):
        if one.primitive.name == "dynamic_slice" and body.is_constant(one.invars[0]):
            walk = walk_of(body, one.invars[1:], one.outvars[0], one.invars[0].aval.shape)
            if walk is not None:
                rows[one.outvars[0]] = _all_slices(body, one.invars[0], walk, values, backward)
    equations = body.between(wanted, rows)
    names = list(rows)

    def turn(*one: Any) -> list[Any]:
        known = {**values, **dict(zip(names, one, strict=True))}
        followed(equations, known)
        return [value_of(atom, known) for atom in wanted]

    return jax.vmap(turn)(*[rows[name] for name in names])


@dataclass(frozen=True)
class Walk:
    """Windows that go along an axis of an array, one place a turn, and show all of the others."""

    axis: int
    low: int
    is_backward: bool


def walk_of(body: Body, starts: Sequence[Any], window: Any, shape: Sequence[int]) -> Walk | None:
    """How windows move, if they do so step by step and never leave the array."""
    sizes = window.aval.shape
    forms = [form for start in starts if (form := body.progression(start)) is not None]
    moving = [k for k, (scale, _) in enumerate(forms) if scale]
    if len(forms) != len(sizes) or len(moving) != 1:
        return None
    (axis,) = moving
    scale, first = forms[axis]
    low = first if scale > 0 else first - body.turns + 1
    if abs(scale) != 1 or sizes[axis] != 1 or low < 0 or low + body.turns > shape[axis]:
        return None
    if any(sizes[k] != shape[k] or forms[k] != (0, 0) for k in range(len(sizes)) if k != axis):
        return None
    return Walk(axis, low, scale < 0)


def _all_slices(body: Body, array: Any, walk: Walk, values: Values, backward: bool) -> Any:
    """All that windows show of an array, turn by turn."""
    if array not in values:
        followed(body.between([array], values), values)
    part = lax.slice_in_dim(values[array], walk.low, walk.low + body.turns, axis=walk.axis)
    part = jnp.moveaxis(_turned(part, walk.is_backward != backward, walk.axis), walk.axis, 0)
    return jnp.expand_dims(part, 1 + walk.axis)


def _turned(x: Any, is_backward: bool, axis: int = 0) -> Any:
    return lax.rev(x, [axis]) if is_backward else x


def loops(graph: Graph) -> Iterator[tuple[int, Any]]:
    """The loops of a program with their numbers."""
    return ((number, one) for number, one in enumerate(graph.jaxpr.eqns) if one.primitive is LOOP)
