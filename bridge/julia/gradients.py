"""Derivatives of a Julia function alone, where no NumPy program is around it: straight to Julia, without a context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bridge.errors import ArgumentError, CotangentError
from bridge.julia.calls import Kept, NotDifferentiable, OtherLayout, Passed, entries, run
from bridge.julia.choosing import Prepared, chosen
from bridge.julia.convert import reversed_axes
from bridge.julia.plans import KINDS, Flattened, filled, is_own, plan, run_plan
from bridge.julia.quick import Dictionaries, Plain
from bridge.rewind.cotangents import conforming
from bridge.rewind.interpreter import current_context
from bridge.transforms.chosen import normalised
from bridge.transforms.kinds import in_kind_of
from bridge.trees import containers_of, rebuilt


class Derivatives:
    """What the transforms of `bridge` ask for first. NotImplemented: go the way of any function."""

    __slots__ = ("_nested", "_quick", "_value_and_gradient", "function")

    def __init__(self, function: Prepared) -> None:
        self.function = function
        self._value_and_gradient = entries().value_and_gradient
        self._quick: dict[Any, Plain] = {}
        self._nested: dict[Any, tuple[Kept, Any]] = {}

    def value_and_grad(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Any, has_aux: bool, allow_int: bool
    ) -> Any:
        """Value (with aux) and gradient, as `bridge.value_and_grad` gives them."""
        if current_context() is not None or self.function.mutates:
            return NotImplemented
        if not kwargs and type(argnums) is int:
            quick = self._quick.get((argnums, has_aux, *map(type, args)))
            if quick is not None and (leaves := quick.leaves(args)) is not None:
                try:
                    value, gradients = run(self._value_and_gradient, quick.kept.key, leaves, self.function.name)
                    return value, quick.gradient(args, gradients)
                except (OtherLayout, NotDifferentiable, Passed):
                    pass
            else:
                parts, structure = containers_of(args)
                found = self._nested.get((structure, argnums, has_aux, *map(type, parts)))
                if found is not None:
                    made, containers = found
                    try:
                        value, gradients = run(self._value_and_gradient, made.key, tuple(parts), self.function.name)
                        return value, rebuilt(containers, gradients)
                    except (OtherLayout, NotDifferentiable, Passed):
                        pass
        return self._any_value_and_grad(args, kwargs, argnums, has_aux, allow_int)

    def _any_value_and_grad(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Any, has_aux: bool, allow_int: bool
    ) -> Any:
        function = self.function
        flat = Flattened(args, kwargs)
        if _tracked(flat):
            return NotImplemented
        numbers = normalised(argnums, len(args))
        own: set[int] = set().union(*(flat.own(k) for k in numbers))
        able = own.union(flat.differentiable())
        wanted = tuple(leaf for k in dict.fromkeys(numbers) for leaf in flat.of_argument(k) if leaf in able)
        for k in numbers:
            flat.check(k, allow_int, own)
        made = plan(function, flat, wanted, has_aux=has_aux)
        value, gradients = run_plan(function, self._value_and_gradient, made, flat.leaves)
        if function.order == "reversed":
            value = reversed_axes(value)
        found = in_arguments(function, flat, wanted, gradients)
        parts = [found[k] for k in numbers]
        single = isinstance(argnums, (int, np.integer))
        if single and not kwargs and function.order == "keep":
            self._remember(made, flat, args, numbers[0], wanted, (argnums, has_aux))
        return value, (parts[0] if single else tuple(parts))

    def _remember(
        self,
        made: Kept,
        flat: Flattened,
        args: tuple[Any, ...],
        number: int,
        wanted: Sequence[int],
        options: tuple[Any, ...],
    ) -> None:
        """Keep the plan for calls like this one, if all of the argument that is differentiated has a gradient."""
        if len(wanted) != len(flat.of_argument(number)) or any(type(leaf) not in KINDS for leaf in flat.leaves):
            return
        kinds = (*options, *map(type, args))
        if all(type(arg) in KINDS for arg in args):
            self._quick[kinds] = Plain(made)
            return
        quick = Dictionaries.of(made, args, flat, number)
        if quick is not None:
            self._quick[kinds] = quick
        # Dictionaries with other keys replace each other there; here each keeps its plan.
        key = (flat.positional, *options, *map(type, flat.leaves))
        self._nested[key] = (made, flat.positional.child(number))

    def vjp(self, args: tuple[Any, ...], has_aux: bool) -> Any:
        """Value and pull (with aux), as `bridge.vjp` gives them; the arguments are copied, or kept by the pull."""
        function = self.function
        flat = Flattened(args, {})
        if has_aux or function.mutates or current_context() is not None or _tracked(flat):
            return NotImplemented
        own = set[int]().union(*(flat.own(k) for k in range(len(args))))
        wanted = tuple(sorted(own.union(flat.differentiable())))
        made = plan(function, flat, wanted)
        key, outputs, layout = run_plan(function, entries().pullback, made, flat.leaves, 0)
        kept = Kept(key)
        numbers, structure = containers_of(filled(layout, range(len(outputs))))
        shapes = [reversed_axes(one) if function.order == "reversed" else one for one in outputs]
        looks = [np.empty_like(one) if isinstance(one, np.ndarray) else one for one in shapes]

        def pull(cotangent: Any, exists: Any = None) -> tuple[Any, ...]:
            given, containers = containers_of(cotangent)
            if containers != structure:
                raise CotangentError(
                    f"the cotangent has the structure {containers}, the value has {structure}",
                    remedy="give a cotangent in the containers of the value",
                )
            cts: list[Any] = [None] * len(looks)
            for number, ct in zip(numbers, given, strict=True):
                look = looks[number]
                if ct is not None and np.asarray(look).dtype.kind in "fc":
                    ct = conforming(ct, look if hasattr(look, "dtype") else np.asarray(look))
                    cts[number] = np.array(reversed_axes(ct) if function.order == "reversed" else ct, order="F")
            gradients = chosen(function, made, lambda: run(entries().pull, kept.key, tuple(cts), function.name))
            return in_arguments(function, flat, wanted, gradients)

        value = filled(layout, shapes)
        return value, pull

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool) -> Any:
        """Value and derivative, as `bridge.jvp` gives them."""
        function = self.function
        flat = Flattened(primals, {})
        if has_aux or function.mutates or current_context() is not None or _tracked(flat):
            return NotImplemented
        given = _tangents(flat, tangents)
        values, derivatives, layout = run_plan(
            function, entries().jvp, plan(function, flat), flat.leaves, (_in_order(function, given),), 0
        )
        if function.order == "reversed":
            values, derivatives = reversed_axes(values), reversed_axes(derivatives)
        pairs = zip(derivatives, values, strict=True)
        return filled(layout, values), filled(layout, [_or_zeros(derivative, value) for derivative, value in pairs])

    def hvp(self, args: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """The Hessian of a real function times tangents, as `bridge.hvp` gives it."""
        function = self.function
        flat = Flattened(args, {})
        if function.mutates or current_context() is not None or _tracked(flat):
            return NotImplemented
        for k in range(len(args)):
            flat.check(k, False)
        wanted = flat.differentiable()
        given = _in_order(function, _tangents(flat, tangents))
        found = run_plan(function, entries().pull_along, plan(function, flat, wanted), flat.leaves, (given,), 0, (), 1)
        products = in_arguments(function, flat, wanted, found)
        return products[0] if len(args) == 1 else products

    def jacfwd(self, args: tuple[Any, ...], argnums: int) -> Any:
        """The Jacobian of an array-valued function, by ForwardDiff."""
        return self._square(entries().jacobian, args, argnums)

    def hessian(self, args: tuple[Any, ...], argnums: int) -> Any:
        """The Hessian of a real function, by ForwardDiff over its gradient."""
        return self._square(entries().hessian, args, argnums)

    def _square(self, entry: Any, args: tuple[Any, ...], argnums: int) -> Any:
        function = self.function
        flat = Flattened(args, {})
        x: Any = args[argnums] if -len(args) <= argnums < len(args) else None
        real = isinstance(x, (np.ndarray, np.floating, float)) and np.asarray(x).dtype.kind == "f"
        plain = function.order == "keep" and not function.mutates and current_context() is None
        if not real or not plain or _tracked(flat) or np.size(x) == 0:
            return NotImplemented
        wanted = tuple(flat.of_argument(argnums % len(args)))
        return run_plan(function, entry, plan(function, flat, wanted), flat.leaves)


def in_arguments(
    function: Prepared, flat: Flattened, wanted: tuple[int, ...], gradients: Sequence[Any]
) -> tuple[Any, ...]:
    """Gradients of the wanted leaves in the containers of all positional arguments; None for the other leaves."""
    by_leaf = {}
    for leaf, gradient in zip(wanted, gradients, strict=True):
        turned = function.order == "reversed" and not is_own(flat.leaves[leaf])
        by_leaf[leaf] = _as_given(reversed_axes(gradient) if turned else gradient, flat, leaf)
    return tuple(
        flat.argument(k, [by_leaf.get(leaf) for leaf in flat.of_argument(k)]) for k in range(len(flat.positions))
    )


def _as_given(gradient: Any, flat: Flattened, number: int) -> Any:
    """A gradient as what its argument was: in its order of bytes, an array of its library."""
    leaf, given = flat.leaves[number], flat.given[number]
    if isinstance(leaf, np.ndarray) and gradient.dtype != leaf.dtype:
        gradient = gradient.astype(leaf.dtype)
    return gradient if given is leaf else in_kind_of(given, gradient)


def _tracked(flat: Flattened) -> bool:
    return any(not is_own(leaf) and hasattr(leaf, "place") for leaf in flat.leaves)


def _tangents(flat: Flattened, tangents: Sequence[Any]) -> list[Any]:
    """A tangent, or None, for each leaf."""
    found: list[Any] = []
    for k, tangent in enumerate(tangents):
        given, structure = containers_of(tangent)
        leaves = [flat.leaves[i] for i in flat.of_argument(k)]
        expected = flat.containers.child(k)
        if tangent is None:
            given, structure = [None] * expected.num_leaves, expected
        if structure != expected:
            raise CotangentError(
                f"the tangent of argument {k} has the structure {structure}, the argument has {expected}",
                remedy="give a tangent in the containers of its primal",
            )
        for one, leaf in zip(flat.tangents(k, given), leaves, strict=True):
            if one is not None and is_own(leaf):
                raise ArgumentError(
                    f"a tangent is given for argument {k}, which has a value of Julia's own, a {type(leaf).__name__}",
                    remedy="forward mode takes them for constants: give None, or pass their numbers and arrays",
                )
            primal = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
            able = one is not None and primal.dtype.kind in "fc"
            found.append(conforming(one, primal, "tangent") if able else None)
    return found


def _in_order(function: Prepared, leaves: Sequence[Any]) -> tuple[Any, ...]:
    """Tangents as Julia takes them: without gaps, in the function's order of axes."""
    turned = [reversed_axes(leaf) if function.order == "reversed" else leaf for leaf in leaves]
    return tuple(None if leaf is None else np.array(leaf, leaf.dtype.newbyteorder("="), order="F") for leaf in turned)


def _or_zeros(derivative: Any, value: Any) -> Any:
    if derivative is not None:
        return derivative
    plain = np.asarray(value)
    return np.zeros(plain.shape, plain.dtype if plain.dtype.kind in "fc" else float)[()]
