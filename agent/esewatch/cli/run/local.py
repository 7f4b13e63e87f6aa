"""Requests of commands to the esewatch that runs on this machine (docs/decisions/0017)."""

import argparse
import base64
import contextlib
import http.client
import json
import ssl
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from esefiles.base.names import reason_of
from esewatch.cli.options import add_web_config_option
from esewatch.config.files import refuse_named_pipe
from esewatch.config.web import TlsServer, WebSettings, load_web
from esewatch.expose.http import DEFAULT_ADDRESS
from esewatch.expose.http.requests import JOURNAL_HEADER, journal_number
from esewatch.expose.http.server import parse_address
from esewatch.journal.files import identity
from esewatch.model import EsewatchError

TIMEOUT_SECONDS = 10.0
MAX_LOGIN = 4096
MAX_ANSWER = 1 << 20
DONE = {"ack": "acknowledged", "forget": "forgotten"}
"""Command -> the key that each answer of esewatch to it has."""
Answer = dict[str, int | bool]
STOPPED = "or stop it, run this command again, and start it"


def add_address_options(
    parser: argparse.ArgumentParser, default: str | None = DEFAULT_ADDRESS
) -> None:
    """Add where the running esewatch is and how to be let in."""
    parser.add_argument(
        "--web.address",
        dest="address",
        default=default,
        metavar="HOST:PORT[/PATH]",
        help=f"address of the running esewatch, with its --web.route-prefix; default "
        f"{DEFAULT_ADDRESS}",
    )
    add_web_config_option(parser)
    parser.add_argument(
        "--web.login-file",
        dest="login_file",
        metavar="F",
        help="file with one line NAME:PASSWORD, where the running esewatch has users",
    )


def post(
    options: argparse.Namespace, command: str, body: dict[str, Any], journal: Path | None = None
) -> Answer:
    """The response to a request to change something, in this journal if one is meant. Raises
    EsewatchError with the remedy, also where what answers has another journal."""
    address = DEFAULT_ADDRESS if options.address is None else options.address
    web = load_web(options.web_config) if options.web_config else WebSettings()
    headers = {"Content-Type": "application/json", "X-Esewatch": "1", "Connection": "close"}
    if options.login_file:
        headers["Authorization"] = f"Basic {base64.b64encode(_login(options.login_file)).decode()}"
    connection = connection_to(address, web)
    try:
        if journal is not None and (number := identity(journal)) is not None:
            headers[JOURNAL_HEADER] = journal_number(number)
        connection.connect()
        if web.tls is not None:
            _must_be_ours(connection.sock, web.tls)
        path = f"{place_of(address)[2]}/api/v1/{command}"
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        said = answer.read(MAX_ANSWER)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            raise EsewatchError(
                f"{options.login_file}: the running esewatch knows no such name and password"
                f"; {STOPPED}"
                if options.login_file
                else "the running esewatch wants a name and a password: write NAME:PASSWORD into a"
                f" file that only you can read and name it, --web.login-file F; {STOPPED}"
            )
        if answer.status == HTTPStatus.CONFLICT:
            raise EsewatchError(
                f"the esewatch at {address} has another journal than {journal}: name the "
                f"address of the one that has it, --web.address HOST:PORT; {STOPPED}"
            )
        return _decoded(command, answer.status, said)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise EsewatchError(_reason(options, web, error)) from error
    finally:
        connection.close()


def _decoded(command: str, status: int, body: bytes) -> Answer:
    if status != 200:
        raise EsewatchError(body[:4096].decode("utf-8", "replace").strip())
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        decoded = msgspec.json.decode(body, type=Answer)
        if DONE[command] in decoded:
            return decoded
    raise ValueError("what answers there is not esewatch")


def place_of(address: str) -> tuple[str, int, str]:
    """Host, port and path of `HOST:PORT/PATH`, the path without a slash at its end. Raises
    EsewatchError for an address that is none."""
    where, _, path = address.partition("/")
    host, port = parse_address(where)
    return host or "127.0.0.1", port, f"/{path.strip('/')}".rstrip("/")


def connection_to(address: str, web: WebSettings) -> http.client.HTTPConnection:
    """A connection that is not open yet. Raises EsewatchError for an address that is none."""
    host, port, _ = place_of(address)
    if web.tls is None:
        return http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
    # The certificate names the machine and not 127.0.0.1: `_must_be_ours` compares it.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=context)


def _must_be_ours(found: Any, tls: TlsServer) -> None:
    """Raises EsewatchError unless the server has the certificate of the web configuration."""
    file = tls.cert_file or "cert"
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    try:
        text = tls.cert or Path(file).read_text(encoding="ascii", errors="replace")
        start = text.index(begin)  # the key may stand before it in the same file
        first = text[start : text.index(end, start) + len(end)]
        expected = ssl.PEM_cert_to_DER_cert(first)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no certificate in PEM form"
        raise EsewatchError(f"{file}: cannot be read: {reason}") from error
    if found.getpeercert(binary_form=True) != expected:
        raise EsewatchError(f"the answer does not carry the certificate of {file}: nothing is sent")


def _login(file: str) -> bytes:
    try:
        refuse_named_pipe(file)
        with Path(file).open("rb") as stream:
            line = stream.readline(MAX_LOGIN).rstrip(b"\r\n")
    except OSError as error:
        raise EsewatchError(f"{file}: cannot be read: {error.strerror}") from error
    if b":" not in line:
        raise EsewatchError(f"{file}: the first line is not NAME:PASSWORD")
    return line


def _reason(options: argparse.Namespace, web: WebSettings, error: Exception) -> str:
    if web.tls is not None and web.tls.client_auth_type == "RequireAndVerifyClientCert":
        return (
            "the running esewatch requires a client certificate, which this command does not "
            "have: stop it, run this command again, and start it"
        )
    if options.address is not None:
        return (
            f"esewatch does not answer at {options.address}: {reason_of(error)}; name the address "
            "of the one that runs, --web.address HOST:PORT, and its web configuration if it has "
            "one: --web.config.file F; where it is stopped, leave the address out: the journal is "
            "changed"
        )
    return (
        f"an esewatch holds the journal but does not answer at {DEFAULT_ADDRESS}: "
        f"{reason_of(error)}; name its address: --web.address HOST:PORT, and its web "
        f"configuration if it has one: --web.config.file F; {STOPPED}"
    )
