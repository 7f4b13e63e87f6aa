"""Invented histories that are hard to read: seeded, without a clock of their own.

A history is written as it happened first (`script`, `stories`, `vignettes`, `mishaps`); then it
goes through the logs that real machines have: numbers that start again, clocks that are set back,
oldest records that are gone, gaps, copies of files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tests.oracle import stories, vignettes
from tests.oracle.aftermath import with_aftermath
from tests.oracle.history import DAY, HOUR, Acknowledged, History, Logged, Scanned
from tests.oracle.identity import Computers, database_label
from tests.oracle.mishaps import page_scan, spread
from tests.oracle.moves import with_failovers
from tests.oracle.script import Draft, Place, Script

FIRST_DAY = 1_183_248_000.0
"""2007-07-01."""
MOST = 1500

OTHERS = (
    ("NTDS ISAM", "Directory Service", "NTDS", "NTDSA", "C:\\Windows\\NTDS\\ntds.dit"),
    ("ADAM [app1] ISAM", "ADAM (app1)", "dsamain", "ADAMDSA", "D:\\ADAM\\app1\\adamntds.dit"),
)
MODEST = (
    ("certsrv", "", "C:\\Windows\\system32\\CertLog\\CA.edb"),
    ("svchost", "", "C:\\Windows\\system32\\dhcp\\dhcp.mdb"),
    ("DFSRs", "", "\\\\.\\E:\\System Volume Information\\DFSR\\database_77\\dfsr.db"),
    ("Windows", "Windows", "C:\\ProgramData\\Microsoft\\Search\\Data\\Windows.edb"),
    ("svchost", "DataStore", "C:\\Windows\\SoftwareDistribution\\DataStore\\DataStore.edb"),
    ("taskhostw", "WebCacheLocal", "C:\\Users\\u\\AppData\\WebCache\\WebCacheV01.dat"),
    ("svchost", "SRUJet", "C:\\Windows\\system32\\SRU\\SRUDB.dat"),
)


@dataclass
class World:
    """The machines of one history."""

    rng: Random
    names: list[tuple[str, ...]]
    """By server: the names that its records bear."""
    twins: bool
    places: list[Place] = field(default_factory=list)
    groups: list[list[Place]] = field(default_factory=list)
    configuration: dict[str, object] = field(default_factory=dict)
    logs: dict[tuple[int, str], list[Logged]] = field(default_factory=dict)
    """What was kept of each log, in the order in which it was written."""


def history(seed: int) -> History:
    """The history of one seed."""
    made, world = before_aftermath(seed)
    return with_aftermath(made, seed, world.logs, world.groups)


def before_aftermath(seed: int) -> tuple[History, World]:
    """It and its machines, before anything befalls its logs."""
    rng = Random(seed)
    world = populated(rng)
    script = Script(rng)
    begin = FIRST_DAY + rng.randint(0, 6000) * DAY
    small = rng.random() < 0.3
    if small:
        lasts = 12
        tell_short(world, script, begin)
    else:
        lasts = rng.choice([5, 9, 16, 20, 30, 45, 60, 90, 120])
        tell_long(world, script, begin, lasts)
    made = published(world, script, begin, lasts, small)
    if not world.twins:
        # who has the oldest record has the short name
        made = with_failovers(made, seed, world.names, world.groups, script.moves)
    return made, world


def populated(rng: Random) -> World:
    """Machines with their names, programs and settings."""
    count = rng.choice([1, 1, 1, 2, 2, 3])
    twins = count > 1 and rng.random() < 0.15
    names: list[tuple[str, ...]] = []
    for each in range(count):
        if twins and each < 2:
            full = f"ex01.{'ab'[each]}.example"
            names.append((full.upper(), full))
        else:
            names.append((f"EX0{each + 1}", f"ex0{each + 1}.corp.example"))
    world = World(rng, names, twins)
    if rng.random() < 0.05 and not twins:
        both = {"EX01": "mail.corp.example", "ex01.corp.example": "mail.corp.example"}
        world.configuration["computers"] = both
    kind = rng.choice(["2007", "current", "current", "directory", "modest", "mixed"])
    if kind in ("2007", "mixed"):
        old_exchange(world)
    if kind in ("current", "mixed"):
        current_exchange(world, mixed=kind == "mixed")
    if kind in ("directory", "mixed"):
        for server in range(count):
            program = rng.choice(OTHERS)
            generation = rng.choice(["old", "esent"])
            provider, channel, process, instance, path = program
            place = Place(
                server,
                provider,
                channel,
                process,
                "old" if generation == "old" else "esent",
                instance,
                path,
                640,
            )
            world.places.append(place)
            world.groups.append([place])
    if kind == "modest" or rng.random() < 0.2:
        for process, instance, path in rng.sample(MODEST, rng.choice([1, 2, 3])):
            server = rng.randrange(count)
            where = Place(server, "ESENT", "Application", process, "esent", instance, path, 912)
            world.places.append(where)
            world.groups.append([where])
    return world


def old_exchange(world: World) -> None:
    """Storage groups of Exchange 2007; sometimes with the copy of CCR."""
    rng = world.rng
    for number in range(1, rng.choice([2, 2, 3])):
        group = []
        for each in range(rng.choice([1, 1, 2])):
            path = f"E:\\MDB0{number}\\priv{number}{each}.edb"
            group.append(
                Place(0, "ESE", "Application", "MSExchangeIS", "old", f"SG0{number}", path)
            )
        world.groups.append(group)
        world.places += group
    if rng.random() < 0.5:
        zone = rng.choice(["UTC", "UTC", "Europe/Berlin"])
        hours = rng.choice(["2h", "4h", "4h", "8h"])
        night: dict[str, object] = {"start": "01:00", "duration": hours, "timezone": zone}
        if zone != "UTC":
            night["start"] = "03:00"
        world.configuration["windows"] = {"nightly": night}
        world.configuration["databases"] = [{"match": "*\\priv*.edb", "window": "nightly"}]
    if rng.random() < 0.2 and len(world.names) > 1:
        path = world.places[0].path
        copy = Place(1, "ESE", "Application", "MSExchangeRepl", "old", "SG01", path)
        world.places.append(copy)
        world.groups.append([copy])


def current_exchange(world: World, mixed: bool) -> None:
    """Databases of Exchange 2010 and later with their copies."""
    rng = world.rng
    process = rng.choice(["Microsoft.Exchange.Store.Worker", "MSExchangeIS"])
    for number in range(1, rng.choice([2, 2, 3])):
        name = f"DB0{number + (2 if mixed else 0)}"
        path = f"F:\\{name}\\{name}.edb"
        servers = list(range(len(world.names)))[: rng.choice([1, 2, 2, 3])]
        group = []
        for server in servers:
            program = process
            if server and rng.random() < 0.1:
                program = "MSExchangeRepl"
            group.append(
                Place(server, "ESE", "Application", program, "ese", name, path, 5000 + server)
            )
        world.groups.append(group)
        world.places += group
    if rng.random() < 0.15 and not mixed:
        entry: dict[str, object] = {"match": "*\\db01.edb", "name": "DB01"}
        world.configuration["databases"] = [entry]
        for group in world.groups:
            # a copy that lies elsewhere is a copy because it is configured
            group[1:] = [replace(each, path="G:" + each.path[2:]) for each in group[1:]]
        world.places = [place for group in world.groups for place in group]


def tell_short(world: World, script: Script, begin: float) -> None:
    """One vignette of one group."""
    rng = world.rng
    group = rng.choice(world.groups)
    first = group[0]
    if first.provider == "ESE":
        choice = vignettes.OLD if first.generation == "old" else vignettes.CURRENT
        if first.generation == "old" and first.process == "MSExchangeRepl":
            choice = vignettes.REPLICA
    else:
        directory = first.provider != "ESENT" or first.process == "DFSRs"
        choice = vignettes.DIRECTORY if directory else vignettes.SMALL
    rng.choice(choice)(script, group, begin)


def tell_long(world: World, script: Script, begin: float, lasts: int) -> None:
    """A story for every group, with mishaps."""
    rng = world.rng
    for group in world.groups:
        first = group[0]
        start = begin + rng.choice([0, 0, 0, 2]) * DAY
        if first.process == "MSExchangeIS" and first.generation == "old":
            stories.exchange_2007(script, group, start, min(lasts, 70))
        elif first.generation == "ese":
            stories.background(script, group, start, lasts)
        elif first.provider != "ESENT":
            stories.garbage(script, first, start, lasts)
        elif first.process == "DFSRs":
            stories.garbage(script, first, start, min(lasts, 30))
        else:
            stories.modest(script, first, start, lasts)
    spread(script, world.places, begin, lasts, rng.choice([0, 0, 1, 2, 4, 9]))


def published(world: World, script: Script, begin: float, lasts: int, small: bool) -> History:
    """What the logs of the machines kept, and what people and page scans added."""
    rng = world.rng
    whole = rng.random() < 0.3
    drafts = sorted(script.drafts, key=lambda each: each.time)[:MOST]
    channels: dict[tuple[int, str], list[Draft]] = {}
    for draft in drafts:
        channels.setdefault((draft.server, draft.channel), []).append(draft)
    clocks = {server: clock(rng, begin, lasts) for server in range(len(world.names))}
    if world.twins:
        clocks = dict.fromkeys(clocks, (0.0, 0.0, 0.0))
        if drafts and drafts[0].server != 0:
            # the short name would be that of the other machine
            world.names[0] = world.names[0][:2]
    files: list[list[Logged]] = []
    for (server, channel), written in channels.items():
        if server == 0 or not world.twins:
            written = fill(rng, written)
        log = numbered(world, written, clocks[server], whole)
        if not (small or world.twins) and rng.random() < 0.15:
            log = log[rng.randrange(max(1, len(log) * 3 // 4)) :]
        if whole and rng.random() < 0.5:
            log = holed(rng, log)
        files.append(log)
        world.logs[server, channel] = log
        if rng.random() < 0.3:
            first = rng.randrange(len(log))
            again = log[first : first + rng.randint(1, 60)]
            # Without a number only the position in a source tells a record from its copy.
            files.append([each for each in again if each.record_id is not None])
    rng.shuffle(files)
    records: list[Logged | Scanned | Acknowledged] = [each for log in files for each in log]
    if rng.random() < 0.2:
        rng.shuffle(records)
    end = max([each.time for each in records] or [begin])
    extras: list[Logged | Scanned | Acknowledged] = []
    if drafts and rng.random() < 0.4:
        end = max(end, added(world, script, extras, records, end))
    now = end + rng.choice([60.0, HOUR, 30 * HOUR, 4 * DAY, 10 * DAY, 30 * DAY])
    labels = Computers(History(tuple(records), now, world.configuration))
    for each in extras:
        if isinstance(each, Acknowledged):
            each = each._replace(computer=labels.label(each.computer))
        records.append(each)
    return History(tuple(records), now, world.configuration, whole)


def added(
    world: World,
    script: Script,
    extras: list[Logged | Scanned | Acknowledged],
    records: Sequence[Logged | Scanned | Acknowledged],
    end: float,
) -> float:
    """Page scans and acknowledgements of databases that logged something; the last time of them."""
    rng = world.rng
    logged = [each for each in records if isinstance(each, Logged)]
    told = {(each.computer, text) for each in logged for text in each.strings}
    places = [
        place
        for place in world.places
        if any((name, place.path) in told for name in world.names[place.server])
    ]
    begin = min([each.time for each in logged] or [end])
    latest = begin
    for _ in range(rng.randint(1, 3)):
        if not places:
            break
        place = rng.choice(places)
        name = world.names[place.server][-1 if not world.twins else 0]
        time = rng.uniform(begin, end + DAY)
        if rng.random() < 0.6:
            scan = page_scan(script, place, name, time)
            extras.append(scan)
            latest = max(latest, scan.read)
        else:
            pages = tuple(rng.sample(range(20, 41), 8)) if rng.random() < 0.4 else ()
            extras.append(Acknowledged(time, name, database_label(place.path), pages))
            latest = max(latest, time)
    return latest


def clock(rng: Random, begin: float, lasts: int) -> tuple[float, float, float]:
    """From when to when, and by how much, the clock of a machine was behind."""
    if rng.random() > 0.15:
        return (0.0, 0.0, 0.0)
    since = begin + rng.uniform(0, lasts) * DAY
    return (since, since + rng.choice([1.0, 900.0]) * DAY, rng.choice([120.0, 600.0, 3600.0]))


def fill(rng: Random, drafts: list[Draft]) -> list[Draft]:
    """Now and then something of another provider between."""
    if rng.random() < 0.7:
        return drafts
    first = drafts[0]
    strings = ("First Storage Group\\priv1", "120")
    other = Draft(first.time + 5, first.server, first.channel, "MSExchangeIS", 1221, strings,
                  "information")  # fmt: skip
    return sorted([*drafts, other], key=lambda each: each.time)


def numbered(
    world: World, drafts: list[Draft], behind: tuple[float, float, float], whole: bool
) -> list[Logged]:
    """The records of one log, with numbers, names and the time that the clock showed."""
    rng = world.rng
    bare = not whole and rng.random() < 0.05
    cleared = -1
    if len(drafts) > 8 and behind[2] == 0 and rng.random() < 0.15:
        cleared = rng.randrange(4, len(drafts) - 2)
        if drafts[cleared].time - drafts[0].time < 6 * HOUR:
            cleared = -1
    number = rng.randint(500, 400_000)
    full = rng.randrange(2)
    found: list[Logged] = []
    for place, draft in enumerate(drafts):
        number = 1 if place == cleared else number + (1 if whole else rng.randint(1, 9))
        names = world.names[draft.server]
        name = names[0] if place == 0 and world.twins else names[full % len(names)]
        if rng.random() < 0.1 and place:
            name = rng.choice(names)
        time = draft.time - (behind[2] if behind[0] <= draft.time < behind[1] else 0.0)
        found.append(
            Logged(
                round(time, 3),
                name,
                draft.channel,
                draft.provider,
                draft.event_id,
                None if bare else number,
                draft.strings,
                draft.level,
            )
        )
    return found


def holed(rng: Random, log: list[Logged]) -> list[Logged]:
    """The log without some days from its middle."""
    begin = rng.uniform(log[0].time, log[-1].time)
    end = begin + rng.choice([4.0, 9.0]) * DAY
    if end >= log[-1].time:
        return log
    return [each for each in log if not begin <= each.time <= end]
