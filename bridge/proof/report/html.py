"""Reports and traces as HTML: one self-contained page, and a fragment for notebooks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bridge.errors import BridgeError, printable
from bridge.proof.report import text
from bridge.proof.report.model import Report, Timeline
from bridge.proof.report.payload import payload

TEMPLATES = Path(__file__).parent / "templates"
IN_A_CELL = 2_000
"""How many operations a page may hold that comes along in a notebook's cell; of longer programs the tables do."""
MOST_MEMORY = 200
"""How many pieces of memory the page lists; the timeline shows them all."""


def page(shown: Sequence[Any], titles: Sequence[str] | None = None, heading: str | None = None) -> str:
    """One page about some reports or traces, which needs no network.

    Parameters
    ----------
    shown : reports and traces; none only if there is a heading.
    titles : what each is called, such as the test that made it; the programs' names if left out.
    heading : the title of the page.
    """
    sections = [_section(one, titles[k] if titles else None) for k, one in enumerate(shown)]
    if heading is None:
        heading = f"{sections[0]['kind']} of {sections[0]['shown'].program}"
    return str(_environment().get_template("page.html").render(sections=sections, heading=heading, most=MOST_MEMORY))


def _section(shown: Any, title: str | None) -> dict[str, Any]:
    """What the templates need of one report or trace."""
    shown, title = text.readable(shown), None if title is None else printable(title, lines=False)
    is_report = isinstance(shown, Report)
    called = f"{shown.program}({shown.arguments})" if is_report else shown.program
    return {
        "shown": shown,
        "kind": "crosscheck" if is_report else "trace",
        "title": title or called,
        "called": called if title else "",
        "data": _script_safe(_data(shown)),
        "memory": [] if shown.timeline is None else shown.timeline.memory[:MOST_MEMORY],
    }


def _data(shown: Any) -> dict[str, Any] | None:
    differences = shown.differences if isinstance(shown, Report) else ()
    return None if shown.timeline is None else payload(shown.timeline, differences)


def _script_safe(data: Any) -> str:
    """JSON that cannot end the script element that holds it."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise BridgeError(
            "pages need Jinja2, which is not installed",
            remedy='pip install "mutation-bridge[report]"; str(report) and report.to_json() work without',
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["text"] = text
    return environment


_CELL = 'style="text-align:left;vertical-align:top;padding:2px 10px 2px 0"'


def fragment(shown: Any) -> str:
    """A report or a trace in a notebook's cell: tables without a script, and the page to be opened below them.

    A notebook that is not trusted, or is shown by a site that takes frames out, has the tables.
    """
    shown = text.readable(shown)
    if isinstance(shown, Report):
        mark = "✓" if shown.ok else "✗"
        heading = f"{mark} crosscheck of {shown.program}({shown.arguments}): {text.verdict(shown)}"
        differences = [[str(k), *_difference_cells(one)] for k, one in enumerate(shown.differences, 1)]
        runs = [[run.engine, text.run_text(run), text.short(run.value)] for run in shown.runs]
        parts = [
            table(
                ["no.", "kind", "engines", "what", "relative difference", "operation", "where", "found / expected"],
                differences,
            ),
            table(["engine", "status", "value"], runs),
            *(f"<p>noted: {escape(remark)}</p>" for remark in shown.remarks),
        ]
    else:
        heading = f"trace of {shown.program}: {text.counts(shown.timeline)}"
        first, left_out, last = text.chosen(shown.timeline)
        rows = [_operation_cells(one, shown.timeline) for one in first]
        if left_out:
            rows.append(["…", f"{left_out:,} more: .to_html(path) shows them all", "", "", "", ""])
        rows += [_operation_cells(one, shown.timeline) for one in last]
        parts = [table(["no.", "operation", "where", "reads", "writes", "memory"], rows)]
    return f"<div><p><strong>{escape(heading)}</strong></p>{''.join(parts)}{_page_below(shown)}</div>"


def _page_below(shown: Any) -> str:
    """The page in a frame that loads when it is opened; nothing where there is no timeline, or a very long one."""
    if shown.timeline is None or not 0 < len(shown.timeline.operations) <= IN_A_CELL or not _has_templates():
        return ""
    content = f'title="{escape(shown.program)}" srcdoc="{escape(page([shown]))}"'
    return f"<details><summary>Timeline and operations</summary><iframe {_FRAME} {content}></iframe></details>"


_FRAME = 'loading="lazy" sandbox="allow-scripts" style="width:100%;height:44em;border:1px solid #8886"'


def _has_templates() -> bool:
    return find_spec("jinja2") is not None


def _difference_cells(one: Any) -> list[str]:
    kind = f"{text.MARKS[one.kind]} {one.kind}"
    values = f"{one.found} / {one.expected}"
    engines = f"{', '.join(one.suspects)} / {one.engines[1]}"
    return [kind, engines, one.what, text.number(one.largest), one.name, text.place(one.where), values]


def _operation_cells(operation: Any, timeline: Timeline) -> list[str]:
    reads, writes = (
        "; ".join(text.region_text(region, timeline) for region in side) for side in (operation.reads, operation.writes)
    )
    place = text.place(operation.where)
    return [str(operation.number), operation.name, place, reads, writes, ", ".join(text.notes(operation, timeline))]


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A table of texts, which are escaped; nothing without rows."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col" {_CELL}>{escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(f'<td {_CELL}>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
