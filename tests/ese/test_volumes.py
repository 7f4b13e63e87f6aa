"""Names of volumes, and which one a path lies on."""

import pytest

from esewatch.ese.volumes import FREE_BYTES, free_space, is_below, volume_label, volume_of
from esewatch.model import Feed


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("L:", "l:"),
        ("L:\\", "l:"),
        ("L:/SG06/", "l:\\sg06"),
        (" C:\\Mounts\\SG06\\ ", "c:\\mounts\\sg06"),
        ("\\\\Server\\Logs\\", "\\\\server\\logs"),
        ("/", "/"),
        ("/srv/Logs/", "/srv/Logs"),
    ],
)
def test_a_volume_has_one_spelling(written: str, label: str) -> None:
    assert volume_label(written) == label


@pytest.mark.parametrize(
    "name",
    ["", " ", "_Total", "HarddiskVolume1", "L", "L:SG06", "SG06\\logs", "\\\\?\\Volume{1}\\", "\\"],
)
def test_what_is_no_whole_path_is_no_volume(name: str) -> None:
    assert volume_label(name) is None
    assert free_space(name) is None


def test_free_space_belongs_to_a_volume_of_a_computer() -> None:
    assert free_space("L:\\", 2.0**20) == Feed(
        metric=FREE_BYTES, owner="computer", labels=("l:",), scale=2.0**20
    )


@pytest.mark.parametrize(
    ("path", "volume", "below"),
    [
        ("L:\\SG06", "l:", True),
        ("L:", "l:\\", True),
        ("L:\\SG06", "L:\\SG06", True),
        ("L:\\SG061", "L:\\SG06", False),
        ("M:\\SG06", "L:", False),
        ("\\\\server\\logs\\sg06", "\\\\SERVER\\logs", True),
        ("/srv/logs", "/", True),
        ("/", "/", True),
        ("/srv/logs", "/srv/Logs", False),
        ("/srv/logs2", "/srv/logs", False),
        ("/l:/x", "l:", False),
        ("priv.edb", "/", False),
        ("/srv", "HarddiskVolume1", False),
    ],
)
def test_a_path_lies_below_a_volume(path: str, volume: str, below: bool) -> None:
    assert is_below(path, volume) is below


def test_the_longest_volume_wins() -> None:
    volumes = ["C:", "C:\\Mounts", "C:\\Mounts\\SG06", "C:\\Mounts\\SG06\\other", "L:"]

    assert volume_of("c:\\mounts\\sg06\\logs", volumes) == "C:\\Mounts\\SG06"
    assert volume_of("c:\\mounts\\sg07", volumes) == "C:\\Mounts"
    assert volume_of("m:\\sg06", volumes) is None
    assert volume_of("c:\\sg06", []) is None
