"""A network namespace of its own, joined to this one by a cable that can be pulled."""

import os
import shutil
import subprocess
from types import TracebackType

from tests.support.tools import skip

HERE, THERE = "10.211.77.1", "10.211.77.2"


class Namespace:
    """As a context it is there: `HERE` and `THERE` reach each other.

    Skips the test where no namespace can be made.
    """

    name = "esewatch-far"
    _near, _far = "esewatch-v0", "esewatch-v1"

    def __enter__(self) -> "Namespace":
        if os.name == "nt" or os.geteuid() != 0 or shutil.which("ip") is None:
            skip("a network namespace needs root and `ip` (apt-get install iproute2)", {"netns"})
        # One that a killed run left would look as if none could be made.
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, check=False)
        made = subprocess.run(
            ["ip", "netns", "add", self.name], capture_output=True, text=True, check=False
        )
        if made.returncode != 0:
            skip(f"no network namespace can be made here: {made.stderr.strip()}", {"netns"})
        try:
            _ip("link", "add", self._near, "type", "veth", "peer", "name", self._far)
            _ip("link", "set", self._far, "netns", self.name)
            _ip("addr", "add", f"{HERE}/24", "dev", self._near)
            self._inside("addr", "add", f"{THERE}/24", "dev", self._far)
            self._inside("link", "set", "lo", "up")
            self._inside("link", "set", self._far, "up")
            self.plug_in()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The pair of devices goes with the namespace that one of them is in.
        _ip("netns", "del", self.name)

    def plug_in(self) -> None:
        """Let packets through."""
        _ip("link", "set", self._near, "up")

    def pull_out(self) -> None:
        """Lose every packet, as when a cable is pulled: no connection is closed."""
        _ip("link", "set", self._near, "down")

    def command(self, *words: str) -> list[str]:
        """How a program is started inside."""
        return ["ip", "netns", "exec", self.name, *words]

    def _inside(self, *words: str) -> None:
        _ip("-netns", self.name, *words)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
