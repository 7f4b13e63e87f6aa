"""Certificates made by openssl: a server's, and clients' with the authority that signs them."""

import shutil
import ssl
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import pytest

_EC = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1"


class Pair(NamedTuple):
    """A certificate and its key, PEM."""

    certificate: bytes
    key: bytes

    def put(self, folder: Path, name: str) -> None:
        """Write `name.pem` and `name.key`, each in one step."""
        for suffix, data in ((".key", self.key), (".pem", self.certificate)):
            new = folder / f"{name}{suffix}.new"
            new.write_bytes(data)
            new.replace(folder / f"{name}{suffix}")


@cache
def self_signed(name: str, *, bits: str = _EC) -> Pair:
    """For 127.0.0.1, `name` as its subject."""
    return _made(f"req -x509 -nodes {bits} -days 2 -subj /CN={name}", "subjectAltName=IP:127.0.0.1")


@cache
def authority() -> Pair:
    """One that signs clients."""
    return _made(f"req -x509 -nodes {_EC} -days 2 -subj /CN=authority")


@cache
def client(names: str) -> Pair:
    """Signed by `authority`, with the alternative names `DNS:a,IP:::1`."""
    folder = Path(mkdtemp(prefix="esewatch-ca-"))
    authority().put(folder, "ca")
    made = _made(
        f"req -x509 -nodes {_EC} -days 2 -subj /CN=client "
        f"-CA {folder}/ca.pem -CAkey {folder}/ca.key",
        f"subjectAltName={names}",
        "basicConstraints=critical,CA:FALSE",
        "extendedKeyUsage=clientAuth",
    )
    shutil.rmtree(folder)
    return made


def encrypted(pair: Pair) -> Pair:
    """The same with its key under a password."""
    done = _openssl(["pkcs8", "-topk8", "-passout", "pass:secret"], pair.key)
    return Pair(pair.certificate, done)


def trusting(
    folder: Path, name: str = "server", own: Pair | None = None, **versions: ssl.TLSVersion
) -> ssl.SSLContext:
    """A client that trusts `name.pem` of the folder, and shows `own`."""
    context = ssl.create_default_context(cafile=str(folder / f"{name}.pem"))
    if own is not None:
        own.put(folder, "shown")
        context.load_cert_chain(folder / "shown.pem", folder / "shown.key")
    for setting, version in versions.items():
        setattr(context, setting, version)
    return context


def _made(words: str, *extensions: str) -> Pair:
    folder = Path(mkdtemp(prefix="esewatch-certificate-"))
    arguments = [*words.split(), "-keyout", f"{folder}/key", "-out", f"{folder}/certificate"]
    for each in extensions:
        arguments += ["-addext", each]
    _openssl(arguments)
    pair = Pair((folder / "certificate").read_bytes(), (folder / "key").read_bytes())
    shutil.rmtree(folder)
    return pair


def _openssl(arguments: list[str], data: bytes = b"") -> bytes:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed (apt-get install openssl)")
    done = subprocess.run([program, *arguments], input=data, capture_output=True, timeout=600)  # noqa: PLW1510
    assert done.returncode == 0, done.stderr
    return done.stdout
