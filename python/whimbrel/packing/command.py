"""`whimbrel pack RESULTS` and `whimbrel verify PACK`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from whimbrel._base import extras, options, output
from whimbrel._base.terminal import markup, print_line
from whimbrel.packing import described, making, run_tables, tables, verifying
from whimbrel.packing.described import Publication
from whimbrel.packing.verifying import CONFIRMED, Checked, Wish

_COLOURS = {CONFIRMED: "green", verifying.DIFFERS: "red"}


def pack(arguments: Sequence[str]) -> int:
    """`whimbrel pack RESULTS`."""
    parser = options.parser(
        "pack",
        "Packs results of reproduce, sweep or run for others to check: one archive with the scenarios,"
        " records, tables, figures, digests, licences, the command of each claim with its time and size, a"
        " container script, RO-Crate metadata and an artefact appendix.",
        "whimbrel sweep examples/scenarios/radio.toml --quick --out radio\n"
        "  whimbrel pack radio --author 'Ng, Ada' --to radio.pack.zip\n"
        "  whimbrel verify radio.pack.zip",
    )
    parser.add_argument(
        "results",
        nargs="+",
        type=Path,
        metavar="RESULTS",
        help="what --out named; several, such as before and after",
    )
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="the archive (default: that of the first, NAME.pack.zip)"
    )
    parser.add_argument(
        "--title", metavar="TEXT", help="title of the pack (default: those of its papers or sweeps)"
    )
    parser.add_argument(
        "--author",
        action="append",
        metavar="NAME",
        help="`Family, Given`; may be repeated (default: Anonymous, as for a blind review)",
    )
    parser.add_argument(
        "--licence",
        default="CC-BY-4.0",
        metavar="SPDX",
        help="licence of the data, an identifier of SPDX (default: %(default)s)",
    )
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="bring this wheel of Whimbrel along")
    options.add_papers(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    options.find_papers(given)
    extras.check("charts", "whimbrel pack")
    tables.check_parquet("whimbrel pack")
    target = given.to or Path(f"{given.results[0].resolve().name}{making.SUFFIX}")
    with tempfile.TemporaryDirectory(prefix="whimbrel-") as work:
        results = [
            run_tables.recorded(each, Path(work) / str(number)) if run_tables.is_run(each) else each
            for number, each in enumerate(given.results)
        ]
        title = given.title or making.usual_title(results)
        publication = Publication(title, tuple(given.author or ("Anonymous",)), given.licence)
        made = making.make(results, target, publication, given.wheel)
    if given.json:
        claims = described.listed(made.claims)
        print(
            json.dumps(
                {
                    "pack": str(target),
                    "bytes": target.stat().st_size,
                    "files": len(made.files),
                    "claims": claims,
                }
            )
        )
    else:
        size = target.stat().st_size
        print_line(
            f"{markup(str(target))}: {len(made.files)} files, {size / 1e6:.1f} MB; {len(made.claims)} claims"
            " and tables"
        )
        print_line(f"check: whimbrel verify {markup(str(target))}")
        if not given.wheel:
            print_line("container/ installs Whimbrel from the package index; --wheel FILE packs it")
    return 0


def verify(arguments: Sequence[str]) -> int:
    """`whimbrel verify PACK`; 0 if everything was confirmed, else 1."""
    parser = options.parser(
        "verify",
        "Checks a pack: the digest of each file, the runs by repeating a sample of them or all, and the"
        " tables, claims and figures by making them again from the records.",
        "whimbrel sweep examples/scenarios/radio.toml --quick --out checked\n"
        "  whimbrel pack checked --to checked.pack.zip\n"
        "  whimbrel verify checked.pack.zip --whole\n\n"
        "exit code: 0 all claims are confirmed, 1 one is not or the pack is damaged, 2 wrong usage or\n"
        "another version",
    )
    parser.add_argument(
        "pack", type=Path, metavar="PACK", help="the archive, or a folder that holds it unpacked"
    )
    parser.add_argument("--whole", action="store_true", help="repeat all runs")
    parser.add_argument(
        "--runs",
        type=options.count(1),
        default=1,
        metavar="N",
        help="runs of each table to repeat (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=options.count(0),
        default=1,
        metavar="N",
        help="chooses the runs of the sample (default: %(default)s)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out/verify"),
        metavar="DIR",
        help="directory for what is unpacked and made; the same command resumes there (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs",
        type=options.count(1),
        metavar="N",
        help="number of simultaneous runs (default: the number of processors)",
    )
    parser.add_argument(
        "--run-papers", action="store_true", help="run the Python code of papers that the pack brings"
    )
    parser.add_argument(
        "--any-version", action="store_true", help="check a pack that another version of Whimbrel has made"
    )
    parser.add_argument("--json", action="store_true", help="print JSON and no progress")
    given = parser.parse_args(arguments)
    extras.check("charts", "whimbrel verify")
    wish = Wish(
        given.out,
        given.whole,
        given.runs,
        given.seed,
        given.jobs,
        given.run_papers,
        given.any_version,
        given.json,
    )
    with output.claimed(given.out):
        checked = verifying.verify(given.pack, wish)
    if given.json:
        print(json.dumps(_document(checked)))
    else:
        _print(checked)
    return 0 if checked.is_confirmed else 1


def _document(checked: Checked) -> dict[str, object]:
    listed = checked.manifest
    verdicts = [
        {**claim, "status": each.status, "reason": each.reason, "repeated": each.repeated}
        for claim, each in zip(described.listed(listed.claims), checked.verdicts, strict=True)
    ]
    return {
        "title": listed.title,
        "version": listed.version,
        "files": len(listed.files),
        "confirmed": sum(each.status == CONFIRMED for each in checked.verdicts),
        "claims": verdicts,
        "notes": checked.notes,
    }


def _print(checked: Checked) -> None:
    print_line(f"{len(checked.manifest.files)} files have the digests of the list")
    for each in checked.verdicts:
        colour = _COLOURS.get(each.status, "yellow")
        said = f"{each.claim.claim}" + (f" ({each.claim.verdict})" if each.claim.verdict else "")
        runs = f"{each.repeated} of {each.claim.runs} runs repeated"
        print_line(f"[{colour}]{each.status:12}[/] {markup(said)}  [dim]{runs}[/]")
        if each.reason:
            print_line(f"{'':12} [dim]{markup(each.reason)}[/]")
    for note in checked.notes:
        print_line(f"[dim]{markup(note)}[/]")
    confirmed = sum(each.status == CONFIRMED for each in checked.verdicts)
    print_line(f"{confirmed} of {len(checked.verdicts)} claims and tables confirmed")
