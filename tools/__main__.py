"""`python -m hlograph.tools`: the command line of this interpreter's environment."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
