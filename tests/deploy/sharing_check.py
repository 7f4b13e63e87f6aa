"""What a program of Windows may do with a file that esewatch reads, as JSON.

`python sharing_check.py FOLDER` reads a log and a database there, and tries to rename, write and
delete both; then it opens a database that another program holds for itself.
"""

import ctypes
import json
import sys
from collections.abc import Callable
from pathlib import Path

from esefiles.base.shared_file import open_shared
from esefiles.scans.open_errors import why_not_opened
from esewatch.sources.files.raw_file import open_raw

assert sys.platform == "win32"

GENERIC_WRITE, OPEN_EXISTING = 0x40000000, 3


def tried(what: Callable[[], object]) -> str:
    """`done`, or the error."""
    try:
        what()
    except OSError as error:
        return repr(error)
    return "done"


folder = Path(sys.argv[1])
file, renamed, held = folder / "a.log", folder / "b.log", folder / "held.edb"
file.write_bytes(b"one\r\n\x1atwo")
held.write_bytes(b"")
raw = open_raw(str(file))
found = {"read": raw.read(100).decode(), "rename": tried(lambda: file.rename(renamed))}
with renamed.open("ab") as more:
    more.write(b"three")
found["read on"] = raw.read(100).decode()
found["delete"] = tried(renamed.unlink)

create = ctypes.WinDLL("kernel32").CreateFileW
create.restype = ctypes.c_void_p
create(str(held), GENERIC_WRITE, 0, None, OPEN_EXISTING, 0, None)
for name, path in (("held", held), ("absent", folder / "absent.edb"), ("a folder", folder)):
    try:
        open_shared(str(path), 0)
    except OSError as error:
        found[name] = why_not_opened(path.name, error)
print(json.dumps(found))
