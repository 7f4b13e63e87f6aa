"""The Dockerfile, read: who runs, what is installed, what the image says of itself."""

import argparse
import fnmatch
import re

from esefiles import __version__
from esewatch.cli.run import command as run
from tests.deploy.dockerfile import DOCKERFILE, ROOT, health_command, instructions, of

BUILD, LAST = 1, 2


def test_it_has_two_stages_of_one_python_and_one_debian_by_tag() -> None:
    images = dict(each.rest.split("=", 1) for each in of("ARG", stage=0))

    assert [each.words[0] for each in of("FROM")] == ["${BUILD_IMAGE}", "${RUN_IMAGE}"]
    build, last = (images[name].rpartition(":") for name in ("BUILD_IMAGE", "RUN_IMAGE"))
    assert build[0] == last[0] == "docker.io/library/python"
    assert last[2] == build[2].replace("-", "-slim-")
    assert re.fullmatch(r"3\.1[123]-bookworm", build[2])


def test_no_step_is_a_shell_line_and_nothing_is_fetched_but_hashed_packages() -> None:
    steps = [each.words for each in of("RUN")]
    installs = [words for words in steps if "install" in words and "pip" in words]

    assert all(each.rest.startswith("[") for each in of("RUN"))
    assert not [words for words in steps if words[0] in {"sh", "/bin/sh", "bash", "curl", "wget"}]
    assert of("ADD") == []
    assert len(installs) == 3
    for words in installs:
        assert "--no-index" in words or {"--require-hashes", "--only-binary"} <= set(words)
    assert [
        w for w in steps if "wheel" in w and not {"--no-index", "--no-build-isolation"} <= {*w}
    ] == []


def test_the_last_stage_runs_as_a_number_that_is_not_root() -> None:
    (user,) = of("USER", stage=LAST)
    names = [each.name for each in instructions() if each.stage == LAST]

    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user.rest)
    assert "RUN" not in names[names.index("USER") :]
    assert [each.words[0] for each in of("RUN", stage=LAST)] == ["install"]


def test_what_it_copies_is_in_the_repository_and_is_sent_to_the_builder() -> None:
    copied = [word for each in of("COPY", stage=BUILD) for word in each.words[:-1]]
    sent = re.findall(
        r"^!(\S+)", DOCKERFILE.with_name("Dockerfile.dockerignore").read_text(), re.MULTILINE
    )

    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert [
        name for name in copied if not any(fnmatch.fnmatch(name + "/", f"{top}/*") for top in sent)
    ] == []
    assert {name.partition("/")[0] for name in sent} == {n.partition("/")[0] for n in copied}
    assert all("--from=build" in each.words for each in of("COPY", stage=LAST))


def test_it_has_the_labels_of_oci_and_the_version_of_the_agent() -> None:
    (label,) = of("LABEL")
    labels = dict(re.findall(r'org\.opencontainers\.image\.([\w.]+)="([^"]*)"', label.rest))

    assert set(labels) >= {"title", "description", "licenses", "version", "revision", "base.name"}
    assert labels["licenses"] == "Apache-2.0"
    assert f"VERSION={__version__}" in [each.rest for each in of("ARG", stage=LAST)]
    assert f"RUN_IMAGE={labels['base.name']}" in [each.rest for each in of("ARG", stage=0)]


def test_it_starts_the_agent_by_a_command_that_the_agent_knows() -> None:
    (entry,), (command,) = of("ENTRYPOINT"), of("CMD")
    parser = argparse.ArgumentParser()
    run.add_commands(parser.add_subparsers())

    options = parser.parse_args(command.words)

    assert entry.words == ["esewatch"]
    assert options.config == "/etc/esewatch/esewatch.yml"
    assert options.listen == [":19703"]
    assert of("EXPOSE")[0].rest == "19703"


def test_its_health_is_asked_with_python_alone() -> None:
    program, option, code = health_command()

    assert (program, option) == ("python", "-c")
    compile(code, "health", "exec")
    assert "'/-/healthy'" in code
