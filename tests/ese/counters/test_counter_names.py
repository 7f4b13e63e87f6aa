"""The names of counters and objects in other languages, by language and product."""

import pytest

from esewatch.ese.counters.counter_feeds import feed_of, lookup, paths
from esewatch.ese.counters.counter_names import (
    ENGLISH_OBJECTS,
    LANGUAGES,
    NAMES,
    english,
    is_known,
    object_kind,
    spelled,
    unknown_counters,
)
from esewatch.ese.counters.counter_table import COUNTERS
from tests.support.samples import sample

ALL = [
    (language, library, name, today)
    for (language, library), names in NAMES.items()
    for name, today in names.items()
]
CODE_PAGES = {"ko": "cp949", "ru": "cp1251", "zh": "cp936", "zh-Hant": "cp950"}


def test_every_name_stands_for_an_object_or_counter_of_today_or_for_nothing() -> None:
    today = {*ENGLISH_OBJECTS, *(counter.name for counter in COUNTERS), ""}
    assert [name for *_, name, each in ALL if each not in today] == []
    assert {language for language, _ in NAMES} == set(LANGUAGES)


@pytest.mark.parametrize("form", [str, str.lower, str.title])
def test_every_name_is_read_in_any_case(form: type[str]) -> None:
    for *_, name, today in ALL:
        assert english(form(name)) == (today or form(name)), name
        assert is_known(form(name))


def test_every_name_is_read_from_a_code_page_that_was_taken_for_another() -> None:
    for language, _, name, today in ALL:
        page = CODE_PAGES.get(language, "cp1252")
        for encoding in {page, "utf-8"} if page == "cp1252" else {page}:
            garbled = name.encode(encoding).decode("cp1252", "replace")
            assert english(garbled) == (today or garbled), name
        if page == "cp1252":
            console = name.encode("cp850").decode("cp1252", "replace")
            assert english(console) == (today or console), name


def test_one_name_has_one_meaning_in_all_languages() -> None:
    meanings: dict[str, set[str]] = {}
    for *_, name, today in ALL:
        meanings.setdefault(name.lower(), set()).add(today)
    assert [name for name, found in meanings.items() if len(found) > 1] == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Database", "process"),
        ("MSExchange  Database ==>  Instances", "instances"),
        ("Database ==> Databases", "databases"),
        ("database ==> tableclasses", "table_classes"),
        ("Datenbank ==> Instanzen", "instances"),
        ("MSExchange-Datenbank  ==> Instanzen", "instances"),
        ("Base de données MSExchange ==> Instances", "instances"),
        ("База данных MSExchange ==> Экземпляры", "instances"),
        ("MSExchangeIS", None),
        ("Databas ==> Instanser", None),
    ],
)
def test_objects_are_known_by_name(name: str, kind: str | None) -> None:
    assert object_kind(name) == kind


def german_names() -> list[str]:
    lines = sample("perf/perflib-german-ese-counter-names.txt").read_text("utf-8").splitlines()
    return [line.split(" ", 1)[1] for line in lines if line[:1].isdigit()][1:]


def test_every_german_name_of_a_real_system_is_a_counter_of_its_own() -> None:
    known = [lookup("Datenbank ==> Instanzen", name) for name in german_names()]
    assert None not in known
    assert len({counter.name for counter in known if counter}) == len(known)
    assert unknown_counters(("Datenbank ==> Instanzen", name) for name in german_names()) == []


def test_every_counter_of_the_engine_is_known_in_english() -> None:
    names = [counter.name for counter in COUNTERS]
    others = ["B+ Tree Seeks/sec", "FCB Cache % Hit", "Sessions In Use", "No name"]
    assert [name for name in [*names, *others] if not is_known(name)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_paths_of_each_language_feed_the_same_metrics(language: str) -> None:
    def metrics(asked: str) -> set[str]:
        found = set()
        for path in paths(asked):
            name, _, counter = path[1:].rpartition("\\")
            instance = "L:" if name.startswith("LogicalDisk") else "store/SG06"
            name, _, given = name.partition("(")
            feed = feed_of(name, given.rstrip(")").replace("*", instance), counter)
            assert feed is not None, path
            found.add(feed.metric)
        return found

    assert metrics(language) == metrics("en")
    assert len(set(paths(language))) == len(paths(language))


def test_a_name_without_a_word_of_its_own_is_the_english_one() -> None:
    read = "Online Defrag Pages Read/sec"
    assert spelled(read, "Database ==> Instances", "de") == [read]
    assert spelled("Log Threads Waiting", "Database ==> Instances", "de") == [
        "Wartende Protokollthreads"
    ]
    assert spelled(
        "Database Maintenance Pages Read", "MSExchange Database ==> Instances", "en"
    ) == [
        "Database Maintenance Pages Read",
        "Online Maintenance (DB Scan) Pages Read",
    ]


def test_other_objects_and_known_names_are_not_told() -> None:
    assert unknown_counters([("MSExchangeIS", "Anfragen"), ("Processor", "% Zeit")]) == []
    assert unknown_counters([("MSExchange-Datenbank", "FCB Cache Stalls/sec")]) == []
    assert unknown_counters(
        [("MSExchange-Datenbank", f"Zähler {number}") for number in range(12)]
    ) == ["12 counters of MSExchange-Datenbank are not known, such as Zähler 0"]
