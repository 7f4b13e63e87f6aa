"""TCP ports for servers that tests start."""

import itertools
import os
import socket

FIRST, LAST = 20000, 32000
"""Below the ports that Linux gives to clients (ip_local_port_range from 32768): a port that is
free here is not taken by a connection of another test before its server listens, nor while an
agent that was killed starts again.
"""

_next = itertools.count(os.getpid() * 97)


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on, and none that this process was given before.

    Processes side by side begin at different places. Raises RuntimeError without a free one.
    """
    for number in itertools.islice(_next, LAST - FIRST):
        port = FIRST + number % (LAST - FIRST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"no free port from {FIRST} to {LAST}")


def free_address() -> str:
    """`127.0.0.1:port` with a free port."""
    return f"127.0.0.1:{free_port()}"
