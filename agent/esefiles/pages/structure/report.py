"""Result of a check of the structure: errors by page, figures of the trees."""

from typing import Final

import msgspec

MOST_ERRORS: Final = 1000
MOST_TREES: Final = 10_000


class StructureError(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that an undamaged database cannot have."""

    page_number: int
    kind: str
    """One of the words in docs/structure.md."""
    sentence: str


class TreeFigures(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str
    kind: str
    """`root`, `table`, `index` or `long values`."""
    object_id: int
    root: int
    pages: int
    """Pages of the tree itself, without those of its space trees."""
    records: int
    """Nodes of its leaves that are not deleted."""


class StructureReport:
    """Errors and figures as they come, no more of them than one can read."""

    def __init__(self) -> None:
        self.errors: list[StructureError] = []
        self.unlisted = 0
        self.trees: list[TreeFigures] = []
        self.remarks: list[str] = []
        """Sentences on what was not checked, and why."""

    def error(self, page_number: int, kind: str, what: str) -> None:
        """`what` goes on behind "Page 17: "."""
        if len(self.errors) == MOST_ERRORS:
            self.unlisted += 1
            return
        sentence = f"Page {page_number}: {what}."
        self.errors.append(StructureError(page_number=page_number, kind=kind, sentence=sentence))

    def tree(self, figures: TreeFigures) -> None:
        if len(self.trees) < MOST_TREES:
            self.trees.append(figures)

    def remark(self, sentence: str) -> None:
        """Say once what was not checked."""
        if sentence not in self.remarks and len(self.remarks) < MOST_ERRORS:
            self.remarks.append(sentence)
