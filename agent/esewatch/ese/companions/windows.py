"""Companions of Windows itself: a computer that is shut down, or comes up.

1074 has the process, the computer, reasons, and in `%5` a word of the language of Windows for what
was asked for; the rendered text ends a line with it.
"""

import re

from esewatch.ese.companions.companion_row import Companion, CompanionFound, CompanionText

SHUTDOWN, LOG = "USER32", "EventLog"

_OFF = frozenset({
    "power off", "shutdown", "shut down", "poweroff",
    "ausschalten", "herunterfahren", "arrêt", "arrêter", "mise hors tension", "éteindre",
    "apagar", "apagado", "desligar", "desligamento", "encerrar", "encerramento",
    "arresto", "arresta", "spegnimento", "spegni", "afsluiten", "uitschakelen",
    "stäng av", "avstängning", "slå av", "luk computeren", "sluk", "sammuta",
    "wyłącz", "wyłączenie", "zamknięcie", "zamknij", "vypnutí", "vypnout", "leállítás",
    "kikapcsolás", "kapat", "kapatma", "gücü kapat", "выключение", "завершение работы",
    "отключение питания", "シャットダウン", "電源オフ", "电源关闭", "关机", "关闭电源", "關機",
    "關閉電源", "시스템 종료", "전원 끄기",
})  # fmt: skip
"""Words for a shutdown or power off, of the languages of Windows; any other word is a restart."""
_TYPE = 4
_LABELLED = re.compile(r"[:\uff1a][ \t\u00a0]*([^:\n\r]{2,40}?)[ \t.]*$", re.MULTILINE)


def _shutdown(told: CompanionText) -> CompanionFound | None:
    words = told.strings[_TYPE : _TYPE + 1] if len(told.strings) > _TYPE else ()
    for word in words or _LABELLED.findall(told.words):
        if " ".join(word.lower().split()) in _OFF:
            return CompanionFound("", "", {"power": "off"})
    return None


def _stopped(_: CompanionText) -> CompanionFound:
    return CompanionFound("", "", {"power": "stopped"})


def _started(_: CompanionText) -> CompanionFound:
    return CompanionFound("", "", {"power": "up"})


_LEARN = "https://learn.microsoft.com/en-us/troubleshoot/windows-server/performance/"

ROWS: tuple[Companion, ...] = (
    Companion(1074, SHUTDOWN, "information", "the computer is shut down, not only restarted",
        _LEARN + "troubleshoot-unexpected-reboots-system-event-logs", _shutdown, by_words=True),
    Companion(6005, LOG, "information", "the computer came up: its event log service started",
        _LEARN + "troubleshoot-unexpected-reboots-system-event-logs", _started),
    Companion(6006, LOG, "information", "the event log service stopped, as before a restart too",
        _LEARN + "troubleshoot-unexpected-reboots-system-event-logs", _stopped),
)  # fmt: skip
