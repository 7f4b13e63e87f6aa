"""The guide says what the program does: keys, commands, inputs, pages."""

import re
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from esewatch import cli
from esewatch.config import load
from esewatch.config.settings import (
    SOURCE_TYPES,
    BasicAuth,
    CopyOf,
    DatabaseRule,
    Disks,
    EseutilLogs,
    Exporter,
    LogFiles,
    NtbackupLogs,
    PageScan,
    Policy,
    Settings,
    SqlserverLogs,
    Window,
    WindowsCounters,
    WindowsLog,
)
from esewatch.config.units import Scalar

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SECTIONS: dict[str, type[msgspec.Struct]] = {
    "The whole file": Settings,
    "evtx, event_stream, perfmon_csv": LogFiles,
    "eseutil_log": EseutilLogs,
    "sqlserver_errorlog": SqlserverLogs,
    "ntbackup_log": NtbackupLogs,
    "prometheus": Exporter,
    "basic_auth": BasicAuth,
    "disks": Disks,
    "windows_log": WindowsLog,
    "windows_counters": WindowsCounters,
    "page_scan": PageScan,
    "windows": Window,
    "databases": DatabaseRule,
    "copies": CopyOf,
    "policy": Policy,
}


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


def allowed(hint: Any) -> str:
    """The words of docs/configuration.md for what a key takes."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return allowed(args[0])
    if origin is Annotated:
        return args[1].allowed if isinstance(args[1], Scalar) else "a mapping"
    if origin is Literal:
        return ", ".join(args)
    if origin is list:
        return f"a list of: {allowed(args[0])}"
    if origin is dict:
        return f"a mapping to: {allowed(args[1])}"
    return "a mapping"


def default(field: msgspec.structs.FieldInfo, hint: Any) -> str:
    """A default as the page writes it; a dash where there is none to write."""
    if field.required:
        return "required"
    value = (
        field.default_factory()
        if field.default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT
        else field.default
    )
    if value in (None, "", [], {}) or isinstance(value, msgspec.Struct):
        return "–"
    if isinstance(value, list):
        return f"`{', '.join(value)}`"
    kind = get_args(hint)[1] if get_origin(hint) is Annotated else None
    return f"`{kind.show(value) if isinstance(kind, Scalar) else value}`"


@pytest.mark.parametrize("heading", SECTIONS)
def test_the_configuration_page_has_each_key_with_what_it_takes_and_its_default(
    heading: str,
) -> None:
    struct = SECTIONS[heading]
    hints = get_type_hints(struct, include_extras=True)
    expected = [
        [f"`{field.encode_name}`", allowed(hints[field.name]), default(field, hints[field.name])]
        for field in msgspec.structs.fields(struct)
    ]

    found = rows(section(page("configuration.md"), heading))

    assert [row[:3] for row in found] == expected
    assert all(len(row) == 4 and row[3] for row in found)


def test_every_example_of_the_configuration_page_is_valid(tmp_path: Path) -> None:
    examples = re.findall(r"^```yaml\n(.*?)^```", page("configuration.md"), re.M | re.S)
    files = []
    for number, example in enumerate(examples):
        files.append(tmp_path / f"{number}.yml")
        files[-1].write_text(example, encoding="utf-8")

    assert len([load(file) for file in files]) >= 2


def test_every_error_that_the_configuration_page_shows_is_one_of_the_tested_ones() -> None:
    shown = re.findall(r"^ +(invalid-\S+\.yml:.*)$", page("configuration.md"), re.MULTILINE)
    tested = "\n".join(
        file.read_text(encoding="utf-8") for file in (ROOT / "tests" / "config").glob("invalid-*")
    )

    assert shown
    assert [line for line in shown if f"# {line}\n" not in tested] == []


def test_the_page_of_inputs_has_a_section_for_each_type() -> None:
    text = page("inputs.md")

    assert [kind for kind in SOURCE_TYPES if f"\n## `{kind}`" not in text] == []


def test_the_index_leads_to_every_page_of_the_guide() -> None:
    index = page("index.md")
    pages = [file.name for file in DOCS.glob("*.md") if file.name != "index.md"]
    decisions = [f"decisions/{file.name}" for file in (DOCS / "decisions").glob("*.md")]

    assert [name for name in [*pages, *decisions] if f"({name})" not in index] == []


def test_the_tour_ends_with_how_to_read_the_source() -> None:
    headings = re.findall(r"^## (.*)$", page("architecture.md"), re.MULTILINE)

    assert headings[-1] == "Reading the source"


def test_the_tour_names_every_room_and_no_room_that_is_not_there() -> None:
    package = ROOT / "agent" / "esewatch"
    here = {file.stem for file in package.glob("*.py") if not file.stem.startswith("__")} | {
        folder.name for folder in package.iterdir() if (folder / "__init__.py").exists()
    }
    named = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", page("architecture.md"), re.MULTILINE)

    assert set(named) == here


def test_every_command_that_a_text_names_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    commands = set(re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE))
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
