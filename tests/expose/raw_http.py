"""Requests that are nearly right, as bytes."""

import random

SEEDS = (
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YTpi\r\n\r\n",
    b"GET /database?computer=ex02&database=e%3A%5Cmdb03%5Cpriv03.edb HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /computer?name=ex01 HTTP/1.0\r\n\r\n",
    b"HEAD /runbooks/EseKnownBadPage HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET /api/v1/databases HTTP/1.1\r\nHost: x\r\n"
    b"Accept: application/openmetrics-text;q=0.5\r\n\r\n",
    b"POST /api/v1/ack HTTP/1.1\r\nHost: localhost\r\nX-Esewatch: 1\r\n"
    b"Content-Type: application/json\r\n"
    b'Content-Length: 35\r\n\r\n{"computer":"ex02","database":"e:"}',
    b"POST /api/v1/forget HTTP/1.1\r\nHost: localhost\r\nX-Esewatch: 1\r\n"
    b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'12\r\n{"computer":"ex01",\r\n10\r\n"database": "a"}\r\n0\r\n\r\n',
    b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
)
WORDS = (
    b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b"%", b"%00", b"%2e%2e/", b"../", b"\xff",
    b"HTTP/1.1", b"HTTP/2.0", b"HTTP/0.9", b"-1", b"99999999999999999999", b"0x10",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n",
    b"Host: y\r\n", b"Origin: null\r\n", b"A" * 3000,
    b"a: b\r\n" * 200, b"?" + b"&a=b" * 40, b"{" * 50, b"\xf0\x9f\x92\xa9", b"\\ud800", b"1e999",
    b"Connection: close\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"CONNECT ", b"http://elsewhere",
)  # fmt: skip
HELLO = bytes.fromhex(
    "1603010075010000710303000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f00000"
    "4c02bc02f010000440000000e000c0000096c6f63616c686f7374000a00080006001d00170018000b0002010000"
    "0d00120010040305030403020108040805080604010010000b000908687474702f312e31"
)
"""A ClientHello of TLS 1.2."""


def mutated(data: bytes, chance: random.Random) -> bytes:
    """`data` with one to four changes."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(made) + 1)
        to = min(len(made), at + chance.randint(1, 20))
        kind = chance.randrange(6)
        if kind == 0:
            made[at:at] = chance.choice(WORDS)
        elif kind == 1:
            made[at:to] = b""
        elif kind == 2:
            made[at:to] = chance.choice(WORDS)
        elif kind == 3:
            made[at:at] = made[at:to] * chance.randint(1, 5)
        elif kind == 4 and made:
            made[at % len(made)] = chance.randrange(256)
        else:
            made[at:] = chance.choice(SEEDS)[-chance.randint(1, 60) :]
    return bytes(made)
