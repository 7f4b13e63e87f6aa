"""This Windows server, through its libraries; for Windows only. Implements `prepare.Server`. Names
are those of sddl.h, winnt.h, winreg.h and lmaccess.h."""

import contextlib
import ctypes
import os
import subprocess
import sys
import winreg
from collections.abc import Iterator
from ctypes import wintypes
from pathlib import Path

from esewatch.cli.run.windows.prepare import SERVICE, VIRTUAL_ACCOUNT, service_sid

assert sys.platform == "win32"

_REVISION = 1
_OWNER, _GROUP, _DACL, _PROTECTED = 0x1, 0x2, 0x4, 0x80000000
_READ_CONTROL, _WRITE_DAC = 0x20000, 0x40000
_MEMBER_IN_ALIAS, _MEMBER_NOT_IN_ALIAS = 1378, 1377
_CONTROLLER = "LanmanNT"
_CONNECT, _CHANGE_CONFIG, _NO_CHANGE = 0x1, 0x2, 0xFFFFFFFF
_NAME_CHARACTERS, _SID_BYTES = 256, 68

_advapi = ctypes.WinDLL("advapi32", use_last_error=True)
_kernel = ctypes.WinDLL("kernel32", use_last_error=True)
_net = ctypes.WinDLL("netapi32")
_kernel.LocalFree.argtypes = (wintypes.LPVOID,)
_advapi.RegGetKeySecurity.argtypes = (
    wintypes.HANDLE,
    wintypes.DWORD,
    wintypes.LPVOID,
    wintypes.LPVOID,
)
_advapi.RegSetKeySecurity.argtypes = (wintypes.HANDLE, wintypes.DWORD, wintypes.LPVOID)
_advapi.SetFileSecurityW.argtypes = (wintypes.LPCWSTR, wintypes.DWORD, wintypes.LPVOID)
_advapi.ConvertSidToStringSidW.argtypes = (wintypes.LPVOID, wintypes.LPVOID)
_advapi.ConvertStringSidToSidW.argtypes = (wintypes.LPCWSTR, wintypes.LPVOID)
_advapi.ConvertSecurityDescriptorToStringSecurityDescriptorW.argtypes = (
    wintypes.LPVOID, wintypes.DWORD, wintypes.DWORD, wintypes.LPVOID, wintypes.LPVOID,
)  # fmt: skip
_advapi.ConvertStringSecurityDescriptorToSecurityDescriptorW.argtypes = (
    wintypes.LPCWSTR, wintypes.DWORD, wintypes.LPVOID, wintypes.LPVOID,
)  # fmt: skip
_advapi.OpenSCManagerW.argtypes = (wintypes.LPCWSTR, wintypes.LPCWSTR, wintypes.DWORD)
_advapi.OpenSCManagerW.restype = wintypes.HANDLE
_advapi.OpenServiceW.argtypes = (wintypes.HANDLE, wintypes.LPCWSTR, wintypes.DWORD)
_advapi.OpenServiceW.restype = wintypes.HANDLE
_advapi.ChangeServiceConfigW.argtypes = (
    wintypes.HANDLE, wintypes.DWORD, wintypes.DWORD, wintypes.DWORD, wintypes.LPCWSTR,
    wintypes.LPCWSTR, wintypes.LPVOID, wintypes.LPCWSTR, wintypes.LPCWSTR, wintypes.LPCWSTR,
    wintypes.LPCWSTR,
)  # fmt: skip
_advapi.CloseServiceHandle.argtypes = (wintypes.HANDLE,)
_net.NetLocalGroupAddMembers.argtypes = (
    wintypes.LPCWSTR, wintypes.LPCWSTR, wintypes.DWORD, wintypes.LPVOID, wintypes.DWORD,
)  # fmt: skip
_net.NetLocalGroupDelMembers.argtypes = _net.NetLocalGroupAddMembers.argtypes


def _must(done: int) -> None:
    """Raises OSError with what Windows says where a function has failed."""
    if not done:
        raise ctypes.WinError(ctypes.get_last_error())


@contextlib.contextmanager
def _sid(text: str) -> Iterator[ctypes.c_void_p]:
    found = ctypes.c_void_p()
    _must(_advapi.ConvertStringSidToSidW(text, ctypes.byref(found)))
    try:
        yield found
    finally:
        _kernel.LocalFree(found)


@contextlib.contextmanager
def _descriptor(text: str) -> Iterator[ctypes.c_void_p]:
    found = ctypes.c_void_p()
    convert = _advapi.ConvertStringSecurityDescriptorToSecurityDescriptorW
    _must(convert(text, _REVISION, ctypes.byref(found), None))
    try:
        yield found
    finally:
        _kernel.LocalFree(found)


@contextlib.contextmanager
def _handle(opened: int | None) -> Iterator[int | None]:
    _must(opened or 0)
    try:
        yield opened
    finally:
        _advapi.CloseServiceHandle(opened)


def _text(found: ctypes.c_wchar_p) -> str:
    text = found.value or ""
    _kernel.LocalFree(ctypes.cast(found, ctypes.c_void_p))
    return text


class ThisServer:
    def is_domain_controller(self) -> bool:
        key = r"SYSTEM\CurrentControlSet\Control\ProductOptions"
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            return bool(winreg.QueryValueEx(opened, "ProductType")[0] == _CONTROLLER)

    def sid(self, account: str) -> str:
        """The identifier of an account; that of the service follows from its name."""
        if account.casefold() == VIRTUAL_ACCOUNT.casefold():
            return service_sid(SERVICE)
        sid, domain = (ctypes.create_string_buffer(_SID_BYTES), ctypes.create_unicode_buffer(256))
        sizes = (wintypes.DWORD(_SID_BYTES), wintypes.DWORD(_NAME_CHARACTERS))
        _must(
            _advapi.LookupAccountNameW(
                None, account, sid, ctypes.byref(sizes[0]), domain, ctypes.byref(sizes[1]),
                ctypes.byref(wintypes.DWORD()),
            )
        )  # fmt: skip
        found = ctypes.c_wchar_p()
        _must(_advapi.ConvertSidToStringSidW(sid, ctypes.byref(found)))
        return _text(found)

    def join(self, group: str, member: str) -> None:
        self._change(_net.NetLocalGroupAddMembers, group, member, _MEMBER_IN_ALIAS)

    def leave(self, group: str, member: str) -> None:
        self._change(_net.NetLocalGroupDelMembers, group, member, _MEMBER_NOT_IN_ALIAS)

    def number(self, key: str, name: str) -> int | None:
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
                value, kind = winreg.QueryValueEx(opened, name)
        except FileNotFoundError:
            return None
        return int(value) if kind == winreg.REG_DWORD else None

    def has_key(self, key: str) -> bool:
        try:
            winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key).Close()
        except FileNotFoundError:
            return False
        return True

    def set_number(self, key: str, name: str, value: int | None) -> None:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key, 0, winreg.KEY_SET_VALUE) as opened:
            if value is not None:
                winreg.SetValueEx(opened, name, 0, winreg.REG_DWORD, value)
                return
            with contextlib.suppress(FileNotFoundError):
                winreg.DeleteValue(opened, name)

    def key_access(self, key: str) -> str:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key, 0, _READ_CONTROL) as opened:
            size = wintypes.DWORD(0)
            _advapi.RegGetKeySecurity(opened.handle, _DACL, None, ctypes.byref(size))
            room = ctypes.create_string_buffer(size.value)
            status = _advapi.RegGetKeySecurity(opened.handle, _DACL, room, ctypes.byref(size))
        if status:
            raise ctypes.WinError(status)
        found = ctypes.c_wchar_p()
        convert = _advapi.ConvertSecurityDescriptorToStringSecurityDescriptorW
        _must(convert(room, _REVISION, _DACL, ctypes.byref(found), None))
        return _text(found)

    def set_key_access(self, key: str, descriptor: str) -> None:
        wanted = _READ_CONTROL | _WRITE_DAC
        with (
            winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key, 0, wanted) as opened,
            _descriptor(descriptor) as made,
        ):
            status = _advapi.RegSetKeySecurity(opened.handle, _DACL, made)
        if status:
            raise ctypes.WinError(status)

    def make_folder(self, path: Path, descriptor: str) -> None:
        """Make a folder where there is none; it is of nobody but who `descriptor` names."""
        path.mkdir(parents=True, exist_ok=True)
        parts = _OWNER | _GROUP | _DACL | _PROTECTED
        with _descriptor(descriptor) as made:
            _must(_advapi.SetFileSecurityW(str(path), parts, made))

    def service_command(self) -> str:
        key = rf"SYSTEM\CurrentControlSet\Services\{SERVICE}"
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            return str(winreg.QueryValueEx(opened, "ImagePath")[0])

    def set_service_command(self, command: str) -> None:
        with (
            _handle(_advapi.OpenSCManagerW(None, None, _CONNECT)) as manager,
            _handle(_advapi.OpenServiceW(manager, SERVICE, _CHANGE_CONFIG)) as service,
        ):
            same = (_NO_CHANGE, _NO_CHANGE, _NO_CHANGE)
            _must(_advapi.ChangeServiceConfigW(service, *same, command, *(None,) * 6))

    def run(self, program: str, *words: str) -> str:
        path = Path(os.environ["SYSTEMROOT"], "System32", f"{program}.exe")
        ended = subprocess.run(
            [path, *words], capture_output=True, check=False, stdin=subprocess.DEVNULL,
            creationflags=subprocess.CREATE_NO_WINDOW,
        )  # fmt: skip
        said = (ended.stdout + ended.stderr).decode("utf-8", "replace")
        if ended.returncode:
            raise OSError(f"{program} {words[0]}: {' '.join(said.split())} ({ended.returncode})")
        return said

    @staticmethod
    def _change(function: "ctypes._NamedFuncPointer", group: str, member: str, done: int) -> None:
        name = ctypes.create_unicode_buffer(_NAME_CHARACTERS)
        domain = ctypes.create_unicode_buffer(_NAME_CHARACTERS)
        sizes = (wintypes.DWORD(_NAME_CHARACTERS), wintypes.DWORD(_NAME_CHARACTERS))
        with _sid(group) as of, _sid(member) as who:
            # The name of a group is translated; only its identifier is the same everywhere.
            _must(
                _advapi.LookupAccountSidW(
                    None, of, name, ctypes.byref(sizes[0]), domain, ctypes.byref(sizes[1]),
                    ctypes.byref(wintypes.DWORD()),
                )
            )  # fmt: skip
            status = function(None, name.value, 0, ctypes.byref(who), 1)
        if status not in {0, done}:
            raise OSError(f"{group}: {ctypes.FormatError(status)} ({status})")
