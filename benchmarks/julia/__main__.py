"""`python -m benchmarks.julia [--quick]`: from Python first gradients and calls, then Buffers against other systems.

Among the calls are functions that write plain arrays, which Mooncake differentiates. All other systems are Julia's.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bridge
from benchmarks.julia import automatic, calls, first


def main() -> None:
    """Print all tables."""
    quick = "--quick" in sys.argv[1:]
    first.main(1 if quick else 5)
    print(flush=True)
    calls.main()
    print(flush=True)
    automatic.main()
    print(flush=True)
    bridge.julia.eval('push!(empty!(ARGS), "--quick")' if quick else "empty!(ARGS)")
    bridge.julia.include(Path(__file__).with_name("run.jl"))


if __name__ == "__main__":
    main()
