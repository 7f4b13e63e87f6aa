"""`python -m esewatch`."""

import sys

from esewatch.cli import main

if __name__ == "__main__":
    sys.exit(main())
