"""`python -m benchmarks.gradbench`: a tool for GradBench; with `run CHECKOUT`, a run of GradBench's evals."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main(arguments: Sequence[str]) -> int:
    """Run the evals of a checkout, or answer messages on standard input until it ends."""
    if arguments[:1] == ["run"]:
        from benchmarks.gradbench import running

        return running.main(arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradbench", description=__doc__)
    parser.add_argument("--engine", choices=("native", "xla"), default="native", help="eager, or compiled (native)")
    parser.add_argument("--multithreaded", action="store_true", help="use all processors, not only one")
    options = parser.parse_args(arguments)
    if not options.multithreaded:
        alone()
    from benchmarks.gradbench.evaluation import Runner
    from benchmarks.gradbench.protocol import responses

    try:
        for line in responses(sys.stdin, Runner(options.engine)):
            print(line, flush=True)
    except BrokenPipeError:
        # Nobody reads any more: standard output is not to be flushed into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def alone() -> None:
    """Before NumPy and XLA are imported: one processor, one thread of BLAS, pools of XLA of one thread."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
