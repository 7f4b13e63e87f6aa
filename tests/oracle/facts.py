"""What the engine's events carry: where the database stands, which numbers mean what.

The tables follow the reference on events (sections 1.1 to 1.10); nothing here judges.
"""

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

DATABASE_AT: Final[dict[int, int]] = {
    **dict.fromkeys([*range(700, 708), *range(717, 729), *range(732, 740)], 4),
    **dict.fromkeys([*range(744, 752), *range(755, 758), 563, 564, 602, 603, 628, 629], 4),
    **dict.fromkeys([398, 399, 474, 475, 476, 470, 473, 497, 515, 516, 530, 544], 4),
    **dict.fromkeys([538, 539, 540, 541, 542, 545, 549, 550, 556, 557, 559, 560, 566, 570], 4),
    **dict.fromkeys([555, 565, 534, 334, 481, 482, *range(507, 511), 532, 533, 493, 551], 4),
    **dict.fromkeys([445, 452, 453, *range(330, 334), 645, 220, 221, 222, 206, 257, 523], 4),
    **dict.fromkeys([456, 472, 439, 611, 612, 613, 614, 643], 4),
    **dict.fromkeys([752, 531, 905, 325, 326, 327, 335, 448, 217, 218, 494, 495], 5),
    467: 6,
    911: 6,
    447: 7,
    568: 7,
    537: 8,
}
"""Event id -> n of the `%n` that names the database or file."""

PAGE_AT: Final[dict[int, tuple[int, str]]] = {
    474: (10, "uncorrectable"),
    475: (8, "wrong_page"),
    476: (8, "no_data"),
    398: (9, "uncorrectable"),
    399: (8, "corrected"),
    530: (8, "lost_flush"),
    544: (8, "lost_flush"),
    727: (6, "uncorrectable"),
}
"""Event id -> n of the page number, and the kind of `ese_known_bad_pages`."""

DIVERGENCE_OF_LOGGER: Final = frozenset({539, 541, 557, 559, 560, 516})
DIVERGENCE_OF_ACTIVE: Final = frozenset({538, 545})
SUSPECT_OF_BOTH: Final = frozenset({540})
LOGICAL: Final = frozenset({447, 448, 467, 542, 537, 549, 550, 556, 566})
INDEX: Final = frozenset({613, 614, 643})
INDEX_REBUILT: Final = 612
REVERT: Final = frozenset({568, 569, 570})
ERROR_AT: Final[dict[int, int]] = {
    **dict.fromkeys([104, 705, 723, 724, 734, 2002], 5),
    **dict.fromkeys([214, 217, 218, 244, 454, 494, 495], 4),
}
"""Event id -> n of the `%n` that gives the error which ended it (section 3)."""

KIND_OF_ERROR: Final = {
    -1018: "uncorrectable",
    -1118: "wrong_page",
    -1019: "no_data",
    -1119: "lost_flush",
}
"""Errors that are page errors, and the kind of `ese_known_bad_pages`."""

IO_FAILED: Final = frozenset({-1021, -1022, -1121})
LOGICALLY_CORRUPT: Final = -1206
IO_ERRORS: Final = frozenset({481, 482, 551})

SPOILS: Final = frozenset(
    {398, 474, 475, 476, 481, 516, 530, *range(538, 542), 544, 545, 557, 559, 560, 727}
)
"""What forbids a pass to verify a copy (section 2, bad count); 727 is ours."""

WRITES_FAIL: Final = frozenset({413, 429, 492, 104, 454, 455, 465, 494})
"""With section 7's row of recovery and mount failures."""
HUNG: Final = frozenset({532, 533})
NOT_AT_WORK: Final = frozenset({103, 104, 327})
"""All other records that name an instance show that it is at work."""
BEGINS_AGAIN: Final = frozenset({102, 105, *range(300, 305)})
"""What ends a detachment, logged by the instance."""

CORRUPTION: Final = frozenset(PAGE_AT) | (
    DIVERGENCE_OF_LOGGER | DIVERGENCE_OF_ACTIVE | SUSPECT_OF_BOTH | LOGICAL
)
"""What makes an ignored database an observed one."""

TOOLS: Final = frozenset({"eseutil", "esentutl", "ntdsutil", "isinteg"})
"""Programs that work on files of others: their events never say whose a database is."""

NOT_A_DATABASE: Final = (".log", ".chk", ".jrs", ".jtx", ".jcp", ".jfm", ".pat", ".stm")

PROVIDERS: Final = re.compile(r"^(ese|esent|ntds isam|ese backup|adam( \[?.*\]?)? isam)$", re.I)


def number(text: str) -> int | None:
    """The leading decimal of `4096 (0x1000)`, `-1018 (0xfffffc06)` or `17`; None without one."""
    found = re.match(r"\s*(-?\d+)", text)
    return int(found[1]) if found else None


def day(text: str) -> float | None:
    """When the day of a short date such as `6/16/2007` begins anywhere on earth.

    None where the date can be read in two ways, or in none.
    """
    found = re.match(r"\s*(\d{1,2})[./-](\d{1,2})[./-](\d{4})\b", text)
    if not found:
        return None
    one, other, year = (int(each) for each in found.groups())
    dates = set()
    for month, date in ((one, other), (other, one)):
        with suppress(ValueError):
            dates.add(datetime(year, month, date, tzinfo=UTC).timestamp())
    return dates.pop() - 14 * 3600 if len(dates) == 1 else None


def error_of(event_id: int, strings: tuple[str, ...]) -> int | None:
    """The engine's error that an event tells as the reason of its end; None where it has none."""
    position = ERROR_AT.get(event_id, 0)
    return number(strings[position - 1]) if 0 < position <= len(strings) else None


def run_statistics(text: str) -> tuple[int, int] | None:
    """`<pages advanced in this run>, <bad checksums in this run>`; None for `-, -` or absent."""
    found = re.match(r"\s*(\d+)\s*,\s*(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def seconds(text: object) -> float | None:
    """`90m`, `4h`, `14d`, or a number of seconds."""
    if isinstance(text, int | float):
        return float(text)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", str(text))
    if not found:
        return None
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[found[2]]
