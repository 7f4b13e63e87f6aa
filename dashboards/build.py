"""Builds the Grafana dashboards of this folder.

python -m dashboards.build            write the JSON files
python -m dashboards.build --check    exit status 1 when a file is not what would be written
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.agent import AGENT_BOARD
from dashboards.board import Board, build
from dashboards.checkdb import SQLSERVER
from dashboards.copies import COPIES
from dashboards.database import DATABASE_BOARD
from dashboards.fleet import FLEET
from dashboards.storage import STORAGE
from dashboards.work import ENGINE

FOLDER = Path(__file__).parent
BOARDS: tuple[Board, ...] = (
    FLEET,
    DATABASE_BOARD,
    ENGINE,
    STORAGE,
    COPIES,
    SQLSERVER,
    AGENT_BOARD,
)


def render(board: Board) -> str:
    """The JSON text of a dashboard."""
    made = json.loads(json.dumps(build(board), cls=JSONEncoder))
    for marked, each in zip(made["annotations"].get("list", []), board.annotations, strict=True):
        # What the data source of Prometheus has beside the types of the builder.
        marked |= {"titleFormat": each.title, "textFormat": each.text}
    return json.dumps(made, indent=2, sort_keys=True) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write or check the files; returns the exit status."""
    status = 0
    for board in BOARDS:
        file = FOLDER / f"{board.uid}.json"
        if "--check" not in arguments:
            file.write_text(render(board))
        elif not file.is_file() or file.read_text() != render(board):
            sys.stderr.write(f"{file.name} is out of date: run python -m dashboards.build\n")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
