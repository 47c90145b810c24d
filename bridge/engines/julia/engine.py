"""The engine "julia": for every operation of the log, the pull of the Julia function that `rules/*.jl` names for it.

Arrays enter Julia with their axes reversed, so that memory is shared; cotangents are written by Julia into arrays
that Python allocates. Functions whose native rule is a composition of others run that composition under this
engine, unless the table has an entry for them.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

from bridge.calls import operation_name
from bridge.engines.asking import AskingContext
from bridge.engines.julia.arrangement import Row
from bridge.engines.julia.rules import ComposedRule, JuliaRule, checked_values, message_of
from bridge.engines.julia.table import NEEDS, add, files
from bridge.engines.protocol import Engine, EngineRule
from bridge.errors import ArgumentError, JuliaNotAvailable, RuleError
from bridge.rewind.rule import Rule

__all__ = ["ENGINE", "Julia", "checked_values", "load_rules"]


def load_rules(path: str | Path) -> None:
    """Add a file of entries `@numpy np.f(x) = ...` or `@elementwise ...` to the table; they replace those of its name.

    Names are those of messages: `np.linalg.solve`, `scipy.special.erf`, `mymodule.f`. Starts Julia.
    """
    path = Path(path)
    if not path.is_file():
        raise ArgumentError(f"there is no file {path}", remedy="give the path of a file of @numpy entries")
    ENGINE.started().load(path)
    add(path)


class Julia(Engine):
    """ChainRules and Zygote, through the table."""

    name = "julia"

    def __init__(self) -> None:
        self._module: Any = None
        self._lock = Lock()
        self._rows: dict[str, Row] = {}
        self._rules: dict[Rule | str, EngineRule | None] = {}
        self._absent: dict[str, str] = {}

    def started(self) -> Julia:
        """The engine itself, with Julia running and its table read."""
        if self._module is None:
            from bridge.julia.session import session

            running = session()
            with self._lock:
                if self._module is None:
                    running.perform(self._read_table, running)
        return self

    def _read_table(self, running: Any) -> None:
        module = running.package.NumPy
        for path in files():
            if path.stem not in NEEDS:
                module.load(str(path))
        self._module = module
        self._read_rows()

    def load(self, path: Path) -> None:
        """Read one more file of entries."""
        from bridge.julia.session import session

        try:
            session().perform(self._read_file, path)
        except Exception as error:
            raise RuleError(f"{path} is no table of Julia functions: {message_of(error)}") from error

    def _read_file(self, path: Path) -> None:
        self._module.load(str(path))
        self._read_rows()

    def _read_rows(self) -> None:
        self._rows = {str(row[0]): Row.of(row) for row in self._module.rows()}
        self._rules.clear()

    def rows(self) -> dict[str, Row]:
        """The entries of the table by the names of their operations."""
        for family in NEEDS:
            self._load_optional(family)
        return dict(self._rows)

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
        if key not in self._rules:
            self._rules[key] = self._made(function, native)
        return self._rules[key]

    def _made(self, function: Any, native: Rule | None) -> EngineRule | None:
        name = operation_name(function) if native is None else native.name
        if name.startswith("np.fft."):
            self._load_optional("fft", name)
        row = self._rows.get(name)
        if row is not None:
            return JuliaRule(function, name, native, row, self._module)
        if native is not None and hasattr(native.joint, "equivalent"):
            return ComposedRule(function, name, native, lambda: AskingContext(self, zeros="ieee"))
        return None

    def _load_optional(self, family: str, name: str = "") -> None:
        """Read a file whose Julia package may be missing."""
        path = next(path for path in files() if path.stem == family)
        if any(row.file == path.name for row in self._rows.values()):
            return
        from bridge.julia.session import session

        try:
            session().require(NEEDS[family])
        except JuliaNotAvailable as error:
            self._absent[name] = str(error.remedy)
            return
        session().perform(self._read_file, path)


ENGINE = Julia()
