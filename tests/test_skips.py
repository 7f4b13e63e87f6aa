"""A test is skipped without the real program it wants, and fails where that is forbidden."""

import sys
from pathlib import Path

import pytest

from tests.support.kernels import compiled_kernel
from tests.support.tools import NO_SKIP, TOOLS, find, newest, require

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(NO_SKIP, raising=False)
    return tmp_path


def test_a_program_that_is_there_is_handed_out_by_its_path(empty_path: Path) -> None:
    program = empty_path / "prometheus-alertmanager"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    assert require("alertmanager") == str(program)


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_without_a_program_the_test_is_skipped_with_the_command_that_installs_it(
    name: str,
) -> None:
    assert find(name) is None
    with pytest.raises(pytest.skip.Exception, match=f"^{name} is not installed .*apt-get install"):
        require(name)


def test_the_newest_prometheus_is_that_of_the_cache(
    empty_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(empty_path))
    with pytest.raises(pytest.skip.Exception, match=r"promtool is not built \(make prometheus3\)"):
        newest("promtool")
    program = empty_path / "esewatch" / "prometheus3" / "promtool"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    assert newest("promtool") == str(program)


@pytest.mark.parametrize("forbidden", ["prometheus", "promtool", "evtxexport, prometheus"])
def test_a_forbidden_skip_is_a_failure(forbidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NO_SKIP, forbidden)

    with pytest.raises(pytest.fail.Exception, match="promtool is not installed"):
        require("promtool")
    with pytest.raises(pytest.skip.Exception, match="amtool is not installed"):
        require("amtool")


def test_without_the_compiled_kernel_its_test_is_skipped_unless_that_is_forbidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "esefiles.pages._kernel", None)

    with pytest.raises(pytest.skip.Exception, match="the compiled kernel is not built"):
        compiled_kernel()
    monkeypatch.setenv(NO_SKIP, "prometheus,kernel")
    with pytest.raises(pytest.fail.Exception, match="the compiled kernel is not built"):
        compiled_kernel()


def test_continuous_integration_forbids_to_skip_the_servers_the_browser_and_the_kernel() -> None:
    script = (ROOT / ".ci" / "run").read_text()

    assert f"export {NO_SKIP}=prometheus,alertmanager,chromium,kernel\n" in script


def test_make_tools_installs_every_package_of_a_program() -> None:
    script = (ROOT / "scripts" / "tools").read_text()
    packages = {tool.package for tool in TOOLS.values()}

    assert {package for package in packages if f"want {package} " not in script} == set()


def test_make_tools_takes_the_browsers_that_the_tests_take() -> None:
    script = (ROOT / "scripts" / "tools").read_text()

    assert f"want chromium {' '.join(TOOLS['chromium'].executables)}\n" in script
