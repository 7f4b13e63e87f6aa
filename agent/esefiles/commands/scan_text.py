"""Results of a scan as text and as a JSON object."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from esefiles.base.names import printable, visible
from esefiles.base.units import show_duration, size
from esefiles.scans.results import Counts, FileResult, ScannedBadPage

_encode = msgspec.json.Encoder().encode

_WHAT = {
    "checksum": "checksum",
    "correctable": "one flipped bit a block, correctable",
    "wrong_page": "wrong page",
    "truncated": "missing: the file ends before its end, or it is blank (was the copy finished?)",
    "unreadable": "cannot be read (I/O error)",
}

_OF_HEADER = ("page_size", "format", "state", "header_ok", "shadow_header_ok")
_OF_COUNTS = (
    "pages_seen", "bad_checksums", "correctable", "wrong_page_number", "uninitialized_pages",
    "truncated", "unread_bytes", "bytes",
)  # fmt: skip


def is_wrong(result: FileResult) -> bool:
    """True if anything is wrong with the file: a bad page, a bad copy of the header, or nothing of
    a database in it."""
    if result.ended == "lost":
        return True
    header, place = result.header, result.place
    copies = header is None or (header.header_ok and header.shadow_header_ok)
    return not copies or (place is not None and place.counts.bad() > 0)


def json_object(result: FileResult, limit: int) -> dict[str, Any]:
    """The object of `scan --format json`, with at most `limit` bad pages."""
    header, place = result.header, result.place
    assert header is not None
    assert place is not None
    counts, latency = place.counts, result.latency
    found: dict[str, Any] = {
        "path": printable(result.path),
        **{name: getattr(header, name) for name in _OF_HEADER},
        **{name: getattr(counts, name) for name in _OF_COUNTS},
        "size_bytes": place.size,
        "seconds": round(counts.seconds, 3),
    }
    if latency is not None:
        found["read_latency_seconds"] = {
            "p50": float(f"{latency.p50:.3g}"),
            "p99": float(f"{latency.p99:.3g}"),
        }
    found["direct"] = result.direct
    if result.device:
        found["device"] = result.device
    listed = counts.listed[:limit]
    found["bad_pages"] = [_bad_page(page) for page in listed]
    found["bad_pages_not_listed"] = counts.bad() - len(listed)
    found["complete"] = result.ended == "complete"
    found["ended"] = result.ended
    if result.reason:
        found["reason"] = printable(result.reason)
    found["remarks"] = result.remarks + end_notes(result)
    return found


def json_line(found: dict[str, Any]) -> str:
    return _encode(found).decode("utf-8", "surrogatepass") + "\n"


def _bad_page(page: ScannedBadPage) -> dict[str, Any]:
    found: dict[str, Any] = {
        "page_number": page.page_number,
        "offset": page.offset,
        "kind": page.kind,
    }
    for key in ("block", "bit", "written_as"):
        if (value := getattr(page, key)) is not None:
            found[key] = value
    if page.bits:
        found["bits"] = page.bits
    return found


def end_notes(result: FileResult) -> list[str]:
    """Notes on what the file lacks, or on bad pages that are one run up to its end."""
    if result.missing is not None:
        return [result.missing.sentence()]
    place = result.place
    if result.ended != "complete" or place is None or place.counts.unlisted:
        return []
    pages = place.counts.listed
    first = pages[0].page_number if pages else 0
    last = place.offset // place.page_size - 2
    run = [page.page_number for page in pages] == list(range(first, last + 1))
    if len(pages) < 2 or not run or any(page.kind != "checksum" for page in pages):
        return []
    return [
        f"all bad pages form one run to the end of the file (from page {first} on):"
        " space that was allocated and never written looks so, and may belong to no table"
    ]


def text_lines(result: FileResult, limit: int) -> Iterator[str]:
    """Lines about a file that has a header, with at most `limit` lines of bad pages."""
    header, place = result.header, result.place
    assert header is not None
    assert place is not None
    counts = place.counts
    device = f", device {result.device}" if result.device else ""
    pages = f"{size(place.size)}, {header.page_size // 1024} KiB pages"
    yield visible(result.path)
    yield f"  {pages}, format {header.format}, {header.state} state{device}"
    yield (
        f"  {counts.pages_seen:,} pages read: {counts.uninitialized_pages:,} blank,"
        f" {counts.bad():,} bad{_kinds(counts)}"
    )
    if counts.listed and limit:
        runs = list(_runs(counts.listed, place.page_size))
        for run in runs[:limit]:
            yield f"    {_run_text(run)}"
        rest = counts.bad() - sum(map(len, runs[:limit]))
        if rest:
            yield f"    and {rest:,} more"
    for remark in result.remarks + end_notes(result):
        yield f"  note: {visible(remark)}"
    if not result.direct:
        how = "read through the page cache"
        yield f"  note: {how}: data that was in memory was not read from the disk"
    seconds = counts.seconds
    rate = f", {size(counts.bytes / seconds)}/s" if seconds > 0 else ""
    took = f"{seconds:.2f}s" if seconds < 60 else show_duration(seconds)
    yield f"  read {size(counts.bytes)} in {took}{rate}"
    yield f"  {_verdict(result, counts)}"


def _kinds(counts: Counts) -> str:
    unreadable = counts.bad() - (
        counts.bad_checksums + counts.correctable + counts.wrong_page_number + counts.truncated
    )
    kinds = {
        "checksum": counts.bad_checksums,
        "correctable": counts.correctable,
        "wrong page": counts.wrong_page_number,
        "truncated": counts.truncated,
        "unreadable": unreadable,
    }
    known = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items() if number)
    return f" ({known})" if known else ""


def _runs(pages: Sequence[ScannedBadPage], page_size: int) -> Iterator[list[ScannedBadPage]]:
    """Pages of one kind that follow one another; those with a bit or number stand alone."""
    run: list[ScannedBadPage] = []
    for page in pages:
        joins = (
            run
            and page.offset == run[-1].offset + page_size
            and page.kind == run[-1].kind
            and page.bit is None
            and page.written_as is None
        )
        if joins:
            run.append(page)
        else:
            if run:
                yield run
            run = [page]
    if run:
        yield run


def _run_text(run: Sequence[ScannedBadPage]) -> str:
    first, last = run[0], run[-1]
    if len(run) > 1:
        return f"pages {first.page_number}-{last.page_number}: {_WHAT[first.kind]}"
    text = f"page {first.page_number} at byte {first.offset}: {_WHAT[first.kind]}"
    if first.written_as is not None:
        text += f", written as page {first.written_as}"
    elif first.kind == "correctable":
        bits = first.bits or (first.bit,)
        text += f" (bit {', '.join(map(str, bits))})"
    elif first.block is not None:
        text += f", block {first.block}"
    return text


def _verdict(result: FileResult, counts: Counts) -> str:
    going = "" if result.ended == "complete" else f" Not done yet: {_why(result)}."
    header = result.header
    if result.missing is not None and (number := result.missing.number()):
        others = counts.bad() - 1
        bad = f", and {_pages(others)} bad" if others else ""
        missing = f"BAD: {_pages(number)} missing{bad}."
        return f"{missing}{going} {_next('EseKnownBadPage')}"
    if counts.bad() > counts.correctable:
        return f"BAD: {_pages(counts.bad())} bad.{going} {_next('EseKnownBadPage')}"
    if counts.bad():
        return (
            f"BAD: {_pages(counts.bad())} correctable, so the data is right, but bits do not"
            f" flip by themselves.{going} {_next('EseCorrectedPage')}"
        )
    if header is not None and not (header.header_ok and header.shadow_header_ok):
        what = "a copy of the header is damaged"
        if not (header.header_ok or header.shadow_header_ok):
            what = "the header and its shadow are damaged"
        return f"BAD: all pages read are good, but {what}.{going} {_next('EseKnownBadPage')}"
    if going:
        resume = "" if result.ended == "failed" else "; --resume goes on from here"
        return f"NOT DONE: {_why(result)}. No bad page so far{resume}."
    return "GOOD: every page verifies"


def _next(runbook: str) -> str:
    return (
        f"What to do next is in the runbook {runbook} (docs/runbooks/{runbook}.md;"
        f" a running esewatch serves it at /runbooks/{runbook})."
    )


def _why(result: FileResult) -> str:
    return visible(result.reason.removeprefix(f"{result.path}: ").rstrip("."))


def _pages(number: int) -> str:
    return "1 page is" if number == 1 else f"{number:,} pages are"
