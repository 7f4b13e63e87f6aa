"""Lines of settings for many databases: YAML is written once a rule, not once a database."""

import pytest

from esewatch.config import (
    DatabaseRule,
    Settings,
)
from esewatch.config.files import dump_keys
from esewatch.expose.pages.problems import problem
from esewatch.expose.pages.problems.problem import RuleSettings
from tests.support.records import event, folder_of


@pytest.mark.parametrize("rules", [[], [DatabaseRule(match="*priv*.edb", mailboxes=7)]])
def test_the_keys_of_a_rule_are_written_once_for_all_its_databases(
    rules: list[DatabaseRule], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(databases=rules)
    records = [event(700, 0.0, database=f"e:\\db{at}\\priv.edb") for at in range(50)]
    state = folder_of(records, settings=settings).state
    written = list[object]()

    def counted(rule: DatabaseRule, keys: frozenset[str]) -> str:
        written.append(keys)
        return dump_keys(rule, keys)

    monkeypatch.setattr(problem, "dump_keys", counted)
    given = RuleSettings(settings, state)
    lines = {given.setting(each, "device_unknown", device="x") for each in state.databases.values()}
    assert (len(lines), len(written)) == (50, 1)
