"""The shell commands: `python -m bridge check`, `demo`, `doctor`, `julia` and `coverage`."""

import bridge

if not hasattr(bridge, "value_and_grad"):
    raise SystemExit(
        f"the package named bridge in {bridge.__file__} is not mutation-bridge's: "
        "another distribution, like bridge-ds, has "
        "installed its own over it\n  remedy: find that one with `python -m pip list`, uninstall it, then "
        "`python -m pip install --force-reinstall mutation-bridge`"
    )

from bridge.cli.commands import main as main
