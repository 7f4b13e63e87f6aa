"""The Ansible role: read by ansible-lint, and run by Debian's Ansible in a Debian that boots."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.debian_package import built, clone
from tests.deploy.debian_root import (
    DESK,
    Booted,
    Root,
    booted,
    fresh_root,
    make_mirror,
    require_debian_roots,
)
from tests.e2e.harness import wait_for
from tests.support.tools import skip

ROOT = Path(__file__).resolve().parents[2]
ANSIBLE = ROOT / "deploy" / "ansible"
RECAP = re.compile(r"^localhost +: ok=(\d+) +changed=(\d+) .* failed=(\d+) ", re.MULTILINE)
PLAY = {"hosts": "localhost", "connection": "local", "roles": ["esewatch"]}
VALUES: dict[str, Any] = {
    "esewatch_package": f"{DESK}/esewatch.deb",
    "esewatch_config": {"sources": [{"name": "logs", "type": "evtx", "path": "/srv/*.evtx"}]},
    "esewatch_arguments": "--web.listen-address 127.0.0.1:19713",
    "esewatch_instances": [
        {"name": "site-b", "listen_address": "127.0.0.1:19714", "config": {"retention": "91d"}}
    ],
}


def test_ansible_lint_finds_nothing() -> None:
    program = shutil.which("ansible-lint")
    if program is None:
        skip("ansible-lint is not installed (scripts/tools deploy)", {"ansible"})

    ended = subprocess.run(
        [program, "--offline", "--strict", "--profile=production", "--nocolor"],
        cwd=ANSIBLE, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 failure(s), 0 warning(s)" in ended.stdout + ended.stderr


def test_the_role_documents_what_it_takes() -> None:
    role = ANSIBLE / "roles" / "esewatch"
    options = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())
    known = options["argument_specs"]["main"]["options"]
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text())
    (play,) = yaml.safe_load((ANSIBLE / "site.yml").read_text())
    ((example,),) = ([each["vars"] for each in play["roles"]],)

    assert set(known) == {*defaults, "esewatch_package"} == set(example) == set(VALUES)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    """A Debian with systemd and Ansible, the package and the role on the desk."""
    require_debian_roots()
    package = built(clone(tmp_path / "clone"))
    made = fresh_root(tmp_path / "root")
    there = ["systemd-sysv", "dbus", "ansible-core", "python3-apt"]
    make_mirror(made.copy(tmp_path / "online"), tmp_path / "mirror", [package, *there])
    shutil.rmtree(tmp_path / "online")
    made.use_mirror(tmp_path / "mirror")
    made.run("apt-get", "update")
    made.run("apt-get", "install", "--yes", "--no-install-recommends", *there)
    desk = made.path / DESK[1:]
    shutil.copy(package, desk / "esewatch.deb")
    shutil.copytree(ANSIBLE / "roles", desk / "roles")
    yield made
    shutil.rmtree(made.path)


def play(debian: Booted, root: Root, **values: Any) -> tuple[int, int]:
    """(tasks that were run, changes) of a run of the role."""
    text = yaml.safe_dump([{**PLAY, "vars": {**VALUES, **values}}])
    (root.path / DESK[1:] / "play.yml").write_text(text)
    said = debian.shell("ansible-playbook play.yml")
    ok, changed, failed = map(int, RECAP.findall(said)[0])
    assert failed == 0
    return ok, changed


def ready(debian: Booted, port: int) -> bool:
    return bool(debian.get(f"http://127.0.0.1:{port}/-/ready"))


def process(debian: Booted, unit: str) -> str:
    return debian.shell(f"systemctl show --property=MainPID --value {unit}").strip()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_role_installs_two_services_and_a_second_run_changes_nothing(
    root: Root, tmp_path: Path
) -> None:
    with booted(root, tmp_path / "boot.log") as debian:
        assert play(debian, root)[1] > 0
        wait_for("both are ready", lambda: ready(debian, 19713) and ready(debian, 19714))
        before = process(debian, "esewatch"), process(debian, "esewatch@site-b")

        assert play(debian, root)[1] == 0
        assert (process(debian, "esewatch"), process(debian, "esewatch@site-b")) == before

        with pytest.raises(AssertionError, match=r"sorces: unknown key .* did you mean"):
            play(debian, root, esewatch_config={"sorces": []})
        assert play(debian, root)[1] == 0
        assert process(debian, "esewatch") == before[0]

        assert play(debian, root, esewatch_config={"retention": "92d"})[1] == 2
        wait_for("the new process", lambda: ready(debian, 19713))
        assert process(debian, "esewatch") != before[0]
        assert process(debian, "esewatch@site-b") == before[1]
