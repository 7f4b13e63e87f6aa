"""The MSI: a private Python, esewatch and what it needs, with a bill of materials.

`python -m scripts.windows_msi ZIP SHA256` writes dist/esewatch-VERSION-x64.msi. ZIP is the "Windows
embeddable package (64-bit)" of a current Python 3.13, SHA256 what its maker says of it. The same
commit and zip give the same bytes. `MSI_VERSION=1.2.3` gives another version.
"""

import hashlib
import os
import re
import struct
import subprocess
import sys
import tempfile
import uuid
import zipfile
from pathlib import Path
from xml.sax.saxutils import quoteattr

from scripts.bill_of_materials import SPACE, Component, bill, of_wheel
from scripts.wheels import ROOT, build, commit_time, released

WXS = ROOT / "deploy" / "windows" / "esewatch.wxs"
PYTHON = "python/python.exe"
LEFT_OUT = {"_wmi.pyd", "pythonw.exe", "winsound.pyd"}
"""`platform` asks WMI through the first, and hangs where that service does."""

NOTICES = {
    "python.exe": ("Python", b"PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2"),
    "libcrypto-": ("OpenSSL", b"Apache License"),
    "vcruntime": ("the Visual C++ runtime", b"Microsoft Distributable Code"),
    "libffi-": ("libffi", b"libffi"),
    "_bz2.pyd": ("bzip2", b"bzip2"),
}
"""How files in the zip begin -> what they are, and words of the notice that must go with them."""
GIVEN = ("LISTENADDRESS", "CONFIG", "WEBCONFIG", "ACCOUNT", "FIREWALL", "COUNTERS", "PURGE")
CORRECTIONS = (
    # What wixl 0.101 cannot say: a rollback (18 + ignored 64 + 256 + in the script 1024 + not
    # impersonated 2048), the 64-bit registry (2 + 16), and what an ordinary user may hand on.
    "UPDATE `CustomAction` SET `Type` = 3410 WHERE `Action` = 'TakeBack'",
    "UPDATE `RegLocator` SET `Type` = 18",
    f"UPDATE `Property` SET `Value` = 'OLDER;NEWER;{';'.join(GIVEN)}' "
    "WHERE `Property` = 'SecureCustomProperties'",
)
CODE = re.compile(rb"(\x1e\0\0\0\x27\0\0\0)\{[0-9A-F-]{36}\}\0")
"""The revision number of the summary: a string (30) of 39 bytes."""
SERVICE = """\
<ServiceInstall Id="Service" Name="esewatch" DisplayName="esewatch" Type="ownProcess" Start="auto"
  ErrorControl="normal" Vital="yes" Account="[ACCOUNT]"
  Description="Watches the online maintenance of ESE databases."
  Arguments="-B -P -m esewatch run --windows.service --config.file &quot;[CONFIG]&quot; --log.file &quot;[CommonAppDataFolder]esewatch\\logs\\esewatch.log&quot; --web.listen-address [LISTENADDRESS][WEBWORDS]"/>
<ServiceControl Id="Control" Name="esewatch" Start="install" Stop="both" Remove="uninstall" Wait="yes"/>
"""  # noqa: E501 - a line of the service's command is one


class MsiError(Exception):
    """Why no MSI is built, in one line."""


def checked(path: Path, digest: str) -> bytes:
    """The zip, which must be what its maker says. Raises MsiError, OSError."""
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != digest.lower():
        raise MsiError(f"{path.name} has the SHA-256 {found}, not {digest}: fetch it anew")
    return data


def unpacked(archive: Path, below: str) -> dict[str, bytes]:
    """The files of a zip or wheel, by where they are installed."""
    with zipfile.ZipFile(archive) as opened:
        return {
            f"{below}/{name}": opened.read(name)
            for name in opened.namelist()
            if not name.endswith("/") and ".data/" not in name
        }


def private_python(archive: Path) -> tuple[dict[str, bytes], str]:
    """The files of the embeddable Python, which imports of itself and `app` alone; its version."""
    files = unpacked(archive, "python")
    (path,) = (name for name in files if name.endswith("._pth"))
    minor = re.fullmatch(r"python/python3(\d+)\._pth", path)
    if minor is None:
        raise MsiError(f"{archive.name} is not the embeddable package of a Python 3")
    notices = files.get("python/LICENSE.txt", b"")
    for begin, (what, words) in NOTICES.items():
        if any(name.startswith(f"python/{begin}") for name in files) and words not in notices:
            raise MsiError(f"{archive.name} has no notice of {what} in its LICENSE.txt")
    # With this file Python reads no variable, no registry and no folder of a user.
    files[path] = f"python3{minor[1]}.zip\r\n.\r\n..\\app\r\n".encode()
    kept = {name: data for name, data in files.items() if Path(name).name not in LEFT_OUT}
    return kept, f"3.{minor[1]}"


def fetched(version: str, folder: Path) -> list[Path]:
    """The wheels for Windows of all that the agent needs, by the hashes of the lock."""
    lock = (ROOT / "requirements" / "runtime.lock").read_text(encoding="utf-8")
    # pip judges markers by the machine it runs on.
    there = re.sub(r" ; sys_platform == 'win32'", "", lock)
    (folder / "windows.txt").write_text(there, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--require-hashes", "--only-binary", ":all:", "--platform", "win_amd64",
         "--implementation", "cp", "--python-version", version, "--dest", folder,
         "--requirement", folder / "windows.txt"],
        check=True,
    )  # fmt: skip
    return sorted(folder.glob("*.whl"))


def of_python(name: str, digest: str) -> Component:
    """The private Python in the bill of materials, by the name of its zip, and its hash."""
    number = re.search(r"3\.\d+\.\d+", name)
    return {
        "type": "framework", "name": "cpython", "version": number[0] if number else "unknown",
        "description": f"{name}, with OpenSSL, SQLite, libffi and the Visual C++ runtime",
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "licenses": [{"license": {"id": "PSF-2.0"}}],
    }  # fmt: skip


def identifier(path: str) -> str:
    """What a file or a folder is called in the tables."""
    return "i" + hashlib.sha256(path.encode()).hexdigest()[:20]


def directories(files: dict[str, bytes]) -> tuple[str, list[str]]:
    """The elements of all folders with a component for each file; the components' names."""
    tree: dict[str, list[str]] = {}
    for name in sorted(files):
        parents = [str(each) for each in Path(name).parents][:-1]
        for child, parent in zip([name, *parents], [*parents, ""], strict=True):
            if child not in tree.setdefault(parent, []):
                tree[parent].append(child)

    def element(name: str) -> str:
        key, label = identifier(name), quoteattr(Path(name).name)
        if name in tree:
            inner = "\n".join(element(each) for each in tree[name])
            return f'<Directory Id="{key}" Name={label}>\n{inner}\n</Directory>'
        inner = f'<File Id="{key}" Name={label} Source={quoteattr(name)} KeyPath="yes"/>'
        if name == PYTHON:
            inner += f"\n{SERVICE}"
        guid = str(uuid.uuid5(SPACE, name)).upper()
        return f'<Component Id="c{key}" Guid="{guid}" Win64="yes">{inner}</Component>'

    return "\n".join(map(element, tree[""])), [f"c{identifier(name)}" for name in sorted(files)]


def source(files: dict[str, bytes], version: str) -> str:
    """The text for wixl."""
    digest = hashlib.sha256(version.encode() + WXS.read_bytes() + SERVICE.encode())
    for name in sorted(files):
        digest.update(name.encode() + hashlib.sha256(files[name]).digest())
    inner, names = directories(files)
    references = "\n".join(f'<ComponentRef Id="{name}"/>' for name in names)
    filled = {
        "PRODUCT": str(uuid.uuid5(SPACE, f"product {digest.hexdigest()}")).upper(),
        "VERSION": version,
        "PYTHON": identifier(PYTHON),
        "DIRECTORIES": inner,
        "REFERENCES": references,
    }
    return re.sub(r"@([A-Z]+)@", lambda found: filled[found[1]], WXS.read_text(encoding="utf-8"))


def written(files: dict[str, bytes], stage: Path, when: int) -> None:
    """Lay the files out, all of one time."""
    for name, data in files.items():
        path = stage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (when, when))


def msi(archive: Path, digest: str, to: Path) -> Path:
    """Build it into the folder `to`. Raises MsiError, OSError, CalledProcessError."""
    checked(archive, digest)
    version = os.environ.get("MSI_VERSION") or released()
    when = commit_time()
    with tempfile.TemporaryDirectory() as work:
        (wheels := Path(work, "wheels")).mkdir()
        files, python = private_python(archive)
        brought = [*fetched(python, wheels), *build(["win_amd64"], Path(work, "own"))]
        for wheel in brought:
            files |= unpacked(wheel, "app")
        parts = [of_python(archive.name, digest.lower()), *map(of_wheel, brought)]
        files["esewatch.cdx.json"] = bill(version, parts, when)
        files["esewatch.yml"] = (WXS.parent / "esewatch.yml").read_bytes()
        written(files, stage := Path(work, "stage"), when)
        text = Path(work, "esewatch.wxs")
        text.write_text(source(files, version), encoding="utf-8")
        to.mkdir(parents=True, exist_ok=True)
        made = to / f"esewatch-{version}-x64.msi"
        command = ["wixl", "--arch", "x64", "--output", str(made.resolve()), str(text)]
        subprocess.run(command, cwd=stage, check=True)
        for query in CORRECTIONS:
            subprocess.run(["msibuild", made, "-q", query], check=True)
        made.write_bytes(settled(made.read_bytes(), when))
    return made


def settled(data: bytes, when: int) -> bytes:
    """The MSI with what wixl makes up in its summary replaced: two times and the code."""
    tick = when * 10_000_000 + 116_444_736_000_000_000
    made, times = re.subn(
        rb"(\x40\0\0\0)[\s\S]{6}[\xd9-\xdf]\x01(?=[\s\S]{0,12}(?:\x40|\x03|\x1e)\0\0\0)",
        lambda found: found[1] + struct.pack("<Q", tick),
        data,
    )
    code = str(uuid.uuid5(SPACE, hashlib.sha256(without_codes(made)).hexdigest())).upper()
    made, codes = re.subn(CODE, rb"\1{" + code.encode() + rb"}\0", made)
    if (times, codes) != (2, 1):
        raise MsiError(f"the summary of the MSI has {times} times and {codes} codes, not 2 and 1")
    return made


def without_codes(data: bytes) -> bytes:
    """The MSI without the code that is made up for each package."""
    return re.sub(CODE, rb"\1", data)


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{msi(Path(sys.argv[1]), sys.argv[2], ROOT / 'dist')}\n")
    except (MsiError, OSError) as error:
        sys.exit(f"msi: {error}")
