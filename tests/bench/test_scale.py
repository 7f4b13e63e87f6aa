"""The made-up agents report as many servers as they should, with counters that grow."""

from functools import partial
from urllib.request import urlopen

from bench.scale import Told, farm
from tests.e2e.harness import answers, wait_for

TOLD = Told(
    [('esewatch_build_info{version="1"}', 1.0, False)],
    [
        ('ese_events_total{computer="ex000",database="e:\\\\db0001.edb"}', 100.0, True),
        ('ese_known_bad_pages{computer="ex000",database="e:\\\\db0001.edb"}', 2.0, False),
    ],
)


def test_an_agent_tells_of_itself_once_and_of_each_server_and_counters_grow() -> None:
    text = TOLD.text(range(10, 12), grown=0.5).decode()

    assert text.splitlines() == [
        'esewatch_build_info{version="1"} 1',
        'ese_events_total{computer="ex010",database="e:\\\\db0101.edb"} 150',
        'ese_known_bad_pages{computer="ex010",database="e:\\\\db0101.edb"} 2',
        'ese_events_total{computer="ex011",database="e:\\\\db0111.edb"} 150',
        'ese_known_bad_pages{computer="ex011",database="e:\\\\db0111.edb"} 2',
    ]


def test_two_thousand_databases_are_those_of_two_agents_and_none_is_told_twice() -> None:
    with farm(TOLD, 2000) as targets:
        for target in targets:
            wait_for("it serves", partial(answers, f"http://{target}/metrics"))
        texts = [urlopen(f"http://{target}/metrics").read().decode() for target in targets]

    computers = [line.split('"')[1] for text in texts for line in text.splitlines()[1::2]]
    assert len(targets) == 2
    assert len(set(computers)) == len(computers) == 200
