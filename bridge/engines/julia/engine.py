"""The engine "julia": for every operation of the log, the pull of the Julia function that `rules/*.jl` names for it.

Arrays enter Julia with their axes reversed, so that memory is shared; cotangents are written by Julia into arrays
that Python allocates. Functions whose native rule is a composition of others run that composition under this
engine, unless the table has an entry for them. The table is read as text: what it names is known without Julia.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from bridge.engines.julia.exchange import Row
from bridge.engines.julia.rules import ComposedRule, JuliaRule, checked_values, message_of
from bridge.engines.protocol import AskingContext, Column, Engine, EngineRule, Health
from bridge.errors import ArgumentError, JuliaNotAvailable, RuleError
from bridge.julia.discovery import discover
from bridge.julia.session import Session, session
from bridge.julia.status import status
from bridge.rulebook.rule import Rule
from bridge.signatures import operation_name


def load_rules(path: str | Path) -> None:
    """Add a file of entries `@numpy np.f(x) = ...` or `@elementwise ...` to the table; they replace those of its name.

    Names are those of messages: `np.linalg.solve`, `scipy.special.erf`, `mymodule.f`. Starts Julia.
    """
    path = Path(path).resolve()
    if not path.is_file():
        raise ArgumentError(f"there is no file {path}", remedy="give the path of a file of @numpy entries")
    ENGINE.started().load(path)
    add(path)


def forward_by_pulls() -> dict[str, str]:
    """The operations for which forward mode took a pull for each element, when they ran last, and why. Starts Julia."""
    return ENGINE.forward_by_pulls()


_REMARK = """\
With `engine="julia"` the pulls of {count} of these functions come from ChainRules and Zygote; the column Julia
names the file that says what a function is in Julia. The others raise `NoRuleError` there. Writes, views and
functions without a derivative are the core's, and work under every engine."""


class Julia(Engine):
    """ChainRules and Zygote, through the table."""

    name = "julia"
    fills_gaps = True
    column = Column("Julia", _REMARK)

    def __init__(self) -> None:
        self._module: Any = None
        self._lock = Lock()
        self._rows: dict[str, Row] = {}
        self._rules: dict[Rule | str, EngineRule | None] = {}
        self._absent: dict[str, str] = {}

    def started(self) -> Julia:
        """The engine itself, with Julia running and its table read."""
        if self._module is None:
            running = session()
            with self._lock:
                if self._module is None:
                    running.perform(self._read_table, running)
        return self

    def _read_table(self, running: Session) -> None:
        module = running.package.NumPy
        for path in files():
            if not packages(path):
                module.load(str(path))
        self._module = module
        self._read_rows()

    def load(self, path: Path) -> None:
        """Read one more file of entries."""
        try:
            session().perform(self._read_file, path)
        except Exception as error:
            raise RuleError(f"{path} is no table of Julia functions: {message_of(error)}") from error

    def _read_file(self, path: Path) -> None:
        self._module.load(str(path))
        self._read_rows()

    def _read_rows(self) -> None:
        self._rows = {str(row[0]): Row.of(row) for row in self._module.rows()}
        # A new one: another thread may be looking into the old.
        self._rules = {}

    def rows(self) -> dict[str, Row]:
        """The entries of the table by the names of their operations."""
        for path in files():
            if packages(path):
                self._load_optional(path)
        return dict(self._rows)

    def forward_by_pulls(self) -> dict[str, str]:
        """See the function of this name."""
        module = self.started()._module
        return session().perform(lambda: {str(name): str(why) for name, why in module.BY_PULLS.items()})

    def how_to_add(self, name: str) -> str:
        """The end of a remedy: how `name` gets an entry."""
        if name in self._absent:
            return f"add the Julia package that it needs: {self._absent[name]}"
        return (
            f"write what it is in Julia, `@numpy {name}(x) = ...`, in a file, "
            "and read it with bridge.engines.julia.load_rules"
        )

    def rule(self, function: Any, native: Rule | None) -> Rule | None:
        """The rule of a function: by its entry, else by its composition of functions that have entries."""
        key: Rule | str = operation_name(function) if native is None else native
        rules = self._rules
        if key not in rules:
            rules[key] = self._made(function, native)
        return rules[key]

    def _made(self, function: Any, native: Rule | None) -> EngineRule | None:
        name = operation_name(function) if native is None else native.name
        if name not in self._rows and name in entries():
            self._load_optional(entries()[name], name)
        row = self._rows.get(name)
        if row is not None:
            return JuliaRule(function, name, native, row, self._module)
        if native is not None and hasattr(native.joint, "equivalent"):
            return ComposedRule(function, name, native, lambda: AskingContext(self, zeros="ieee"))
        return None

    def _load_optional(self, path: Path, name: str = "") -> None:
        """Read a file whose Julia packages may be missing."""
        if any(row.file == path.name for row in self._rows.values()):
            return
        try:
            for package in packages(path):
                session().require(package)
        except JuliaNotAvailable as error:
            self._absent[name] = str(error.remedy)
            return
        session().perform(self._read_file, path)

    def knows(self, function: Any) -> bool:
        """Whether the table has an entry for it."""
        return operation_name(function) in entries()

    def missing(self) -> str:
        """Why there is no Julia to use."""
        if find_spec("juliacall") is None:
            return 'juliacall is not installed: pip install "mutation-bridge[julia]"'
        try:
            found = discover()
        except JuliaNotAvailable as error:
            return error.what
        if found.how == "running" or found.exe is not None:
            return ""
        return "no Julia is set up: bridge.julia.setup()"

    def check(self) -> None:
        """Raise nothing: the session that a context starts says more of what is wrong."""

    def comparing_values(self) -> AbstractContextManager[None]:
        """Inside, each pull compares the Julia function's value with NumPy's."""
        return checked_values()

    def coverage(self, function: Any, native: Rule | None) -> str:
        """The file of the rule book that names a function, or that a composition of others stands for it."""
        path = entries().get(operation_name(function) if native is None else native.name)
        if path is not None and path.parent.name == "rules":
            return f"`rules/{path.name}`"
        return "by its parts" if native is not None and hasattr(native.joint, "equivalent") else ""

    def health(self) -> Health:
        """Which Julia there is, or the line to type."""
        return Health("Julia", str(status()).splitlines(), works=True)


ENGINE = Julia()


_ENTRY = re.compile(r"^\s*@(?:numpy|elementwise|same)\s+(?:function\s+)?(\w+(?:\.\w+)+)", re.MULTILINE)
_LOADED = re.compile(r"\bloaded\(\"(\w+)\"\)")
# A user's files, with what they said when they were read: they may be gone by now.
_added: dict[Path, str] = {}


def files() -> list[Path]:
    """The files of the table, in the order in which they are read."""
    folders = [Path(folder) for folder in import_module("bridge.rules").__path__]
    return [*sorted(path for folder in folders for path in folder.glob("*.jl")), *_added]


@cache
def entries() -> dict[str, Path]:
    """The names of the operations, and the file that says what each is in Julia."""
    return {name: path for path in files() for name in _ENTRY.findall(_text(path))}


@cache
def packages(path: Path) -> tuple[str, ...]:
    """The packages beside those of a session that a file needs: it takes each by `loaded("FFTW")`."""
    return tuple(_LOADED.findall(_text(path)))


def _text(path: Path) -> str:
    return _added[path] if path in _added else path.read_text(encoding="utf-8")


def add(path: Path) -> None:
    """Count a user's file, as it is now, as part of the table."""
    _added[path] = path.read_text(encoding="utf-8")
    entries.cache_clear()
    packages.cache_clear()
