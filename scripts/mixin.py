"""Rules, alerts and dashboards for one site: `python -m scripts.mixin CONFIG FOLDER`.

CONFIG is a YAML file in the form of `_config` of the Prometheus mixins; what it leaves out is as it
is shipped (alerts/README.md):

    _config:
      selector: cluster="north"   # labels of targets, on each series that esewatch exposes
      job: ese                    # the job by which Prometheus scrapes the agents

FOLDER gets `rules/`, `alerts/` and `dashboards/`, with the names that they have here.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

import yaml

from esewatch.expose.metrics.rows.metric_catalogue import SECTIONS
from esewatch.expose.metrics.rows.metric_row import LABELS

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ("rules/*.yml", "alerts/*.yml", "dashboards/*.json")
JOB = "esewatch"
_METRICS = "|".join(
    f"{row.name}(?:_bucket|_count|_sum)?" if row.type == "histogram" else row.name
    for rows in SECTIONS.values()
    for row in rows
)
# An alert that keeps itself reads ALERTS: without the selector it would keep those of another site.
_NAME = rf"(?<![\w:])(?P<name>up|ALERTS|{_METRICS})(?![\w:])"
_STRING = r'\\?"(?:[^"\\]|\\[^"]|\\\\")*\\?"'
_IN_EXPRESSION = re.compile(rf"{_STRING}|{_NAME}(?P<matchers>\{{)?")
_WITH_MATCHERS = re.compile(rf'{_NAME}(?P<matchers>\{{)|(?<=")(?P<alone>\{{)(?=\w+=%q)')
"""In the text of an alert, which may query: a name there is a series only with its matchers, which
stand alone where several queries share them."""
_MATCHER = re.compile(r'(?P<label>\w+)\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"')


class Site(NamedTuple):
    """What a site sets."""

    selector: str = ""
    job: str = JOB


def site(file: Path) -> Site:
    """Of a configuration. Raises ValueError, with what is wrong, and OSError."""
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"no YAML: {' '.join(str(error).split())}") from error
    settings = document.get("_config") if isinstance(document, dict) else None
    if not isinstance(settings, dict):
        raise ValueError("there is no _config with settings")
    for key, value in settings.items():
        if key not in Site._fields:
            raise ValueError(f"_config has no {key!r}; it has {' and '.join(Site._fields)}")
        if not isinstance(value, str):
            raise ValueError(f"{key} is no text: {value!r}")
    found = Site(**settings)
    rest = re.sub(r"^,|,$", "", re.sub(r"\s+", "", _MATCHER.sub("", found.selector)))
    if rest.strip(","):
        raise ValueError(f'selector is no list of matchers such as cluster="a": {found.selector!r}')
    for matcher in _MATCHER.finditer(found.selector):
        # `up` has no label of a metric, and an alert that outlives its agent has no instance.
        if matcher["label"] in {"instance", *LABELS}:
            raise ValueError(f"selector has {matcher['label']!r}: use a label of your targets")
    if not re.fullmatch(r"[\w./-]+", found.job):
        raise ValueError(f"job is no name of a job: {found.job!r}")
    return found


def expression_of(site: Site, text: str) -> str:
    """A query, or several, with the selector on each series of esewatch and the job of the site."""
    return _changed(site, _IN_EXPRESSION, text, '"')


def rules_of(site: Site, text: str) -> str:
    """A file of rules. Comments and texts stay; queries in texts get the selector, too."""
    lines, inside = [], -1
    for line in text.splitlines(keepends=True):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= inside:
            inside = -1
        if line.lstrip().startswith("#"):
            lines.append(line)
            continue
        if line.lstrip().startswith(("expr:", "- expr:")):
            inside = indent
        if inside >= 0:
            lines.append(_changed(site, _IN_EXPRESSION, line, '"'))
        else:
            lines.append(_changed(site, _WITH_MATCHERS, line, '\\"'))
    return "".join(lines)


def dashboard_of(site: Site, text: str) -> str:
    """A dashboard: its queries, and those of its variables."""
    field = re.compile(r'(?P<key>"(?:expr|query)": ")(?P<value>(?:[^"\\]|\\.)*)(?P<end>")')
    return field.sub(
        lambda found: (
            found["key"] + _changed(site, _IN_EXPRESSION, found["value"], '\\"') + found["end"]
        ),
        text,
    )


def _changed(site: Site, pattern: re.Pattern[str], text: str, quote: str) -> str:
    """`quote` is how a quote stands in the text."""
    text = text.replace(f"job={quote}{JOB}{quote}", f"job={quote}{site.job}{quote}")
    if not site.selector:
        return text
    matchers = site.selector.strip().strip(",")
    if quote != '"':
        matchers = matchers.replace("\\", "\\\\").replace('"', quote)

    def with_selector(found: re.Match[str]) -> str:
        if found.groupdict().get("alone"):
            return f"{{{matchers},"
        if not found["name"]:
            return found[0]
        return f"{found['name']}{{{matchers}" + ("," if found["matchers"] else "}")

    return pattern.sub(with_selector, text)


def write(site: Site, folder: Path) -> int:
    """All files of the site into `folder`; returns their number. Raises OSError."""
    files = [file for pattern in SHIPPED for file in sorted(ROOT.glob(pattern))]
    for file in files:
        made = dashboard_of if file.suffix == ".json" else rules_of
        place = folder / file.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(made(site, file.read_text(encoding="utf-8")), encoding="utf-8")
    return len(files)


def main(arguments: list[str]) -> int:
    """The exit status: 2 where a file cannot be read or written, or is wrong."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m scripts.mixin CONFIG FOLDER\n")
        return 2
    config, folder = map(Path, arguments)
    try:
        sys.stdout.write(f"{write(site(config), folder)} files in {folder}\n")
    except ValueError as error:
        sys.stderr.write(f"{config}: {error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"{error.filename or config}: {error.strerror or error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
