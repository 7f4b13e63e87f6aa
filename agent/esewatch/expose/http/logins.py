"""Basic authentication against bcrypt hashes (RFC 7617).

A password costs bcrypt once; verified logins are cached, so that a scrape does not pay again.
Checks run one at a time in a thread of their own, and few may wait: a flood of wrong passwords
delays neither scrapes nor pages of known users.
"""

import asyncio
import base64
import binascii
import hashlib
import os
import queue
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Protocol

from esewatch.expose.http.requests import RefusedError
from esewatch.model import ConfigError
from esewatch.threads import Worker

MAX_WAITING = 16
"""Logins that may wait to be checked."""
MAX_WAITING_OF_ONE = 4
"""Of them, those from one address."""
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


class _InTurn:
    """Does work in one thread; a new one takes its place where it found no memory."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Future[bool], Callable[[], bool]]]
        self._waiting = queue.SimpleQueue()
        self._worker: Worker | None = None

    def submit(self, work: Callable[[], bool]) -> Future[bool]:
        """Do it behind what waits. Raises RuntimeError or MemoryError for want of a thread."""
        if self._worker is None or not self._worker.running:
            self._worker = Worker(self._run)
        future: Future[bool] = Future()
        self._waiting.put((future, work))
        return future

    def _run(self) -> None:
        while True:
            future, work = self._waiting.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except Exception as error:
                future.set_exception(error)


class Logins:
    """Checks the Authorization header of requests. One event loop uses it."""

    def __init__(self) -> None:
        self._secret = os.urandom(32)
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._waiting: dict[str, int] = {}
        self._in_turn = _InTurn()

    async def admit(
        self, header: str, client: str, users: Mapping[str, str], check: LoginCheck
    ) -> None:
        """Return when `header` is of one of `users` (name -> hash).

        Raises RefusedError: 401, or 429 when too many wait.
        """
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
        right = await self._check(
            client, lambda: _is_right(check, password, hashed, _cost(dearest))
        )
        if not right or name not in users:
            raise RefusedError(401, "This name or password is wrong.", CHALLENGE)
        self._known[key] = None
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)

    def _key(self, name: str, hashed: str, password: bytes) -> bytes:
        digest = hashlib.blake2b(key=self._secret)
        for part in (name.encode(), hashed.encode(), password):
            digest.update(len(part).to_bytes(4, "big") + part)
        return digest.digest()

    async def _check(self, client: str, work: Callable[[], bool]) -> bool:
        mine = self._waiting.get(client, 0)
        if mine >= MAX_WAITING_OF_ONE or sum(self._waiting.values()) >= MAX_WAITING:
            raise RefusedError(
                429, "Too many logins wait to be checked. Try again.", {"retry-after": "2"}
            )
        self._waiting[client] = mine + 1
        try:
            return await asyncio.wrap_future(self._in_turn.submit(work))
        finally:
            self._waiting[client] -= 1
            if not self._waiting[client]:
                del self._waiting[client]


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
