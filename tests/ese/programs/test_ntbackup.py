import pytest

from esewatch.ese.programs.ntbackup import (
    BackupTrouble,
    Heading,
    LabelledCount,
    LabelledText,
    LocalTime,
    Rule,
    Took,
    is_log,
    line_of,
)
from tests.support.ntbackup_text import EX01, GERMAN, head, one_set
from tests.support.processor import processor_seconds

FIRST = EX01 + "First Storage Group"


@pytest.mark.parametrize(
    ("text", "backup"),
    [
        (f'Backup of "{FIRST}"', True),
        (f'Backup (via shadow copy) of "{FIRST}"', True),
        (f'Backup de "{FIRST}"', True),
        (f'Sicherung von "{FIRST}"', True),
        (f"Sauvegarde de «\u00a0{FIRST}\u00a0»", True),
        (f'Copia de seguridad de "{FIRST}"', True),
        (f'Säkerhetskopiering av "{FIRST}"', True),
        (f'Архивация "{FIRST}"', True),
        (f'"{FIRST}" のバックアップ', True),
        (f'Verify of "{FIRST}"', False),
        (f'Überprüfung der Sicherung von "{FIRST}"', False),
        (f'Verificação do backup de "{FIRST}"', False),
        (f'Wiederherstellung der Sicherung von "{FIRST}"', False),
        (f'Kuharu za "{FIRST}"', None),
    ],
)
def test_a_set_begins_with_its_name_in_quotes(text: str, backup: bool | None) -> None:
    assert line_of(text) == Heading("EX01", "First Storage Group", backup, FIRST)


@pytest.mark.parametrize("name", ["C: System", "System State", r"\\fs01\data", r"C:\a\b", r"a\\b"])
def test_what_is_no_storage_group_has_no_group(name: str) -> None:
    assert line_of(f'Backup of "{name}"') == Heading("", "", True, name)


@pytest.mark.parametrize(
    "text",
    [
        'Media name: "Backup of 6/21/2007"',
        'Backup description: "Set created 6/21/2007 at 1:00 AM"',
        f'"{FIRST}"',
        f'Backup "{FIRST}" was skipped "twice"',
        "Backup set #1 on media #1",
        "priv1.edb        88464866402   6/21/2007   1:00 AM",
        "x" * 1001,
        "",
    ],
)
def test_other_lines_begin_no_set(text: str) -> None:
    assert line_of(text) is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Backup started on 6/21/2007 at 1:00 AM.", "6/21/2007 1:00 AM"),
        ("Backup iniciado em 21/6/2007 às 01:00.", "21/6/2007 01:00"),
        ("Backup iniciado em 21/6/2007 \ufffds 01:00.", "21/6/2007 01:00"),
        ("Sicherung begonnen am 21.06.2007 um 01:00.", "21.06.2007 01:00"),
        ("Copia iniciada el 21/06/2007 a las 1:00 p.m.", "21/06/2007 1:00 pM"),
        ("Startades 2007-06-21 kl. 01:00", "2007-06-21 01:00"),
        ("Alkoi 21.6.2007 klo 1.00.", "21.6.2007 1.00"),
        ("备份开始于 2007-6-21，时间为 下午 1:00。", "2007-6-21 1:00 PM"),
        ("備份開始於 2007/6/21 上午 1:00", "2007/6/21 1:00 AM"),
        ("Elkezdve: 2007. 06. 21. 1:00", None),
    ],
)
def test_a_line_with_a_date_and_a_time_is_a_moment(text: str, moment: str | None) -> None:
    assert line_of(text) == (LocalTime(moment) if moment else None)


@pytest.mark.parametrize(
    "number",
    [
        "88,464,866,402",
        "88.464.866.402",
        "88 464 866 402",
        "88\u00a0464\u00a0866\u00a0402",
        "88\u202f464\u202f866\u202f402",
        "88'464'866'402",
        "88,46,48,66,402",
        "88464866402",
    ],
)
def test_numbers_are_grouped_in_many_ways(number: str) -> None:
    assert line_of(f"Bytes: {number}") == LabelledCount(88464866402)
    assert line_of(f"Octets\u00a0: {number}") == LabelledCount(88464866402)


@pytest.mark.parametrize(
    "number",
    ["88,464.866,402", str(2**60), "1.234.567,8", "1,234,567.8", "12.34", "1,23", "1,2345", "-5"],
)
def test_a_number_that_may_be_another_one_is_a_count_that_cannot_be_read(number: str) -> None:
    assert line_of(f"Bytes: {number}") == LabelledCount(None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Time:  2 hours, 25 minutes, and  11 seconds", 8711),
        ("Time: 1 hour, 45 minutes, and 23 seconds", 6323),
        ("Time: 52 minutes and 55 seconds", 3175),
        ("Time:  1 second", 1),
        ("Time: 2 hours and 11 seconds", 7211),
        ("Time: 27 hours, 0 minutes, and 1 second", 97201),
        ("Hora:  2 horas, 25 minutos e  11 segundos", 8711),
        ("Zeit:  2 Stunden, 25 Minuten und  11 Sekunden", 8711),
        ("Heure : 2 heures, 25 minutes et 11 secondes", 8711),
        ("Tijd: 2 uur, 25 minuten en 11 seconden", 8711),
        ("Aika: 2 tuntia, 25 minuuttia ja 11 sekuntia", 8711),
        ("Время: 2 час. 25 мин. и 11 сек.", 8711),
        ("时间: 2 小时 25 分钟 11 秒", 8711),
        ("Time: 1 day, 2 hours, 25 minutes, and 11 seconds", 95111),
        ("Time: 2 hours, 75 minutes, and 11 seconds", None),
        ("Time: 1 a, 2 b, 3 c, 4 d, 5 e", None),
        ("Time: 9999999 hours", None),
        ("Süre: 2 saat ve 11 saniye", 7211),
        ("Aika: 2 tuntia ja 11 sekuntia", 7211),
        ("時間: 2 時間 11 秒", 7211),
        ("시간: 2시간 11초", 7211),
        ("Muda: 2 masaa na 11 xyz", None),
        ("Time: 2h 3m", None),
    ],
)
def test_the_time_taken_is_read_by_its_units_or_by_its_order(
    text: str, seconds: int | None
) -> None:
    assert line_of(text) == Took(seconds)


@pytest.mark.parametrize(
    "kind",
    [
        "Incremental",
        "Differential",
        "Inkrementell",
        "Differenziell",
        "Incrémentielle",
        "Diferencial",
    ],
)
def test_an_incremental_backup_is_of_log_files_only(kind: str) -> None:
    assert line_of(f"Backup Type: {kind}") == LabelledText(logs_only=True)


@pytest.mark.parametrize("kind", ["Normal", "Copy", "Kopie", "Normale", "Diário"])
def test_a_normal_backup_is_not(kind: str) -> None:
    assert line_of(f"Backup Type: {kind}") == LabelledText(logs_only=False)


@pytest.mark.parametrize(
    "text",
    [
        'WARNING: Portions of "\\Log Files" cannot be read. The data is corrupt or incomplete.',
        "Warnung: x",
        "Erro: 5",
        "The operation was ended.",
        "Az adatok sérültek vagy hiányosak.",
    ],
)
def test_a_warning_and_any_other_sentence_is_trouble(text: str) -> None:
    assert line_of(text) == BackupTrouble(text)


def test_a_line_of_dashes_ends_a_job() -> None:
    assert line_of("----------------------\r\n") == Rule()


def test_a_log_is_known_by_a_set_that_began() -> None:
    text = head() + one_set(
        "First", "6/21/2007 at 1:00 AM", "6/21/2007 at 2:00 AM", "1", "1 second"
    )
    assert is_log(text)
    assert is_log(text.replace("EX01\\Microsoft Information Store\\First", "C:"))
    assert not is_log(text.replace("Backup of", "Verify of"))
    assert not is_log(head(GERMAN))
    assert not is_log("Backup started on 6/21/2007 at 1:00 AM.")


def test_no_line_takes_long() -> None:
    def read_all() -> None:
        for piece in ('"', "1 ", "a ", "1.", "1:00 ", ", ", "a: ", "1/1/2007 ", "x" * 50 + ": 1 "):
            for lead in ("", "Time: ", 'Backup of "', "Bytes: 1", "started on 1/1/2007 "):
                line_of(lead + piece * (900 // len(piece)))

    assert processor_seconds(read_all) < 1.0
