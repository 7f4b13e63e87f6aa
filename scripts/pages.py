"""Writes the generated pages of docs/: `python -m scripts.pages [PAGE...]`, without a name all.

`reference/lab` needs a run of all experiments: it is written only where it is named.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from scripts import lab_page, message_table_page, metrics_page, situations_page, verdicts_page
from scripts.configuration_page import written_anew
from tests.rules import phone
from tests.rules.quality import page as alerts_page

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
LAB: Final = "reference/lab"
PAGES: Final[Mapping[str, Callable[[str], str]]] = {
    "configuration": written_anew,
    "reference/alerts": alerts_page.written_anew,
    LAB: lambda _: lab_page.markdown(),
    "reference/message-table": lambda _: message_table_page.markdown(),
    "reference/messages": lambda _: phone.markdown(),
    "reference/metrics": lambda _: metrics_page.markdown(),
    "reference/verdicts": lambda _: verdicts_page.markdown(),
    "reference/situations": lambda _: situations_page.markdown(),
}
"""Name of a page -> what makes it of its old text."""


def main(names: Sequence[str], docs: Path = DOCS) -> None:
    """Write these pages into `docs`. KeyError: a name is no page."""
    for name in names or [each for each in PAGES if each != LAB]:
        page = docs / f"{name}.md"
        page.write_text(PAGES[name](page.read_text("utf-8")), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
