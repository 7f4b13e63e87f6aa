"""`completion`: each script offers what the command line has, tried in the shell where it is."""

import shutil
import subprocess
from pathlib import Path

import pytest

from esewatch.cli import COMMANDS, main
from esewatch.cli.help.completion import SHELLS
from tests.support.patience import PATIENCE


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_names_all_commands_and_options_of_theirs(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = script(shell, capsys)
    assert set(COMMANDS) <= {word.strip("\"'(),;") for word in text.replace("=", " ").split()}
    for option in ("config.file", "web.listen-address", "since", "throttle-ms", "seconds"):
        assert option in text


def ask_bash(text: str, *words: str) -> set[str]:
    asked = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD=${{#COMP_WORDS[@]}}-1; _esewatch"
    done = subprocess.run(
        ["bash", "-c", f"{text}\n{asked}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_offers_commands_options_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    text = script("bash", capsys)
    assert ask_bash(text, "esewatch", "re") == {"report", "replay"}
    assert {"--since", "--until", "--id"} <= ask_bash(text, "esewatch", "events", "--")
    assert ask_bash(text, "esewatch", "events", "--format", "''") == {"text", "json"}
    assert ask_bash(text, "esewatch", "config", "sh") == {"show"}
    assert ask_bash(text, "esewatch", "config", "show", "--conf") == {"--config.file"}
    assert ask_bash(text, "esewatch", "completion", "f") == {"fish"}
    assert ask_bash(text, "esewatch", "demo", "--se") == {"--seed", "--seconds"}
    assert ask_bash(text, "esewatch", "engine", "ch") == {"check"}
    assert ask_bash(text, "esewatch", "lab", "list", "--format", "''") == {"text", "json"}
    assert ask_bash(text, "esewatch", "runbook", "EseKn") == {"EseKnownBadPage"}


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_offers_commands_and_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "esewatch.fish").write_text(script("fish", capsys))

    def ask(line: str) -> set[str]:
        done = subprocess.run(
            ["fish", "-c", f"source {tmp_path}/esewatch.fish; complete -C '{line}'"],
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
        return {row.split("\t")[0] for row in done.stdout.splitlines()}

    assert {"report", "replay"} <= ask("esewatch re")
    assert ask("esewatch events --format ") == {"text", "json"}
    assert "--since" in ask("esewatch events --si")
    assert ask("esewatch config sh") == {"show"}


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_takes_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "_esewatch").write_text(script("zsh", capsys))
    done = subprocess.run(
        [
            "zsh",
            "-fc",
            f"autoload -U compinit; compinit -D -u; source {tmp_path}/_esewatch"
            "; print ${_comps[esewatch]}",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert "_esewatch" in done.stdout
    assert done.stderr == ""
