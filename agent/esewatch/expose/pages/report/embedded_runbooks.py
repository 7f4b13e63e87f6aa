"""Runbooks as a part of a report: it is read where no agent is."""

import re
from collections.abc import Iterable, Mapping

from markupsafe import Markup

from esewatch.expose.pages.overview import DatabaseFigures
from esewatch.expose.pages.runbooks.markdown import to_html
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.expose.pages.runbooks.runbook_links import runbook_links

_LINK = re.compile(r'<a href="([^"#]*)(?:#[^"]*)?">(.*?)</a>')
_DEEPER = 2


def embedded(databases: Iterable[DatabaseFigures]) -> Mapping[str, Markup]:
    """The runbooks that these databases refer to, by name, in the order of their first use. A link
    to a runbook that is not among them is its text alone."""
    names = dict.fromkeys(name for each in databases for name in runbook_links(each))
    texts = {name: text for name in names if (text := Runbooks().text(name)) is not None}

    def link(found: re.Match[str]) -> str:
        name, label = found.groups()
        return f'<a href="#runbook-{name}">{label}</a>' if name in texts else label

    return {
        name: Markup(_LINK.sub(link, str(to_html(text, _DEEPER)))) for name, text in texts.items()
    }
