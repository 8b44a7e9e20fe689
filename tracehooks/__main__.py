"""``python -m tracehooks``: the command line."""

import sys

from tracehooks.cli import main

if __name__ == "__main__":
    sys.exit(main())
