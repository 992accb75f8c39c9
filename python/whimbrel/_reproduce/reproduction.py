"""Reproduced papers as objects: the sheets, figures and claims of `whimbrel reproduce`, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from whimbrel._base import output, paper_folders
from whimbrel._reproduce import evaluation, paper, rebuild
from whimbrel._reproduce import reproduce as paper_runs
from whimbrel._reproduce.claims import Claim, Verdict
from whimbrel._reproduce.paper import Paper
from whimbrel._reproduce.plan import read_plans
from whimbrel._reproduce.reproduce import MOST_RUNS, Options
from whimbrel._show import display
from whimbrel._show.display import Plot
from whimbrel._show.sheet import Sheet
from whimbrel._values.table import framed
from whimbrel.errors import UsageError
from whimbrel.figures import marked_quick, usual_charts


@dataclass(frozen=True)
class Reproduction:
    """Reproduced parts of a paper.

    Attributes:
        paper: the paper.
        sheets: its tables and figures by key, with the printed numbers and ours.
        claims: those whose items all exist, with their verdicts.
        quick: true for an item, by its key, that was made in its quick form.
    """

    paper: Paper
    sheets: Mapping[str, Sheet]
    claims: Sequence[tuple[Claim, Verdict]]
    quick: Mapping[str, bool]

    def __getitem__(self, item: str) -> Sheet:
        if item not in self.sheets:
            raise UsageError(f"{item!r} was not reproduced: expected one of {', '.join(self.sheets)}")
        return self.sheets[item]

    def plot(self, item: str | None = None, figure: str | None = None) -> Plot:
        """A figure of an item, as in the report.

        Args:
            item: its key; the first by default.
            figure: name of one of its figures, usually a metric's name; the first by default.

        Raises:
            UsageError: unknown item or figure; the message lists those there are.
            MissingExtra: the extra `charts` is not installed.
        """
        item = next(iter(self.sheets)) if item is None else item
        charts = evaluation.charts(self.paper.item(item), self[item]) or usual_charts(self[item])
        if self.quick[item]:
            charts = {name: marked_quick(chart) for name, chart in charts.items()}
        return display.chosen_chart(charts, figure, item)

    def verdict(self, claim: str) -> Verdict:
        """The verdict on a claim.

        Args:
            claim: its stable name.

        Raises:
            UsageError: it was not checked; the message lists those that were.
        """
        verdicts = {each.id: verdict for each, verdict in self.claims}
        if claim not in verdicts:
            raise UsageError(f"claim {claim!r} was not checked: expected one of {', '.join(verdicts)}")
        return verdicts[claim]

    def _repr_html_(self) -> str:
        head = f"<p><b>{escape(self.paper.title)}</b><br>{escape(self.paper.credit)}</p>"
        rows = "".join(
            f'<tr><th scope="row">{escape(claim.claim)}</th><td>{escape(verdict.word)}</td>'
            f"<td>{escape(verdict.evidence)}</td></tr>"
            for claim, verdict in self.claims
        )
        claims = (
            '<div class="scroll"><table><thead><tr><th scope="col">claim</th><th scope="col">verdict</th>'
            f'<th scope="col">evidence</th></tr></thead><tbody>{rows}</tbody></table></div>'
        )
        tables = "".join(display.sheet_html(sheet) for sheet in self.sheets.values())
        return framed(head + tables + (claims if rows else ""))


def reproduce_paper(
    key: str,
    items: Sequence[str] = (),
    *,
    out: str | Path = "out",
    quick: bool = False,
    seed: int = 1,
    jobs: int | None = None,
    max_runs: int = MOST_RUNS,
    papers: Sequence[str | Path] = (),
) -> Reproduction:
    """Reproduces a paper, as `whimbrel reproduce` does: finished runs are kept in `out` and not repeated.

    Args:
        key: of the paper.
        items: keys of its tables and figures; all by default.
        out: directory of the results.
        quick: run smaller experiments of the same kind.
        seed: of the first repetition.
        jobs: number of simultaneous runs; the number of processors by default.
        max_runs: largest number of repetitions of a cell while a claim is undecided.
        papers: folders of further papers.

    Returns:
        The items, those asked for and others that `out` holds.

    Raises:
        UsageError: unknown paper or item; the message lists the known ones.
        CampaignError: a run failed; repeating the call resumes.
    """
    for folder in papers:
        paper_folders.add(Path(folder))
    chosen = paper_runs.choose(key, items, quick=quick)
    options = Options(Path(out), quick=quick, seed=seed, jobs=jobs, quiet=True, most_runs=max_runs)
    with output.claimed(options.out):
        rebuild.check(options.out)
        paper_runs.simulate(chosen, options)
        paper_runs.settle(chosen, options)
    return read_reproduction(key, options.out)


def read_reproduction(key: str, out: str | Path = "out") -> Reproduction:
    """Reads what has been reproduced of a paper.

    Args:
        key: of the paper.
        out: the directory of the results.

    Raises:
        UsageError: unknown paper, or nothing of it has been reproduced.
        PaperError: a record is missing or damaged.
    """
    each = paper.load(key)
    plans = read_plans(Path(out)).get(key, [])
    if not plans:
        raise UsageError(f"nothing of {key} has been reproduced in {out}")
    sheets = evaluation.sheets(each, plans, paper.expected(each), Path(out))
    quick = {plan.item: plan.quick for plan in plans}
    return Reproduction(each, sheets, evaluation.checked(each, sheets), quick)
