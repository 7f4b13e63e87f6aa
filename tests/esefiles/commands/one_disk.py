"""`python -m tests.esefiles.commands.one_disk scan …`: on disks that no other process scans.

Locks of devices hold on the whole machine; a test must not wait for what else is scanned.
"""

import os
import sys
import time
from pathlib import Path

from esefiles import page_scan
from esewatch.cli import main


class OneDisk:
    """Stands for the topology: each folder lies on a disk of its own, of this process alone."""

    def __init__(self) -> None:
        self._name = f"disk of {os.getpid()} {time.monotonic_ns()}"

    def devices_of(self, path: str) -> frozenset[str]:
        """One disk."""
        return frozenset({f"{self._name} {Path(path).parent.name}"})

    def named(self, name: str) -> frozenset[str]:
        """The name itself."""
        return frozenset({name})


if __name__ == "__main__":
    vars(page_scan)["Topology"] = OneDisk
    sys.exit(main())
