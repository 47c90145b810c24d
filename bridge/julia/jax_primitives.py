"""What `to_jax` makes of a Julia function in JAX: two primitives that are each other's derivatives, to any order.

`push` is the derivative of the results once along each direction, and without directions the function itself. `along`
is the gradient by some arguments of cotangents times that. Both are multilinear in directions and cotangents; the host
computes them, and a batch of them one element at a time.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

Part = dict[int, Any]
"""Tangents of arguments (a direction), or cotangents of results, by number; those that are left out are zero."""


class Program(Protocol):
    """A function on the host. It has a hash."""

    @property
    def results(self) -> Sequence[tuple[tuple[int, ...], Any]]:
        """Shapes and dtypes of what it returns."""
        ...

    @property
    def floats(self) -> Sequence[int]:
        """Numbers of the results that have derivatives."""
        ...

    def value(self, leaves: Sequence[Any]) -> list[Any]:
        """What it returns."""
        ...

    def push(self, leaves: Sequence[Any], directions: Sequence[Part]) -> list[Any]:
        """Derivatives of the `floats` among the results, once along each direction."""
        ...

    def along(self, leaves: Sequence[Any], directions: Sequence[Part], cts: Part, asked: Sequence[int]) -> list[Any]:
        """Gradients by the arguments `asked` of cotangents times that, as JAX has them where they are complex."""
        ...


class Places(NamedTuple):
    """What the operands after the arguments are: the numbers in each direction, and those of the cotangents."""

    directions: tuple[tuple[int, ...], ...]
    cts: tuple[int, ...] = ()

    def split(self, operands: Sequence[Any]) -> tuple[Sequence[Any], list[Part], Part]:
        """The operands, or what is given for each of them, as arguments, directions and cotangents."""
        count = len(operands) - sum(map(len, (*self.directions, self.cts)))
        given = iter(operands[count:])
        *directions, cts = [{k: next(given) for k in part} for part in (*self.directions, self.cts)]
        return operands[:count], directions, cts


def value(program: Program, leaves: Sequence[Any]) -> list[Any]:
    """What the program returns, in JAX."""
    return push(program, leaves, [])


def push(program: Program, leaves: Sequence[Any], directions: Sequence[Part]) -> list[Any]:
    """Derivatives of the program's results, once along each direction."""
    places = Places(tuple(map(tuple, directions)))
    given = [x for part in directions for x in part.values()]
    return _PUSH.bind(*leaves, *given, program=program, places=places)


def along(
    program: Program, leaves: Sequence[Any], directions: Sequence[Part], cts: Part, asked: Sequence[int]
) -> list[Any]:
    """Gradients by the arguments `asked` of cotangents times that."""
    places = Places(tuple(map(tuple, directions)), tuple(cts))
    given = [x for part in (*directions, cts) for x in part.values()]
    return _ALONG.bind(*leaves, *given, program=program, places=places, asked=tuple(asked))


def _push_on_host(*operands: Any, program: Program, places: Places) -> Any:
    def callback(*operands: Any) -> list[Any]:
        leaves, directions, _ = places.split(operands)
        return program.push(leaves, directions) if directions else program.value(leaves)

    return jax.pure_callback(callback, _structs(_push_looks(program=program, places=places)), *operands)


def _push_looks(*_: Any, program: Program, places: Places) -> list[Any]:
    results = program.results
    return [ShapedArray(*results[k]) for k in (program.floats if places.directions else range(len(results)))]


def _push_jvp(primals: Any, tangents: Any, *, program: Program, places: Places) -> Any:
    leaves, directions, _ = places.split(primals)
    of_leaves, of_directions, _ = places.split(tangents)
    values = push(program, leaves, directions)
    terms = [[*directions, _present(dict(enumerate(of_leaves)))]]
    terms += [_replaced(directions, k, _present(part)) for k, part in enumerate(of_directions)]
    found = _sum([push(program, leaves, term) for term in terms if all(term)])
    numbers = range(len(values)) if places.directions else program.floats
    by_result = dict(zip(numbers, found, strict=True)) if found else {}
    return values, [by_result.get(k, _zero(x)) for k, x in enumerate(values)]


def _push_transposed(given: Any, *operands: Any, program: Program, places: Places) -> Any:
    leaves, directions, _ = places.split(operands)
    cts = _present(dict(zip(program.floats, given, strict=True)))
    k, asked = _unknown(directions)
    found = along(program, leaves, _replaced(directions, k), cts, asked) if cts else None
    return _transposed(operands, found)


def _along_on_host(*operands: Any, program: Program, places: Places, asked: tuple[int, ...]) -> Any:
    def callback(*operands: Any) -> list[Any]:
        return program.along(*places.split(operands), asked)

    return jax.pure_callback(callback, _structs([operands[k] for k in asked]), *operands)


def _along_looks(*operands: Any, program: Program, places: Places, asked: tuple[int, ...]) -> list[Any]:
    return [ShapedArray(operands[k].shape, operands[k].dtype) for k in asked]


def _along_jvp(primals: Any, tangents: Any, *, program: Program, places: Places, asked: tuple[int, ...]) -> Any:
    leaves, directions, cts = places.split(primals)
    of_leaves, of_directions, of_cts = places.split(tangents)
    values = along(program, leaves, directions, cts, asked)
    terms = [(directions, _present(of_cts)), ([*directions, _present(dict(enumerate(of_leaves)))], cts)]
    terms += [(_replaced(directions, k, _present(part)), cts) for k, part in enumerate(of_directions)]
    found = _sum([along(program, leaves, *term, asked) for term in terms if all(term[0]) and term[1]])
    return values, found or [_zero(x) for x in values]


def _along_transposed(given: Any, *operands: Any, program: Program, places: Places, asked: tuple[int, ...]) -> Any:
    leaves, directions, cts = places.split(operands)
    direction = _present(dict(zip(asked, given, strict=True)))
    found = None
    if direction and any(map(ad.is_undefined_primal, cts.values())):
        pushed = dict(zip(program.floats, push(program, leaves, [*directions, direction]), strict=True))
        found = [pushed[k] for k, ct in cts.items() if ad.is_undefined_primal(ct)]
    elif direction:
        k, unknown = _unknown(directions)
        found = along(program, leaves, _replaced(directions, k, direction), cts, unknown)
    return _transposed(operands, found)


def _transposed(operands: Sequence[Any], found: Sequence[Any] | None) -> list[Any]:
    """Cotangents of the operands that are unknown, which are those of one part."""
    given = None if found is None else iter(found)
    unknown = [ad.is_undefined_primal(x) for x in operands]
    return [
        None if not is_unknown else ad.Zero(x.aval) if given is None else next(given)
        for x, is_unknown in zip(operands, unknown, strict=True)
    ]


def _unknown(directions: Sequence[Part]) -> tuple[int, list[int]]:
    """The direction of which the cotangent is asked, and the arguments in it."""
    asked = [[k for k, x in part.items() if ad.is_undefined_primal(x)] for part in directions]
    return next((k, unknown) for k, unknown in enumerate(asked) if unknown)


def _present(part: Part) -> Part:
    """Without what is zero, by JAX's knowledge of it."""
    return {k: x for k, x in part.items() if not isinstance(x, ad.Zero) and x.dtype != jax.dtypes.float0}


def _zero(value: Any) -> ad.Zero:
    return ad.Zero(value.aval.to_tangent_aval())


def _replaced(directions: Sequence[Part], k: int, *by: Part) -> list[Part]:
    return [*directions[:k], *by, *directions[k + 1 :]]


def _sum(terms: Sequence[Sequence[Any]]) -> list[Any]:
    return [sum(parts[1:], parts[0]) for parts in zip(*terms, strict=True)]


def _structs(looks: Sequence[Any]) -> list[Any]:
    return [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in looks]


def _batched(primitive: Primitive, operands: Any, axes: Any, **params: Any) -> Any:
    moving = [k for k, axis in enumerate(axes) if axis is not None]
    stacked = [jax.numpy.moveaxis(operands[k], axes[k], 0) for k in moving]

    def one(rows: Any) -> Any:
        full = list(operands)
        for k, row in zip(moving, rows, strict=True):
            full[k] = row
        return primitive.bind(*full, **params)

    results = jax.lax.map(one, stacked)
    return results, [0] * len(results)


def _registered(name: str, on_host: Any, looks: Any, pushed: Any, transposed: Any) -> Primitive:
    primitive = Primitive(name)
    primitive.multiple_results = True
    parameters = [key for key in inspect.signature(on_host).parameters if key != "operands"]
    primitive.def_impl(jax.jit(on_host, static_argnames=parameters))
    primitive.def_abstract_eval(looks)
    ad.primitive_jvps[primitive] = pushed
    ad.primitive_transposes[primitive] = transposed
    batching.primitive_batchers[primitive] = partial(_batched, primitive)
    mlir.register_lowering(primitive, mlir.lower_fun(on_host, multiple_results=True))
    return primitive


_PUSH = _registered("julia_push", _push_on_host, _push_looks, _push_jvp, _push_transposed)
_ALONG = _registered("julia_along", _along_on_host, _along_looks, _along_jvp, _along_transposed)
