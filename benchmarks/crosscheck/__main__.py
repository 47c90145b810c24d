"""`python -m benchmarks.crosscheck --programs 1000`: false alarms among correct programs, misses among wrong rules."""

from __future__ import annotations

import argparse
from time import perf_counter

from benchmarks.crosscheck.figures import figures


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crosscheck", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="how many programs of each kind")
    parser.add_argument("--engines", default="native", help="engines to run, separated by commas")
    parser.add_argument("--show", action="store_true", help="print the programs that were judged wrongly")
    options = parser.parse_args()
    begin = perf_counter()
    found = figures(options.programs, tuple(options.engines.split(",")), print if options.show else None)
    print(found)
    print(f"{perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
