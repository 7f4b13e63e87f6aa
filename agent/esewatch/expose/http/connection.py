"""One connection: HTTP/1.1 by h11, TLS below it, and all that a client may cost.

A slow, broken or hostile client costs one connection for some seconds and nothing else: no more of
it is read than is dealt with, and of an answer no more waits than CHUNK.
"""

import asyncio
import logging
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

import h11
import msgspec

from esefiles.base import crash
from esewatch.expose.http.requests import (
    DROPPED,
    MAX_BODY,
    TOO_LARGE,
    RefusedError,
    Request,
    Response,
    network_of,
)

if TYPE_CHECKING:  # what few have costs the others no memory
    from esewatch.expose.http.tls import Secured, Tls

log = logging.getLogger(__name__)

Secure = Callable[[], "Tls | None"]
"""The TLS of new connections; None: plain."""
ReadBody = Callable[[], Awaitable[bytes]]

GOODBYE_SECONDS = 2.0
"""Seconds that the last bytes of a connection may take."""

CHUNK = 64 * 1024
"""Bytes of an answer that are handed over at once, when all before are with the system."""

AHEAD = 8 << 10
"""Bytes of a client that the system takes before they are asked for."""

_NOT_HTTP = RefusedError(400, "This server speaks HTTP/1.1.")
_TWO_LENGTHS = RefusedError(400, "Both Content-Length and Transfer-Encoding: one of them is wrong.")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on the cost of a client. Times in seconds."""

    connections: int = 256
    of_a_peer: int = 240
    """Connections of one address, of IPv6 of one network: the others are left for others."""
    head_seconds: float = 10.0
    """For the head of a request, from the opening of the connection or the last answer; a handshake
    of TLS is a part of it."""
    body_seconds: float = 10.0
    request_seconds: float = 30.0
    """For a whole request: sending the body, making the answer, reading it."""
    head_bytes: int = 16 * 1024
    """Request line and headers together."""
    answer_bytes: int = 64 << 20
    """Answers that wait for their clients, together; one that several wait for counts once."""


class Application(Protocol):
    """The maker of answers."""

    def begin(self) -> None:
        """A server begins, or begins again: it has another event loop."""

    async def answer(self, request: Request, body: ReadBody) -> Response:
        """The answer with all its headers; `body` reads the request's, or raises RefusedError."""

    def refusal(self, refused: RefusedError) -> Response:
        """The answer to what is no request, or none that may be made."""


class Door:
    """All open connections of a server, the one that idles longest first.

    Where they are too many, one that idles or stalls gives way to a new one, of the peer that has
    most of them. One that is being answered never does.
    """

    def __init__(self, app: Application, limits: Limits, secure: Secure | None) -> None:
        self.app = app
        self.limits = limits
        self.secure = secure or (lambda: None)
        self.closing = False
        """No further request is taken."""
        self._open: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    @property
    def answering(self) -> bool:
        return any(each.answering for each in self._open)

    def admit(self, new: "Connection") -> bool:
        """Add a connection. False where there are too many and all are being answered."""
        of_peers = Counter(each.peer for each in self._open)
        alone = of_peers[new.peer] >= self.limits.of_a_peer
        if alone or len(self._open) >= self.limits.connections:
            idle = [each for each in self._open if not each.answering]
            if alone:
                idle = [each for each in idle if each.peer == new.peer]
            if not idle:
                return False
            max(idle, key=lambda each: of_peers[each.peer]).abort()
        self._open[new] = None
        return True

    def make_room(self) -> None:
        """End the answers that wait longest for their clients, where too much waits."""
        waiting = sorted((each for each in self._open if each.body), key=lambda each: each.deadline)
        while len(waiting) > 1:
            if sum({id(each.body): len(each.body) for each in waiting}.values()) <= (
                self.limits.answer_bytes
            ):
                return
            waiting.pop(0).abort()

    def idles(self, connection: "Connection") -> None:
        """From now on it does."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def remove(self, connection: "Connection") -> None:
        self._open.pop(connection, None)

    def close_overdue(self, now: float) -> None:
        for each in list(self._open):
            if each.deadline <= now:
                each.abort()

    def close_idle(self) -> None:
        """Close those that are not being answered, and take no more requests."""
        self.closing = True
        for each in list(self._open):
            if not each.answering:
                each.abort()


class Connection(asyncio.Protocol):
    def __init__(self, door: Door) -> None:
        self._door = door
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=door.limits.head_bytes)
        self._transport: asyncio.Transport
        self._tls: Secured | None = None
        self._task: asyncio.Task[None] | None = None
        """Answers the request."""
        self._sent = asyncio.Event()
        """The system has all that was written."""
        self._sent.set()
        self._wants = True
        """True if more bytes of the client can be dealt with."""
        self._left = False
        """True if the client sends no more."""
        self._method = b""
        self._length = 0
        """Bytes of the request's body, -1 if it does not say."""
        self._body: bytearray | None = None
        """The request's body, once it is wanted."""
        self._whole = asyncio.Event()
        """The body is there, or larger than any that is wanted."""
        self._dropped = 0
        self._client = ""
        """Address of the client."""
        self.peer = ""
        """The address or network that it counts for."""
        self.body = b""
        """The answer's, while it is sent."""
        self.deadline = 0.0

    @property
    def answering(self) -> bool:
        return self._task is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(0)
        self._client = str((transport.get_extra_info("peername") or ("",))[0])
        self.peer = network_of(self._client)
        self._allow(self._door.limits.head_seconds)
        if self._door.closing or not self._door.admit(self):
            transport.abort()
            return
        tls = self._door.secure()
        self._tls = tls.secured() if tls is not None else None

    def data_received(self, data: bytes) -> None:
        if self._tls is not None:
            try:
                data = self._tls.opened(data)
            except (ssl.SSLError, ValueError):  # of a certificate whose names are no text
                self._hand_over(self._tls.to_send())  # why
                self.abort()
                return
            self._hand_over(self._tls.to_send())
        if data:
            self._http.receive_data(data)
            self._proceed()
        if self._tls is not None and self._tls.ended and not self.eof_received():
            self._close()

    def eof_received(self) -> bool:
        """The client will send no more. False: the connection is closed."""
        self._left = True
        return self.answering and self._http.their_state is not h11.SEND_BODY

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_task()
        self._door.remove(self)

    def pause_writing(self) -> None:
        """The client does not take what is written: nothing of it is read meanwhile."""
        self._sent.clear()
        self._read(self._wants)

    def resume_writing(self) -> None:
        self._sent.set()
        self._read(self._wants)

    def abort(self) -> None:
        """Close it now; unsent bytes are dropped."""
        self._door.remove(self)
        self._end_task()
        self._transport.abort()

    def _close(self) -> None:
        if self._tls is not None:
            self._hand_over(self._tls.goodbye())
        self._allow(GOODBYE_SECONDS)
        self._transport.close()

    def _allow(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    def _end_task(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task, self.body = None, b""

    def _read(self, wants: bool) -> None:
        self._wants = wants
        if wants and self._sent.is_set():
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _write(self, data: bytes) -> None:
        if self._tls is not None and not self._transport.is_closing():
            try:
                data = self._tls.sealed(data)
            except ssl.SSLError:
                self.abort()
        self._hand_over(data)

    def _hand_over(self, data: bytes) -> None:
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def _proceed(self) -> None:
        """Deal with what has come, as far as it can be dealt with now."""
        while not self._transport.is_closing():
            undecided = self._task is not None and self._length and self._body is None
            state = self._http.their_state
            # What comes after the last request of a connection is for nobody.
            last = state is h11.MUST_CLOSE and self._http.trailing_data[0]
            if last or (undecided and state is h11.SEND_BODY):
                self._read(False)
                return
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                status = error.error_status_hint
                # 501 is for an unknown Transfer-Encoding, as RFC 9112, 6.1 proposes: an alert on
                # errors of servers would fire for any malformed request.
                status = 400 if status == 501 else status
                self._refuse(RefusedError(status, f"This is not HTTP/1.1: {error}."))
                return
            if event is h11.NEED_DATA and self._left and not self.answering:
                self._close()
                return
            if event is h11.NEED_DATA or event is h11.PAUSED:
                self._read(event is h11.NEED_DATA)
                return
            if isinstance(event, h11.Request):
                self._begin(event)
            elif isinstance(event, h11.Data):
                self._part(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self._whole.set()
                if not self.answering:
                    self._next()
                    return

    def _begin(self, head: h11.Request) -> None:
        self._method = head.method
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        if head.http_version not in (b"1.0", b"1.1") or "upgrade" in headers:
            self._refuse(_NOT_HTTP)
            return
        self._allow(self._door.limits.request_seconds)
        chunked = "transfer-encoding" in headers
        if chunked and "content-length" in headers:  # RFC 9112, 6.1: who is before us may differ
            self._refuse(_TWO_LENGTHS)
            return
        self._length = -1 if chunked else int(headers.get("content-length", "0"))
        self._body, self._dropped = None, 0
        self._whole.clear()
        path, _, query = head.target.partition(b"?")
        request = Request(
            method=head.method.decode("ascii"),
            path=unquote(path.decode("ascii")),
            query=query,
            headers=headers,
            client=self._client,
        )
        self._task = asyncio.get_running_loop().create_task(self._respond(request))

    def _part(self, data: bytes) -> None:
        """A part of a body: nothing comes here before it is wanted, or refused."""
        if self._body is None or not self.answering:
            self._dropped += len(data)
            if self._dropped > DROPPED:
                self._close()
            return
        self._body += data
        if len(self._body) > MAX_BODY:
            self._body = None
            self._whole.set()

    async def _read_body(self) -> bytes:
        if self._length > MAX_BODY:
            raise RefusedError(413, TOO_LARGE)
        if self._http.they_are_waiting_for_100_continue:
            self._write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])))
        self._body = bytearray()
        self._proceed()
        try:
            async with asyncio.timeout(self._door.limits.body_seconds):
                await self._whole.wait()
        except TimeoutError:
            raise RefusedError(408, "The request's body did not arrive in time.") from None
        if self._body is None:
            raise RefusedError(413, TOO_LARGE)
        return bytes(self._body)

    async def _respond(self, request: Request) -> None:
        try:
            response = await self._door.app.answer(request, self._read_body)
            if len(response.body) > CHUNK:
                self.body = response.body
                self._door.make_room()
            for part in self._parts(response):
                self._write(part)
                await self._sent.wait()
        except Exception as error:
            crash.if_short(error)
            log.exception("an answer failed")
            self.abort()
            return
        self._task, self.body = None, b""
        self._door.idles(self)
        if self._http.their_state is not h11.SEND_BODY:
            self._next()
        elif self._length < 0:
            self._close()
        else:
            # A connection that is closed while bytes of its client wait is reset, answer included.
            self._allow(self._door.limits.body_seconds)
            self._proceed()

    def _parts(self, response: Response) -> Iterator[bytes]:
        headers = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in response.headers.items()
        ]
        reason = HTTPStatus(response.status).phrase.encode("ascii")
        begin = self._http.send(
            h11.Response(status_code=response.status, headers=headers, reason=reason)
        )
        body = b"" if self._method == b"HEAD" else response.body
        for start in range(0, len(body), CHUNK):
            yield begin + self._http.send(h11.Data(data=body[start : start + CHUNK]))
            begin = b""
        yield begin + self._http.send(h11.EndOfMessage())

    def _refuse(self, refused: RefusedError) -> None:
        """Say why, and close it."""
        self._end_task()
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            response = self._door.app.refusal(refused)
            response.headers["connection"] = "close"
            for part in self._parts(response):
                self._write(part)
        self._close()

    def _next(self) -> None:
        """The next request may come, where both sides want it."""
        goes_on = self._http.our_state is self._http.their_state is h11.DONE
        if goes_on and not self._door.closing:
            self._http.start_next_cycle()
            self._method = b""
            self._allow(self._door.limits.head_seconds)
            self._proceed()
        else:
            self._close()
