"""Programs as they stand: a function is read from its source, and what it calls, stores and loads is followed.

`finding` has the source of a code object, `rewriting` makes of it what `reading` runs in its place: of its statements
that store in `storing`, of its `expressions`, with what `quiet` and `scopes` know of its names. `operations` is what
rewritten code calls back, `callees` says what is called for what, and `borrowing` lends arrays and objects to a
context.
"""
