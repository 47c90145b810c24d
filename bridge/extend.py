"""The rule author's door: everything that a file of rules imports.

A rule says how cotangents go back through one operation::

    @rule(np.tanh)
    def tanh(ct, out, x):
        return ct * (1 - out * out)

Saving, undoing, aliasing, broadcasting and order are the context's business.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from bridge.errors import RefusedError, RuleError

__all__ = [
    "Case",
    "MutatingRule",
    "RefusedError",
    "Rule",
    "RuleError",
    "Shaped",
    "composed",
    "conj",
    "mutating_rule",
    "nondifferentiable",
    "pulls",
    "refused",
    "rule",
    "sum_to_shape",
    "zeros",
]

Structure = Literal["elementwise", "linear", "multilinear", "generic"]

RULES: dict[Any, Rule] = {}
MUTATING: dict[Any, MutatingRule] = {}
ZERO_PULL: set[Any] = set()
REFUSED: dict[Any, str] = {}


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


@dataclass(frozen=True, slots=True)
class Shaped:
    """What a pull gets in place of an array that its rule does not read: shape and dtype only."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for length in self.shape:
            size *= length
        return size


class Rule:
    """The pull of one function, and what that pull reads.

    Calling a rule calls its function, tracked: with a `Buffer` among the arguments the call is
    one entry of the log, otherwise it is the plain function.
    """

    __slots__ = (
        "_needs",
        "_parameters",
        "broadcasts",
        "function",
        "joint",
        "linear",
        "name",
        "per_argument",
        "reads",
        "structure",
        "variadic",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        joint: Callable[..., Any] | None,
        per_argument: tuple[Callable[..., Any] | None, ...] | None,
        *,
        reads: Iterable[str] | None,
        linear: bool,
        structure: Structure | None,
    ) -> None:
        self.function = function
        self.name = operation_name(function)
        self.joint = joint
        self.per_argument = per_argument
        self.reads = None if reads is None else frozenset(reads)
        self.linear = linear
        self.broadcasts = isinstance(function, np.ufunc) and function.signature is None
        default: Structure = "elementwise" if self.broadcasts else "generic"
        self.structure = structure or ("linear" if linear else default)
        self._needs: dict[tuple[int, ...], tuple[bool, frozenset[Any]]] = {}
        self._parameters, self.variadic = _pull_parameters(joint or _first(per_argument))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from bridge.dispatch import call

        return call(self.function, args, kwargs)

    def __repr__(self) -> str:
        return f"<rule of {self.name}>"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the function's parameters, as the pull spells them after `ct` and `out`."""
        return self._parameters

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
                parameters, _ = _pull_parameters(pull)
                read = names_read(pull, self.broadcasts)
                names |= {
                    self._parameters[k] for k, p in enumerate(parameters) if p in read and k < len(self._parameters)
                }
                names |= {"out"} & _renamed_output(pull, read)
        positions: set[Any] = {k for k, name in enumerate(self._parameters) if name in names}
        positions |= names
        if self.variadic is not None and self.variadic in names:
            positions.add("*")
        return "out" in names, frozenset(positions)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        """A call's arguments in the order of the pull's parameters, and the names of the trailing keyword-only ones."""
        signature = inspect.signature(self.joint or _first(self.per_argument))
        bound = signature.bind(None, None, *args, **kwargs)
        bound.apply_defaults()
        return bound.args[2:] + tuple(bound.kwargs.values()), tuple(bound.kwargs)

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
                    f"the pull of {self.name} returned {len(result)} cotangents, but argument number {position} needs one",
                    remedy="return one cotangent for each array argument, in the order of the arguments (None for none)",
                )


class MutatingRule:
    """A function that writes into its arguments, with the pull that undoes it for cotangents."""

    __slots__ = ("function", "mutates", "name", "parameters", "pull_function", "signature")

    def __init__(self, function: Callable[..., Any], mutates: tuple[str, ...], parameters: tuple[str, ...] | None) -> None:
        self.function = function
        self.name = operation_name(function)
        self.signature = None if parameters is not None else inspect.signature(function)
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

    def pull(self, function: Callable[..., Any]) -> MutatingRule:
        """Declare the pull: `(ct, *arguments)`, and `after` by name if it reads the values after the call.

        `ct` is the cotangent of the written argument after the call (a tuple if several are written);
        arguments hold their values from before it. Return the cotangents of the arguments before the
        call: one value if there is one array argument, else a tuple in the order of the arguments.
        """
        self.pull_function = function
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from bridge.dispatch import call_mutating

        return call_mutating(self, args, kwargs)

    def __repr__(self) -> str:
        return f"<mutating rule of {self.name}, writes {', '.join(self.mutates)}>"


def rule(
    function: Callable[..., Any],
    *,
    reads: Iterable[str] | None = None,
    linear: bool = False,
    structure: Structure | None = None,
) -> Callable[[Callable[..., Any]], Rule]:
    """Register the decorated `pull(ct, out, *args, **kwargs)` as the rule of `function`.

    Parameters
    ----------
    function : a NumPy function, a ufunc, or any callable that does not write into its arguments.
    reads : names among `out` and the pull's parameters whose values are needed; the rest is not
        kept and arrives as `Shaped`. Without it, every parameter that the pull's code names counts.
    linear : the function is linear in its array arguments together (sums, reshapes, transforms).
    structure : how cotangents that are structurally absent go back (docs/architecture.md).

    The pull returns one cotangent for each positional argument (a tuple, or one value for the
    first), `None` where there is none, a list where the argument is a sequence of arrays. It is
    written with NumPy functions, does not write its arguments, and may return `ct` itself.
    Cotangents of broadcast ufunc operands are summed to the operand's shape by the context.
    """

    def register(pull: Callable[..., Any]) -> Rule:
        made = Rule(function, pull, None, reads=reads, linear=linear, structure=structure)
        RULES[function] = made
        return made

    return register


def pulls(
    function: Callable[..., Any],
    *per_argument: Callable[..., Any] | None,
    reads: Iterable[str] | None = None,
    linear: bool = False,
    structure: Structure | None = None,
) -> Rule:
    """Register one pull for each argument of `function`; only those that are asked for run."""
    made = Rule(function, None, per_argument, reads=reads, linear=linear, structure=structure)
    RULES[function] = made
    return made


def composed(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Rule]:
    """Register an equivalent of `function`, written in operations that have rules, as the source of its pull.

    The value still comes from `function` itself; only the pull runs the decorated equivalent.
    """

    def register(equivalent: Callable[..., Any]) -> Rule:
        from bridge.composition import pull_of_equivalent

        made = Rule(function, pull_of_equivalent(equivalent), None, reads=None, linear=False, structure=None)
        made._parameters, made.variadic = _pull_parameters(equivalent, leading=0)
        made.reads = frozenset(made._parameters) | ({made.variadic} if made.variadic else frozenset())
        RULES[function] = made
        return made

    return register


def mutating_rule(
    *, mutates: str | tuple[str, ...], parameters: tuple[str, ...] | None = None
) -> Callable[[Callable[..., Any]], MutatingRule]:
    """Wrap a function that writes into the arguments named by `mutates` (C, Numba, an FFT plan, a Julia `f!`).

    `parameters` spells the parameter names of callables that have no readable signature.
    """
    names = (mutates,) if isinstance(mutates, str) else tuple(mutates)

    def register(function: Callable[..., Any]) -> MutatingRule:
        made = MutatingRule(function, names, parameters)
        MUTATING[function] = made
        return made

    return register


def nondifferentiable(*functions: Any) -> None:
    """Declare functions whose derivative is zero wherever it exists (comparisons, `argmax`, `sign`, ...)."""
    ZERO_PULL.update(functions)


def refused(reason: str, *functions: Any) -> None:
    """Declare functions that a tracked array may not enter, and why; `reason` ends the error message."""
    for function in functions:
        REFUSED[function] = reason


def conj(x: Any) -> Any:
    """Complex conjugate; the same object if `x` is real."""
    return np.conj(x) if np.dtype(getattr(x, "dtype", type(x))).kind == "c" else x


def sum_to_shape(ct: Any, shape: tuple[int, ...]) -> Any:
    """Sum `ct` over the axes along which an operand of `shape` was broadcast.

    Returns an array of `shape`; `ct` itself if nothing was broadcast.
    """
    if ct.shape == shape:
        return ct
    extra = len(ct.shape) - len(shape)
    if extra < 0:
        return sum_to_shape(np.reshape(ct, (1,) * -extra + ct.shape), shape)
    axes = tuple(range(extra)) + tuple(
        k + extra for k, length in enumerate(shape) if length == 1 and ct.shape[k + extra] != 1
    )
    return np.sum(ct, axis=axes, keepdims=True).reshape(shape)


def zeros(shape: int | tuple[int, ...], like: Any, dtype: Any = None) -> Any:
    """Zeros of `shape` where `like` lives (tracked if it is tracked), with its dtype unless given."""
    kind = like.dtype if dtype is None else dtype
    return np.zeros(shape, kind, like=like) if hasattr(like, "__array_function__") else np.zeros(shape, kind)


def operation_name(function: Any) -> str:
    """The name by which messages call a function: `np.linalg.solve`, `scipy.special.erf`, `mymodule.f`."""
    name = getattr(function, "__name__", type(function).__name__)
    if isinstance(function, np.ufunc):
        return f"np.{name}" if getattr(np, name, None) is function else f"scipy.special.{name}"
    module = getattr(function, "__module__", None) or ""
    if module.startswith("numpy"):
        return "np" + module[len("numpy") :].replace("._core.multiarray", "") + f".{name}"
    return f"{module}.{name}" if module not in ("", "__main__", "builtins") else name


_LOOKS = frozenset({"shape", "dtype", "ndim", "size"})


def names_read(function: Callable[..., Any], looks_count: bool = True) -> set[str]:
    """Names of the local variables that `function`'s code loads, its parameters among them.

    Without `looks_count`, loads that only ask for shape, dtype, ndim or size are left out.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return set(inspect.signature(function).parameters)
    found: set[str] = set()
    instructions = list(dis.get_instructions(code))
    for instruction, following in zip(instructions, [*instructions[1:], None], strict=True):
        if not instruction.opname.startswith(("LOAD_FAST", "LOAD_CLOSURE", "LOAD_DEREF", "STORE_FAST_LOAD_FAST")):
            continue
        argument = instruction.argval
        looks = following is not None and following.opname == "LOAD_ATTR" and following.argval in _LOOKS
        if isinstance(argument, tuple):
            found.update(argument)
        elif looks_count or not looks:
            found.add(argument)
    return found


def _renamed_output(pull: Callable[..., Any], read: set[str]) -> set[str]:
    names = list(inspect.signature(pull).parameters)
    return {"out"} if len(names) > 1 and names[1] in read else set()


def _pull_parameters(pull: Callable[..., Any], leading: int = 2) -> tuple[tuple[str, ...], str | None]:
    parameters = list(inspect.signature(pull).parameters.values())[leading:]
    variadic = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    return tuple(p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)), variadic


def _first(pulls: tuple[Callable[..., Any] | None, ...] | None) -> Callable[..., Any]:
    return next(pull for pull in pulls or () if pull is not None)
