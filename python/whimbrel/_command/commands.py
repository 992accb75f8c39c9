"""The commands `reproduce`, `sweep` and `report`."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.table import Table

from whimbrel import figures
from whimbrel._base import documents, extras, options, output, quantities
from whimbrel._base.terminal import markup, print_line, print_table
from whimbrel._reproduce import paper, rebuild
from whimbrel._reproduce import reproduce as paper_runs
from whimbrel._reproduce import sweep as sweep_runs
from whimbrel._reproduce.evaluation import CLAIMS
from whimbrel._reproduce.paper import Paper
from whimbrel._reproduce.plan import Plan, folder_of_results, read_plans
from whimbrel._reproduce.reproduce import Options
from whimbrel._values.printed import counted
from whimbrel._values.sheet import read_sheet
from whimbrel._values.statistics import N_BASE, RELATIVE_ERROR, Precision
from whimbrel.errors import InputError, UsageError


def reproduce(arguments: Sequence[str]) -> int:
    """`whimbrel reproduce [PAPER [ITEM...]]`."""
    parser = options.parser(
        "reproduce",
        "Runs a paper's experiments and writes the results next to the paper's.",
        "whimbrel reproduce lda table2 table3 --quick",
    )
    parser.add_argument(
        "paper", nargs="?", metavar="PAPER", help="key of a paper; if omitted, a headline of each"
    )
    parser.add_argument("items", nargs="*", metavar="ITEM", help="its tables and figures; all by default")
    parser.add_argument("--quick", action="store_true", help="run smaller experiments of the same kind")
    parser.add_argument("--list", action="store_true", help="list papers and items without running them")
    options.add_papers(parser)
    parser.add_argument(
        "--max-runs",
        type=options.count(1),
        default=paper_runs.MOST_RUNS,
        metavar="N",
        help="largest number of repetitions of a cell while a claim is undecided (default: %(default)s)",
    )
    _add_run_options(parser)
    given = parser.parse_args(arguments)
    options.find_papers(given)
    extras.check("charts", "whimbrel reproduce")
    if given.list:
        papers = [paper.load(each) for each in ([given.paper] if given.paper else paper.known())]
        _print_papers(papers, as_json=given.json)
        return 0
    chosen = paper_runs.choose(given.paper, given.items, quick=given.quick)
    wanted = replace(_options(given), most_runs=given.max_runs)
    with output.claimed(given.out):
        rebuild.check(given.out)
        paper_runs.simulate(chosen, wanted)
        paper_runs.settle(chosen, wanted)
        index = rebuild.rebuild(given.out, _command("reproduce", arguments), formats=given.figures)
    _print_claims([each.key for each, _ in chosen], given.out, index, as_json=given.json)
    return 0


_PLACES = ("--out", "--scheduler", "--jobs")
"""Options that name where a command runs and writes, with a value."""


def _without_place(arguments: Sequence[str]) -> list[str]:
    """The arguments on which results depend: the same on any machine and in any folder."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument in _PLACES:
            next(rest, None)
        elif argument != "--json" and not argument.startswith(tuple(f"{name}=" for name in _PLACES)):
            kept.append(argument)
    return kept


def sweep(arguments: Sequence[str]) -> int:
    """`whimbrel sweep SCENARIO.toml`."""
    parser = options.parser(
        "sweep",
        "Simulates every combination of a scenario's [sweep], each as often as its 95 % interval demands.",
        "whimbrel sweep examples/scenarios/radio.toml --metric goodput_bps --precision 0.1 --out out",
    )
    parser.add_argument(
        "scenario", type=Path, metavar="SCENARIO.toml", help="scenario, usually with a [sweep]"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change the scenario, such as link.bottleneck.rate=2Mbit/s; may be repeated",
    )
    parser.add_argument(
        "--metric",
        action="append",
        metavar="COLUMN",
        help=f"column of the flows table; may be repeated (default: {', '.join(sweep_runs.DEFAULT_METRICS)})",
    )
    parser.add_argument(
        "--precision",
        type=quantities.share,
        default=RELATIVE_ERROR,
        metavar="SHARE",
        help="required half width of the interval, as a share of the mean such as 2%% or 0.02"
        " (default: %(default)s)",
    )
    parser.add_argument(
        "--max-runs",
        type=options.count(1),
        default=30,
        metavar="N",
        help="largest number of repetitions (default: %(default)s)",
    )
    parser.add_argument("--quick", action="store_true", help="run each combination once")
    options.add_papers(parser)
    parser.add_argument(
        "--parquet",
        action="store_true",
        help=f"also write the runs as {sweep_runs.RUNS_PARQUET} (needs polars)",
    )
    _add_run_options(parser)
    given = parser.parse_args(arguments)
    options.find_papers(given)
    extras.check("charts", "whimbrel sweep")
    if given.parquet:
        sweep_runs.check_parquet()
    for change in given.set:
        if change.strip().startswith("sweep."):
            raise UsageError(
                f"--set {change}: expected a key of the scenario; [sweep] is changed in its file"
            )
    precision = Precision(given.precision, n_base=min(N_BASE, given.max_runs), maximum=given.max_runs)
    with output.claimed(given.out):
        rebuild.check(given.out, sweep=given.scenario.stem)
        name = sweep_runs.simulate(
            given.scenario,
            _options(given),
            overrides=given.set,
            metrics=given.metric or sweep_runs.DEFAULT_METRICS,
            precision=precision,
            command=_command("sweep", _without_place(arguments)),
        )
        index = rebuild.rebuild(given.out, _command("sweep", arguments), formats=given.figures)
        (plan,) = (plan for plan in read_plans(given.out)[name] if plan.item == sweep_runs.TABLE)
        swept = sweep_runs.read(plan, given.out)
        if given.parquet:
            sweep_runs.write_parquet(swept, given.out / name)
    summary = {
        "table": str(given.out / name / f"{sweep_runs.TABLE}.csv"),
        "runs": str(given.out / name / sweep_runs.RUNS),
        **({"parquet": str(given.out / name / sweep_runs.RUNS_PARQUET)} if given.parquet else {}),
        **_figures(given.out / name, given.figures, as_json=given.json),
        "report": str(index),
    }
    if given.json:
        wide = sum(sweep_runs.wide(plan, line, metric) for line in swept.lines for metric in line.values)
        about = {"wide": wide, "results": sweep_runs.document(plan, swept), "note": swept.sheet.note}
        _say({**summary, **about}, as_json=True)
        return 0
    _print_sweep(plan, swept)
    _say(summary, as_json=False)
    return 0


def report(arguments: Sequence[str]) -> int:
    """`whimbrel report DIR`."""
    parser = options.parser(
        "report",
        "Rebuilds tables, claims, figures and the HTML report from the records below a directory.",
        "whimbrel sweep examples/scenarios/radio.toml --quick --out out\n"
        "  whimbrel report out --figures svg,pdf,png",
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="what --out named")
    options.add_papers(parser)
    _add_figures(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    options.find_papers(given)
    extras.check("charts", "whimbrel report")
    if not given.directory.is_dir():
        raise InputError(f"{given.directory} is not a directory")
    if whole := folder_of_results(given.directory):
        raise InputError(f"{given.directory} is a part of the results in {whole}: whimbrel report {whole}")
    with output.claimed(given.directory):
        index = rebuild.rebuild(given.directory, formats=given.figures)
    _say({"report": str(index)}, as_json=given.json)
    return 0


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out"),
        metavar="DIR",
        help="directory of the results (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=options.count(0),
        default=1,
        metavar="N",
        help="seed of the first repetition (default: 1)",
    )
    parser.add_argument(
        "--jobs",
        type=options.count(1),
        metavar="N",
        help="number of simultaneous runs (default: the number of processors, or of the workers' threads)",
    )
    parser.add_argument(
        "--scheduler",
        default="local",
        metavar="local|ADDRESS",
        help="where to run: this machine, or the workers of a Dask cluster, given by the address of its "
        "scheduler such as tcp://host:8786; the results are the same (default: %(default)s)",
    )
    _add_figures(parser)
    parser.add_argument("--json", action="store_true", help="print JSON and no progress")


def _add_figures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--figures",
        type=_formats,
        default=figures.DEFAULT_FORMATS,
        metavar="FORMATS",
        help=f"formats of the figures, separated by commas: {', '.join(figures.FORMATS)} (PNG of"
        f" {figures.PRINT_DPI} dpi); svg, which the report shows, is always written"
        f" (default: {','.join(figures.DEFAULT_FORMATS)})",
    )


def _formats(text: str) -> tuple[str, ...]:
    given = [part.strip().lower() for part in text.split(",")]
    if unknown := [part for part in given if part not in figures.FORMATS]:
        raise argparse.ArgumentTypeError(
            f"{unknown[0]!r} is no format of figures, expected some of {','.join(figures.FORMATS)}"
        )
    return tuple(kind for kind in figures.FORMATS if kind in given)


def _figures(directory: Path, formats: Sequence[str], *, as_json: bool) -> dict[str, str | list[str]]:
    """The files of the figures of a sweep: a list, or a pattern such as `out/sweep-{goodput,delay}.svg`."""
    names = read_sheet(directory, sweep_runs.TABLE).about["charts"]
    if not names:
        return {}
    if as_json:
        return {"figures": [str(directory / f"{name}.{kind}") for name in names for kind in formats]}
    charts = _choice([name.removeprefix(f"{sweep_runs.TABLE}-") for name in names])
    return {"figures": f"{directory}/{sweep_runs.TABLE}-{charts}.{_choice(formats)}"}


def _choice(parts: Sequence[str]) -> str:
    """A pattern of the shell for any of some parts of a name."""
    return parts[0] if len(parts) == 1 else f"{{{','.join(parts)}}}"


def _options(given: argparse.Namespace) -> Options:
    return Options(
        out=given.out,
        quick=given.quick,
        seed=given.seed,
        jobs=given.jobs,
        scheduler=given.scheduler,
        quiet=given.json,
    )


def _command(name: str, arguments: Sequence[str]) -> str:
    return shlex.join(["whimbrel", name, *arguments])


def _print_papers(papers: Sequence[Paper], *, as_json: bool) -> None:
    if as_json:
        listed = {
            each.key: {"title": each.title, "items": {item.key: item.title for item in each.items}}
            for each in papers
        }
        print(json.dumps(listed))
        return
    for each in papers:
        print_line(f"[bold]{each.key}[/]  {markup(each.title)} ({markup(each.credit)})")
        for item in each.items:
            mark = "*" if item.key in each.headline else " "
            print_line(f"  {mark} {item.key:<12} {markup(item.source)}: {markup(item.title)}")
    print_line("* made by `whimbrel reproduce` without arguments")


def _print_claims(keys: Sequence[str], out: Path, index: Path, *, as_json: bool) -> None:
    claims = {key: documents.read_json(out / key / CLAIMS) for key in keys}
    if as_json:
        _say({"report": str(index), "claims": claims}, as_json=True)
        return
    for key, checked in claims.items():
        quick = " (quick pass: fewer and shorter runs)" if any(claim["quick"] for claim in checked) else ""
        print_line(f"[bold]{key}[/]{quick}")
        for source, whose in (("paper", "claims of the paper"), ("ours", "claims of our own")):
            mine = [claim for claim in checked if claim["source"] == source]
            if mine:
                print_line(f"  {whose}, {len(mine)}: {counted(mine)}")
        for claim in checked:
            colour = {True: "green", False: "red", None: "yellow"}[claim["holds"]]
            ours = " [dim](ours)[/]" if claim["source"] == "ours" else ""
            print_line(f"  [{colour}]{claim['verdict']:13}[/]  {markup(claim['claim'])}{ours}")
            if not claim["holds"]:
                print_line(f"  {'':13}  [dim]{markup(claim['evidence'])}[/]")
                if claim["reason"]:
                    print_line(f"  {'':13}  [dim]{markup(claim['reason'])}[/]")
    _say({"report": str(index)}, as_json=False)


def _print_sweep(plan: Plan, swept: sweep_runs.Swept) -> None:
    """The means on the terminal: a line per combination and flow, a column per parameter and metric."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for key in swept.lines[0].settings:
        table.add_column(key)
    table.add_column("flow")
    for metric in swept.sheet.metrics:
        table.add_column(f"{metric.label} ({metric.unit})" if metric.unit else metric.label, justify="right")
    table.add_column("runs", justify="right")
    for line in swept.lines:
        cells = []
        for (name, value), metric in zip(line.values.items(), swept.sheet.metrics, strict=True):
            interval = value.interval
            summary = "-" if interval is None else f"{interval.mean:.{metric.digits}f}"
            if interval is not None and interval.n > 1:
                summary += f" {interval.spread(metric.digits)}"
            if interval is not None and interval.n < len(value.seeds):
                # The other runs leave it undefined, so the mean covers these alone.
                summary += f" (of {interval.n})"
            cells.append(summary + ("*" if sweep_runs.wide(plan, line, name) else ""))
        runs = max(len(value.seeds) for value in line.values.values())
        table.add_row(*map(markup, [*line.settings.values(), line.flow, *cells]), str(runs))
    print_table(table)
    if swept.sheet.note:
        star = "* " if sweep_runs.unreached(plan, swept.lines) else ""
        print_line(markup(f"{star}{swept.sheet.note}"))


def _say(summary: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(summary))
    else:
        for name, value in summary.items():
            print_line(f"{name}: {markup(str(value))}")
