"""`python -m csc_nb` is the command `csc-nb`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
