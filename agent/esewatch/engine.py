"""`python -m esewatch.engine`: the bundled reference engine, which is part of `eselab`."""

import sys

from eselab.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
