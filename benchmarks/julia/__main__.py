"""`python -m benchmarks.julia [--quick]`: calls from Python, then Buffers against other systems of Julia's.

Among the calls are functions that write plain arrays, which Mooncake differentiates.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bridge
from benchmarks.julia import automatic, calls


def main() -> None:
    """Print all tables."""
    quick = "--quick" in sys.argv[1:]
    calls.main()
    print(flush=True)
    automatic.main()
    print(flush=True)
    bridge.julia.eval('push!(empty!(ARGS), "--quick")' if quick else "empty!(ARGS)")
    bridge.julia.include(Path(__file__).with_name("run.jl"))


if __name__ == "__main__":
    main()
