"""A file that a command writes: whole, or as it was before."""

import tempfile
from pathlib import Path

from esewatch.model import EsewatchError


def check_folder(output: Path) -> None:
    """Raises EsewatchError where the file cannot be written: before an hour of reading."""
    if output.is_dir():
        raise EsewatchError(
            f"{output}: is a folder: name a file in it, such as {output}/report.html"
        )
    if not output.parent.is_dir():
        raise EsewatchError(f"{output}: there is no folder {output.parent}: create it first")


def write_whole(output: Path, text: str) -> None:
    """Write the file at once: one that is there stays until the new one is complete.

    Raises OSError. A pipe or a device is written to as it is.
    """
    if output.exists() and not output.is_file():
        output.write_text(text, encoding="utf-8")
        return
    with tempfile.TemporaryDirectory(prefix=f".{output.stem}-", dir=output.parent) as folder:
        made = Path(folder) / output.name
        made.write_text(text, encoding="utf-8")
        made.replace(output.resolve())
