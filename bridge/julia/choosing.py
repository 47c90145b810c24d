"""Who differentiates a Julia function under `ad="auto"`: the first engine that can, for each kind of call; and why.

Zygote under our context comes first. It refuses writes into plain arrays by name, and never gives a wrong gradient for
them; what it refuses is passed on to Mooncake and then to Enzyme, if the project has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any
from weakref import WeakSet

from bridge.errors import BridgeError, JuliaNotAvailable
from bridge.julia.calls import Kept, Passed, ask, translated
from bridge.julia.discovery import SET_UP
from bridge.julia.preparation import add_line
from bridge.julia.session import session

INTERFACE = "DifferentiationInterface"
"""The package by which every engine but Zygote is called."""

PACKAGES = {
    "zygote": "Zygote",
    "forwarddiff": "ForwardDiff",
    "reversediff": "ReverseDiff",
    "mooncake": "Mooncake",
    "enzyme": "Enzyme",
}
"""The engines by what `ad=` calls them, and the packages that they are."""

AUTOMATIC = ("zygote", "mooncake", "enzyme")
"""What `ad="auto"` tries, in this order."""

ENGINES = ("auto", *PACKAGES)
_WORDS = {
    "a": "array",
    "g": "number",
    "f": "float",
    "i": "int",
    "b": "bool",
    "c": "complex",
    "s": "str",
    "n": "None",
    "S": "sparse",
}
_CHOOSING: WeakSet[Prepared] = WeakSet()


@dataclass
class EngineChoice:
    """The engine that differentiates calls whose arguments have the same types.

    Attributes
    ----------
    arguments : the kinds of the leaves of the arguments.
    engine : who differentiates them, as `ad=` calls it.
    refusals : the engines that were tried before it, and the first line of what each raised.
    failed : whether no engine is left.
    """

    arguments: str
    engine: str
    refusals: list[tuple[str, str]] = field(default_factory=list)
    failed: bool = False

    def __str__(self) -> str:
        why = "; ".join(f"{PACKAGES[engine]} refused: {reason}" for engine, reason in self.refusals)
        return f"{self.arguments}: {'no engine' if self.failed else PACKAGES[self.engine]}{f' ({why})' if why else ''}"


class Prepared:
    """A Julia function and what has been prepared for calls of it: what all parts of `JuliaFunction` share.

    `plans` are by the kinds of the arguments, `choices` by the number of the plan.
    """

    def __init__(self, kept: Kept, name: str, mutates: tuple[int, ...], order: str, ad: str) -> None:
        self.kept = kept
        self.name = self.__name__ = name
        self.mutates = mutates
        self.order = order
        self.ad = ad
        self.plans: dict[Any, Kept] = {}
        self.choices: dict[int, EngineChoice] = {}


def begun(function: Prepared, plan: Kept, kinds: str) -> None:
    """Note a kind of calls of a function, of which the first engine will be asked first."""
    if function.ad == "auto":
        _CHOOSING.add(function)
        arguments = f"({', '.join(_WORDS.get(kind, 'object') for kind in kinds)})"
        function.choices[plan.key] = EngineChoice(arguments, AUTOMATIC[0])


def explained(function: Prepared) -> str:
    """What differentiates a function, and why: a line for each kind of calls that was seen."""
    if function.ad != "auto":
        return f"{function.name}:\n  {PACKAGES[function.ad]} differentiates all calls: ad={function.ad!r}"
    lines = dict.fromkeys(f"  {choice}" for choice in list(function.choices.values()))
    first = f"  nothing was differentiated yet; the order is {', '.join(PACKAGES[name] for name in AUTOMATIC)}"
    return "\n".join([f"{function.name}:", *(lines or [first])])


def choices() -> tuple[str, ...]:
    """What `ad="auto"` chose in this process where it was not the first engine, by the name of the function."""
    pairs = [(function.name, choice) for function in list(_CHOOSING) for choice in list(function.choices.values())]
    return tuple(f"{name} {choice}" for name, choice in pairs if choice.refusals)


def remark(refused: dict[str, str]) -> str:
    """What `ad="auto"` takes, by what the engines said that gave a report no answer; nothing if it is the first one."""
    names = [PACKAGES[engine] for engine in AUTOMATIC]
    if names[0] not in refused:
        return ""
    taken = next((f"takes {name}" for name in names if name not in refused), "has no engine")
    return f'ad="auto" {taken}: {names[0]} refused: {shorten(refused[names[0]], 160, placeholder=" ...")}'


def chosen(function: Prepared, plan: Kept, attempt: Callable[[], Any]) -> Any:
    """`attempt()` under the engine of a plan; where that refuses, under the next one that the project has.

    Raises
    ------
    JuliaError : of the first engine, with what the others said and which packages to add, if none is left; or of the
        one that `ad=` names.
    """
    refused: dict[str, Passed] = {}
    for _ in range(_MOST_ATTEMPTS):
        try:
            return attempt()
        except Passed as passed:
            refusal = passed
        if function.ad != "auto":
            raise _refused(function, refusal) from None
        # An engine may refuse twice: another thread can name it to the plan again before this one's next attempt.
        refused.setdefault(refusal.engine, refusal)
        following, reasons = _next(refused)
        # A later call of this kind may have other values: it begins with the engine that is right without a check.
        ask(plan.key, "engine", following or AUTOMATIC[0])
        choice = function.choices.setdefault(plan.key, EngineChoice("(...)", AUTOMATIC[0]))
        choice.failed, choice.engine, choice.refusals = following is None, following or AUTOMATIC[0], reasons
        if following is None:
            break
    raise _no_engine(function, reasons, refused) from None


_MOST_ATTEMPTS = 100


def packages_of(engine: str) -> tuple[str, ...]:
    """The Julia packages that `ad=` needs beside our own."""
    return () if engine in ("auto", "zygote") else (INTERFACE, PACKAGES[engine])


def _next(refused: dict[str, Passed]) -> tuple[str | None, list[tuple[str, str]]]:
    """The first engine that the project has and that did not refuse, loaded, or None; who was passed over, and why."""
    reasons = []
    following = None
    for engine in AUTOMATIC:
        if engine in refused:
            reasons.append((engine, shorten(refused[engine].message, 160, placeholder=" ...")))
        elif following is None and all(session().has(package) for package in packages_of(engine)):
            try:
                for package in packages_of(engine):
                    session().require(package)
                following = engine
            except JuliaNotAvailable as error:
                reasons.append((engine, error.what))
    return following, reasons


def _refused(function: Prepared, refusal: Passed) -> BridgeError:
    """The error of an engine that was asked for by name, about a function that by itself runs."""
    error = translated(refusal.kind, refusal.message, refusal.short, refusal.full, function.name)
    if refusal.kind != "replay":
        own = _OWN_NUMBERS if refusal.kind == "method" else error.remedy
        error.remedy = f"{own}; or {_OTHERS}" if own else _OTHERS
    return error


_OWN_NUMBERS = (
    "make arrays with similar(x) or zeros(eltype(x), n), and take Real where the code takes Float64: engines run it on "
    "numbers of their own"
)
_OTHERS = 'let ad="auto" try one engine after another; bridge.crosscheck(function)(...) says which can'


def _no_engine(function: Prepared, reasons: list[tuple[str, str]], refused: dict[str, Passed]) -> BridgeError:
    """The error of the first engine, with what is to be done."""
    first = refused.get(AUTOMATIC[0]) or next(iter(refused.values()))
    error = translated(first.kind, first.message, first.short, first.full, function.name)
    others = [f"{PACKAGES[engine]} refused: {reason}" for engine, reason in reasons if engine != AUTOMATIC[0]]
    tried = {engine for engine, _ in reasons}
    absent = [PACKAGES[engine] for engine in AUTOMATIC if engine not in tried]
    remedies = [error.remedy, *others] if error.remedy else others
    if absent:
        needed = [name for name in (INTERFACE, absent[0]) if not session().has(name)]
        line = add_line(session().candidate, needed) or f"python -m juliapkg add {' '.join(needed)} && {SET_UP}"
        verb = "differentiates" if len(absent) == 1 else "differentiate"
        remedies.append(
            f"or add {' or '.join(absent)} to the Julia project, which {verb} functions that write plain arrays "
            f'(then ad="auto" takes them): {line}  (then start Python again)'
        )
    error.remedy = "\n  ".join(remedies)
    return error
