"""`make demo`: the main job on made-up logs: report, daemon, metrics.

    python -m tests.support.demo FOLDER

Writes five weeks of logs into FOLDER, makes a report of them, then runs the
daemon on them and shows what it exports. On a terminal it goes on until Ctrl-C.
"""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

from tests.support.farm import build

ADDRESS = "127.0.0.1:19703"
CONFIG = """\
journal: {folder}/journal.db
sources:
  - {{type: evtx, path: "{folder}/logs/*.evtx"}}
  - {{type: perfmon_csv, path: "{folder}/logs/*.csv"}}
windows:
  nightly: {{start: "01:00", duration: 4h, timezone: UTC}}
databases:
  - {{match: '*\\priv*.edb', window: nightly}}
"""
SHOWN = (
    "ese_known_bad_pages{",
    "ese_passes_completed_total{",
    "ese_defrag_pages_read_total{",
    "ese_defrag_pages_freed_total{",
    "ese_last_full_verification_timestamp_seconds{",
)


def main(arguments: list[str]) -> int:
    """Run the demo; returns the exit status."""
    folder = Path(arguments[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("journal.db*"):
        left.unlink()
    files = build(folder / "logs", datetime.now(UTC))
    print(f"Five weeks of made-up logs are in {folder / 'logs'}:")
    for path in files:
        print(f"  {path.name}  {path.stat().st_size:,} bytes")
    esewatch = [sys.executable, "-m", "esewatch"]
    report = folder / "report.html"
    command = ["report", *map(str, files), "-o", str(report)]
    done = subprocess.run([*esewatch, *command], check=False)
    print(
        f"$ esewatch report logs/* -o report.html\n  exit status {done.returncode} (1: a bad page)"
    )
    if done.returncode != 1:
        return 1
    config = folder / "esewatch.yml"
    config.write_text(CONFIG.format(folder=folder))
    daemon = [*esewatch, "run", "--config.file", str(config), "--web.listen-address", ADDRESS]
    with subprocess.Popen(daemon) as process:
        try:
            return _show(process, report)
        except KeyboardInterrupt:
            return 0
        finally:
            process.terminate()
            process.wait(10)


def _show(process: subprocess.Popen[bytes], report: Path) -> int:
    if not _wait_until_ready(process):
        print("the daemon did not get ready", file=sys.stderr)
        return 1
    with urllib.request.urlopen(f"http://{ADDRESS}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    shown = [line for line in lines if line.startswith(SHOWN) and not line.endswith(" 0.0")]
    print(f"$ curl http://{ADDRESS}/metrics   ({len(lines)} lines, some of them:)")
    print("\n".join(shown))
    print(f"report: {report}\nstatus page: http://{ADDRESS}/")
    if sys.stdin.isatty():
        print("Running until Ctrl-C.")
        process.wait()
    return 0


def _wait_until_ready(process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://{ADDRESS}/-/ready", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
