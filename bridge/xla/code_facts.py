"""What the code of a function asks for by name: globals, attributes, modules, and names that it writes as texts."""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple


class CodeFacts(NamedTuple):
    """What code asks for, with that of the functions that are written in it.

    Attributes
    ----------
    names : of globals and of attributes.
    variables : of globals alone.
    texts : those that could be names, as in `getattr(o, "k")` and `"K" in globals()`.
    modules : that it imports when it runs.
    is_open : it asks for names that are not written in it.
    """

    names: frozenset[str]
    variables: frozenset[str]
    texts: frozenset[str]
    modules: frozenset[str]
    is_open: bool


@lru_cache(maxsize=4096)
def facts_of_code(code: CodeType) -> CodeFacts:
    """What the code of a function asks for."""
    parts = [one for one in code.co_consts if isinstance(one, CodeType)]
    names, variables = set(code.co_names), _variables(code)
    texts = {name for one in code.co_consts for name in names_in(one)}
    modules, is_open = set(), not _OPEN.isdisjoint(names)
    if not _BY_TEXT.isdisjoint(names) or _IMPORT in code.co_code[::2]:
        steps = [step for step in dis.get_instructions(code) if step.opname not in _WITHOUT_MEANING]
        modules = {step.argval for step in steps if step.opname == "IMPORT_NAME"}
        is_open = is_open or any(
            not _is_written(steps, k + 1)
            for k, step in enumerate(steps)
            if step.argval in _BY_TEXT and step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        )
    for facts in map(facts_of_code, parts):
        names |= facts.names
        variables |= facts.variables
        texts |= facts.texts
        modules |= facts.modules
        is_open = is_open or facts.is_open
    return CodeFacts(frozenset(names), frozenset(variables), frozenset(texts), frozenset(modules), is_open)


def _variables(code: CodeType) -> set[str]:
    """Names that code asks for as variables, not as attributes; in one pass over its bytes, for there is much code."""
    found, above = set(), 0
    for step, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        if step == dis.EXTENDED_ARG:
            above = (above | argument) << 8
            continue
        if step in _OF_VARIABLES:
            found.add(code.co_names[(above | argument) >> _SHIFTED.get(step, 0)])
        above = 0
    return found


def names_in(constant: Any) -> Iterator[str]:
    """Names that a text, or texts in a tuple, spell: `"a.b"` has two."""
    if isinstance(constant, (tuple, frozenset)):
        for one in constant:
            yield from names_in(one)
    elif type(constant) is str and _SPELLS.fullmatch(constant):
        yield constant
        if "." in constant:
            yield from constant.split(".")


def _is_written(steps: list[dis.Instruction], start: int) -> bool:
    """Whether the second argument of a call is a text in the code; the others are names, or attributes of these."""
    k = _behind_a_name(steps, start)
    if k == start or k >= len(steps) or not steps[k].opname.startswith("LOAD_CONST"):
        return False
    end = k + 1
    if end < len(steps) and steps[end].opname.startswith("LOAD_CONST"):
        end += 1
    else:
        end = _behind_a_name(steps, end)
    return isinstance(steps[k].argval, str) and end < len(steps) and steps[end].opname.startswith("CALL")


def _behind_a_name(steps: list[dis.Instruction], start: int) -> int:
    """The step after those that load a name, and attributes of it; `start` if there are none."""
    k = start
    if k < len(steps) and steps[k].opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME")):
        k += 1
        while k < len(steps) and steps[k].opname == "LOAD_ATTR":
            k += 1
    return k


_OF_VARIABLES = frozenset(
    dis.opmap[name]
    for name in ("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME", "DELETE_NAME",
                 "LOAD_FROM_DICT_OR_GLOBALS")
    if name in dis.opmap
)  # fmt: skip


def _asks_for_two() -> Any:
    return _OPEN, _BY_TEXT


_SHIFTED = {
    dis.opmap[step.opname]: 1
    for step in dis.get_instructions(_asks_for_two)
    if step.opname == "LOAD_GLOBAL" and step.argval == "_BY_TEXT" and step.arg != 1
}
"""Steps whose argument has a bit below the number of the name, in this version of Python."""

_OPEN = frozenset({"vars", "dir", "__dict__", "getmembers", "getmembers_static"})
"""What shows all names that an object or a class has."""

_BY_TEXT = frozenset({"getattr", "hasattr"})
_IMPORT = dis.opmap["IMPORT_NAME"]
_WITHOUT_MEANING = frozenset({"PUSH_NULL", "CACHE", "EXTENDED_ARG", "NOP", "PRECALL"})
_SPELLS = re.compile(r"[^\W\d][\w.]{0,99}")
