"""The readers themselves: their tests are left out where Python is too new for them."""

from importlib.util import find_spec

collect_ignore = (
    []
    if find_spec("pyesedb") and find_spec("dissect")
    else ["test_readers.py", "test_readers_kill.py", "test_table.py"]
)
