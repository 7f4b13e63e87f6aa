"""The pages of a state, as the daemon has them of a snapshot."""

from collections.abc import Iterable

from esewatch.advice.history.derived import derived
from esewatch.advice.judgement import Judgement
from esewatch.config import Settings
from esewatch.daemon.publisher import Pages
from esewatch.expose.pages.overview import overview
from esewatch.fold.state.state import State


def pages_of(state: State, settings: Settings, now: float, advice: Iterable[Judgement]) -> Pages:
    known = derived(state, settings)
    made = overview(state, settings, now, tuple(advice), known)
    computers = sorted({*state.hosts, *(computer for computer, _ in state.databases)})
    return Pages(made, known.databases, settings, [tuple(computers)])
