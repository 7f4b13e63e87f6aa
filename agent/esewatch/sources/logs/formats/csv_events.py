"""Events in tables of separated values: Export-Csv, and the exports of Event Viewer."""

import contextlib
import csv
import io

from esewatch.sources.files.decoder import Fed
from esewatch.sources.logs.formats.event_builder import Harvest, LogDecoder
from esewatch.sources.logs.formats.fields import gather
from esewatch.sources.logs.formats.json_values import strings_of
from esewatch.sources.logs.formats.prefilter import hit_between
from esewatch.sources.logs.formats.tables import CONTAINERS, ColumnNames, header_of
from esewatch.sources.logs.formats.text_events import TextEvents
from esewatch.sources.logs.formats.times import looks_dated

_ROW_LINES = 400
_ROW_BYTES = 1 << 17
_HEADER_WORDS = (b"ProviderName", b"SourceName", b"ReplacementStrings", b"Date and Time")


class CsvEvents(LogDecoder):
    """Decoder of rows under a header; the layout is its context."""

    _alone = 0

    @property
    def _layout(self) -> ColumnNames:
        assert self._state.layout is not None
        return self._state.layout

    def feed(self, data: bytes, *, final: bool) -> Fed:
        harvest = Harvest()
        hits = self._needles.hits(data, _HEADER_WORDS)
        self._alone = at = 0
        others: list[bytes] = []
        while at < len(data):
            end = self._row_end(data, at, final=final)
            if end is None:
                break
            if hit_between(hits, at, end) and not data.startswith(b"#TYPE ", at):
                end = self._row(data, at, end, harvest)
            else:
                others.append(data[at:end])
            at = end
        self._hear(others, harvest)
        return harvest.fed(data, at)[0]

    def _row_end(self, data: bytes, at: int, *, final: bool) -> int | None:
        """End of the row that starts at `at`: the line end outside of quotes. A quote that is not
        closed within 400 lines is taken as a letter: `_alone` is how far each line is then a row of
        its own."""
        quotes, start = 0, at
        for _ in range(_ROW_LINES):
            end = data.find(b"\n", start) + 1
            if not end:
                if not final:
                    return None
                end = len(data)
            quotes += data.count(b'"', start, end)
            if quotes % 2 == 0 or at < self._alone:
                return end
            if end - at > _ROW_BYTES:
                break
            if end == len(data):
                if final:
                    break
                return None
            start = end
        self._alone = end
        return data.find(b"\n", at) + 1 or len(data)

    def _hear(self, rows: list[bytes], harvest: Harvest) -> None:
        """Note the times of rows of other providers; one that cannot be read is not asked for."""
        text = b"".join(rows).decode("utf-8", "replace")
        names = self._layout.columns
        told = csv.reader(io.StringIO(text, newline=""), delimiter=self._layout.separator)
        with contextlib.suppress(csv.Error):
            for cells in told:
                found = gather(dict(zip(names, cells, strict=False)))
                if found.event_id is not None:
                    self._maker.hear(found, harvest)

    def _row(self, data: bytes, at: int, end: int, harvest: Harvest) -> int:
        """Take one row; where it ends may turn out to be earlier than its quotes said."""
        text = data[at:end].decode("utf-8", "replace")
        try:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=self._layout.separator)
            cells = next(rows)
        except (csv.Error, StopIteration):
            cells = []
        columns = self._layout.columns
        layout = header_of(cells, self._layout.separator)
        if layout is not None:
            self._state.layout = layout
            return end
        if len(cells) == len(columns) + 1 and "message" not in columns:
            columns = (*columns, "message")
        if len(cells) == len(columns):
            values = dict(zip(columns, cells, strict=True))
            self._take(values, at, harvest)
            return end
        first = data.find(b"\n", at, end) + 1 or end
        if self._needles.any_in(data[at:first]) or first == end:
            harvest.complain(at, f"a row of {len(cells)} columns under {len(columns)} names")
        self._alone = max(self._alone, end)
        return first

    def _take(self, values: dict[str, str], at: int, harvest: Harvest) -> None:
        self._maker.foreign, said = False, harvest.said
        found = gather(values)
        whole = [values[name] for name in CONTAINERS if values.get(name)]
        if found.event_id is None and len(whole) == 1:
            fed = TextEvents(self._maker, self._needles).feed(whole[0].encode(), final=True)
            harvest.take(fed, at, self._maker.completed_by(found, timed="raw" in values))
        else:
            found.strings, timeless = strings_of(values), found.time is None
            dated = [name for name, cell in values.items() if looks_dated(cell)]
            if self._maker.add(found, at, harvest) and timeless and dated:
                harvest.complain(at, f"the time in the column {dated[0]} is not read")
        self._maker.tell_unread("\t".join(values.values()).encode(), at, harvest, said)
