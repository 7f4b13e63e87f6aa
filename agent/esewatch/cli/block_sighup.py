"""Blocks SIGHUP; imported before all else, so that a signal waits until the daemon can handle it.

Imports take some 100 ms, and the default action of SIGHUP is to end the process.
"""

import signal
import sys

if sys.platform != "win32" and sys.argv[1:2] == ["run"]:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
