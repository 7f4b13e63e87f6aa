"""What the compiled reader of records says of a chunk: run by the Pythons of two systems.

`python records_check.py FILE` prints it; FILE is a pickle of its arguments.
"""

import pickle
import sys
from pathlib import Path

from esewatch.sources.evtx import _records

if __name__ == "__main__":
    print(ascii(_records.alike(*pickle.loads(Path(sys.argv[1]).read_bytes()))))
