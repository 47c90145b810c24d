"""What users call: `grad`, `value_and_grad`, `vjp`, `jvp`, Jacobians, Hessians and their products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge import engines
from bridge.arguments import Arguments, leaves_of, rebuilt
from bridge.context import Context, conforming
from bridge.errors import ArgumentError, CotangentError
from bridge.extend import conj
from bridge.forward import ForwardContext
from bridge.memory import grounded
from bridge.results import handed_out, number
from bridge.structure import has_nan

Argnums = int | Sequence[int]


def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: str = "auto",
    zeros: str = "strong",
    allow_int: bool = False,
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns `f(*args)` and its gradient.

    Parameters
    ----------
    f : returns one real number; NumPy code that may write into its arguments and its own arrays.
    argnums : position, or positions, of the arguments to differentiate: float or complex arrays or
        numbers, or containers of them (tuples, lists, dicts, named tuples, dataclasses that optree knows).
    has_aux : `f` returns `(number, anything)`; the second is handed out with the value, untracked.
    engine : "auto" or "native"; "julia", "jax" and "xla" name what is missing where they are not there.
    zeros : "strong" or "ieee", what becomes of absent cotangents at non-finite partials (docs/conventions.md).
    allow_int : integer and boolean leaves get None instead of an error.

    The gradient has the containers, shapes and dtypes of the arguments: ∂f/∂re + i·∂f/∂im for complex ones.
    The arguments keep their bits, also where `f` writes into them or raises.

    Raises
    ------
    ArgumentError, EscapeError, AliasError, NoRuleError, RuleError, ContextError : see `bridge.errors`.
    """
    engines.check(engine)

    def differentiated(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        with Context(zeros=zeros) as context:
            arguments = Arguments(context, args, kwargs, argnums, allow_int)
            result = f(*arguments.args, **arguments.kwargs)
            value, aux = _with_aux(result, has_aux)
            value = number(value)
            tracked = _belongs(context, value)
            gradients = (
                context.pull_back([(value.place, value.dtype.type(1))], arguments.places, once=True) if tracked else None
            )
            out = handed_out(value)
            out = (out, handed_out(aux)) if has_aux else out
            return out, arguments.in_containers(gradients)

    return _named(differentiated, f, "value_and_grad")


def grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: str = "auto",
    zeros: str = "strong",
    allow_int: bool = False,
) -> Callable[..., Any]:
    """A function that returns the gradient of `f`; with `has_aux`, `(gradient, aux)`. See `value_and_grad`."""
    both = value_and_grad(f, argnums, has_aux, engine, zeros, allow_int)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return _named(gradient, f, "grad")


def vjp(
    f: Callable[..., Any], *args: Any, has_aux: bool = False, engine: str = "auto", zeros: str = "strong"
) -> tuple[Any, ...]:
    """`f(*args)` and its pull, which maps a cotangent of the value to a tuple of cotangents of all arguments.

    The pull may be called any number of times, does not write its argument, and takes a cotangent in the
    containers and shapes of the value. With `has_aux`, returns `(value, pull, aux)`.
    """
    engines.check(engine)
    context = Context(zeros=zeros)
    with context:
        arguments = Arguments(context, args, {}, tuple(range(len(args))), allow_int=True)
        value, aux = _with_aux(f(*arguments.args), has_aux)
        leaves, container = leaves_of(value)
        out = handed_out(value)
        aux_out = handed_out(aux)

    def pull(cotangent: Any, exists: Any = None) -> tuple[Any, ...]:
        cts, given = leaves_of(cotangent)
        if given != container:
            raise CotangentError(
                f"the cotangent has the structure {given}, the value has {container}",
                remedy="give a cotangent in the containers of the value",
            )
        seeds = []
        for leaf, ct in zip(leaves, cts, strict=True):
            conformed = conforming(ct, leaf if hasattr(leaf, "dtype") else np.asarray(leaf))
            if _belongs(context, leaf):
                seeds.append((leaf.place, conformed))
        return arguments.in_containers(context.pull_back(seeds, arguments.places, exists=exists))

    return (out, pull, aux_out) if has_aux else (out, pull)


def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    zeros: str = "strong",
) -> tuple[Any, ...]:
    """`f(*primals)` and its derivative along `tangents`, in forward mode through the same mutations.

    Parameters
    ----------
    primals, tangents : tuples of the same length, containers, shapes and dtypes; the tangent of an integer
        leaf is ignored, and None stands for a tangent that is structurally zero.
    zeros : "strong" or "ieee". Where a tangent becomes NaN, "strong" runs `f` once more and asks reverse mode
        for that element, with the rules of strong zeros there (docs/conventions.md).
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise ArgumentError("jvp takes a tuple of primals and a tuple of tangents", remedy="jvp(f, (x,), (dx,))")
    if len(primals) != len(tangents):
        raise CotangentError(f"{len(primals)} primals and {len(tangents)} tangents", remedy="give one for each primal")
    return _pushed(f, primals, tangents, has_aux, zeros, padded=False)


def _pushed(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool, zeros: str, padded: bool
) -> tuple[Any, ...]:
    with ForwardContext(zeros=zeros) as context:
        arguments = Arguments(context, tuple(primals), {}, tuple(range(len(primals))), allow_int=True)
        given = arguments.matching(tangents)
        for buffer, tangent in zip(arguments.buffers, given, strict=True):
            if tangent is not None:
                context.seed(buffer, conforming(tangent, buffer, "tangent"))
        value, aux = _with_aux(f(*arguments.args), has_aux)
        leaves, container = leaves_of(value)
        derivatives = [_derivative(context, leaf) for leaf in leaves]
        values = [handed_out(leaf) for leaf in leaves]
        aux = handed_out(aux)
    if zeros == "strong" and any(map(has_nan, derivatives)):
        derivatives = _mended(f, primals, given, has_aux, values, derivatives, padded)
    out = rebuilt(container, values), rebuilt(container, derivatives)
    return (*out, aux) if has_aux else out


def _mended(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: list[Any],
    has_aux: bool,
    values: list[Any],
    derivatives: list[Any],
    padded: bool,
) -> list[Any]:
    """Derivatives whose NaNs are asked of reverse mode, where absent cotangents are known to be absent."""
    mended = list(derivatives)
    for number, derivative in enumerate(derivatives):
        if not has_nan(derivative):
            continue

        def part(*args: Any, number: int = number) -> Any:
            return leaves_of(_with_aux(f(*args), has_aux)[0])[0][number]

        value, pull = vjp(part, *primals)
        if not np.array_equal(grounded(value), grounded(values[number]), equal_nan=True):
            continue
        fixed = np.copy(derivative)
        for index in zip(*np.nonzero(np.isnan(grounded(np.atleast_1d(derivative)))), strict=True):
            position = index if np.ndim(grounded(derivative)) else ()
            fixed[position] = _row_times(pull, grounded(value), position, tangents, padded)
        mended[number] = fixed if np.ndim(grounded(derivative)) else fixed[()]
    return mended


def _row_times(pull: Any, value: Any, index: tuple[int, ...], tangents: list[Any], padded: bool) -> Any:
    """One element of the derivative: its cotangent pulled back, times the tangents."""
    total: Any = 0.0
    for unit in (1.0, 1.0j) if np.asarray(value).dtype.kind == "c" else (1.0,):
        seed = np.zeros_like(value)
        seed[index] = unit
        gradients = [g for g in leaves_of(pull(seed, seed != 0))[0] if g is not None]
        for gradient, tangent in zip(gradients, tangents, strict=True):
            if tangent is None:
                continue
            with np.errstate(all="ignore"):
                products = np.real(conj(gradient) * tangent)
            if padded:
                products = np.where(grounded(tangent) == 0, np.zeros_like(products), products)
            total = total + unit * np.sum(products)
    return total


def _derivative(context: ForwardContext, leaf: Any) -> Any:
    if _belongs(context, leaf):
        tangent = leaf.place.peek()
        if tangent is not None:
            return np.copy(tangent)[()] if not hasattr(tangent, "place") else np.copy(tangent)
    plain = np.asarray(grounded(leaf))
    return np.zeros(plain.shape, plain.dtype if plain.dtype.kind in "fc" else float)[()]


def jacrev(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The Jacobian of an array-valued `f`, row by row in reverse mode: shape `value.shape + argument.shape`."""

    def jacobian(*args: Any) -> Any:
        value, pull = vjp(_closed(f, args, argnums), args[argnums])
        shape = np.shape(value)
        rows = [pull(unit, unit != 0)[0] for unit in _units(value)]
        return np.reshape(np.stack(rows), shape + np.shape(args[argnums])) if rows else _empty(value, args[argnums])

    return _named(jacobian, f, "jacrev")


def jacfwd(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The Jacobian of an array-valued `f`, column by column in forward mode: shape `value.shape + argument.shape`."""

    def jacobian(*args: Any) -> Any:
        closed, x = _closed(f, args, argnums), args[argnums]
        columns = [_pushed(closed, (x,), (unit,), False, "strong", padded=True)[1] for unit in _units(x)]
        if not columns:
            return _empty(closed(x), x)
        return np.reshape(np.stack(columns, axis=-1), np.shape(columns[0]) + np.shape(x))

    return _named(jacobian, f, "jacfwd")


def hvp(f: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of a real `f` times `tangents`: the derivative of its gradient, forward over reverse.

    Returns one array (or container) if there is one argument, else a tuple, in the arguments' shapes.
    """
    argnums: Any = 0 if len(args) == 1 else tuple(range(len(args)))
    return jvp(grad(f, argnums), args, tangents)[1]


def hessian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The Hessian of a real `f` of one array argument: shape `argument.shape + argument.shape`."""
    return _named(jacfwd(grad(f, argnums), argnums), f, "hessian")


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


def _closed(f: Callable[..., Any], args: tuple[Any, ...], position: int) -> Callable[[Any], Any]:
    if not hasattr(grounded(args[position]), "dtype") and not isinstance(args[position], (int, float, complex, list)):
        raise ArgumentError(
            f"a Jacobian with respect to a {type(args[position]).__name__}", remedy="differentiate one array argument"
        )
    return lambda x: f(*args[:position], x, *args[position + 1 :])


def _with_aux(result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ArgumentError(
            f"has_aux=True, and the function returned a {type(result).__name__}", remedy="return (value, aux)"
        )
    return result[0], result[1]


def _belongs(context: Context, value: Any) -> bool:
    place = getattr(value, "place", None)
    return place is not None and place.context is context and place.dtype.kind in "fc"


def _named(wrapper: Any, f: Callable[..., Any], transform: str) -> Any:
    name = getattr(f, "__name__", type(f).__name__)
    wrapper.__name__ = wrapper.__qualname__ = f"{transform}({name})"
    wrapper.__doc__ = f"{transform} of {name}.\n\n{getattr(f, '__doc__', None) or ''}"
    return wrapper
