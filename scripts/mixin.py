"""Rules, alerts and dashboards for one site: `python -m scripts.mixin CONFIG FOLDER`.

CONFIG is a YAML file in the form of `_config` of the Prometheus mixins; what it leaves out is as it
is shipped (alerts/README.md):

    _config:
      selector: cluster="north"   # labels of targets, on each series that esewatch exposes
      job: ese                    # the job by which Prometheus scrapes the agents
      dashboardUidPrefix: north   # in the place of esewatch, also in links
      dashboardTags: [north, ese] # the boards with the first one link to each other
      siteLabels: [site, cluster] # labels of targets that tell two computers of one name apart
      agentLabels: [instance, pod] # labels of targets that name an agent, not what it watches
      ratioLow: 40                # a limit of dashboards/limits.py, on dashboards and in alerts
      prometheusRule:             # rules and alerts as custom resources of the Prometheus operator
        labels: {release: kube-prometheus-stack}

FOLDER gets `rules/`, `alerts/` with the example for Alertmanager, and `dashboards/`, with the names
that they have here; as custom resources also `rules/site/`, which is yours to edit.
"""

import json
import re
import sys
import textwrap
from itertools import product
from pathlib import Path
from typing import Annotated

import msgspec
import yaml

from dashboards.limits import DEFAULTS, IN_RULES, Limits
from esewatch.expose.metrics.metric_catalogue import SECTIONS
from esewatch.expose.metrics.metric_row import LABELS

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = "alerts/alertmanager/alertmanager.yml"
SHIPPED = ("rules/*.yml", "alerts/*.yml", EXAMPLE, "dashboards/*.json")
JOB = UID = "esewatch"
_METRICS = "|".join(
    f"{row.name}(?:_bucket|_count|_sum)?" if row.type == "histogram" else row.name
    for rows in SECTIONS.values()
    for row in rows
)
# What is held reads itself, and an alert that keeps itself ALERTS: without the selector they would
# keep what is of another site.
_KEPT = r"ALERTS(?:_FOR_STATE)?|(?:database|ese_instance):ese_finding:held"
_NAME = rf"(?<![\w:])(?P<name>up|{_KEPT}|{_METRICS})(?![\w:])"
_STRING = r'\\?"(?:[^"\\]|\\[^"]|\\\\")*\\?"'
_IN_EXPRESSION = re.compile(rf"{_STRING}|{_NAME}(?P<matchers>\{{)?")
_WITH_MATCHERS = re.compile(rf'{_NAME}(?P<matchers>\{{)|(?<=")(?P<alone>\{{)(?=\w+=%q)')
"""In the text of an alert, which may query: a name there is a series only with its matchers, which
stand alone where several queries share them."""
_BESIDE = re.compile(
    r"(?P<before>\b(?:by|without|on|ignoring) \()(?P<labels>[^()]+)(?P<after>\))"
    r"|(?P<key>\b(?:group_by|equal):[^\[\n]*\[)(?P<listed>[^\]]+)(?P<end>\])"
)
"""A list of labels, in an expression or in the configuration of Alertmanager."""
_KEPT_APART = re.compile(
    r' +last_over_time\(\S+\{site=""\}.*\n(?:.*\n){4} +or\n'
    r'(?P<one> +last_over_time\(\S+\{site!=""\}.*\n(?:.*\n){4})'
)
"""What is held, without and with the label of a site: the rule must know which labels it has."""
_MATCHER = re.compile(r'(?P<label>\w+)\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"')


LabelName = Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*\Z")]


class PrometheusRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The custom resources; `labels` are those by which the operator's Prometheus selects them."""

    labels: dict[str, str] = {}


class Site(Limits, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What a site sets."""

    selector: str = ""
    job: Annotated[str, msgspec.Meta(pattern=r"^[\w./-]+\Z")] = JOB
    dashboard_uid_prefix: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]{1,30}\Z")] = UID
    """A uid of Grafana has 40 characters at most, a name of Kubernetes no underscore."""
    dashboard_tags: Annotated[list[str], msgspec.Meta(min_length=1)] | None = None
    site_labels: Annotated[tuple[LabelName, ...], msgspec.Meta(min_length=1, max_length=3)] = (
        "site",
    )
    """What is held has an expression for each set of them that a target may have."""
    agent_labels: tuple[LabelName, ...] = ("instance",)
    prometheus_rule: PrometheusRule | None = None

    @property
    def limits(self) -> dict[str, float]:
        """Those that are not as shipped."""
        own: dict[str, float] = msgspec.to_builtins(self)
        return {name: own[name] for name, value in DEFAULTS.items() if own[name] != value}

    @property
    def of_agents_and_metrics(self) -> set[str]:
        """Labels that tell no two sites apart."""
        return {"job", "instance", *self.agent_labels, *LABELS}


def site(file: Path) -> Site:
    """Of a configuration. Raises ValueError, with what is wrong, and OSError."""
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"no YAML: {' '.join(str(error).split())}") from error
    settings = document.get("_config") if isinstance(document, dict) else None
    if not isinstance(settings, dict):
        raise ValueError("there is no _config with settings")
    try:
        found = msgspec.convert(settings, Site)
    except msgspec.ValidationError as error:
        raise ValueError(str(error).replace("`$", "`_config")) from None
    rest = re.sub(r"^,|,$", "", re.sub(r"\s+", "", _MATCHER.sub("", found.selector)))
    if rest.strip(","):
        raise ValueError(f'selector is no list of matchers such as cluster="a": {found.selector!r}')
    for matcher in _MATCHER.finditer(found.selector):
        # `up` has no label of a metric, and an alert that outlives its agent has none of the agent.
        if matcher["label"] in found.of_agents_and_metrics - {"job"}:
            raise ValueError(f"selector has {matcher['label']!r}: use a label of your targets")
    if "instance" not in found.agent_labels:
        raise ValueError("agentLabels must have instance, which Prometheus gives each target")
    for label in found.site_labels:
        if label in found.of_agents_and_metrics:
            raise ValueError(f"siteLabels has {label!r}: use a label of your targets")
    return found


def expression_of(site: Site, text: str) -> str:
    """A query, or several, with the selector on each series of esewatch and the job of the site."""
    return _changed(site, _IN_EXPRESSION, text, '"')


def alertmanager_of(site: Site, text: str) -> str:
    """The example: it groups and inhibits by the labels of the site."""
    return _with_labels(site, text)


def rules_of(site: Site, text: str) -> str:
    """A file of rules. Comments and texts stay; queries in texts get the selector, too."""
    lines, inside = [], -1
    text = _with_limits(site, text)
    for line in _kept_apart(site, _with_labels(site, text)).splitlines(keepends=True):
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
    return "".join(lines).replace(f"/d/{UID}-", f"/d/{site.dashboard_uid_prefix}-")


def resource_of(rule: PrometheusRule, name: str, text: str) -> str:
    """A file of rules as the custom resource `name`, in the form of the Helm chart."""
    head = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": name, "labels": rule.labels},
    }
    return f"{yaml.safe_dump(head, sort_keys=False)}spec:\n{textwrap.indent(text, '  ')}"


def dashboard_of(site: Site, text: str) -> str:
    """A dashboard: its queries, those of its variables, its uid, its tags and its links."""
    field = re.compile(r'(?P<key>"(?:expr|query)": ")(?P<value>(?:[^"\\]|\\.)*)(?P<end>")')
    text = field.sub(
        lambda found: (
            found["key"]
            + _changed(site, _IN_EXPRESSION, _with_labels(site, found["value"]), '\\"')
            + found["end"]
        ),
        text,
    )
    own = site.limits
    board = json.loads(text.replace(f"/d/{UID}-", f"/d/{site.dashboard_uid_prefix}-"))
    board["uid"] = site.dashboard_uid_prefix + board["uid"].removeprefix(UID)
    for variable in board["templating"]["list"]:
        if variable["name"] in own:
            variable["query"] = f"{own[variable['name']]:.6g}"
    if site.dashboard_tags is not None:
        board["tags"] = site.dashboard_tags
        for link in board["links"]:
            link["tags"] = site.dashboard_tags[:1]
    return json.dumps(board, indent=2) + "\n"


def _with_limits(site: Site, text: str) -> str:
    """Rules that compare with the limits of the site."""
    changed = {name: own for name, own in site.limits.items() if name in IN_RULES}
    # At first a mark: one limit may be what another was.
    for name in changed:
        before, behind = IN_RULES[name]
        number = re.escape(f"{DEFAULTS[name]:.6g}")
        text = re.sub(
            rf"({before}){number}(?![\d.])(?={behind})", rf"\g<1><{name}>", text, flags=re.M
        )
    for name, own in changed.items():
        text = text.replace(f"<{name}>", f"{own:.6g}")
    return text


def _with_labels(site: Site, text: str) -> str:
    """Labels of sites and agents in the place of `site` and `instance`, in each list of labels."""
    named = {"site": site.site_labels, "instance": site.agent_labels}

    def listed(found: re.Match[str]) -> str:
        start, labels, end = (part for part in found.groups() if part is not None)
        own = [each for label in labels.split(", ") for each in named.get(label, [label])]
        return f"{start}{', '.join(own)}{end}"

    return _BESIDE.sub(listed, text)


def _kept_apart(site: Site, text: str) -> str:
    """What is held, for each set of labels of sites that it may have.

    Something else is stated in its place only where that has the same ones of them.
    """

    def each(found: re.Match[str]) -> str:
        branches = []
        for signs in product(("=", "!="), repeat=len(site.site_labels)):
            own = dict(zip(site.site_labels, signs, strict=True))
            matchers = ",".join(f'{label}{sign}""' for label, sign in own.items())
            same = "".join(f"{label}, " for label, sign in own.items() if sign == "!=")
            branch = found["one"].replace('site!=""', matchers, 1)
            branches.append(branch.replace(f"{', '.join(site.site_labels)}, ", same, 1))
        return "          or\n".join(branches)

    return _KEPT_APART.sub(each, text)


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
    patterns = (*SHIPPED, "rules/site/*.yml") if site.prometheus_rule else SHIPPED
    files = [file for pattern in patterns for file in sorted(ROOT.glob(pattern))]
    for file in files:
        made = dashboard_of if file.suffix == ".json" else rules_of
        made = alertmanager_of if file == ROOT / EXAMPLE else made
        text = made(site, file.read_text(encoding="utf-8"))
        if site.prometheus_rule and made is rules_of:
            subject = file.name.removesuffix(".yml").removesuffix(".rules")
            name = "-".join(dict.fromkeys((site.dashboard_uid_prefix, subject, file.parent.name)))
            text = resource_of(site.prometheus_rule, name.lower(), text)
        place = folder / file.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
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
