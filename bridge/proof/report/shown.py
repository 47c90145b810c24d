"""How reports and traces are shown: text, a rich table, HTML, JSON; each is imported when it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Shown:
    """The ways in which a `Report` or a `Trace` can be looked at."""

    def to_json(self, path: str | Path | None = None) -> str:
        """All of it as strict JSON with a version (docs/reports.md); written to `path` as well, if one is given."""
        from bridge.proof.report.json_form import to_json

        return _written(to_json(self), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """One self-contained page, which needs no network; written to `path` as well, if one is given.

        Raises BridgeError with the line to type if Jinja2 is not installed.
        """
        from bridge.proof.report.html import page

        return _written(page([self]), path)

    def _repr_html_(self) -> str:
        from bridge.proof.report.html import fragment

        return fragment(self)

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from bridge.proof.report.rendering import renderables

        yield from renderables(self)

    def __str__(self) -> str:
        """Tables if rich is installed, lines of text otherwise."""
        from bridge.proof.report.rendering import tables

        return tables(self)

    def __repr__(self) -> str:
        from bridge.proof.report.text import text_of

        return text_of(self)


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
