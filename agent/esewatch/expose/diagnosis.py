"""What esewatch cannot see, and what mends it: the list of the status page and of `doctor`.

A pure function of (state, settings, now), like the figures. What only a look at files and
processes tells is found by the command `doctor` and is not on the page.
"""

from collections.abc import Iterable, Sequence

from esewatch.config import Settings
from esewatch.expose.diagnosis_databases import Known, of_databases
from esewatch.expose.diagnosis_figures import of_figures
from esewatch.expose.diagnosis_problem import Problem, in_order
from esewatch.expose.diagnosis_sources import of_sources
from esewatch.expose.diagnosis_verification import of_verification
from esewatch.expose.hidden import Hidden
from esewatch.fold.state import State


def diagnose(
    state: State,
    settings: Settings,
    now: float,
    known: Sequence[Known],
    hidden: Iterable[Hidden],
) -> tuple[Problem, ...]:
    """All that is missing, what needs a person first.

    `known` are the databases that are shown, `hidden` the counters that are not.
    """
    return in_order(
        [
            *of_sources(state, settings, now),
            *of_databases(state, settings, known, hidden),
            *of_figures(state, settings, known),
            *of_verification(settings, known, now),
        ]
    )
