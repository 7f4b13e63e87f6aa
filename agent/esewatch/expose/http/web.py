"""The web configuration in use: reloaded when one of its files changes.

An invalid change is one line in the log and a metric; the previous configuration stays in use.
"""

import logging
import time
from collections.abc import Mapping
from pathlib import Path

from esewatch.config.web import WebSettings, load_web
from esewatch.expose.http.logins import Logins, bcrypt_check
from esewatch.expose.http.tls import Tls, tls_of
from esewatch.model import ConfigError

log = logging.getLogger(__name__)

Stamp = tuple[tuple[int, ...], ...]
"""Inode, size, mtime and ctime of each file; zeros where it is missing.

The ctime shows corrected permissions, and a file that kept its mtime.
"""


class WebConfiguration:
    """The current settings of `path`. Raises ConfigError when they are wrong at first.

    `admit` and `tls` are for the server's event loop; the rest may be asked by any thread.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._logins = Logins()
        self._settings = WebSettings()  # guards nothing: any file may be the first
        self._files = [self._path]
        self._take_up()

    def _take_up(self) -> None:
        """Load the settings. Raises ConfigError before anything has changed."""
        # The signature is taken before the reading: a change meanwhile is seen by the next check.
        self._stamp = _look(self._files)
        settings = load_web(self._path)
        self._files = [self._path, *settings.files()]
        self._stamp = self._stamp[:1] + _look(self._files[1:])
        _refuse_opening(self._path, self._settings, settings)
        try:
            tls = tls_of(settings.tls) if settings.tls is not None else None
            check = bcrypt_check() if settings.users else None
        except ConfigError as error:
            raise ConfigError(f"{self._path}: {error}") from error
        self._settings, self._tls, self._check = settings, tls, check
        self._headers = settings.http.headers.set()
        self.successful, self.taken_up = True, time.time()
        if settings.http.http2:
            log.info("%s: http2 is ignored: HTTP/1.1 is served", self._path)

    @property
    def secure(self) -> bool:
        """True if new connections are TLS."""
        return self._tls is not None

    @property
    def asks_for_passwords(self) -> bool:
        """True if there are users."""
        return self._check is not None

    def tls(self) -> Tls | None:
        """TLS settings of a new connection; None: plain HTTP."""
        self._renew()
        return self._tls

    def add_headers(self, headers: dict[str, str]) -> None:
        """Add those of `http_server_config`. Of two content policies both hold."""
        for name, text in self._headers.items():
            known = headers.get(name)
            joined = known is not None and name == "content-security-policy"
            headers[name] = f"{known}, {text}" if joined else text

    async def admit(self, headers: Mapping[str, str], client: str) -> None:
        """Return when a request with these headers may be answered; else RefusedError."""
        self._renew()
        if self._check is not None:
            users = self._settings.users
            await self._logins.admit(headers.get("authorization", ""), client, users, self._check)

    def _renew(self) -> None:
        if _look(self._files) == self._stamp:
            return
        try:
            self._take_up()
        except ConfigError as error:
            self.successful = False
            log.error("the web configuration is refused: %s", " ".join(str(error).split()))
        else:
            log.info("the web configuration is in use: %s", self._path)


def _refuse_opening(path: str, old: WebSettings, new: WebSettings) -> None:
    """Refuse weaker settings: raises ConfigError where `new` asks for less than `old`.

    A file that is being written, or that a full disk has emptied, looks like that.
    """
    before, after = _guards(old), _guards(new)
    if lost := [name for name in before if name not in after]:
        raise ConfigError(
            f"{path}: no longer asks for {', '.join(lost)}: this takes effect at the next start"
        )


def _guards(settings: WebSettings) -> list[str]:
    tls = settings.tls
    required = tls is not None and tls.client_auth_type == "RequireAndVerifyClientCert"
    named = tls is not None and tls.client_allowed_sans
    asked = {
        "tls_server_config": tls,
        "client_auth_type RequireAndVerifyClientCert": required,
        "client_allowed_sans": named,
        "basic_auth_users": settings.users,
    }
    return [name for name, value in asked.items() if value]


def _look(files: list[str]) -> Stamp:
    return tuple(map(_stamp, files))


def _stamp(file: str) -> tuple[int, ...]:
    try:
        found = Path(file).stat()
    except (OSError, ValueError):
        return 0, 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
