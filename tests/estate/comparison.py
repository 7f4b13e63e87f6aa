"""What is reported beside what must be reported: missing, false, late, too early over, twice."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from tests.estate.agent import Answer
from tests.estate.truth import Key, Told, Truth, worst

ORDINARY = "ordinary life"
PARTS = ("missing", "false", "late", "early", "twice")
AT_RISK = "writes_at_risk"
"""The finding that goes with the verdict of that name; semantics.md names the verdict alone."""


class Difference(NamedTuple):
    kind: str
    """Of the incident."""
    part: str
    key: Key
    what: str
    moment: float


class Comparison:
    """The answers of all moments held against the truth."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.differences: list[Difference] = []
        self.moments = 0
        self._seen: dict[Told, list[tuple[float, bool]]] = defaultdict(list)
        self._false: set[tuple[Key, str]] = set()
        """What is reported and must not be, as of the moment before."""
        self._of: dict[Key, list[Told]] = defaultdict(list)
        for told in truth.told:
            self._of[told.key].append(told)

    def add(self, now: float, answers: Mapping[Key, Answer]) -> None:
        """What is reported at one moment."""
        self.moments += 1
        false: set[tuple[Key, str]] = set()
        for key in sorted({*answers, *self.truth.known}):
            answer = answers.get(key)
            told = self._of[key]
            if answer is None:
                if self.truth.known.get(key, now) < now:
                    self._note(ORDINARY, "missing", key, "the database", now)
                continue
            for each in told:
                if each.finding and each.must(now):
                    self._seen[each].append((now, each.finding in answer.findings))
            allowed = {each.finding for each in told if each.may(now)}
            if any(each.verdict == AT_RISK and each.may(now) for each in told):
                allowed.add(AT_RISK)
            for finding, times in Counter(answer.findings).items():
                if times > 1:
                    self._note(self._kind(key), "twice", key, finding, now)
                if finding not in allowed:
                    false.add((key, finding))
            self._judge(key, answer, now, false)
        for key, what in sorted(false - self._false):
            self._note(self._kind(key), "false", key, what, now)
        self._false = false

    def done(self) -> list[Difference]:
        """All differences, when every moment was added."""
        for told, seen in self._seen.items():
            has = [it for _, it in seen]
            if not any(has):
                self._note(told.kind, "missing", told.key, told.finding, seen[0][0])
                continue
            first = has.index(True)
            if first:
                self._note(told.kind, "late", told.key, told.finding, seen[0][0])
            if not all(has[first:]):
                over = seen[has.index(False, first)][0]
                self._note(told.kind, "early", told.key, told.finding, over)
        return self.differences

    def _judge(self, key: Key, answer: Answer, now: float, false: set[tuple[Key, str]]) -> None:
        allowed = self.truth.verdicts(key, now)
        if answer.verdict in allowed:
            return
        what = f"{answer.verdict}, not {'/'.join(sorted(allowed))}: {answer.reasons}"
        if worst([answer.verdict, *allowed]) == answer.verdict:
            false.add((key, what))
        else:
            self._note(self._kind(key), "missing", key, what, now)

    def _kind(self, key: Key) -> str:
        return next((each.kind for each in self._of[key]), ORDINARY)

    def _note(self, kind: str, part: str, key: Key, what: str, moment: float) -> None:
        self.differences.append(Difference(kind, part, key, what, moment))
