"""`python -m tests.yardstick run FILE` writes what every record gives; `compare BEFORE AFTER` tells two files apart.

Records are those of `records.py`: all recorded programs, random ones by their seeds, and the kernels of NPBench if a
checkout of it is named. A line of the file is one record under one engine. The tree must not change while it runs:
programs are read from their source when they are called.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

# Before NumPy: it says with how many threads OpenBLAS computes.
from tests.conftest import compile_quickly


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.yardstick", description=__doc__)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="write what every record gives to a file")
    running.set_defaults(command=run)
    running.add_argument("output", type=Path, metavar="FILE")
    running.add_argument("--npbench", type=Path, metavar="CHECKOUT", help="a checkout of spcl/npbench")
    running.add_argument("--seeds", type=int, default=300, help="of each grammar of random programs (300)")
    running.add_argument("--first", type=int, default=0, metavar="SEED", help="the seed to begin with")
    running.add_argument("--engines", default="native,xla", metavar="A,B", help="native,xla")
    running.add_argument("--jobs", type=int, default=1, help="processes")
    running.add_argument("--seconds", type=float, default=120.0, help="for each gradient or product (120)")
    running.add_argument("--resume", action="store_true", help="keep the lines of the file, and run what is not in it")
    comparing = commands.add_parser("compare", help="tell two files apart; exit code 1 if they differ")
    comparing.set_defaults(command=compare)
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    for one in (running, comparing):
        one.add_argument("--only", default="", metavar="PATTERN", help="records whose names match this expression")
    options = parser.parse_args(arguments)
    return options.command(options)


def run(options: argparse.Namespace) -> int:
    from tests.yardstick.comparing import read
    from tests.yardstick.records import records
    from tests.yardstick.running import PARTS, entries

    engines = options.engines.split(",")
    if "xla" in engines:
        compile_quickly()
        import jax  # noqa: F401  once for all forks: no thread starts before the first program runs
    done = read(options.output) if options.resume and options.output.exists() else {}
    seeds, counted, start = range(options.first, options.first + options.seeds), Counter[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        chosen = [one for one in records(Path(folder), seeds, options.npbench) if re.search(options.only, one.name)]
        twice = [name for name, count in Counter(one.name for one in chosen).items() if count > 1]
        if twice:
            raise SystemExit(f"records of one name: {', '.join(twice)}")
        asked = [
            (one, engine)
            for engine in engines
            for one in chosen
            if engine in (one.engines or engines) and (one.name, engine) not in done
        ]
        gc.freeze()
        # What is in the file is written again, without a line that was cut off.
        with options.output.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in done.values())
            for k, entry in enumerate(entries(asked, options.jobs, options.seconds), 1):
                file.write(json.dumps(entry) + "\n")
                file.flush()
                ends = [entry[part].get("error", next(iter(entry[part]))) for part in PARTS]
                counted.update(
                    ["varies"] if entry["varies"] else [f"{p}: {e}" for p, e in zip(PARTS, ends, strict=True)]
                )
                if k % 100 == 0 or k == len(asked):
                    print(f"{k} of {len(asked)} in {time.monotonic() - start:.0f} s", flush=True)
    print(*(f"{count:6} {end}" for end, count in counted.most_common()), sep="\n")
    return 0


def compare(options: argparse.Namespace) -> int:
    from tests.yardstick.comparing import told

    lines, code = told(options.before, options.after, options.only)
    print(*lines, sep="\n")
    return code


if __name__ == "__main__":
    # The order of a set of texts is the same in every run only if their hashes are.
    if "PYTHONHASHSEED" not in os.environ:
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, sys.orig_argv)
    sys.exit(main())
