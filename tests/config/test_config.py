"""Configuration files: what they mean, and what is said about those that are wrong."""

import datetime
import math
import os
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch import config as settings_module
from esewatch.config import (
    DAYS,
    CopyOf,
    DatabaseRule,
    Kafka,
    LogFiles,
    PageScan,
    Policy,
    Settings,
    Window,
    default_journal,
    default_settings,
    policy_for,
    rule_for,
    window_for,
)
from esewatch.config.files import dump, load
from esewatch.model import ConfigError
from tests.support.each import of_each

FILES = Path(__file__).parent
NIGHTLY = Window(start=datetime.time(1), duration=3600.0)
INVALID = sorted(path.name for path in FILES.glob("invalid-*.yml"))
GOOD = sorted(path.name for path in FILES.glob("good-*.yml"))


def refused(path: Path | str) -> str:
    """The message of the error that loading `path` raises."""
    with pytest.raises(ConfigError) as caught:
        load(path)
    return str(caught.value)


def written(tmp_path: Path, content: bytes | str) -> Path:
    path = tmp_path / "esewatch.yml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@of_each(INVALID)
def test_a_wrong_file_is_answered_with_the_message_in_its_first_lines(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (FILES / name).read_text(encoding="utf-8").splitlines()
    expected = [line.removeprefix("# ") for line in lines if line.startswith(f"# {name}:")]
    monkeypatch.chdir(FILES)

    assert expected
    assert "\n".join(expected) == refused(name)


@pytest.mark.parametrize("name", GOOD)
def test_the_effective_settings_of_a_good_file_are_a_good_file_that_means_the_same(
    name: str, tmp_path: Path
) -> None:
    settings = load(FILES / name)

    assert settings == load(written(tmp_path, dump(settings)))


def test_every_key_of_a_full_file_arrives() -> None:
    settings = load(FILES / "good-full.yml")

    assert settings == Settings(
        sources=[
            LogFiles(type="evtx", paths=["/logs/*/*.evtx"], name="mail"),
            LogFiles(
                type="event_stream",
                paths=["/logs/a.ndjson", "/logs/b.csv"],
                name="event_stream-1",
                computer="EX01",
                timezone="Europe/Berlin",
                date_order="dmy",
            ),
            LogFiles(type="perfmon_csv", paths=["/perf/*.csv"], name="perfmon_csv-1"),
            PageScan(
                type="page_scan",
                paths=["/snap/*.edb"],
                name="page_scan-1",
                window="nightly",
                throttle_ms=50,
                rate=64 << 20,
                read_size=1 << 20,
                computer="ex01",
                database="e:\\mdb06\\{name}",
                snapshot_taken="mtime",
            ),
        ],
        windows={
            "nightly": Window(
                start=datetime.time(1, 0),
                duration=14400.0,
                days=["mon", "tue", "wed", "thu", "fri"],
                timezone="Europe/Berlin",
            ),
            "weekend": Window(start=datetime.time(22, 0), duration=27000.0, days=["sat"]),
        },
        databases=[
            DatabaseRule(
                match="*\\priv*.edb",
                computer="ex0?",
                window="nightly",
                tier="watched",
                model="window",
                role="passive",
                name="priv06",
                mailboxes=800,
                device="lun7",
                log_path="L:\\SG06",
                storage="das",
                copies=[CopyOf(computer="ex02", database="e:\\mdb06\\priv06.edb")],
                policy={
                    "ratio_high": 200.0,
                    "min_pages_read": 1000,
                    "backup_within": math.inf,
                    "version_buckets": 16384,
                },
            ),
            DatabaseRule(match="*\\ntds.dit", model="garbage_collection"),
        ],
        pools={"array1": ["lun7", "lun8"]},
        computers={"EX01": "ex01.corp.example"},
        providers=["MYESEAPP"],
        policy=Policy(
            ratio_high=120.5,
            ratio_low=40.0,
            min_pages_read=50000,
            backup_within=2 * 86400.0,
            silent_after=math.inf,
            cache_per_mailbox=3 << 20,
        ),
        journal="/var/lib/esewatch/journal.db",
        retention=60 * 86400.0,
        max_databases=200,
        computer_label="fqdn",
    )


@pytest.mark.parametrize("name", ["good-empty.yml", "good-nothing-set.yml"])
def test_a_file_that_sets_nothing_gives_the_defaults(name: str) -> None:
    assert load(FILES / name) == Settings()
    assert Settings().policy == Policy(ratio_high=100.0, ratio_low=50.0, min_pages_read=100_000)


@pytest.mark.parametrize(
    ("platform", "kinds"),
    [("linux", ["disks"]), ("win32", ["disks", "windows_log", "windows_counters"])],
)
def test_without_a_file_this_machine_is_watched(
    platform: str, kinds: list[str], tmp_path: Path
) -> None:
    settings = default_settings(platform)

    assert [source.type for source in settings.sources] == kinds
    assert load(written(tmp_path, dump(settings))) == settings


def test_text_is_typed_by_its_key_and_not_by_its_looks() -> None:
    settings = load(FILES / "good-words-that-yaml-takes-for-other-things.yml")

    assert settings.computers == {"NO": "on.corp.example", "1e3": "0x10"}
    assert (settings.databases[0].name, settings.databases[0].device) == ("2026-11-20", "017")
    assert {"yes"} == set(settings.windows)
    assert datetime.time(22, 30) == settings.windows["yes"].start
    assert list(DAYS) == settings.windows["yes"].days


def test_relative_paths_start_at_the_folder_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "a[1]"
    folder.mkdir()
    path = written(folder, "sources: [{type: evtx, path: logs/*.evtx}]\njournal: j.db")

    settings = load(path)

    (source,) = settings.sources
    assert isinstance(source, LogFiles)
    assert [str(tmp_path / "a[[]1]" / "logs" / "*.evtx")] == source.paths
    assert str(folder / "j.db") == settings.journal


def test_a_file_with_a_secret_of_kafka_lies_beside_the_configuration_too(tmp_path: Path) -> None:
    client = "{sasl.password_file: pw, sasl.username_file: /etc/user, ssl.ca.location: ca.pem}"
    path = written(
        tmp_path,
        f"sources: [{{type: kafka, brokers: [k1:9092], topics: [ese], client: {client}}}]",
    )

    (source,) = load(path).sources

    assert isinstance(source, Kafka)
    assert source.client == {
        "sasl.password_file": str(tmp_path / "pw"),
        "sasl.username_file": "/etc/user",
        "ssl.ca.location": "ca.pem",
    }


def test_sources_without_a_name_are_counted_by_type(tmp_path: Path) -> None:
    kinds = ("evtx", "perfmon_csv", "evtx")
    path = written(tmp_path, "sources:\n" + "".join(f"- {{type: {k}, path: x}}\n" for k in kinds))

    assert [s.name for s in load(path).sources] == ["evtx-1", "perfmon_csv-1", "evtx-2"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_encodings_that_editors_write_are_read(encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, "providers: [Müller]\r\n".encode(encoding))

    assert load(path).providers == ["Müller"]


BEYOND = "not YAML: found a character or a version beyond all that exist"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"providers: [A]\njournal: \xff", "2: found the byte 0xff, allowed: UTF-8 text"),
        (b"journal: a\x00b", "1: found the character U+0000, allowed: printable text"),
        (b"\n\njournal: a\x01", "3: found the character U+0001, allowed: printable text"),
        (b"#" * (1 << 20) + b"#", "1: found more than 1048576 bytes, allowed: 1048576"),
        (b"[" * (1 << 20), "1: found more than 12 levels, allowed: 12"),
        (b'\njournal: "\\U00110000"', f"2: {BEYOND}"),
        (b'journal: "\\UFFFFFFFF"', f"1: {BEYOND}"),
        (b"%YAML 1." + b"9" * 5000 + b"\n---\n", f"1: {BEYOND}"),
    ],
)
def test_hostile_bytes_are_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)

    assert f"{path}:{message}" == refused(path)


def test_a_file_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yml"

    assert f"{missing}: cannot be read: No such file or directory" == refused(missing)
    assert f"{tmp_path}: cannot be read: Is a directory" == refused(tmp_path)


def test_a_pipe_in_the_place_of_a_file_is_refused_and_that_of_the_shell_is_read(
    tmp_path: Path,
) -> None:
    pipe = tmp_path / "pipe.yml"
    os.mkfifo(pipe)
    assert f"{pipe}: cannot be read: it is a pipe, not a file" == refused(pipe)

    reader, writer = os.pipe()
    os.write(writer, b"retention: 3d\n")
    os.close(writer)
    assert load(f"/dev/fd/{reader}").retention == 3 * 86400
    os.close(reader)


def test_of_many_problems_the_first_twenty_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(f"key{n}zz: 1\n" for n in range(25)))

    lines = refused(path).splitlines()

    assert len(lines) == 21
    assert lines[0].startswith(f"{path}:1: key0zz: unknown key")
    assert f"{path}: 5 more problems" == lines[-1]


@given(st.binary(max_size=200) | st.text(alphabet="sources: [{}],-&*!?|>'\"\n\t#~x", max_size=80))
def test_no_content_ends_in_anything_but_settings_or_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes | str
) -> None:
    path = written(tmp_path_factory.getbasetemp(), content)
    try:
        outcome: object = load(path)
    except ConfigError as error:
        outcome = str(error)
        assert all(line.startswith(str(path)) for line in outcome.splitlines())

    assert isinstance(outcome, Settings | str)


def rules(*matches: str) -> Settings:
    return Settings(databases=[DatabaseRule(match=match, name=match) for match in matches])


@pytest.mark.parametrize(
    ("pattern", "label", "fits"),
    [
        ("*\\priv*.edb", "e:\\mdb06\\priv06.edb", True),
        ("*\\PRIV*.EDB", "e:\\mdb06\\priv06.edb", True),
        ("*\\priv*.edb", "e:\\mdb06\\priv06.edb.bak", False),
        ("e:\\mdb?\\*", "e:\\mdb1\\priv.edb", True),
        ("e:\\mdb?\\*", "e:\\mdb12\\priv.edb", False),
        ("*\\[a-z]*", "e:\\[a-z]x", True),
        ("*\\[a-z]*", "e:\\bx", False),
        ("e:\\new", "e:\\new", True),
        ("e:\\new", "e:\new", False),
        ("*.edb", "/srv/ese/a.edb", True),
        ("*a*b*c", "xxaxxbxxc", True),
        ("*a*b*c", "xxbxxaxxc", False),
        ("*aab", "aaaab", True),
        ("a*a", "a", False),
        ("**", "", True),
        ("?", "", False),
        ("?*?", "x", False),
    ],
)
def test_a_glob_has_two_wildcards_and_no_case_and_no_escapes(
    pattern: str, label: str, fits: bool
) -> None:
    assert fits == (rule_for(rules(pattern), "ex01", label) is not None)


@given(st.text(alphabet="ab*?", max_size=8), st.text(alphabet="ab", max_size=8))
def test_a_glob_agrees_with_its_definition(pattern: str, text: str) -> None:
    def fits(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return fits(pattern[1:], text) or (bool(text) and fits(pattern, text[1:]))
        return bool(text) and pattern[0] in ("?", text[0]) and fits(pattern[1:], text[1:])

    assert fits(pattern, text) == (rule_for(rules(pattern), "", text) is not None)


@pytest.mark.timeout(5)
def test_a_glob_of_many_wildcards_takes_no_longer_than_its_text_is_long() -> None:
    assert rule_for(rules("*a" * 30 + "*b"), "ex01", "a" * 4000) is None


def test_the_first_rule_that_fits_wins() -> None:
    settings = rules("*\\priv06.edb", "*.edb")

    first = rule_for(settings, "ex01", "e:\\priv06.edb")
    second = rule_for(settings, "ex01", "e:\\pub.edb")

    assert first == settings.databases[0]
    assert second == settings.databases[1]
    assert rule_for(settings, "ex01", "c:\\windows\\ntds.dit") is None


def test_the_rules_are_matched_once_for_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    whole = settings_module.glob_matches

    def matches(pattern: str, text: str) -> bool:
        asked.append(pattern)
        return whole(pattern, text)

    monkeypatch.setattr(settings_module, "glob_matches", matches)
    rules = [DatabaseRule(match="a*"), DatabaseRule(match="b*", window="nightly")]
    settings = Settings(databases=rules, windows={"nightly": NIGHTLY})
    for _ in range(3):
        assert rule_for(settings, "ex01", "b.edb") is rules[1]
        assert window_for(settings, "b.edb", "ex01") is NIGHTLY
        assert policy_for(settings, "b.edb", "ex01") is settings.policy
    assert asked == ["a*", "b*"]
    assert rule_for(msgspec.structs.replace(settings, databases=[]), "ex01", "b.edb") is None


def test_a_rule_may_ask_for_a_computer() -> None:
    settings = Settings(databases=[DatabaseRule(match="*", computer="EX0?", tier="watched")])

    assert settings.databases[0] == rule_for(settings, "ex01", "x")
    assert rule_for(settings, "dc01", "x") is None


def test_a_rule_changes_only_the_thresholds_it_names() -> None:
    settings = Settings(
        policy=Policy(ratio_low=40.0),
        databases=[DatabaseRule(match="*.edb", policy={"ratio_high": 200.0})],
    )

    assert Policy(ratio_low=40.0, ratio_high=200.0) == policy_for(settings, "e:\\a.edb", "ex01")
    assert Policy(ratio_low=40.0) == policy_for(settings, "c:\\ntds.dit", "ex01")


def test_the_journal_lies_where_the_system_keeps_such_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("PROGRAMDATA", "D:\\Data")
    assert default_journal() == "D:\\Data\\esewatch\\state\\journal.db"

    monkeypatch.setattr(sys, "platform", "linux")
    assert default_journal() == "/var/lib/esewatch/journal.db"


def test_settings_cannot_be_changed_after_they_were_checked() -> None:
    settings = default_settings()

    with pytest.raises(AttributeError):
        settings.max_databases = 3  # type: ignore[misc]
    assert msgspec.structs.asdict(settings)["max_databases"] == 1000


@pytest.mark.parametrize("number", ["1e99", "1e15", "0.000001", "2.5e20", "120.5"])
def test_a_number_is_shown_as_it_can_be_read(number: str, tmp_path: Path) -> None:
    settings = load(written(tmp_path, f"policy: {{ratio_high: {number}, ratio_low: 0.0000001}}\n"))

    assert load(written(tmp_path, dump(settings))) == settings
