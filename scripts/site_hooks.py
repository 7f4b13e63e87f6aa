"""The lists of whole folders of the site, and its links to other sources."""

import posixpath
import re
from pathlib import Path
from typing import Any, Final

_LISTED: Final = ("Reference", "Runbooks", "Decisions")
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """Fill the sections of the folders whose pages are not named one by one."""
    docs = Path(config["docs_dir"])
    for section in config["nav"]:
        for title, pages in section.items():
            if title in _LISTED:
                found = sorted((docs / title.lower()).glob("*.md"))
                pages[:] = [page.relative_to(docs).as_posix() for page in found]
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Name what is not on the site, such as ../SECURITY.md: its path among the sources."""
    here = posixpath.dirname(page.file.src_uri)

    def replace(match: re.Match[str]) -> str:
        text, target, _ = match.groups()
        path = posixpath.normpath(posixpath.join("docs", here, target))
        if "://" in target or path.startswith("docs/"):
            return match[0]
        return f"{text} (`{path}`)"

    return _LINK.sub(replace, markdown)
