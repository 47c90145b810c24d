"""Cross-checking: one program under every engine, and the operation to blame where answers differ."""
