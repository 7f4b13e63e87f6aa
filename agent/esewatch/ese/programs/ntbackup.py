"""Lines of the logs of NTBACKUP (Windows 2000 to Server 2003), classified.

The program writes in the language of Windows. For each set: `Backup of "EX01\\Microsoft Information
Store\\First Storage Group"`, then `label: value` lines, a line with the date and time of the start,
one with those of the end, counts of which the last is the bytes, and the time that it took. Only
the words of the first line and of warnings are known by language; all else is known by its form.
"""

import re
import unicodedata
from typing import NamedTuple

_LONGEST = 1000
_ACCENTS = dict.fromkeys(range(0x300, 0x370))
_MOST_BYTES = 2**60
_MOST_SECONDS = 60 * 86400
_QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb'
_COLON = r"\s?[:\uff1a]\s*"

_HEADING = re.compile(
    rf"\s*([^{_QUOTES}:\uff1a]{{0,60}})[{_QUOTES}]([^{_QUOTES}]{{1,300}})[{_QUOTES}]"
    rf"([^{_QUOTES}:\uff1a]{{0,30}})"
)
_BACKUP = re.compile(
    r"back-?up|sicherung|sauvegarde|copia|salvaguard|sakerhetsk|sikkerhetsk|sikkerhedsk|kopi"
    r"|varmuusk|zaloh|mentes|yedek|архив|резерв|备份|備份|バックアップ|백업"
)
_OTHERWISE = re.compile(
    r"verif|veryf|uberpr|pruf|comprob|controle|kontrol|restor|restaur|wiederher|ripristin|herstel"
    r"|aterst|gjenoppr|gendan|przywr|провер|восстан|验证|驗證|検証|還元|还原|還原|復元|확인|복원"
)
_DATED = re.compile(
    r"[^\d:]{0,60}?(\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4})\b\.?([^\d:]{1,24}?)"
    r"(\d{1,2}[:.]\d\d(?:[:.]\d\d)?)"
    r"(?:\s?([AaPp])\.?\s?[Mm]\b\.?)?\s*[.\u3002]?\s*"
)
_FORENOON = re.compile("上午|午前|오전")
_AFTERNOON = re.compile("下午|午後|오후")
_COUNT = re.compile(
    rf"[^\d:\uff1a]{{2,40}}?{_COLON}"
    r"(\d{1,3}([.,'\u2019 \u00a0\u202f])(?:\d{2,3}\2)*\d{3}"
    r"|\d{1,19})\s*\.?\s*"
)
_NO_COUNT = re.compile(rf"[^\d:\uff1a]{{2,40}}?{_COLON}[-+]?\d[\d.,'\u2019 \u00a0\u202f]*")
_TOOK = re.compile(rf"[^\d:\uff1a]{{2,40}}?{_COLON}(\d[^:]{{2,120}})")
_PART = re.compile(r"(\d{1,7})\s*([^\W\d_]{1,20})")
_VALUE = re.compile(rf"[^\d:\uff1a]{{2,40}}?{_COLON}([^\W\d_][^\d:]{{2,40}})")
_LOGS_ONLY = re.compile(
    r"in[ck]r.{0,3}ment|dif+.?r|инкремент|добавоч|дифференц|разност|增量|差異|增分"
)
_RULE = re.compile(r"\s*[-=_*]{5,}\s*")
_TROUBLE = re.compile(
    r"warn|err[eo]|fehler|achtung|aviso|advert|avert|attention|avviso|avvert|waarsch|fout|varning|fel\b"
    r"|advarsel|fejl|feil\b|varoit|virhe|ostrze|blad|предупр|ошибк|警告|错误|錯誤|エラー|경고|오류"
)
_SENTENCE = re.compile(r"(?:\S+\s+){3,}\S+[.!]")
_UNITS = (
    (86400, re.compile(r"da[yg]|tag|jour|giorn|dia|d[ií]as?\b|dzie|dni\b")),
    (3600, re.compile(r"h|stund|std|or[ae]|u(?:ur|ren)\b|tim|tun|godz|saat|час|小?[时時]|시간")),
    (60, re.compile(r"min|dak|perc|мин|分|분")),
    (1, re.compile(r"s(?:e[cgk]|an|\b)|masodp|сек|秒|초")),
)


class LocalTime(NamedTuple):
    """A line with a date and a time: when a set began or ended, local to its computer."""

    text: str


class Heading(NamedTuple):
    """The line that a set begins with. `group` is empty for what is no storage group.

    `backup` is False for a verification and a restore, None in a language that is not known.
    """

    computer: str
    group: str
    backup: bool | None
    name: str


class LabelledCount(NamedTuple):
    """A number behind its label: folders, files, bytes. None: it cannot be read."""

    value: int | None


class Took(NamedTuple):
    """Duration of a set in seconds; it is the last line of a set. None: cannot be."""

    seconds: int | None


class LabelledText(NamedTuple):
    """Words behind a label; `logs_only` for an incremental or differential backup."""

    logs_only: bool


class Rule(NamedTuple):
    """A line of dashes, between two jobs."""


class BackupTrouble(NamedTuple):
    """A warning, an error, or any other sentence: the copied data are not complete."""

    text: str


Line = Heading | LocalTime | LabelledCount | Took | LabelledText | Rule | BackupTrouble


def line_of(text: str) -> Line | None:
    """The kind of a line, None for one that is not about a backup."""
    text = text.strip(" \t\r\n\ufeff\0\u200e\u200f")
    if not text or len(text) > _LONGEST:
        return None
    if _RULE.fullmatch(text):
        return Rule()
    if (heading := _heading(text)) is not None:
        return heading
    plain = _plain(text)
    if _TROUBLE.match(plain):
        return BackupTrouble(text)
    if (line := _numbered(text)) is not None:
        return line
    if _SENTENCE.fullmatch(text):
        return BackupTrouble(text)
    value = _VALUE.fullmatch(text)
    return LabelledText(_LOGS_ONLY.search(_plain(value[1])) is not None) if value else None


def _numbered(text: str) -> LocalTime | LabelledCount | Took | None:
    dated = None if "  " in text or "\t" in text else _DATED.fullmatch(text)
    if dated is not None:
        return LocalTime(_moment(dated))
    if (count := _COUNT.fullmatch(text)) is not None:
        value = int(re.sub(r"\D", "", count[1]))
        return LabelledCount(value if value < _MOST_BYTES else None)
    if _NO_COUNT.fullmatch(text) is not None:
        return LabelledCount(None)
    took = _TOOK.fullmatch(text)
    parts = _PART.findall(took[1]) if took is not None else []
    if took is None or not parts or re.search(r"\d", _PART.sub("", took[1])):
        return None
    return Took(_seconds(parts))


def is_log(text: str) -> bool:
    """Does `text` hold a backup set and the time at which one began?"""
    found = False
    for line in text.splitlines()[:2000]:
        told = line_of(line)
        if isinstance(told, Heading):
            found = found or told.backup is True
        elif isinstance(told, LocalTime) and found:
            return True
    return False


def _heading(text: str) -> Heading | None:
    match = _HEADING.fullmatch(text)
    if match is None or match[3].rstrip().endswith(".") or not (match[1] + match[3]).strip():
        return None
    words, name = _plain(match[1] + match[3]), match[2].strip()
    backup = True if _BACKUP.search(words) else None
    if _OTHERWISE.search(words):
        backup = False
    parts = [part.strip() for part in name.split("\\")]
    if len(parts) != 3 or not all(parts) or ":" in parts[0]:
        return Heading("", "", backup, name)
    return Heading(parts[0], parts[2], backup, name)


def _moment(dated: re.Match[str]) -> str:
    """`6/21/2007 1:00 AM`: the form that times of all texts are read in."""
    half = f" {dated[4]}M" if dated[4] else ""
    if not half and _FORENOON.search(dated[2]):
        half = " AM"
    elif not half and _AFTERNOON.search(dated[2]):
        half = " PM"
    return f"{dated[1].replace(' ', '')} {dated[3]}{half}"


def _seconds(parts: list[tuple[str, str]]) -> int | None:
    """By their units where all are known. Three or four others are those up to seconds."""
    if len(parts) > len(_UNITS):
        return None
    told = [unit for _, word in parts if (unit := _unit(word)) is not None]
    if len(set(told)) == len(parts):
        units = told
    elif len(parts) >= len(_UNITS) - 1:
        units = [unit for unit, _ in _UNITS][-len(parts) :]
    else:
        return None
    known = [(int(number), unit) for (number, _), unit in zip(parts, units, strict=True)]
    if any(unit < 3600 and value >= 60 for value, unit in known[1:]):
        return None
    total = sum(value * unit for value, unit in known)
    return total if total <= _MOST_SECONDS else None


def _unit(word: str) -> int | None:
    plain = _plain(word)
    return next((unit for unit, words in _UNITS if words.match(plain)), None)


def _plain(text: str) -> str:
    """Lower case without the accents of Latin letters."""
    parts = unicodedata.normalize("NFKD", text.lower()).translate(_ACCENTS)
    return unicodedata.normalize("NFC", parts)
