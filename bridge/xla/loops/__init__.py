"""`fori_loop`, `while_loop` and `cond` of a compiled program, at every level of nesting, and their way back."""
