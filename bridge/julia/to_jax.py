"""A Julia function inside JAX programs: under `jit`, `grad`, `jvp`, `vmap`, `jacrev` and `jacfwd`.

The value is a host callback. Its derivative is a primitive of ours that is linear in the tangents: pushed
forward by ForwardDiff, transposed by the function's own pullback, mapped over a batch one element at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from bridge.errors import ArgumentError, EngineNotAvailable, RefusedError
from bridge.rewind.cotangents import conj
from bridge.transforms.jvp import jvp
from bridge.transforms.vjp import vjp


def to_jax(function: Callable[..., Any], result: Any = None) -> Callable[..., Any]:
    """A function of JAX arrays that runs `function`, a `julia.function`, on the host, with its derivatives.

    Parameters
    ----------
    function : what `bridge.julia.function` returned; any callable that `bridge.vjp` and `bridge.jvp` take will do.
    result : what it returns, since JAX must know before it runs: an array, a `jax.ShapeDtypeStruct`, a container of
        them, or a function from the arguments' `ShapeDtypeStruct`s to one. Without it: one number, of the dtype of
        the first float argument.

    Arguments are arrays or containers of arrays; integer and boolean ones carry no derivative. float32 stays float32,
    and float64 needs JAX's own `jax_enable_x64`. First derivatives only: differentiate twice in Julia (`bridge.hvp`).

    Raises
    ------
    EngineNotAvailable : JAX is not installed.
    ArgumentError : a value has another shape or dtype than `result` says; inside `jit`, JAX raises it as its own
        runtime error with the same message.
    """
    jax = _jax()
    name = getattr(function, "__name__", repr(function))
    differentiable = cache(_differentiable)

    def called(*args: Any) -> Any:
        leaves, container = jax.tree.flatten(args)
        arrays = [jax.numpy.asarray(leaf) for leaf in leaves]
        structs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays]
        declared = _declared(jax, result, jax.tree.unflatten(container, structs), structs)
        shapes, of_result = jax.tree.flatten(declared)
        program = _Program(function, name, container, tuple((s.shape, np.dtype(s.dtype)) for s in shapes), of_result)
        traced = any(isinstance(x, jax.core.Tracer) for x in arrays)
        values = differentiable(program)(*arrays) if traced else map(jax.numpy.asarray, program.value(*arrays))
        return jax.tree.unflatten(of_result, values)

    called.__name__ = called.__qualname__ = name
    called.__doc__ = f"{name}, a Julia function, for JAX arrays."
    return called


def _jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise EngineNotAvailable(
            "julia.to_jax needs JAX, which is not installed", remedy='pip install "mutation-bridge[jax]"'
        ) from error
    return jax


def _declared(jax: Any, result: Any, args: Any, structs: Sequence[Any]) -> Any:
    """The result's shapes and dtypes, as `ShapeDtypeStruct`s in its containers."""
    if result is None:
        floats = [s.dtype for s in structs if jax.numpy.issubdtype(s.dtype, jax.numpy.inexact)]
        if not floats:
            raise ArgumentError("no float argument", remedy="say what comes back: to_jax(function, result=...)")
        return jax.ShapeDtypeStruct((), floats[0])
    if callable(result):
        result = result(*args)
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(np.shape(x), x.dtype), result)


class _Program:
    """One Julia function at one signature, as the callbacks see it; equal ones share their compiled programs."""

    def __init__(self, function: Any, name: str, container: Any, results: tuple[Any, ...], of_result: Any) -> None:
        self.function, self.name, self.container = function, name, container
        self.results, self.of_result = results, of_result
        self._key = (id(function), container, results, of_result)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Program) and self._key == other._key

    def value(self, *leaves: Any) -> list[np.ndarray]:
        return self._checked(self.function(*self._arguments(leaves)))

    def push(self, live: tuple[int, ...], *operands: Any) -> list[np.ndarray]:
        """Tangents of the results, along the tangents of the arguments at the positions `live`."""
        primals, given = operands[: -len(live)], operands[-len(live) :]
        tangents = [np.zeros(np.shape(x), np.asarray(x).dtype) for x in primals]
        for k, tangent in zip(live, given, strict=True):
            tangents[k] = np.asarray(tangent)
        _, pushed = jvp(self.function, self._arguments(primals), self._arguments(tangents))
        return self._checked(pushed)

    def pull(self, live: tuple[int, ...], *operands: Any) -> list[np.ndarray]:
        """Cotangents of the arguments at the positions `live`, given those of the results.

        JAX's cotangents are the conjugates of ours where they are complex.
        """
        jax = _jax()
        count = len(operands) - len(self.results)
        primals, cts = operands[:count], [conj(np.asarray(ct)) for ct in operands[count:]]
        _, pull = vjp(self.function, *self._arguments(primals))
        pulled = jax.tree.leaves(pull(jax.tree.unflatten(self.of_result, cts)), is_leaf=lambda x: x is None)
        return [conj(np.asarray(pulled[k], np.asarray(primals[k]).dtype)) for k in live]

    def _arguments(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(_jax().tree.unflatten(self.container, [np.asarray(leaf) for leaf in leaves]))

    def _checked(self, value: Any) -> list[np.ndarray]:
        leaves, container = _jax().tree.flatten(value)
        found = [np.asarray(leaf) for leaf in leaves]
        if container != self.of_result or any(
            (x.shape, x.dtype) != expected for x, expected in zip(found, self.results, strict=True)
        ):
            raise ArgumentError(
                f"{self.name} returned {_described([(x.shape, x.dtype) for x in found])}, "
                f"and to_jax was told {_described(self.results)}",
                remedy="give to_jax the result's shape and dtype: to_jax(function, result=jax.ShapeDtypeStruct(...))",
            )
        return found


def _described(results: Sequence[Any]) -> str:
    return ", ".join(f"{np.dtype(dtype).name} of shape {shape}" for shape, dtype in results) or "nothing"


def _differentiable(program: _Program) -> Any:
    """The program as a JAX function of its leaves, with its derivative."""
    jax = _jax()
    shapes = [jax.ShapeDtypeStruct(*result) for result in program.results]

    @jax.custom_jvp
    def call(*leaves: Any) -> Any:
        return jax.pure_callback(program.value, shapes, *leaves, vmap_method="sequential")

    def derivative(primals: Any, tangents: Any) -> Any:
        symbolic = jax.custom_derivatives.SymbolicZero
        live = tuple(k for k, t in enumerate(tangents) if not isinstance(t, symbolic))
        values = call(*primals)
        if not live:
            return values, [jax.numpy.zeros_like(v) for v in values]
        pushed = _tangent_primitive().bind(*primals, *[tangents[k] for k in live], program=program, live=live)
        return values, pushed

    call.defjvp(derivative, symbolic_zeros=True)
    return call


@cache
def _tangent_primitive() -> Any:
    """The primitive that maps tangents of the arguments to tangents of the results, linear in them."""
    jax = _jax()
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    def pushed(*operands: Any, program: _Program, live: tuple[int, ...]) -> Any:
        shapes = [jax.ShapeDtypeStruct(*result) for result in program.results]
        return jax.pure_callback(lambda *xs: program.push(live, *xs), shapes, *operands, vmap_method="sequential")

    def abstract(*_: Any, program: _Program, live: tuple[int, ...]) -> Any:
        return [jax.core.ShapedArray(*result) for result in program.results]

    def transposed(cts: Any, *operands: Any, program: _Program, live: tuple[int, ...]) -> Any:
        count = len(operands) - len(live)
        primals, tangents = operands[:count], operands[count:]
        asked = tuple(k for k, t in zip(live, tangents, strict=True) if ad.is_undefined_primal(t))
        given = [
            jax.numpy.zeros(*result) if isinstance(ct, ad.Zero) else ct
            for ct, result in zip(cts, program.results, strict=True)
        ]
        shapes = [jax.ShapeDtypeStruct(primals[k].shape, primals[k].dtype) for k in asked]
        pulled = _once(program, lambda *xs: program.pull(asked, *xs), shapes)(*primals, *given)
        found = dict(zip(asked, pulled, strict=True))
        return [None] * count + [found.get(k) for k in live]

    def batched(operands: Any, axes: Any, *, program: _Program, live: tuple[int, ...]) -> Any:
        moving = [k for k, axis in enumerate(axes) if axis is not None]
        stacked = [jax.numpy.moveaxis(operands[k], axes[k], 0) for k in moving]

        def one(rows: Any) -> Any:
            full = list(operands)
            for k, row in zip(moving, rows, strict=True):
                full[k] = row
            return primitive.bind(*full, program=program, live=live)

        results = jax.lax.map(one, stacked)
        return results, [0] * len(results)

    def twice(*_: Any, program: _Program, live: tuple[int, ...]) -> Any:
        raise _second_derivative(program)

    primitive = Primitive("julia_tangent")
    primitive.multiple_results = True
    primitive.def_impl(jax.jit(pushed, static_argnames=("program", "live")))
    primitive.def_abstract_eval(abstract)
    ad.primitive_jvps[primitive] = twice
    ad.primitive_transposes[primitive] = transposed
    batching.primitive_batchers[primitive] = batched
    mlir.register_lowering(primitive, mlir.lower_fun(pushed, multiple_results=True))
    return primitive


def _once(program: _Program, callback: Callable[..., Any], shapes: Any) -> Any:
    """A host callback whose derivative is a named error."""
    jax = _jax()

    @jax.custom_jvp
    def call(*operands: Any) -> Any:
        return jax.pure_callback(callback, shapes, *operands, vmap_method="sequential")

    @call.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        raise _second_derivative(program)

    return call


def _second_derivative(program: _Program) -> RefusedError:
    return RefusedError(
        f"a second derivative of {program.name} through julia.to_jax",
        remedy="differentiate twice on the Julia side: bridge.hessian(function), bridge.hvp(function, args, tangents)",
    )
