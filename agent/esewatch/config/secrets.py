"""What of an address may be shown."""

import re

HIDDEN = "***"

_LOGIN = re.compile(r"//\S*@")


def masked(url: str) -> str:
    """`url` without a login and without the values of its query.

    Those of lists, `collect[]=ese`, stay: exporters choose what they collect by them.
    """
    address, mark, query = _LOGIN.sub(f"//{HIDDEN}@", url).partition("?")
    return address + mark + "&".join(map(_masked_field, query.split("&"))) if mark else address


def _masked_field(field: str) -> str:
    name, equals, _ = field.partition("=")
    if name.endswith("[]"):
        return field
    return f"{name}={HIDDEN}" if equals else HIDDEN
