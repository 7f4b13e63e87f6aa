"""The names of ESE's objects and counters in other languages, by language and product.

ESENT is the engine of Windows (object `Database`), ESE that of Exchange (`MSExchange Database`):
their words differ in one language. Public sources:
- de ESENT: list of the Perflib counters of a German Windows 10, in a public GitHub repository.
- de ESE: output of `Get-Counter` on a German Exchange 2016, in Checkmk's test of `msexch_database`;
  `Unwiderruflich gelöschte Seiten`: Microsoft's Exchange 2013 documentation, as below.
- ru ESE, latencies and threads: a public Zabbix template for a Russian Exchange 2010.
- fr, it, es, pt, ru, zh, zh-Hant, ko ESE: Microsoft's Exchange 2013 documentation in these
  languages (MicrosoftDocs/OfficeDocs-Exchange-Test-pr), pages "Exchange 2013 performance counters"
  and "Understanding Exchange 2013 page zeroing".
- `Database Maintenance Pages Bad Checksums`: property `DatabaseMaintenancePagesBadChecksums` of the
  WMI classes `Win32_PerfRawData_ESENT_Database` and `..._DatabaseInstances` in public code.

The Japanese documentation has the English names. All other names of these languages, ESENT's names
in all of them but German, and all other languages are unread: `unknown_counters` names them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal

from esewatch.ese.counters.counter_table import ObjectKind

Library = Literal["ESE", "ESENT"]

_SUFFIXES: Mapping[str, ObjectKind] = {
    "": "process",
    " ==> TableClasses": "table_classes",
    " ==> Instances": "instances",
    " ==> Databases": "databases",
}

_DE_ESENT = """
Datenbank = Database
Datenbank ==> TableClasses = Database ==> TableClasses
Datenbank ==> Instanzen = Database ==> Instances
Defragmentierungstasks = Defragmentation Tasks
Ausstehende Defragmentierungstasks = Defragmentation Tasks Pending
Verschobene Defragmentierungstasks = Defragmentation Tasks Postponed
Datenbankwartung: Dauer seit letzter = Database Maintenance Duration
E/A: Datenbanklesevorgänge/Sek. = I/O Database Reads/sec
E/A: Datenbanklesevorgänge (Angefügt)/Sek. = I/O Database Reads (Attached)/sec
E/A: Datenbanklesevorgänge (Wiederherstellung)/Sek. = I/O Database Reads (Recovery)/sec
E/A: Durchschnittliche Wartezeit für Datenbanklesevorgänge = I/O Database Reads Average Latency
E/A: Durchschnittliche Wartezeit für Datenbanklesevorgänge (Angefügt)
    = I/O Database Reads (Attached) Average Latency
E/A: Durchschnittliche Wartezeit für Datenbanklesevorgänge (Wiederherstellung)
    = I/O Database Reads (Recovery) Average Latency
E/A: Datenbankschreibvorgänge/Sek. = I/O Database Writes/sec
E/A: Datenbankschreibvorgänge (Angefügt)/Sek. = I/O Database Writes (Attached)/sec
E/A: Datenbankschreibvorgänge (Wiederherstellung)/Sek. = I/O Database Writes (Recovery)/sec
E/A: Durchschnittliche Wartezeit für Datenbankschreibvorgänge = I/O Database Writes Average Latency
E/A: Durchschnittliche Wartezeit für Datenbankschreibvorgänge (Angefügt)
    = I/O Database Writes (Attached) Average Latency
E/A: Durchschnittliche Wartezeit für Datenbankschreibvorgänge (Wiederherstellung)
    = I/O Database Writes (Recovery) Average Latency
E/A: Protokolllesevorgänge/Sek. = I/O Log Reads/sec
E/A: Durchschnittliche Wartezeit für Protokolllesevorgänge = I/O Log Reads Average Latency
E/A: Protokollschreibvorgänge/Sek. = I/O Log Writes/sec
E/A: Durchschnittliche Wartezeit für Protokollschreibvorgänge = I/O Log Writes Average Latency
E/A: Leerungszuordnungs-Schreibvorgänge/Sek. = I/O Flush Map Writes/sec
E/A: Durchschnittliche Wartezeit für Leerungszuordnungs-Schreibvorgänge
    = I/O Flush Map Writes Average Latency
Datenbankcachegröße (MB) = Database Cache Size (MB)
Datenbankcache % Treffer = Database Cache % Hit
Datenbankcachefehler/Sek. = Database Cache Misses/sec
Mittlere Wartezeit bei Datenbank-Cachefehlern (Anhängend)
    = Database Cache Miss (Attached) Average Latency
Datenbank: Seitenfehler/Sek. = Database Page Faults/sec
Datenbank: Seitenfehlerverzögerungen/Sek. = Database Page Fault Stalls/sec
Protokolldatensatzverzögerungen/Sek. = Log Record Stalls/sec
Wartende Protokollthreads = Log Threads Waiting
Prüfpunkttiefe für Protokollgenerierung = Log Generation Checkpoint Depth
Zielprüfpunkttiefe für Protokollgenerierung = Log Generation Checkpoint Depth Target
Max. Prüfpunkttiefe für Protokollgenerierung = Log Generation Checkpoint Depth Max
Verlustausfalltiefe für Protokollgenerierung = Log Generation Loss Resiliency Depth
Protokollprüfpunkttiefe in % der Zieltiefe = Log Checkpoint Depth as a % of Target
Aktuelle Protokolldateigenerierung = Log File Current Generation
Generierte Protokolldateien = Log Files Generated
Zugewiesene Versionsbuckets = Version Buckets Allocated
Sitzungen in Verwendung | Sitzungen % in Verwendung | Tabelle öffnen: % Cachetreffer
Tabelle öffnen: Cachetreffer/Sek. | Tabelle öffnen: Cachefehler/Sek. | Geöffnete Tabellen
Tabelle öffnen: Vorgänge/Sek. | Tabelle schließen: Vorgänge/Sek. | Kein Name
Protokoll: Geschriebene Bytes/Sek. | Protokoll: Schreiben Bytes/Sek.
Generierte Protokollbytes/Sek. | Übergebene Bytes im Protokollpuffer
Datenbankkonsistenztiefe für Protokollgenerierung | Vorzeitig generierte Protokolldateien
Protokollschreibvorgänge/Sek. | Datenbankcacheanforderungen/Sek.
Datenbank: Erzwungene Seitenfreigaben/Sek. | Datenbank: Cachegröße
Datenbankcache: Effektive Größe (MB) | Datenbankcache: Effektive Größe
Datenbankcache: Zugesicherter Arbeitsspeicher (MB) | Datenbankcache: Zugesicherter Arbeitsspeicher
Datenbankcache: Reservierter Arbeitsspeicher (MB) | Datenbankcache: Reservierter Arbeitsspeicher
Datenbankcache: Residente Größe | Datenbankcache: Residente Größe (MB)
Datenbankcache: % komprimierte Seiten | Leerungszuordnung % geändert
Asynchron geschriebene Leerungszuordnungsseiten/Sek. | Streamingsicherung: Gelesene Seiten/Sek.
Synchron geschriebene Leerungszuordnungsseiten/Sek. | Verschlüsselungsbytes/Sek.
E/A: Durchschnittliche Bytes bei Leerungszuordnungs-Schreibvorgängen
Verschlüsselungsvorgänge/Sek. | Entschlüsselungsbytes/Sek. | Entschlüsselungsvorgänge/Sek.
Komprimierte Bytes/Sek. | Komprimierungsvorgänge/Sek. | Komprimierungsverhältnis
Durchschnittliche Komprimierungswartezeit (de) | Durchschnittliche Dekomprimierungswartezeit (de)
Dekomprimierte Bytes/Sek. | Dekomprimierungsvorgänge/Sek.
"""
_DE_ESE = """
MSExchange-Datenbank = MSExchange Database
MSExchange-Datenbank  ==> Instanzen = MSExchange Database ==> Instances
Defragmentierungstasks = Defragmentation Tasks
Defragmentierungstasks: Ausstehende = Defragmentation Tasks Pending
Datenbankwartung: Dauer seit letzter = Database Maintenance Duration
Datenbankwartung: Fehlerhafte Seitenprüfsummen = Database Maintenance Pages Bad Checksums
Datenbankwartung: Unwiderruflich gelöschte Seiten = Database Maintenance Pages Zeroed
Datenbankwartung: Unwiderruflich gelöschte Seiten/Sek = Database Maintenance Pages Zeroed/sec
E/A: Datenbankleseoperationen/Sek. = I/O Database Reads/sec
E/A: Datenbankleseoperationen (angefügt)/Sek. = I/O Database Reads (Attached)/sec
E/A: Datenbankleseoperationen (Wiederherstellung)/Sek. = I/O Database Reads (Recovery)/sec
E/A: Durchschnittliche Wartezeit für Datenbankleseoperationen = I/O Database Reads Average Latency
E/A: Durchschnittliche Wartezeit für Datenbankleseoperationen (angefügt)
    = I/O Database Reads (Attached) Average Latency
E/A: Durchschnittliche Wartezeit für Datenbankleseoperationen (Wiederherstellung)
    = I/O Database Reads (Recovery) Average Latency
E/A: Datenbankschreiboperationen/Sek. = I/O Database Writes/sec
E/A: Datenbankschreiboperationen (angefügt)/Sek. = I/O Database Writes (Attached)/sec
E/A: Datenbankschreiboperationen (Wiederherstellung)/Sek. = I/O Database Writes (Recovery)/sec
E/A: Durchschnittliche Wartezeit für Datenbankschreiboperationen
    = I/O Database Writes Average Latency
E/A: Durchschnittliche Wartezeit für Datenbankschreiboperationen (angefügt)
    = I/O Database Writes (Attached) Average Latency
E/A: Durchschnittliche Wartezeit für Datenbankschreiboperationen (Wiederherstellung)
    = I/O Database Writes (Recovery) Average Latency
E/A: Protokollleseoperationen/Sek = I/O Log Reads/sec
E/A: Durchschnittliche Wartezeit für Protokollleseoperationen = I/O Log Reads Average Latency
E/A: Protokollschreiboperationen/Sek = I/O Log Writes/sec
E/A: Durchschnittliche Wartezeit für Protokollschreiboperationen = I/O Log Writes Average Latency
E/A: Leerungszuordnungs-Schreibvorgänge/Sek. = I/O Flush Map Writes/sec
E/A: Durchschnittliche Wartezeit für Leerungszuordnungs-Schreibvorgänge
    = I/O Flush Map Writes Average Latency
Datenbank: Cachegröße (MB) = Database Cache Size (MB)
Datenbankcache % Treffer = Database Cache % Hit
Datenbankcache % Treffer (eindeutig) = Database Cache % Hit (Unique)
Datenbankcache: Fehlschläge/Sek. = Database Cache Misses/sec
Mittlere Wartezeit bei Datenbank-Cachefehlern (anhängend)
    = Database Cache Miss (Attached) Average Latency
Protokolldatensatzverzögerungen/Sek = Log Record Stalls/sec
Wartende Protokollthreads = Log Threads Waiting
Prüfpunkttiefe für Protokollgenerierung = Log Generation Checkpoint Depth
Protokollgenerierung: Ideale Prüfpunkttiefe = Log Generation Checkpoint Depth Target
Max. Prüfpunkttiefe für Protokollgenerierung = Log Generation Checkpoint Depth Max
Verlustausfalltiefe für Protokollgenerierung = Log Generation Loss Resiliency Depth
Protokollprüfpunkttiefe: Als % der Zieltiefe = Log Checkpoint Depth as a % of Target
Aktuelle Protokolldateigenerierung = Log File Current Generation
Generierte Protokolldateien = Log Files Generated
Zugewiesene Version-Buckets = Version Buckets Allocated
Sitzungen in Verwendung | Sitzungen % in Verwendung | Tabelle öffnen: % Cachetreffer
Tabelle öffnen: Cachetreffer/Sek | Tabelle öffnen: Cachefehlschläge/Sek | Geöffnete Tabellen
Tabelle öffnen: Operationen/Sek | Tabelle schließen: Operationen/Sek.
Protokoll: Schreiben Byte/Sek | Protokoll: Generierte Bytes/Sek. | Protokollschreiboperationen/Sek
Vorzeitig generierte Protokolldateien | Datenbankcache: Anforderungen/Sek.
Datenbankcache: Anforderungen/Sek. (eindeutig) | Streamingsicherung: Gelesene Seiten/Sek
"""
_FR_ESE = """
Base de données MSExchange = MSExchange Database
Base de données MSExchange ==> Instances = MSExchange Database ==> Instances
Durée de maintenance de base de données = Database Maintenance Duration
Pages de maintenance de base de données mises à zéro = Database Maintenance Pages Zeroed
Pages de maintenance de base de données mises à zéro/s = Database Maintenance Pages Zeroed/sec
Lectures de base de données E/S (associées)/s = I/O Database Reads (Attached)/sec
Latence moyenne des lectures de base de données E/S (associées)
    = I/O Database Reads (Attached) Average Latency
Latence moyenne des lectures de base de données E/S (récupération)
    = I/O Database Reads (Recovery) Average Latency
Écritures de base de données E/S (associées)/s = I/O Database Writes (Attached)/sec
Latence moyenne des écritures de base de données E/S (associées)
    = I/O Database Writes (Attached) Average Latency
Latence moyenne des écritures de base de données E/S (récupération)
    = I/O Database Writes (Recovery) Average Latency
Écritures E/S de journal/s = I/O Log Writes/sec
Latence moyenne des écritures de journal E/S = I/O Log Writes Average Latency
"""
_IT_ESE = """
Database di MSExchange = MSExchange Database
Database MSExchange = MSExchange Database
Database di MSExchange ==> Istanze = MSExchange Database ==> Instances
Database MSExchange ==> Istanze = MSExchange Database ==> Instances
Durata manutenzione del database = Database Maintenance Duration
Pagine di manutenzione database azzerate = Database Maintenance Pages Zeroed
Pagine di manutenzione database azzerate/sec = Database Maintenance Pages Zeroed/sec
Lettura database I/O (Collegamento)/sec = I/O Database Reads (Attached)/sec
Latenza media I/O letture database (allegato) = I/O Database Reads (Attached) Average Latency
Latenza media I/O letture database (recupero) = I/O Database Reads (Recovery) Average Latency
Scrittura database I/O (Collegamento)/sec = I/O Database Writes (Attached)/sec
Latenza media scrittura database I/O (Collegamento) = I/O Database Writes (Attached) Average Latency
Latenza media I/O scritture database (recupero) = I/O Database Writes (Recovery) Average Latency
Latenza media I/O scritture log = I/O Log Writes Average Latency
"""
_ES_ESE = """
Base de datos de MSExchange = MSExchange Database
Base de datos de MSExchange ==> Instancias = MSExchange Database ==> Instances
Duración de mantenimiento de base de datos = Database Maintenance Duration
Páginas de mantenimiento de bases de datos llenadas con ceros = Database Maintenance Pages Zeroed
Páginas de mantenimiento de bases de datos llenadas con ceros por segundo
    = Database Maintenance Pages Zeroed/sec
Lecturas en base de datos de E/S (adjunta)/seg. = I/O Database Reads (Attached)/sec
Latencia promedio de lecturas de base de datos de E/S (adjunta)
    = I/O Database Reads (Attached) Average Latency
Latencia promedio de lecturas de base de datos (recuperación) de E/S
    = I/O Database Reads (Recovery) Average Latency
Escrituras en base de datos de E/S (adjunta)/seg. = I/O Database Writes (Attached)/sec
Latencia promedio de escrituras de base de datos de E/S (adjunta)
    = I/O Database Writes (Attached) Average Latency
Latencia promedio de escrituras de base de datos de E/S (recuperación)
    = I/O Database Writes (Recovery) Average Latency
Escrituras en registro de E/S/seg. = I/O Log Writes/sec
Latencia promedia de escrituras en registro de E/S = I/O Log Writes Average Latency
"""
_PT_ESE = """
Banco de dados do MSExchange = MSExchange Database
Banco de dados do MSExchange ==> Instâncias = MSExchange Database ==> Instances
Duração da manutenção de banco de dados = Database Maintenance Duration
Páginas anuladas pela manutenção de banco de dados = Database Maintenance Pages Zeroed
Páginas anuladas pela manutenção de banco de dados por segundo
    = Database Maintenance Pages Zeroed/sec
"""
_RU_ESE = """
База данных MSExchange = MSExchange Database
База данных MSExchange ==> Экземпляры = MSExchange Database ==> Instances
Время после обслуживания базы данных = Database Maintenance Duration
Обнулено страниц при обслуживании базы данных = Database Maintenance Pages Zeroed
Обнулено страниц при обслуживании базы данных/с = Database Maintenance Pages Zeroed/sec
Средняя задержка при чтении в процессе ввода-вывода для (прикрепленной) базы данных
    = I/O Database Reads (Attached) Average Latency
Средняя задержка при записи в процессе ввода-вывода для (прикрепленной) базы данных
    = I/O Database Writes (Attached) Average Latency
Ожиданий записи в журнал/с = Log Record Stalls/sec
Ожидающих потоков журнала = Log Threads Waiting
Записанных в журнал байтов/с |
"""
_ZH_ESE = """
MSExchange 数据库 = MSExchange Database
MSExchange 数据库 ==> 实例 = MSExchange Database ==> Instances
数据库维护持续时间 = Database Maintenance Duration
数据库维护清零的页 = Database Maintenance Pages Zeroed
数据库维护清零的页/秒 = Database Maintenance Pages Zeroed/sec
"""
_ZH_HANT_ESE = """
MSExchange 資料庫 = MSExchange Database
清空的資料庫維護頁面 = Database Maintenance Pages Zeroed
清空的資料庫維護頁面/秒 = Database Maintenance Pages Zeroed/sec
"""
_KO_ESE = """
MSExchange 데이터베이스 = MSExchange Database
비워진 데이터베이스 유지 관리 페이지 = Database Maintenance Pages Zeroed
초당 비워진 데이터베이스 유지 관리 페이지 = Database Maintenance Pages Zeroed/sec
"""

_EN_ESE = """
Online Maintenance (DB Scan) Pages Read = Database Maintenance Pages Read
Online Maintenance (DB Scan) Pages Read/sec = Database Maintenance Pages Read/sec
Online Maintenance (DB Scan) Pages Zeroed = Database Maintenance Pages Zeroed
Online Maintenance (DB Scan) Pages Zeroed/sec = Database Maintenance Pages Zeroed/sec
Defragmentation Tasks Discarded = Defragmentation Tasks Postponed
Log Generation Ideal Checkpoint Depth = Log Generation Checkpoint Depth Target
"""
"""Names of Exchange 2007 to 2016, where those of current engines differ."""

_WORDS = """
a added all allocated allocation allocations allocs append appends as async asynchronously
attached attempts available availpool average b backup bad blocked bookmark bucket buckets buffer
by bytes cache cached calls capacity checked checkpoint checksums chunk circuits clean cleanup
close closes coalesced cold colded column commit commits committed completed compressed
compression conflicts consistency context copied copies corsica count cpu creates current cursor
data database db decompressed decompression decryption defrag defragmentation dehydrate dehydrated
deleted deletes depth dereference dirtied dirty discarded dispatched divergences durable duration
effective empty encryption entries escrow estimate evaluated evict evicted evictions ext
extension extents failed failures false fast fault faulted faults fcb file files filtered filthy
flag flush flushed flushfilebuffers for forced foreground found fpga free freed frees fucb full
generated generation hard hardware heap hints history hit hits hotpoint i id idb ideal in index
inserts instance int intrinsic io issued k last latch latches latency lazy left length level lid
lifetime log logging long loss lvs maintenance manager map marker max maximum mb mean memory
merges meted min miss misses move moved moves ms name new nexts no nodes non normally not o of
oldest on online only open opens opportune opportunely ops order os other out outstanding page
pages partial pct pending pinned postponed preferred prematurely preread prereads prevs
program purge queue quota range ratio rce rces re read reads reclaimed record records recovery ref
reference referenced rehydrated reorganized repeatedly replaces request requests reserved resident
resiliency resource resources retrieves revert right rollbacks scan scanned scavenging scheduled
sec secondary seek seeks segment sentinel separated sessions setting short shrink sibling simple
size sizing skipped slv smooth smoothing snapshot snapshotted soft software space splits stalls
status store streaming successes super supercold sync synchronously system table tables target
tasks tdb th threads threshold throttle throttles time to total touches transaction transactional
transactions transferred tree trees trimmed tuple unaligned unattached uncorrelated unique
unnecessary untouched unused updated updates us use used user value values variance ver version
versioned vertical visible wait waiting wasted with write writes written xpress zero zeroed
"""
_ENGLISH_WORDS = frozenset(_WORDS.split())
"""The words of the engine's published counter table, and of its names in Exchange 2007."""

LANGUAGES = ("en", "de", "es", "fr", "it", "ko", "pt", "ru", "zh", "zh-Hant")
_CODE_PAGES = {"ko": "cp949", "ru": "cp1251", "zh": "cp936", "zh-Hant": "cp950"}
"""In which perfmon writes its text logs there. They are read as cp1252."""
LATIN = tuple(language for language in LANGUAGES if language not in _CODE_PAGES)
"""Those whose names differ in their Latin letters alone."""
_BLANKS = re.compile("[ \t]+")
_FOREIGN = re.compile(r"[^\x00-\x7f]+")

ENGLISH_OBJECTS: Mapping[str, ObjectKind] = {
    f"{base}{suffix}": kind
    for base in ("Database", "MSExchange Database")
    for suffix, kind in _SUFFIXES.items()
}


def _read(text: str) -> dict[str, str]:
    """Name -> its English name, empty for one that feeds nothing."""
    found: dict[str, str] = {}
    for line in text.replace("\n    =", " =").split("\n"):
        for name in filter(str.strip, line.split("|")):
            foreign, _, english = name.strip().partition(" = ")
            found[foreign] = english
    return found


NAMES: Mapping[tuple[str, Library], Mapping[str, str]] = {
    ("en", "ESE"): _read(_EN_ESE),
    ("de", "ESE"): _read(_DE_ESE),
    ("de", "ESENT"): _read(_DE_ESENT),
    ("es", "ESE"): _read(_ES_ESE),
    ("fr", "ESE"): _read(_FR_ESE),
    ("it", "ESE"): _read(_IT_ESE),
    ("ko", "ESE"): _read(_KO_ESE),
    ("pt", "ESE"): _read(_PT_ESE),
    ("ru", "ESE"): _read(_RU_ESE),
    ("zh", "ESE"): _read(_ZH_ESE),
    ("zh-Hant", "ESE"): _read(_ZH_HANT_ESE),
}
"""(Language, product) -> name -> today's English name, empty for a counter that feeds nothing."""


def normal(name: str) -> str:
    """A name as it is compared: case, doubled blanks and a point at its end say nothing."""
    return _BLANKS.sub(" ", name.lower()).strip(" ").rstrip(".")


def _spellings(language: str, name: str) -> Iterator[str]:
    spelt = normal(name)
    yield spelt
    # A code page read as another one leaves other letters in the place of an umlaut.
    folded = _FOREIGN.sub("?", spelt)
    if 2 * len(re.findall("[a-z]", folded)) > len(spelt):
        yield folded
    if page := _CODE_PAGES.get(language):
        yield normal(spelt.encode(page).decode("cp1252", "replace"))


_ENGLISH = {
    spelling: english
    for (language, _), names in NAMES.items()
    for name, english in names.items()
    for spelling in _spellings(language, name)
}
_OBJECTS = {normal(name): kind for name, kind in ENGLISH_OBJECTS.items()}


@lru_cache(8192)
def _found(name: str) -> str | None:
    spelt = normal(name)
    return _ENGLISH.get(spelt, _ENGLISH.get(_FOREIGN.sub("?", spelt)))


def english(name: str) -> str:
    """Today's English name of an object or counter; `name` itself where the table has none."""
    return _found(name) or name


def spelled(english_name: str, object_name: str, language: str) -> list[str]:
    """The names of an object or counter in a language: the English one where the table has none.
    `object_name`: its object in English, which tells the product."""
    library: Library = "ESE" if object_name.startswith("MSExchange") else "ESENT"
    names = NAMES.get((language, library), {})
    found = [name for name, each in names.items() if each == english_name]
    return [english_name, *found] if language == "en" else found or [english_name]


def object_kind(name: str) -> ObjectKind | None:
    """The kind of ESE object that `name` is, None if it is none."""
    return _OBJECTS.get(normal(english(name)))


def is_known(counter: str) -> bool:
    """Is it a counter of ESE's objects by its name, whether it feeds a metric or not?"""
    words = re.findall(r"[^\W\d_]+", counter.lower())
    return _found(counter) is not None or _ENGLISH_WORDS.issuperset(words)


def unknown_counters(names: Iterable[tuple[str, str]]) -> list[str]:
    """A sentence for each object that looks like one of ESE and has counters that are not known.

    `names`: objects and counters of one input. Of an object whose name is not known nothing is
    read: it looks like one of ESE where `==>` is in its name, or in one that begins with it.
    """
    counters: dict[str, set[str]] = {}
    for object_name, counter in names:
        counters.setdefault(object_name.strip(), set()).add(counter)
    bases = {name.partition("==>")[0].strip() for name in counters if "==>" in name}
    told = []
    for name, found in sorted(counters.items()):
        kind = object_kind(name)
        if kind or "==>" in name or name in bases:
            unknown = sorted(each for each in found if not (kind and is_known(each)))
            if unknown:
                s, are = ("", "is") if len(unknown) == 1 else ("s", "are")
                told.append(
                    f"{len(unknown)} counter{s} of {name} {are} not known, such as {unknown[0]}"
                )
    return told
