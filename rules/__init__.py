"""The rule book: one family of operations a file, each with its cases beside it."""
