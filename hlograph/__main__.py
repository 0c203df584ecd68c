"""`python -m hlograph`: the command line of this interpreter's environment."""

import sys

from .tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
