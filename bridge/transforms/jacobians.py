"""Jacobians, Hessians, and products with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Unpack, overload

import numpy as np

from bridge.engines import registry
from bridge.errors import ArgumentError, CotangentError
from bridge.options import Engine, IndexMode
from bridge.rewind.interpreter import current_context
from bridge.rewind.memory import grounded
from bridge.source.programs import called
from bridge.transforms.chosen import Apart, Argnums, is_single, positions_of
from bridge.transforms.entering import Entering, enter, is_differentiable, refuse_shared_writes
from bridge.transforms.grad import P, grad, renamed, shortcut
from bridge.transforms.jvp import jvp, pushed_forward
from bridge.transforms.transformed import Options, Transformed, configurable
from bridge.transforms.vjp import vjp
from bridge.trees import leaves_along, leaves_of, rebuilt


@overload
def jacrev(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    engine: Engine = "eager",
    source: bool | None = None,
    index_mode: IndexMode = "error",
    memory: str | int | None = None,
) -> Callable[P, Any]: ...
@overload
def jacrev(**options: Unpack[Options]) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...
@configurable
def jacrev(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    engine: Engine = "eager",
    source: bool | None = None,
    index_mode: IndexMode = "error",
    memory: str | int | None = None,
) -> Callable[..., Any]:
    """The Jacobian of an array-valued `f`, row by row in reverse mode: shape `value.shape + argument.shape`.

    Of an argument that is a container or an object, the same with a Jacobian in the place of each of its arrays.
    `source`, `index_mode` and `memory` as in `value_and_grad`.
    """
    compiler = registry.compiler(engine, index_mode, memory)
    if compiler is not None:
        return compiler.compiled(jacrev(f, argnums, source=source))

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        apart = Apart(f, argnums, args, kwargs)
        value, pull = vjp(_closed(f, apart, source), apart.wanted, engine=engine, source=source, memory=memory)
        return _by_rows(pull, value, apart.wanted)

    return renamed(Transformed.of(jacobian, jacrev, f, argnums, engine, source, index_mode, memory))


@overload
def jacfwd(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    engine: Engine = "eager",
    source: bool | None = None,
    index_mode: IndexMode = "error",
    memory: str | int | None = None,
) -> Callable[P, Any]: ...
@overload
def jacfwd(**options: Unpack[Options]) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...
@configurable
def jacfwd(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    engine: Engine = "eager",
    source: bool | None = None,
    index_mode: IndexMode = "error",
    memory: str | int | None = None,
) -> Callable[..., Any]:
    """The Jacobian of an array-valued `f`, column by column in forward mode: shape `value.shape + argument.shape`.

    Of an argument that is a container or an object, the same with a Jacobian in the place of each of its arrays.
    `source`, `index_mode` and `memory` as in `value_and_grad`.
    """
    compiler = registry.compiler(engine, index_mode, memory)
    if compiler is not None:
        return compiler.compiled(jacfwd(f, argnums, source=source))
    direct = shortcut(f, "jacfwd")

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        apart = Apart(f, argnums, args, kwargs)
        if direct is not None and apart.position is not None:
            found = direct(args, apart.position)
            if found is not NotImplemented:
                return found
        return _by_columns(_closed(f, apart, source), apart.wanted, engine, source)

    return renamed(Transformed.of(jacobian, jacfwd, f, argnums, engine, source, index_mode, memory))


def hvp(
    f: Callable[..., Any],
    args: Sequence[Any],
    tangents: Sequence[Any],
    engine: Engine = "eager",
    source: bool | None = None,
    index_mode: IndexMode = "error",
    memory: str | int | None = None,
    argnums: Argnums | None = None,
) -> Any:
    """The Hessian of a real `f` times `tangents`: the derivative of its gradient, forward over reverse.

    Returns one array (or container) if there is one argument, else a tuple, in the arguments' shapes. With `argnums`,
    positions or names, only these arguments vary: `tangents` has one for each of them, and the product is that of a
    position or name, or a tuple if `argnums` is one. `engine`
    supplies the outer derivative; the inner one's pulls are the rule book's. `source`, `index_mode` and `memory` as in
    `value_and_grad`.
    """
    compiler = registry.compiler(engine, index_mode, memory)
    if compiler is not None:
        return compiler.kept(_hvp, f, source, argnums)(tuple(args), tuple(tangents))
    _must_not_be_bounded("hvp", engine, memory)
    if argnums is not None:
        positions = positions_of(f, argnums, tuple(args))
        if len(tangents) != len(positions):
            raise CotangentError(f"{len(positions)} arguments and {len(tangents)} tangents", remedy="give one for each")
        # None is a tangent that is structurally zero.
        along: list[Any] = [None] * len(args)
        for position, tangent in zip(positions, tangents, strict=True):
            along[position] = tangent
        chosen = positions[0] if is_single(argnums) else positions
        return jvp(grad(f, chosen, source=source), args, along, engine=engine, source=source)[1]
    direct = shortcut(f, "hvp")
    if direct is not None:
        found = direct(args, tangents)
        if found is not NotImplemented:
            return found
    everything: Argnums = 0 if len(args) == 1 else tuple(range(len(args)))
    return jvp(grad(f, everything, source=source), args, tangents, engine=engine, source=source)[1]


@overload
def hessian(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    engine: Engine = "eager",
    source: bool | None = None,
    index_mode: IndexMode = "error",
    memory: str | int | None = None,
) -> Callable[P, Any]: ...
@overload
def hessian(**options: Unpack[Options]) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...
@configurable
def hessian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    engine: Engine = "eager",
    source: bool | None = None,
    index_mode: IndexMode = "error",
    memory: str | int | None = None,
) -> Callable[..., Any]:
    """The Hessian of a real `f` of one array argument, of shape twice `argument.shape`; parameters as in `hvp`."""
    compiler = registry.compiler(engine, index_mode, memory)
    if compiler is not None:
        return compiler.compiled(hessian(f, argnums, source=source))
    _must_not_be_bounded("hessian", engine, memory)
    columns = jacfwd(grad(f, argnums, source=source), argnums, engine, source)
    direct = shortcut(f, "hessian")

    def second(*args: Any, **kwargs: Any) -> Any:
        if direct is not None:
            apart = Apart(f, argnums, args, kwargs)
            if apart.position is not None and _is_array(apart.wanted):
                found = direct(args, apart.position)
                if found is not NotImplemented:
                    return found
        return columns(*args, **kwargs)

    return renamed(Transformed.of(second, hessian, f, argnums, engine, source, index_mode, memory))


def _must_not_be_bounded(name: str, engine: Engine, memory: Any) -> None:
    if memory is not None:
        raise ArgumentError(
            f"{name} with memory={memory!r} and engine={engine!r}: forward mode goes through the backward pass, and "
            "keeps its log in memory",
            remedy='use engine="xla", or bridge.checkpoint around parts of the program',
        )


def _hvp(f: Callable[..., Any], source: bool | None, argnums: Argnums | None) -> Callable[..., Any]:
    return lambda args, tangents: hvp(f, args, tangents, source=source, argnums=argnums)


def _units(x: Any) -> list[np.ndarray]:
    plain = np.asarray(grounded(x))
    kind = plain.dtype if plain.dtype.kind in "fc" else np.dtype(float)
    units = []
    for k in range(plain.size):
        unit = np.zeros(plain.size, kind)
        unit[k] = 1
        units.append(unit.reshape(plain.shape))
    return units


def _pushed(closed: Callable[[Any], Any], x: Any, tangent: Any, engine: Engine, source: bool | None) -> tuple[Any, ...]:
    return pushed_forward(closed, (x,), (tangent,), False, engine, "strong", True, source)


def _by_rows(pull: Callable[..., Any], value: Any, x: Any) -> Any:
    """The Jacobians of the arrays in `value` with respect to those in `x`, in the containers and objects of both."""
    values, outside = leaves_of(value)
    found = []
    for number, one in enumerate(values):
        rows = []
        for unit in _units(one):
            cotangent = [unit if k == number else _nothing(other) for k, other in enumerate(values)]
            present = [None if ct is None else ct != 0 for ct in cotangent]
            rows.append(pull(rebuilt(outside, cotangent), rebuilt(outside, present))[0])
        found.append(_inside(rows, 0, np.shape(one), x))
    return rebuilt(outside, found)


def _by_columns(closed: Callable[[Any], Any], x: Any, engine: Engine, source: bool | None) -> Any:
    """The same column by column."""
    pushed = [_pushed(closed, x, tangent, engine, source) for tangent in _tangents(x)]
    value = (pushed[0] if pushed else _pushed(closed, x, None, engine, source))[0]
    values, outside = leaves_of(value)
    columns = [leaves_along(outside, tangent) for _, tangent in pushed]
    return rebuilt(
        outside, [_inside([column[k] for column in columns], -1, np.shape(one), x) for k, one in enumerate(values)]
    )


def _tangents(x: Any) -> Iterator[Any]:
    """For each number in `x`, a tangent of it alone."""
    if _is_array(x):
        yield from _units(x)
        return
    leaves, structure = leaves_of(x)
    for number, leaf in enumerate(leaves):
        before, after = [None] * number, [None] * (len(leaves) - number - 1)
        for unit in _units(leaf) if is_differentiable(leaf) else ():
            yield rebuilt(structure, [*before, unit, *after])


def _inside(parts: list[Any], axis: int, shape: tuple[int, ...], x: Any) -> Any:
    """Rows or columns as the Jacobians of a value of `shape`, in the containers of `x`.

    Of the rows each has those containers; the columns come one after the other.
    """
    if _is_array(x):
        return _joined(parts, axis, shape, x)
    leaves, structure = leaves_of(x)
    if axis == 0:
        rows = [leaves_along(structure, part) for part in parts]
        by_leaf = [[row[k] for row in rows] for k in range(len(leaves))]
    else:
        left = iter(parts)
        by_leaf = [[next(left) for _ in range(np.size(leaf))] if is_differentiable(leaf) else [] for leaf in leaves]
    both = zip(leaves, by_leaf, strict=True)
    return rebuilt(
        structure, [_joined(part, axis, shape, leaf) if is_differentiable(leaf) else None for leaf, part in both]
    )


def _joined(parts: list[Any], axis: int, shape: tuple[int, ...], x: Any) -> Any:
    """Rows or columns as the Jacobian of a value of `shape` with respect to an array."""
    whole = shape + np.shape(x)
    return np.reshape(np.stack(parts, axis=axis), whole) if parts else np.zeros(whole, np.result_type(grounded(x)))


def _nothing(leaf: Any) -> Any:
    """A cotangent of zeros for what can have one."""
    plain = np.asarray(grounded(leaf))
    return np.zeros(plain.shape, plain.dtype) if plain.dtype.kind in "fc" else None


def _is_array(x: Any) -> bool:
    """Whether an argument is one array, number or list of numbers: no container, and no object."""
    plain = grounded(x)
    return hasattr(plain, "dtype") or isinstance(plain, (int, float, complex, list))


def _closed(f: Callable[..., Any], apart: Apart, source: bool | None) -> Callable[[Any], Any]:
    """A function of what is differentiated alone."""
    wanted = apart.wanted
    if not _is_array(wanted) and not any(map(is_differentiable, leaves_of(wanted)[0])):
        raise ArgumentError(
            f"a Jacobian with respect to a {type(wanted).__name__}",
            remedy="differentiate an array argument, or one that holds float arrays",
        )
    leaves, structure = leaves_of(apart.others)
    wanted_leaves = leaves_of(wanted)[0]

    def closed(x: Any) -> Any:
        # As in every transform: the function may write into its other arguments, and the caller's keep their bits.
        flat = [Entering(leaf, False, "another argument", 0, True) for leaf in leaves]
        entered = enter(current_context(), flat)
        refuse_shared_writes(wanted_leaves, leaves_of(x)[0], leaves, entered)
        args, kwargs = apart.joined(x, rebuilt(structure, entered))
        return called(f, source)(*args, **kwargs)

    return closed
