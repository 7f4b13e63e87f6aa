"""Progress bars of a scan, one a device, where a person looks on."""

import sys
import threading
from collections.abc import Sequence

from tqdm import tqdm

from esewatch.scan.plan import Lane


class Progress:
    """Bars on stderr when it is a terminal, else nothing. Used by the threads of all lanes."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._at: dict[tuple[str, ...], int] = {}
        self._bars = {
            lane.locks: tqdm(
                desc=lane.device or "files",
                total=sum(target.size for target in lane.targets),
                unit="B",
                unit_scale=True,
                unit_divisor=1024,
                file=sys.stderr,
                leave=False,
                position=at,
            )
            for at, lane in enumerate(lanes if sys.stderr.isatty() else ())
        }

    def begin(self, lane: Lane, offset: int) -> None:
        """The lane's next file begins; an earlier scan read what lies before `offset`."""
        with self._lock:
            self._at[lane.locks] = offset
            if bar := self._bars.get(lane.locks):
                # Progress, but not speed.
                bar.initial += offset
                bar.n += offset

    def reached(self, lane: Lane, offset: int) -> None:
        """The file of the lane was read up to `offset`."""
        with self._lock:
            if bar := self._bars.get(lane.locks):
                bar.update(offset - self._at[lane.locks])
            self._at[lane.locks] = offset

    def write(self, text: str, *, error: bool = False) -> None:
        """Print whole lines between the bars; after `close` nothing. Raises BrokenPipeError."""
        file = sys.stderr if error else sys.stdout
        with self._lock:
            if text and not self._closed:
                with tqdm.external_write_mode(file=file):
                    file.write(text)
                    file.flush()

    def close(self) -> None:
        """Take the bars away. A thread that hung in a read says nothing any more."""
        with self._lock:
            self._closed = True
            for bar in self._bars.values():
                bar.close()
