"""Every panel of every dashboard, drawn by Grafana's own npm packages in a real browser."""

import pytest

from tests.dashboards.boards import Json, loaded
from tests.dashboards.grafana.pictures import INSTALLED, Drawn, NotInstalledError, drawn, install
from tests.support.each import of_each
from tests.support.tools import require, skip

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawn]:
    """All of them by their uid; skips where npm, or what it installs from, is absent."""
    for program in ("chromium", "prometheus", "promtool"):
        require(program)
    try:
        install(INSTALLED)
    except NotInstalledError as error:
        skip(str(error), {"npm"})
    return {each.uid: each for each in drawn(tmp_path_factory.mktemp("pictures"))}


def has_values(asked: Json) -> bool:
    """Whether Prometheus answered a query of the panel with a number."""
    series = [one for answer in asked["answers"] for one in answer["series"]]
    return any(value != "NaN" for one in series for _, value in one.get("values") or [one["value"]])


each_board = of_each(loaded(), lambda board: board["uid"])


@each_board
def test_every_panel_is_drawn_without_an_error(board: Json, boards: dict[str, Drawn]) -> None:
    _, asked, seen, errors = boards[board["uid"]]

    assert errors == []
    assert [panel for panel in seen if panel.is_broken] == []
    assert [panel.title for panel in seen] == [each["panel"]["title"] for each in asked]


@each_board
def test_a_panel_with_data_draws_it_and_one_without_has_a_sentence(
    board: Json, boards: dict[str, Drawn]
) -> None:
    _, asked, seen, _ = boards[board["uid"]]
    states = {panel.title: panel.state for panel in seen}
    wanted = {
        each["panel"]["title"]: "not drawn"
        if each["panel"]["type"] == "state-timeline"
        else ("drawn" if has_values(each) else "empty")
        for each in asked
        if each["panel"]["type"] != "stat"  # One without data says so as its value.
    }

    assert {title: states[title] for title in wanted} == wanted


def test_what_fires_is_on_the_first_board_beside_its_numbers(boards: dict[str, Drawn]) -> None:
    said = {panel.title: panel for panel in boards["esewatch-fleet"].seen}

    assert said["Copies with bad pages or damage"].text.split()[-1] == "1"
    assert said["Alerts that fire"].state == "drawn"
    assert "EseKnownBadPage" in said["Alerts that fire"].text


@each_board
def test_what_is_in_no_package_is_said_to_be_not_drawn(
    board: Json, boards: dict[str, Drawn]
) -> None:
    missing = [each for each in boards[board["uid"]].seen if each.state == "not drawn"]

    assert {panel.type for panel in missing} <= {"state-timeline"}
    assert all("part of Grafana itself, in no package" in panel.text for panel in missing)
