"""docs/reference/messages.md: each critical alert as a person reads it on a phone.

The words are those of the golden files (test_messages.py), put through the template of the example
by amtool, in lines as a phone has them.
"""

import json
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.rules.expressions import ROOT
from tests.support.patience import PATIENCE
from tests.support.tools import require

TEMPLATES = ROOT / "alerts" / "alertmanager" / "esewatch.tmpl"
GOLDEN = ROOT / "tests" / "golden" / "messages" / "alerts"
COLUMNS = 48
"""Of a phone held upright."""

INTRODUCTION = f"""\
# Messages of critical alerts

Generated from the promtool cases of the alerts and from `alerts/alertmanager/esewatch.tmpl`; do
not edit.

Each critical alert alone, as mail and chat show it: the subject (which a locked screen shows too),
then the text, in lines of {COLUMNS} characters. An alert with several wordings is here with each.
"""


def render(part: str, about: list[dict[str, Any]], folder: Path, kind: str = "text") -> str:
    """What Alertmanager makes of these alerts by the template `esewatch.PART`."""
    file = folder / "data.json"
    firing = any(each["status"] == "firing" for each in about)
    data = {"status": "firing" if firing else "resolved", "alerts": about}
    file.write_text(json.dumps(data))
    done = subprocess.run(
        [
            *(require("amtool"), "template", "render", f"--template.glob={TEMPLATES}"),
            f'--template.text={{{{ template "esewatch.{part}" . }}}}',
            *(f"--template.data={file}", f"--template.type={kind}"),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.removesuffix("\n")


def critical() -> Iterator[dict[str, Any]]:
    """Each critical alert of the golden files, as Alertmanager hands it to a template."""
    blocks = [
        block.splitlines()
        for path in sorted(GOLDEN.glob("*.txt"))
        for block in path.read_text(encoding="utf-8").split("\n\n")
    ]
    for head, labels, *notes in sorted(blocks):
        if head.endswith(" critical"):
            named = dict(line.strip().split(": ", 1) for line in notes)
            yield {
                "status": "firing",
                "labels": json.loads(labels),
                "annotations": named,
                "startsAt": "2026-11-21T02:00:00Z",
                "endsAt": "2026-11-21T02:00:00Z",
            }


def markdown() -> str:
    """The whole page."""
    with tempfile.TemporaryDirectory() as folder:
        return "\n".join([INTRODUCTION, *_sections(Path(folder))])


def _sections(folder: Path) -> Iterator[str]:
    before = ""
    for alert in critical():
        name = alert["labels"]["alertname"]
        if name != before:
            yield f"## [{name}](../runbooks/{name}.md)\n"
        before = name
        subject, text = (render(part, [alert], folder) for part in ("subject", "text"))
        lines = [subject, "", *text.strip().splitlines()]
        wrapped = [
            "\n".join(textwrap.wrap(line, COLUMNS, break_on_hyphens=False)) for line in lines
        ]
        yield "```text\n" + "\n".join(wrapped) + "\n```\n"
