"""One scan a device, over threads, processes and users."""

import errno
import logging
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from esefiles.scans.devices import device_lock
from esefiles.scans.devices.device_lock import DeviceLock

linux = pytest.mark.skipif(sys.platform != "linux", reason="locks between processes are of Linux")

HOLD = """
import os, sys
from esefiles.scans.devices.device_lock import DeviceLock
if len(sys.argv) > 2:
    os.setuid(int(sys.argv[2]))
lock = DeviceLock(sys.argv[1])
print(lock.acquire(), flush=True)
sys.stdin.read()
"""


@contextmanager
def other_process(device: str, *more: str) -> Iterator[tuple[subprocess.Popen[str], bool]]:
    """A process that tries to take the lock once and stays; and whether it has it."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, device, *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline() == "True\n"
        finally:
            process.kill()


@pytest.fixture
def device() -> str:
    return f"test-{uuid.uuid4()}"


def taken(device: str) -> bool:
    lock = DeviceLock(device)
    try:
        return not lock.acquire()
    finally:
        lock.release()


def test_a_lock_is_held_once_until_it_is_given_back(device: str) -> None:
    lock = DeviceLock(device)

    assert lock.acquire()
    assert taken(device)
    assert not lock.acquire()
    lock.release()
    lock.release()
    assert not taken(device)


def test_giving_back_what_one_has_not_takes_it_from_nobody(device: str) -> None:
    holder, other = DeviceLock(device), DeviceLock(device)
    holder.acquire()

    other.acquire()
    other.release()

    assert taken(device)
    holder.release()


def test_devices_do_not_hinder_each_other(device: str) -> None:
    names = [
        device,
        f"{device}2",
        "long" * 31 + device,
        "long" * 31 + device[::-1],
        f"grün{device}",
    ]
    locks = [DeviceLock(name) for name in [*names, f"\udcff{device}", f"a\0{device}"]]

    assert [lock.acquire() for lock in locks] == [True] * 7
    for lock in locks:
        lock.release()


@linux
def test_processes_exclude_each_other_and_the_holder_is_told(device: str) -> None:
    with other_process(device) as (process, has):
        assert has
        assert taken(device)
        assert DeviceLock(device).holder() == process.pid
    assert DeviceLock(device).holder() is None
    assert not taken(device)


@linux
def test_what_this_process_holds_no_other_gets(device: str) -> None:
    lock = DeviceLock(device)
    lock.acquire()

    assert lock.holder() == os.getpid()
    with other_process(device) as (_, has):
        assert not has
    lock.release()
    with other_process(device) as (_, has):
        assert has


@linux
def test_a_killed_process_leaves_nothing_behind(device: str) -> None:
    with other_process(device) as (process, _):
        process.kill()
        process.wait()
        assert not taken(device)


@linux
def test_a_program_that_is_started_meanwhile_does_not_keep_the_lock(device: str) -> None:
    lock = DeviceLock(device)
    lock.acquire()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False) as child:
        lock.release()

        assert not taken(device)
        child.kill()


@linux
def test_another_user_is_kept_off_too(device: str) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with other_process(device, "65534") as (_, has):
        assert has
        assert taken(device)


@linux
def test_asking_for_the_holder_a_thousand_times_neither_waits_nor_fails(device: str) -> None:
    lock = DeviceLock(device)
    lock.acquire()
    try:
        answers = {DeviceLock(device).holder() for _ in range(1000)}
    finally:
        lock.release()

    assert answers <= {os.getpid(), None}
    assert os.getpid() in answers


@pytest.mark.parametrize("number", [errno.EAFNOSUPPORT, errno.EACCES, errno.EMFILE])
def test_where_sockets_are_forbidden_the_lock_holds_within_the_process(
    device: str,
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refused(*_: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(socket, "socket", refused)
    lock = DeviceLock(device)
    with caplog.at_level(logging.WARNING, device_lock.log.name):
        assert lock.acquire()

    assert taken(device)
    assert device in caplog.text
    assert os.strerror(number) in caplog.text
    assert lock.holder() is None
    lock.release()
    assert not taken(device)


def test_elsewhere_than_on_linux_the_lock_holds_within_the_process(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    lock = DeviceLock(device)

    assert lock.acquire()
    assert taken(device)
    assert lock.holder() is None
    lock.release()
    other = DeviceLock(device)
    assert other.acquire()
    lock.release()
    assert taken(device)
    other.release()
    assert not taken(device)
