"""Claims with their verdicts, reasons and evidence, and the same counted."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from whimbrel._show.page.sections import KINDS, SOURCES, VERDICTS, Claim, Section, by_verdict, code
from whimbrel._values import printed

_HEADINGS = {"no": "Do not hold", "open": "Undecided", "yes": "Hold"}


def claims(section: Section) -> str:
    """All claims of a section: the paper's and our own apart, and each by verdict."""
    parts = []
    for source, label in SOURCES:
        mine = by_verdict(claim for claim in section.claims if claim["source"] == source)
        if not mine:
            continue
        parts.append(
            f'<section class="claim-list" id="{section.anchor}-claims-{source}">'
            f'<h3>{label.capitalize()} <span class="count">{printed.counted(mine)}</span></h3>'
        )
        parts += [_group(section, mine, holds) for holds in KINDS]
        parts.append("</section>")
    return "\n".join(part for part in parts if part)


def tally(section: Section, key: str) -> str:
    """The claims that rest on a table or figure, as links to them; empty without any."""
    mine = section.claims_on(key)
    if not mine:
        return ""
    lines = "".join(
        f'<li class="{KINDS[claim["holds"]]}" data-claim="{section.claim_anchor(claim)}">{_chip(claim)} '
        f'<a href="#{section.claim_anchor(claim)}">{escape(claim["claim"])}</a></li>'
        for claim in mine
    )
    noun = "Claim" if len(mine) == 1 else "Claims"
    return (
        f'<details class="tally"><summary>{noun} on this: {printed.counted(mine)}</summary>'
        f"<ul>{lines}</ul></details>"
    )


def _group(section: Section, mine: Sequence[Claim], holds: bool | None) -> str:
    listed = [claim for claim in mine if claim["holds"] is holds]
    if not listed:
        return ""
    kind = KINDS[holds]
    # Claims that hold are the least surprising and the most numerous.
    open_ = "" if holds else " open"
    return (
        f'<details class="group"{open_}><summary>{_HEADINGS[kind]} '
        f'<span class="count">{len(listed)}</span></summary>'
        f'<ul class="claims">{"".join(claim_entry(section, claim) for claim in listed)}</ul></details>'
    )


def claim_entry(section: Section, claim: Claim) -> str:
    """A claim as an entry of a list: verdict, sentence, reason, and the evidence on demand."""
    where = f' <span class="source">{escape(claim["where"])}</span>' if claim["where"] else ""
    quick = ' <span class="source quick">quick pass</span>' if claim["quick"] else ""
    # Reasons apply to the full form, which may have other rows and decide claims that a quick pass leaves
    # open.
    why = "Reason, in the full form" if claim["quick"] else "Why"
    reason = f'<p class="reason">{why}: {code(claim["reason"])}</p>' if claim["reason"] else ""
    if claim["holds"] is False and not claim["reason"]:
        reason = '<p class="reason">Why: not known.</p>'
    titles = {
        table.stored.sheet.key: table.stored.sheet.source or table.stored.sheet.title
        for table in section.tables
    }
    on = ", ".join(
        f'<a href="#{section.item_anchor(key)}">{escape(titles[key])} ({escape(key)})</a>'
        for key in claim["items"]
        if key in titles
    )
    items = " ".join(section.item_anchor(key) for key in claim["items"])
    return (
        f'<li id="{section.claim_anchor(claim)}" class="{KINDS[claim["holds"]]}" '
        f'data-verdict="{KINDS[claim["holds"]]}" data-source="{claim["source"]}" data-items="{items}">'
        f"{_chip(claim)}<div><p>{escape(claim['claim'])}{where}{quick}</p>{reason}"
        f'<details class="evidence"><summary>Evidence</summary><p>{escape(claim["evidence"])}</p>'
        f"{f'<p>On: {on}</p>' if on else ''}</details></div></li>"
    )


def _chip(claim: Claim) -> str:
    return f'<span class="verdict">{VERDICTS[KINDS[claim["holds"]]]}</span>'
