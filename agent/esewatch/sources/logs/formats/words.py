"""The words for the fields of an event, by language: labels of Windows and columns of its viewer.

Public sources of the labels of Windows 2000 to 2003 (`Event Type:` ... `Description:`):
- de, ja, ko, pt: Exchange 2010, "Understanding Back Pressure" (learn.microsoft.com, bb201658 of
  each language); ja, zh, zh-Hant, es with date, time, user and computer: BizTalk Server, "How to
  troubleshoot a missing BUILTIN\\Administrators login" (event 208 of SQLSERVERAGENT).
- de `Ereigniskennung`, `Zeit`: reports of Windows XP and Server 2003 users; the German pages of
  Windows Defender (learn.microsoft.com) head each event by `Ereigniskennung`.
- it: support article 296220; es `Id. suceso`, `Origen del suceso`: reports of Windows XP users.
- fr: as Windows XP shows them; no page with all of them was seen.
Those of today, which the viewer's columns have too: the page "Event Properties" of its help
(technet.microsoft.com, cc765981; seen in de, fr, it, ja, ko, pt, sv and tr). A word of es, it or zh
that is on none of these pages is as Windows shows it.

The labels of a language that is not here are unread, except where the order tells (`blocks`,
`columns`): its records are reported as unreadable. Those are Czech, Danish, Dutch, Finnish, Greek,
Hungarian, Norwegian, Polish and Russian; of Swedish and Turkish only the words of today are known.
"""

from collections.abc import Mapping

Words = Mapping[str, tuple[str, ...]]
"""Field -> its words. `type` is the level of Windows 2000 to 2003, which begins a record, `clock`
the time of day apart from the date, `other` are words that are not read."""

WORDS: Mapping[str, Words] = {
    "en": {
        "provider": ("Event Source", "Source", "Source Name", "Event Provider", "Provider Name"),
        "event_id": ("Event ID", "EventID", "Event Code", "Event Identifier", "Event Number", "ID"),
        "time": ("Date and Time", "Event Time", "Time Generated", "Time Created", "Date"),
        "clock": ("Time",),
        "computer": (
            "Logging Computer", "Computer", "Computer Name", "Machine Name", "Machine", "Host",
        ),
        "channel": ("Log Name", "Event Log", "Log"),
        "record_id": ("Record Number", "Event Record ID", "Record ID"),
        "type": ("Event Type",),
        "level": ("Level", "Type", "Severity", "Entry Type"),
        "message": ("Event Description", "Description", "Message", "Event String"),
        "other": (
            "Event Category", "Task Category", "Category", "User Name", "Username", "User",
            "Keywords", "Opcode", "Operational Code", "Agent Time", "Event",
        ),
    },
    "de": {
        "provider": ("Ereignisquelle", "Quelle"),
        "event_id": ("Ereigniskennung", "Ereignis-ID"),
        "time": ("Datum und Uhrzeit", "Datum"),
        "clock": ("Uhrzeit", "Zeit"),
        "computer": ("Computer",),
        "channel": ("Protokollname", "Protokoll"),
        "type": ("Ereignistyp",),
        "level": ("Ebene",),
        "message": ("Beschreibung",),
        "other": ("Ereigniskategorie", "Aufgabenkategorie", "Benutzer"),
    },
    "fr": {
        "provider": ("Source de l'événement", "Source de l’événement", "Source"),
        "event_id": ("ID de l'événement", "ID de l’événement", "ID d'événement", "ID d’événement"),
        "time": ("Date et heure", "Date"),
        "clock": ("Heure",),
        "computer": ("Ordinateur",),
        "channel": ("Nom du journal", "Journal"),
        "type": ("Type de l'événement", "Type de l’événement"),
        "level": ("Niveau",),
        "message": ("Description",),
        "other": (
            "Catégorie de l'événement", "Catégorie de l’événement", "Catégorie de la tâche",
            "Utilisateur",
        ),
    },
    "it": {
        "provider": ("Origine evento", "Origine"),
        "event_id": ("ID evento",),
        "time": ("Data e ora", "Data"),
        "clock": ("Ora",),
        "computer": ("Computer",),
        "channel": ("Nome registro", "Registro"),
        "type": ("Tipo evento",),
        "level": ("Livello",),
        "message": ("Descrizione",),
        "other": ("Categoria evento", "Categoria attività", "Utente"),
    },
    "es": {
        "provider": ("Origen del suceso", "Origen del evento", "Origen"),
        "event_id": ("Id. suceso", "Id. del suceso", "Id. del evento", "Id. de evento"),
        "time": ("Fecha y hora", "Fecha"),
        "clock": ("Hora",),
        "computer": ("Equipo",),
        "channel": ("Nombre de registro", "Registro"),
        "type": ("Tipo de suceso", "Tipo de evento"),
        "level": ("Nivel",),
        "message": ("Descripción",),
        "other": (
            "Categoría del suceso", "Categoría del evento", "Categoría de la tarea", "Usuario",
        ),
    },
    "pt": {
        "provider": ("Origem do Evento", "Fonte do Evento", "Origem", "Fonte"),
        "event_id": ("ID do Evento", "Identificação do Evento", "ID de evento"),
        "time": ("Data e hora", "Data"),
        "clock": ("Hora",),
        "computer": ("Computador",),
        "channel": ("Nome do Log", "Log"),
        "type": ("Tipo de Evento",),
        "level": ("Nível",),
        "message": ("Descrição",),
        "other": ("Categoria do Evento", "Categoria da Tarefa", "Usuário", "Utilizador"),
    },
    "ja": {
        "provider": ("イベント ソース", "ソース"),
        "event_id": ("イベント ID",),
        "time": ("日付と時刻", "日付"),
        "clock": ("時刻",),
        "computer": ("コンピュータ", "コンピューター"),
        "channel": ("ログの名前",),
        "type": ("イベントの種類",),
        "level": ("レベル",),
        "message": ("説明",),
        "other": ("イベント カテゴリ", "タスクのカテゴリ", "ユーザー"),
    },
    "ko": {
        "provider": ("이벤트 원본", "원본"),
        "event_id": ("이벤트 ID",),
        "time": ("날짜",),
        "clock": ("시간",),
        "computer": ("컴퓨터",),
        "type": ("이벤트 유형", "이벤트 형식"),
        "level": ("수준",),
        "message": ("설명",),
        "other": ("이벤트 범주", "작업 범주", "사용자"),
    },
    "zh": {
        "provider": ("事件来源", "来源"),
        "event_id": ("事件 ID",),
        "time": ("日期和时间", "日期"),
        "clock": ("时间",),
        "computer": ("计算机",),
        "channel": ("日志名称",),
        "type": ("事件类型",),
        "level": ("级别",),
        "message": ("描述", "说明"),
        "other": ("事件类别", "事件种类", "任务类别", "用户"),
    },
    "zh-Hant": {
        "provider": ("事件來源", "來源"),
        "event_id": ("事件識別碼",),
        "time": ("日期和時間", "日期"),
        "clock": ("時間",),
        "computer": ("電腦",),
        "channel": ("記錄檔名稱",),
        "type": ("事件類型",),
        "level": ("等級",),
        "message": ("描述",),
        "other": ("事件類別", "工作類別", "使用者"),
    },
    "tr": {
        "provider": ("Kaynak",),
        "event_id": ("Olay Kimliği",),
        "level": ("Düzey",),
    },
    "sv": {
        "provider": ("Källa",),
        "event_id": ("Händelse-ID",),
        "level": ("Nivå",),
    },
}  # fmt: skip


def words_of(*fields: str) -> tuple[str, ...]:
    """The words of these fields in all languages, each once."""
    found = (word for words in WORDS.values() for field in fields for word in words.get(field, ()))
    return tuple(dict.fromkeys(found))
