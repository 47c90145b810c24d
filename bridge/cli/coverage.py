"""The generator of `docs/coverage.md`: what happens when a tracked array meets each public function of NumPy.

The verdicts are read from the tables that dispatch uses. What never reaches dispatch, because NumPy does not
hand it over, is named here; `leftovers` is everything that neither knows.
"""

from __future__ import annotations

import re
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bridge.numpy
from bridge.arrays import functions
from bridge.engines import registry
from bridge.engines.protocol import Column, Engine
from bridge.errors import EngineNotAvailable
from bridge.rulebook import book
from bridge.rulebook.book import MUTATING, REFUSED, RULES, ZERO_PULL
from bridge.rulebook.rule import Rule

RULE = "rule"
CORE = "core"
ZERO = "non-differentiable"
CREATION = "creation"
REFUSAL = "refused"
NO_RULE = "no rule"
NO_ARRAY = "takes no tracked array"
OLD_NAME = "deprecated by NumPy"
UNKNOWN = "UNCLASSIFIED"

MEANINGS = {
    RULE: "differentiated; the note names the file. A result that is a view stays one, and needs no rule",
    CORE: "a write, a view or a copy, which the core logs itself",
    ZERO: "the derivative is zero wherever it exists; works, and no gradient passes",
    CREATION: "makes an array, which may be written into in a program that is read (docs/your_program.md); elsewhere a "
    "Buffer under `bridge.numpy` or with `like=`, and a plain constant otherwise",
    REFUSAL: "raises an error of `bridge.errors` that says why and what to do instead",
    NO_RULE: "raises `NoRuleError`, which shows how to write the rule",
    NO_ARRAY: "types, settings, text and dates: nothing to differentiate",
    OLD_NAME: "use the function of the note",
    UNKNOWN: "nobody has said; a test fails",
}

# What NumPy does not hand over to a tracked argument: module, names, verdict, note.
BEYOND_DISPATCH = (
    (
        "np",
        "asmatrix bmat broadcast flatiter matrix nditer nested_iters record require",
        REFUSAL,
        "it turns its argument into plain memory: `EscapeError`",
    ),
    (
        "np",
        "ndenumerate vectorize",
        REFUSAL,
        "it turns its argument into plain memory: `EscapeError`; works in a program that is read",
    ),
    ("np", "diag_indices from_dlpack fromfile fromregex mask_indices memmap ndarray recarray", CREATION, "a constant"),
    ("np.fft", "fftfreq rfftfreq", CREATION, "a constant"),
    ("np", "finfo iinfo info isfortran isscalar iterable", ZERO, "answers about type or layout"),
    ("np", "poly1d", RULE, "through the functions that it calls"),
    ("np", "frompyfunc", NO_ARRAY, "the ufunc that it makes has no rule"),
    ("np", "in1d", OLD_NAME, "`np.isin`"),
    ("np", "row_stack", OLD_NAME, "`np.vstack`"),
    ("np", "trapz", OLD_NAME, "`np.trapezoid`"),
    ("np", "dtype errstate ufunc", NO_ARRAY, "a type"),
    (
        "np",
        "broadcast_shapes isdtype issubdtype mintypecode ndindex promote_types typename",
        NO_ARRAY,
        "types, shapes",
    ),
    ("np", "busday_count busday_offset busdaycalendar datetime_as_string datetime_data is_busday", NO_ARRAY, "dates"),
    ("np", "base_repr binary_repr format_float_positional format_float_scientific", NO_ARRAY, "text"),
    (
        "np",
        "get_include get_printoptions getbufsize geterr geterrcall printoptions set_printoptions setbufsize seterr "
        "seterrcall show_config show_runtime",
        NO_ARRAY,
        "settings",
    ),
    ("np", "test", NO_ARRAY, "runs NumPy's tests"),
    ("np.linalg", "test", NO_ARRAY, "runs NumPy's tests"),
    ("np.fft", "test", NO_ARRAY, "runs NumPy's tests"),
)


class Row(NamedTuple):
    """One public function, what happens to a tracked array in it, a remark, and what the engines' columns say."""

    name: str
    verdict: str
    note: str
    columns: tuple[str, ...] = ()


def rows() -> list[Row]:
    """Classify every public callable of the covered modules."""
    found = list(_public_callables())
    book.read_book()
    return [_row(prefix, name, function) for prefix, name, function in found]


def _row(prefix: str, name: str, function: Any) -> Row:
    verdict, note = _verdict(prefix, name, function)
    native = RULES.get(function)
    computes = native is not None or verdict in (ZERO, NO_RULE)
    columns = [engine.coverage(function, native) if computes else "" for engine, _ in _columns()]
    return Row(f"{prefix}.{name}", verdict, note, tuple(columns))


def _columns() -> list[tuple[Engine, Column]]:
    """The engines that have a column on the page."""
    return [(engine, engine.column) for engine in registry.engines() if engine.column is not None]


def leftovers() -> list[str]:
    """Names of NumPy functions that nobody has classified; must be empty."""
    return [
        row.name
        for row in rows()
        if row.verdict == UNKNOWN or (row.verdict == NO_RULE and not row.name.startswith("scipy."))
    ]


def page() -> str:
    """The text of `docs/coverage.md` for the installed NumPy and SciPy."""
    found = rows()
    count = Counter(row.verdict for row in found)
    headings = [column.heading for _, column in _columns()]
    lines = [
        "# Coverage",
        "",
        f"What happens when a tracked array enters each public function of {_versions()}.",
        "Made by `python -m bridge coverage --write docs/coverage.md` from the tables that dispatch uses.",
        "",
        "| verdict | functions | meaning |",
        "|---|---:|---|",
        *(
            f"| {verdict} | {count[verdict]} | {MEANINGS.get(verdict, '')} |"
            for verdict in (*MEANINGS, UNKNOWN)
            if count[verdict]
        ),
        "",
        *_remarks(found),
        "The keywords `out=` and `where=` of a ufunc, and its methods `reduce`, `accumulate`, `outer`, `reduceat` and",
        "`at`, are as the ufunc itself.",
    ]
    for prefix in dict.fromkeys(row.name.rpartition(".")[0] for row in found):
        lines += ["", f"## {prefix}", "", _line("function", "verdict", "note", *headings)]
        lines.append("|" + "---|" * (3 + len(headings)))
        own = [row for row in found if row.name.rpartition(".")[0] == prefix]
        lines += [_line(f"`{row.name}`", row.verdict, row.note, *row.columns) for row in own]
    return "\n".join(lines) + "\n"


def _remarks(found: list[Row]) -> Iterator[str]:
    """What the page says of the engines, for which they must be there."""
    for k, (engine, column) in enumerate(_columns()):
        count = sum(bool(row.columns[k]) for row in found)
        if not count and engine.missing():
            raise EngineNotAvailable(f"the page says what {column.heading} has, and {engine.missing()}")
        yield from (column.remark.format(count=count), "")


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def complaint(path: Path) -> str | None:
    """Say what is out of date in the page at `path`; None if nothing is.

    Under other versions of NumPy or SciPy than the page was made with, only functions that both know are compared.
    """
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    current = page()
    if written == current:
        return None
    old, new = _table(written), _table(current)
    names = old.keys() & new.keys() if old and _versions() not in written else old.keys() | new.keys()
    changed = sorted(name for name in names if old.get(name) != new.get(name))
    if not changed and _versions() not in written:
        return None
    listed = "".join(f"\n  {name}: {old.get(name, 'not there')} -> {new.get(name, 'gone')}" for name in changed[:20])
    return f"{path} is out of date; run python -m bridge coverage --write {path}{listed}"


def _table(text: str) -> dict[str, str]:
    return dict(re.findall(r"^\| `([\w.]+)` \| (.*) \|$", text, re.MULTILINE))


def _versions() -> str:
    versions = f"NumPy {_minor(np.__version__)}"
    if find_spec("scipy") is not None:
        import scipy

        versions += f" and of the ufuncs of scipy.special {_minor(scipy.__version__)}"
    return versions


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _public_callables() -> Iterator[tuple[str, str, Any]]:
    modules: dict[str, types.ModuleType] = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}
    if find_spec("scipy") is not None:
        from scipy import special

        modules["scipy.special"] = special
    for prefix, module in modules.items():
        for name in sorted(dir(module)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = getattr(module, name, None)
            if name.startswith("_") or not callable(found):
                continue
            if prefix != "scipy.special" or isinstance(found, np.ufunc):
                yield prefix, name, found


def _verdict(prefix: str, name: str, function: Any) -> tuple[str, str]:
    if isinstance(function, type) and issubclass(function, (np.generic, Exception)):
        return NO_ARRAY, "a type"
    if function in REFUSED:
        return REFUSAL, REFUSED[function]
    if function in functions.HANDLED:
        return _handled(functions.HANDLED[function])
    if function in RULES:
        return RULE, _note_on(RULES[function])
    if function in MUTATING:
        return CORE, "a mutating rule"
    if function in ZERO_PULL:
        return ZERO, ""
    if prefix == "np" and name in vars(bridge.numpy):
        return CREATION, "tracked arguments: `NoRuleError`" if _dispatches(function) else ""
    for module, names, verdict, note in BEYOND_DISPATCH:
        if module == prefix and name in names.split():
            return verdict, note
    return (NO_RULE, "") if isinstance(function, np.ufunc) or _dispatches(function) else (UNKNOWN, "")


def _dispatches(function: Any) -> bool:
    return hasattr(function, "_implementation")


def _handled(handler: Callable[..., Any]) -> tuple[str, str]:
    if handler.__name__.endswith("_like"):
        return CREATION, ""
    return (CORE, handler.__doc__.splitlines()[0]) if handler.__doc__ else (ZERO, "answers about shape")


def _note_on(rule: Rule) -> str:
    pulls = rule.per_argument or (rule.joint,)
    home = next(pull.__module__ for pull in pulls if pull is not None)
    if not home.startswith("bridge.rules."):
        return "by an equivalent in other functions"
    note = f"`{home.removeprefix('bridge.').replace('.', '/')}.py`"
    without = [f"`{rule.parameters[k]}`" for k, pull in enumerate(pulls) if pull is None]
    return (
        f"{note}; not with respect to {', '.join(without)}" if without and isinstance(rule.function, np.ufunc) else note
    )
