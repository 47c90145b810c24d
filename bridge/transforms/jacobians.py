"""Jacobians, Hessians, and products with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.engines import registry
from bridge.errors import ArgumentError
from bridge.rewind.interpreter import current_context
from bridge.rewind.memory import grounded
from bridge.source.programs import called
from bridge.transforms.arguments import one_position
from bridge.transforms.entering import Entering, enter, is_differentiable
from bridge.transforms.grad import grad, renamed, shortcut, vjp
from bridge.transforms.jvp import jvp, pushed_forward
from bridge.transforms.transformed import Transformed
from bridge.trees import leaves_along, leaves_of, rebuilt


def jacrev(
    f: Callable[..., Any],
    argnums: int = 0,
    engine: str = "eager",
    source: bool | None = None,
    index_mode: str = "error",
    memory: str | int | None = None,
) -> Callable[..., Any]:
    """The Jacobian of an array-valued `f`, row by row in reverse mode: shape `value.shape + argument.shape`.

    Of an argument that is a container or an object, the same with a Jacobian in the place of each of its arrays.
    `source`, `index_mode` and `memory` as in `value_and_grad`.
    """
    compiler = registry.compiler(engine, index_mode, memory)
    if compiler is not None:
        return compiler.compiled(jacrev(f, argnums, source=source))

    def jacobian(*args: Any) -> Any:
        position = one_position(argnums, len(args))
        x = args[position]
        value, pull = vjp(_closed(f, args, position, source), x, engine=engine, source=source)
        if not _is_array(x):
            return _by_rows(pull, value, x)
        rows = [pull(unit, unit != 0)[0] for unit in _units(value)]
        return np.reshape(np.stack(rows), np.shape(value) + np.shape(x)) if rows else _empty(value, x)

    return renamed(Transformed.of(jacobian, jacrev, f, argnums, engine, source, index_mode, memory))


def jacfwd(
    f: Callable[..., Any],
    argnums: int = 0,
    engine: str = "eager",
    source: bool | None = None,
    index_mode: str = "error",
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

    def jacobian(*args: Any) -> Any:
        position = one_position(argnums, len(args))
        if direct is not None:
            found = direct(args, position)
            if found is not NotImplemented:
                return found
        closed, x = _closed(f, args, position, source), args[position]
        if not _is_array(x):
            return _by_columns(closed, x, engine, source)
        columns = [_pushed(closed, x, unit, engine, source)[1] for unit in _units(x)]
        if not columns:
            return _empty(_pushed(closed, x, None, engine, source)[0], x)
        return np.reshape(np.stack(columns, axis=-1), np.shape(columns[0]) + np.shape(x))

    return renamed(Transformed.of(jacobian, jacfwd, f, argnums, engine, source, index_mode, memory))


def hvp(
    f: Callable[..., Any],
    args: Sequence[Any],
    tangents: Sequence[Any],
    engine: str = "eager",
    source: bool | None = None,
    index_mode: str = "error",
    memory: str | int | None = None,
) -> Any:
    """The Hessian of a real `f` times `tangents`: the derivative of its gradient, forward over reverse.

    Returns one array (or container) if there is one argument, else a tuple, in the arguments' shapes. `engine`
    supplies the outer derivative; the inner one's pulls are the rule book's. `source`, `index_mode` and `memory` as in
    `value_and_grad`.
    """
    compiler = registry.compiler(engine, index_mode, memory)
    if compiler is not None:
        return compiler.kept(_hvp, f, source)(tuple(args), tuple(tangents))
    direct = shortcut(f, "hvp")
    if direct is not None:
        found = direct(args, tangents)
        if found is not NotImplemented:
            return found
    argnums: Any = 0 if len(args) == 1 else tuple(range(len(args)))
    return jvp(grad(f, argnums, source=source), args, tangents, engine=engine, source=source)[1]


def hessian(
    f: Callable[..., Any],
    argnums: int = 0,
    engine: str = "eager",
    source: bool | None = None,
    index_mode: str = "error",
    memory: str | int | None = None,
) -> Callable[..., Any]:
    """The Hessian of a real `f` of one array argument, of shape twice `argument.shape`; parameters as in `hvp`."""
    compiler = registry.compiler(engine, index_mode, memory)
    if compiler is not None:
        return compiler.compiled(hessian(f, argnums, source=source))
    columns = jacfwd(grad(f, argnums, source=source), argnums, engine, source)
    direct = shortcut(f, "hessian")

    def second(*args: Any) -> Any:
        position = one_position(argnums, len(args))
        if not _is_array(args[position]):
            raise ArgumentError(
                f"a Hessian with respect to a {type(args[position]).__name__}",
                remedy="differentiate one array argument, or take products with the Hessian: bridge.hvp",
            )
        if direct is not None:
            found = direct(args, position)
            if found is not NotImplemented:
                return found
        return columns(*args)

    return renamed(Transformed.of(second, hessian, f, argnums, engine, source, index_mode, memory))


def _hvp(f: Callable[..., Any], source: bool | None) -> Callable[..., Any]:
    return lambda args, tangents: hvp(f, args, tangents, source=source)


def _units(x: Any) -> list[np.ndarray]:
    plain = np.asarray(grounded(x))
    kind = plain.dtype if plain.dtype.kind in "fc" else np.dtype(float)
    units = []
    for k in range(plain.size):
        unit = np.zeros(plain.size, kind)
        unit[k] = 1
        units.append(unit.reshape(plain.shape))
    return units


def _empty(value: Any, x: Any) -> np.ndarray:
    return np.zeros(np.shape(value) + np.shape(x), np.result_type(grounded(value), grounded(x)))


def _pushed(closed: Callable[[Any], Any], x: Any, tangent: Any, engine: str, source: bool | None) -> tuple[Any, ...]:
    return pushed_forward(closed, (x,), (tangent,), False, engine, "strong", True, source)


def _by_rows(pull: Callable[..., Any], value: Any, x: Any) -> Any:
    """The Jacobians of an array with respect to the arrays in `x`, in its containers and objects."""
    leaves, structure = leaves_of(x)
    pulled = [leaves_along(structure, pull(unit, unit != 0)[0]) for unit in _units(value)]
    rows = zip(*pulled, strict=True) if pulled else [()] * len(leaves)
    both = zip(leaves, rows, strict=True)
    return rebuilt(structure, [_joined(list(parts), 0, np.shape(value), leaf) for leaf, parts in both])


def _by_columns(closed: Callable[[Any], Any], x: Any, engine: str, source: bool | None) -> Any:
    """The same column by column."""
    leaves, structure = leaves_of(x)
    shape = np.shape(_pushed(closed, x, None, engine, source)[0])
    found = []
    for number, leaf in enumerate(leaves):
        before, after = [None] * number, [None] * (len(leaves) - number - 1)
        units = _units(leaf) if is_differentiable(leaf) else []
        columns = [_pushed(closed, x, rebuilt(structure, [*before, unit, *after]), engine, source)[1] for unit in units]
        found.append(_joined(columns, -1, shape, leaf))
    return rebuilt(structure, found)


def _joined(parts: list[Any], axis: int, shape: tuple[int, ...], leaf: Any) -> Any:
    """Rows or columns as the Jacobian of a value of `shape` with respect to a leaf; None if that has none."""
    if not is_differentiable(leaf):
        return None
    whole = shape + np.shape(leaf)
    return np.reshape(np.stack(parts, axis=axis), whole) if parts else np.zeros(whole)


def _is_array(x: Any) -> bool:
    """Whether an argument is one array, number or list of numbers: no container, and no object."""
    plain = grounded(x)
    return hasattr(plain, "dtype") or isinstance(plain, (int, float, complex, list))


def _closed(f: Callable[..., Any], args: tuple[Any, ...], position: int, source: bool | None) -> Callable[[Any], Any]:
    if not _is_array(args[position]) and not any(map(is_differentiable, leaves_of(args[position])[0])):
        raise ArgumentError(
            f"a Jacobian with respect to a {type(args[position]).__name__}",
            remedy="differentiate an array argument, or one that holds float arrays",
        )
    others = [arg for k, arg in enumerate(args) if k != position]
    leaves, structure = leaves_of(others)

    def closed(x: Any) -> Any:
        # As in every transform: the function may write into its other arguments, and the caller's keep their bits.
        flat = [Entering(leaf, False, "another argument", 0, True) for leaf in leaves]
        rest = rebuilt(structure, enter(current_context(), flat))
        return called(f, source)(*rest[:position], x, *rest[position:])

    return closed
