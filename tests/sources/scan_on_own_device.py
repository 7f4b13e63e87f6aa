"""The scanning process as the daemon starts it, with all files on one device of a test's own.

    python -P scan_on_own_device.py DEVICE

On the machine's real devices it would wait for other scans there.
"""

import os
import sys

from esefiles.scans import child
from esefiles.scans.devices.topology import Topology


class OwnDevice(Topology):
    """Every file lies on the device of the command line."""

    def devices_of(self, path: str) -> frozenset[str]:
        """See Topology."""
        return frozenset({sys.argv[1]})


if __name__ == "__main__":
    child.Topology = OwnDevice  # type: ignore[attr-defined]
    os._exit(child.main())
