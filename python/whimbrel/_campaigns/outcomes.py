"""The outcomes of a campaign by case, as a table, as a figure, and compared with one of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from whimbrel import figures
from whimbrel._show import display
from whimbrel._show.display import Plot
from whimbrel._show.sheet import Sheet
from whimbrel._values import columns, comparison
from whimbrel._values.sheet import Metric, Value
from whimbrel._values.statistics import FloatArray, Interval, defined, student_interval
from whimbrel._values.table import framed
from whimbrel.errors import UsageError


@dataclass(frozen=True)
class Outcome:
    """The results of the repetitions of a case.

    Attributes:
        seeds: in the order of the repetitions.
        keys: of the records, in the same order.
        values: metric to one value per repetition; NaN if the run left it undefined.
    """

    seeds: tuple[int, ...]
    keys: tuple[str, ...]
    values: Mapping[str, FloatArray]

    def interval(self, metric: str, confidence: float = 0.95) -> Interval | None:
        """Mean and Student's t interval over the repetitions that define the metric; None without any."""
        sample = defined(self.values[metric])
        return student_interval(sample, confidence) if sample.size else None

    def plot(self, metric: str | None = None) -> Plot:
        """The mean of a metric with its 95 % interval; of the first by default.

        Raises:
            UsageError: the metric was not measured.
            MissingExtra: the extra `charts` is not installed.
        """
        return Outcomes({"all runs": self}).plot(metric)

    def _repr_html_(self) -> str:
        return Outcomes({"all runs": self})._repr_html_()


class Outcomes(dict[str, Outcome]):
    """The outcomes of a campaign by the names of the cases, in their order."""

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics that all cases measure."""
        names = [list(outcome.values) for outcome in self.values()]
        return [name for name in (names[0] if names else []) if all(name in each for each in names)]

    def sheet(self) -> Sheet:
        """A sheet with a column per case, and every metric that all cases measure.

        A metric whose name ends with a unit, as the columns of a run's tables do, is in that unit.
        """
        metrics = [self._metric(name) for name in self.metrics]
        sheet = Sheet("campaign", "", ["all"], list(self), metrics, column_label="Case")
        for case, outcome in self.items():
            for name, metric in zip(self.metrics, metrics, strict=True):
                sheet.values["all", case, metric.key] = self._value(outcome, name, case)
        return sheet

    def plot(self, metric: str | None = None) -> Plot:
        """A dot per case with its 95 % interval.

        Args:
            metric: its name; the first by default.

        Raises:
            UsageError: no case measures it, or not all of them do.
            MissingExtra: the extra `charts` is not installed.
        """
        name = self._known(metric)
        return display.sheet_plot(self.sheet(), None if name is None else self._metric(name).key)

    def compare(self, metric: str, to: str) -> Comparison:
        """The ratio of each case's mean to the mean of the case `to`.

        Args:
            metric: its name.
            to: name of a case.

        Raises:
            UsageError: unknown metric or case.
            MissingExtra: the extra `charts` is not installed.
        """
        self._known(metric)
        if to not in self:
            raise UsageError(f"there is no case {to!r}: expected one of {', '.join(self)}")
        base = self._value(self[to], metric, to)
        ratios = {
            case: comparison.ratio(self._value(outcome, metric, case), base)
            for case, outcome in self.items()
            if case != to
        }
        return Comparison(metric, to, ratios)

    def _known(self, metric: str | None) -> str | None:
        if metric is not None and metric not in self.metrics:
            raise UsageError(f"there is no metric {metric!r}: expected one of {', '.join(self.metrics)}")
        return metric

    @staticmethod
    def _metric(name: str) -> Metric:
        metric = columns.metric(name)
        return metric if metric.unit else Metric(name, "", name.replace("_", " ").capitalize(), metric.digits)

    @staticmethod
    def _value(outcome: Outcome, name: str, case: str) -> Value:
        unit = columns.unit(name)
        return Value(outcome.values[name] * unit.factor, seeds=outcome.seeds, name=case, unit=unit.unit)

    def _repr_html_(self) -> str:
        return display.sheet_html(self.sheet())


@dataclass(frozen=True)
class Comparison:
    """Ratios of means to the mean of one case. Repetitions with the same seed count as pairs.

    Attributes:
        metric: name of the metric.
        to: the case that the others are compared with.
        ratios: name of a case to the ratio of its mean, with Fieller's 95 % interval; None without a mean.
    """

    metric: str
    to: str
    ratios: Mapping[str, Interval | None]

    def verdict(self, case: str) -> str:
        """`higher`, `lower` or `undecided`, by the interval of the ratio."""
        interval = self.ratios[case]
        if interval is None or math.isnan(interval.low) or interval.contains(1.0):
            return "undecided"
        return "higher" if interval.low > 1 else "lower"

    def plot(self) -> Plot:
        """A dot per case with its interval, and a line at 1.

        Raises:
            UsageError: no ratio is defined.
            MissingExtra: the extra `charts` is not installed.
        """
        defined = {case: interval for case, interval in self.ratios.items() if interval is not None}
        if not defined:
            raise UsageError(f"no ratio of {self.metric} to that of {self.to} is defined")
        chart = figures.intervals(
            f"{self._label} as a ratio to {self.to}",
            defined,
            f"Ratio to {self.to}",
            subtitle=["mean with its 95 % interval (Fieller)"],
            reference=1.0,
        )
        return display.Plot(chart, f"{self.metric}-ratio")

    @property
    def _label(self) -> str:
        return Outcomes._metric(self.metric).label

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row">{escape(case)}</th><td>{_shown(interval)}</td>'
            f"<td>{self.verdict(case)}</td></tr>"
            for case, interval in self.ratios.items()
        )
        return framed(
            f"<p><b>{escape(self._label)} as a ratio to {escape(self.to)}</b></p><table><thead><tr>"
            '<th scope="col">case</th><th scope="col">ratio (95 % interval)</th><th scope="col">is</th>'
            f"</tr></thead><tbody>{rows}</tbody></table>"
        )


def _shown(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    if math.isnan(interval.low):
        return f"{interval.mean:.3g} (one run)"
    if interval.is_identical:
        return f"{interval.mean:.3g} {interval.bounds()}"
    return f"{interval.mean:.3g} ({interval.low:.3g} to {interval.high:.3g})"
