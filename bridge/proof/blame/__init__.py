"""Which operation is to blame where answers differ."""
