"""`python -m csc_nb` is the command `csc-nb`."""

from .cli import main

if __name__ == "__main__":
    main()
