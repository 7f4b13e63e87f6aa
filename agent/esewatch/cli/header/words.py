"""Values of headers as a person reads them."""

from datetime import datetime
from typing import Final

from esewatch.ese.pages.header_fields import HeaderTime, Signature

NEVER: Final = "never"


def time_text(time: datetime | None) -> str:
    """A time with its zone, as far as it is known."""
    if time is None:
        return NEVER
    return f"{time:%Y-%m-%d %H:%M:%S} {'UTC' if time.tzinfo else 'local'}"


def moment(of: HeaderTime) -> str:
    """Time, and position in the log."""
    return time_text(of.time) + (f" at log {of.position}" if of.position else "")


def signature_text(signature: Signature) -> str:
    """A signature's number, time and computer."""
    if not signature.created:
        return "none"
    computer = f" on {signature.computer}" if signature.computer else ""
    return f"{signature.random}, created {time_text(signature.created)}{computer}"


def generation_text(generation: int) -> str:
    """A generation in both notations: files are named by the hexadecimal one."""
    return f"{generation} (0x{generation:x})"
