"""Statements on repair that were written before it was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from whimbrel.claims import Claim, Verdict, at_least, at_most, below, between, every, not_above
from whimbrel.papers.repair import elsewhere, recorded
from whimbrel.papers.repair.networks import CHANNELS
from whimbrel.papers.repair.schemes import GUARDED, OURS, REPEATING, SCHEMES
from whimbrel.sheet import Sheet, Value

PLAIN_TOLERANCE = 3.0
"""In points: frames of runs are not many where losses come in bursts."""
WFB_OVERHEAD = (50, 56)
"""Four coded packets for eight, and the headers of wfb-ng."""
TABLE_OVERHEAD = 75
SHORT = 2.0
"""Percent of late frames. Two rounds of ideal repeats leave 0.82 % at 8 % of losses."""
FADE = 3.0
"""Percent of frames that no repair saves in fades of 200 ms each 5 s (of the same length, theory says)."""
UNGUARDED = 0.1
"""Percent of late frames."""

Sheets = Mapping[str, Sheet]


def _value(sheets: Sheets, item: str, column: str, metric: str, scheme: str) -> Value:
    return sheets[item].value(column, metric, row=SCHEMES[scheme].title)


def _columns(sheets: Sheets, item: str) -> Sequence[str]:
    return sheets[item].columns


def _each(check: Callable[[Sheets, str], Verdict], columns: Sequence[str]) -> Callable[[Sheets], Verdict]:
    """A check at each of the channels that were measured."""

    def verdict(sheets: Sheets) -> Verdict:
        there = [column for column in columns if column in _columns(sheets, "channels")]
        return every(*(check(sheets, column) for column in there))

    return verdict


def _plain(sheets: Sheets, column: str) -> Verdict:
    expected = CHANNELS[column].plain or 0.0
    found = _value(sheets, "channels", column, "late", "none")
    return between(found, expected - PLAIN_TOLERANCE, expected + PLAIN_TOLERANCE)


def _no_round(sheets: Sheets) -> Verdict:
    """Repeats save nothing."""
    plain = _value(sheets, "budget", "1", "late", "none")
    late = (_value(sheets, "budget", "1", "late", scheme) for scheme in REPEATING)
    return every(*(not_above(plain, each, PLAIN_TOLERANCE) for each in late))


def _not_more_late(item: str, columns: Sequence[str], others: Sequence[str]) -> Callable[[Sheets], Verdict]:
    """Whimbrel leaves no more frames late than the others, in each column that was measured."""

    def verdict(sheets: Sheets) -> Verdict:
        there = [column for column in columns if column in _columns(sheets, item)]
        return every(
            *(
                not_above(
                    _value(sheets, item, column, "late", OURS), _value(sheets, item, column, "late", other)
                )
                for column in there
                for other in others
            )
        )

    return verdict


def _less_overhead(sheets: Sheets, column: str) -> Verdict:
    own = _value(sheets, "channels", column, "overhead", OURS)
    coding = ("nack-fec", "wfb-ng", "tambur")
    return every(*(below(own, _value(sheets, "channels", column, "overhead", other)) for other in coding))


def _differentiation(sheets: Sheets) -> Verdict:
    """The standing queue and the truth leave fewer late frames than no differentiation."""
    sheet = sheets["differentiate"]
    plain = sheet.value("3 %, repaired", "late", row="no loss differentiation")
    better = (sheet.value("3 %, repaired", "late", row=row) for row in ("Standing", "the truth"))
    return every(*(below(each, plain) for each in better))


def _guard(sheets: Sheets) -> Verdict:
    """Without the guard few frames are late."""
    title = GUARDED["no guard"].title
    late = (sheets["guard"].value(column, "late", row=title) for column in ("1 %", "3 %", "8 %"))
    return every(*(at_most(each, UNGUARDED) for each in late))


def _tcp(sheets: Sheets) -> Verdict:
    """The TCP that competes with Whimbrel has the same rate as next to plain UDP, within the intervals."""
    columns = [column for column in _columns(sheets, "networks") if column.endswith(elsewhere.BESIDE)]
    return every(
        *(
            not_above(
                _value(sheets, "networks", column, "tcp", "none"),
                _value(sheets, "networks", column, "tcp", OURS),
            )
            for column in columns
        )
    )


def _differentiation_alone(sheets: Sheets) -> Verdict:
    """Even the truth leaves half of the frames late without repair."""
    return at_least(sheets["differentiate"].value("8 %, not repaired", "late", row="the truth"), 50)


CLAIMS = [
    Claim(
        "plain-as-theory",
        f"Without repair, as many frames are late as theory says, to {PLAIN_TOLERANCE:g} points.",
        ("channels",),
        _each(_plain, ("1 %", "3 %", "8 %", "20 %", "tambur", "bursts")),
    ),
    Claim(
        "wfb-half",
        f"wfb-ng costs {WFB_OVERHEAD[0]} to {WFB_OVERHEAD[1]} % on every channel.",
        ("channels",),
        _each(
            lambda sheets, column: between(
                _value(sheets, "channels", column, "overhead", "wfb-ng"), *WFB_OVERHEAD
            ),
            tuple(CHANNELS),
        ),
    ),
    Claim(
        "table-costs",
        f"libwebrtc's table costs at least {TABLE_OVERHEAD} % on Tambur's channel.",
        ("channels",),
        lambda sheets: at_least(_value(sheets, "channels", "tambur", "overhead", "nack-fec"), TABLE_OVERHEAD),
    ),
    Claim(
        "two-rounds-suffice",
        f"Where two rounds fit, libwebrtc's requests leave at most {SHORT:g} % of the frames late at 8 % of "
        "losses.",
        ("channels",),
        lambda sheets: at_most(_value(sheets, "channels", "8 %", "late", "nack"), SHORT),
    ),
    Claim(
        "no-round-no-repeat",
        "Where the round-trip time is the budget, repeats save nothing.",
        ("budget",),
        _no_round,
    ),
    Claim(
        "fades-remain",
        f"No scheme leaves less than {FADE:g} % of the frames late in fades of 200 ms.",
        ("channels",),
        lambda sheets: every(
            *(at_least(_value(sheets, "channels", "fades", "late", scheme), FADE) for scheme in SCHEMES)
        ),
    ),
    Claim(
        "hairpin-gains",
        "Hairpin leaves fewer frames late than libwebrtc's requests at 8 % of losses.",
        ("channels",),
        lambda sheets: below(
            _value(sheets, "channels", "8 %", "late", "hairpin"),
            _value(sheets, "channels", "8 %", "late", "nack"),
        ),
    ),
    Claim(
        "ours-not-more-late",
        "On no channel does Whimbrel leave more frames late than SRT, RIST and libwebrtc's requests.",
        ("channels",),
        _not_more_late("channels", tuple(CHANNELS), REPEATING),
    ),
    Claim(
        "ours-cheaper-than-codes",
        "On every channel Whimbrel costs less than libwebrtc's table, wfb-ng and Tambur.",
        ("channels",),
        _each(_less_overhead, tuple(CHANNELS)),
    ),
    Claim(
        "differentiation-adds",
        "Under CCID 3 with repair at 3 % of losses, Standing and the truth leave fewer frames late than no "
        "loss differentiation.",
        ("differentiate",),
        _differentiation,
    ),
    Claim(
        "differentiation-needs-repair",
        "Without repair, loss differentiation leaves at least half of the frames late at 8 % of losses.",
        ("differentiate",),
        _differentiation_alone,
    ),
    Claim(
        "guard-is-the-cause",
        f"Without the guard Whimbrel leaves at most {UNGUARDED:g} % of the frames late at 1, 3 and 8 % of "
        "losses.",
        ("guard",),
        _guard,
    ),
    Claim(
        "recorded-not-more-late",
        "On no recorded network does Whimbrel leave more frames late than no repair, SRT, RIST and "
        "libwebrtc's requests.",
        ("recorded",),
        _not_more_late("recorded", tuple(recorded.NETWORKS), ("none", *REPEATING)),
    ),
    Claim(
        "networks-not-more-late",
        "On no network of lda and freeze does Whimbrel leave more frames late than no repair, SRT, RIST and "
        "libwebrtc's requests.",
        ("networks",),
        _not_more_late("networks", elsewhere.NETWORKS, ("none", *REPEATING)),
    ),
    Claim(
        "networks-spare-tcp",
        "On the networks of lda, a TCP beside Whimbrel has no less than beside the video without repair.",
        ("networks",),
        _tcp,
    ),
]
