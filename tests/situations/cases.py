"""What must be said in each situation, and what an administrator does about it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tests.oracle.history import HOUR, History
from tests.situations import logs
from tests.situations.engines import SCAN_SECONDS, day

NTDS = r"c:\windows\ntds\ntds.dit"
ESENTUTL = (r"esentutl /k",)
"""What can verify a directory: `advise` says it once for all of them."""


class Copy(NamedTuple):
    """What must be said of one database of one computer."""

    computer: str
    database: str
    model: str
    verified: Mapping[str, float]
    """By verifier: when every page was last proven good."""
    findings: frozenset[str] = frozenset()
    tier: str = "watched"
    action: str = "not_applicable"
    role: str = ""
    """Of a copy of a pair; elsewhere it does not matter."""
    window: tuple[float, float, float] | None = None
    """Configured, and the least and the most that may be recommended, seconds."""
    late: bool = False
    """Its deadline has passed."""


class Situation(NamedTuple):
    """One situation of the page."""

    name: str
    title: str
    happens: str
    """On the servers, for people."""
    history: Callable[[], History]
    told: str
    """What an administrator must learn, as another one would put it."""
    copies: tuple[Copy, ...]
    to_do: str
    status: int = 0
    """With which `advise` ends."""
    says: tuple[str, ...] = ()
    """Patterns that what it prints has."""
    says_once: tuple[str, ...] = ()
    """The same, exactly once."""
    never_says: tuple[str, ...] = ()


SITUATIONS = (
    Situation(
        name="exchange-pair",
        title="A current Exchange server and its passive copy",
        happens=(
            "DB01 has 200 GB. It is active on EX01, and EX02 has a passive copy of it. Both"
            " servers scan their own copy in the background: a scan takes 56 hours, and the next"
            " one starts a day later. EX02 was restarted for updates in the middle of a scan, and"
            " resumed the scan where it had stopped."
        ),
        history=logs.exchange_pair,
        told=(
            "Both copies are scanned in the background; there is no window, and nothing to set. "
            "Every page of the active copy on EX01 was good on 7 April, every page of the passive "
            "copy on EX02 on 8 April, each found by its own scan. Nothing is wrong."
        ),
        copies=(
            Copy("ex01", r"d:\db01\db01.edb", "background", role="active",
                 verified={"online_scan": day(37) + 1.6 * HOUR}),
            Copy("ex02", r"d:\db01\db01.edb", "background", role="passive",
                 verified={"online_scan": day(38) + 6.6 * HOUR}),
        ),
        to_do="Nothing.",
        never_says=("throttle", "shorter window", "longer window"),
    ),
    Situation(
        name="exchange-switchover",
        title="A switchover in the middle of a scan",
        happens=(
            "EX01 had scanned half of DB01 when the active copy was moved to EX02. The position"
            " of the scan is stored in the database, so EX02 resumed from the middle and"
            " completed the scan that EX01 had started. EX01 became the passive copy, started its"
            " own scan and completed it."
        ),
        history=logs.exchange_switchover,
        told=(
            "The scan that EX02 completed after the switchover proves nothing about the first "
            "half of its file: EX01 read those pages, on its own disks. So the copy on EX02 was "
            "last verified by its own scan of 31 March, before the switchover. The copy on EX01 "
            "was verified on 3 April, by the scan that it made as the passive copy. Nothing is "
            "overdue."
        ),
        copies=(
            Copy("ex01", r"d:\db01\db01.edb", "background", role="passive",
                 verified={"online_scan": logs.SWITCHED + HOUR + SCAN_SECONDS}),
            Copy("ex02", r"d:\db01\db01.edb", "background", role="active",
                 verified={"online_scan": logs.BEFORE_SWITCH}),
        ),
        to_do="Nothing: the scan that is running now verifies the copy on EX02.",
    ),
    Situation(
        name="exchange-scan-off",
        title="Background scan switched off",
        happens=(
            "On day 10 somebody switched off background maintenance of DB03 and mounted it"
            " again. Users notice nothing. A full backup by shadow copy succeeds every night, but"
            " does not verify any page."
        ),
        history=logs.exchange_scan_off,
        told=(
            "DB03 has not been scanned for 51 days although it was mounted all the time: scanning "
            "seems to be switched off. Every page was last known to be good on 11 March. The "
            "backups do not change that: a shadow copy is not checked by the engine."
        ),
        copies=(
            Copy("ex03", r"d:\db03\db03.edb", "background",
                 verified={"online_scan": logs.LAST_SCAN},
                 findings=frozenset({"scan_off", "verification_overdue"}), late=True),
        ),
        to_do=(
            "Find out why it was switched off, switch it on with `Set-MailboxDatabase DB03"
            " -BackgroundDatabaseMaintenance $true`, and mount the database again."
        ),
        status=1,
        says=(r"Get-MailboxDatabase .*BackgroundDatabaseMaintenance",),
        never_says=("throttle", r"scanned in the background all the time"),
    ),
    Situation(
        name="domain-controllers",
        title="Healthy domain controllers",
        happens=(
            "DC01 and DC02 collect garbage every 12 hours and then defragment their directory;"
            " each pass takes less than a second and frees nothing. Each was restarted once for"
            " updates. The pages of the files were never verified."
        ),
        history=logs.controllers_healthy,
        told=(
            "Garbage collection runs as it should on both controllers; there is no window. No "
            "page of either directory has been verified, as on most controllers: no scan runs by "
            "itself. That is for information. A page scan of a snapshot, or esentutl /k, would do "
            "it."
        ),
        copies=(
            Copy("dc01", NTDS, "garbage_collection", {}, frozenset()),
            Copy("dc02", NTDS, "garbage_collection", {}, frozenset()),
        ),
        to_do="No action is required; an occasional page scan of a snapshot is worthwhile.",
        says=("snapshot",),
        says_once=ESENTUTL,
    ),
    Situation(
        name="domain-controller-off",
        title="A domain controller that was off for three weeks",
        happens=(
            "DC03 was shut down on day 25 and switched on again on day 46. Its log was fetched"
            " in the first minute, before the next garbage collection."
        ),
        history=logs.controller_off,
        told=(
            "DC03 was off, so it missed no garbage collection: the last pass was complete, and "
            "the 36 hours count only while it works. Its directory was never verified, which is "
            "for information."
        ),
        copies=(Copy("dc03", NTDS, "garbage_collection", {}, frozenset()),),
        to_do="Nothing for the database. Check that replication to the controller catches up.",
        says=("snapshot",),
        says_once=ESENTUTL,
        never_says=(r"should complete within", r"overdue"),
    ),
    Situation(
        name="domain-controller-alone",
        title="A domain controller alone in its domain",
        happens=(
            "BRANCH-DC is the only controller of its domain. Windows Server Backup takes a"
            " shadow copy every night. The pages of the directory were never verified, and there"
            " is no second copy of it to compare with or to restore from."
        ),
        history=logs.controller_alone,
        told=(
            "Garbage collection runs as it should. Nothing has ever verified the pages of this "
            "directory, the nightly backup by shadow copy neither. That is for information; a "
            "page scan of a snapshot, or esentutl /k, would do it."
        ),
        copies=(Copy("branch-dc", NTDS, "garbage_collection", {}, frozenset()),),
        to_do=(
            "Run a page scan of a snapshot: a bad page would also be in the backups, and no"
            " other controller has a good one."
        ),
        says=("snapshot",),
        says_once=ESENTUTL,
    ),
    Situation(
        name="ad-lds",
        title="Active Directory Lightweight Directory Services",
        happens=(
            "LDS01 runs the instance `instance1` of AD LDS. The instance has its own event log,"
            " `ADAM (instance1)`, and collects garbage every 12 hours like a domain controller."
        ),
        history=logs.lightweight_directory,
        told=(
            "The instance is watched like a domain controller: garbage collection runs as it "
            "should, there is no window, and nothing has verified its pages yet, which is for "
            "information."
        ),
        copies=(
            Copy("lds01", r"c:\program files\microsoft adam\instance1\data\adamntds.dit",
                 "garbage_collection", {}, frozenset()),
        ),
        to_do="No action is required; an occasional page scan of a snapshot is worthwhile.",
        says=("snapshot",),
        says_once=ESENTUTL,
    ),
    Situation(
        name="certification-authority",
        title="A certification authority",
        happens=(
            "CA01 saves its database with `certutil -backupDB` at 22:00 every night. Its instance "
            "of the engine has no name. It was restarted once for updates."
        ),
        history=logs.certification_authority,
        told=(
            "The certification authority is watched. The application decides when its database is "
            "maintained; there is no window. The backup of 9 April read every page and found all "
            "of them good. Nothing is wrong."
        ),
        copies=(
            Copy("ca01", r"c:\windows\system32\certlog\contoso issuing ca 1.edb", "application",
                 {"streaming_backup": logs.CA_BACKUP}),
        ),
        to_do="Nothing.",
    ),
    Situation(
        name="dhcp",
        title="A DHCP server",
        happens=(
            "NET01 leases addresses. The DHCP service saves its database every hour by its own"
            " streaming backup, which is the default."
        ),
        history=logs.dhcp_server,
        told=(
            "The DHCP database is watched. The application decides when it is maintained; there "
            "is no window. The backup of 23:15 read every page and found all of them good. "
            "Nothing is wrong."
        ),
        copies=(
            Copy("net01", r"c:\windows\system32\dhcp\dhcp.mdb", "application",
                 {"streaming_backup": logs.DHCP_BACKUP}),
        ),
        to_do="Nothing.",
    ),
    Situation(
        name="search-index",
        title="The index of Windows Search",
        happens=(
            "PC17 is a desktop that is switched off every evening. It crashed once, and the"
            " index was recovered from its logs; two writes took 21 seconds each. The index is"
            " not verified, and need not be: Windows can rebuild it."
        ),
        history=logs.search_index,
        told=(
            "The search index is only observed: esewatch would report bad pages and slow disks, "
            "not of a check that is missing. Nothing is wrong; two slow writes in forty days are "
            "no findings."
        ),
        copies=(
            Copy("pc17",
                 r"c:\programdata\microsoft\search\data\applications\windows\windows.edb",
                 "application", {}, tier="observed"),
        ),
        to_do="Nothing.",
        never_says=("verified",),
    ),
    Situation(
        name="dfs-replication",
        title="DFS Replication, with days between its passes",
        happens=(
            "FS02 replicates files with DFSR, whose database is defragmented every eight to ten "
            "days. The server was restarted for updates four days after the last pass."
        ),
        history=logs.file_replication,
        told=(
            "The database of DFSR is watched. Its passes were always eight to ten days apart, so "
            "none is late after four. Nothing has verified its pages, which is for information."
        ),
        copies=(
            Copy("fs02", r"e:\system volume information\dfsr\database_5c1e_8a20_b7f4_1d93\dfsr.db",
                 "garbage_collection", {}, frozenset()),
        ),
        to_do="Nothing.",
        says=("snapshot",),
        says_once=ESENTUTL,
        never_says=(r"36 h", r"every 12 hours"),
    ),
    Situation(
        name="exchange-2007",
        title="Exchange 2007 with a window and a nightly streaming backup",
        happens=(
            "The maintenance window of the mailbox database on EX07 is from 01:00 to 05:00."
            " Online defragmentation completes a pass every night, in about two and a half hours."
            " The scan is off, which is the default. A full streaming backup runs from 22:00 to"
            " 23:20. Counters were not collected; the window is in `esewatch.yml`."
        ),
        history=logs.exchange_2007,
        told=(
            "A pass is complete every night, so a window of four hours is longer than it has to "
            "be: make it shorter, by half at most. The backup of 11 April read every page and "
            "found all of them good. It does not run in the window. Nothing is wrong."
        ),
        copies=(
            Copy("ex07", r"e:\sg1\mailbox database.edb", "window",
                 {"streaming_backup": logs.STREAMED}, action="shrink",
                 window=(4 * HOUR, 2 * HOUR, 3.75 * HOUR)),
        ),
        to_do="Make the window shorter as advised, and check the advice again in two weeks.",
    ),
)  # fmt: skip
