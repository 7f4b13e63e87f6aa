"""`make audit`: what is not looked up is never taken for clean."""

import json
import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "audit"


@pytest.fixture
def audit() -> Any:
    spec = spec_from_loader("audit", SourceFileLoader("audit", str(SCRIPT)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    file = tmp_path / "runtime.lock"
    file.write_text(
        "h11==0.16.0 \\\n    --hash=sha256:00\njinja2==3.1.0 \\\n    --hash=sha256:00\n"
    )
    return file


def package(name: str, *vulnerabilities: str) -> dict[str, Any]:
    found = [{"id": each, "fix_versions": ["9.9"]} for each in vulnerabilities]
    return {"name": name, "version": "1.0", "vulns": found}


def skipped(name: str) -> dict[str, Any]:
    return {"name": name, "skip_reason": f"Dependency not found on PyPI: {name}"}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            [package("h11"), package("jinja2")],
            (0, "2 packages looked up, no vulnerability is known"),
        ),
        ([package("h11"), package("jinja2", "CVE-1")], (1, "jinja2 1.0: CVE-1, mended in 9.9")),
        ([skipped("h11"), package("jinja2", "CVE-1")], (1, "jinja2 1.0: CVE-1")),
        ([skipped("h11"), skipped("jinja2")], (2, "NOT DONE, nothing is known: 2 of 2 packages")),
        ([package("h11"), skipped("jinja2")], (2, "1 of 2 packages not looked up: jinja2")),
        ([package("h11")], (2, "1 of 2 packages not looked up: jinja2")),
        ([], (2, "NOT DONE, nothing is known: 2 of 2 packages")),
    ],
)
def test_only_packages_that_were_all_looked_up_pass(
    audit: Any,
    lock: Path,
    capsys: pytest.CaptureFixture[str],
    answer: list[dict[str, Any]],
    expected: tuple[int, str],
) -> None:
    status, said = expected
    assert audit.judge(lock, {"dependencies": answer}) == status
    output = capsys.readouterr()
    assert said in output.out + output.err


def test_a_lock_without_packages_does_not_pass(audit: Any, tmp_path: Path) -> None:
    (tmp_path / "runtime.lock").write_text("# nothing\n")
    assert audit.judge(tmp_path / "runtime.lock", {"dependencies": []}) == 2


@pytest.mark.parametrize(
    "failure",
    [
        subprocess.CalledProcessError(1, "pip", stderr="WARNING: x\nConnectionError: refused\n"),
        subprocess.CalledProcessError(1, "pip-audit", stderr="ConnectionError: refused"),
        subprocess.TimeoutExpired("ConnectionError: refused", 300),
        OSError("ConnectionError: refused"),
        json.JSONDecodeError("ConnectionError: refused", "", 0),
    ],
)
def test_a_service_that_cannot_be_reached_is_told_and_does_not_pass(
    audit: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
) -> None:
    def fail(*_: object) -> str:
        raise failure

    monkeypatch.setattr(audit, "asked", fail)
    assert audit.main() == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("audit: NOT DONE, nothing is known: ")
    assert "ConnectionError: refused" in output.err
    assert output.err.count("\n") == 1


def test_an_answer_of_pip_audit_without_text_is_its_error(
    audit: Any, monkeypatch: pytest.MonkeyPatch, lock: Path, tmp_path: Path
) -> None:
    silent = subprocess.CompletedProcess([], 1, "", "ConnectionError: refused")
    monkeypatch.setattr(audit, "run", lambda *_, **__: silent)
    monkeypatch.setattr(audit.venv, "create", lambda *_, **__: None)
    with pytest.raises(subprocess.CalledProcessError) as caught:
        audit.asked(lock, tmp_path)
    assert caught.value.stderr == "ConnectionError: refused"
