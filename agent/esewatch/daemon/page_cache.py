"""Cache of the pages' content, made once for each snapshot."""

from esewatch.advice.base.left_out import LeftOut, without
from esewatch.advice.history.derived import AllDerived, derived
from esewatch.advice.history.history import Gathering
from esewatch.advice.judgement import Judgement
from esewatch.config import Settings
from esewatch.expose.formatting import tidy
from esewatch.expose.metrics.snapshot import Snapshot
from esewatch.expose.pages.database_page import DatabasePage, database_page
from esewatch.expose.pages.overview import Overview, overview
from esewatch.fold.state.state import Database, State

MAX_PAGES = 32
"""Pages cached for one snapshot, at some 90 KB each where there is much history."""


class PageCache:
    """The figures of the snapshot `of`, and the last 32 requested pages.

    `before` is what was derived for that snapshot: the state may have changed since. Databases that
    cannot be shown are put into `left_out`.
    """

    def __init__(
        self,
        of: Snapshot,
        state: State,
        settings: Settings,
        now: float,
        advice: tuple[Judgement, ...],
        *,
        before: AllDerived | None = None,
        left_out: LeftOut | None = None,
    ) -> None:
        self.of = of
        self._settings = settings
        known = derived(state, settings, before, left_out=left_out)
        self._known = known.databases
        self.overview: Overview = overview(
            without(state, left_out or ()), settings, now, advice, known, left_out=left_out
        )
        self._figures = {(each.computer, each.database): each for each in self.overview.databases}
        self._pages: dict[tuple[str, str], DatabasePage] = {}

    def database(self, state: State, computer: str, database: str) -> DatabasePage | None:
        """Return the page of one database by its shown labels; None when it is not known. `state`
        is the current one: the rest of the page may be younger than its figures."""
        wanted = (computer, database)
        if wanted not in self._pages:
            figures = self._figures.get(wanted)
            entry = _entry(state, wanted)
            if figures is None or entry is None:
                return None
            if len(self._pages) >= MAX_PAGES:
                del self._pages[next(iter(self._pages))]
            self._pages[wanted] = database_page(
                Gathering.of(state, self._settings),
                figures,
                self._known[entry.computer, entry.database],
                self.overview.now,
            )
        return self._pages[wanted]


def _entry(state: State, shown: tuple[str, str]) -> Database | None:
    """Find the database by its names, or by the shown form of names that no page can hold."""
    if shown in state.databases:
        return state.databases[shown]
    for key, entry in state.databases.items():
        if (tidy(key[0]), tidy(key[1])) == shown:
            return entry
    return None
