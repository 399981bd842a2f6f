"""Metrics in the Prometheus text format, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct

from codecompass.transport.call_records import BOUNDS, Histogram

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Kind = Literal["counter", "gauge", "histogram"]
Labels = Mapping[str, str]
Sample = tuple[Labels, float]

_NO_LABELS: Final[Labels] = {}


class Family(Struct, frozen=True):
    """A family of metrics, whose samples differ by their labels. `text` is its HELP line."""

    name: str
    kind: Kind
    text: str
    samples: tuple[Sample, ...]


def gauge(name: str, text: str, value: float) -> Family:
    """Returns a gauge of one value without labels."""
    return Family(name, "gauge", text, ((_NO_LABELS, value),))


class Exposition:
    """Collects families of metrics for one page. Times are in seconds."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def single(self, name: str, kind: Kind, text: str, value: float, labels: Labels = _NO_LABELS) -> None:
        """Adds a family of one sample."""
        self.family(name, kind, text, [(labels, value)])

    def family(self, name: str, kind: Kind, text: str, samples: Iterable[Sample]) -> None:
        """Adds a family: its samples differ by their labels."""
        self._head(name, kind, text)
        self._lines.extend(f"{name}{_labels(labels)} {_number(value)}" for labels, value in samples)

    def histograms(self, name: str, text: str, measured: Iterable[tuple[Labels, Histogram]]) -> None:
        """Adds a family of histograms with the bounds of `call_records`."""
        self._head(name, "histogram", text)
        for labels, histogram in measured:
            n_so_far = 0
            for bound, count in zip((*map(_number, BOUNDS), "+Inf"), histogram.counts, strict=True):
                n_so_far += count
                self._lines.append(f"{name}_bucket{_labels({**labels, 'le': bound})} {n_so_far}")
            self._lines.append(f"{name}_sum{_labels(labels)} {_number(histogram.sum_seconds)}")
            self._lines.append(f"{name}_count{_labels(labels)} {n_so_far}")

    def page(self) -> bytes:
        """Returns everything added so far, as the body of a response."""
        return ("\n".join(self._lines) + "\n").encode()

    def _head(self, name: str, kind: Kind, text: str) -> None:
        self._lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.6g}"
