"""A program as one operation of PyTorch's.

A tensor on the processor and the array that the program gets are the same memory. PyTorch sees one operation, whose
backward is the pull of `bridge.vjp`; where the backward is to be differentiated again, it is an operation like this.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import torch

from bridge.engines import registry
from bridge.errors import ArgumentError, ReplayError, with_article
from bridge.options import Engine, Zeros
from bridge.torch.tensors import array_of, is_float, is_numeric, tensor_of
from bridge.transforms.grad import renamed
from bridge.transforms.jvp import jvp
from bridge.transforms.transformed import Transformed
from bridge.transforms.vjp import vjp
from bridge.trees import containers_of, leaves_of, rebuilt


def function(
    f: Callable[..., Any],
    engine: Engine = "eager",
    zeros: Zeros = "strong",
    source: bool | None = None,
    memory: str | int | None = None,
) -> Callable[..., Any]:
    """A function of tensors that runs `f` on NumPy arrays, and that PyTorch differentiates as one operation.

    Parameters
    ----------
    f : a NumPy program, which may write into its arguments and its own arrays; or a `julia.function`.
    engine, zeros, source, memory : as in `bridge.value_and_grad`. Under "xla", value and pull are compiled.

    Arguments are tensors, or containers of them (tuples, lists, dicts, what optree knows); anything else in them is
    passed on as it is. `f` gets arrays of the same shapes and dtypes: float16, float32, float64, complex64, complex128,
    integers, booleans. Tensors keep their bits where `f` writes into its arguments. Arrays and float numbers that `f`
    returns, in containers or not, become tensors; complex gradients are ∂f/∂re + i·∂f/∂im, as in PyTorch.

    The result takes part in `backward`, `torch.autograd.grad` (with `create_graph=True`, to any order),
    `torch.autograd.gradcheck`, forward mode, `torch.func.grad`, and `torch.func.vmap`, which runs it for one element
    of the batch after the other.

    Raises
    ------
    EngineNotAvailable : PyTorch is not installed.
    ArgumentError : a tensor is not in the processor's memory, is sparse, has a dtype that NumPy lacks, or requires a
        gradient and is no argument.
    ReplayError : `f` is run again for a further derivative, and gives other values.
    """
    if not callable(f):
        raise ArgumentError(
            f"bridge.torch.function of {with_article(type(f).__name__)}, which cannot be called",
            remedy="give a function of arrays, and then tensors: bridge.torch.function(f)(x)",
        )
    registry.checked(engine)
    made = _Wrapped(f, {"engine": engine, "zeros": zeros, "source": source, "memory": memory})

    def run(*args: Any, **kwargs: Any) -> Any:
        call = made.in_python if "torch._dynamo" in sys.modules else made.called
        return call(args, kwargs)

    return renamed(Transformed.of(run, function, f, engine, zeros, source, memory))


class _Wrapped:
    """A program, and how it is differentiated."""

    def __init__(self, f: Callable[..., Any], options: dict[str, Any]) -> None:
        self.f, self.options = f, options
        self.name = getattr(f, "__name__", type(f).__name__)

    @cached_property
    def in_python(self) -> Callable[..., Any]:
        """`called`, into which `torch.compile` does not look; asking for it imports PyTorch's compiler."""
        return torch.compiler.disable(self.called)

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self(*self.positional(args, kwargs))

    def __call__(self, *args: Any, expected: Sequence[np.ndarray] = ()) -> Any:
        """The program's result; what it returns first must hold what is `expected`, if anything is."""
        leaves, structure = containers_of(args)
        where = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        tensors = [leaves[k] for k in where]
        run = _Run(self, leaves, structure, where)
        run.expected = expected
        run.differentiated = torch.is_grad_enabled() and any(one.requires_grad for one in tensors)
        return run.result(iter(_Operation.apply(run, *tensors)))

    def positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments of a call by position."""
        if not kwargs:
            return args
        bound = inspect.signature(self.f).bind(*args, **kwargs)
        if bound.kwargs:
            raise ArgumentError(
                f"{self.name} takes {', '.join(bound.kwargs)} by keyword only",
                remedy="wrap a function that takes it by position",
            )
        return bound.args

    @cached_property
    def pulled(self) -> _Wrapped:
        """The function of arguments and a cotangent that gives the value and the cotangents of the arguments."""
        f, zeros, source = self.f, self.options["zeros"], self.options["source"]

        def pull(args: Any, cotangent: Any) -> Any:
            value, pull = vjp(f, *args, zeros=zeros, source=source)
            return value, pull(cotangent)

        pull.__name__ = self.name
        return _Wrapped(pull, self.options)

    @cached_property
    def pushed(self) -> _Wrapped:
        """The function of arguments and their tangents that gives the value and its tangents."""
        f, zeros, source = self.f, self.options["zeros"], self.options["source"]

        def push(args: Any, tangents: Any) -> Any:
            return jvp(f, args, tangents, zeros=zeros, source=source)

        push.__name__ = self.name
        return _Wrapped(push, self.options)

    @property
    def compiles(self) -> bool:
        return registry.compiler(self.options["engine"], memory=self.options["memory"]) is not None


class _Run:
    """One call: its arguments; what it returned, and its pull, once it has run."""

    def __init__(self, wrapped: _Wrapped, leaves: list[Any], structure: Any, where: Sequence[int]) -> None:
        self.wrapped, self.structure, self.where = wrapped, structure, where
        self.differentiated = False
        self.expected: Sequence[np.ndarray] = ()
        self.values: list[np.ndarray] = []
        self.pull: Callable[[Any], Any] | None = None
        self.others = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.returned: tuple[list[Any], Any] = [], None
        self.numeric: list[bool] = []

    def again(self) -> _Run:
        """The same call, not run."""
        return _Run(self.wrapped, self.others, self.structure, self.where)

    def arguments(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments with arrays, or whatever is given, in the places of the tensors."""
        leaves = list(self.others)
        for k, tensor in zip(self.where, tensors, strict=True):
            leaves[k] = tensor
        return tuple(rebuilt(self.structure, leaves))

    def value(self, arrays: Sequence[Any], differentiated: bool) -> tuple[Any, ...]:
        """Run the program; the numbers and arrays that it returned, as tensors."""
        # As outside: where PyTorch records nothing, it lets a tensor that requires a gradient become an array.
        with torch.enable_grad():
            value = self._value(arrays, differentiated)
        leaves, structure = leaves_of(value)
        self.numeric = [is_numeric(leaf) for leaf in leaves]
        self.returned = [None if is_numeric(leaf) else leaf for leaf in leaves], structure
        found = [np.asarray(leaf) for leaf in leaves if is_numeric(leaf)]
        self._check_same(found, self.expected or self.values)
        # PyTorch's user may write into the tensors, which are the arrays' memory.
        self.values = [one.copy() for one in found]
        return tuple(tensor_of(one, self.wrapped.name) for one in found)

    def _value(self, arrays: Sequence[Any], differentiated: bool) -> Any:
        wrapped = self.wrapped
        # Of arrays that share memory each would be copied by itself; a context keeps them together.
        shared = any(np.may_share_memory(a, b) for a, b in combinations(arrays, 2))
        try:
            if not (differentiated or shared or wrapped.compiles):
                return wrapped.f(*self.arguments([array.copy() for array in arrays]))
            value, self.pull = vjp(wrapped.f, *self.arguments(arrays), **wrapped.options)
        except RuntimeError as error:
            if "Tensor that requires grad" not in str(error):
                raise
            raise ArgumentError(
                f"{wrapped.name} computes with a tensor that requires a gradient and is not among its arguments",
                remedy="pass it as an argument, or use its values alone: tensor.detach()",
            ) from error
        return value

    def _check_same(self, found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
        """Raise if a program that is run again for a derivative gives other values than it did."""
        for one, before in zip(found, expected, strict=False):
            # Another compiled program rounds otherwise.
            near = 1e-5 if self.wrapped.compiles else 0.0
            if one.shape != before.shape or not np.allclose(one, before, rtol=1e-4, atol=near, equal_nan=True):
                raise ReplayError(
                    f"{self.wrapped.name} gave other values when it was run again for a derivative: it counts, draws "
                    "random numbers, or reads what has changed",
                    remedy="pass that as an argument",
                )

    def result(self, tensors: Iterator[Any]) -> Any:
        """What the program returned, with those in the places of its numbers and arrays."""
        others, structure = self.returned
        both = zip(self.numeric, others, strict=True)
        return rebuilt(structure, [next(tensors) if numeric else other for numeric, other in both])

    def cotangent(self, cts: Iterator[Any]) -> Any:
        """The same with nothing in the other places."""
        return rebuilt(self.returned[1], [next(cts) if numeric else None for numeric in self.numeric])

    def pulled(self, tensors: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """The cotangents of the tensors, as arrays: of a call whose derivative is not differentiated."""
        if self.pull is None:
            self.value([array_of(one, self.wrapped.name) for one in tensors], differentiated=True)
        assert self.pull is not None
        return self.of_tensors(self.pull(self.cotangent(array_of(ct, self.wrapped.name) for ct in cts)))

    def of_tensors(self, tree: Any) -> list[Any]:
        """What stands in the places of the tensors in a tree like that of the arguments."""
        leaves = containers_of(tree)[0]
        return [leaves[k] for k in self.where]


class _Operation(torch.autograd.Function):
    """A call, as PyTorch sees it."""

    @staticmethod
    def forward(run: _Run, *tensors: Any) -> tuple[Any, ...]:
        return run.value([array_of(one, run.wrapped.name) for one in tensors], run.differentiated)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        ctx.run, tensors = inputs[0], inputs[1:]
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.mark_non_differentiable(*[one for one in output if not is_float(one)])

    @staticmethod
    def backward(ctx: Any, *cts: Any) -> tuple[Any, ...]:
        run = ctx.run
        if torch.is_grad_enabled():
            args = run.arguments(ctx.saved_tensors)
            _, cotangents = run.wrapped.pulled(args, run.cotangent(iter(cts)), expected=run.values)
            found = run.of_tensors(cotangents)
        else:
            tensors = ctx.saved_tensors if run.pull is None else ()
            found = [None if one is None else tensor_of(one, run.wrapped.name) for one in run.pulled(tensors, cts)]
        return (None, *found)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> tuple[Any, ...]:
        run, tensors = ctx.run, ctx.saved_tensors
        pairs = zip(tensors, tangents, strict=True)
        given = [torch.zeros_like(x) if t is None and is_float(x) else t for x, t in pairs]
        along = [np.zeros_like(leaf) if isinstance(leaf, (float, complex)) else None for leaf in run.others]
        for k, tangent in zip(run.where, given, strict=True):
            along[k] = tangent
        tree = tuple(rebuilt(run.structure, along))
        _, pushed = run.wrapped.pushed(run.arguments(tensors), tree, expected=run.values)
        found = containers_of(pushed)[0]
        return tuple(one for one, is_one in zip(found, run.numeric, strict=True) if is_one)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], run: _Run, *tensors: Any) -> tuple[Any, Any]:
        if info.batch_size == 0:
            raise ArgumentError(
                f"{run.wrapped.name} over an empty batch", remedy="leave the call out where it is empty"
            )
        rows = []
        for k in range(info.batch_size):
            one = run.again()
            parts = [x if axis is None else x.select(axis, k) for x, axis in zip(tensors, in_dims[1:], strict=True)]
            rows.append(_Operation.apply(one, *parts))
            run.returned, run.numeric = one.returned, one.numeric
        return tuple(torch.stack(column) for column in zip(*rows, strict=True)), (0,) * len(rows[0])
