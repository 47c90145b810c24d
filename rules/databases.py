"""What goes into a database: a tracked number would lose its gradient there, or not go in at all."""

from __future__ import annotations

from typing import Any

from bridge.extend import needs, refuse, stand_in

sqlite3 = needs("sqlite3")


@stand_in(
    sqlite3.Connection.execute,
    sqlite3.Connection.executemany,
    sqlite3.Cursor.execute,
    sqlite3.Cursor.executemany,
)
def execute(*args: Any, **kwargs: Any) -> Any:
    refuse("sqlite3 is given a tracked number", "give it the plain value: bridge.detach(x)")
