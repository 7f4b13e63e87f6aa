"""The process of the daemon: what the system lets it have."""

import subprocess
import sys

import pytest

LIMITED = """
import resource, sys
from esewatch.cli import main
from esewatch.cli.run import process
limit = resource.RLIMIT_NOFILE
process.load_settings = lambda options, runs: sys.exit(resource.getrlimit(limit)[0])
resource.setrlimit(limit, (100, 200))
main(["run"])
"""
"""Ends where it reads its configuration, with its limit of open files as the status."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_it_may_open_as_many_files_as_the_system_allows_anybody() -> None:
    # 200 files of each source stay open: of six sources they would be more than the usual 1,024.
    assert subprocess.run([sys.executable, "-c", LIMITED], check=False).returncode == 200
