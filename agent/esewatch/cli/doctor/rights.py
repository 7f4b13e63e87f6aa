"""Access rights: the daemon's account, what it may read, and the command that grants access."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

ACCOUNT = "esewatch"
"""The account of the package, where no journal shows another."""
SECONDS = 5.0
_TEST = 'for c; do [ -"${c%%:*}" "${c#*:}" ] && printf 1 || printf 0; done'

Right = tuple[str, str]
"""`r`, `w` or `x`, and the path that it is asked of."""


class Account(NamedTuple):
    """The account for the checks: `uid` is None for the account that runs this command."""

    name: str
    uid: int | None = None
    gid: int = 0
    groups: tuple[int, ...] = ()


def account_of(journal: Path) -> Account:
    """The account that the daemon runs as, as far as that is known and can be taken. Root asks for
    the owner of the journal, else for `esewatch`; anybody else for themselves."""
    if os.name == "nt":
        return Account(os.environ.get("USERNAME", "ACCOUNT"))
    import pwd  # noqa: PLC0415 - exists on POSIX only

    def named(uid: int) -> str:
        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:
            return str(uid)

    if os.geteuid() != 0:
        return Account(named(os.geteuid()))
    try:
        uid = journal.stat().st_uid
        found = pwd.getpwuid(uid)
    except (OSError, KeyError):
        try:
            found = pwd.getpwnam(ACCOUNT)
        except KeyError:
            return Account("root")
    if found.pw_uid == 0:
        return Account("root")
    groups = tuple(os.getgrouplist(found.pw_name, found.pw_gid))
    return Account(found.pw_name, found.pw_uid, found.pw_gid, groups)


def missing_rights(account: Account, rights: Sequence[Right]) -> list[Right]:
    """Missing access rights. Raises OSError, subprocess.SubprocessError where they are unknown."""
    if account.uid is None or not rights:
        modes = {"r": os.R_OK, "w": os.W_OK, "x": os.X_OK}
        return [(mode, path) for mode, path in rights if not os.access(path, modes[mode])]
    # The kernel knows about lists, masks and mounts; so it is asked, as that account.
    answer = subprocess.run(
        ["/bin/sh", "-c", _TEST, "sh", *(f"{mode}:{path}" for mode, path in rights)],
        user=account.uid,
        group=account.gid,
        extra_groups=account.groups,
        capture_output=True,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        timeout=SECONDS,
        check=False,
    ).stdout
    return [right for right, told in zip(rights, answer.decode(), strict=True) if told == "0"]


def folders_above(path: str) -> list[str]:
    """The folders that lead to `path`, from the root on."""
    return [str(folder) for folder in reversed(Path(path).absolute().parents)]


def granting(account: Account, missing: Iterable[Right]) -> str:
    """The command (for root, Linux; Windows elsewhere) that gives the rights, and no more."""
    name = account.name
    by_path: dict[str, str] = {}
    for mode, path in missing:
        by_path[path] = by_path.get(path, "") + mode
    if os.name == "nt":
        grants = (
            f"icacls {shell_word(path)} /grant {shell_word(name + ':(RX)')}" for path in by_path
        )
        return "; ".join(grants)
    if shutil.which("setfacl") is None:
        return " && ".join(f"chmod a+{mode} {shell_word(path)}" for path, mode in by_path.items())
    return " && ".join(
        f"setfacl -m u:{name}:{mode} {shell_word(path)}" for path, mode in by_path.items()
    )


def shell_word(text: str) -> str:
    """`text` as one word of a command, for sh; on Windows for PowerShell, for cmd too if it can.

    PowerShell expands `$` and backticks between double quotes, and takes curly ones for straight.
    """
    if os.name != "nt":
        return shlex.quote(text)
    if re.search('["%$`\u201c\u201d\u201e]', text) is None:
        return f'"{text}"'
    return "'" + re.sub("(['\u2018\u2019\u201a\u201b])", r"\1\1", text) + "'"
