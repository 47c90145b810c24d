"""The shell commands: `python -m bridge check`, `demo`, `doctor`, `julia` and `coverage`."""

from bridge.cli.commands import main as main
