"""The configuration of the agent of the demo, and where it listens."""

import socket
from pathlib import Path

import pytest

from eselab.demo.agent import (
    DEFAULT_ADDRESS,
    DemoError,
    choose_address,
    configuration,
    local_url,
    make_folder,
)
from eselab.demo.servers import DEVICE, PAIR, TOGETHER, WINDOWS
from esewatch.config import policy_for, rule_for
from esewatch.config.files import load
from esewatch.expose import http
from tests.support.ports import free_port

LIVE = 1_795_348_800.0 + 7 * 3600


def test_the_configuration_is_valid_and_stays_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "esewatch.yml").write_text(configuration(LIVE))
    settings = load(tmp_path / "esewatch.yml")
    assert [source.type for source in settings.sources] == ["event_stream", "perfmon_csv"]
    assert settings.journal == str(tmp_path / "journal.db")
    # A month of the demo has some thousands.
    assert settings.policy.min_pages_read < 5000


@pytest.mark.parametrize("path", ["/tmp/d/MAIL01/{0}/{0}.edb", "c:\\d\\{0}\\{0}.edb"])
def test_every_windowed_database_has_its_rule_and_two_share_a_device(
    path: str, tmp_path: Path
) -> None:
    (tmp_path / "esewatch.yml").write_text(configuration(LIVE))
    settings = load(tmp_path / "esewatch.yml")
    rules = {name: rule_for(settings, "any", path.format(name)) for name in WINDOWS}
    for name, rule in rules.items():
        assert rule is not None
        assert (rule.name, rule.window, rule.tier) == (name, name, "watched")
        assert (rule.device == DEVICE) is (name in TOGETHER)
        assert settings.windows[name].duration == WINDOWS[name].length


def test_each_copy_of_the_pair_is_to_be_verified_within_two_weeks(tmp_path: Path) -> None:
    (tmp_path / "esewatch.yml").write_text(configuration(LIVE))
    settings = load(tmp_path / "esewatch.yml")
    asked = {
        computer: policy_for(settings, f"/d/{computer}/{PAIR}/{PAIR}.edb", computer).verify_within
        for computer in ("ex01", "ex02")
    }
    assert asked == {"ex01": 14 * 86400, "ex02": 14 * 86400}
    assert policy_for(settings, "/d/keep/keep.edb", "mail01").verify_within is None


def test_an_address_that_was_given_is_taken_or_refused() -> None:
    port = free_port()
    address = f"127.0.0.1:{port}"
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(DemoError, match=f"cannot listen on {address}: "),
    ):
        choose_address(address)
    assert choose_address(address) == address


def test_where_the_default_is_taken_another_port_is_chosen() -> None:
    port = free_port()
    default = f"127.0.0.1:{port}"
    with socket.create_server(("127.0.0.1", port)):
        chosen = choose_address(None, default)
    assert chosen != default
    assert chosen.rpartition(":")[0] == "127.0.0.1"
    assert choose_address(None, default) == default


def test_the_default_is_that_of_the_agent() -> None:
    assert http.DEFAULT_ADDRESS == DEFAULT_ADDRESS


def test_port_0_is_any_free_one() -> None:
    assert choose_address("127.0.0.1:0") != "127.0.0.1:0"


@pytest.mark.parametrize("address", ["19703", "127.0.0.1", "127.0.0.1:99999", "::1:9"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(DemoError, match="is not host:port"):
        choose_address(address)


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("127.0.0.1:19703", "http://127.0.0.1:19703"),
        (":19703", "http://127.0.0.1:19703"),
        ("0.0.0.0:1", "http://127.0.0.1:1"),
        ("[::]:1", "http://[::1]:1"),
        ("[::1]:1", "http://[::1]:1"),
    ],
)
def test_this_machine_reaches_what_listens_everywhere(address: str, url: str) -> None:
    assert local_url(address) == url


def test_a_folder_is_made_or_must_be_empty(tmp_path: Path) -> None:
    assert make_folder(str(tmp_path / "a" / "b")) == tmp_path / "a" / "b"
    assert (tmp_path / "a" / "b").is_dir()
    with pytest.raises(DemoError, match="is not empty"):
        make_folder(str(tmp_path))
    fresh = make_folder(None)
    fresh.rmdir()
    assert fresh.name.startswith("esewatch-demo-")
