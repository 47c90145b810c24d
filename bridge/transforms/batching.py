"""`vmap`: a function of one element of a batch, for the whole batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, Unpack, overload

import numpy as np
import optree
from numpy.typing import NDArray

from bridge.errors import ArgumentError, with_article
from bridge.rewind.values import is_abstract
from bridge.source.programs import part
from bridge.transforms.loops import fori_loop
from bridge.transforms.transformed import BatchOptions, Transformed, configurable
from bridge.trees import NAMESPACE, leaves_of, rebuilt, shown

P = ParamSpec("P")
R = TypeVar("R")


@overload
def vmap(f: Callable[P, float], in_axes: Any = 0, out_axes: Any = 0) -> Callable[P, NDArray[Any]]: ...
@overload
def vmap(f: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Callable[P, R]: ...
@overload
def vmap(**options: Unpack[BatchOptions]) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...
@configurable
def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """A function that runs `f` for each element of a batch, and stacks what it returns.

    Parameters
    ----------
    f : gets one element of each batch: a view, into which it may write. It may be a gradient: `vmap(grad(loss), (None,
        0))` gives one for each element.
    in_axes : the axis along which each argument is a batch, or None for one that is given to every call as it is; for
        all arguments, or a sequence with one for each positional argument, or containers like an argument's.
        Keyword arguments are batches along their first axes.
    out_axes : where the axis of the batch is to be in what is returned; None for what is the same in each call.

    Returns
    -------
    Callable : of the arguments of `f`. The calls are made one after the other, in the order of the batch: what one
        writes into an argument that is no batch the next ones see. In a compiled program they are one loop.

    Raises
    ------
    ArgumentError : no argument is a batch, batches have different sizes or no element, or an argument lacks the axis.
    """

    def batched(*args: Any, **kwargs: Any) -> Any:
        batch = Batch(args, kwargs, in_axes)
        run = part(f)
        first = batch.call(run, 0)
        leaves, structure = leaves_of(first)
        axes = _axes_of(out_axes, first, len(leaves), "out_axes")
        if batch.size > 1 and any(map(is_abstract, (*batch.leaves, *leaves))):
            return rebuilt(structure, _in_a_loop(batch, run, leaves, structure, axes))
        rows = [[_kept(leaf) for leaf in leaves]]
        for k in range(1, batch.size):
            more, other = leaves_of(batch.call(run, k))
            if other != structure:
                raise ArgumentError(f"element {k} of a batch gives {shown(other)}, the first one {shown(structure)}")
            rows.append([_kept(leaf) for leaf in more])
        columns = zip(*rows, strict=True)
        return rebuilt(structure, [_stacked(column, axis) for column, axis in zip(columns, axes, strict=True)])

    return functools.update_wrapper(Transformed.of(batched, vmap, f, in_axes, out_axes), f)


class Batch:
    """The arguments of all calls, and how many calls there are."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any) -> None:
        if isinstance(in_axes, Sequence) and len(in_axes) != len(args):
            raise ArgumentError(
                f"vmap got {len(args)} positional arguments and {len(in_axes)} in_axes",
                remedy="give an axis, or None, for each positional argument",
            )
        axes = in_axes if isinstance(in_axes, Sequence) else [in_axes] * len(args)
        self.leaves, self._structure = leaves_of((args, kwargs))
        self._axes = [
            axis
            for where, one in (*zip(axes, args, strict=True), *((0, kwargs[name]) for name in sorted(kwargs)))
            for axis in _axes_of(where, one, len(leaves_of(one)[0]), "in_axes")
        ]
        sizes = {
            _size(leaf, axis): None for leaf, axis in zip(self.leaves, self._axes, strict=True) if axis is not None
        }
        if len(sizes) != 1 or 0 in sizes:
            found = f"batches of {' and '.join(map(str, sizes))} elements" if sizes else "no argument that is a batch"
            raise ArgumentError(
                f"vmap got {found}", remedy="give batches of one size, of at least one element, and in_axes for them"
            )
        (self.size,) = sizes

    def call(self, run: Callable[..., Any], k: Any) -> Any:
        """What the function gives for an element; its number may be one that only a compiled program knows."""
        leaves = [
            leaf if axis is None else leaf[(*[slice(None)] * (axis % leaf.ndim), k)]
            for leaf, axis in zip(self.leaves, self._axes, strict=True)
        ]
        args, kwargs = rebuilt(self._structure, leaves)
        return run(*args, **kwargs)


def _size(leaf: Any, axis: int) -> int:
    shape = getattr(leaf, "shape", ())
    if not -len(shape) <= axis < len(shape):
        raise ArgumentError(
            f"{with_article(type(leaf).__name__)} of shape {shape} among the arguments of vmap has no axis {axis}",
            remedy="give None in in_axes for what is no batch",
        )
    return int(shape[axis])


def _axes_of(axes: Any, tree: Any, count: int, name: str) -> list[int | None]:
    """The axis of each leaf, where one may be given for a whole container."""
    if axes is None or isinstance(axes, (int, np.integer)):
        return [None if axes is None else int(axes)] * count
    try:
        found = optree.broadcast_prefix(axes, tree, none_is_leaf=True, namespace=NAMESPACE)
    except ValueError as error:
        raise ArgumentError(f"{name} {axes!r} is no beginning of {optree.tree_structure(tree)}: {error}") from error
    if len(found) != count or any(axis is not None and not isinstance(axis, (int, np.integer)) for axis in found):
        raise ArgumentError(f"{name} {axes!r} has something else than axes and None for numbers and arrays")
    return found


def _kept(leaf: Any) -> Any:
    """A result as it is now: later calls may write into memory that an earlier one has returned."""
    return leaf.copy() if getattr(leaf, "shape", ()) else leaf


def _stacked(column: Sequence[Any], axis: int | None) -> Any:
    if axis is not None and column[0] is not None:
        return np.stack(column, axis=axis)
    if column[0] is not None and not all(one is column[0] or np.array_equal(one, column[0]) for one in column):
        raise ArgumentError("what is not the same in each call cannot have out_axes=None", remedy="give it an axis")
    return column[0]


def _looking_as(one: Any, row: Any) -> Any:
    """A result that fits the rows of the first one, which NumPy would stretch it to, or cut it off for."""
    dtype = np.result_type(row.dtype, getattr(one, "dtype", type(one)))
    if np.shape(one) != row.shape[1:] or dtype != row.dtype:
        raise ArgumentError(
            f"an element of a batch gives shape {np.shape(one)} and {dtype}, "
            f"the first one {row.shape[1:]} and {row.dtype}",
            remedy="give every element results of one shape and dtype",
        )
    return one


def _in_a_loop(
    batch: Batch, run: Callable[..., Any], first: Sequence[Any], structure: Any, axes: Sequence[int | None]
) -> list[Any]:
    """The results of a compiled program's calls after the first, in one loop that writes each into its row."""
    if any(axis is None and leaf is not None for leaf, axis in zip(first, axes, strict=True)):
        raise ArgumentError("out_axes=None is not known to hold in a compiled program", remedy="give it an axis")
    places = [k for k, leaf in enumerate(first) if leaf is not None]
    rows: list[Any] = [np.repeat(np.expand_dims(first[k], 0), batch.size, axis=0) for k in places]

    def turn(k: Any, rows: list[Any]) -> list[Any]:
        leaves, other = leaves_of(batch.call(run, k))
        if other != structure:
            raise ArgumentError(f"an element of a batch gives {shown(other)}, the first one {shown(structure)}")
        for place, row in zip(places, rows, strict=True):
            row[k] = _looking_as(leaves[place], row)
        return rows

    filled: list[Any] = fori_loop(1, batch.size, turn, rows)
    made = dict(zip(places, filled, strict=True))
    return [None if axis is None or k not in made else np.moveaxis(made[k], 0, axis) for k, axis in enumerate(axes)]
