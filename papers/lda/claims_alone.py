"""The paper's claims on a single flow (Sections 5.1, 6.1 and 6.2)."""

from __future__ import annotations

import itertools

from whimbrel.claims import (
    Claim,
    Verdict,
    above,
    at_least,
    at_most,
    average,
    below,
    between,
    close,
    every,
    not_above,
    ordered,
    some,
    span,
    times,
)
from whimbrel.papers.lda.thresholds import (
    FULL,
    HIGH_M_W,
    LOW,
    MUCH,
    NONE,
    PRINTED,
    SIMILAR,
    Sheets,
    curve,
    one,
)
from whimbrel.papers.lda.topology import BASE, SCHEMES
from whimbrel.sheet import Value


def _wlh(sheets: Sheets, column: str, metric: str = "throughput") -> Value:
    return one(sheets, "table2", column, metric)


def _wb(sheets: Sheets, column: str, metric: str = "throughput") -> Value:
    return one(sheets, "table3", column, metric)


def _conservative(sheets: Sheets) -> Verdict:
    return every(
        *(
            above(_wlh(sheets, cautious, "m_w"), _wlh(sheets, bold, "m_w"))
            for cautious in ("spike", "zigzag")
            for bold in ("biaz", "mbiaz")
        )
    )


def _wb_order(sheets: Sheets) -> Verdict:
    names = ("tcp", "tfrc", "zigzag", "mbiaz", "biaz", "spike", "omniscient")
    tcp, tfrc, zigzag, mbiaz, *last = (_wb(sheets, name) for name in names)
    rest = itertools.pairwise([mbiaz, *last])
    return every(ordered(tcp, tfrc, zigzag, mbiaz), *(not_above(a, b, by=PRINTED) for a, b in rest))


def _up_to_three_times(sheets: Sheets) -> Verdict:
    """Somewhere 2.5 to 3.5 times as much, and nowhere more."""
    pairs = [
        tuple(one(sheets, item, column, "throughput") for column in ("omniscient", "tfrc"))
        for item in ("table2", "table3")
    ]
    return every(
        some(*(times(aware, unaware, 2.5) for aware, unaware in pairs)),
        *(times(aware, unaware, 0, 3.5) for aware, unaware in pairs),
    )


def _same_order(sheets: Sheets, high: str, others: tuple[str, ...]) -> Verdict:
    """No two schemes that differ under high loss are known to differ visibly in the other direction below."""
    verdicts = []
    for a, b in itertools.permutations(SCHEMES, 2):
        if a in sheets[high].columns and b in sheets[high].columns:
            first, second = (one(sheets, high, each, "throughput") for each in (a, b))
            if below(first, second).holds:
                verdicts += [
                    not_above(
                        one(sheets, item, a, "throughput"), one(sheets, item, b, "throughput"), by=PRINTED
                    )
                    for item in others
                ]
    return every(*verdicts)


def _smaller_spread(sheets: Sheets, items: tuple[str, ...]) -> Verdict:
    spreads = [
        span(
            [one(sheets, item, column, "throughput") for column in ("tcp", "tfrc", *BASE)],
            f"{item}, from the least to the greatest",
        )
        for item in items
    ]
    return ordered(*reversed(spreads))


def _like_wb(sheets: Sheets) -> Verdict:
    verdicts = []
    for column in sheets["wlan"].columns:
        numbers = (curve(sheets, item, column, "throughput") for item in ("wlan", "fig10"))
        there = {value.name: value for value in next(numbers)}
        here = {value.name: value for value in next(numbers)}
        verdicts += [close(there[name], here[name], SIMILAR) for name in there if name in here]
    return every(*verdicts)


CLAIMS = [
    Claim(
        "omniscient-gain",
        "Depending on topology and losses, the omniscient TFRC has up to 200 % more throughput than "
        "the unaware one.",
        ("table2", "table3"),
        _up_to_three_times,
        "Section 4",
    ),
    Claim(
        "wlan-is-wb",
        "A wireless LAN shows essentially the results of a wireless backbone.",
        ("fig10", "wlan"),
        _like_wb,
        "Section 5.1",
    ),
    Claim(
        "wlh-order",
        "On the wireless last hop TCP has the least throughput, TFRC more, and ZigZag more still.",
        ("table2",),
        lambda sheets: ordered(*(_wlh(sheets, column) for column in ("tcp", "tfrc", "zigzag"))),
        "Table 2, Section 6.1",
    ),
    Claim(
        "wlh-unaware-low",
        "Without loss differentiation TCP and TFRC have a comparatively low throughput.",
        ("table2",),
        lambda sheets: every(
            *(
                below(_wlh(sheets, unaware), _wlh(sheets, aware))
                for unaware in ("tcp", "tfrc")
                for aware in ("omniscient", *BASE)
            )
        ),
        "Section 6.1",
    ),
    Claim(
        "wlh-tfrc-gentler",
        "On the wireless last hop TFRC has more throughput than TCP, because it reacts less "
        "drastically to a loss.",
        ("table2",),
        lambda sheets: above(_wlh(sheets, "tfrc"), _wlh(sheets, "tcp")),
        "Section 6.1",
    ),
    Claim(
        "wlh-omniscient-fills",
        "On the wireless last hop the omniscient TFRC comes close to the full rate of the bottleneck.",
        ("table2",),
        lambda sheets: at_least(_wlh(sheets, "omniscient"), FULL),
        "Section 6.1",
    ),
    Claim(
        "wlh-all-fill",
        "All four base algorithms almost fully utilise the last hop.",
        ("table2",),
        lambda sheets: every(*(at_least(_wlh(sheets, column), FULL) for column in BASE)),
        "Section 6.1",
    ),
    Claim(
        "wlh-biaz-no-m-c",
        "On the last hop the Biaz algorithms classify no congestion loss as wireless.",
        ("table2",),
        lambda sheets: every(*(at_most(_wlh(sheets, column, "m_c"), NONE) for column in ("biaz", "mbiaz"))),
        "Section 6.1",
    ),
    Claim(
        "wlh-biaz-low-m-w",
        "On the last hop the Biaz algorithms make few mistakes on wireless losses.",
        ("table2",),
        lambda sheets: every(*(at_most(_wlh(sheets, column, "m_w"), LOW) for column in ("biaz", "mbiaz"))),
        "Section 6.1",
    ),
    Claim(
        "wlh-biaz-congests-like-omniscient",
        "On the last hop the Biaz algorithms have the congestion loss of the omniscient TFRC.",
        ("table2",),
        lambda sheets: every(
            *(
                times(_wlh(sheets, column, "congestion"), _wlh(sheets, "omniscient", "congestion"), 0.9, 1.1)
                for column in ("biaz", "mbiaz")
            )
        ),
        "Table 2, Section 6.1",
    ),
    Claim(
        "wlh-cautious-congest-less",
        "On the last hop Spike and ZigZag lose less to congestion than the Biaz algorithms.",
        ("table2",),
        lambda sheets: every(
            *(
                below(_wlh(sheets, cautious, "congestion"), _wlh(sheets, bold, "congestion"))
                for cautious in ("spike", "zigzag")
                for bold in ("biaz", "mbiaz")
            )
        ),
        "Table 2, Section 6.1",
    ),
    Claim(
        "wlh-cautious-m-w",
        "Spike and ZigZag are more conservative: they classify more wireless losses as congestion.",
        ("table2",),
        _conservative,
        "Section 6.1",
    ),
    Claim(
        "wlh-spike-half",
        "Spike classifies about half of the wireless losses as congestion: the buffer is a third "
        "full that often.",
        ("table2",),
        lambda sheets: between(_wlh(sheets, "spike", "m_w"), 40, 60),
        "Section 6.1",
    ),
    Claim(
        "wlh-spike-unhurt",
        "Its high M_w does not hurt Spike's throughput, because the buffer is not empty then.",
        ("table2",),
        lambda sheets: close(_wlh(sheets, "spike"), _wlh(sheets, "omniscient"), SIMILAR),
        "Section 6.1",
    ),
    Claim(
        "wlh-zigzag-m-w",
        "ZigZag has a high M_w on the last hop.",
        ("table2",),
        lambda sheets: at_least(_wlh(sheets, "zigzag", "m_w"), HIGH_M_W),
        "Section 6.1",
    ),
    Claim(
        "wlh-cautious-low-m-c",
        "Spike and ZigZag have a low M_c on the last hop.",
        ("table2",),
        lambda sheets: every(*(at_most(_wlh(sheets, column, "m_c"), LOW) for column in ("spike", "zigzag"))),
        "Section 6.1",
    ),
    Claim(
        "wlh-omniscient-congests",
        "On the wireless last hop the omniscient TFRC loses more to congestion than the unaware TFRC.",
        ("table2",),
        lambda sheets: above(_wlh(sheets, "omniscient", "congestion"), _wlh(sheets, "tfrc", "congestion")),
        "Table 2, Section 6.1",
    ),
    Claim(
        "wb-order",
        "On the wireless backbone TCP < TFRC < ZigZag < mBiaz <= Biaz <= Spike <= omniscient, by throughput.",
        ("table3",),
        _wb_order,
        "Table 3, Section 6.2",
    ),
    Claim(
        "wb-unaware-suffer",
        "TCP and TFRC use much less of the 800 kbit/s backbone than of the 150 kbit/s last hop.",
        ("table2", "table3"),
        lambda sheets: every(
            *(times(_wb(sheets, each), _wlh(sheets, each), 0, 1 / MUCH) for each in ("tcp", "tfrc"))
        ),
        "Section 6.2",
    ),
    Claim(
        "wb-omniscient-fills",
        "On the wireless backbone the omniscient TFRC still comes close to the full rate.",
        ("table3",),
        lambda sheets: at_least(_wb(sheets, "omniscient"), FULL),
        "Section 6.2",
    ),
    Claim(
        "wb-omniscient-congests-less",
        "The omniscient TFRC loses much less to congestion on the backbone than on the last hop.",
        ("table2", "table3"),
        lambda sheets: times(
            _wb(sheets, "omniscient", "congestion"), _wlh(sheets, "omniscient", "congestion"), 0, 1 / MUCH
        ),
        "Section 6.2",
    ),
    Claim(
        "wb-zigzag-low",
        "On the backbone ZigZag has much less throughput than on the last hop.",
        ("table2", "table3"),
        lambda sheets: times(_wb(sheets, "zigzag"), _wlh(sheets, "zigzag"), 0, 1 / MUCH),
        "Section 6.2",
    ),
    Claim(
        "wb-zigzag-like-unaware",
        "On the backbone ZigZag's throughput is more like plain TFRC's than like the omniscient TFRC's.",
        ("table3",),
        lambda sheets: at_most(
            _wb(sheets, "zigzag"),
            average([_wb(sheets, "tfrc"), _wb(sheets, "omniscient")], "midway between TFRC and Omniscient"),
        ),
        "Section 6.2",
    ),
    Claim(
        "wb-zigzag-m-w",
        "ZigZag has a high M_w on the backbone.",
        ("table3",),
        lambda sheets: at_least(_wb(sheets, "zigzag", "m_w"), HIGH_M_W),
        "Section 6.2",
    ),
    Claim(
        "wb-spike-m-w",
        "Spike has a relatively high M_w on the backbone: higher than the Biaz algorithms.",
        ("table3",),
        lambda sheets: every(
            *(above(_wb(sheets, "spike", "m_w"), _wb(sheets, each, "m_w")) for each in ("biaz", "mbiaz"))
        ),
        "Section 6.2",
    ),
    Claim(
        "wb-mbiaz-lower",
        "On the backbone modified Biaz has less throughput than Biaz, though the loss is not as "
        "great as ZigZag's.",
        ("table3",),
        lambda sheets: ordered(_wb(sheets, "zigzag"), _wb(sheets, "mbiaz"), _wb(sheets, "biaz")),
        "Section 6.2",
    ),
    Claim(
        "wb-mbiaz-m-w",
        "On the backbone modified Biaz has a higher M_w than Biaz.",
        ("table3",),
        lambda sheets: above(_wb(sheets, "mbiaz", "m_w"), _wb(sheets, "biaz", "m_w")),
        "Section 6.2",
    ),
    Claim(
        "alone-biaz-spike-same",
        "With one flow Biaz and Spike perform essentially the same on both topologies.",
        ("table2", "table3"),
        lambda sheets: every(
            *(close(_wb(sheets, each), _wlh(sheets, each), SIMILAR) for each in ("biaz", "spike"))
        ),
        "Section 6.5",
    ),
    Claim(
        "levels-order-wlh",
        "On the last hop the order of the algorithms by throughput is the same under medium and low loss.",
        ("fig9", "wlh-medium", "wlh-low"),
        lambda sheets: _same_order(sheets, "fig9", ("wlh-medium", "wlh-low")),
        "Section 6.1",
    ),
    Claim(
        "levels-order-wb",
        "On the backbone the order of the algorithms by throughput is the same under medium and low loss.",
        ("fig10", "wb-medium", "wb-low"),
        lambda sheets: _same_order(sheets, "fig10", ("wb-medium", "wb-low")),
        "Section 6.1",
    ),
    Claim(
        "levels-differences",
        "The differences between the algorithms are smaller under medium and low loss.",
        ("fig9", "wlh-medium", "wlh-low", "fig10", "wb-medium", "wb-low"),
        lambda sheets: every(
            _smaller_spread(sheets, ("fig9", "wlh-medium", "wlh-low")),
            _smaller_spread(sheets, ("fig10", "wb-medium", "wb-low")),
        ),
        "Section 6.1",
    ),
]
