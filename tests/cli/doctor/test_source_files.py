"""What the account of the daemon may not read, and that the command given fixes it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from esewatch.cli.doctor.source_files import (
    Account,
    account_of,
    granting,
    missing_rights,
    shell_word,
)
from tests.cli.doctor_site import Site

pytestmark = pytest.mark.skipif(os.name == "nt", reason="rights of POSIX")
ROOT = os.name != "nt" and os.geteuid() == 0
NOBODY = 65534


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Site:
    """Its journal is of the account that the daemon runs as: nobody, or who runs this."""
    made = Site(tmp_path, capsys)
    made.write()
    made.ran()
    if ROOT:
        for path in (made.journal.parent, *made.journal.parent.iterdir()):
            os.chown(path, NOBODY, NOBODY)
        for folder in (tmp_path, *tmp_path.parents[:-1]):
            folder.chmod(folder.stat().st_mode | 0o011)
    return made


def run(command: str) -> None:
    subprocess.run(["/bin/sh", "-c", command], check=True, capture_output=True, timeout=600)


def reader() -> Account:
    return Account("nobody", NOBODY, NOBODY) if ROOT else Account("me")


def test_the_account_is_the_owner_of_the_journal(site: Site) -> None:
    found = account_of(site.journal)
    assert found.uid == (NOBODY if ROOT else None)
    assert account_of(Path("/no/such/journal")).name


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_not_be_read_comes_with_a_command_that_mends_it(site: Site, what: str) -> None:
    barred = site.logs if what == "folder" else site.logs / "ex01.evtx"
    barred.chmod(0)
    found = [each for each in site.doctor()[1] if each["problem"] == "no_permission"]
    assert [each["source"] for each in found] == (
        ["counters", "logs"] if what == "folder" else ["logs"]
    )
    assert str(barred) in found[0]["sentence"]
    if ROOT:
        for each in found:
            run(each["command"])
        assert "no_permission" not in site.names()
    barred.chmod(0o755)


@pytest.mark.parametrize("mode", [0, 0o700, 0o711])
@pytest.mark.parametrize("pattern", ["logs/*/*.evtx", "logs/**/*.evtx"])
def test_a_folder_that_a_pattern_goes_through_is_mended_too(
    site: Site, pattern: str, mode: int
) -> None:
    if not ROOT:
        pytest.skip("only root can look as another account")
    below = site.logs / "a $(b) 'c'"
    below.mkdir()
    (site.logs / "ex01.evtx").rename(below / "ex01.evtx")
    site.configure(f'sources: [{{name: logs, type: evtx, path: "{pattern}"}}]\n')
    below.chmod(mode)
    found = site.named("no_permission")
    assert str(below) in found["sentence"]
    run(found["command"])
    assert below.stat().st_mode & 0o005 == 0o005 or shutil.which("setfacl")
    assert "no_permission" not in site.names()


def test_a_command_that_does_not_mend_all_says_so(site: Site) -> None:
    if not ROOT:
        pytest.skip("only root can look as another account")
    for number in range(9):
        barred = site.logs / f"{number}.evtx"
        barred.write_bytes(b"")
        barred.chmod(0)
    found = site.named("no_permission")
    assert found["sentence"].endswith("and 6 more. The command is for the first of them")
    run(found["command"])
    assert "first of them" not in site.named("no_permission")["sentence"]


def test_folders_on_the_way_are_named_too(site: Site) -> None:
    site.logs.parent.chmod(0o700)
    found = site.names()
    assert ("no_permission" in found) == ROOT
    if ROOT:
        run(site.named("journal_unwritable")["command"])
        for each in site.doctor()[1]:
            if each["problem"] == "no_permission":
                run(each["command"])
        assert "no_permission" not in site.names()


def test_what_may_be_read_is_no_problem(site: Site) -> None:
    assert site.names() == []


def test_a_journal_that_may_not_be_written_is_told(site: Site) -> None:
    site.journal.chmod(0o444)
    site.journal.parent.chmod(0o555)
    if ROOT:
        os.chown(site.journal.parent, 0, 0)
    found = [each for each in site.doctor()[1] if each["problem"] == "journal_unwritable"]
    assert len(found) == 1
    assert str(site.journal) in found[0]["sentence"]
    if ROOT:
        run(found[0]["command"])
        assert "journal_unwritable" not in site.names()
    site.journal.parent.chmod(0o755)


def test_a_journal_that_this_account_may_not_read_is_for_root(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: path != site.journal and really(path, mode)
    )
    found = site.named("no_permission")
    assert str(site.journal) in found["sentence"]
    again = f"sudo esewatch doctor --config.file {site.config} --web.address 127.0.0.1:1"
    assert found["command"] == again


def test_rights_are_asked_of_the_kernel_as_that_account(tmp_path: Path) -> None:
    if not ROOT:
        pytest.skip("only root can look as another account")
    open_, closed = tmp_path / "it's open", tmp_path / "$(closed)"
    for path in (open_, closed):
        path.write_text("")
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        folder.chmod(folder.stat().st_mode | 0o011)
    open_.chmod(0o644)
    closed.chmod(0o600)
    asked = [("r", str(open_)), ("w", str(open_)), ("r", str(closed)), ("x", str(tmp_path))]
    assert missing_rights(reader(), asked) == [("w", str(open_)), ("r", str(closed))]
    assert missing_rights(Account("root"), asked) == []


def test_access_lists_are_used_where_the_machine_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/setfacl")
    missing = [("r", "/a b"), ("x", "/a b"), ("r", "/c")]
    assert granting(Account("esewatch", 7), missing) == (
        "setfacl -m u:esewatch:rx '/a b' && setfacl -m u:esewatch:r /c"
    )
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert granting(Account("esewatch", 7), missing) == "chmod a+rx '/a b' && chmod a+r /c"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("C:\\a b\\it's", '"C:\\a b\\it\'s"'),
        ("C:\\$x\\it's", "'C:\\$x\\it''s'"),
        ("C:\\`x%", "'C:\\`x%'"),
        ("C:\\\u201dx\u2019", "'C:\\\u201dx\u2019\u2019'"),
    ],
)
def test_words_of_windows_commands_are_taken_as_they_are(
    monkeypatch: pytest.MonkeyPatch, text: str, word: str
) -> None:
    monkeypatch.setattr(os, "name", "nt")
    written = shell_word(text)
    monkeypatch.undo()
    assert written == word
