"""The Dockerfile as its instructions, for the tests."""

import json
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deploy" / "container" / "Dockerfile"


class Instruction(NamedTuple):
    """`stage` counts the FROM lines above it, its own included; 0 is before the first."""

    stage: int
    name: str
    rest: str

    @property
    def words(self) -> list[str]:
        """What stands behind the name, as exec form or by blanks."""
        if self.rest.startswith("["):
            return list(json.loads(self.rest))
        return self.rest.split()


def instructions() -> list[Instruction]:
    """All of them, in order."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found, stage = [], 0
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if line.strip():
            name, rest = line.split(maxsplit=1)
            stage += name == "FROM"
            found.append(Instruction(stage, name, rest))
    return found


def of(name: str, stage: int | None = None) -> list[Instruction]:
    """Those of one name, of one stage or of all."""
    return [each for each in instructions() if each.name == name and stage in {None, each.stage}]


def health_command() -> list[str]:
    """What HEALTHCHECK runs."""
    (check,) = of("HEALTHCHECK")
    return list(json.loads(check.rest.partition("CMD ")[2]))
