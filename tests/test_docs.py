"""The guide says what the program does: keys, commands, inputs, pages."""

import json
import re
import textwrap
from pathlib import Path

import msgspec
import pytest
import yaml

from esewatch import cli, config
from esewatch.config.files import load
from esewatch.ese.catalogue import maintenance
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.sources.registry import KINDS
from scripts.configuration_page import TABLES, written_anew

pytestmark = pytest.mark.lint
ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """What stands under a heading of any level, up to the next one."""
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The rows of the tables in `text`, without headings and rulers."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_every_key_of_the_configuration_has_a_meaning() -> None:
    for heading in TABLES:
        for row in rows(section(page("configuration.md"), heading)):
            assert len(row) == 4 and row[3], row


def test_every_struct_of_the_settings_has_a_table() -> None:
    structs = {
        each
        for each in vars(config).values()
        if isinstance(each, type) and issubclass(each, msgspec.Struct) and each.__name__[0] != "_"
    }

    assert set(TABLES.values()) == structs - {config.Retired}  # in the row of `computers`


def test_a_key_is_written_with_what_it_takes_its_default_and_the_meaning_that_the_page_has() -> (
    None
):
    old = page("configuration.md").replace("| `duration` | a duration from 15m to 24h |", "| x |")
    text = old.replace("| required | local time at which it opens |", "| 07:00 | when it opens |")

    found = rows(section(written_anew(text), "windows"))

    assert found[0] == ["`start`", "a time such as 01:00", "required", "when it opens"]
    assert found[1] == ["`duration`", "a duration from 15m to 24h", "required", ""]
    assert found[3][:3] == ["`timezone`", "a time zone such as Europe/Berlin", "`UTC`"]


def test_a_page_without_a_table_is_not_written_anew() -> None:
    with pytest.raises(ValueError, match="no table below the heading The whole file"):
        written_anew("# Configuration\n\n## The whole file\n\n## sources\n\n| key |\n")


@pytest.mark.parametrize("name", ["configuration.md", "first-answer.md", "inputs.md"])
def test_every_example_of_a_configuration_is_valid(tmp_path: Path, name: str) -> None:
    examples = re.findall(r"^```yaml\n(.*?)^```", page(name), re.M | re.S)
    files = []
    for number, example in enumerate(examples):
        files.append(tmp_path / f"{number}.yml")
        files[-1].write_text(example, encoding="utf-8")

    assert len([load(file) for file in files]) >= 1


def test_every_error_that_the_configuration_page_shows_is_one_of_the_tested_ones() -> None:
    shown = re.findall(r"^ +(invalid-\S+\.yml:.*)$", page("configuration.md"), re.MULTILINE)
    tested = "\n".join(
        file.read_text(encoding="utf-8") for file in (ROOT / "tests" / "config").glob("invalid-*")
    )

    assert shown
    assert [line for line in shown if f"# {line}\n" not in tested] == []


def test_the_page_of_inputs_has_a_section_for_each_type() -> None:
    text = page("inputs.md")

    assert [kind for kind in KINDS if f"\n## `{kind}`" not in text] == []


def test_the_index_leads_to_every_page_of_the_guide() -> None:
    index = page("index.md")
    pages = [
        file.relative_to(DOCS).as_posix()
        for folder in ("", "reference", "decisions")
        for file in (DOCS / folder).glob("*.md")
        if file.name != "index.md"
    ]

    assert [name for name in pages if f"({name})" not in index] == []


def test_the_tour_ends_with_how_to_read_the_source() -> None:
    headings = re.findall(r"^## (.*)$", page("architecture.md"), re.MULTILINE)

    assert headings[-1] == "Reading the source"


@pytest.mark.parametrize("name", ["esewatch", "esefiles"])
def test_the_tour_names_every_room_and_no_room_that_is_not_there(name: str) -> None:
    package = ROOT / "agent" / name
    here = {file.stem for file in package.glob("*.py") if not file.stem.startswith("__")} | {
        folder.name for folder in package.iterdir() if (folder / "__init__.py").exists()
    }
    table = (
        page("architecture.md").partition(f"| room of `agent/{name}/` |")[2].partition("\n\n")[0]
    )
    named = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", table, re.MULTILINE)

    assert set(named) == here


def test_every_command_that_a_text_names_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    commands = set(re.findall(r"^    (\w+)(?: |$)", capsys.readouterr().out, re.MULTILINE))
    texts = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "alerts").rglob("*.yml")]
    named = {
        (str(file.relative_to(ROOT)), command)
        for file in texts
        for command in re.findall(
            r"(?:^ +\$? ?|`|see: |it: |shipped: |bin/)esewatch ([a-z]+)",
            file.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }

    assert {"report", "run", "events", "config"} <= {command for _, command in named} <= commands


def test_the_guide_opens_with_five_doors_of_at_most_five_pages_and_10000_words() -> None:
    doors = re.findall(r"^\| \*\*.*?\*\* \| (.*) \|$", page("index.md"), re.MULTILINE)

    assert len(doors) == 5
    for door in doors:
        pages = [DOCS / each for each in re.findall(r"\]\((.*?)\)", door)]
        words = sum(len(each.read_text(encoding="utf-8").split()) for each in pages)
        assert (len(pages) <= 5, words <= 10_000) == (True, True), (door, words)


def test_the_page_of_dashboards_has_their_rows_and_their_variables() -> None:
    text = page("dashboards.md")
    named = rows(re.sub(r"^\| (?=[A-Z])", "| `", text, flags=re.MULTILINE))
    said = {cells[0].strip("` "): cells for cells in named}
    variables = {name for cells in named if len(cells) == 3 for name in cells[0][1:].split(", ")}
    for file in sorted((ROOT / "dashboards").glob("*.json")):
        board = json.loads(file.read_text(encoding="utf-8"))
        shown = [each["title"] for each in board["panels"] if each["type"] == "row"]
        lists = board["templating"]["list"]
        offered = {each["label"] for each in lists if each["type"] != "constant"}

        assert said[board["title"]][1].split(" · ") == shown
        assert offered <= variables


def test_every_file_and_name_that_contributing_tells_of_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    inside = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    names = set(re.findall(r"`([^`\n]+)`", inside))
    paths = {name for name in names if re.fullmatch(r"[\w./-]+(?:/|\.(?:py|md|yml))", name)}
    places = (ROOT, ROOT / "agent/esewatch", ROOT / "agent/esewatch/ese", ROOT / "tests/fuzz")
    words = {name for name in names if re.fullmatch(r"[A-Z]\w+|[a-z]+_[a-z_]+", name)}
    source = "\n".join(
        file.read_text(encoding="utf-8")
        for folder in ("agent", "alerts", "tests")
        for file in (ROOT / folder).rglob("*")
        if file.suffix in {".py", ".yml"} and file != Path(__file__)
    )

    assert len(paths) > 15 and len(words) > 8
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []
    assert [word for word in words if not re.search(rf"\b{word}\b", source)] == []


def test_the_row_that_contributing_adds_for_an_event_is_that_of_the_catalogue() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = re.search(r"^ *```python\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    assert shown is not None
    code = textwrap.dedent(shown[1]).strip().removesuffix(",")

    assert eval(code, vars(maintenance)) == CATALOGUE[705]


def test_each_page_of_the_guide_is_in_the_menu_of_the_site() -> None:
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    pages = [
        page
        for section in menu
        for items in section.values()
        for each in items
        for page in each.values()
    ]
    assert sorted(pages) == sorted(path.name for path in DOCS.glob("*.md"))
    empty = {title.lower() for section in menu for title, items in section.items() if not items}
    assert empty == {path.name for path in DOCS.iterdir() if path.is_dir()} - {"images", "site"}
