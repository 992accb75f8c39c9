"""The results as tables: for the terminal, and as the page docs/live.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from live.paths import PATHS, Path
from live.rivals import RIVALS, Rival
from live.runs import LATE_S
from whimbrel import statistics

Figures = dict[str, float]
Cells = Mapping[tuple[str, str, int], Sequence[Figures]]
"""The figures of each seed by path, rival and budget in milliseconds."""

COST_PATH = "clean"
ACROSS = 4
"""Programs in a line of the terminal's table."""
LATE = "\\*"


def mean(cells: Cells, place: tuple[str, str, int], figure: str) -> statistics.Interval | None:
    """The mean of a figure over the seeds with its interval; None if it was not measured."""
    values = [each[figure] for each in cells.get(place, ()) if not math.isnan(each[figure])]
    return statistics.student_interval(values) if values else None


def shown(cells: Cells) -> tuple[list[Path], list[Rival], list[int]]:
    """The paths, rivals and budgets that have results, in the order of their tables."""
    paths, rivals, budgets = (set(each) for each in zip(*cells, strict=True))
    return (
        [path for path in PATHS if path.key in paths],
        [rival for rival in RIVALS if rival.key in rivals],
        sorted(budgets),
    )


def terminal(cells: Cells) -> str:
    """Frames complete and decodable in percent, in at most 80 columns."""
    paths, rivals, budgets = shown(cells)
    lines = []
    for figure in ("complete", "decodable"):
        for budget in budgets:
            lines.append(f"\nframes {figure} within {budget} ms, percent")
            for start in range(0, len(rivals), ACROSS):
                part = rivals[start : start + ACROSS]
                lines.append(f"{'':20}" + "".join(f"{rival.key:>15}" for rival in part))
                for path in paths:
                    found = [mean(cells, (path.key, rival.key, budget), figure) for rival in part]
                    words = ("" if each is None else _short(each) for each in found)
                    lines.append(f"{path.title:20}" + "".join(f"{word:>15}" for word in words))
    return "\n".join(lines)


def behind(cells: Cells) -> list[str]:
    """Rows in which the product decodes fewer frames than the best rival, beyond the intervals of both."""
    paths, rivals, budgets = shown(cells)
    lines = []
    for path in paths:
        for budget in budgets:
            best: dict[bool, tuple[float, float, str]] = {}
            for rival in rivals:
                each = mean(cells, (path.key, rival.key, budget), "decodable")
                if each is not None:
                    half = each.half_width if each.n > 1 else 0.0
                    found = (each.mean, half, rival.title)
                    best[rival.is_ours] = max(best.get(rival.is_ours, found), found)
            if len(best) == 2 and best[True][0] + best[True][1] < best[False][0] - best[False][1]:
                (ours, _, name), (theirs, _, other) = best[True], best[False]
                lines.append(f"{path.title}, {budget} ms: {name} {ours:.0f}, {other} {theirs:.0f}")
    return lines


def _short(value: statistics.Interval) -> str:
    """A mean with half of its interval."""
    text = f"{value.mean:.0f}"
    return text if value.n < 2 or value.half_width < 0.5 else f"{text} ± {value.half_width:.0f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(words)} |".replace("|  |", "| |") for words in lines]


def by_path(cells: Cells, budget: int, figure: str) -> list[str]:
    """A Markdown table of paths and rivals; the best of each row in bold."""
    paths, rivals, _ = shown(cells)
    rows = []
    for path in paths:
        found = [mean(cells, (path.key, rival.key, budget), figure) for rival in rivals]
        best = max((round(each.mean) for each in found if each is not None), default=None)
        if best is None:
            continue
        words = []
        for rival, each in zip(rivals, found, strict=True):
            text = "" if each is None else _short(each)
            runs = cells.get((path.key, rival.key, budget), ())
            text = f"**{text}**" if each is not None and round(each.mean) == best else text
            words.append(text + (LATE if any(run["lateness"] > 1e3 * LATE_S for run in runs) else ""))
        seeds = sorted({each.n for each in found if each is not None})
        rows.append([path.title, *words, "-".join(map(str, (seeds[0], seeds[-1])[: len(seeds)]))])
    return _table([f"{budget} ms", *(rival.title for rival in rivals), "runs"], rows)


def costs(cells: Cells) -> list[str]:
    """A Markdown table of the delays, bytes and processor time without losses."""
    _, rivals, budgets = shown(cells)
    rows = []
    for rival in rivals:
        found = {
            name: mean(cells, (COST_PATH, rival.key, budgets[0]), name)
            for name in ("delay_median", "delay_p99", "forward", "backward", "cpu")
        }
        if found["forward"] is not None:
            digits = {"cpu": 1}
            rows.append(
                [rival.title]
                + [
                    "" if each is None else f"{each.mean:.{digits.get(name, 0)}f}"
                    for name, each in found.items()
                ]
            )
    head = [f"no loss, {budgets[0]} ms", "delay, ms", "99 % below, ms", "bytes sent, % more", "bytes back, %"]
    return _table([*head, "processor, s"], rows)


def downloads(cells: Cells) -> list[str]:
    """A Markdown table of the rates of a download that competes with the stream; empty without one."""
    paths, rivals, budgets = shown(cells)
    rows = []
    for path in (path for path in paths if path.has_download):
        for rival in rivals:
            found = [mean(cells, (path.key, rival.key, budget), "beside") for budget in budgets]
            if any(found):
                title = f"{rival.title}, encoder follows" if path.follows else rival.title
                rows.append([title, *("" if each is None else f"{each.mean:.2f}" for each in found)])
    return _table(["", *(f"{budget} ms" for budget in budgets)], rows) if rows else []


def pictures(cells: Cells) -> list[str]:
    """A Markdown table of picture quality, where it was measured."""
    paths, rivals, budgets = shown(cells)
    rows = []
    for path in paths:
        for budget in budgets:
            for rival in rivals:
                runs = [each for each in cells.get((path.key, rival.key, budget), ()) if "psnr" in each]
                if runs:
                    scored = {(path.key, rival.key, budget): runs}
                    psnr, ssim = (
                        mean(scored, (path.key, rival.key, budget), key) for key in ("psnr", "ssim")
                    )
                    if psnr is not None and ssim is not None:
                        rows.append(
                            [path.title, f"{budget} ms", rival.title, f"{psnr.mean:.2f}", f"{ssim.mean:.3f}"]
                        )
    return _table(["path", "budget", "", "PSNR, dB", "SSIM"], rows) if rows else []
