import argparse
import errno
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from esefiles import __version__
from esefiles.base.command_line import commands_of, options_of
from esefiles.pages import kernels
from esewatch.cli import COMMANDS, command_line, main
from esewatch.cli.inputs.reading import Reader
from esewatch.config import Settings
from esewatch.daemon.loop import Daemon
from esewatch.expose.http.app import App
from esewatch.expose.http.server import HttpServer
from esewatch.fold.databases.integrity import known_bad_pages
from esewatch.fold.passes.passes import views_in
from esewatch.journal import Journal
from tests.support.records import LABEL, event, folder_of

SHOWN = [
    ["run"],
    ["events"],
    ["counters"],
    ["report"],
    ["scan"],
    ["check"],
    ["header"],
    ["advise"],
    ["doctor"],
    ["replay"],
    ["config", "check"],
    ["config", "show"],
    ["config", "alertmanager"],
    ["config", "import-exchange"],
    ["forget"],
    ["ack"],
    ["runbook"],
    ["completion"],
    ["windows", "prepare"],
    ["windows", "restore"],
]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose journal knows two bad pages."""
    path = tmp_path / "esewatch.yml"
    path.write_text(f"journal: {tmp_path}/journal.db\n")
    journal = Journal(tmp_path / "journal.db")
    folder = folder_of([event(474, 0, n, fields={"page_number": n}) for n in (17, 18)])
    journal.commit(folder.state, folder.changed, {})
    journal.close()
    return path


@pytest.mark.parametrize(
    ("logged", "said"),
    [
        ([474], f"acknowledged 1 bad page of {LABEL}"),
        ([474, 516, 539], f"acknowledged 1 bad page and 2 reports of damage of {LABEL}"),
        ([492], f"acknowledged 1 open error of its instance of {LABEL}"),
        ([718, 724], f"acknowledged all other errors and notices of {LABEL}"),
        ([905], f"acknowledged all other errors and notices of {LABEL}"),
        ([700], f"nothing of {LABEL} was open"),
    ],
)
def test_ack_says_what_it_acknowledged(
    logged: list[int], said: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [
        event(each, n, n, fields={"page_number": 17} if each in {474, 905} else {})
        for n, each in enumerate((105, *logged), start=1)
    ]
    journal = Journal(config.parent / "journal.db")
    folder = folder_of(events)
    journal.commit(folder.state, folder.changed, {})
    journal.close()
    assert main(["ack", "--config.file", str(config), LABEL]) == 0
    assert capsys.readouterr().out == said + "\n"
    assert main(["ack", "--config.file", str(config), LABEL]) == 0
    assert capsys.readouterr().out == f"nothing of {LABEL} was open\n"


def bad_pages(config: Path) -> list[int]:
    journal = Journal(config.parent / "journal.db")
    state, _ = journal.load()
    journal.close()
    entry = state.databases["ex01", LABEL]
    return [bad.page for bad in known_bad_pages(entry, views_in(state, entry))]


@pytest.mark.parametrize("command", SHOWN, ids=" ".join)
def test_every_command_has_help_with_an_example(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    assert f"example: esewatch {' '.join(command)}" in " ".join(capsys.readouterr().out.split())


def test_the_version_is_printed_with_the_kernel_that_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"esewatch {__version__} ({kernels.NAME} kernel)\n"


@pytest.mark.parametrize("word", ["", "--help", "--version", "evnets"])
def test_the_commands_are_named_without_their_parsers(word: str) -> None:
    known = commands_of(command_line(word))
    assert list(known) == list(COMMANDS)
    assert all(options_of(each) for each in known.values())


def test_a_usage_error_is_one_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["events", "--fromat", "json", "x"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for each in commands_of(parser).values():
        yield from parsers(each)


def test_every_option_and_argument_of_every_command_has_help() -> None:
    without = {
        f"{parser.prog} {action.dest}"
        for parser in parsers(command_line())
        for action in parser._actions
        if not action.help and action.dest not in ("command", "action", "words")
    }
    assert without == set()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["event", "x"], 'esewatch: event is not a command: did you mean "events"?'),
        (["xyzzy"], "esewatch: xyzzy is not a command; there are run, demo"),
        (["events", "--fromat", "json", "x"], '--fromat: did you mean "--format"?'),
        (
            ["events", "--format", "jsn", "x"],
            'jsn is not a value of --format: did you mean "json"?',
        ),
        (["config", "chek"], 'esewatch config: chek is not a command: did you mean "check"?'),
        (["config", "check", "--config.fil=x", "--colour"], "unrecognized arguments: --colour"),
        (["scan", "--trottle-ms", "3", "x"], 'did you mean "--throttle-ms"? (see esewatch scan'),
    ],
)
def test_what_was_meant_is_asked(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    line = capsys.readouterr().err
    assert said in line
    assert line.count("\n") == 1


def test_an_error_of_the_system_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/logs/a.evtx")

    monkeypatch.setattr(Reader, "inputs", refuse)
    assert main(["events", "/logs"]) == 2
    assert capsys.readouterr().err == "esewatch: /logs/a.evtx: Permission denied\n"


def test_config_check_names_file_line_and_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "esewatch.yml"
    path.write_text("sources:\n  - {tpye: evtx, path: x}\n")
    assert main(["config", "check", "--config.file", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"esewatch: {path}:2: ")
    assert 'did you mean "type"' in error
    path.write_text("sources:\n  - {type: evtx, path: x}\n")
    assert main(["config", "check", "--config.file", str(path)]) == 0
    assert "1 sources" in capsys.readouterr().out


def test_config_show_prints_settings_that_can_be_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "show"]) == 0
    first = capsys.readouterr().out
    path = tmp_path / "shown.yml"
    path.write_text(first)
    assert main(["config", "show", "--config.file", str(path)]) == 0
    assert capsys.readouterr().out == first


def test_ack_and_forget_work_on_the_journal_while_no_daemon_runs(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ack", "--config.file", str(config), LABEL, "17"]) == 0
    assert bad_pages(config) == [18]
    assert main(["ack", "--config.file", str(config), LABEL, "99"]) == 2
    assert "page 99" in capsys.readouterr().err
    assert main(["forget", "--config.file", str(config), "--computer", "ex01", LABEL]) == 0
    assert main(["forget", "--config.file", str(config), LABEL]) == 2


def test_ack_and_forget_go_through_the_daemon_while_it_runs(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Daemon(Settings(), Journal(tmp_path / "journal.db"), [])
    server = HttpServer(App(daemon.publisher), "127.0.0.1:0")
    server.start()
    thread = threading.Thread(target=daemon.run)
    thread.start()
    try:
        where = ["--config.file", str(config), "--web.address", server.address]
        assert main(["ack", *where, LABEL, "17"]) == 0
        assert capsys.readouterr().out == f"acknowledged 1 bad page of {LABEL}\n"
        assert main(["ack", *where, LABEL, "99"]) == 2
        assert "page 99" in capsys.readouterr().err
        assert main(["ack", "--config.file", str(config), "--web.address", ":1", LABEL]) == 2
        assert "--web.address" in capsys.readouterr().err
    finally:
        daemon.stop()
        thread.join()
        server.stop()
        daemon.close()
    assert bad_pages(config) == [18]


def test_a_missing_journal_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "esewatch.yml"
    path.write_text(f"journal: {tmp_path}/none.db\n")
    for command in ("ack", "forget"):
        assert main([command, "--config.file", str(path), LABEL]) == 2
        assert capsys.readouterr().err == (
            f"esewatch: {tmp_path}/none.db: there is no journal: no agent has run with this"
            f" configuration yet; start esewatch run --config.file {path}\n"
        )
        assert main([command, "--storage.path", str(tmp_path), LABEL]) == 2
        assert capsys.readouterr().err == (
            f"esewatch: {tmp_path}/journal.db: there is no journal; name the configuration:"
            " --config.file F\n"
        )


def test_run_refuses_a_journal_and_an_address_in_use_in_one_line(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Journal(tmp_path / "journal.db")
    assert main(["run", "--config.file", str(config)]) == 2
    assert "in use by another esewatch" in capsys.readouterr().err
    journal.close()
    other = Daemon(Settings(), Journal(tmp_path / "o.db"), [])
    server = HttpServer(App(other.publisher), "127.0.0.1:0")
    server.start()
    arguments = ["run", "--config.file", str(config), "--web.listen-address", server.address]
    assert main(arguments) == 2
    assert server.address in capsys.readouterr().err
    server.stop()
    other.close()


@pytest.mark.parametrize("command", ["ack", "forget"])
def test_a_damaged_journal_is_left_to_the_daemon(
    command: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = config.parent / "journal.db"
    journal.write_bytes(b"no database " * 1000)
    before = journal.read_bytes()

    assert main([command, "--config.file", str(config), LABEL]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "the journal is damaged: start esewatch run" in said
    assert journal.read_bytes() == before
    assert list(config.parent.glob("*damaged*")) == []


def test_the_command_line_knows_every_command_of_this_test() -> None:
    # The bundled programs take the place of this process: their tests start them.
    named = {"demo", "engine", "lab", *(command[0] for command in SHOWN)}
    for command in ("", *named):
        (known,) = (a.choices for a in command_line(command)._actions if a.dest == "command")
        assert known is not None
        assert set(known) == named if not command else command in known
    assert set(COMMANDS) == named
