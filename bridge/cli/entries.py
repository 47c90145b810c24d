"""What the rule book says of functions: an entry for each, with where it is said and by whom."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import bridge
from bridge.cli import libraries
from bridge.cli.check import find
from bridge.errors import ArgumentError, EngineNotAvailable
from bridge.proof.rules.inputs import cases_of
from bridge.rulebook import book, guests
from bridge.rulebook.facts import Facts
from bridge.rulebook.rule import MutatingRule, Rule
from bridge.signatures import operation_name


@dataclass(frozen=True)
class Entry:
    """One function, and what is said of it.

    Parameters
    ----------
    name : by which messages call it.
    kind : what becomes of a gradient: a rule, a stand-in, none, a refusal.
    by : the family of the book, or the distribution that brings it, or the user's module.
    said : what says so, the code of a pull or of a stand-in; None for one that needs no code.
    """

    name: str
    kind: str
    by: str
    said: Callable[..., Any] | None
    function: Any
    rule: Rule | MutatingRule | None = None


def entries() -> list[Entry]:
    """All entries, by name, with those of every library and package that is installed here."""
    public = read_everything()
    found: dict[str, Entry] = {}
    for one in _entries():
        # Of several names the shortest is the one that people write.
        names = public.get(one.function, ()) if one.rule is None or "._" in one.name else ()
        name = min(names, key=lambda text: (len(text), text), default=one.name)
        if not name.startswith("bridge."):
            found.setdefault(name, replace(one, name=name))
    return sorted(found.values(), key=lambda one: one.name)


def entries_of(name: str) -> list[Entry]:
    """The entries that a name may mean: the one of messages, that of an import, or `path/to/file.py:function`.

    Of several that end with it, NumPy's comes first, then SciPy's.

    Raises
    ------
    ArgumentError : nothing is said of a function of that name; the message has the nearest names.
    """
    if ":" in name:
        named: Any = find(name)
        book.read_book()
        wanted = getattr(named, "function", named) if isinstance(named, (Rule, MutatingRule)) else named
        listed = list(_entries())
        found = [one for one in listed if one.function is wanted or getattr(one.function, "__wrapped__", one) is wanted]
    else:
        listed = entries()
        spelled = f"np.{name.removeprefix('numpy.')}" if name.startswith("numpy.") else name
        found = [one for one in listed if one.name == spelled] or _with_ending(listed, spelled)
    if found:
        return sorted(found, key=lambda one: (not one.name.startswith("np."), not one.name.startswith("scipy.")))
    near = get_close_matches(name, [one.name for one in listed], 3, 0.7)
    raise ArgumentError(
        f"nothing is said of {name}",
        remedy=f"did you mean {' or '.join(near)}?"
        if near
        else "write a rule for it (docs/adding_a_rule.md); functions of your own are named module:function or "
        "path/to/file.py:function",
    )


def read_everything() -> dict[Any, list[str]]:
    """Load SciPy, and each library that an installed package brings rules for; the public names of their functions."""
    public: dict[Any, list[str]] = {}
    try:
        public = libraries.public_names()
    except EngineNotAvailable:
        print("SciPy is not installed: its functions are not listed", file=sys.stderr)
    for point in guests.offered().values():
        try:
            import_module(point.name)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            print(f"{point.name} cannot be imported, and its rules are not listed: {reason}", file=sys.stderr)
    book.read_book()
    return public


def details(entry: Entry) -> Iterator[tuple[str, str]]:
    """What else there is to say of an entry, as headings and words."""
    place = _place(entry.said)
    yield "by", place if place.startswith("rules/") else ", ".join(filter(None, (entry.by, place)))
    rule = entry.rule
    if rule is not None:
        yield "arguments", ", ".join(rule.parameters)
    elif entry.kind == "stand-in":
        yield "arguments", _parameters_of(entry)
        yield "derivatives", "those of the operations that it is made of"
    if isinstance(rule, Rule):
        yield "pull reads", _read_by(rule)
        yield "derivatives", str(rule.supports) if rule.supports else "of every order, dtype and layout"
        told = ", ".join(_facts(rule.facts))
        if told:
            yield "facts", told
    if isinstance(rule, MutatingRule):
        yield "writes", ", ".join(rule.mutates)
        if rule.pull_function is None:
            yield "pull", "none is declared yet"
        yield "derivatives", str(rule.supports) if rule.supports else "of every order, dtype and layout"
    if book.REFUSED.get(entry.function):
        yield "because", book.REFUSED[entry.function]
    if entry.function in book.LOWERINGS:
        yield "in JAX", _place(book.LOWERINGS[entry.function])
    julia = _julia_line(entry.name)
    if julia:
        yield "in Julia", julia
    if rule is not None:
        count = len(cases_of(rule))
        name = entry.name if entry.by.startswith("rules/") else f"{_module_of(entry.said)}:{entry.name.split('.')[-1]}"
        cases = f"{count} case{'' if count == 1 else 's'}" if count else "no cases: arguments are invented"
        yield "proof", f"{cases}; python -m bridge rules check {name}"


def _entries() -> Iterator[Entry]:
    for function, rule in book.RULES.items():
        pull = next((pull for pull in rule.per_argument or (rule.joint,) if pull is not None), None)
        yield Entry(rule.name, "linear rule" if rule.linear else "rule", _author(pull), pull, function, rule)
    for function, mutating in book.MUTATING.items():
        said = mutating.pull_function or mutating.function
        yield Entry(mutating.name, "mutating rule", _author(said), said, function, mutating)
    for function, computes in book.STAND_INS.items():
        yield Entry(operation_name(function), "stand-in", _author(computes), computes, function)
    for function in book.ZERO_PULL:
        yield Entry(operation_name(function), "no gradient", _author(None, function), None, function)
    for function in book.REFUSED:
        yield Entry(operation_name(function), "refused", _author(None, function), None, function)


def _with_ending(listed: list[Entry], name: str) -> list[Entry]:
    return [one for one in listed if one.name.endswith(f".{name}")]


def _author(said: Any, function: Any = None) -> str:
    """Who says it: a family, a distribution with its version, or a module of the user's."""
    if said is None:
        return "you" if function in book.OF_USERS else "the rule book"
    module = _module_of(said)
    if module.startswith("bridge."):
        return f"{module.removeprefix('bridge.').replace('.', '/')}.py"
    return guests.distribution_of(module) or module


def _module_of(said: Any) -> str:
    return str(getattr(_code_of(said), "__module__", None) or "")


def _code_of(said: Any) -> Any:
    while hasattr(said, "func"):  # functools.partial
        said = said.func
    return inspect.unwrap(said)


def _place(said: Any) -> str:
    """File and line of a function's code; within the package as its checkout has it."""
    if said is None:
        return ""
    code = getattr(_code_of(said), "__code__", None)
    if code is None:
        return ""
    path = Path(code.co_filename)
    for folder in (Path(bridge.__path__[0]), Path(bridge.__path__[0]).parent):
        if path.is_relative_to(folder):
            return f"{path.relative_to(folder)}:{code.co_firstlineno}"
    return f"{path}:{code.co_firstlineno}"


def _read_by(rule: Rule) -> str:
    if rule.reads is not None:
        return ", ".join(sorted(rule.reads)) or "nothing"
    pulls = rule.per_argument or (rule.joint,) * len(rule.parameters)
    out, positions = rule.needs(tuple(k for k, pull in enumerate(pulls) if pull is not None))
    options = _signature_of(rule.function)
    names = [name for name in positions if isinstance(name, str) and (name in rule.parameters or name in options)]
    return ", ".join([*(["out"] if out else []), *sorted(names)]) or "nothing"


def _parameters_of(entry: Entry) -> str:
    return ", ".join(_signature_of(entry.function) or _signature_of(entry.said))


def _signature_of(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _facts(facts: Facts) -> Iterator[str]:
    plain = Facts()
    for one in fields(facts):
        value = getattr(facts, one.name)
        if value != getattr(plain, one.name):
            name = one.name.replace("_", " ")
            yield name if value is True else f"{name} {_words(value)}"


def _words(value: Any) -> str:
    return " and ".join(map(str, value)) if isinstance(value, tuple) else getattr(value, "__name__", str(value))


def _julia_line(name: str) -> str:
    """Where a file of the book says what the function is in Julia."""
    folder = Path(import_module("bridge.rules").__path__[0])
    for path in sorted(folder.glob("*.jl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("@") and f" {name}(" in line:
                return f"rules/{path.name}:{number}"
    return ""
