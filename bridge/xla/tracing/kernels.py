"""Loops over small arrays, compiled into one kernel of the processor.

XLA's processor backend runs each operation of a loop's body as a kernel of its own, which costs a tenth of a
microsecond and more: what a loop over rows or numbers takes is mostly that. A call that carries the attribute
`xla_cpu_small_call` becomes one kernel instead, loops and all. XLA sets it by itself for loops that touch a kilobyte;
here it is set for those whose operations are small, whatever the arrays are that they touch parts of. On other devices,
on several, and where a body holds what a kernel cannot (`_REFUSED`), loops are as they were.

XLA simplifies programs as a whole, but not across the borders of a kernel. So what a program's results do not need is
dropped before, from loops, too (`equations/simplified.py`), and of loops inside of loops the outermost one alone is
a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from math import prod
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Primitive
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import func, stablehlo
from jax.interpreters import batching, mlir
from jax.interpreters import partial_eval as pe
from jax.lax import while_p

LARGEST = 16384
"""Elements that an operation may compute at most; XLA may share larger ones among threads, a kernel may not."""
LONGEST = 1024
"""Elements that a sum or a product may run over at most; XLA's own kernels are faster at these."""

# fmt: off
_REFUSED = frozenset({
    "stablehlo.all_gather", "stablehlo.all_reduce", "stablehlo.all_to_all", "stablehlo.batch_norm_grad",
    "stablehlo.batch_norm_inference", "stablehlo.batch_norm_training", "stablehlo.cholesky",
    "stablehlo.collective_broadcast", "stablehlo.collective_permute", "stablehlo.convolution",
    "stablehlo.custom_call", "stablehlo.fft", "stablehlo.infeed", "stablehlo.outfeed", "stablehlo.partition_id",
    "stablehlo.recv", "stablehlo.reduce_scatter", "stablehlo.replica_id", "stablehlo.rng",
    "stablehlo.rng_bit_generator", "stablehlo.scatter", "stablehlo.select_and_scatter", "stablehlo.send",
    "stablehlo.sort", "stablehlo.triangular_solve", "chlo.top_k",
})
# fmt: on
"""Operations that XLA does not emit inside of a kernel."""
_CONTROL = frozenset({"stablehlo.while", "stablehlo.case", "stablehlo.if"})
_DOT = "stablehlo.dot_general"
_CONTRACTIONS = frozenset({_DOT, "stablehlo.reduce", "stablehlo.reduce_window"})
_FREE = frozenset({"stablehlo.reshape", "stablehlo.constant", "stablehlo.get_tuple_element", "stablehlo.tuple"})
"""Operations that compute nothing."""
_CALL = "func.call"
_FRONTEND = "mhlo.frontend_attributes"
_WANTED: ContextVar[bool] = ContextVar("bridge.xla.kernels", default=True)
_KERNEL = {"xla_cpu_small_call": "true", "inlineable": "false"}
"""What makes a call a kernel: the second lets it stand until kernels are made."""


def loop(wanted: Callable[[Any], Any], step: Callable[[Any], Any], state: Any) -> Any:
    """`lax.while_loop(wanted, step, state)`, which may become one kernel, and lose what is not needed."""
    if not _WANTED.get():
        return jax.lax.while_loop(wanted, step, state)
    leaves, structure = jax.tree.flatten(state)

    def flat(function: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
        made = jax.make_jaxpr(lambda *leaves: jax.tree.leaves(function(jax.tree.unflatten(structure, leaves))))(*leaves)
        return ClosedJaxpr(opened(made), ()), made.consts

    (cond, outside), (body, around) = flat(wanted), flat(step)
    ended = LOOP.bind(
        *outside, *around, *leaves, cond=cond, body=body, counts=(len(outside), len(around)), is_pruned=False
    )
    return jax.tree.unflatten(structure, ended)


def without_kernels(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose loops do not become kernels while it runs."""

    def run(*args: Any) -> Any:
        token = _WANTED.set(False)
        try:
            return function(*args)
        finally:
            _WANTED.reset(token)

    return run


def opened(made: Any) -> Any:
    """The Jaxpr that takes its constants as its first arguments."""
    inner = made.jaxpr
    constants = tuple([f"constants[{k}]" for k in range(len(made.consts))])
    names = constants + tuple(inner.debug_info.safe_arg_names(len(inner.invars)))
    info = inner.debug_info._replace(arg_names=names)
    return inner.replace(constvars=[], invars=[*inner.constvars, *inner.invars], debug_info=info)


def _run(*values: Any, cond: Any, body: Any, counts: tuple[int, int], is_pruned: bool) -> list[Any]:
    return while_p.bind(*values, cond_nconsts=counts[0], cond_jaxpr=cond, body_nconsts=counts[1], body_jaxpr=body)


def _needed(used: list[bool], *given: Any) -> tuple[list[bool], Any]:
    """What JAX asks when it drops what is not used: the operands needed, and the equation with these alone.

    Since JAX 0.12 it also says, before the equation, which operands may be read later: of arrays it does not matter.
    """
    equation = given[-1]
    cond, body, (outside, around) = (equation.params[name] for name in ("cond", "body", "counts"))
    if not any(used):
        return [False] * len(equation.invars), None
    test, asked = pe.dce_jaxpr(cond.jaxpr, [True])
    carried = [a or b for a, b in zip(used, asked[outside:], strict=True)]
    while True:
        turn, needs = pe.dce_jaxpr(body.jaxpr, carried, [False] * around + carried)
        if needs[around:] == carried:
            break
        carried = needs[around:]
    # The condition takes what the body carries, used or not.
    test, asked = pe.dce_jaxpr(cond.jaxpr, [True], [False] * outside + carried)
    is_needed = [*asked[:outside], *needs[:around], *carried]
    params = {
        "cond": ClosedJaxpr(test, cond.consts),
        "body": ClosedJaxpr(turn, body.consts),
        "counts": (sum(asked[:outside]), sum(needs[:around])),
        "is_pruned": True,
    }
    invars = [x for x, is_one in zip(equation.invars, is_needed, strict=True) if is_one]
    outvars = [x for x, is_one in zip(equation.outvars, carried, strict=True) if is_one]
    return is_needed, equation.replace(invars=invars, outvars=outvars, params=params)


def _lowered(context: Any, *values: Any, **params: Any) -> Any:
    module = context.module_context

    def run(*values: Any) -> list[Any]:
        # JAX writes out what it is to run, and of a `partial` that is the loop's whole text.
        return _run(*values, **params)

    if (
        not params["is_pruned"]
        or tuple(module.platforms) != ("cpu",)
        or getattr(module.axis_context, "num_devices", 1) != 1
    ):
        return mlir.lower_fun(run, multiple_results=True)(context, *values)
    results = mlir.lower_fun(jax.jit(run), multiple_results=True)(context, *values)
    call = results[0].owner
    if getattr(call, "name", None) != _CALL or list(call.results) != list(results):
        return results
    if not _is_small(call, module.symbol_table):
        return results
    _inline(call, module.symbol_table)
    return list(_as_kernel(call, module).results)


def _as_kernel(call: Any, module: Any) -> Any:
    """The same call as a kernel of its own.

    Its operands are one tuple: a kernel is given the buffers of what is used inside of it, and of a tuple that is all.
    An operand that turns out to be constant, or not needed, would be missing, and XLA would end the process.
    """
    operands = list(call.operands)
    taken = ir.TupleType.get_tuple([operand.type for operand in operands])
    results = [result.type for result in call.results]
    kernel: Any = func.FuncOp("kernel", ([taken], results), ip=ir.InsertionPoint.at_block_begin(module.module.body))
    kernel.attributes["sym_visibility"] = ir.StringAttr.get("private")
    name = module.symbol_table.insert(kernel)
    number = ir.IntegerType.get_signless(32)
    with ir.InsertionPoint(kernel.add_entry_block()):
        parts = [
            stablehlo.GetTupleElementOp(kernel.arguments[0], ir.IntegerAttr.get(number, k))
            for k in range(len(operands))
        ]
        func.ReturnOp(func.CallOp(results, call.attributes["callee"], [part.result for part in parts]).results)
    made = func.CallOp(results, ir.FlatSymbolRefAttr.get(name.value), [stablehlo.TupleOp(operands).result])
    made.attributes[_FRONTEND] = ir.DictAttr.get({name: ir.StringAttr.get(text) for name, text in _KERNEL.items()})
    return made


def _inline(operation: Any, functions: Any) -> None:
    """Let the kernels that an operation calls be parts of it: XLA does not simplify across the borders of a kernel."""
    regions = operation.regions
    if operation.name == _CALL:
        if _FRONTEND in operation.attributes:
            del operation.attributes[_FRONTEND]
        regions = functions[operation.attributes["callee"].value].regions
    for inside in _operations(regions):
        if inside.name == _CALL or inside.regions:
            _inline(inside, functions)


def _is_small(operation: Any, functions: Any) -> bool:
    """Whether what an operation does, with the regions and functions that it runs, fits into a kernel."""
    name = operation.name
    regions = functions[operation.attributes["callee"].value].regions if name == _CALL else operation.regions
    if name == _CALL or name in _CONTROL:
        return all(_is_small(inside, functions) for inside in _operations(regions))
    if name in _FREE or (name == "stablehlo.broadcast_in_dim" and _elements(operation.operands[0]) == 1):
        return True
    if name in _REFUSED or (name == _DOT and _is_of_matrices(operation)):
        return False
    if name in _CONTRACTIONS and any(_elements(operand) > LONGEST for operand in operation.operands):
        return False
    computed = [operation.operands[1]] if name == "stablehlo.dynamic_update_slice" else operation.results
    return all(_elements(value) <= LARGEST for value in computed)


def _is_of_matrices(operation: Any) -> bool:
    """Whether it is a product of matrices: a library computes that, which a kernel cannot call."""
    numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
    left, right = (ir.RankedTensorType(operand.type).shape for operand in operation.operands)
    bound = [*numbers.lhs_contracting_dimensions, *numbers.lhs_batching_dimensions]
    also = [*numbers.rhs_contracting_dimensions, *numbers.rhs_batching_dimensions]
    return all(
        prod(size for axis, size in enumerate(shape) if axis not in axes) > 1
        for shape, axes in ((left, bound), (right, also))
    )


def _operations(regions: Any) -> Iterator[Any]:
    return (operation.operation for region in regions for block in region for operation in block)


def _elements(value: Any) -> int:
    return prod(value.type.shape) if isinstance(value.type, ir.RankedTensorType) else 0


LOOP = Primitive("bridge_loop")
LOOP.multiple_results = True
LOOP.def_impl(jax.jit(_run, static_argnames=("cond", "body", "counts", "is_pruned")))
LOOP.def_abstract_eval(lambda *_, body, **__: list(body.out_avals))
pe.dce_rules[LOOP] = _needed
batching.primitive_batchers[LOOP] = lambda values, axes, **params: (
    jax.vmap(partial(_run, **params), in_axes=axes)(*values),
    [0] * (len(values) - sum(params["counts"])),
)
mlir.register_lowering(LOOP, _lowered, cacheable=False)
