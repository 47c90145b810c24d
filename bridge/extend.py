"""The rule author's door: everything that a file of rules imports.

A rule says how cotangents go back through one operation::

    @rule(np.tanh)
    def tanh(ct, out, x):
        return ct * (1 - out * out)

Saving, undoing, aliasing, broadcasting and order are the context's business.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn, ParamSpec, TypeVar, Unpack

from bridge.code_position import here, resolve
from bridge.errors import RefusedError, RuleError
from bridge.in_c import computes
from bridge.rewind.cotangents import conj, sum_to_shape, zeros
from bridge.rewind.escapes import constant_of as constant_of
from bridge.rewind.escapes import note_texts as note_texts
from bridge.rewind.values import Shaped, TrackedObject, is_abstract
from bridge.rewind.values import known as known_of_tracked
from bridge.rulebook.book import (
    CALLING,
    GIVING_WAY,
    HOLDERS,
    LOWERINGS,
    MUTATING,
    OPERATORS,
    REFUSED,
    RULES,
    STAND_INS,
    ZERO_PULL,
    Postponed,
    enter,
    is_reading,
    replaces,
    retract,
)
from bridge.rulebook.facts import FACTS, METHODS, Facts, facts_of
from bridge.rulebook.rule import Case, MutatingRule, Rule, Structure
from bridge.rulebook.supports import Declared, Supports, declared
from bridge.rulebook.typed import TypedMutatingRule, TypedRule
from bridge.signatures import as_key, operation_name, pull_parameters
from bridge.solvers.composition import pull_of_equivalent
from bridge.solvers.implicit import as_array, as_left, depth, gradient, jacobian, solved
from bridge.solvers.search import Aside, carries_gradient, is_tracked
from bridge.solvers.sensitivities import with_sensitivities

__all__ = [
    "MUTATING", "REFUSED", "RULES", "ZERO_PULL", "Aside", "Case", "Facts", "MutatingRule", "RefusedError", "Rule",
    "RuleError", "Shaped", "Supports", "TrackedObject", "as_array", "as_left", "carries_gradient", "check_number",
    "composed", "computes", "conj", "constant_of", "depth", "gradient", "holder", "is_abstract", "is_tracked",
    "jacobian", "known", "lowering", "mutating_rule", "needs", "nondifferentiable", "note_texts", "operators", "pulls",
    "refuse", "refused", "rule", "solved", "stand_in", "sum_to_shape", "with_sensitivities", "without_gradient",
    "zeros",
]  # fmt: skip


P = ParamSpec("P")
R = TypeVar("R")


def rule(
    function: Callable[P, R],
    *,
    reads: Iterable[str] | None = None,
    linear: bool = False,
    structure: Structure | None = None,
    facts: Facts | None = None,
    **supports: Unpack[Declared],
) -> Callable[[Callable[..., Any]], TypedRule[P, R]]:
    """Register the decorated `pull(ct, out, *args, **kwargs)` as the rule of `function`.

    The pull returns one cotangent for each positional argument (a tuple, or one value for the
    first), `None` where there is none, a list where the argument is a sequence of arrays. It is
    written with NumPy functions, does not write its arguments, and may return `ct` itself.
    Cotangents of broadcast ufunc operands are summed to the operand's shape by the context.

    Parameters
    ----------
    function : a NumPy function, a ufunc, or any callable that does not write into its arguments.
    reads : names among `out` and the pull's parameters whose values are needed; the rest is not
        kept and arrives as `Shaped`. Without it, every parameter that the pull's code names counts.
    linear : the function is linear in its array arguments together (sums, reshapes, transforms).
    structure : how cotangents that are structurally absent go back (docs/architecture.md).
    facts : what else is true of the function, where it is not what is true of most.
    supports : what it is limited to: `orders=1`, `dtypes=(np.float64,)`, `layouts="C"`, `empty=False`, for a pull over
        compiled code. The rest is refused by name where it is asked for (see `Supports`).
    """
    key = as_key(function)
    limits = declared(operation_name(key), supports)

    def register(pull: Callable[..., Any]) -> Any:
        guarded = pull if limits is None else limits.guarded(operation_name(key), pull)
        made = Rule(key, guarded, None, reads=reads, linear=linear, structure=structure, facts=facts)
        made.supports = limits
        return _entered(made, facts)

    return register


def pulls(
    function: Callable[..., Any],
    *per_argument: Callable[..., Any] | None,
    reads: Iterable[str] | None = None,
    linear: bool = False,
    structure: Structure | None = None,
    facts: Facts | None = None,
    adding: tuple[Callable[..., bool], ...] | None = None,
) -> Rule:
    """Register one pull for each argument of `function`; only those that are asked for run.

    `adding`, if given, has for each argument what a pull computes where its cotangent is large and others are there
    already: called with the array of these before what a pull is given, it adds into it and returns True, or returns
    False and leaves it to the pull. Then no array is made for the cotangent.
    """
    made = Rule(function, None, per_argument, reads=reads, linear=linear, structure=structure, facts=facts)
    made.adding = adding
    return _entered(made, facts)


def composed(function: Callable[..., Any], *, facts: Facts | None = None) -> Callable[[Callable[..., Any]], Rule]:
    """Register an equivalent of `function`, written in operations that have rules, as the source of its pull.

    The value still comes from `function` itself; only the pull runs the decorated equivalent.
    """

    def register(equivalent: Callable[..., Any]) -> Rule:
        pull = pull_of_equivalent(equivalent)
        made = Rule(function, pull, None, reads=None, linear=False, structure=None, facts=facts)
        made._parameters, made.variadic = pull_parameters(equivalent, leading=0)
        made.reads = frozenset(made._parameters) | ({made.variadic} if made.variadic else frozenset())
        return _entered(made, facts)

    return register


def _entered(made: Rule, facts: Facts | None) -> Rule:
    made.replaces = replaces(made.function)
    if facts is None:
        # What a user's rule says of the derivative is in its pull; all else that the book knows stays true.
        made.facts = dataclasses.replace(facts_of(made.function), adds=0) if made.replaces else facts_of(made.function)
    _enter_facts(made.function, made.facts)
    enter(RULES.__setitem__, made.function, made)
    if made.replaces:
        retract(made.function, RULES)
    return made


def _enter_facts(function: Any, facts: Facts) -> None:
    enter(FACTS.__setitem__, function, facts)
    for ufunc, method in ((facts.reduces, "reduce"), (facts.accumulates, "accumulate")):
        if ufunc is not None:
            enter(METHODS.setdefault, (ufunc, method), function)


def mutating_rule(
    *, mutates: str | tuple[str, ...], parameters: tuple[str, ...] | None = None, **supports: Unpack[Declared]
) -> Callable[[Callable[P, R]], TypedMutatingRule[P, R]]:
    """Wrap a function that writes into some of its arguments (C, Fortran, an FFT plan, a Julia `f!`).

    Parameters
    ----------
    mutates : the names of the parameters whose arrays it writes.
    parameters : the names of all parameters of a callable that has no readable signature (a ctypes handle).
    supports : what the rule is limited to, as for `rule`.
    """
    names = (mutates,) if isinstance(mutates, str) else tuple(mutates)
    if len(set(names)) < len(names):
        raise RuleError(f"mutating_rule(mutates={mutates!r}) names a parameter twice", remedy="name it once")

    def register(function: Callable[..., Any]) -> Any:
        function = as_key(function)
        made = MutatingRule(function, names, parameters, declared(operation_name(function), supports))
        enter(MUTATING.__setitem__, function, made)
        return made

    return register


def nondifferentiable(*functions: Any, facts: Facts | None = None) -> None:
    """Declare functions whose derivative is zero wherever it exists (comparisons, `argmax`, `sign`, ...)."""
    for function in functions:
        replacing = replaces(function)
        if facts is not None:
            _enter_facts(function, facts)
        enter(ZERO_PULL.add, function)
        if replacing:
            retract(function, ZERO_PULL)


def refused(reason: str, *functions: Any) -> None:
    """Declare functions that a tracked array may not enter, and why; `reason` ends the error message."""
    for function in functions:
        replacing = replaces(function)
        enter(REFUSED.__setitem__, function, reason)
        if replacing:
            retract(function, REFUSED)


def lowering(function: Callable[..., Any] | Rule) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as what computes `function` under the engines "xla" and "jax".

    It has the parameters of `function`, gets arrays of JAX, and is written with `jax.numpy`; import that inside of it.
    """
    lowered = function.function if isinstance(function, Rule) else function

    def register(computes: Callable[..., Any]) -> Callable[..., Any]:
        enter(LOWERINGS.__setitem__, lowered, computes)
        return computes

    return register


def stand_in(
    *functions: Any, of_constants: bool | None = None, calls: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as what computes `functions` for tracked values, in a program that is read.

    It has their parameters and gives their values, and is written with NumPy functions and functions with rules. It is
    called where a tracked value is among the arguments, or in a list, tuple or dictionary of them; a class may have a
    stand-in, which makes the object. For functions that NumPy's protocols do not reach (SciPy's, `math.sin`).

    With `of_constants`, as for classes, the function itself is called, with plain copies, where no argument carries a
    gradient: what it makes is then the library's own object.

    One that `calls` functions which it is given, or draws from iterators, which may reach tracked values by themselves,
    is called wherever something is differentiated, and gets the functions read.
    """

    def register(computes: Callable[..., Any]) -> Callable[..., Any]:
        if calls:
            enter(CALLING.add, computes)
        for function in functions:
            itself = isinstance(function, type) if of_constants is None else of_constants
            enter(STAND_INS.__setitem__, function, _unless_constant(function, computes) if itself else computes)
        return computes

    return register


def _unless_constant(function: Any, computes: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(computes)
    def compute(*args: Any, **kwargs: Any) -> Any:
        plain = constant_of((args, kwargs))
        return computes(*args, **kwargs) if plain is None else function(*plain[0], **plain[1])

    return compute


def without_gradient(value: Any, what: str, remedy: str) -> Any:
    """A plain copy of what may be tracked but must not carry a gradient; a RefusedError, if `what` is not so."""
    plain = constant_of((value,))
    if plain is None and any(map(is_abstract, value if isinstance(value, (tuple, list)) else (value,))):
        what += ": their values are not known while the program is compiled"
        remedy = 'make them before the program, which reads them as a global or a closure; or use engine="native"'
    return refuse(what, remedy) if plain is None else plain[0]


def operators(*classes: type[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated `combine(ufunc, x, y)` as what computes `x @ y`, `x + y`, ... with tracked values.

    One operand is tracked, the other one an object of one of the classes, which are neither arrays nor know of tracked
    values. Their own operators are told that a tracked operand is no array, upon which they must give way to it.
    """

    def register(combine: Callable[..., Any]) -> Callable[..., Any]:
        for kind in classes:
            enter(OPERATORS.__setitem__, kind, combine)
            for owner in kind.__mro__:
                for name in _OPERATORS:
                    code = getattr(vars(owner).get(name), "__code__", None)
                    if code is not None:
                        enter(GIVING_WAY.add, code)
        return combine

    return register


def holder(kind: type[Any], attribute: str) -> Callable[[type[Any]], type[Any]]:
    """Register the decorated subclass as what objects of a library's class are of while an attribute is tracked memory.

    A plain object becomes one when tracked values are written into the array that it has as that attribute, in a
    program that is read; it is of its own class again when the differentiated call is over. A class of objects that
    have no such array has a static method `held_for(plain)`, which makes what the attribute becomes.
    """

    def register(made: type[Any]) -> type[Any]:
        enter(HOLDERS.__setitem__, kind, (attribute, made))
        return made

    return register


_OPERATORS = [
    f"__{side}{name}__" for side in ("", "r") for name in ("add", "sub", "mul", "truediv", "matmul", "pow", "floordiv")
]


def known(x: Any) -> Any:
    """What an argument holds, as a plain array or number; None in a program that is compiled, unless that is known."""
    return known_of_tracked(x) if hasattr(x, "place") else x


def check_number(error: ArithmeticError | ValueError, test: Any) -> None:
    """Raise `error` from a compiled call in whose run `test`, a boolean that depends on tracked numbers, is true."""
    test.place.context.home.check_number(error, test)


def refuse(what: str, remedy: str) -> NoReturn:
    """Raise a RefusedError that names what a rule or a stand-in does not do, the user's line, and a remedy."""
    raise RefusedError(what, where=resolve(here()), remedy=remedy)


def needs(library: str) -> ModuleType:
    """The library that a family of rules is about; the book reads the family once a program has loaded that."""
    if is_reading() and sys.modules.get(library) is None:
        raise Postponed(library)
    return import_module(library)
