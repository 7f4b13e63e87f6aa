"""Coverage-guided fuzzing of one target: `python -m tests.fuzz.run TARGET SECONDS [CORPUS]`.

Needs atheris (`make fuzz` installs it). Begins with the kept corpus and the
seeds; a finding is written into out/fuzz and ends the run.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["esewatch"]):
    from tests.fuzz.targets import TARGETS

from tests.fuzz.seeds import kept, seeds

LONGEST = 8192
FINDINGS = Path("out/fuzz")


def main(arguments: list[str]) -> None:
    """Fuzz; the process ends with status 0 when nothing was found."""
    name, seconds, *folder = arguments
    with tempfile.TemporaryDirectory() as made:
        corpus = Path(folder[0]) if folder else Path(made)
        corpus.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate([*seeds(name), *kept(name)]):
            (corpus / f"seed-{number}").write_bytes(seed)
        limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=20"]
        FINDINGS.mkdir(parents=True, exist_ok=True)
        limits.append(f"-artifact_prefix={FINDINGS}/")
        atheris.Setup([sys.argv[0], *limits, str(corpus)], TARGETS[name])
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
