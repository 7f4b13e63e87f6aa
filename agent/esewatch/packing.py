"""Values as MessagePack, whatever names are in them: see `esefiles.base.names`."""

from typing import TypeVar

import msgspec

from esefiles.base.names import each_text, from_text, to_text

T = TypeVar("T")

_EXTENSION = 1
_AS_THEY_ARE = (bytes, bytearray)


def pack(value: object) -> bytes:
    """`value` as MessagePack, whatever names are in it."""
    try:
        return msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        kept = msgspec.to_builtins(value, builtin_types=_AS_THEY_ARE)
        escaped = msgspec.msgpack.encode(each_text(kept, to_text))
        return msgspec.msgpack.encode(msgspec.msgpack.Ext(_EXTENSION, escaped))


def unpack(data: bytes, as_type: type[T]) -> T:
    """The value of which `pack` made `data`. Raises msgspec.MsgspecError, UnicodeError."""
    if not _is_extension(data):
        return msgspec.msgpack.decode(data, type=as_type)
    inner = msgspec.msgpack.decode(data, type=msgspec.msgpack.Ext).data
    return msgspec.convert(
        each_text(msgspec.msgpack.decode(inner), from_text), as_type, builtin_types=_AS_THEY_ARE
    )


def _is_extension(data: bytes) -> bool:
    return data[:1] in {b"\xc7", b"\xc8", b"\xc9", b"\xd4", b"\xd5", b"\xd6", b"\xd7", b"\xd8"}
