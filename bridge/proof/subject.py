"""The program under test: a function of its differentiated leaves, run on copies of the caller's arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from copy import copy as shallow_copy
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np

from bridge.errors import ArgumentError
from bridge.objects.structure import ObjectStructure
from bridge.proof.generators import Generators
from bridge.proof.numerics.arrays import laid_out, random_like, wide
from bridge.proof.numerics.sampling import Differentiable
from bridge.rewind.memory import address
from bridge.source.programs import part
from bridge.transforms.chosen import Argnums, positions_of
from bridge.transforms.entering import is_differentiable, sharing, whole_of
from bridge.trees import leaves_along, leaves_of, paths_of, rebuilt

WIDE = {"f": np.dtype(np.float64), "c": np.dtype(np.complex128)}


class Subject(Differentiable):
    """A program at certain arguments, as a function of its float and complex leaves.

    Parameters
    ----------
    f : the program; what it returns is contracted with a fixed random cotangent unless it is one real number.
    args, kwargs : the caller's arguments, never handed to `f` themselves.
    argnums : which positional arguments are differentiated; None for those that hold float or complex arrays.
    generators : what is put back before each run, if anything is.
    shares : whether copies share memory as the caller's arguments do; else each argument moves by itself.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Argnums | None,
        generators: Generators | None = None,
        shares: bool = True,
    ) -> None:
        self.args, self.kwargs, self.generators, self.shares = tuple(args), dict(kwargs), generators, shares
        chosen = _chosen(self.args) if argnums is None else positions_of(f, argnums, self.args)
        # An argument that is named twice is moved once.
        self.argnums = tuple(dict.fromkeys(chosen))
        self.names = tuple(self.kwargs)
        parts = [leaves_of(arg) for arg in (*self.args, *self.kwargs.values())]
        self.leaves = [leaf for leaves, _ in parts for leaf in leaves]
        self._structures = [structure for _, structure in parts]
        starts = np.cumsum([0, *(len(leaves) for leaves, _ in parts)]).tolist()
        self._ranges = [range(*both) for both in pairwise(starts)]
        self._views = {k: v for number in self.argnums for k, v in self._views_in(number).items()}
        self._following = {leaf for views in self._views.values() for leaf in views}
        self.moved = [leaf for leaf in self._differentiable() if leaf not in self._following]
        self._take(f)
        self.points = [_as_array(self.leaves[leaf]) for leaf in self.moved]
        self.cotangents: list[Any] | None = None
        self.mixed = any(0 < sum(leaf in self.moved for leaf in group) < len(group) for group in self._shared())

    def _take(self, f: Callable[..., Any]) -> None:
        self.f = f
        names = dict(zip(self._differentiable(), _labels(f, self.args, self.argnums), strict=True))
        self.labels = [names[leaf] for leaf in self.moved]
        # As transforms take it for the function's name.
        self.__name__ = name_of(f)

    def left_out(self) -> list[str]:
        """Floats among the arguments that are not differentiated, as source code names them."""
        others = [k for k in range(len(self.args)) if k not in self.argnums]
        return _labels(self.f, self.args, others) + [
            name for name, x in self.kwargs.items() if any(map(is_differentiable, leaves_of(x)[0]))
        ]

    def arguments(self, values: Sequence[Any] | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Fresh positional and keyword arguments, laid out as the caller's.

        `values` replace the differentiated leaves. Generators are where they were in the beginning.
        """
        if self.generators is not None:
            self.generators.restore()
        made = [_copied(leaf) for leaf in self.leaves]
        for group in self._shared():
            if sum(leaf in self.moved for leaf in group) < 2:
                for leaf, copy in zip(group, _copied_together([self.leaves[k] for k in group]), strict=True):
                    made[leaf] = copy
        if values is not None:
            for leaf, value in zip(self.moved, values, strict=True):
                made[leaf] = _with_value(made[leaf], self.leaves[leaf], value)
        args, rest = self.containers(self._followed(made))
        return args, dict(zip(self.names, rest, strict=True))

    def containers(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Positional and keyword arguments around other leaves."""
        whole = [
            rebuilt(structure, leaves[part.start : part.stop])
            for structure, part in zip(self._structures, self._ranges, strict=True)
        ]
        return tuple(whole[: len(self.args)]), tuple(whole[len(self.args) :])

    @property
    def holds_views(self) -> bool:
        """Whether views of differentiated arrays, which an object holds beside them, follow when these are moved."""
        return bool(self._following)

    def gradient_leaves(self, gradient: Any) -> list[Any]:
        """The gradients of the differentiated leaves, of a gradient by `argnums` in its containers."""
        found: dict[int, Any] = {}
        for k, one in zip(self.argnums, gradient, strict=True):
            found.update(zip(self._ranges[k], leaves_along(self._structures[k], one), strict=True))
        return [found[leaf] for leaf in self.moved]

    def moved_in(self, number: int) -> tuple[list[int], int]:
        """The numbers of the leaves of an argument that are differentiated, and how many leaves it has."""
        part = self._ranges[number]
        return [leaf - part.start for leaf in self.moved if leaf in part], len(part)

    def _differentiable(self) -> list[int]:
        return [leaf for k in self.argnums for leaf in self._ranges[k] if is_differentiable(self.leaves[leaf])]

    def _views_in(self, number: int) -> dict[int, list[int]]:
        """For arrays that an object holds, the views of them that it holds too: these follow, and are not moved."""
        if not isinstance(self._structures[number], ObjectStructure):
            return {}
        arrays = [k for k in self._ranges[number] if type(self.leaves[k]) is np.ndarray and self.leaves[k].size]
        arrays = [k for k in arrays if is_differentiable(self.leaves[k])]
        found = {}
        for group in sharing([self.leaves[k] for k in arrays]):
            whole = whole_of([self.leaves[arrays[k]] for k in group])
            if len(group) > 1 and whole is not None:
                found[arrays[group[whole]]] = [arrays[k] for n, k in enumerate(group) if n != whole]
        return found

    def _followed(self, leaves: list[Any]) -> list[Any]:
        """Leaves with views made anew, of the arrays among the leaves in which they lie."""
        followed = list(leaves)
        for whole, views in self._views.items():
            group = [whole, *views]
            copies = _copied_together([self.leaves[k] for k in group], np.asarray(leaves[whole]).dtype)
            copies[0][...] = leaves[whole]
            for k, copy in zip(group, copies, strict=True):
                followed[k] = copy
        return followed

    def given(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The caller's own arguments, with copies of generators."""
        args, rest = self.containers([x if isinstance(x, np.ndarray) else _copied(x) for x in self.leaves])
        return args, dict(zip(self.names, rest, strict=True))

    def _shared(self) -> Iterator[list[int]]:
        arrays = [k for k, leaf in enumerate(self.leaves) if self.shares and type(leaf) is np.ndarray and leaf.size]
        arrays = [k for k in arrays if k not in self._following]
        for group in sharing([self.leaves[k] for k in arrays]):
            if len(group) > 1:
                yield [arrays[k] for k in group]

    def weigh(self, result: Any, rng: np.random.Generator) -> None:
        """Choose the cotangents of what `f` returned; none for one real number."""
        self.cotangents = None
        outputs = outputs_of(result)
        if not outputs:
            raise ArgumentError(
                f"the program returns {type(result).__name__}, which holds no float or complex number",
                remedy="return the numbers or arrays that depend on the arguments",
            )
        alone = len(outputs) == 1 and len(leaves_of(result)[0]) == 1
        if alone and np.shape(outputs[0]) == () and np.result_type(outputs[0]).kind != "c":
            return
        self.cotangents = [np.asarray(random_like(np.asarray(out), rng)) for out in outputs]

    def weighted(self, result: Any) -> Any:
        """What `f` returned, as one real number; works on tracked values too."""
        if self.cotangents is None:
            return leaves_of(result)[0][0] if isinstance(result, (tuple, list, dict)) else result
        pairs = zip(self.cotangents, outputs_of(result), strict=True)
        terms = [np.sum(np.real(np.conj(ct.astype(out.dtype)) * out)) for ct, out in pairs]
        return sum(terms[1:], terms[0])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`f` as one real number."""
        return self.weighted(part(self.f)(*args, **kwargs))

    def plain(self, values: Sequence[Any] | None = None) -> Any:
        """What `f` returns for copies of the arguments."""
        args, kwargs = self.arguments(values)
        return self.f(*args, **kwargs)

    def measured(self, values: Sequence[Any] | None = None) -> list[Any]:
        return [self.weighted(self.plain(values))]

    def of(self, f: Callable[..., Any]) -> Subject:
        """Another program at the same arguments, with the same cotangents."""
        other = shallow_copy(self)
        other._take(f)
        return other

    def at(self, leaves: Sequence[Any]) -> Subject:
        """The same program at other arguments, with the same cotangents."""
        args, rest = self.containers(self._followed(list(leaves)))
        kwargs = dict(zip(self.names, rest, strict=True))
        other = Subject(self.f, args, kwargs, self.argnums, self.generators, self.shares)
        other.cotangents = self.cotangents
        return other

    def moved_to(self, values: Sequence[Any]) -> Subject:
        """The same program with other values of the differentiated leaves; Python's own numbers stay such."""
        leaves = list(self.leaves)
        for leaf, value in zip(self.moved, values, strict=True):
            leaves[leaf] = type(leaves[leaf])(value) if type(leaves[leaf]) in (float, complex) else value
        return self.at(leaves)

    def widened(self) -> Subject | None:
        """The same program in double precision, with the same cotangents; None if it has no narrower argument."""
        kinds = [getattr(leaf, "dtype", None) for leaf in self.leaves]
        if all(kind is None or kind.kind not in "fc" or kind == WIDE[kind.kind] for kind in kinds):
            return None
        made = [
            leaf if kind is None or kind.kind not in "fc" else leaf.astype(WIDE[kind.kind])
            for leaf, kind in zip(self.leaves, kinds, strict=True)
        ]
        wider = self.at(made)
        if self.cotangents is not None:
            wider.cotangents = [ct.astype(wide(ct)) for ct in self.cotangents]
        return wider

    def tangents(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Tangents of all arguments, keyword arguments last: `values` for the differentiated leaves, None elsewhere."""
        placed = dict(zip(self.moved, values, strict=True))
        args, rest = self.containers([placed.get(k) for k in range(len(self.leaves))])
        return (*args, *rest)

    def spread(self, *args: Any) -> Any:
        """The program with its keyword arguments as the last positional ones."""
        split = len(self.args)
        return self(*args[:split], **dict(zip(self.names, args[split:], strict=True)))


def name_of(f: Any) -> str:
    """What a report calls a program."""
    return getattr(f, "__name__", None) or type(f).__name__


def outputs_of(result: Any) -> list[Any]:
    """The float and complex leaves of what a program returned; Python's own numbers as NumPy's."""
    found = []
    for leaf in leaves_of(result)[0]:
        if type(leaf) in (float, complex):
            leaf = np.result_type(leaf).type(leaf)
        if getattr(getattr(leaf, "dtype", None), "kind", "") in ("f", "c"):
            found.append(leaf)
    return found


def _chosen(args: tuple[Any, ...]) -> tuple[int, ...]:
    """The arguments that hold float or complex arrays; if there are none, those that hold such numbers."""
    arrays, numbers = [], []
    for k, arg in enumerate(args):
        leaves = [leaf for leaf in leaves_of(arg)[0] if is_differentiable(leaf)]
        if any(hasattr(leaf, "dtype") for leaf in leaves):
            arrays.append(k)
        elif leaves:
            numbers.append(k)
    return tuple(arrays or numbers)


def _labels(f: Any, args: tuple[Any, ...], argnums: Sequence[int]) -> list[str]:
    """Differentiated leaves as source code would name them: `x`, `params['w'][0]`."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    labels = []
    for k in argnums:
        named = k < len(parameters) and parameters[k].kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        name = parameters[k].name if named else f"argument {k}"
        leaves, structure = leaves_of(args[k])
        paths = paths_of(structure)
        labels += [name + path for leaf, (path, _) in zip(leaves, paths, strict=True) if is_differentiable(leaf)]
    return labels


def _as_array(leaf: Any) -> Any:
    return leaf if isinstance(leaf, np.ndarray) else np.asarray(leaf)[()]


def _copied(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return laid_out(leaf, leaf)
    if hasattr(leaf, "bit_generator"):
        return deepcopy(leaf)
    return leaf


def _copied_together(arrays: list[np.ndarray], dtype: np.dtype[Any] | None = None) -> list[np.ndarray]:
    """Copies that share memory as the arrays do; all of them of `dtype`, if there is one."""
    spans = [np.lib.array_utils.byte_bounds(array) for array in arrays]
    low, high = min(start for start, _ in spans), max(stop for _, stop in spans)
    if dtype is None:
        memory = np.zeros(high - low, np.uint8)
        copies = [np.ndarray(a.shape, a.dtype, memory, address(a) - low, a.strides) for a in arrays]
    else:
        item = arrays[0].itemsize
        memory = np.zeros((high - low) // item, dtype)
        steps = [tuple(stride // item * dtype.itemsize for stride in a.strides) for a in arrays]
        starts = [(address(a) - low) // item * dtype.itemsize for a in arrays]
        copies = [
            np.ndarray(a.shape, dtype, memory, start, step)
            for a, start, step in zip(arrays, starts, steps, strict=True)
        ]
    for copy, array in zip(copies, arrays, strict=True):
        copy[...] = array
    return copies


def _with_value(copy: Any, leaf: Any, value: Any) -> Any:
    if isinstance(copy, np.ndarray):
        if np.asarray(value).dtype == copy.dtype and np.shape(value) == copy.shape:
            copy[...] = value
            return copy
        return laid_out(np.asarray(value), leaf)
    number = np.asarray(value)[()]
    return type(leaf)(number) if type(leaf) in (float, complex) and number.dtype.kind != "c" else number
