"""Redaction of addresses: the parts that may be shown."""

HIDDEN = "***"


def masked(url: str) -> str:
    """`url` without a login, without the values of its query and without a fragment.

    Those of lists, `collect[]=ese`, stay: exporters choose what they collect by them.
    """
    # What is no address may be masked too, of any length: in one pass, over blanks.
    scheme, slashes, rest = url.partition("//")
    _, at, place = rest.rpartition("@")
    shown = f"{scheme}//{HIDDEN}@{place}" if at else scheme + slashes + rest
    shown, sharp, _ = shown.partition("#")
    address, mark, query = shown.partition("?")
    fields = "&".join(map(_masked_field, query.split("&"))) if mark else ""
    return address + mark + fields + (sharp and f"#{HIDDEN}")


def _masked_field(field: str) -> str:
    name, equals, _ = field.partition("=")
    if name.endswith("[]"):
        return field
    return f"{name}={HIDDEN}" if equals else HIDDEN
