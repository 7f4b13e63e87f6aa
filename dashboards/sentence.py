"""One sentence on each database, made by PromQL alone: numbers, dates and words are labels.

Every function gives an expression of one series for each database, with ON_DATABASE as labels and
what it says in one label more. `counted` turns a value into a label, `worded` a label into words,
`beside` joins labels of two expressions, `first` falls back to the next where one is absent. So
there is one sentence for each database, however much of it is unknown. Dates are in UTC.
"""

from collections.abc import Mapping
from typing import NamedTuple

from dashboards import blind
from dashboards.parts import COMPUTER, DATABASE, ON_DATABASE, Query
from esewatch.expose.pictures.sentence import BEHIND, NO_WINDOW, NONE_KNOWN
from esewatch.expose.words import VERIFIERS

CHOSEN = f'{COMPUTER},ese_instance=~"$ese_instance",database=~"$database"'
BASE = f"max by ({ON_DATABASE}) (ese_database_info{{{CHOSEN}}})"
"""The databases that are selected, and no other label."""


class Units(NamedTuple):
    """How a span of time is told."""

    large: str
    small: str
    seconds: int
    """Of the small unit."""
    ratio: int
    """Small units in a large one."""


HOURS = Units("h", "min", 60, 60)
DAYS = Units("d", "h", 3600, 24)
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
REASONS = {
    "evidence": "there is too little evidence",
    "bad_pages": "what is damaged is to be looked into first",
    "quiet": "something changed in the last 14 days",
    "backup": "a backup runs in it",
    "late": "passes take too long",
    "ratio_low_but_soon": "passes finish soon though much is left to free",
    "ratio_low": "much is left to free",
    "ratio_high": "little is left to free",
    "completes_often": "passes complete every day or two",
    "no_ratio": "there is too little evidence",
    "otherwise": "what it frees is worth what it reads",
}
"""Rule of the window advice -> why."""
ALONE = ("evidence", "bad_pages", "quiet", "no_ratio")
"""Rules that are no cause of the action, but what is to be done or waited for first."""


def named(expression: str, label: str, text: str) -> str:
    """With `text` as `label`."""
    return f'label_replace({expression}, "{label}", "{text}", "", "")'


def worded(expression: str, label: str, words: Mapping[str, str], *, by: str = "") -> str:
    """With `label` in words: pattern of all of the label `by`, else of itself -> words.

    Words fit no later pattern.
    """
    for pattern, text in words.items():
        source = by or label
        expression = f'label_replace({expression}, "{label}", "{text}", "{source}", "{pattern}")'
    return expression


def counted(expression: str, label: str) -> str:
    """With the value as `label`."""
    return f'count_values by ({ON_DATABASE}) ("{label}", {expression})'


def one(expression: str) -> str:
    """The greatest for each database; of those that tie any, but only one."""
    return f"topk by ({ON_DATABASE}) (1, {expression})"


def latest(expression: str) -> str:
    """The greatest for each database, without other labels."""
    return f"max by ({ON_DATABASE}) ({expression})"


def first(*choices: str) -> str:
    """The first that is there, for each database."""
    return f"({f' or on ({ON_DATABASE}) '.join(choices)})"


def beside(left: str, right: str, *labels: str) -> str:
    """`left`, which keeps its labels, with `labels` of `right` where both are there."""
    return f"{left} * on ({ON_DATABASE}) group_left ({', '.join(labels)}) {right}"


def joined(expression: str, label: str, *parts: str) -> str:
    """With the labels `parts`, one after the other, as `label`."""
    names = ", ".join(f'"{part}"' for part in parts)
    return f'label_join({expression}, "{label}", "", {names})'


def grouped(expression: str, label: str) -> str:
    """With commas between the thousands of the number in `label`; up to 15 digits."""
    expression = worded(expression, label, {"([0-9]+)([0-9]{3})": "$1,$2"})
    for _ in range(3):
        expression = worded(expression, label, {"([0-9]+)([0-9]{3})(,.*)": "$1,$2$3"})
    return expression


def finding(name: str) -> str:
    """1 for each database that has the finding."""
    return f'max by ({ON_DATABASE}) (ese_finding{{{DATABASE},finding="{name}"}})'


def unknown() -> str:
    """`unknown: events are missing; `, as `unknown`; absent where none are."""
    return named(finding("unknown_since"), "unknown", "unknown: events are missing; ")


def at_risk() -> str:
    """`writes at risk; `, as `risk`; absent where they are not."""
    return named(finding("writes_at_risk"), "risk", "writes at risk; ")


def behind() -> str:
    """That what is known may be old, as `behind`; absent where all sources are read to their end.

    Not of the verdict: a worse one hides it.
    """
    old = f"{BASE} and on (job, instance, computer) {blind.BEHIND}"
    return named(old, "behind", f"{BEHIND}; ")


def bad() -> str:
    """`3 known bad pages; `, as `bad`; absent where there is none. Corrected ones are not bad."""
    known = f'sum by ({ON_DATABASE}) (ese_known_bad_pages{{{DATABASE},kind!="corrected"}}) > 0'
    words = {"1": "1 known bad page; ", "([0-9,]+)": "$1 known bad pages; "}
    return worded(grouped(counted(known, "bad"), "bad"), "bad", words)


def corrected() -> str:
    """`2 corrected pages; `, as `corrected`; absent where no page is."""
    known = f'sum by ({ON_DATABASE}) (ese_known_bad_pages{{{DATABASE},kind="corrected"}}) > 0'
    words = {"1": "1 corrected page; ", "([0-9,]+)": "$1 corrected pages; "}
    return worded(grouped(counted(known, "corrected"), "corrected"), "corrected", words)


def pages() -> str:
    """`all 5,850,768 pages `, as `pages`; absent unless a scan counted them that is the proof."""
    number = latest(f'ese_pass_last_pages_seen{{{DATABASE},task="checksum"}}')
    end = latest(f'ese_pass_last_completion_timestamp_seconds{{{DATABASE},task="checksum"}}')
    metric = f"ese_last_full_verification_timestamp_seconds{{{DATABASE}"
    by_scan = latest(f'{metric},by="online_scan"}}')
    proof = f"({end} == on ({ON_DATABASE}) {by_scan} == on ({ON_DATABASE}) {latest(f'{metric}}}')})"
    seen = counted(f"{number} and on ({ON_DATABASE}) {proof}", "pages")
    return worded(grouped(seen, "pages"), "pages", {"(.+)": "all $1 pages "})


def verified() -> str:
    """` 19 June by online scan`, as `when`, and `late`; absent where never.

    The year is told where it is another one than now. Of verifiers that tie the last by name.
    """
    metric = f"ese_last_full_verification_timestamp_seconds{{{DATABASE}"
    last = f"max by ({ON_DATABASE}) ({metric}}})"
    each = [f'{metric},by="{name}"}}' for name in sorted(VERIFIERS, reverse=True)]
    months = {str(number): f" {name}" for number, name in enumerate(MONTHS, start=1)}
    other = counted(f"year({last}) != on () group_left () year()", "year")
    by = {name: f" by {words}" for name, words in VERIFIERS.items()}
    told = worded(one(" or ".join(each)), "by", by)
    for label, piece in (
        ("day", worded(counted(f"day_of_month({last})", "day"), "day", {"(.+)": " $1"})),
        ("month", worded(counted(f"month({last})", "month"), "month", months)),
        ("year", first(worded(other, "year", {"(.+)": " $1"}), BASE)),
        ("late", first(overdue(last), BASE)),
    ):
        told = beside(told, piece, label)
    return joined(told, "when", "day", "month", "year", "by")


def overdue(last: str) -> str:
    """`, 12 d 3 h ago: overdue, the deadline is 7 d`, as `late`; absent where in time."""
    late = finding("verification_overdue")
    deadline = f"max by ({ON_DATABASE}) (ese_verification_deadline_seconds{{{DATABASE}}})"
    ago = span(f"(time() - {last}) and on ({ON_DATABASE}) {late}", "ago", ",", DAYS)
    allowed = span(deadline, "allowed", ", the deadline is", DAYS)
    told = beside(named(ago, "overdue", " ago: overdue"), first(allowed, BASE), "allowed")
    return joined(told, "late", "ago", "overdue", "allowed")


def never() -> str:
    """`never seen verified in 12 days: …`, as `never`, of every database."""
    seen = f"max by ({ON_DATABASE}) (ese_database_first_seen_timestamp_seconds{{{DATABASE}}})"
    number = grouped(counted(f"floor((time() - {seen}) / 86400) > 0", "never"), "never")
    said = "never seen verified{}: nothing proves its pages good"
    words = {"1": said.format(" in 1 day"), "([0-9,]+)": said.format(" in $1 days")}
    return first(worded(number, "never", words), named(BASE, "never", said.format("")))


def span(seconds: str, label: str, before: str, units: Units) -> str:
    """` 4 h 15 min` after `before`, as `label`, of values in seconds."""
    small = f"round(({seconds}) / {units.seconds})"
    large = counted(f"floor({small} / {units.ratio})", "large")
    rest = counted(f"{small} % {units.ratio}", "rest")
    told = beside(
        named(worded(large, "large", {"0": "", "(.+)": f" $1 {units.large}"}), "before", before),
        worded(rest, "rest", {"0": "", "(.+)": f" $1 {units.small}"}),
        "rest",
    )
    return joined(told, label, "before", "large", "rest")


def advised() -> str:
    """`; window 4 h, advice shrink to 2 h 45 min, because …`, as `window`, of the model window."""
    configured = f"max by ({ON_DATABASE}) (ese_window_configured_seconds{{{DATABASE}}})"
    recommended = f"max by ({ON_DATABASE}) (ese_window_recommended_seconds{{{DATABASE}}})"
    model = f'max by ({ON_DATABASE}) (ese_database_info{{{CHOSEN},model="window"}})'
    action = one(f'(ese_window_advice{{{DATABASE},action!="not_applicable"}} == 1)')
    reason = one(f"ese_window_advice_reason{{{DATABASE}}}")
    length = first(
        span(configured, "length", "; window", HOURS),
        named(BASE, "length", "; no window configured"),
    )
    other = f"{recommended} != on ({ON_DATABASE}) {configured}"
    what = {"insufficient_evidence": ", no advice yet", "([a-z]+)": ", advice $1"}
    told = beside(model, length, "length")
    none = named(BASE, "action", ", no advice yet")
    told = beside(told, first(worded(action, "action", what), none), "action")
    told = beside(told, first(span(other, "to", " to", HOURS), BASE), "to")
    because = {
        name: f"{':' if name in ALONE else ', because'} {words}" for name, words in REASONS.items()
    }
    told = beside(told, first(worded(reason, "reason", because), BASE), "reason")
    return joined(told, "window", "length", "action", "to", "reason")


def windowless() -> str:
    """`; no window: …`, as `window`, of the other models."""
    model = one(f'max by ({ON_DATABASE}, model) (ese_database_info{{{CHOSEN},model!="window"}})')
    words = {name: f"; no window: {text}" for name, text in NO_WINDOW.items()}
    return joined(worded(model, "model", words), "window", "model")


def sentence() -> Query:
    """The sentence on each selected database."""
    told = BASE
    for piece, labels in (
        (bad(), ("bad",)),
        (corrected(), ("corrected",)),
        (at_risk(), ("risk",)),
        (behind(), ("behind",)),
        (unknown(), ("unknown",)),
        (pages(), ("pages",)),
        (verified(), ("when", "late")),
        (never(), ("never",)),
        (first(advised(), windowless()), ("window",)),
    ):
        told = beside(told, first(piece, BASE), *labels)
    told = worded(told, "pages", {"": "all pages "})
    told = joined(told, "doubt", "unknown", "late")
    told = named(told, "verified", "verified")
    told = worded(told, "verified", {".+": "last verified"}, by="doubt")
    for label in ("pages", "verified"):
        told = worded(told, label, {"": ""}, by="when")
    told = worded(told, "never", {".+": ""}, by="when")
    told = joined(told, "hidden", "behind", "unknown")
    told = named(told, "good", "; 0 bad")
    told = worded(told, "good", {".+": f"; {NONE_KNOWN}"}, by="hidden")
    told = worded(told, "good", {".+": ""}, by="bad")
    told = worded(told, "good", {"": ""}, by="when")
    worst = ("bad", "corrected", "risk", "behind", "unknown")
    proof = ("pages", "verified", "when", "late", "never", "good")
    told = joined(told, "sentence", *worst, *proof, "window")
    told = worded(told, "sentence", {"(.+)": "$1."})
    beginnings = ("all", "never", "unknown", "what", "writes")
    capital = {f"{word}(.+)": f"{word.capitalize()}$1" for word in beginnings}
    return Query(worded(told, "sentence", capital), "{{sentence}}")
