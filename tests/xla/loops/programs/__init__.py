"""Programs whose loops and branches are Python's, as people write them; compiled, they must be what they are."""

from tests.xla.loops.programs import aliases, found, functions, jumps, numbers, rebinding, state, unseen

PROGRAMS = [
    one
    for family in (aliases, found, functions, jumps, numbers, rebinding, state, unseen)
    for one in family.program.programs
]
