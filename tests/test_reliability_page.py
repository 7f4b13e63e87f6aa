"""What docs/reliability.md promises: each line names a test, and the limits are those in use."""

import re
from pathlib import Path

from esewatch.config import Settings
from esewatch.expose.http import app, connection, requests
from esewatch.expose.http.connection import Limits
from esewatch.fold.databases import integrity
from esewatch.fold.identity import identity
from esewatch.fold.identity.entities import (
    EVENTS_A_DATABASE,
    MAX_EVENT_IDS,
    MAX_NAME,
    MAX_PROVIDERS,
    OWNERS_A_DATABASE,
    most_owners,
)
from esewatch.journal import quarantine
from esewatch.sources import log_limiter
from esewatch.sources.counters import exporter, scrape
from esewatch.sources.files import file_search, file_set, text_file
from tests.support.each import of_each

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
PROMISES = PAGE.partition("## Faults\n")[0]
DATABASES = Settings().max_databases
KIB, MIB = 1 << 10, 1 << 20

IN_USE = {
    "databases (`max_databases`)": f"{DATABASES:,}",
    "instances, devices, processes": f"{OWNERS_A_DATABASE * DATABASES:,}",
    "computers": f"{most_owners(Settings()):,}",
    "channels": f"{OWNERS_A_DATABASE * DATABASES:,}",
    "event ids that we do not know": str(MAX_EVENT_IDS),
    "event ids over all computers": f"{EVENTS_A_DATABASE * DATABASES:,}",
    "providers of one computer": str(MAX_PROVIDERS),
    "characters of a name": str(MAX_NAME),
    "characters of a path": f"{identity.MAX_PATH:,}",
    "known bad pages": f"{integrity.MAX_BAD_PAGES:,}",
    "files of a source": f"{file_search.MAX_FILES:,}",
    "text files of a source that are gone": f"{file_set.REMEMBERED:,}",
    "text files that a source keeps open": str(file_set.MAX_OPEN),
    "bytes of a line": f"{text_file.LONGEST // MIB} MiB",
    "bytes of an answer": f"{scrape.MAX_BYTES // MIB} MiB",
    "counters of an answer": f"{exporter.MAX_READINGS:,}",
    "bytes of the body": f"{requests.MAX_BODY // KIB} KiB, of {app.BODIES_AT_ONCE} at once",
    "bytes of a refused body": f"{requests.DROPPED // MIB} MiB, within 10 s",
    "bytes of a client that wait": f"{connection.AHEAD // KIB} KiB",
    "bytes of answers": f"{Limits().answer_bytes // MIB} MiB",
    "bytes of records set aside": f"{quarantine.MAX_BYTES // MIB} MiB",
}


def rows(heading: str) -> list[list[str]]:
    """The rows of the table under a heading, without its head."""
    text = PROMISES.partition(f"{heading}\n")[2].split("\n##", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [line.strip("|").strip().split(" | ") for line in lines[2:]]


def test_each_promise_and_each_limit_names_its_test() -> None:
    for heading in ("## What is promised", "### What is shed under load, and when", "### Limits"):
        found = rows(heading)
        assert len(found) >= 6
        for row in found:
            assert re.fullmatch(r"`tests/\S+::test_\w+`", row[-1].strip()), row


@of_each(sorted(set(re.findall(r"`(tests/\S+::test_\w+)`", PROMISES))))
def test_a_test_that_is_named_is_there(named: str) -> None:
    file, _, function = named.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^def {function}\(", text, re.MULTILINE)


def test_the_limits_are_those_in_use() -> None:
    shown = {row[0].strip(): row[1].strip() for row in rows("### Limits")}
    assert len(shown) == len(IN_USE)
    for begin, value in IN_USE.items():
        (found,) = [shown[name] for name in shown if name.startswith(begin)]
        assert found == value or found.startswith(f"{value} ("), begin
    assert f"all but {log_limiter.LINES} of one source" in PROMISES
    assert f" | {Limits().connections}, of one address {Limits().of_a_peer} |" in PROMISES
