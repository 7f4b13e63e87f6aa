"""Directories that nothing ever verified are named in one sentence, not each by itself."""

from esewatch.advice.advise import advise
from esewatch.advice.judgement import Judgement
from esewatch.advice.unproven import never_proven, never_proven_text
from esewatch.config import DatabaseRule, Policy, Settings
from tests.advice.window.test_garbage_collection import NTDS, cycles
from tests.support.records import DAY, EPOCH, folder_of

PATH = "c:\\windows\\ntds\\ntds.dit"


def advised(days: float, settings: Settings, *computers: str) -> tuple[Judgement, ...]:
    records = [each for name in computers for each in cycles({**NTDS, "computer": name}, days)]
    return advise(folder_of(records, settings=settings).state, settings, EPOCH + days * DAY)


def test_many_domain_controllers_are_one_sentence() -> None:
    names = [f"DC{number:02}" for number in range(40)]
    told = advised(8, Settings(), *names)

    assert {(each.findings, each.verdict) for each in told} == {((), "unproven")}
    assert never_proven_text(never_proven(told)) == (
        f"no verification is known for 40 directories ({PATH} on dc00, {PATH} on dc01,"
        f" {PATH} on dc02 and 37 more): the maintenance of a directory does not read every page;"
        " run a page scan of a snapshot, or esentutl /k on a copy"
    )


def test_nothing_is_said_before_a_week_nor_where_it_is_asked_for() -> None:
    assert never_proven(advised(6, Settings(), "DC01")) == []
    asked = Settings(policy=Policy(verify_within=9 * DAY))
    (one,) = advised(10, asked, "DC01")
    assert [each.finding for each in one.findings] == ["never_verified"]
    assert one.verdict == "unverified"
    assert never_proven([one]) == []
    observed = Settings(databases=[DatabaseRule(match="*", tier="observed")])
    assert never_proven(advised(10, observed, "DC01")) == []
