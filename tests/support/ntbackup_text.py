"""Logs as NTBACKUP writes them, in several languages. Line ends are LF here."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

EX01 = "EX01\\Microsoft Information Store\\"

# published-facts P2: bytes and time of each storage group, before and after.
BEFORE = {
    "First": ("88,464,866,402", "2 hours, 25 minutes, and  11 seconds"),
    "Second": ("65,702,308,386", "2 hours, 33 minutes, and  13 seconds"),
    "Third": ("72,598,333,186", "4 hours, 3 minutes, and  20 seconds"),
    "Fourth": ("56,771,193,418", "4 hours, 9 minutes, and  30 seconds"),
}
AFTER = {
    "First": ("93,574,712,642", "1 hour, 45 minutes, and  23 seconds"),
    "Second": ("69,180,499,674", "1 hour, 12 minutes, and  7 seconds"),
    "Third": ("79,813,847,146", "1 hour, 24 minutes, and  32 seconds"),
    "Fourth": ("58,777,312,674", "52 minutes and  55 seconds"),
}


class Words(NamedTuple):
    """The words of one language; `{}` is what stands there."""

    status: str
    heading: str
    type: str
    started: str
    ended: str
    clock: str
    """Form of a date and time for strftime."""
    counts: tuple[str, str, str]
    took: str
    verify: str


ENGLISH = Words(
    "Backup Status\nOperation: Backup\nActive backup destination: File",
    'Backup of "{}"\nBackup set #1 on media #1\n'
    'Backup description: "Set created 6/21/2007 at 1:00 AM"',
    "Backup Type: {}",
    "Backup started on {}.",
    "Backup completed on {}.",
    "%m/%d/%Y at %I:%M %p",
    ("Directories: {}", "Files: {}", "Bytes: {}"),
    "Time:  {}",
    "Verify of",
)
PORTUGUESE = Words(
    "Status do backup\nOperação: Backup\nDestino de backup ativo: Arquivo",
    'Backup de "{}"\nConjunto de backup nº 1 na mídia nº 1\n'
    'Descrição do backup: "Conjunto criado em 21/6/2007 às 01:00"',
    "Tipo de backup: {}",
    "Backup iniciado em {}.",
    "Backup concluído em {}.",
    "%d/%m/%Y às %H:%M",
    ("Diretórios: {}", "Arquivos: {}", "Bytes: {}"),
    "Hora:  {}",
    "Verificação de",
)
GERMAN = Words(
    "Sicherungsstatus\nVorgang: Sicherung\nAktives Sicherungsziel: Datei",
    'Sicherung von "{}"\nSicherungssatz Nr. 1 auf Medium Nr. 1\n'
    'Sicherungsbeschreibung: "Satz erstellt am 21.06.2007 um 01:00"',
    "Sicherungstyp: {}",
    "Sicherung begonnen am {}.",
    "Sicherung abgeschlossen am {}.",
    "%d.%m.%Y um %H:%M",
    ("Verzeichnisse: {}", "Dateien: {}", "Bytes: {}"),
    "Zeit:  {}",
    "Überprüfung der Sicherung von",
)
FRENCH = Words(
    "État de la sauvegarde\nOpération : Sauvegarde",
    'Sauvegarde de "{}"',
    "Type de sauvegarde : {}",
    "Sauvegarde démarrée le {}.",
    "Sauvegarde terminée le {}.",
    "%d/%m/%Y à %H:%M",
    ("Répertoires : {}", "Fichiers : {}", "Octets : {}"),
    "Heure :  {}",
    "Vérification de",
)
RULE = "\n----------------------\n\n"


def head(words: Words = ENGLISH) -> str:
    """The beginning of a job."""
    return f"{words.status}\n\n"


def one_set(
    group: str,
    started: str,
    ended: str,
    size: str,
    took: str,
    *,
    words: Words = ENGLISH,
    kind: str = "Normal",
    trouble: str = "",
) -> str:
    """One set. `group` of the information store of EX01, or a whole name with a backslash."""
    name = group if "\\" in group or ":" in group else EX01 + group
    middle = f"{trouble}\n" if trouble else ""
    counts = zip(words.counts, ("3", "6", size), strict=True)
    lines = (
        words.heading.format(name),
        "",
        words.type.format(kind),
        "",
        words.started.format(started),
        middle + words.ended.format(ended),
        *(each.format(value) for each, value in counts),
        words.took.format(took),
    )
    return "\n".join(lines) + "\n\n"


def clock(time: datetime, words: Words = ENGLISH) -> str:
    """`6/21/2007 at 1:00 AM`."""
    text = time.strftime(words.clock)
    return (
        text.replace(" 0", " ").removeprefix("0").replace("/0", "/") if words is ENGLISH else text
    )


def seconds(took: str) -> int:
    """Of `2 hours, 25 minutes, and  11 seconds`."""
    numbers = [int(word) for word in took.split() if word.isdecimal()]
    return sum(number * 60**power for power, number in enumerate(reversed(numbers)))


def job(figures: Mapping[str, tuple[str, str]], begin: datetime, words: Words = ENGLISH) -> str:
    """One job with a set for each storage group, one right after the other."""
    text = head(words)
    for name, (size, took) in figures.items():
        end = begin + timedelta(seconds=seconds(took))
        group = f"{name} Storage Group"
        text += one_set(group, clock(begin, words), clock(end, words), size, took, words=words)
        begin = end
    return text.rstrip("\n") + "\n" + RULE
