"""`python -m bridge`: the commands of `bridge.cli`."""

import sys

from bridge.cli.commands import main

if __name__ == "__main__":
    sys.exit(main())
