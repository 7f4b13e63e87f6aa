"""Catalogue: failure items, which an instance reports to the copies of its database.

Ids are 3000 plus the number of the failure tag. The engine logs them as errors, by its own
provider and in its own log, and only where its host asks for them (Exchange does). `%3` and
`%4` are both the display name of the instance; `%5` is its name, which Exchange makes the
GUID of the database; `%6` is a constant GUID of the place in the engine that raised it. No
path names the database. Tags without words in the table (14, 71) come without a message.
"""

from esewatch.ese.catalogue.event_row import EventRow, Param, row, txt

_ITEM: tuple[Param, ...] = (
    txt("display_name", "of database '{}' (", "database '{}'"),
    txt("instance_name", "' ('{}')"),
    txt("place", "diagnostic information: {} "),
    txt("detail"),
)

FAILURE_ITEMS: tuple[EventRow, ...] = tuple(
    row(event_id, symbol, "error", phrase, *_ITEM)
    for event_id, symbol, phrase in (
        (3001, "CONFIGURATION_FAILURE_TAG_ID", "configuration error is preventing proper"),
        (3002, "REPAIRABLE_FAILURE_TAG_ID", "read verification or i/o error is preventing"),
        (3003, "SPACE_FAILURE_TAG_ID", "lack of free space for the database or log files"),
        (3004, "IOHARD_FAILURE_TAG_ID", "an i/o error is preventing proper operation"),
        (3005, "SOURCECORRUPTION_FAILURE_TAG_ID", "passive copy has detected a corruption"),
        (3006, "CORRUPTION_FAILURE_TAG_ID", "corruption has been detected in database"),
        (3007, "HARD_FAILURE_TAG_ID", "an operating error is preventing proper"),
        (3008, "UNRECOVERABLE_FAILURE_TAG_ID", "a serious error is preventing proper"),
        (3009, "REMOUNT_FAILURE_TAG_ID", "may be corrected by remounting the database"),
        (3010, "RESEED_FAILURE_TAG_ID", "passive copy has detected an error"),
        (3011, "PERFORMANCE_FAILURE_TAG_ID", "performance problem is affecting proper"),
        (3012, "MOVELOAD_FAILURE_TAG_ID", "unusually large amount of normal load"),
        (3013, "MEMORY_FAILURE_TAG_ID", "experiencing memory allocation failures"),
        (3014, "CATALOGRESEED_FAILURE_TAG_ID", ()),
        (3071, "RBSROLLREQUIRED_FAILURE_TAG_ID", ()),
    )
)
