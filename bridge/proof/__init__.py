"""Proof: the same question to everybody who can differentiate, and who is wrong where the answers differ.

`subject` is what is proved, `generators` the random state that it draws from; `numerics` are derivatives as nobody's
rules give them, and what counts as equal. `rules` proves rules (`check_rule`), `programs` whole programs
(`check_gradient`, `crosscheck`), `blame` finds the operation that is wrong, `report` holds and shows what was found.
"""
