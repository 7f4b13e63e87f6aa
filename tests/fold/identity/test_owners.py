"""Whose a database is: its instance, also one without a name, and never a tool."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.advice.history.copies import maintenance_model
from esewatch.config import DatabaseRule, Settings
from esewatch.expose.metrics.families import families
from esewatch.fold.folder import Folder
from esewatch.fold.identity.identity import database_name, role_of, tier
from esewatch.fold.instances.backups import completed
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.state import Database
from esewatch.model import Event
from tests.support.records import DAY, EPOCH, HOUR, event, folder_of, the_database, views

CA = "C:\\Windows\\system32\\CertLog\\CorpCA.edb"
LEASES = "C:\\Windows\\system32\\dhcp\\dhcp.mdb"


def unnamed(event_id: int, time: float, process: str = "certsrv", **changes: Any) -> Event:
    """An event of an instance without a name: its `%3` is empty."""
    given: dict[str, Any] = {"provider": "ESENT", "database": "", "ese_instance": ""}
    return event(event_id, time, process=process, **{**given, **changes})


def labels_of(folder: Folder, name: str) -> set[str]:
    found = families(folder.state, folder.settings, EPOCH + DAY)
    samples = [sample for family in found for sample in family.samples]
    return {each.labels["ese_instance"] for each in samples if each.name == name}


def facts(entry: Database) -> tuple[str, ...]:
    settings = Settings()
    return (
        tier(entry, settings),
        maintenance_model(entry, settings),
        database_name(entry, settings),
        role_of(entry, settings),
        entry.ese_instance,
        entry.process,
        entry.provider,
        entry.path,
        entry.generation,
    )


def test_a_stop_of_an_instance_without_a_name_interrupts_its_pass() -> None:
    folder = folder_of([unnamed(700, 0, database=CA), unnamed(103, HOUR)])
    current = views(folder)["defrag"].current
    assert current is not None
    assert current.interrupted


def test_a_backup_of_an_instance_without_a_name_is_its_databases() -> None:
    names = ((210, ""), (220, CA), (221, CA), (213, ""))
    folder = folder_of(unnamed(e, n * HOUR, database=d) for n, (e, d) in enumerate(names))
    instance = folder.state.instances["ex01", "certsrv"]
    (backup,) = completed(instance.backup_events)
    assert backup.verifying


def test_two_processes_without_names_do_not_mix() -> None:
    folder = folder_of(
        [
            unnamed(700, 0, database=CA),
            unnamed(700, 0, "dhcpserver", database=LEASES),
            unnamed(103, HOUR, "dhcpserver"),
            unnamed(413, HOUR),
        ]
    )
    running = {
        key[1]: bool(current and not current.interrupted)
        for key, entry in folder.state.databases.items()
        for current in [views_in(folder.state, entry)["defrag"].current]
    }
    assert running == {CA.lower(): True, LEASES.lower(): False}
    assert set(folder.state.instances) == {("ex01", "certsrv"), ("ex01", "dhcpserver")}
    assert labels_of(folder, "ese_engine_errors_total") == {"certsrv"}
    assert labels_of(folder, "ese_database_info") == {"certsrv", "dhcpserver"}


def test_a_database_of_an_instance_without_a_name_is_called_by_its_file() -> None:
    entry = the_database(folder_of([unnamed(700, 0, database=CA)]))
    assert database_name(entry, Settings()) == "corpca"


TOOLS = ("eseutil", "esentutl", "ESEUTIL.exe", "wbengine", "ntbackup", "MsMpEng")


@pytest.mark.parametrize("process", TOOLS)
@pytest.mark.parametrize("provider", ["ESE", "ESENT"])
@given(at=st.sampled_from([-1.0, 0.0, 90.0, DAY]))
def test_a_tool_that_works_on_the_file_of_a_store_changes_nothing(
    process: str, provider: str, at: float
) -> None:
    night = [event(700, 0), event(701, HOUR)]
    tool: dict[str, Any] = {"process": process, "provider": provider, "ese_instance": ""}
    state: dict[str, Any] = {"instance_state": "R", "engine_version": "15.01.2507.012"}
    work = [event(326, at, **tool, **state), event(327, at + 1, **tool), event(103, at + 2, **tool)]
    alone, beside = folder_of(night), folder_of([*work, *night])
    assert facts(the_database(beside)) == facts(the_database(alone))
    assert facts(the_database(folder_of([*night, *work]))) == facts(the_database(alone))
    assert facts(the_database(alone))[:2] == ("watched", "window")


def test_a_bad_page_that_a_tool_finds_is_one_of_the_store() -> None:
    found = event(474, DAY, process="eseutil", ese_instance="", fields={"page_number": 7})
    entry = the_database(folder_of([event(700, 0), found]))
    assert [bad.page for bad in entry.bad_pages] == [7]


def test_a_program_that_opens_the_file_once_does_not_take_it_from_its_server() -> None:
    other = event(326, DAY, process="indexer9", provider="ESENT", ese_instance="x")
    for records in ([event(326, 0), other], [other, event(326, 0)]):
        assert the_database(folder_of(records)).process == "MSExchangeIS"


def test_who_maintains_it_last_has_it() -> None:
    later = event(700, DAY, process="app2", provider="ESENT", ese_instance="")
    entry = the_database(folder_of([event(700, 0, process="app1", provider="ESENT"), later]))
    assert (entry.process, entry.ese_instance) == ("app2", "")


def test_only_a_tool_named_it_and_its_process_is_unknown() -> None:
    entry = the_database(folder_of([event(326, 0, database="d:\\a.edb", process="esentutl")]))
    assert (entry.process, entry.path) == ("", "d:\\a.edb")


def test_the_copy_of_the_replication_service_is_watched_and_passive() -> None:
    entry = the_database(folder_of([event(326, 0, process="MSExchangeRepl")]))
    assert (tier(entry, Settings()), role_of(entry, Settings())) == ("watched", "passive")
    after = the_database(folder_of([event(326, 0, process="MSExchangeRepl"), event(700, DAY)]))
    assert role_of(after, Settings()) == ""


@pytest.mark.parametrize(
    ("path", "process"),
    [
        ("C:\\Windows\\NTDS\\ntds.dit", "NTDS"),
        ("D:\\Program Files\\Microsoft ADAM\\shop\\data\\adamntds.dit", "ADAM"),
        (CA, "certsrv"),
        (LEASES, "svchost"),
        ("C:\\Windows\\system32\\wins\\wins.mdb", "wins"),
        ("E:\\System Volume Information\\DFSR\\database_1A2B\\dfsr.db", "DFSRs"),
        ("e:\\any.edb", "MSExchangeRepl"),
        ("e:\\any.edb", "Microsoft.Exchange.Store.Worker"),
    ],
)
def test_databases_of_servers_are_watched(path: str, process: str) -> None:
    entry = the_database(folder_of([event(326, 0, database=path, process=process)]))
    assert tier(entry, Settings()) == "watched"


def test_ad_lds_collects_garbage() -> None:
    adam = event(326, 0, provider="ADAM [shop] ISAM", process="ADAM", database="d:\\adamntds.dit")
    assert maintenance_model(the_database(folder_of([adam])), Settings()) == "garbage_collection"


def test_a_corruption_event_makes_an_ignored_database_observed() -> None:
    path = "C:\\Users\\a\\AppData\\Local\\Microsoft\\Windows\\WebCache\\WebCacheV01.dat"
    bad = event(474, 0, database=path, process="taskhostw", provider="ESENT")
    folder = folder_of([event(326, 0, database=path, process="taskhostw"), bad])
    assert tier(the_database(folder), Settings()) == "observed"
    decided = Settings(databases=[DatabaseRule(match="*webcache*", tier="ignored")])
    assert tier(the_database(folder), decided) == "ignored"
