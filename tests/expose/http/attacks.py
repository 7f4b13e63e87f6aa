"""Floods of bytes that are no HTTP/1.1, or too much of it, from a process of its own.

`python -m tests.expose.http.attacks PORT NAME SECONDS [tls]` sends as much as it can, 10 MB
a second at most, and prints the bytes and connections.
"""

import contextlib
import itertools
import socket
import ssl
import struct
import sys
import time
from collections.abc import Callable, Iterator

RATE = 10_000_000
"""Bytes a second."""
BLOCK = 16_384
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
REQUEST = b"\x82\x86\x84\x01\x01x"
"""GET / of the host x, as HPACK."""
SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
KINDS = {
    "DATA": 0, "HEADERS": 1, "PRIORITY": 2, "RST_STREAM": 3, "SETTINGS": 4, "PUSH_PROMISE": 5,
    "PING": 6, "GOAWAY": 7, "WINDOW_UPDATE": 8, "CONTINUATION": 9, "unknown": 0x20,
}  # fmt: skip
BODIES = {
    "DATA": b"x" * 100, "HEADERS": REQUEST, "PRIORITY": bytes(5), "RST_STREAM": bytes(4),
    "PUSH_PROMISE": bytes(4), "PING": bytes(8), "GOAWAY": bytes(8), "WINDOW_UPDATE": b"\0\0\0\1",
    "unknown": b"x" * 100,
}  # fmt: skip
WITHOUT_STREAM = {"SETTINGS", "PING", "GOAWAY"}


def frame(kind: str, stream: int, body: bytes, flags: int = 0) -> bytes:
    """A frame of HTTP/2 (RFC 9113, 4.1)."""
    head = struct.pack(">IBBI", len(body) << 8 | KINDS[kind], flags, 0, 0)[:5]
    return head + struct.pack(">I", stream) + body


def _frames(kind: str) -> Iterator[bytes]:
    for stream in itertools.count(1, 2):
        yield frame(kind, 0 if kind in WITHOUT_STREAM else stream, BODIES.get(kind, b""), 5)


def _resets() -> Iterator[bytes]:
    for stream in itertools.count(1, 2):
        yield frame("HEADERS", stream, REQUEST, 5) + frame("RST_STREAM", stream, bytes(4))


def _endless_headers() -> Iterator[bytes]:
    yield frame("HEADERS", 1, REQUEST)
    yield from itertools.repeat(frame("CONTINUATION", 1, b"\0\1a\1b" * 200))


UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n"
)
CHUNKED = b"POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
BEGIN = PREFACE + frame("SETTINGS", 0, b"")
RESET = "connections that are reset in the middle of an answer"


def pieces(name: str) -> Iterator[bytes]:
    """The bytes of one connection, without end but for RESET."""
    if name in KINDS:
        return itertools.chain([BEGIN], _frames(name))
    others: dict[str, Callable[[], Iterator[bytes]]] = {
        "preface": lambda: itertools.repeat(PREFACE),
        "streams that are reset": lambda: itertools.chain([BEGIN], _resets()),
        "headers without end": lambda: itertools.chain([BEGIN], _endless_headers()),
        "h2c": lambda: itertools.chain([UPGRADE, BEGIN], _resets()),
        RESET: lambda: iter([SCRAPE]),
        "requests without pause": lambda: itertools.repeat(SCRAPE),
        "heads without end": lambda: itertools.chain([SCRAPE[:-2]], itertools.repeat(b"a: b\r\n")),
        "chunks of one byte": lambda: itertools.chain([CHUNKED], itertools.repeat(b"1\r\na\r\n")),
    }
    return others[name]()


ATTACKS = (
    "preface", *KINDS, "streams that are reset", "headers without end", "h2c", RESET,
    "requests without pause", "heads without end", "chunks of one byte",
)  # fmt: skip


def blocks(name: str) -> Iterator[bytes]:
    """The same in blocks."""
    block = bytearray()
    for piece in pieces(name):
        block += piece
        if len(block) >= BLOCK:
            yield bytes(block)
            block.clear()
    yield bytes(block)


def connected(port: int, secure: bool) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=5)
    if not secure:
        return client
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context.wrap_socket(client)


def attack(port: int, name: str, seconds: float, secure: bool = False) -> tuple[int, int]:
    """Bytes and connections of so many seconds, each connection until the server ends it."""
    sent = connections = 0
    begin = time.monotonic()
    while (past := time.monotonic() - begin) < seconds:
        with contextlib.suppress(OSError), connected(port, secure) as client:
            connections += 1
            for block in blocks(name):
                client.settimeout(max(0.1, seconds - past))
                client.sendall(block)
                sent += len(block)
                client.settimeout(0)
                with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError):
                    while client.recv(1 << 20):
                        pass
                past = time.monotonic() - begin
                time.sleep(max(0.0, min(sent / RATE, seconds) - past))
                if past > seconds:
                    break
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return sent, connections


if __name__ == "__main__":
    print(*attack(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), "tls" in sys.argv))
