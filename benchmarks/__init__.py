"""Speed and memory of `bridge` against its peers: `python -m benchmarks`."""
