"""Durations and sizes as people write and read them."""

import math
import re

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?", re.ASCII)
_SIZE = re.compile(r"(\d{1,15})([KMG]?)", re.ASCII | re.IGNORECASE)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30}


def parse_duration(text: str) -> float:
    """Seconds of `14d`, `4h`, `90s` or a sum such as `1h30m`, largest unit first."""
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        raise ValueError(text)
    return float(sum(int(n) * u for n, u in zip(match.groups(0), _UNITS.values(), strict=True)))


def show_duration(seconds: float) -> str:
    """The shortest sum that `parse_duration` reads back; whole seconds only."""
    rest, parts = int(seconds), []
    for unit, size in _UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def parse_size(text: str) -> int:
    """Bytes of `320K`, `64M`, `1G` (powers of 1,024) or of a plain number."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return int(match[1]) << _POWERS[match[2].upper()]


def show_size(size: int) -> str:
    """The shortest form that `parse_size` reads back."""
    unit, power = next(
        (unit, power) for unit, power in reversed(_POWERS.items()) if size % (1 << power) == 0
    )
    return f"{size >> power}{unit}"


def size(number: float | None) -> str:
    """`44.6 GiB`; a dash for None."""
    if number is None or not math.isfinite(number):
        return "–"
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if abs(number) < 1024:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:,.1f} TiB"
