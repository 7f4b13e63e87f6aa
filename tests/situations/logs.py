"""The twelve situations: what the servers logged, 30 to 62 days each."""

from tests.oracle.history import DAY, HOUR, History
from tests.situations.engines import (
    MINUTE,
    PAGES,
    SCAN_SECONDS,
    Engine,
    day,
    history,
    short_date,
)

WINDOW: dict[str, object] = {
    "windows": {"nightly": {"start": "01:00", "duration": "4h"}},
    "databases": [{"match": "*mailbox*.edb", "window": "nightly"}],
}
"""What the administrator of Exchange 2007 wrote down."""


def mailbox_copy(server: str, name: str) -> Engine:
    """A copy of a mailbox database of Exchange 2019: its own worker process runs it."""
    return Engine(
        f"{server}.contoso.example",
        rf"D:\{name}\{name}.edb",
        who=f"Information Store - {name}",
        instance=name,
        provider="ESE",
        version=("15", "02", "1544", "004"),
        process="8412,{},{},15.02.1544.004",
    )


def controller(server: str) -> Engine:
    """The directory of a domain controller."""
    return Engine(
        f"{server}.corp.contoso.example",
        r"C:\Windows\NTDS\ntds.dit",
        who="NTDS",
        instance="NTDSA",
        provider="NTDS ISAM",
        channel="Directory Service",
        process="840,{},{}",
    )


def exchange_pair() -> History:
    """An active and a passive copy, scanned all the time; the passive server restarts once."""
    active, passive = mailbox_copy("EX01", "DB01"), mailbox_copy("EX02", "DB01")
    time = day(0.4)
    active.scanned(time, time - SCAN_SECONDS, PAGES - 1)
    while time < day(40):
        time = active.scan(time + DAY, until=day(40))
    time = day(1.6)
    passive.scanned_passive(time, time - SCAN_SECONDS, PAGES - 1)
    for _ in range(4):
        time = passive.scan_passive(time + DAY)
    begun = time + DAY
    passive.log(begun, 717, passive.database, state="R", context=41)
    passive.stop(begun + 20 * HOUR, passive=True)
    passive.start_passive(begun + 20 * HOUR + 10 * MINUTE)
    passive.log(begun + 20 * HOUR + 12 * MINUTE, 719, passive.database, short_date(begun), 1,
                state="R", context=41)  # fmt: skip
    time = begun + SCAN_SECONDS + 12 * MINUTE
    passive.scanned_passive(time, begun, PAGES * 36 // 56)
    while time < day(40):
        time = passive.scan_passive(time + DAY, until=day(40))
    for number in range(40):
        active.snapshot(day(number) + 23 * HOUR, number + 1)
    return history(active, passive)


SWITCHED = day(31) + 3 * HOUR
"""When the active copy is moved to the other server."""
BEFORE_SWITCH = day(30.5)
"""When the copy that was passive till then had last been scanned to its end."""


def exchange_switchover() -> History:
    """The active copy moves while it is half scanned; the other server finishes that scan."""
    first, second = mailbox_copy("EX01", "DB01"), mailbox_copy("EX02", "DB01")
    step = SCAN_SECONDS + DAY
    begun = SWITCHED - 27 * HOUR
    for number in range(9, 0, -1):
        first.scan(begun - number * step)
        second.scan_passive(BEFORE_SWITCH - SCAN_SECONDS - (number - 1) * step)
    first.scan(begun, until=SWITCHED)
    first.stop(SWITCHED)
    first.start_passive(SWITCHED + 20)
    first.scan_passive(SWITCHED + HOUR)

    second.log(SWITCHED + 8, 302, state="U", context=98)
    second.log(SWITCHED + 9, 105, 0, 1, "", context=0)
    second.log(SWITCHED + 10, 326, 1, second.database, 0, "", "0 0", "lgpos: 0")
    resumed = SWITCHED + 5 * MINUTE
    done = PAGES * 27 // 56
    second.log(resumed, 738, second.database, done + 1, short_date(begun), 1)
    end = begun + SCAN_SECONDS + 5 * MINUTE
    second.still_scanning(begun, resumed, end)
    second.scanned(end, begun, PAGES - done - 1)
    second.scan(end + DAY, until=SWITCHED + 60 * HOUR)
    for number in range(34):
        active = first if day(number) < SWITCHED else second
        active.snapshot(day(number) + 23 * HOUR, number + 1)
    return history(first, second)


LAST_SCAN = day(10.4)
"""When the last scan was complete before somebody switched scanning off."""


def exchange_scan_off() -> History:
    """Background maintenance is switched off on day 10; backups by shadow copy go on."""
    store = mailbox_copy("EX03", "DB03")
    time = LAST_SCAN - 3 * (SCAN_SECONDS + DAY)
    store.scanned(time, time - SCAN_SECONDS, PAGES - 1)
    while time < LAST_SCAN:
        time = store.scan(time + DAY)
    store.stop(day(10.6))
    store.start(day(10.6) + 5 * MINUTE)
    store.stop(day(38.1))
    store.start(day(38.1) + 20 * MINUTE)
    for number in range(62):
        store.snapshot(day(number) + 23 * HOUR, number + 1)
    return history(store)


def controllers_healthy() -> History:
    """Two controllers of a domain: garbage is collected every 12 hours; one restart each."""
    engines = []
    for number, server in enumerate(("DC01", "DC02")):
        engine = controller(server)
        restart = day(16 + number) + 2 * HOUR
        for turn in range(32 + 2 * number):
            engine.collect_garbage(day(turn / 2) + (7 + number) * HOUR + 40 * MINUTE)
        engine.stop(restart)
        engine.start(restart + 4 * MINUTE)
        for turn in range(34 - 2 * number):
            engine.collect_garbage(restart + 20 * MINUTE + turn * 12 * HOUR)
        engines.append(engine)
    return history(*engines)


def controller_off() -> History:
    """A controller that was off for three weeks, asked minutes after it is on again."""
    engine = controller("DC03")
    for turn in range(50):
        engine.collect_garbage(day(turn / 2) + 7 * HOUR + 40 * MINUTE)
    engine.stop(day(25) + 6 * HOUR)
    engine.start(day(46) + 8 * HOUR)
    return history(engine)


def controller_alone() -> History:
    """The one controller of a branch; its nightly backup is a shadow copy."""
    engine = controller("BRANCH-DC")
    for turn in range(90):
        engine.collect_garbage(day(turn / 2) + 5 * HOUR + 10 * MINUTE)
    for number in range(45):
        engine.snapshot(day(number) + 21 * HOUR, number + 1)
    return history(engine)


def lightweight_directory() -> History:
    """An instance of AD LDS, with an event log of its own."""
    engine = Engine(
        "LDS01.corp.contoso.example",
        r"C:\Program Files\Microsoft ADAM\instance1\data\adamntds.dit",
        who="dsamain",
        instance="NTDSA",
        provider="ADAM [instance1] ISAM",
        channel="ADAM (instance1)",
    )
    engine.start(day(0) + 4 * HOUR, replay=False)
    for turn in range(72):
        engine.collect_garbage(day(turn / 2) + 4 * HOUR + 15 * MINUTE)
    return history(engine)


CA_BACKUP = day(39) + 22 * HOUR + 4 * MINUTE
"""When the last backup of the certification authority was complete."""


def certification_authority() -> History:
    """A certification authority that is backed up every night, database and logs."""
    engine = Engine(
        "CA01.corp.contoso.example",
        r"C:\Windows\system32\CertLog\Contoso Issuing CA 1.edb",
        who="certsrv.exe",
        instance="",
        process="2420,{},{}",
    )
    engine.start(day(0) + 6 * HOUR, replay=False)
    for number in range(40):
        engine.stream(day(number) + 22 * HOUR, 4, "350 Mb")
        if number == 16:
            engine.stop(day(number) + 22 * HOUR + 30 * MINUTE)
            engine.start(day(number) + 22 * HOUR + 36 * MINUTE, replay=False)
    return history(engine)


DHCP_BACKUP = day(29) + 23 * HOUR + 15 * MINUTE
"""When the DHCP server had last saved its database."""


def dhcp_server() -> History:
    """A DHCP server: it saves its database every hour."""
    engine = Engine(
        "NET01.corp.contoso.example",
        r"C:\Windows\system32\dhcp\dhcp.mdb",
        who="svchost",
        instance="DhcpServer",
    )
    engine.start(day(0) + 5 * MINUTE, replay=False)
    for hour in range(30 * 24):
        engine.stream(day(0) + hour * HOUR + 14 * MINUTE, 1, "24 Mb", truncates=False)
    return history(engine)


def search_index() -> History:
    """The search index of a desktop that is switched off every evening."""
    engine = Engine(
        "PC17.corp.contoso.example",
        r"C:\ProgramData\Microsoft\Search\Data\Applications\Windows\Windows.edb",
        who="SearchIndexer",
        instance="Windows",
        version=("10", "00", "22631", "0000"),
        process="5960,{},{}",
    )
    for number in range(40):
        engine.start(day(number) + 8 * HOUR, replay=number == 12)
        if number in (5, 23):
            engine.log(day(number) + 8.5 * HOUR, 508, engine.database,
                       "4259840 (0x0000000000410000)", "32768 (0x00008000)", 21,
                       level="warning")  # fmt: skip
        if number != 11:
            engine.stop(day(number) + 17.5 * HOUR)
    return history(engine)


def file_replication() -> History:
    """The database of DFS Replication: a pass every nine days or so."""
    path = r"\\.\E:\System Volume Information\DFSR\database_5C1E_8A20_B7F4_1D93\dfsr.db"
    engine = Engine("FS02.corp.contoso.example", path, who="DFSRs", instance=path)
    engine.start(day(0) + 3 * HOUR)
    for number in (2, 11, 20, 28, 38, 47, 55):
        engine.collect_garbage(day(number) + 13 * HOUR)
    engine.stop(day(59) + 2 * HOUR)
    engine.start(day(59) + 2 * HOUR + 6 * MINUTE)
    return history(engine)


STREAMED = day(41) + 23 * HOUR + 20 * MINUTE
"""When the last backup of Exchange 2007 was complete."""


def exchange_2007() -> History:
    """Exchange 2007: a pass in every window from 01:00 to 05:00, a streaming backup at 22:00."""
    engine = Engine(
        "EX07.contoso.example",
        r"E:\SG1\Mailbox Database.edb",
        who="MSExchangeIS",
        instance="First Storage Group",
        provider="ESE",
        process="3392",
    )
    for number in range(43):
        begun = day(number) + 1 * HOUR + 15 * MINUTE
        work = 8400 + 60 * (number * 7 % 11)
        engine.log(begun, 700, engine.database)
        engine.log(begun + work, 701, engine.database, 11_900 + 37 * (number * 5 % 13),
                   short_date(begun), work, 1, 1, 310 + number, 402 + number)  # fmt: skip
        if number < 42:
            engine.stream(day(number) + 22 * HOUR, 80, "83886 Mb")
    return history(engine, configuration=WINDOW)
