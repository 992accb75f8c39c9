"""The paper's claims on its buffer (abstract, Sections III and IV)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from whimbrel.claims import (
    Claim,
    Verdict,
    above,
    at_least,
    at_most,
    below,
    between,
    close,
    denied,
    every,
    most,
    never_above,
    ordered,
    rising,
    some,
)
from whimbrel.papers.reorder import efficiency, measures, video, voice
from whimbrel.papers.reorder.thresholds import (
    ALIKE,
    MOS,
    RATIO,
    SMALL,
    STEP,
    SUBSTANTIAL,
    VOICE,
    Sheets,
    comes_out,
)
from whimbrel.sheet import Sheet, Value

LEAST, VOICES, SEVEN, GREATEST = "2", str(voice.SIZE), "7", "12"
"""Sizes that the text names, in packets."""


def _cells(sheet: Sheet, metric: str, sizes: Sequence[str] | None = None) -> list[Value]:
    return [
        sheet.value(column, metric, row)
        for row in sizes or sheet.rows
        if row in sheet.rows
        for column in sheet.columns
    ]


def _larger(sheet: Sheet) -> list[str]:
    """Sizes above the least, which according to the text have little effect."""
    return [row for row in sheet.rows if row != LEAST]


def _raises(sheets: Sheets, item: str = "fig2", metric: str = "ratio") -> Verdict:
    sheet = sheets[item]
    return every(*(above(value, 0.5) for value in _cells(sheet, metric, _larger(sheet))))


def _lowers(sheets: Sheets, item: str = "fig3", metric: str = "ratio") -> Verdict:
    sheet = sheets[item]
    return every(*(below(value, 0.5) for value in _cells(sheet, metric, _larger(sheet))))


def _by_netem(sheets: Sheets) -> Verdict:
    return every(_raises(sheets, "fig2-netem", "rate"), _lowers(sheets, "fig2-netem", "ler"))


def _grows(sheets: Sheets) -> Verdict:
    sheet = sheets["fig2"]
    return every(
        *(
            rising(*(sheet.value(column, "ratio", row) for row in sheet.rows), within=STEP)
            for column in sheet.columns
        )
    )


READINGS = {
    "delayed": ("fig2", "ratio"),
    "delayed, one later packet": ("fig2", "ratio_first"),
    "netem": ("fig2-netem", "rate"),
    "netem, one later packet": ("fig2-netem", "rate_first"),
    "50 ± 20 ms": ("fig2-fixed", "rate"),
    "50 ± 20 ms, one later packet": ("fig2-fixed", "rate_first"),
}
"""Item and metric of the throughput's efficiency ratio, by reading; the first is the default."""


def _small(sheets: Sheets, item: str, metric: str) -> Verdict:
    return between(sheets[item].value(efficiency.RTTS[0], metric, LEAST), *SMALL)


def _substantial(sheets: Sheets, item: str, metric: str) -> Verdict:
    """At some of the round-trip times; the text names none."""
    cells = _cells(sheets[item], metric, [SEVEN])
    return every(
        some(*(at_least(value, SUBSTANTIAL - RATIO) for value in cells)),
        *(at_most(value, SUBSTANTIAL + RATIO) for value in cells),
    )


def _voice(sheets: Sheets, item: str, metric: str) -> Verdict:
    return between(sheets[item].value(efficiency.RTTS[0], metric, VOICES), VOICE - RATIO, VOICE + RATIO)


def _twelve(sheets: Sheets, item: str, metric: str) -> Verdict:
    ratio = measures.efficiency(video.PRINTED_BPS[video.DCCP], video.PRINTED_BPS[video.ADJUSTED])
    value = sheets[item].value(efficiency.RTTS[0], metric, GREATEST)
    return between(value, ratio - RATIO, ratio + RATIO)


def _amplifies(sheets: Sheets, item: str, metric: str) -> Verdict:
    """At the sizes named, the ratio is higher at the longest round-trip time than at the shortest."""
    sheet = sheets[item]
    shortest, longest = sheet.columns[0], sheet.columns[-1]
    return every(
        *(
            above(sheet.value(longest, metric, row), sheet.value(shortest, metric, row))
            for row in (VOICES, SEVEN, GREATEST)
        )
    )


def _suffers(sheets: Sheets) -> Verdict:
    """Without the buffer, the longer the round-trip time, the lower the throughput."""
    sheet = sheets["fig2"]
    return ordered(*(sheet.value(column, "without", LEAST) for column in reversed(sheet.columns)))


def _same_jitter(sheets: Sheets, metric: str) -> Verdict:
    return most(*(between(value, *ALIKE) for value in _cells(sheets["fig4"], metric)))


def _jitter_not_raised(sheets: Sheets) -> Verdict:
    return every(*(at_most(value, ALIKE[1]) for value in _cells(sheets["fig4"], "ratio")))


def _scores(sheets: Sheets, item: str, columns: Sequence[str], metric: str, within: float) -> Verdict:
    sheet = sheets[item]
    values = [
        sheet.value(column, metric, row)
        for row in sheet.rows
        for column in columns
        if sheet.value(column, metric, row).paper is not None
    ]
    return every(
        *(between(value, (value.paper or 0.0) - within, (value.paper or 0.0) + within) for value in values)
    )


def _alike_in_both(sheets: Sheets) -> Verdict:
    """The scores with DCCP's buffer and with the application's differ by at most a printed digit."""
    sheet = sheets["table2"]
    return every(
        *(
            close(sheet.value(column, "mos", voice.VOICE), sheet.value(column, "mos", voice.DCCP), MOS)
            for column in sheet.columns
        ),
        *(
            above(sheet.value(column, "mos", row), sheet.value(column, "mos", voice.NOTHING))
            for column in sheet.columns
            for row in (voice.DCCP, voice.VOICE)
        ),
    )


def _rate_suffices(sheets: Sheets) -> Verdict:
    sheet = sheets["table2"]
    return every(*(never_above(value, 0) for value in _cells(sheet, "unsent")))


def _video_gains(sheets: Sheets) -> Verdict:
    sheet = sheets["table3"]
    simulated = {row: sheet.value("simulated", "mos", row) for row in sheet.rows}
    return above(simulated[video.DCCP], simulated[video.ADJUSTED], 1.0) & at_most(
        simulated[video.FIXED], 1.05
    )


def _video_rates(sheets: Sheets) -> Verdict:
    sheet = sheets["table3"]
    return every(*(comes_out(sheet.value("simulated", "rate", row)) for row in (video.DCCP, video.ADJUSTED)))


FIGURE2: Mapping[str, tuple[str, Callable[[Sheets, str, str], Verdict]]] = {
    "small-at-two": ("Two packets and a round-trip time of 100 ms give a small improvement.", _small),
    "five-for-voice": ("Five packets have a throughput ratio of 0.6 at 100 ms.", _voice),
    "seven-substantial": ("Seven packets have a throughput ratio of up to 0.85.", _substantial),
    "rtt-amplifies": ("A longer round-trip time makes the buffer's gain larger.", _amplifies),
    "twelve-as-table3": (
        "Twelve packets at 100 ms have the ratio of Section IV's rates, 898 and 314 kbit/s: 0.741.",
        _twelve,
    ),
}
"""The text's statements on numbers in Figure 2."""


def _by_the_reading_taken(check: Callable[[Sheets, str, str], Verdict], sheets: Sheets) -> Verdict:
    return check(sheets, *READINGS["delayed"])


def _no_reading(sheets: Sheets) -> Verdict:
    """Each reading fails in some statement, which the evidence names."""
    found = []
    for reading, (item, metric) in READINGS.items():
        parts = {key: check(sheets, item, metric) for key, (_, check) in FIGURE2.items()}
        failed = ", ".join(key for key, verdict in parts.items() if verdict.holds is False)
        open_ = ", ".join(key for key, verdict in parts.items() if verdict.holds is None)
        text = f"{reading}: does not hold {failed or 'none'}" + (f", undecided {open_}" if open_ else "")
        found.append(replace(denied(every(*parts.values())), evidence=text))
    return every(*found)


CLAIMS = [
    Claim(
        "raises-throughput",
        "The buffer raises the throughput, at every size above 2 and every round-trip time.",
        ("fig2",),
        _raises,
        "Abstract, Section III, Figure 2",
    ),
    Claim(
        "lowers-loss",
        "The buffer lowers the loss event rate, at every size above 2 and every round-trip time.",
        ("fig3",),
        _lowers,
        "Abstract, Section III, Figure 3",
    ),
    Claim(
        "raises-and-lowers-netem",
        "The buffer raises the throughput and lowers the loss event rate also where NetEm delays all packets "
        "but 5 % (another reading).",
        ("fig2-netem",),
        _by_netem,
    ),
    Claim(
        "more-buffer-more-throughput",
        "The larger the buffer, the higher the throughput.",
        ("fig2",),
        _grows,
        "Section III, Figure 2",
    ),
    Claim(
        "jitter-not-raised",
        "The buffer does not raise the jitter (mean change of the transit time).",
        ("fig4",),
        _jitter_not_raised,
        "Abstract, Section V",
    ),
    Claim(
        "jitter-alike",
        "The jitter is similar with and without the buffer: an efficiency ratio of about 0.5.",
        ("fig4",),
        lambda sheets: _same_jitter(sheets, "ratio"),
        "Abstract, Section III, Figure 4",
    ),
    Claim(
        "gaps-alike",
        "The spread of the times between packets is similar with and without the buffer.",
        ("fig4",),
        lambda sheets: _same_jitter(sheets, "ratio_gaps"),
        "Abstract, Section III, Figure 4",
    ),
    *(
        Claim(
            key,
            claim,
            ("fig2",),
            functools.partial(_by_the_reading_taken, check),
            "Section IV" if check is _twelve else "Section III, Figure 2",
        )
        for key, (claim, check) in FIGURE2.items()
    ),
    Claim(
        "no-reading-has-figure2",
        "None of six readings reproduces all statements of the text on Figure 2.",
        tuple(dict.fromkeys(item for item, _ in READINGS.values())),
        _no_reading,
    ),
    Claim(
        "rtt-amplifies-harm",
        "A longer round-trip time amplifies the effect of reordering on the rate.",
        ("fig2",),
        _suffers,
        "Section III",
    ),
    Claim(
        "table2-stated",
        "Table II is reproduced by R = 94.2 - Id - Ie at 180 ms without loss and 100 ms with 5 %.",
        ("table2",),
        lambda sheets: _scores(sheets, "table2", tuple(voice.CALLS), "stated", MOS),
        "Section IV, Table II",
    ),
    Claim(
        "table2-simulated",
        "Table II is reproduced by simulated calls within 0.05.",
        ("table2",),
        lambda sheets: _scores(sheets, "table2", tuple(voice.CALLS), "mos", 0.05),
        "Section IV, Table II",
    ),
    Claim(
        "either-buffer-serves-voice",
        "For a call it does not matter whether transport or application reorders packets.",
        ("table2",),
        _alike_in_both,
        "Section IV, Table II",
    ),
    Claim(
        "voice-rate-suffices",
        "The lower rate of DCCP without the buffer still suffices for a call.",
        ("table2",),
        _rate_suffices,
        "Section IV",
    ),
    Claim(
        "table3-printed",
        "Table III is reproduced from the rates that the paper states.",
        ("table3",),
        lambda sheets: _scores(sheets, "table3", ("printed",), "mos", MOS),
        "Section IV, Table III",
    ),
    Claim(
        "table3-rates",
        "The rates of 898 and 314 kbit/s are reproduced within a tenth.",
        ("table3",),
        _video_rates,
        "Section IV",
    ),
    Claim(
        "video-gains",
        "The buffer raises the score of a video by more than one point; without rate adjustment it is 1.",
        ("table3",),
        _video_gains,
        "Section IV, Table III",
    ),
]
