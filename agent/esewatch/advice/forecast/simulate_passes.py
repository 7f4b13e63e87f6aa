"""Monte Carlo simulation of passes to their end: the source of a forecast's dates."""

from math import sqrt
from typing import Final

from esewatch.advice.base.prediction_interval import PredictionInterval
from esewatch.advice.forecast.window_usage import Pattern, WorkNight, finish
from esewatch.config.calendar import Opening

CASES: Final = 200
"""Number of simulated passes for one forecast (Monte Carlo sample size)."""
NIGHTS: Final = 400

_UNSEEN: Final = 0.5
"""Weight of a night on which nothing runs, in addition to the nights seen."""
_SKIPPED: Final = WorkNight((), 0.0)


def simulate_passes(
    spread: PredictionInterval, done: float, found: Pattern, now: float
) -> list[float]:
    """The end of the pass in each simulated case, sorted; infinite where it did not end.

    Quasi-Monte Carlo: the cases are the whole passes with equal probability, each with nights of
    its own. They are enumerated, not drawn at random: multiples of irrational numbers fill all
    combinations evenly.
    """
    upcoming = found.rhythm.after(now)
    openings: list[Opening] = []
    dates = []
    for case in range(CASES):
        left = spread.beyond(done, (case + 0.5) / CASES) - done
        date = float("inf")
        for place in range(NIGHTS):
            if place > 0 and place > len(openings):
                openings.append(next(upcoming))
            start, night = _drawn(case, place, openings, found)
            if left <= night.seconds:
                date = start + finish(night, left)
                break
            left -= night.seconds
        dates.append(date)
    return sorted(dates)


def _drawn(
    case: int, place: int, openings: list[Opening], found: Pattern
) -> tuple[float, WorkNight]:
    """The simulated night of this case at that place; place 0 is the rest of the present
    opening."""
    chance = (case + 1) * _STEPS[place] % 1.0
    if place == 0:
        if found.tonight is None:
            return 0.0, _SKIPPED
        return found.tonight.start, found.rest[int(chance * len(found.rest))]
    nights = found.nights
    index = int(chance * (len(nights) + _UNSEEN))
    return openings[place - 1].start, nights[index] if index < len(nights) else _SKIPPED


def _steps(count: int) -> list[float]:
    """Square roots of the first primes: no two of them are in step."""
    primes: list[int] = []
    number = 2
    while len(primes) < count:
        if all(number % prime for prime in primes if prime * prime <= number):
            primes.append(number)
        number += 1
    return [sqrt(prime) % 1.0 for prime in primes]


_STEPS: Final = _steps(NIGHTS)
