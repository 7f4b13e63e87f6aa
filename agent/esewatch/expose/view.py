"""What the HTTP side needs of the daemon."""

from typing import Protocol

from esewatch.expose.database_page import DatabasePage
from esewatch.expose.overview import Overview
from esewatch.fold.commands import Acknowledged


class Rendering(Protocol):
    """One immutable set of samples."""

    def render(self, accept: str, accept_encoding: str) -> tuple[bytes, str, str]:
        """Body, content type, and content encoding (empty: none)."""


class View(Protocol):
    """What the daemon shows and takes. Every method may be called from any thread."""

    @property
    def snapshot(self) -> Rendering:
        """The newest samples."""

    def ready(self) -> tuple[bool, str]:
        """Whether the first reading of all sources is done; if not, what is missing."""

    def overview(self) -> Overview:
        """The figures of the status page."""

    def database(self, computer: str, database: str) -> DatabasePage | None:
        """All that is shown of one database, by its labels; None when it is not known."""

    def forget(self, computer: str, database: str) -> None:
        """Drop a database. Raises EsewatchError when it is not known."""

    def ack(self, computer: str, database: str, pages: list[int]) -> Acknowledged:
        """Take known bad pages (none named: all, and damage) as dealt with.

        Raises EsewatchError when the database or a page is not known.
        """

    def reload(self) -> None:
        """Take the configuration up anew. Raises EsewatchError when the old one stays."""
