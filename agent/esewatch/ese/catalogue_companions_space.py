"""Sizes as other providers write them: a number of megabytes, perhaps with a fraction."""

import re

from esewatch.ese.strings import parse_int

MEBIBYTE = 2**20


def bytes_of(megabytes: str) -> int | None:
    """Bytes of a number of megabytes, perhaps with a fraction; three digits make a group."""
    text = megabytes.strip()
    whole = parse_int(text) if "." not in text else None
    if whole is not None:
        return whole * MEBIBYTE if 0 <= whole < 2**40 else None
    number = text.replace(",", "" if "." in text else ".")
    try:
        return round(float(number) * MEBIBYTE) if re.fullmatch(r"[\d.]+", number) else None
    except ValueError:
        return None
