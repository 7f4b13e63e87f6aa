"""The MSI: its parts by themselves, and the whole as msitools reads it. See docs/windows.md."""

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from esewatch.cli import command_line
from scripts import windows_msi
from tests.support.tools import skip
from tests.support.wine import embedded_python

ROOT = Path(__file__).resolve().parents[2]


PSF = "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2"


def archive(path: Path, *names: str, notices: str = PSF) -> Path:
    with zipfile.ZipFile(path, "w") as out:
        for name in names:
            out.writestr(name, notices if name == "LICENSE.txt" else name)
    return path


def test_another_python_than_the_named_one_is_refused(tmp_path: Path) -> None:
    zipped = archive(tmp_path / "python.zip", "python.exe")
    right = hashlib.sha256(zipped.read_bytes()).hexdigest()

    assert windows_msi.checked(zipped, right.upper()) == zipped.read_bytes()
    with pytest.raises(windows_msi.MsiError, match=r"^python\.zip has the SHA-256 \w{64}"):
        windows_msi.checked(zipped, "0" * 64)


def test_the_private_python_reads_nothing_but_its_own_folders(tmp_path: Path) -> None:
    zipped = archive(tmp_path / "p.zip", "python.exe", "python313._pth", "_wmi.pyd", "LICENSE.txt")

    files, version = windows_msi.private_python(zipped)

    assert version == "3.13"
    assert files["python/python313._pth"] == b"python313.zip\r\n.\r\n..\\app\r\n"
    assert sorted(files) == ["python/LICENSE.txt", "python/python.exe", "python/python313._pth"]


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("python.exe", "Python"),
        ("libcrypto-3.dll", "OpenSSL"),
        ("vcruntime140.dll", "the Visual C++ runtime"),
        ("libffi-8.dll", "libffi"),
        ("_bz2.pyd", "bzip2"),
    ],
)
def test_nothing_is_packed_without_its_notice(tmp_path: Path, file: str, what: str) -> None:
    notices = "" if what == "Python" else PSF
    names = dict.fromkeys(["python.exe", file, "python313._pth", "LICENSE.txt"])
    zipped = archive(tmp_path / "p.zip", *names, notices=notices)

    said = re.escape(f"p.zip has no notice of {what} in its LICENSE.txt")
    with pytest.raises(windows_msi.MsiError, match=said):
        windows_msi.private_python(zipped)


def test_each_file_has_a_component_of_its_own_that_stays_the_same() -> None:
    files = {windows_msi.PYTHON: b"x", "app/a/b.py": b"y", "app/c.py": b"z"}

    text, names = windows_msi.directories(files)
    again, _ = windows_msi.directories({**files, windows_msi.PYTHON: b"newer"})

    assert text == again
    assert len(set(re.findall(r'Guid="([0-9A-F-]{36})"', text))) == len(names) == 3
    assert text.count("<Directory ") == 3
    assert text.count('<ServiceInstall Id="Service" Name="esewatch"') == 1


def test_the_msi_starts_programs_with_options_that_the_agent_knows() -> None:
    text = windows_msi.WXS.read_text(encoding="utf-8").replace("&quot;", '"')
    commands = re.findall(r'ExeCommand="-B -m esewatch (.*?)"/>', text)
    (service,) = re.findall(r'Arguments="-B -P -m esewatch (.*?)"/>', windows_msi.SERVICE)
    values = {"LISTENADDRESS": ":1", "FIREWALL": "none", "COUNTERS": "show", "WEBWORDS": ""}

    for line in [*commands, service.replace("&quot;", '"')]:
        filled = re.sub(r"\[(\w+)\]", lambda found: values.get(found[1], ""), line)
        words = [word.strip('"') or "x" for word in filled.split()]
        assert command_line(words[0]).parse_args(words).command == words[0]
    assert len(commands) == 3


def test_what_wixl_makes_up_in_the_summary_is_made_of_the_content() -> None:
    tick = (0x01DD_0000_0000_0000).to_bytes(8, "little")
    code = b"\x1e\0\0\0\x27\0\0\0{01234567-89AB-CDEF-0123-456789ABCDEF}\0"
    data = b"table" + b"\x40\0\0\0" + tick + b"\x40\0\0\0" + tick + code + b"end"

    made = windows_msi.settled(data, 0)

    assert made.count((116_444_736_000_000_000).to_bytes(8, "little")) == 2
    assert made == windows_msi.settled(data.replace(b"01234567-", b"76543210-"), 0)
    assert made != windows_msi.settled(data.replace(b"table", b"other"), 0)
    with pytest.raises(windows_msi.MsiError, match="has 0 times and 0 codes"):
        windows_msi.settled(b"no MSI", 0)


def needed_programs() -> None:
    for program in ("wixl", "msibuild", "msiinfo"):
        if shutil.which(program) is None:
            skip(f"{program} is not installed (apt-get install wixl msitools)", {"wixl"})
    if importlib.util.find_spec("ziglang") is None:
        skip("ziglang is not installed (pip install -r requirements/wheels.lock)", {"ziglang"})


@pytest.fixture(name="package", scope="module")
def _package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needed_programs()
    return built(tmp_path_factory.mktemp("msi"))


def built(folder: Path) -> Path:
    zipped = embedded_python()
    digest = hashlib.sha256(zipped.read_bytes()).hexdigest()
    return windows_msi.msi(zipped, digest, folder)


def table(package: Path, name: str) -> list[list[str]]:
    said = subprocess.run(
        ["msiinfo", "export", package, name], capture_output=True, text=True, check=True
    )
    return [line.split("\t") for line in said.stdout.splitlines()[3:]]


@pytest.mark.slow
def test_the_same_commit_and_python_give_the_same_msi(package: Path, tmp_path: Path) -> None:
    assert built(tmp_path).read_bytes() == package.read_bytes()
    assert package.stat().st_size < 40_000_000


@pytest.mark.slow
def test_the_service_is_made_prepared_and_started_in_this_order_and_taken_back(
    package: Path,
) -> None:
    order = {row[0]: int(row[2]) for row in table(package, "InstallExecuteSequence")}
    types = {row[0]: int(row[1]) for row in table(package, "CustomAction")}
    (service,) = table(package, "ServiceInstall")
    steps = ("InstallFiles", "InstallServices", "TakeBack", "Prepare", "StartServices")
    back = ("StopServices", "Restore", "DeleteServices", "RemoveFiles")

    assert [order[step] for step in steps] == sorted(order[step] for step in steps)
    assert [order[step] for step in back] == sorted(order[step] for step in back)
    # A program of the package, in the script, not impersonated; the second one on rollback.
    assert (types["Prepare"], types["TakeBack"]) == (18 + 1024 + 2048, 18 + 64 + 1024 + 2048 + 256)
    assert (service[1], service[8]) == ("esewatch", "[ACCOUNT]")


def test_windows_knows_the_source_of_our_events_and_the_msi_and_the_script_say_the_same() -> None:
    key = r"SYSTEM\CurrentControlSet\Services\EventLog\Application"
    text = windows_msi.WXS.read_text(encoding="utf-8")
    script = (windows_msi.WXS.parent / "install.ps1").read_text(encoding="ascii")
    file = r"%SystemRoot%\System32\EventCreate.exe"

    values = re.findall(
        rf'Key="{re.escape(key)}\\(\w+)" Name="(\w+)" Type="(\w+)" Value="(.*?)"', text
    )

    assert values == [
        ("esewatch", "EventMessageFile", "expandable", f"#%{file}"),
        ("esewatch", "TypesSupported", "integer", "7"),
    ]
    assert f"-PropertyType ExpandString -Force -Value '{file}'" in script
    assert f'$Events = "HKLM:\\{key}\\$Name"' in script


@pytest.mark.slow
def test_what_was_given_is_found_again_in_the_registry_of_64_bits(package: Path) -> None:
    written = {row[3] for row in table(package, "Registry") if row[2] == r"Software\esewatch"}
    read = {row[3]: row[4] for row in table(package, "RegLocator")}
    (secure,) = (r[1] for r in table(package, "Property") if r[0] == "SecureCustomProperties")

    assert set(read) == written
    assert not [row for row in table(package, "Registry") if row[2].endswith("\\")]
    assert set(read.values()) == {"18"}
    assert set(windows_msi.GIVEN) < set(secure.split(";"))


@pytest.mark.slow
def test_the_bill_of_materials_names_each_package_of_the_lock(
    package: Path, tmp_path: Path
) -> None:
    name = windows_msi.identifier("esewatch.cdx.json")
    subprocess.run(
        ["msiextract", "--directory", tmp_path, package], check=True, capture_output=True
    )
    (file,) = tmp_path.rglob("esewatch.cdx.json")
    bill = json.loads(file.read_text())
    lock = (ROOT / "requirements" / "runtime.lock").read_text()
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock, re.MULTILINE))

    assert [row for row in table(package, "File") if row[0] == name]
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    found = {each["name"]: each["version"] for each in bill["components"]}
    assert pins.items() <= found.items()
    assert set(found) - set(pins) == {"cpython", "esewatch"}
    assert all(re.fullmatch("[0-9a-f]{64}", e["hashes"][0]["content"]) for e in bill["components"])
    (notices,) = tmp_path.rglob("python/LICENSE.txt")
    text = notices.read_bytes()
    assert all(words in text for _, words in windows_msi.NOTICES.values())
    # Each package brings its own licence, or names it in its metadata.
    for about in tmp_path.rglob("app/*.dist-info"):
        files = {each.name.split(".")[0].upper() for each in about.rglob("*")}
        said = re.search(r"^License", (about / "METADATA").read_text(encoding="utf-8"), re.M)
        assert files & {"LICENSE", "LICENCE", "COPYING"} or said, about.name
    assert len(list(tmp_path.rglob("app/*.dist-info"))) == len(pins) + 1


@pytest.mark.slow
def test_the_package_can_be_signed_and_tells_a_change(package: Path, tmp_path: Path) -> None:
    if shutil.which("osslsigncode") is None:
        skip("osslsigncode is not installed (apt-get install osslsigncode)", {"wixl"})
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    signed, changed = tmp_path / "signed.msi", tmp_path / "changed.msi"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=made up for a test", "-addext", "extendedKeyUsage=codeSigning",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(
        ["osslsigncode", "sign", "-certs", certificate, "-key", key, "-h", "sha256",
         "-n", "esewatch", "-in", package, "-out", signed],
        check=True, capture_output=True,
    )  # fmt: skip
    data = bytearray(signed.read_bytes())
    at = data.index(b"MSCF") + 100_000
    data[at] ^= 1
    changed.write_bytes(data)
    verify = ["osslsigncode", "verify", "-CAfile", str(certificate), "-in"]

    right = subprocess.run([*verify, signed], capture_output=True, text=True, check=False)
    wrong = subprocess.run([*verify, changed], capture_output=True, text=True, check=False)

    assert right.returncode == 0, right.stdout + right.stderr
    assert wrong.returncode != 0
