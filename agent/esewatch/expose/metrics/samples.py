"""Collects samples into families, and renders their lines; names, types and help texts come from
the catalogue."""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from prometheus_client.core import Metric
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from esewatch.expose.metrics.metric_catalogue import CATALOGUE

Labels = dict[str, str]
Lines = Mapping[str, bytes]
"""By metric, the lines of its samples, which text and OpenMetrics have alike."""


class Samples:
    """Samples by metric, in the order of `add`; `families` makes fresh families of them."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Sample]] = {}

    def add(self, name: str, labels: Labels, value: float | None) -> None:
        """Take one sample of the metric `name`; None and numbers that are not finite are absent."""
        number = _number(value)
        if number is not None:
            self._by_name.setdefault(name, []).append(Sample(name, labels, number))

    def extend(self, name: str, samples: Iterable[Sample]) -> None:
        """Take ready-made samples of the metric `name`, such as the buckets of a histogram."""
        self._by_name.setdefault(name, []).extend(samples)

    def drop(self, labels: Labels) -> None:
        """Leave out what has all of these labels."""
        for name, samples in self._by_name.items():
            kept = [each for each in samples if not labels.items() <= each.labels.items()]
            self._by_name[name] = kept

    def __iter__(self) -> Iterator[Sample]:
        return chain.from_iterable(self._by_name.values())

    def families(self) -> list[Metric]:
        result = []
        for name, samples in sorted(self._by_name.items()):
            if samples:
                row = CATALOGUE[name]
                family = Metric(row.family, row.help, row.type, row.unit)
                family.samples = samples
                result.append(family)
        return result

    def lines(self) -> Lines:
        return {name: rendered(each) for name, each in self._by_name.items()}


def rendered(samples: Iterable[Sample]) -> bytes:
    """A line each, its labels sorted by their names."""
    return "".join(map(_line, samples)).encode()


def _line(sample: Sample) -> str:
    labels = ",".join(
        [f'{name}="{_escaped(value)}"' for name, value in sorted(sample.labels.items())]
    )
    number = floatToGoString(sample.value)  # type: ignore[no-untyped-call]
    return f"{sample.name}{{{labels}}} {number}\n" if labels else f"{sample.name} {number}\n"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float | None) -> float | None:
    try:
        number = math.nan if value is None else float(value)
    except OverflowError:  # an integer beyond 1.8e308, out of a damaged record
        return None
    return number if math.isfinite(number) else None
