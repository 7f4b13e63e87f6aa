"""The web configuration in use, with its logins: reloaded when one of its files changes. An invalid
change is one line in the log and a metric; the previous configuration stays in use."""

import asyncio
import base64
import binascii
import hashlib
import logging
import math
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from esewatch.config.web import RateLimit, WebSettings, load_web
from esewatch.expose.http.requests import RefusedError, in_a_thread, network_of
from esewatch.expose.http.tls import Tls, tls_of
from esewatch.model import ConfigError

log = logging.getLogger(__name__)

MAX_WAITING = 16
"""Logins that may wait to be checked."""
MAX_WAITING_OF_ONE = 4
"""Of them, those from one address, of IPv6 from one network."""
MAX_KNOWN = 128
"""Verified logins that are cached."""
_BCRYPT_BYTES = 72
"""bcrypt uses no more bytes of a password."""
_NOBODYS = "$2b${:02d}$" + "." * 53
"""A dummy hash that belongs to no user: only the work counts."""

CHALLENGE = {"www-authenticate": 'Basic realm="esewatch", charset="UTF-8"'}


class LoginCheck(Protocol):
    """`bcrypt.checkpw`."""

    def __call__(self, password: bytes, hashed_password: bytes) -> bool:
        """True if the hash is of this password."""


def bcrypt_check() -> LoginCheck:
    """`bcrypt.checkpw`. Raises ConfigError where the package is not installed."""
    try:
        from bcrypt import checkpw  # noqa: PLC0415 - 1 MB that an open port does not need
    except ImportError as error:
        raise ConfigError(
            "basic_auth_users needs the package bcrypt: pip install 'esewatch[web]'"
        ) from error
    return checkpw


class Logins:
    """Checks the Authorization header of requests (RFC 7617). One event loop uses it.

    A password costs bcrypt once; verified logins are cached, so that a scrape does not pay again.
    Checks run one at a time in a thread of their own, and few may wait: a flood of wrong passwords
    delays neither scrapes nor pages of known users.
    """

    def __init__(self) -> None:
        self._secret = os.urandom(32)
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._waiting: dict[str, int] = {}
        self._turn = asyncio.Lock()

    async def admit(
        self, header: str, client: str, users: Mapping[str, str], check: LoginCheck
    ) -> None:
        """Return when `header` is of one of `users` (name -> hash). Raises RefusedError: 401, or
        429 when too many wait."""
        login = _login(header)
        if login is None:
            raise RefusedError(401, "A name and a password are needed.", CHALLENGE)
        name, password = login
        # An unknown name costs as much as a known one.
        dearest = max(users.values(), key=_cost)
        hashed = users.get(name) or dearest
        key = self._key(name, hashed, password)
        if name in users and key in self._known:
            self._known.move_to_end(key)
            return

        def work() -> bool:
            return _is_right(check, password, hashed, _cost(dearest))

        # It is remembered also where the client has gone meanwhile, so that it may come again.
        if not await asyncio.shield(
            self._check(network_of(client), work, key if name in users else None)
        ):
            raise RefusedError(401, "This name or password is wrong.", CHALLENGE)

    def _key(self, name: str, hashed: str, password: bytes) -> bytes:
        digest = hashlib.blake2b(key=self._secret)
        for part in (name.encode(), hashed.encode(), password):
            digest.update(len(part).to_bytes(4, "big") + part)
        return digest.digest()

    def _check(
        self, client: str, work: Callable[[], bool], key: bytes | None
    ) -> "asyncio.Task[bool]":
        """Checks a login, of a user where there is a `key` to remember. Raises RefusedError where
        too many wait."""
        mine = self._waiting.get(client, 0)
        if mine >= MAX_WAITING_OF_ONE or sum(self._waiting.values()) >= MAX_WAITING:
            raise RefusedError(
                429, "Too many logins wait to be checked. Try again.", {"retry-after": "2"}
            )
        self._waiting[client] = mine + 1

        async def checked() -> bool:
            try:
                async with self._turn:
                    right = await in_a_thread(work)
            finally:
                self._waiting[client] -= 1
                if not self._waiting[client]:
                    del self._waiting[client]
            if right and key is not None:
                self._known[key] = None
                while len(self._known) > MAX_KNOWN:
                    self._known.popitem(last=False)
            return right and key is not None

        return asyncio.create_task(checked())


def _is_right(check: LoginCheck, password: bytes, hashed: str, dearest: int) -> bool:
    """True if the hash is of the password. Where it is not, the work is that of cost `dearest`.

    bcrypt of cost c is 2 ** c rounds. After one of cost c, those of costs c, c + 1, up to `dearest`
    - 1 make it 2 ** `dearest`: the time taken does not reveal whose hash it was.
    """
    right = _is_of(check, password, hashed)
    for cost in range(_cost(hashed), dearest) if not right else ():
        _is_of(check, password, _NOBODYS.format(cost))
    return right


def _is_of(check: LoginCheck, password: bytes, hashed: str) -> bool:
    try:
        return check(password[:_BCRYPT_BYTES], hashed.encode("ascii"))
    except ValueError:
        return False


def _cost(hashed: str) -> int:
    return int(hashed.split("$")[2])


def _login(header: str) -> tuple[str, bytes] | None:
    scheme, _, encoded = header.strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        return (name.decode(), password) if colon else None
    except (binascii.Error, ValueError):
        return None


Stamp = tuple[tuple[int, ...], ...]
"""Inode, size, mtime and ctime of each file; zeros where it is missing. The ctime shows corrected
permissions, and a file that kept its mtime."""


class Bucket:
    """The requests that `rate_limit` allows: as in Go's x/time/rate."""

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._tokens = float(limit.burst)
        self._filled = 0.0

    def takes(self, now: float) -> bool:
        """True if one more may come at `now`, in seconds of a clock that never goes back."""
        if not self._limit.interval:
            return True
        more = (now - self._filled) / self._limit.interval
        self._tokens, self._filled = min(self._limit.burst, self._tokens + more), now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class WebConfiguration:
    """The current settings of `path`. Raises ConfigError when they are wrong at first. `admit` and
    `tls` are for the server's event loop; the rest may be asked by any thread."""

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._logins = Logins()
        self._settings = WebSettings()  # guards nothing: any file may be the first
        self._bucket = Bucket(self._settings.rate_limit)
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
        if settings.rate_limit != self._settings.rate_limit:
            self._bucket = Bucket(settings.rate_limit)
        self._settings, self._tls, self._check = settings, tls, check
        self._headers = settings.http.headers.set()
        self.successful, self.taken_up = True, time.time()
        if settings.http.http2:
            log.info("%s: http2 is ignored: HTTP/1.1 is served", self._path)

    @property
    def secure(self) -> bool:
        return self._tls is not None

    @property
    def asks_for_passwords(self) -> bool:
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
        if not self._bucket.takes(time.monotonic()):
            pause = str(math.ceil(self._settings.rate_limit.interval))
            raise RefusedError(429, "More requests than rate_limit allows.", {"retry-after": pause})
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
    """Refuse weaker settings: raises ConfigError where `new` asks for less than `old`. A file that
    is being written, or that a full disk has emptied, looks like that."""
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
        "client_ca": tls is not None and (tls.client_ca_file or tls.client_ca),
        "client_allowed_sans": named,
        "basic_auth_users": settings.users,
        "rate_limit": settings.rate_limit.interval,
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
