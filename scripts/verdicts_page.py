"""docs/reference/verdicts.md: the verdicts, worst first, as the program knows them."""

# ruff: noqa: E501 - Markdown
from esewatch.advice.judgement import HEALTHY, TEXTS

_HEAD = """# Verdicts

Generated from `agent/esewatch/advice/judgement.py`; do not edit.

How urgent a database is, worst first; the worst that holds is said. It stands on the pages (sign and words), as `verdict` in
`/api/v1/databases` and in `advise --format json`, and in `ese_database_verdict{verdict=...}` (of watched databases). `status` is the
exit status of `advise` and `report` for it. [Advice](../advice.md#verdict) says more.

| verdict | pages say | when | status |
| --- | --- | --- | --- |
"""


def markdown() -> str:
    return _HEAD + "".join(
        f"| `{name}` | {text.sign} {text.words} | {text.when} | {int(name not in HEALTHY)} |\n"
        for name, text in TEXTS.items()
    )
