"""What the paper says of its buffer (abstract, Sections III and IV)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whimbrel.claims import (
    Claim,
    Verdict,
    above,
    at_least,
    at_most,
    below,
    between,
    close,
    every,
    most,
    never_above,
    ordered,
    rising,
    some,
)
from whimbrel.papers.reorder import efficiency, video, voice
from whimbrel.papers.reorder.words import (
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
    """Sizes above the least, of which the text says that little comes of it."""
    return [row for row in sheet.rows if row != LEAST]


def _raises(sheets: Sheets) -> Verdict:
    sheet = sheets["fig2"]
    return every(*(above(value, 0.5) for value in _cells(sheet, "ratio", _larger(sheet))))


def _lowers(sheets: Sheets) -> Verdict:
    sheet = sheets["fig3"]
    return every(*(below(value, 0.5) for value in _cells(sheet, "ratio", _larger(sheet))))


def _grows(sheets: Sheets) -> Verdict:
    sheet = sheets["fig2"]
    return every(
        *(
            rising(*(sheet.value(column, "ratio", row) for row in sheet.rows), within=STEP)
            for column in sheet.columns
        )
    )


FIXED, FIXED_METRIC = "fig2-fixed", "rate_first"
"""The reading under which all that is said of Figure 2 comes out (README.md)."""


def _small(sheets: Sheets, item: str, metric: str) -> Verdict:
    return between(sheets[item].value(efficiency.RTTS[0], metric, LEAST), *SMALL)


def _substantial(sheets: Sheets, item: str, metric: str) -> Verdict:
    """Somewhere among the round-trip times; the text names none."""
    cells = _cells(sheets[item], metric, [SEVEN])
    return every(
        some(*(at_least(value, SUBSTANTIAL - RATIO) for value in cells)),
        *(at_most(value, SUBSTANTIAL + RATIO) for value in cells),
    )


def _voice(sheets: Sheets, item: str, metric: str) -> Verdict:
    return between(sheets[item].value(efficiency.RTTS[0], metric, VOICES), VOICE - RATIO, VOICE + RATIO)


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
    """What DCCP's buffer gives and what the application's own gives lie within a printed digit."""
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


def _twice(key: str, claim: str, judge: Callable[[Sheets, str, str], Verdict]) -> tuple[Claim, Claim]:
    """A sentence on Figure 2, judged by the reading taken and by the one under which it comes out."""
    return (
        Claim(key, claim, ("fig2",), lambda sheets: judge(sheets, "fig2", "ratio"), "Section III, Figure 2"),
        Claim(
            f"{key}-fixed",
            f"{claim} The same with delays of 50 ± 20 ms at every round-trip time and a receiver to which "
            "one later packet proves a loss.",
            (FIXED,),
            lambda sheets: judge(sheets, FIXED, FIXED_METRIC),
            "Section III, Figure 2",
        ),
    )


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
        "The same of the spread of the times between packets.",
        ("fig4",),
        lambda sheets: _same_jitter(sheets, "ratio_gaps"),
        "Abstract, Section III, Figure 4",
    ),
    *_twice(
        "small-at-two",
        "Two packets and a round-trip time of 100 ms give a small improvement.",
        _small,
    ),
    *_twice("five-for-voice", "Five packets have a throughput ratio of 0.6 even at 100 ms.", _voice),
    *_twice("seven-substantial", "Seven packets have a throughput ratio of up to 0.85.", _substantial),
    *_twice("rtt-amplifies", "A longer round-trip time makes the buffer's gain larger.", _amplifies),
    Claim(
        "rtt-amplifies-harm",
        "A longer round-trip time amplifies what reordering does to the rate.",
        ("fig2",),
        _suffers,
        "Section III",
    ),
    Claim(
        "table2-stated",
        "Table II comes out of R = 94.2 - Id - Ie at 180 ms without loss and 100 ms with 5 %.",
        ("table2",),
        lambda sheets: _scores(sheets, "table2", tuple(voice.CALLS), "stated", MOS),
        "Section IV, Table II",
    ),
    Claim(
        "table2-simulated",
        "Table II comes out of simulated calls within 0.05.",
        ("table2",),
        lambda sheets: _scores(sheets, "table2", tuple(voice.CALLS), "mos", 0.05),
        "Section IV, Table II",
    ),
    Claim(
        "either-buffer-serves-voice",
        "For a call it does not matter whether transport or application puts packets into order.",
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
        "Table III comes out of the rates that the paper states.",
        ("table3",),
        lambda sheets: _scores(sheets, "table3", ("printed",), "mos", MOS),
        "Section IV, Table III",
    ),
    Claim(
        "table3-rates",
        "The rates of 898 and 314 kbit/s come out within a tenth.",
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
