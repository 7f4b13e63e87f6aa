"""A small database with real trees, made for tests in the published engine's form.

Root, catalogue with its shadow, a table of three leaves with an index and long values, and a
table of one page. Layout and offsets stand here once more, apart from the code under test.
"""

import struct
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.edb import header_page, seal

ROOT, LEAF, PARENT, EMPTY = 0x1, 0x2, 0x4, 0x8
SPACE, INDEX, LONG_VALUE, NON_UNIQUE, NEW_RECORD = 0x20, 0x40, 0x80, 0x400, 0x800
DELETED = 0x2

Node = tuple[bytes, bytes, int]

TABLE, INDEX_TREE, VALUES, SMALL = 31, 40, 44, 48
"""Root pages: a table, its index and long values, and a table of one page."""
LEAVES = (34, 35, 36)
"""Leaves of TABLE."""
INDEX_LEAVES = (41, 42)
PAGES = 64
LOST = 60


@dataclass
class Page:
    """Content of a page before it is laid out; tests change it and lay it out again."""

    object_id: int
    flags: int
    nodes: list[Node]
    external: bytes = b""
    previous: int = 0
    following: int = 0
    dbtime: int = 5

    def bytes(self, number: int, page_size: int) -> bytes:
        """The page, sealed as `number`."""
        large = page_size > 8192
        base = 80 if large else 40
        lines = [(self.external, 0)]
        for key, data, flags in self.nodes:
            line = struct.pack("<H", len(key)) + key + data
            if self.external and not self.flags & ROOT and key.startswith(self.external):
                rest = key[len(self.external) :]
                line = struct.pack("<HH", len(self.external), len(rest)) + rest + data
                flags |= 0x4
            if large:
                line = line[:1] + bytes([line[1] | flags << 5]) + line[2:]
            lines.append((line, flags))
        content, at = bytearray(page_size), 0
        for tag, (line, flags) in enumerate(lines):
            content[base + at : base + at + len(line)] = line
            place = at if large else at | flags << 13
            struct.pack_into("<HH", content, page_size - 4 * (tag + 1), len(line), place)
            at += len(line)
        free = page_size - base - 4 * len(lines) - at
        struct.pack_into(
            "<QIIIHHHHI", content, 8, self.dbtime, self.previous, self.following,
            self.object_id, free, 0, at, len(lines), self.flags,
        )  # fmt: skip
        return seal(bytes(content), number)


def record(fixed: bytes, count: int, name: bytes = b"", tagged: bytes = b"") -> bytes:
    """A record of `count` fixed columns, a name where there is one, and tagged columns."""
    nulls = bytes((count + 7) // 8)
    behind = 4 + len(fixed) + len(nulls)
    ends = struct.pack("<H", len(name)) if name else b""
    last_variable = 128 if name else 127
    return struct.pack("<BBH", count, last_variable, behind) + fixed + nulls + ends + name + tagged


def reference(value: bytes, *, small: bool) -> bytes:
    """One tagged column that refers to a long value of this id."""
    flag = 0x4000 if small else 0
    return struct.pack("<HH", 256, 4 | flag) + b"\x05" + value[::-1]


def single(pages: int, parent: int, free: int = 0) -> bytes:
    """A space header of one extent; `free` has a bit for each page behind the root."""
    return struct.pack("<iIII", pages, parent, 0, free)


def multiple(parent: int, owned_root: int) -> bytes:
    return struct.pack("<iIII", 4, parent, 1, owned_root)


def extent(last: int, count: int) -> Node:
    return last.to_bytes(4, "big"), struct.pack("<I", count), 0


def child(key: bytes, number: int) -> Node:
    return key, struct.pack("<I", number), 0


def catalogue_node(table: int, kind: int, object_id: int, root: int, name: str) -> Node:
    fixed = struct.pack("<IHII3I", table, kind, object_id, root, 0, 0, 0)
    return struct.pack(">IHI", table, kind, object_id), record(fixed, 7, name.encode()), 0


def key_of(number: int) -> bytes:
    return b"\x7f" + struct.pack(">I", number)


def rows() -> list[Node]:
    """The catalogue: tables, their indexes, long values, and a column."""
    return [
        catalogue_node(2, 1, 2, 4, "MSysObjects"),
        catalogue_node(2, 3, 2, 4, "Id"),
        catalogue_node(3, 1, 3, 24, "MSysObjectsShadow"),
        catalogue_node(8, 1, 8, TABLE, "mail"),
        catalogue_node(8, 2, 1, 4, "a column"),
        catalogue_node(8, 3, 8, TABLE, "primary"),
        catalogue_node(8, 3, 9, INDEX_TREE, "by date"),
        catalogue_node(8, 4, 10, VALUES, "LV"),
        catalogue_node(11, 1, 11, SMALL, "small"),
    ]


@dataclass
class EseDatabase:
    """The pages; `write` lays them out."""

    page_size: int = 4096
    pages: dict[int, Page] = field(default_factory=dict)
    count: int = PAGES
    state: int = 3

    def write(self, path: Path) -> Path:
        size = self.page_size
        head = header_page(size, state=self.state, dbtime=99)
        content = (
            self.pages[number].bytes(number, size) if number in self.pages else bytes(size)
            for number in range(1, self.count + 1)
        )
        path.write_bytes(head + head + b"".join(content))
        return path


def database(page_size: int = 4096) -> EseDatabase:
    """An undamaged one; of its pages one is lost (LOST), which is no damage."""
    leaf, small = LEAF | NEW_RECORD, page_size <= 8192
    pages = {
        1: Page(1, ROOT | leaf, [], multiple(0, 2)),
        2: Page(1, ROOT | SPACE | leaf, [extent(PAGES, PAGES)]),
        3: Page(
            1, ROOT | SPACE | leaf, [extent(23, 17), extent(30, 4), extent(59, 11), extent(64, 4)]
        ),
        4: Page(2, ROOT | leaf, rows(), single(3, 1, free=0b11)),
        24: Page(3, ROOT | leaf, rows(), single(3, 1, free=0b11)),
        SMALL: Page(11, ROOT | leaf, [(b"\x01", record(b"", 0), 0)], single(1, 1)),
    }
    # Extents of the table: 31-39 and 40-47, of which 40-47 are of index and long values.
    keys = [key_of(number) for number in range(30)]
    pages[TABLE] = Page(
        8, ROOT | PARENT | NEW_RECORD,
        [child(keys[10], 34), child(keys[20][:5], 35), child(b"", 36)], multiple(1, 32),
    )  # fmt: skip
    pages[32] = Page(8, ROOT | SPACE | leaf, [extent(39, 9), extent(47, 8)])
    pages[33] = Page(8, ROOT | SPACE | leaf, [extent(39, 2), extent(47, 1)])
    held = struct.pack("<IIII", 37, 1, 0, 0)
    pages[32].external = held
    value = struct.pack(">I", 1)
    for at, number in enumerate(LEAVES):
        nodes = [(key, record(b"", 0), 0) for key in keys[10 * at : 10 * at + 10]]
        nodes[3] = (nodes[3][0], nodes[3][1], DELETED)
        nodes[5] = (nodes[5][0], record(b"", 0, tagged=reference(value, small=small)), 0)
        pages[number] = Page(8, leaf, nodes, keys[10 * at][:3])
    pages[34].following, pages[35].previous = 35, 34
    pages[35].following, pages[36].previous = 36, 35
    of_index = INDEX | NON_UNIQUE | NEW_RECORD
    pages[40] = Page(
        9, ROOT | PARENT | of_index,
        [child(b"B" + keys[2], 41), child(b"", 42)], single(4, TABLE, 0b100),
    )  # fmt: skip
    entries = [(b"A", keys[0], 0), (b"B", keys[1], 0), (b"B", keys[2], 0), (b"C", keys[0], 0)]
    pages[41] = Page(9, LEAF | of_index, entries[:2], following=42)
    pages[42] = Page(9, LEAF | of_index, entries[2:], previous=41)
    values = [(value, struct.pack("<II", 3, 20), 0), (value + bytes(4), b"x" * 20, 0)]
    pages[VALUES] = Page(10, ROOT | LONG_VALUE | leaf, values, single(3, TABLE, 0b11))
    return EseDatabase(page_size, pages)
