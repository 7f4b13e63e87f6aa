"""Saved output of eseutil and esentutl: the runs in a text, and the result of each.

Read are `/k` (checksum mode) and `/mh` (dump of the database header); of `/g` and its file
`*.INTEG.RAW`, and of damaged logs in `/ml`, only that they are there. The programs
have their messages built in, in English, since Exchange 2000; a text is cut into runs
at `Initiating … mode...` and a run ends with `Operation completed …` or
`Operation terminated …`. Sources: eseutil.cxx, checksum.cxx, dbdump.cxx,
repair.cxx and logdump.cxx of the published engine.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from esewatch.model import PageFault

MAX_NAMED = 1000
"""Bad pages of a run that are named; more are only counted."""

PAGE_SIZES = frozenset({2048, 4096, 8192, 16384, 32768})

Outcome = Literal["success", "failed", "cut", "open"]
"""`cut`: the next run begins before this one has ended; `open`: the text ends before it."""

_BEGIN = re.compile(r"^[ \t.]*Initiating ([A-Z][A-Z ]{0,30}) mode\.\.\.", re.MULTILINE)
_BANNER = re.compile(
    r"^[ \t]*(?:Extensible Storage Engine Utilities|Microsoft\(R\) [^\n:]{0,40}Database Utilities)",
    re.MULTILINE,
)
_INTEGRITY_FILE = re.compile(r"^\*{5} (?:Integrity check|Repair) of database '", re.MULTILINE)
_DAMAGED_LOG = re.compile(r"^[^\n]*\bLog damaged \(unusable\)[^\n]*", re.MULTILINE | re.IGNORECASE)
INTEGRITY = (
    "an integrity check (eseutil /g) reads the structure and proves no page good: use eseutil /k"
)
_TEMPORARY = re.compile(r"^[^\n\\/\"]{0,60}TEMPCHKSUM\d{1,10}\.EDB[ \t]*$", re.MULTILINE)
"""Alone behind a word of any language: an event has a path."""
_END = re.compile(
    r"^[ \t.]*(Operation (?:(completed successfully) in (\d{1,9})[.,](\d{1,3}) seconds"
    r"|terminated[^\n]*? after (\d{1,9})[.,](\d{1,3}) seconds"
    r"|(?:completed|terminated)[^\n]*(?=\n)))",
    re.MULTILINE,
)
_DATABASE = re.compile(r"^[ \t]*Database:[ \t]*(\S[^\n]*)", re.MULTILINE)
_STREAMING = re.compile(r"^[ \t]*Streaming File:", re.MULTILINE)
_CHECKED_FILE = re.compile(r"^[ \t]*(?:File:|Checksumming)[ \t]*(\S[^\n]*)", re.MULTILINE)
_LINE = re.compile(r"[^\n]+")
_SUMMARY = re.compile(
    r"\s*(-?\d{1,10}) (pages seen|bad checksums|correctable checksums|uninitialized pages"
    r"|wrong page numbers)\s*$"
)
_BAD_PAGE = re.compile(r"ERROR: page (-?\d{1,10})(?: \(header\))? checksum")
_CORRECTABLE = re.compile(
    r"WARNING: page (-?\d{1,10})(?: \(header\))? checksum verification failed but"
)
_UNREAD = re.compile(r"Read at offset 0x[0-9A-Fa-f]{1,16} for \d{1,10} bytes failed")
_FIELD = re.compile(r"\s*([A-Za-z][A-Za-z ]{0,40}):[ \t]*(\S.*)")
_COUNT = re.compile(r"(?:found \((\d{1,10})\)|(\d{1,10}))$")
_WANTED = frozenset(
    {
        "cbdbpage",
        "state",
        "ecc fix success count",
        "ecc fix error count",
        "bad checksum error count",
    }
)
_HEADER_PAGES = 2
_SUMMARIES = 2
"""A run has one, or a second of the streaming file."""


class ChecksumRun(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a run of `/k` in a database.

    `pages_seen` is without the header and its shadow. `counted` has the bad pages by
    fault, `named` the (page number, fault) of those that the text names, at most 1,000.
    A damaged header is counted and not named: it has no page number.
    """

    complete: bool
    """Every page was read and the whole summary is there."""
    pages_seen: int
    uninitialized: int | None
    counted: dict[PageFault, int]
    named: tuple[tuple[int, PageFault], ...]
    unread: int
    """Reads that failed: their pages were not checked."""


class HeaderDump(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a run of `/mh`; None or empty: it does not say."""

    page_size: int | None
    state: str
    """The engine's word in lower case (`dirty shutdown`)."""
    bad_checksums: int | None
    corrected: int | None
    correction_failed: int | None


class EseutilRun(msgspec.Struct, frozen=True, kw_only=True):
    start: int
    end: int
    outcome: Outcome
    closing: str
    """The line that ended it, empty when none did."""
    seconds: float | None
    """Duration, where it says so."""
    database: str
    result: ChecksumRun | HeaderDump | None
    note: str = ""
    """A sentence for a person, of other things than a database's pages."""


class Body(NamedTuple):
    """The text of one run: `text` from `start` to `end`, line ends are LF."""

    text: str
    start: int
    end: int

    def lines(self) -> Iterator[str]:
        """The lines that are not empty, one at a time: a run may have millions."""
        return (line[0] for line in _LINE.finditer(self.text, self.start, self.end))

    def first(self, pattern: re.Pattern[str]) -> str:
        """The last group of the first line that fits, stripped; empty when none does."""
        found = pattern.search(self.text, self.start, self.end)
        return found[found.lastindex or 0].strip() if found else ""


def is_output(text: str) -> bool:
    """Does `text` hold output of eseutil, of whatever mode?"""
    text = text.replace("\r", "\n")
    return any(each.search(text) for each in (_BEGIN, _TEMPORARY, _INTEGRITY_FILE))


def is_integrity_file(text: str) -> bool:
    """Is it the file `*.INTEG.RAW` of an integrity check or a repair?"""
    return _INTEGRITY_FILE.search(text) is not None


def runs(text: str, offset: int = 0) -> Iterator[EseutilRun]:
    """The runs that begin at `offset` or behind it, in the order of the text."""
    # The console writes CR LF, CR CR LF or a lone CR; offsets stay as they are.
    text = text.replace("\r", "\n")
    begin = _BEGIN.search(text, offset)
    while begin is not None:
        following = _BEGIN.search(text, begin.end())
        limit = following.start() if following else len(text)
        # A run that could not begin has only its banner and an end, which is not this one's.
        banner = _BANNER.search(text, begin.end(), limit)
        if banner:
            limit = banner.start()
        yield _run(text, begin, limit, last=limit == len(text))
        begin = following


def _run(text: str, begin: re.Match[str], limit: int, *, last: bool) -> EseutilRun:
    ended = _END.search(text, begin.end(), limit)
    if ended is None:
        outcome: Outcome = "open" if last else "cut"
    else:
        outcome = "success" if ended[2] else "failed"
    end = ended.end() if ended else limit
    # Whole seconds, then milliseconds without leading zeros.
    whole, thousandths = (ended[3] or ended[5], ended[4] or ended[6]) if ended else ("", "")
    body = Body(text, begin.end(), end)
    database, result, note = "", None, ""
    if begin[1] == "INTEGRITY":
        note = INTEGRITY
    elif begin[1] == "FILE DUMP":
        note = body.first(_DAMAGED_LOG)
    if begin[1] in {"CHECKSUM", "FILE DUMP"}:
        database = body.first(_DATABASE)
    if database:
        result = _check(body, outcome) if begin[1] == "CHECKSUM" else _header(body)
    return EseutilRun(
        start=begin.start(),
        end=end,
        outcome=outcome,
        closing=ended[1].strip() if ended else "",
        seconds=int(whole) + int(thousandths) / 1000 if whole else None,
        database=database,
        result=result,
        note=note,
    )


def _check(body: Body, outcome: Outcome) -> ChecksumRun:
    named: dict[tuple[int, PageFault], None] = {}
    lines: Counter[PageFault] = Counter()
    sums: list[dict[str, int]] = []
    unread = 0
    for line in body.lines():
        if summary := _SUMMARY.match(line):
            # Exchange 2003 counts the streaming file by itself, behind the database.
            if len(sums) <= _SUMMARIES and (summary[2] == "pages seen" or not sums):
                sums.append({})
            # Printed as signed 32 bit: from 2^31 pages on it is negative.
            sums[-1].setdefault(summary[2], int(summary[1]) & 0xFFFFFFFF)
        elif found := _bad_page(line):
            lines[found[1]] += 1
            if found[0] > 0 and len(sums) < 2 and len(named) < MAX_NAMED:
                named[found] = None
        elif _UNREAD.search(line):
            unread += 1
    first = sums[0] if sums else {}
    pages = first.get("pages seen", 0)
    return ChecksumRun(
        complete=outcome == "success"
        and len(sums) <= _SUMMARIES
        and pages > _HEADER_PAGES
        and "wrong page numbers" in first
        and all("pages seen" in each and "bad checksums" in each for each in sums)
        and not unread
        and _of_the_database(body, len(sums)),
        pages_seen=max(0, pages - _HEADER_PAGES),
        uninitialized=first.get("uninitialized pages"),
        counted=_counted(sums, lines),
        named=tuple(named),
        unread=unread,
    )


def _bad_page(line: str) -> tuple[int, PageFault] | None:
    if bad := _BAD_PAGE.search(line):
        return int(bad[1]), "uncorrectable"
    if correctable := _CORRECTABLE.search(line):
        return int(correctable[1]), "corrected"
    return None


def _of_the_database(body: Body, summaries: int) -> bool:
    """True if the first summary is the database's and not that of its streaming file alone."""
    if summaries > 1 or not body.first(_STREAMING):
        return True
    return body.first(_CHECKED_FILE).lower() == body.first(_DATABASE).lower()


def _counted(sums: list[dict[str, int]], lines: Counter[PageFault]) -> dict[PageFault, int]:
    """Bad pages by fault: the count of the summary, or more where more are named."""
    faults: tuple[tuple[PageFault, str], ...] = (
        ("uncorrectable", "bad checksums"),
        ("corrected", "correctable checksums"),
        ("wrong_page", "wrong page numbers"),
    )
    counts = {
        fault: max(sum(each.get(words, 0) for each in sums), lines[fault])
        for fault, words in faults
    }
    return {fault: count for fault, count in counts.items() if count}


def _header(body: Body) -> HeaderDump | None:
    """The fields of the first header in the dump; None when the dump has none."""
    fields: dict[str, str] = {}
    for line in body.lines():
        field = _FIELD.match(line)
        if field and field[1].lower() in _WANTED:
            fields.setdefault(field[1].lower(), field[2].strip())
    if "cbdbpage" not in fields and "bad checksum error count" not in fields:
        return None
    size = fields.get("cbdbpage", "")
    page_size = int(size) if re.fullmatch(r"\d{1,5}", size, re.ASCII) else 0
    return HeaderDump(
        page_size=page_size if page_size in PAGE_SIZES else None,
        state=fields.get("state", "")[:40].lower(),
        bad_checksums=_count(fields.get("bad checksum error count")),
        corrected=_count(fields.get("ecc fix success count")),
        correction_failed=_count(fields.get("ecc fix error count")),
    )


def _count(value: str | None) -> int | None:
    """`none` is 0, `found (3)` is 3."""
    if value is None or value == "none":
        return None if value is None else 0
    found = _COUNT.match(value)
    return int(found[1] or found[2]) if found else None
