"""The generated pages of docs/ are what `make docs` makes of them."""

from pathlib import Path

import pytest

from scripts.pages import DOCS, LAB, PAGES, main

pytestmark = pytest.mark.lint


@pytest.mark.parametrize("name", [name for name in PAGES if name != LAB])
def test_a_generated_page_is_up_to_date(name: str, tmp_path: Path) -> None:
    written = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    copy = tmp_path / f"{name}.md"
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(written, encoding="utf-8")

    main([name], tmp_path)

    assert copy.read_text(encoding="utf-8") == written, "run: make docs"


def test_every_page_of_the_folder_is_generated() -> None:
    pages = {f"reference/{page.stem}" for page in (DOCS / "reference").iterdir()}

    assert pages == {name for name in PAGES if name.startswith("reference/")}
