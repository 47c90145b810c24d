"""Jacobians, Hessians, and products with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.engines import registry
from bridge.errors import ArgumentError
from bridge.rewind.memory import grounded
from bridge.source.programs import called
from bridge.transforms.grad import grad, renamed, shortcut, vjp
from bridge.transforms.jvp import jvp, pushed_forward


def jacrev(
    f: Callable[..., Any], argnums: int = 0, engine: str = "auto", source: bool | None = None
) -> Callable[..., Any]:
    """The Jacobian of an array-valued `f`, row by row in reverse mode: shape `value.shape + argument.shape`."""
    compiler = registry.compiler(engine)
    if compiler is not None:
        return compiler.compiled(jacrev(f, argnums, source=source), "error")

    def jacobian(*args: Any) -> Any:
        value, pull = vjp(_closed(f, args, argnums, source), args[argnums], engine=engine, source=source)
        shape = np.shape(value)
        rows = [pull(unit, unit != 0)[0] for unit in _units(value)]
        return np.reshape(np.stack(rows), shape + np.shape(args[argnums])) if rows else _empty(value, args[argnums])

    return renamed(jacobian, f, "jacrev")


def jacfwd(
    f: Callable[..., Any], argnums: int = 0, engine: str = "auto", source: bool | None = None
) -> Callable[..., Any]:
    """The Jacobian of an array-valued `f`, column by column in forward mode: shape `value.shape + argument.shape`."""
    compiler = registry.compiler(engine)
    if compiler is not None:
        return compiler.compiled(jacfwd(f, argnums, source=source), "error")
    direct = shortcut(f, "jacfwd")

    def jacobian(*args: Any) -> Any:
        if direct is not None:
            found = direct(args, argnums)
            if found is not NotImplemented:
                return found
        closed, x = _closed(f, args, argnums, source), args[argnums]
        columns = [
            pushed_forward(closed, (x,), (unit,), False, engine, "strong", True, source)[1] for unit in _units(x)
        ]
        if not columns:
            return _empty(closed(x), x)
        return np.reshape(np.stack(columns, axis=-1), np.shape(columns[0]) + np.shape(x))

    return renamed(jacobian, f, "jacfwd")


def hvp(
    f: Callable[..., Any],
    args: Sequence[Any],
    tangents: Sequence[Any],
    engine: str = "auto",
    source: bool | None = None,
) -> Any:
    """The Hessian of a real `f` times `tangents`: the derivative of its gradient, forward over reverse.

    Returns one array (or container) if there is one argument, else a tuple, in the arguments' shapes. `engine`
    supplies the outer derivative; the inner one's pulls are the rule book's.
    """
    compiler = registry.compiler(engine)
    if compiler is not None:
        return compiler.kept(_hvp, f, "error", source)(tuple(args), tuple(tangents))
    direct = shortcut(f, "hvp")
    if direct is not None:
        found = direct(args, tangents)
        if found is not NotImplemented:
            return found
    argnums: Any = 0 if len(args) == 1 else tuple(range(len(args)))
    return jvp(grad(f, argnums, source=source), args, tangents, engine=engine, source=source)[1]


def hessian(
    f: Callable[..., Any], argnums: int = 0, engine: str = "auto", source: bool | None = None
) -> Callable[..., Any]:
    """The Hessian of a real `f` of one array argument: shape twice `argument.shape`; `engine` as in `hvp`."""
    compiler = registry.compiler(engine)
    if compiler is not None:
        return compiler.compiled(hessian(f, argnums, source=source), "error")
    columns = jacfwd(grad(f, argnums, source=source), argnums, engine, source)
    direct = shortcut(f, "hessian")

    def second(*args: Any) -> Any:
        if direct is not None:
            found = direct(args, argnums)
            if found is not NotImplemented:
                return found
        return columns(*args)

    return renamed(second, f, "hessian")


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


def _closed(f: Callable[..., Any], args: tuple[Any, ...], position: int, source: bool | None) -> Callable[[Any], Any]:
    plain = grounded(args[position])
    if not hasattr(plain, "dtype") and not isinstance(plain, (int, float, complex, list)):
        raise ArgumentError(
            f"a Jacobian with respect to a {type(args[position]).__name__}", remedy="differentiate one array argument"
        )
    return lambda x: called(f, source)(*args[:position], x, *args[position + 1 :])
