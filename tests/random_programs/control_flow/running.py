"""Running the random program of a seed, and shrinking it if it fails."""

from __future__ import annotations

from pathlib import Path

from tests.random_programs.control_flow.blocks import program as program_of
from tests.random_programs.control_flow.program import Program
from tests.random_programs.control_flow.shrinking import smallest
from tests.random_programs.control_flow.verdict import DIFFERS, UNFIT, UNNAMED, Verdict, judged

FAILURES = (DIFFERS, UNNAMED)
SLOPES = 5
"""Forward mode is asked of one in so many programs."""


def run(seed: int, folder: Path, longest: int, shrink: float) -> tuple[Program | None, Verdict]:
    """The program, made small in `shrink` seconds if it fails, and how it ended; None if plain Python refuses it."""
    program, slopes = program_of(seed), seed % SLOPES == 0
    verdict = judged(program, folder, longest, slopes)
    if verdict.kind == UNFIT:
        return None, verdict
    if verdict.kind in FAILURES and shrink:

        def fails(candidate: Program) -> bool:
            found = judged(candidate, folder, longest, slopes)
            return (found.kind, found.what) == (verdict.kind, verdict.what)

        program = smallest(program, fails, shrink)
        verdict = judged(program, folder, longest, slopes)
    return program, verdict


def described(program: Program, verdict: Verdict) -> str:
    """What is told of a program that fails."""
    return (
        f"seed {program.seed}, size {program.size}: {verdict.kind}, {verdict.what}\n{verdict.detail}\n\n{program.text}"
    )
