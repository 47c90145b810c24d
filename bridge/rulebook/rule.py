"""What a rule is: the pull of a function, what that pull reads, and the cases that prove it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Literal, NamedTuple

import numpy as np

from bridge.errors import NoRuleError, RuleError
from bridge.rewind.interpreter import ARRAYS
from bridge.rulebook.facts import Facts, facts_of
from bridge.rulebook.supports import Supports
from bridge.signatures import first_pull, names_read, operation_name, output_read, pull_parameters

Structure = Literal["elementwise", "linear", "multilinear", "generic"]


@dataclass(frozen=True)
class Case:
    """One call on which a rule is proved: `function(*args, **kwargs)`.

    Every float or complex array in `args` is differentiated; small arrays (under 50 elements)
    away from kinks keep the proof quick and exact. `outputs` names the outputs that carry a
    gradient, when a function has several and not all do; `loss` maps the output to a number
    where single outputs are defined only up to a gauge (signs of eigenvectors).
    """

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    loss: Callable[..., Any] | None = None
    tolerance: float = 1e-6


class Plan(NamedTuple):
    """What the pulls `wanted` of a ufunc of one operand or two, or of a product of two arrays, read."""

    rule: Rule
    wanted: tuple[int, ...]
    output: bool
    x: bool
    y: bool


UNPLANNED: Any = object()


def unplanned() -> list[Any]:
    """The plans of a rule of which none is made yet."""
    return [UNPLANNED] * len(_WANTED)


_WANTED: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (0, 1), (0,), (0,), (1,), (0, 1))


class Rule:
    """The pull of one function, and what that pull reads.

    Calling a rule calls its function, tracked: with a `Buffer` among the arguments the call is
    one entry of the log, otherwise it is the plain function.
    """

    __slots__ = (
        "_needs",
        "_parameters",
        "adding",
        "broadcasts",
        "facts",
        "function",
        "joint",
        "linear",
        "name",
        "per_argument",
        "plans",
        "reads",
        "replaces",
        "structure",
        "supports",
        "takes_arrays",
        "variadic",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        joint: Callable[..., Any] | None,
        per_argument: tuple[Any, ...] | None,
        *,
        reads: Iterable[str] | None,
        linear: bool,
        structure: Structure | None,
        facts: Facts | None = None,
    ) -> None:
        self.function = function
        self.name = operation_name(function)
        self.facts = facts_of(function) if facts is None else facts
        self.joint = joint
        self.per_argument = per_argument
        self.reads = None if reads is None else frozenset(reads)
        self.linear = linear
        # For each argument what adds its cotangent into an array without making one of its own.
        self.adding: tuple[Any, ...] | None = None
        # What of orders, dtypes and layouts it supports, if it says so; its pulls are guarded by that then.
        self.supports: Supports | None = None
        # Whether a user has said so, of a function that the book had a rule for.
        self.replaces = False
        self.broadcasts = isinstance(function, np.ufunc) and function.signature is None
        self.takes_arrays = per_argument is not None and not (self.facts.sequences or self.facts.nested)
        default: Structure = "elementwise" if self.broadcasts else "generic"
        self.structure = structure or ("linear" if linear else default)
        self._needs: dict[tuple[int, ...], tuple[bool, frozenset[Any]]] = {}
        # What `plan` has found, by its number.
        self.plans = unplanned()
        self._parameters, self.variadic = pull_parameters(joint or first_pull(per_argument))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return ARRAYS.call(self.function, args, kwargs)

    def __repr__(self) -> str:
        return f"<rule of {self.name}>"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the function's parameters, as the pull spells them after `ct` and `out`."""
        return self._parameters

    def pulls(self, count: int) -> bool:
        """Whether it is that of a ufunc, and has a pull for each of `count` operands."""
        return self.broadcasts and self.per_argument is not None and len(self.per_argument) == count

    @property
    def is_product(self) -> bool:
        """Whether it is that of a function of NumPy's of two arrays, linear in each, which is called as it is.

        A function of somebody else may do more than compute, and must not be called again.
        """
        is_numpys = isinstance(self.function, np.ufunc) or self.function.__module__.partition(".")[0] == "numpy"
        is_called = is_numpys and self.function not in ARRAYS.handled and self.supports is None
        return self.structure == "multilinear" and self.takes_arrays and is_called and len(self.per_argument or ()) == 2

    def plan(self, number: int) -> Plan | None:
        """What an entry of a ufunc keeps of one operand or two; None unless there is a pull for each.

        `number` says which carry a gradient: 1 the first of two, 2 the second, 3 both; 4 the only one; 5 to 7 as 1 to
        3, of a product.
        """
        wanted = _WANTED[number]
        found = None
        if self.is_product if number > 4 else self.pulls(1 if number == 4 else 2):
            reads_output, reads = self.needs(wanted)
            found = Plan(self, wanted, reads_output, 0 in reads, 1 in reads)
        self.plans[number] = found
        return found

    def needs(self, wanted: tuple[int, ...]) -> tuple[bool, frozenset[Any]]:
        """Whether the output is read, and which positions or keywords, for the `wanted` cotangents."""
        found = self._needs.get(wanted)
        if found is None:
            found = self._needs[wanted] = self._find_needs(wanted)
        return found

    def _find_needs(self, wanted: tuple[int, ...]) -> tuple[bool, frozenset[Any]]:
        names: set[str] = set()
        if self.reads is not None:
            names |= self.reads
        elif self.joint is not None:
            names |= names_read(self.joint, self.broadcasts)
        else:
            assert self.per_argument is not None
            for position in wanted:
                pull = self.per_argument[position] if position < len(self.per_argument) else None
                if pull is None:
                    raise RuleError(
                        f"{self.name} has no pull for its argument number {position}",
                        remedy=f"give pulls({self.name}, ...) one function more, or detach that argument",
                    )
                parameters, _ = pull_parameters(pull)
                read = names_read(pull, self.broadcasts)
                names |= {
                    self._parameters[k] for k, p in enumerate(parameters) if p in read and k < len(self._parameters)
                }
                names |= {"out"} & output_read(pull, read)
        positions: set[Any] = {k for k, name in enumerate(self._parameters) if name in names}
        positions |= names
        if self.variadic is not None and self.variadic in names:
            positions.add("*")
        return "out" in names, frozenset(positions)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        """A call's arguments in the order of the pull's parameters, and the names of the trailing keyword-only ones."""
        try:
            bound = self._signature.bind(None, None, *args, **kwargs)
        except TypeError as error:  # NumPy has taken them already
            raise NoRuleError(
                f"{self.name} as it is called here, with {', '.join(kwargs)}: {error}, says its rule",
                remedy="leave that keyword out",
            ) from error
        bound.apply_defaults()
        return bound.args[2:] + tuple(bound.kwargs.values()), tuple(bound.kwargs)

    def given(self, named: dict[str, Any]) -> dict[str, Any]:
        """Keywords without those that are only the pull's defaults: the function may not have them."""
        parameters = self._signature.parameters
        return {name: x for name, x in named.items() if name not in parameters or x is not parameters[name].default}

    @property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.joint or first_pull(self.per_argument))

    def pull(
        self, ct: Any, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int, ...]
    ) -> Iterator[tuple[int, Any]]:
        """Yield `(position, cotangent)` for the arguments at the `wanted` positions."""
        if self.per_argument is not None:
            for position in wanted:
                one = self.per_argument[position]
                assert one is not None
                yield position, one(ct, out, *args, **kwargs)
            return
        assert self.joint is not None
        result = self.joint(ct, out, *args, **kwargs)
        if not isinstance(result, tuple):
            result = (result,)
        for position in wanted:
            if position < len(result):
                yield position, result[position]
            else:
                raise RuleError(
                    f"the pull of {self.name} returned {len(result)} cotangents, "
                    f"but argument number {position} needs one",
                    remedy="return one cotangent for each array argument, in their order (None for none)",
                )


class MutatingRule:
    """A function that writes into its arguments, with the pull that undoes it for cotangents."""

    __slots__ = ("function", "mutates", "name", "parameters", "pull_function", "signature", "supports")

    def __init__(
        self,
        function: Callable[..., Any],
        mutates: tuple[str, ...],
        parameters: tuple[str, ...] | None,
        supports: Supports | None = None,
    ) -> None:
        self.function = function
        self.name = operation_name(function)
        self.supports = supports
        self.signature = None if parameters is not None else self._signature()
        self.parameters = parameters or tuple(self.signature.parameters)  # type: ignore[union-attr]
        missing = [name for name in mutates if name not in self.parameters]
        if missing:
            raise RuleError(
                f"mutating_rule({self.name}): it declares that {', '.join(missing)} is written, "
                f"but the parameters are ({', '.join(self.parameters)})",
                remedy="name the parameters that the function writes, as its signature spells them",
            )
        self.mutates = mutates
        self.pull_function: Callable[..., Any] | None = None

    def _signature(self) -> inspect.Signature:
        try:
            found = inspect.signature(self.function)
            if isinstance(inspect.unwrap(self.function), FunctionType) or list(found.parameters) != ["args", "kwargs"]:
                return found
        except (TypeError, ValueError):
            pass
        raise RuleError(  # of a handle of ctypes Python since 3.13 says (*args, **kwargs)
            f"mutating_rule({self.name}): Python cannot read the parameters of this function",
            remedy='name all of them, in their order: mutating_rule(mutates="a", parameters=("a", "n"))',
        )

    def pull(self, function: Callable[..., Any]) -> MutatingRule:
        """Declare the pull: `(ct, *arguments)`, and `after` by name if it reads the values after the call.

        `ct` is the cotangent of the written argument after the call (a tuple if several are written);
        arguments hold their values from before it. Return the cotangents of the arguments before the
        call: one value if there is one array argument, else a tuple in the order of the arguments.
        """
        self.pull_function = function if self.supports is None else self.supports.guarded(self.name, function)
        return self

    def by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """All arguments of a call by the names of their parameters, in the order of these.

        Raises
        ------
        RuleError : the call has other arguments than `parameters` says of a function that has no signature.
        """
        if self.signature is not None:
            bound = self.signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return dict(bound.arguments)
        named = dict(zip(self.parameters, args, strict=False)) | kwargs
        if len(args) + len(kwargs) != len(self.parameters) or named.keys() != set(self.parameters):
            given = [*map(str, range(len(args))), *kwargs]
            raise RuleError(
                f"{self.name} is called with the arguments {', '.join(given) or 'none'}, "
                f"and its rule says that its parameters are ({', '.join(self.parameters)})",
                remedy="pass each of them once, or name all that the function has by mutating_rule(parameters=...)",
            )
        return {name: named[name] for name in self.parameters}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return ARRAYS.call_mutating(self, args, kwargs)

    def __repr__(self) -> str:
        return f"<mutating rule of {self.name}, writes {', '.join(self.mutates)}>"
