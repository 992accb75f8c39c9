"""Figure 12: ad hoc networks of 8 to 256 mobile nodes, half as many CBR flows as nodes."""

from __future__ import annotations

from dataclasses import replace

from whimbrel.claims import Claim, Verdict, above, close, every
from whimbrel.paper import Item, Quick
from whimbrel.papers.winf.choices import taken
from whimbrel.papers.winf.measures import METRICS, compared, measure, once, over_rows
from whimbrel.papers.winf.thresholds import EQUAL
from whimbrel.papers.winf.topology import AREA, DSDV_NS2, MACS, NS2, SCHEMES, load, medium, mobile
from whimbrel.scenario import Scenario
from whimbrel.sheet import Sheet
from whimbrel.statistics import Precision

ROWS = ["4", "8", "16", "32", "64", "128"]
COLUMNS = [scheme for scheme in SCHEMES if scheme != "tcp"]
SECONDS = 40.0
WHERE = "Section 5.1, Figure 12"


def _scenario(scheme: str, flows: int, mac: str) -> Scenario:
    return Scenario(
        {
            "title": f"{scheme}, {2 * flows} ad hoc nodes, {flows} flows",
            "simulation": {"duration": f"{SECONDS:g} s", "warm_up": "10 s"},
            "wifi": [medium(mac, SCHEMES[scheme][0], area=list(AREA), routing=DSDV_NS2)],
            "node": [mobile(2 * flows)],
            "flow": [
                {
                    "name": "f{i}",
                    "count": flows,
                    "pairs": {"of": "n{i}", "seed": 1},
                    "start": "5 s",
                    "start_jitter": "1 s",
                    **load(scheme, "64 kbit/s", "512 B"),
                }
            ],
        }
    )


def _item(mac: str) -> Item:
    return Item(
        key=f"fig12{MACS[mac]}",
        title=f"Ad hoc nodes, twice as many as CBR flows of 64 kbit/s, MAC of {mac}",
        source="Figure 12",
        rows=ROWS,
        columns=COLUMNS,
        metrics=METRICS,
        scenario=taken(mac, lambda row, column: _scenario(column, int(row), mac)),
        measure=lambda result, _row, _column: measure(result),
        precision=Precision.exactly(10),
        quick=Quick(
            precision=Precision.exactly(4),
            overrides=("simulation.duration=20 s",),
            rows=["4", "16"],
            by_name=mac != NS2,
        ),
        row_label="Flows",
    )


ITEMS = [_item(mac) for mac in MACS]


def _later(sheet: Sheet, column: str) -> Verdict:
    half = len(sheet.rows) // 2
    few, many = (over_rows(sheet, column, "delay", rows) for rows in (sheet.rows[:half], sheet.rows[-half:]))
    return above(replace(many, name=f"{many.name}, many flows"), replace(few, name=f"{few.name}, few flows"))


def _claims(mac: str) -> list[Claim]:
    key = f"fig12{MACS[mac]}"
    pairs = (("xcp-winf", "xcp"), ("rcp-winf", "rcp"))
    return [
        Claim(
            f"{key}-same",
            f"Standard XCP and RCP react the same way: their throughputs differ by at most {EQUAL:.0%}.",
            (key,),
            lambda sheets: close(
                over_rows(sheets[key], "xcp", "throughput"),
                over_rows(sheets[key], "rcp", "throughput"),
                EQUAL * over_rows(sheets[key], "xcp", "throughput").mean,
            ),
            WHERE,
        ),
        *(
            compared(key, metric, winf, plain, WHERE)
            for metric in ("received", "lost", "throughput")
            for winf, plain in pairs
        ),
        Claim(
            f"{key}-delay-flows",
            "The delay increases with the number of flows: it is larger in the upper half of the rows.",
            (key,),
            lambda sheets: every(*(_later(sheets[key], column) for column in COLUMNS)),
            WHERE,
        ),
        *(compared(key, "goodput", winf, plain) for winf, plain in pairs),
    ]


CLAIMS = [once(claim) for mac in MACS for claim in _claims(mac)]
