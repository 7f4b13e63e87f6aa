"""The message table of the engine: every id, its level, and its treatment as an error.

Names and levels are those of the catalogue where an id has a row; the other ids are listed
here. The level is the worst one with which the published source raises the id; for ids that
it no longer raises it is the level that older engines logged, as far as their text shows.

No error is lost: one that nothing in esewatch uses and that is not harmless is unexplained.
"""

from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.events.from_strings import has_own_messages
from esewatch.ese.providers import is_ese_provider
from esewatch.model import Level

Verdict = Literal["used", "harmless", "unexplained", "no error"]


class Message(NamedTuple):
    """One id of the table. `raised` is False where no code of the published source logs it."""

    event_id: int
    name: str
    level: Level
    raised: bool


_OTHERS: tuple[tuple[int, str, Level], ...] = (
    (0, "PLAIN_TEXT_ID", "error"),
    (106, "CONFIG_STORE_PARAM_OVERRIDE_ID", "warning"),
    (107, "CONFIG_STORE_PARAM_DEFAULT_LOAD_FAIL_ID", "warning"),
    (108, "CONFIG_STORE_READ_INHIBIT_PAUSE_ID", "warning"),
    (561, "CORSICA_INIT_FAILED_ID", "warning"),
    (562, "CORSICA_REQUEST_FAILED_ID", "warning"),
    (647, "EXTENT_PAGE_COUNT_CACHE_IN_USE_ID", "information"),
    (648, "EXTENT_PAGE_COUNT_CACHE_NOT_IN_USE_ID", "information"),
    (649, "EXTENT_PAGE_COUNT_CACHE_CREATED_ID", "information"),
    (650, "EXTENT_PAGE_COUNT_CACHE_DELETED_ID", "warning"),
    (658, "TASK_CAT_CHANGE_PGNOFDPLASTSETTIME_FAILED_ID", "information"),
    (901, "INTERNAL_TRACE_ID", "warning"),
    (913, "GLOBAL_SYSTEM_PARAMETER_MISMATCH_ID", "warning"),
    (914, "GLOBAL_SYSTEM_PARAMETER_NOT_SET_PREVIOUSLY_MISMATCH_ID", "warning"),
    (915, "GLOBAL_SYSTEM_PARAMETER_SET_PREVIOUSLY_MISMATCH_ID", "warning"),
    (1001, "RFS2_PERMITTED_ID", "information"),
    (1002, "RFS2_DENIED_ID", "warning"),
    (1003, "RFS2_JET_CALL_ID", "information"),
    (1004, "RFS2_JET_ERROR_ID", "information"),
    (5002, "RBSCLEANER_REMOVEDRBS_ID", "information"),
    (5006, "RBS_SPACE_GROWTH_ID", "information"),
    (5008, "RBS_LAG_AVAILABILITY_ID", "information"),
    (5009, "RBS_LARGE_REVERTABLE_DELETE_ID", "information"),
    (5010, "RBS_NON_REVERTABLE_DELETE_FAILED_ID", "information"),
    (5011, "RBSREVERT_ROOTPAGES_MOVED_COUNT_ID", "information"),
)
"""Ids without a row of the catalogue that the source raises."""

_FORMER: tuple[tuple[int, str, Level], ...] = (
    (303, "ERROR_ID_DEPRECATED", "error"),
    (400, "S_O_READ_PAGE_TIME_ERROR_ID", "error"),
    (401, "S_O_WRITE_PAGE_ISSUE_ERROR_ID", "error"),
    (402, "S_O_WRITE_PAGE_ERROR_ID", "error"),
    (403, "S_O_PATCH_FILE_WRITE_PAGE_ERROR_ID", "error"),
    (404, "S_READ_PAGE_TIME_ERROR_ID", "error"),
    (405, "PRE_READ_PAGE_TIME_ERROR_ID", "error"),
    (406, "A_DIRECT_READ_PAGE_CORRUPTTED_ERROR_ID", "error"),
    (407, "BFIO_TERM_ID", "error"),
    (422, "RESTORE_DATABASE_MISSED_ERROR_ID", "error"),
    (423, "BAD_PAGE", "error"),
    (425, "LOG_DATABASE_MISMATCH_ERROR_ID", "error"),
    (427, "FILE_ACCESS_DENIED_ERROR_ID", "error"),
    (436, "EXISTING_LOG_FILE_HAS_BAD_SIGNATURE_ERROR_ID", "error"),
    (437, "EXISTING_LOG_FILE_NOT_CONTIGUOUS_ERROR_ID", "error"),
    (438, "BAD_BACKUP_DATABASE_SIZE", "error"),
    (449, "CORRUPT_SLV_SPACE_ID", "error"),
    (535, "OSFS_SECTOR_SIZE_LOOKUP_FAILED_ID", "warning"),
    (600, "CONVERT_DUPLICATE_KEY", "error"),
    (605, "CONVERT_COLUMN_TO_TAGGED_ID", "information"),
    (606, "CONVERT_COLUMN_TO_NONTAGGED_ID", "information"),
    (607, "CONVERT_COLUMN_BINARY_TO_LONGBINARY_ID", "information"),
    (608, "CONVERT_COLUMN_TEXT_TO_LONGTEXT_ID", "information"),
    (615, "START_FORMAT_UPGRADE_ID", "information"),
    (616, "STOP_FORMAT_UPGRADE_ID", "information"),
    (618, "BUILD_SPACE_CACHE_ID", "information"),
    (626, "DO_MSU_CLEANUP_ID", "information"),
    (627, "MSU_CLEANUP_FAIL_RO_ID", "warning"),
    (641, "LOG_FORMAT_FEATURE_REFUSED_DUE_TO_ENGINE_FORMAT_VERSION_SETTING", "information"),
    (642, "DATABASE_FORMAT_FEATURE_REFUSED_DUE_TO_ENGINE_FORMAT_VERSION_SETTING", "warning"),
    (651, "EXTENT_PAGE_COUNT_CACHE_TRACK_ON_CREATE_ENABLED_ID", "information"),
    (652, "EXTENT_PAGE_COUNT_CACHE_EXTENSIVE_VALIDATION_ENABLED_ID", "information"),
    (800, "SYS_PARAM_CACHEMIN_CSESS_ERROR_ID", "error"),
    (801, "SYS_PARAM_CACHEMAX_CACHEMIN_ERROR_ID", "error"),
    (802, "SYS_PARAM_CACHEMAX_STOPFLUSH_ERROR_ID", "error"),
    (803, "SYS_PARAM_STOPFLUSH_STARTFLUSH_ERROR_ID", "error"),
    (804, "SYS_PARAM_LOGBUFFER_FILE_ERROR_ID", "error"),
    (805, "SYS_PARAM_MAXPAGES_PREFER_ID", "error"),
    (806, "SYS_PARAM_VERPREFERREDPAGE_ID", "warning"),
    (807, "SYS_PARAM_CFCB_PREFER_ID", "error"),
    (808, "SYS_PARAM_VERPREFERREDPAGETOOBIG_ID", "warning"),
    (900, "LOG_COMMIT0_FAIL_ID", "error"),
    (910, "CACHE_SIZE_MAINT_TAKING_TOO_LONG", "warning"),
    (1000, "RFS2_INIT_ID", "information"),
    (3000, "NOOP_FAILURE_TAG_ID", "information"),
    (3072, "MAX_FAILURE_TAG_ID", "information"),
)
"""Ids without a row that no code raises any more."""

CATEGORIES: Mapping[int, str] = MappingProxyType(
    dict(
        enumerate(
            (
                "GENERAL_CATEGORY", "BUFFER_MANAGER_CATEGORY", "LOGGING_RECOVERY_CATEGORY",
                "SPACE_MANAGER_CATEGORY", "DATA_DEFINITION_CATEGORY", "DATA_MANIPULATION_CATEGORY",
                "PERFORMANCE_CATEGORY", "REPAIR_CATEGORY", "CONVERSION_CATEGORY",
                "ONLINE_DEFRAG_CATEGORY", "SYSTEM_PARAMETER_CATEGORY",
                "DATABASE_CORRUPTION_CATEGORY", "DATABASE_ZEROING_CATEGORY",
                "TRANSACTION_MANAGER_CATEGORY", "RFS2_CATEGORY", "OS_SNAPSHOT_BACKUP",
                "FAILURE_ITEM_CATEGORY", "DEVICE_CATEGORY", "BLOCK_CACHE_CATEGORY", "MAC_CATEGORY",
            ),
            start=1,
        )
    )
)  # fmt: skip
"""Ids of the table that name the categories of events (the task of an EVTX record)."""

_RECOVERY_FAILS = "recovery ends with it, and 454, which is used, follows"

HARMLESS: Mapping[int, str] = MappingProxyType(
    {
        **dict.fromkeys(CATEGORIES, "names a category, is no event"),
        **dict.fromkeys((3000, 3072), "a mark in the list of failure items, no event"),
        **dict.fromkeys(range(1000, 1005), "test hook: a failure on purpose"),
        904: "test hook: a page damaged on purpose",
        2000: "a trace that only test builds log",
        245: "the client ended its copy itself",
        757: "an estimate for the reader; nothing depends on it",
        **dict.fromkeys((452, 453, 495, 496, 517, 523, 528, 558, 567), _RECOVERY_FAILS),
    }
)
"""Id -> why an error of it asks nobody to do anything. Only with a reason from the source."""

USED: frozenset[int] = frozenset(
    {
        *(*range(102, 106), 205, *range(210, 212), *range(213, 216), *range(217, 223), 226),
        *(*range(300, 303), 304, *range(325, 329)),
        *(398, 399, 413, 428, 429, 445, 447, 448, 454, 455, 465, 467, *range(474, 477)),
        *(481, 482, 492, 494, *range(507, 511), 516, 530, 532, 533, *range(537, 543)),
        *(544, 545, *range(549, 552), 556, 557, 559, 560, 566, *range(568, 571)),
        *(612, 613, 614, 623, 624, 630, 643, *range(700, 706), 707, *range(717, 729)),
        *(*range(732, 739), *range(744, 748), 755, 905, 907, 911, 2002, *range(2004, 2011)),
        *range(3001, 3015),
    }
)
"""Ids from which state, findings or alerts come: those that the fold names. It cannot be computed
here, where the fold is not known; the tests compare it with the fold."""


_ALL = sorted(
    [
        *(Message(row.event_id, row.symbol, row.level, row.raised) for row in CATALOGUE.values()),
        *(Message(*row, raised=True) for row in _OTHERS),
        *(Message(*row, raised=False) for row in _FORMER),
        *(Message(event_id, name, "information", False) for event_id, name in CATEGORIES.items()),
    ]
)
MESSAGES: Mapping[int, Message] = MappingProxyType({each.event_id: each for each in _ALL})
"""Event id -> message, in order of id: the whole table."""
if len(MESSAGES) != len(_ALL):
    raise ValueError("an event stands twice in the message table")

_BAD = ("error", "critical")


def verdict(event_id: int) -> Verdict:
    """The treatment of an event of this id when it is logged as an error."""
    if event_id in USED:
        return "used"
    if event_id in HARMLESS:
        return "harmless"
    message = MESSAGES.get(event_id)
    return "no error" if message is not None and message.level not in _BAD else "unexplained"


def is_unexplained(
    event_id: int,
    level: str | None,
    provider: str,
    *,
    used: Container[int] = USED,
    extra_providers: Sequence[str] = (),
) -> bool:
    """True if this is an error of an ESE provider that nothing uses and that is not harmless.
    Without `level` the table's counts, and an id that is not in it is no error. A provider of its
    own table (`ESE BACKUP`) shares nothing but numbers: all its errors are unexplained."""
    if not is_ese_provider(provider, extra_providers):
        return False
    own = has_own_messages(provider)
    if level is None:
        message = None if own else MESSAGES.get(event_id)
        level = message.level if message is not None else None
    if level not in _BAD:
        return False
    return own or (event_id not in used and event_id not in HARMLESS)
