"""`report` on a made-up farm: the advice of `advise`, as of the same moment."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from esewatch.cli import main
from tests.expose.html import Page, assert_self_contained
from tests.support.farm import build

NOW = datetime(2007, 6, 21, 12, tzinfo=UTC)


def test_the_page_shows_the_advice_as_of_the_last_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(tmp_path / "logs", NOW)
    config = tmp_path / "esewatch.yml"
    config.write_text(
        'windows: {nightly: {start: "01:00", duration: 4h}}\n'
        'databases: [{match: "*priv*.edb", window: nightly}]\n'
    )
    inputs = ["--config.file", str(config), str(tmp_path / "logs")]
    main(["advise", *inputs])
    out, err = capsys.readouterr()
    assert "SG06" in out
    moment = err.partition("ex01 as of their last record, ")[2].partition(" UTC")[0]

    main(["report", *inputs, "-o", str(tmp_path / "report.html")])
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))

    assert_self_contained(page)
    for section, line in (("SG06", "shrink 4 h → 2 h 45 min"), ("SG07", "grow 4 h → 6 h 30 min")):
        _, _, rest = page.text.partition(f"{section} on ex01")
        facts, _, _ = rest.partition(f"Judged as of {moment}")
        assert f"Window advice {line}" in facts
        assert "done by 2007-06-2" in facts
    assert page.text.count("shrink 4 h → 2 h 45 min") == 2
    assert page.text.count("keep 4 h") == 2
