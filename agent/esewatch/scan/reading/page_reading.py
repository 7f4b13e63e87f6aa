"""Pages of a database, for checks that go on where the disk does not give one."""

from esewatch.ese.pages.layout import offset_of
from esewatch.scan.open_errors import is_gone
from esewatch.scan.reading.reading import DatabaseFile


def read_pages(file: DatabaseFile, first: int, count: int, page_size: int) -> bytes:
    """`count` pages from page `first` on, fewer at the end of the file.

    A page that cannot be read is bytes that do not verify: the scan tells of it. Raises OSError
    where the device is gone.
    """
    try:
        return file.read(offset_of(first, page_size), count * page_size)
    except OSError as error:
        if is_gone(error):
            raise
        if count == 1:
            return b"\xff" * page_size
        numbers = range(first, first + count)
        return b"".join(read_pages(file, number, 1, page_size) for number in numbers)
