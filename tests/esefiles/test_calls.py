"""The three calls of the library: `esefiles.scan`, `check` and `header`."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import esefiles
from esefiles import page_scan
from tests.esefiles.commands.one_disk import OneDisk
from tests.support.edb import write_edb

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_scan, "Topology", OneDisk)


def database(path: Path, *, bad: int = 0) -> Path:
    """A good database of 20 pages, or one whose page `bad` is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = write_edb(path, pages=20)
    if bad:
        with path.open("r+b") as file:
            file.seek((bad + 1) * made.page_size + 200)
            file.write(b"\xff\xff\xff\xff")
    return path


def test_a_scan_gives_the_result_of_each_file_and_says_what_it_cannot_use(tmp_path: Path) -> None:
    good = database(tmp_path / "folder" / "good.edb")
    bad = database(tmp_path / "bad.edb", bad=7)
    (tmp_path / "text.txt").write_text("no database")
    named = [str(good.parent), str(bad), str(tmp_path / "text.txt"), str(tmp_path / "gone.edb")]
    found = {result.path: result for result in esefiles.scan(named)}
    assert {Path(path).name: result.ended for path, result in found.items()} == {
        "good.edb": "complete",
        "bad.edb": "complete",
        "text.txt": "failed",
        "gone.edb": "failed",
    }
    places = {path: result.place for path, result in found.items()}
    of_good, of_bad = places[str(good)], places[str(bad)]
    assert of_good is not None
    assert of_bad is not None
    assert (of_good.counts.pages_seen, of_good.counts.bad()) == (20, 0)
    assert [page.page_number for page in of_bad.counts.listed] == [7]
    assert "no such file" in found[str(tmp_path / "gone.edb")].reason


def test_nothing_is_kept_where_no_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = database(tmp_path / "a.edb")
    assert [result.ended for result in esefiles.scan([str(path)])] == ["complete"]
    assert not (tmp_path / "state").exists()


def test_what_was_not_begun_is_told_last(tmp_path: Path) -> None:
    paths = [str(database(tmp_path / f"{name}.edb")) for name in "ab"]
    stop = threading.Event()
    stop.set()
    found = list(esefiles.scan(paths, stop=stop))
    assert {result.path: result.ended for result in found} == dict.fromkeys(paths, "stopped")
    found = list(esefiles.scan(paths, max_time=0.0))
    assert {result.path: result.ended for result in found} == dict.fromkeys(paths, "time")
    checked = list(esefiles.check(paths, max_time=0.0))
    assert [copy.verdict for copy in checked] == [None, None]


def test_a_caller_that_wants_no_more_ends_the_scan(tmp_path: Path) -> None:
    paths = [str(database(tmp_path / f"{name}.edb")) for name in "abc"]
    stop = threading.Event()
    results = esefiles.scan(paths, stop=stop)
    assert next(results).ended == "complete"
    assert not stop.is_set()
    results.close()  # type: ignore[attr-defined]
    assert stop.is_set()


def test_an_error_in_a_watcher_reaches_the_caller(tmp_path: Path) -> None:
    class Broken(esefiles.Watcher):
        def reaches(self, lane: object, offset: int) -> None:
            raise LookupError(offset)

    path = database(tmp_path / "a.edb")
    with pytest.raises(LookupError):
        list(esefiles.scan([str(path)], watcher=Broken()))


def test_a_copy_has_a_verdict_or_says_why_not(tmp_path: Path) -> None:
    good = database(tmp_path / "good.edb")
    (tmp_path / "lost.edb").write_bytes(bytes(100_000))
    found = {Path(copy.file.path).name: copy for copy in esefiles.check([str(tmp_path)])}
    outcomes = {name: copy.verdict and copy.verdict.outcome for name, copy in found.items()}
    assert outcomes == {"good.edb": "restorable", "lost.edb": "not_restorable"}
    (gone,) = esefiles.check([str(tmp_path / "gone")])
    assert (gone.verdict, gone.file.ended) == (None, "failed")
    assert list(esefiles.check([])) == []
    deep = next(iter(esefiles.check([str(good)], deep=True)))
    assert deep.structure is not None


def test_a_header_is_given_or_an_error_names_the_file(tmp_path: Path) -> None:
    path = database(tmp_path / "a.edb")
    found = esefiles.header(str(path))
    assert (found.path, found.size_bytes) == (str(path), path.stat().st_size)
    assert found.content.page_size == 4096  # type: ignore[union-attr]
    for name, content in (("text.txt", b"no database"), ("gone.edb", None)):
        other = tmp_path / name
        if content is not None:
            other.write_bytes(content)
        with pytest.raises(esefiles.HeaderError, match=re.escape(str(other))) as raised:
            esefiles.header(str(other))
        assert not raised.value.damaged


def test_the_example_of_the_docs_runs(tmp_path: Path) -> None:
    text = (DOCS / "check.md").read_text(encoding="utf-8").partition("## From a script")[2]
    example = text.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "logs").mkdir()
    database(tmp_path / "copy" / "good.edb")
    database(tmp_path / "copy" / "bad.edb", bad=7)
    (tmp_path / "copy" / "access.edb").write_bytes(b"\0\1\0\0Standard Jet DB" + bytes(5000))
    for named, there in (("/backup/2026-11-30", "copy"), ("/backup/logs", "logs")):
        assert named in example
        example = example.replace(named, str(tmp_path / there))
    done = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert any("bad.edb not_restorable" in line for line in lines)
    assert any("access.edb has no verdict" in line for line in lines)
    assert not any("good.edb" in line for line in lines)


def test_who_needs_names_alone_imports_no_reader() -> None:
    code = "import sys, esefiles, esefiles.base.units; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "esefiles.base.units" in loaded
    assert [name for name in loaded if name.startswith("esefiles.scans")] == []


def test_each_name_of_the_package_is_there_and_no_other() -> None:
    assert all(getattr(esefiles, name).__doc__ for name in esefiles.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'verify'"):
        esefiles.verify  # noqa: B018
