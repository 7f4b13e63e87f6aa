"""Where oracle and product differ on a history: the database, what of it, and both answers."""

import gc
import random
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from tests.oracle.generate import history
from tests.oracle.history import DAY, Answer, Answers, History, Logged
from tests.oracle.identity import Computers, is_nameless_snapshot
from tests.oracle.judgement import INFO
from tests.oracle.product import settings_of, told
from tests.oracle.reading import read

READ = frozenset(
    {
        *("investigate", "copy_divergence", "copy_suspect", "logical_damage", "unexplained_error"),
        *("never_verified", "verification_overdue", "unknown_since", "defrag_overdue", "scan_off"),
        *("only_active_verified", "only_passive_verified", "verification_unreadable"),
        *("not_heard", "restored_unproven"),
    }
)
"""Findings that the oracle reads: those of which semantics.md says all that they are made of."""


KEPT = 90
"""Passes and interruptions; a database keeps its last 512 transitions."""
DAYS_KEPT = 64
"""What several inputs have without numbers is known as one record for so many days with records."""


class Difference(NamedTuple):
    """One part of an answer of which oracle and product say something else."""

    computer: str
    database: str
    what: str
    oracle: object
    product: object


def differences(
    wanted: Answers, got: Answers, *, other_order: bool = False, long_copies: bool = False
) -> list[Difference]:
    """All of them; a database that only one knows is one, with the name of its tier.

    `other_order`: the product read the records in another order than they were written in.
    `long_copies`: see `has_long_copies`.
    """
    found = []
    for key in sorted({*wanted, *got}):
        if key not in wanted or key not in got:
            tiers = [answers[key].tier if key in answers else None for answers in (wanted, got)]
            found.append(Difference(*key, "known", *tiers))
            continue
        # Of a snapshot of an unknown origin only its bad pages are reported.
        late = {"totals", "verified", "role", "model", "findings", "action", "verdict"}
        unkept = late if is_nameless_snapshot(key[1]) else set()
        for what in (each for each in Answer._fields if each not in unkept):
            one, other = getattr(wanted[key], what), getattr(got[key], what)
            long = long_copies or (
                other_order and sum(map(sum, wanted[key].totals.values())) > KEPT
            )
            if long and what == "totals":
                # Of so long a history the oldest transitions are counted one by one, or twice.
                continue
            if what == "findings":
                one, other = one & READ, other & READ
            if what == "verdict" and one in ("unproven", "ok") and other == "look":
                # The product looks at more: at findings that are not read here, at forecasts.
                continue
            if what == "verdict" and one == "look" and not wanted[key].findings & READ - INFO:
                continue
            if one != other:
                found.append(Difference(*key, what, one, other))
    return found


def has_long_copies(made: History) -> bool:
    """Whether several inputs have records without numbers of a computer that has more days with
    records than are kept."""
    computers = Computers(made)
    files: dict[str, set[int]] = defaultdict(set)
    days: dict[str, set[float]] = defaultdict(set)
    for each in made.records:
        if isinstance(each, Logged):
            label = computers.label(each.computer)
            days[label].add(each.time // DAY)
            if each.record_id is None:
                files[label].add(each.file)
    return any(len(each) > 1 and len(days[label]) > DAYS_KEPT for label, each in files.items())


def of_seed(seed: int, folder: Path) -> tuple[History, list[Difference]]:
    """The history of a seed, and where the product differs, read as it stands and in disorder."""
    made = history(seed)
    settings = settings_of(made, folder)
    wanted = read(made)
    order = random.Random(seed)
    long = has_long_copies(made)
    found = differences(wanted, told(made, settings), long_copies=long)
    disordered = told(made, settings, order)
    found += differences(wanted, disordered, other_order=True, long_copies=long)
    return made, found


def main() -> int:
    """`python -m tests.oracle.compare FIRST COUNT`: the differences of these seeds, counted."""
    first, count = (int(each) for each in sys.argv[1:])
    gc.freeze()  # a fifth faster
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            _, found = of_seed(seed, Path(folder))
            for each in found:
                kinds[each.what] += 1
                print(seed, *each, sep="\t")
    print(dict(kinds), file=sys.stderr)
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
