"""What goes into a differentiated function and comes out of it: arguments in their containers, gradients, values."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import compress
from typing import Any

import numpy as np

from bridge.errors import ArgumentError, CotangentError, with_article
from bridge.objects.structure import ObjectStructure
from bridge.rewind.borrowed import changed
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.labels import is_table, name_of
from bridge.rewind.memory import grounded
from bridge.rewind.values import is_abstract, is_of_subclass
from bridge.transforms.chosen import Argnums, chosen, is_single
from bridge.transforms.entering import Entering, enter, is_differentiable
from bridge.transforms.held_twice import HeldTwice, holds_same, said_once
from bridge.transforms.kinds import by_entries, in_kind_of, is_of_another_library, is_sparse
from bridge.trees import Mismatch, leaves_along, leaves_of, paths_of, rebuilt, shown


class Arguments:
    """Arguments as the function gets them, and where their gradients will be.

    Every array becomes a Buffer, differentiated or not; the numbers among the differentiated leaves become
    Scalars. Arrays that share memory share a root. Objects of the user's classes are copies with the state of the
    caller's, made without a run of `__init__`; what they hold and is neither array nor number is the caller's own.
    """

    def __init__(
        self,
        context: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: Argnums,
        allow_int: bool,
        function: Any = None,
    ) -> None:
        self.context = context
        context.remembers = True
        self.single = is_single(argnums)
        keys, kwargs = chosen(function, argnums, args, kwargs)
        by_name = [key for key in keys if isinstance(key, str)] if kwargs else []
        rest = {name: arg for name, arg in kwargs.items() if name not in by_name} if by_name else kwargs
        self.argnums: Any = keys
        if by_name:
            self.argnums = tuple([len(args) + by_name.index(key) if isinstance(key, str) else key for key in keys])
        self.places: list[Any] = []
        self.buffers: list[Any] = []
        self._originals: list[tuple[np.ndarray, Any]] = []
        # The structure of each differentiated argument, its leaves, and which of these are floats.
        self._given: dict[int, tuple[Any, list[Any], list[bool]]] = {}
        flat: list[Entering] = []
        parts: list[tuple[str, Any, int, int]] = []
        holding: list[int] = []
        everything = [*args, *[kwargs[name] for name in by_name], *([rest] if rest else [])] if kwargs else args
        for k, arg in enumerate(everything):
            key = k if k < len(args) else by_name[k - len(args)] if k < len(args) + len(by_name) else None
            name = "a keyword argument" if key is None else f"argument {key!r}"
            leaves, structure = leaves_of(arg)
            wanted = k in self.argnums
            if wanted:
                floats = [is_differentiable(leaf) for leaf in leaves]
                self._given[k] = structure, leaves, floats
                if not all(floats):
                    check_leaves(leaves, structure, key, allow_int)
            if type(arg) not in (np.ndarray, float):
                holding.append(k)
            parts.append((name, structure, len(flat), len(flat) + len(leaves)))
            if type(structure) is ObjectStructure:
                named = zip(leaves, structure.paths(), strict=True)
                flat += [Entering(leaf, wanted, name + path, k, True) for leaf, (path, _) in named]
            else:
                flat += [Entering(leaf, wanted, name, k, False) for leaf in leaves]
        entered = enter(context, flat)
        context.entered_as = []
        for number, given in enumerate(entered):
            buffer = given.__bridge_array__ if is_of_subclass(given) else given
            if isinstance(flat[number].leaf, np.ndarray) and hasattr(buffer, "place"):
                self._originals.append((flat[number].leaf, buffer))
                context.entered_as.append(buffer)
        rebuilt_args = [rebuilt(structure, entered[start:end]) for _, structure, start, end in parts]
        self.args = tuple(rebuilt_args[: len(args)])
        self.kwargs: dict[str, Any] = {}
        if kwargs:
            given_names = dict(zip(by_name, rebuilt_args[len(args) :], strict=False))
            given_names |= rebuilt_args[-1] if rest else {}
            self.kwargs = {name: given_names[name] for name in kwargs}
        self._held_twice: HeldTwice | None = None
        if len(holding) > 1 or (holding and isinstance(everything[holding[0]], (dict, list, tuple))):
            given = [(*parts[k][:2], everything[k], rebuilt_args[k]) for k in holding]
            self._held_twice = HeldTwice(given)
        for k in self.argnums:
            for number, is_float in enumerate(self._given[k][2], parts[k][2]):
                if is_float:
                    buffer = entered[number]
                    if type(buffer) is ARRAYS.labelled or is_of_subclass(buffer):
                        buffer = buffer.__bridge_array__
                    self.buffers.append(buffer)
                    self.places.append(buffer.place)

    def check_originals(self, rewound: bool = False) -> None:
        """Raise if the function wrote into a caller's array itself.

        Compares with the arguments' memory as it was on entry: it is `rewound`, or is taken back for this where
        the function has written it. In an inner context, whose rewinding the outer one would record, it is not.
        """
        if not rewound:
            self.context.take_in()
        if self._held_twice:
            loan = self.context.loan
            self._held_twice.check(() if loan is None else [kept.thing for kept in loan.changed()])
        if not self._originals:
            return
        pairs = [(original, buffer) for original, buffer in self._originals if not is_abstract(buffer)]
        written = [] if rewound else [pair for pair in pairs if pair[1].place.root.written]
        _check_same([pair for pair in pairs if rewound or not pair[1].place.root.written])
        if written and self.context.outer is None:
            with self.context.as_on_entry():
                _check_same(written)

    def in_containers(self, gradients: Sequence[Any] | None) -> Any:
        """Gradients in the containers of the differentiated arguments; zeros if there are none."""
        if gradients is None:
            gradients = [self.context.memory.alloc(place.shape, place.dtype) for place in self.places]
        found = iter(gradients)
        parts = []
        for k in self.argnums:
            structure, leaves, floats = self._given[k]
            values = [_as_given(next(found), leaf) if floats[n] else None for n, leaf in enumerate(leaves)]
            parts.append(rebuilt(structure, values))
        return parts[0] if self.single else tuple(parts)

    def matching(self, tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the differentiable leaves, in order."""
        found, originals = [], []
        for k in self.argnums:
            structure, primals, floats = self._given[k]
            try:
                none = tangents[k] is None
                leaves = [None] * len(primals) if none else leaves_along(structure, tangents[k])
            except Mismatch as error:
                raise CotangentError(
                    f"the tangent of argument {k} has the structure {error}, the argument has {shown(structure)}",
                    remedy="give a tangent in the containers of its primal",
                ) from error
            found += list(compress(leaves, floats))
            originals += list(compress(primals, floats))
        return said_once(found, originals, self.places)


def _check_same(pairs: Sequence[tuple[np.ndarray, Any]]) -> None:
    for original, buffer in pairs:
        root = buffer.place.root
        same = root.is_unchanged() if root.borrowed else holds_same(original, grounded(buffer))
        if not same:
            raise changed(original)


def _as_given(gradient: Any, leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return gradient if gradient.dtype == leaf.dtype else gradient.astype(leaf.dtype)  # bytes in the other order
    if hasattr(leaf, "view_as"):
        # An array without axes has a gradient that is one.
        return gradient if leaf.shape or hasattr(gradient, "view_as") else np.reshape(gradient, (1,))[0, ...]
    if is_of_another_library(leaf):
        return in_kind_of(leaf, gradient)
    is_array = isinstance(gradient, np.ndarray) or hasattr(gradient, "view_as")
    return gradient[()] if is_array and gradient.shape == () else gradient


def check_leaves(leaves: list[Any], structure: Any, key: int | str | None, allow_int: bool) -> None:
    """Raise ArgumentError if a leaf of an argument, told by its position or name, cannot be differentiated.

    What an object holds beside its floats and float arrays is no error, unless floats may be hidden in it.
    """
    if all(map(is_differentiable, leaves)):
        return
    paths = paths_of(structure)
    for (where, held), leaf in zip(paths, leaves, strict=True):
        if is_differentiable(leaf):
            continue
        if held:
            _check_held(leaf, f"argument {key!r}{where}")
            continue
        if is_sparse(leaf) and leaf.dtype.kind in "fc":
            raise by_entries(leaf, f"argument {key!r}{where}", "of which a gradient is asked")
        kind = getattr(leaf, "dtype", None)
        integer = getattr(kind, "kind", "") in ("i", "u", "b") or isinstance(leaf, (int, bool))
        if allow_int and (integer or (kind is None and not _hides_floats(leaf))):
            continue
        if is_table(leaf):
            raise ArgumentError(
                f"argument {key!r}{where} is a {name_of(leaf)}, a table whose columns have labels",
                remedy="pass its numbers (x.to_numpy()), or its columns ({name: x[name] for name in x})",
            )
        described = f"dtype {kind}" if kind is not None else f"type {type(leaf).__name__}"
        value = f" (value {_short(leaf)})" if not is_abstract(leaf) else ""
        raise ArgumentError(
            f"argument {key!r}{where} has {described}, and a gradient is asked of it{value}",
            remedy=_instead(leaf)
            + (", or pass allow_int=True to get None for it" if integer else ", or leave it out of argnums"),
        )
    if not allow_int and not any(map(is_differentiable, leaves)):
        raise ArgumentError(
            f"argument {key!r} is an object that holds no float and no float array, and a gradient is asked of it",
            remedy="convert what it holds to float, or leave it out of argnums",
        )


def _instead(leaf: Any) -> str:
    """What to pass in the place of a leaf that cannot be differentiated, for a remedy."""
    if type(leaf).__module__ == "juliacall":
        return "differentiate the Julia function itself by it (bridge.grad(function)(value)), or pass its numbers"
    array = grounded(leaf)
    if not isinstance(array, np.ndarray):
        shared = "pass np.from_dlpack(x), of what lies on a device np.from_dlpack(x.cpu())"
        return shared if hasattr(type(leaf), "__dlpack__") else "convert it to float"
    if array.dtype.names is not None:
        return f"pass its fields as arrays of floats (x[{array.dtype.names[0]!r}].copy())"
    if array.dtype.kind == "O":
        others = {type(x).__name__ for x in array.flat if not isinstance(x, (int, float, np.floating, np.integer))}
        if others:
            return f"pass a list of its elements, which are no real numbers ({with_article(min(others))})"
    return f"pass x.astype(float){', if its texts are numbers' if array.dtype.kind in 'US' else ''}"


def _check_held(leaf: Any, name: str) -> None:
    """Raise if a leaf of an object may hide floats, of which the gradient would be lost without a word."""
    if isinstance(leaf, np.generic) or hasattr(leaf, "place"):
        return
    kind = getattr(getattr(leaf, "dtype", None), "kind", None)
    if isinstance(leaf, np.ndarray):
        hides = leaf.dtype.kind in "OV"
    else:
        holds = isinstance(leaf, (tuple, list, dict)) or (_hides_floats(leaf) and not isinstance(leaf, Enum))
        hides = holds and kind not in ("i", "u", "b")
    if hides:
        dtype = f" of dtype {leaf.dtype}" if hasattr(leaf, "dtype") else ""
        raise ArgumentError(
            f"{name} is a {type(leaf).__module__}.{type(leaf).__name__}{dtype}, which may hold floats that cannot be "
            "differentiated, in an object of which a gradient is asked",
            remedy="hold NumPy arrays of floats, tuples, lists, dicts or objects of plain classes in it, or leave the "
            "object out of argnums",
        )


def _hides_floats(leaf: Any) -> bool:
    """Whether something that is no array of NumPy's may stand for floats.

    By NumPy's protocols, by that of buffers, as a number of another kind (`Fraction`, `Decimal`), or a set of numbers.
    """
    kind = type(leaf)
    if isinstance(leaf, (type, int)) or any(hasattr(kind, name) for name in ("__index__", "tocsr")):
        return False
    if isinstance(leaf, (set, frozenset)):
        return any(map(_hides_floats, leaf))
    if any(hasattr(kind, name) for name in ("__array__", "__dlpack__", "__array_interface__", "__float__")):
        return True
    try:
        return memoryview(leaf).format.strip("@=<>!") in ("e", "f", "d", "g", "Zf", "Zd", "Zg")
    except TypeError:
        return False


def _short(leaf: Any) -> str:
    text = repr(leaf)
    return text if len(text) < 60 else text[:57] + "..."


def handed_out(value: Any) -> Any:
    """Containers of tracked values as plain copies; inside an outer context, as values of that context."""
    leaves, structure = leaves_of(value)
    if isinstance(structure, ObjectStructure) and not any(hasattr(leaf, "place") for leaf in leaves):
        return value  # objects are themselves, not copies
    return rebuilt(structure, list(map(_one, leaves)))


def _one(leaf: Any) -> Any:
    if not hasattr(leaf, "place"):
        return leaf
    context = current_context()
    if context is not None and leaf.place.context is context:
        leaf = leaf.value
    if hasattr(leaf, "place"):
        return leaf.copy() if hasattr(leaf, "view_as") else leaf
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def number(value: Any) -> Any:
    """The value of a function whose gradient is asked; CotangentError unless it is one real number."""
    shape = getattr(value, "shape", ())
    kind = np.dtype(getattr(value, "dtype", type(value))).kind
    if shape != () or kind not in "fiub":
        plain = grounded(value)
        name = "ndarray" if isinstance(plain, np.ndarray) else type(plain).__name__
        described = f"{with_article(name)} of shape {shape}" if kind in "fciub" else with_article(type(value).__name__)
        raise CotangentError(
            f"the function returned {described}{' and complex dtype' if kind == 'c' else ''}; "
            "a gradient needs one real number",
            remedy="reduce it (np.sum, np.real), use vjp with a cotangent, or has_aux=True if it returned (value, aux)",
        )
    return value
