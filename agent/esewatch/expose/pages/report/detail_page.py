"""One database of a report as a file of its own."""

from esewatch.expose.pages.database_page import MAX_PASSES, DatabasePage
from esewatch.expose.pages.rendering import render
from esewatch.expose.pages.report.embedded_runbooks import embedded


def render_detail(page: DatabasePage, report: str) -> str:
    """The page: HTML that needs nothing else. `report` is the relative address of the report."""
    return render(
        "detail.html.j2",
        page=page,
        passes=MAX_PASSES,
        report=report,
        runbooks=embedded([page.figures]),
    )
