"""Queue of reloaded settings, from the thread that read them to the loop that applies them."""

import threading
import time
from collections.abc import Callable

from esewatch.config.settings import Settings
from esewatch.model import EsewatchError

LOOK_SECONDS = 0.05


class ReloadQueue:
    """A queue of one entry, for one producer and one consumer; after `close` it refuses
    everybody."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._giver = threading.Lock()
        self._settings: Settings | None = None
        self._answer = threading.Event()
        self._error: EsewatchError | None = None
        self._closed = False

    @property
    def waiting(self) -> bool:
        return self._settings is not None

    def give(self, load: Callable[[], Settings], seconds: float) -> None:
        """Load settings, hand them over and wait until they are in use.

        One reload at a time: the last to load is the last in use. Raises EsewatchError: that of
        `load`, the reason of the consumer, or that nobody took them, or the reload before did not
        end, in `seconds`.
        """
        if not self._giver.acquire(timeout=seconds):
            raise EsewatchError(
                f"the reload before did not end within {seconds:g} s; try again later"
            )
        try:
            self._hand_over(load(), seconds)
        finally:
            self._giver.release()

    def _hand_over(self, settings: Settings, seconds: float) -> None:
        self._answer.clear()
        self._settings = settings
        end = time.monotonic() + seconds
        while not self._answer.wait(LOOK_SECONDS):
            with self._lock:
                late = self._closed or time.monotonic() > end
                if late and self._settings is not None:
                    self._settings = None
                    raise EsewatchError(
                        "esewatch is being stopped"
                        if self._closed
                        else f"a source did not pause within {seconds:g} s; try again later"
                    )
        if self._error is not None:
            raise self._error

    def take(self) -> Settings | None:
        """Take the waiting settings, None without any. Each must be answered."""
        with self._lock:
            settings, self._settings = self._settings, None
        return settings

    def answer(self, error: EsewatchError | None) -> None:
        """Answer that the taken settings are in use, or are refused because of `error`."""
        self._error = error
        self._answer.set()

    def close(self) -> None:
        """Refuse all settings from now on."""
        self._closed = True
