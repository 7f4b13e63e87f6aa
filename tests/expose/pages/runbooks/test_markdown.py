"""Markdown of the runbooks."""

import re

import pytest

from esewatch.expose.pages.runbooks.markdown import to_html
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from tests.support.each import of_each
from tests.support.processor import processor_seconds

PRE = '<pre tabindex="0"><code>'


def packed(html: str) -> str:
    return re.sub(r"\n(?=<)|(?<=>)\n", "", html)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# Title #\n\nA line\nand more.", "<h1>Title</h1><p>A line and more.</p>"),
        ("- a\n- b\n  goes on\n", "<ul><li>a</li><li>b goes on</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("Do:\n- a", "<p>Do:</p><ul><li>a</li></ul>"),
        ("- a\n1. b", "<ul><li>a</li></ul><ol><li>b</li></ol>"),
        (
            "```sh\na < b\n\n# c\n```\nd",
            '<pre tabindex="0"><code>a &lt; b\n\n# c</code></pre><p>d</p>',
        ),
        ("```\nnever closed", '<pre tabindex="0"><code>never closed</code></pre>'),
        ("`a*b` and **c**", "<p><code>a*b</code> and <strong>c</strong></p>"),
        ("[a b](../inputs.md#c)", "<p>a b (<code>docs/inputs.md</code>)</p>"),
        ("[a](https://x.example/?b&c)", '<p><a href="https://x.example/?b&amp;c">a</a></p>'),
        ("[other](EseOther.md)", '<p><a href="EseOther">other</a></p>'),
        ("", ""),
        (
            "Run:\n\n    a < b\n\n    c\n\nd",
            f"<p>Run:</p>{PRE}a &lt; b\n\nc</code></pre><p>d</p>",
        ),
        (
            "1. Run:\n\n       scan x\n\n   then b\n2. c\n\n       d\n\n3. e",
            f"<ol><li><p>Run:</p>{PRE}scan x</code></pre><p>then b</p></li>"
            f"<li><p>c</p>{PRE}d</code></pre></li><li><p>e</p></li></ol>",
        ),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("- a\n  - b\n- c", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
        ("- a\ngoes on\n\nnew", "<ul><li>a goes on</li></ul><p>new</p>"),
    ],
)
def test_each_form_becomes_its_html(text: str, html: str) -> None:
    assert packed(to_html(text)) == html


@of_each(Runbooks().names())
def test_no_runbook_shows_marks_of_markdown(name: str) -> None:
    shown = re.sub(r"<code>.*?</code>", "", to_html(Runbooks().text(name) or ""), flags=re.DOTALL)

    assert "<p>" in shown
    assert re.findall(r"\*\w[^*<]*\*|\]\([^)]*\)|`|__", shown) == []


def test_a_table_has_a_head_and_rows() -> None:
    html = packed(to_html("# What\n\n| a | b |\n| --- | :-: |\n| 1 | x \\| y |"))
    head = '<thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead>'
    assert f"<caption>What</caption>{head}" in html
    assert "<tbody><tr><td>1</td><td>x | y</td></tr></tbody>" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>)",
        "[x](//elsewhere.example)",
        '[x](https://a"onmouseover=alert)',
        "`<b>`",
        "**<b>**",
        "# <b>",
        "| <b> |\n| --- |\n| <i> |",
        "- <b>",
        "```\n</code></pre><b>\n```",
    ],
)
def test_nothing_in_a_text_becomes_a_tag_or_leads_elsewhere(text: str) -> None:
    html = to_html(text)
    assert "<script" not in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert 'href="j' not in html
    assert 'href="d' not in html
    assert 'href="//' not in html
    assert '"onmouseover' not in html


@pytest.mark.parametrize(
    "piece", ["[", "**", "`", "](", "- ", "1. ", "- \n", "    - \n", "|", "# ", "[a](", "``` "]
)
def test_a_long_run_of_marks_takes_no_time(piece: str) -> None:
    assert processor_seconds(lambda: to_html(piece * 50_000)) < 2


def test_headings_stand_below_those_of_the_page_around() -> None:
    assert to_html("# A\n\n## B", below=2) == "<h3>A</h3>\n<h4>B</h4>"
