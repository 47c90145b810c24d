"""`python -m tests.faults COUNT`: exceptions at the points of COUNT programs; points tried, and violations.

Points are chosen by their kinds: each kind of entry and of event, forward and backward, with each exception as often as
the others, as far as the programs have them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
import warnings
from contextlib import suppress

from tests.faults.dealing import ByKind, Evenly
from tests.faults.subjects import chosen
from tests.faults.trial import Trial


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("count", type=int, help="how many programs")
    parser.add_argument("--points", type=int, default=60, metavar="MOST", help="of each program and transform (60)")
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="the program to begin with")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of points")
    parser.add_argument("--evenly", action="store_true", help="points at equal distances, and not by their kinds")
    parser.add_argument("--compiled", action="store_true", help="faults in compiled calls")
    parser.add_argument("--least", type=int, default=50, help="of a kind of point with one exception (50)")
    options = parser.parse_args()
    dealer = Evenly(options.seed) if options.evenly else ByKind(options.seed)
    trial = _compiled_trial() if options.compiled else Trial
    tried = left_out = refused = violations = ran = 0
    unfit: list[str] = []
    start = time.monotonic()
    with suppress(KeyboardInterrupt), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, subject in enumerate(chosen(options.count)[options.first :], options.first):
            with contextlib.redirect_stdout(io.StringIO()):
                verdict = trial(subject, options.points, dealer).run()
            ran, tried, left_out = ran + 1, tried + verdict.tried, left_out + verdict.left_out
            refused += verdict.refused
            violations += len(verdict.violations)
            unfit += [f"{subject}: {one}" for one in verdict.unfit]
            for one in verdict.violations:
                print(f"program {number}: {one}", flush=True)
            if ran % 10 == 0:
                took = time.monotonic() - start
                print(f"{ran} programs, {tried} points tried, {violations} violations, {took:.0f} s", flush=True)
    for one in unfit:
        print(f"not tried: {one}")
    print(f"{ran} programs, {tried} points tried, {left_out} left out, {refused} later pulls refused by name")
    if isinstance(dealer, ByKind):
        print(*dealer.told(options.least), sep="\n")
    print(f"{violations} violations")
    return 1 if violations else 0


def _compiled_trial() -> type[Trial]:
    from tests.conftest import compile_quickly

    compile_quickly()
    from tests.faults.compiling import CompiledTrial

    return CompiledTrial


if __name__ == "__main__":
    sys.exit(main())
