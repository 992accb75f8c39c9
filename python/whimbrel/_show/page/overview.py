"""The head of the page: what was learnt, counts, contents and filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from whimbrel._show.page.items import finding
from whimbrel._show.page.sections import KINDS, SOURCES, VERDICTS, Section, ShownTable, asset
from whimbrel._values import printed

_LEARNT = 4
"""Sentences of a section that are shown at once; the others on demand."""


def bar(sections: Sequence[Section], manifest: Mapping[str, Any]) -> str:
    """The bar at the top of the window."""
    links = "".join(f'<a href="#{section.anchor}">{escape(section.folder)}</a>' for section in sections)
    origin = '<a href="#origin">origin</a>' if manifest else ""
    version = (
        f'<span class="version">{escape(str(manifest["version"]))}</span>' if "version" in manifest else ""
    )
    return (
        '<a class="skip" href="#results">To the results</a>'
        '<header class="bar"><div class="wide">'
        f'<a class="brand" href="#top">{_BIRD}<span>Whimbrel</span></a>{version}'
        f'<nav aria-label="Sections">{links}{origin}</nav>'
        '<button id="theme" type="button" aria-label="Light or dark" title="Light or dark">◐</button>'
        "</div></header>"
    )


def overview(sections: Sequence[Section]) -> str:
    """Results, then counts: claims by source, printed numbers, tables, runs."""
    claims = [claim for section in sections for claim in section.claims]
    tables = [table for section in sections for table in section.tables]
    agreement = printed.together(_agreement(table) for table in tables)
    runs = sum(int(table.stored.about.get("runs", 0)) for table in tables)
    noun = "table or figure" if len(tables) == 1 else "tables and figures"
    cards = [(noun, str(len(tables)), ""), ("runs", f"{runs:,}".replace(",", "\u202f"), "")]
    if agreement.numbers:
        value = f"{agreement.inside} of {agreement.numbers}"
        off = f"median difference {printed.percent(agreement.median)}" if agreement.differences else ""
        cards.insert(0, ("printed numbers within our intervals", value, off))
    for source, label in reversed(SOURCES):
        mine = [claim for claim in claims if claim["source"] == source]
        if mine:
            held = sum(claim["holds"] is True for claim in mine)
            undecided = sum(claim["holds"] is None for claim in mine)
            failed = len(mine) - held - undecided
            rest = f"{failed} {'does' if failed == 1 else 'do'} not, {undecided} undecided"
            cards.insert(0, (f"{label} hold", f"{held} of {len(mine)}", rest))
    shown = "".join(
        f'<li class="card"><b>{value}</b><span>{label}</span><small>{more}</small></li>'
        for label, value, more in cards
    )
    quick = [bool(table.stored.about.get("quick")) for table in tables]
    title = "Results of a quick pass" if all(quick) else "Results"
    some = "All" if all(quick) else "Some"
    warning = (
        f'<p class="warning">{some} of these results come from a quick pass (<code>--quick</code>): shorter'
        " runs, fewer repetitions. They are less precise, and leave more claims undecided.</p>"
        if any(quick)
        else ""
    )
    return (
        f'<section class="hero" id="top" aria-label="Overview"><h1>{title}</h1>{warning}{_learnt(sections)}'
        f'<h2>How sure it is</h2><ul class="cards">{shown}</ul>{asset("guide.html")}</section>'
    )


def _learnt(sections: Sequence[Section]) -> str:
    """A sentence for each table and figure that has one, the first of each section at once."""
    parts = []
    for section in sections:
        lines = [
            f'<li><a href="#{section.item_anchor(table.stored.sheet.key)}">'
            f"{escape(table.stored.sheet.title)}</a>: {escape(sentence)}</li>"
            for table in section.tables
            if (sentence := finding(table))
        ]
        if not lines:
            continue
        if len(sections) > 1:
            parts.append(f"<h3>{escape(section.title)}</h3>")
        parts.append(f'<ul class="learnt">{"".join(lines[:_LEARNT])}</ul>')
        if rest := lines[_LEARNT:]:
            parts.append(
                f'<details class="more"><summary>{len(rest)} more</summary>'
                f'<ul class="learnt">{"".join(rest)}</ul></details>'
            )
    return f"<h2>What was learnt</h2>{''.join(parts)}" if parts else ""


def contents(sections: Sequence[Section], manifest: Mapping[str, Any]) -> str:
    """The table of contents: papers, their tables and figures with the verdicts on them, their claims."""
    parts = []
    for section in sections:
        lines = "".join(_entry(section, table) for table in section.tables)
        claims = "".join(
            f'<li><a href="#{section.anchor}-claims-{source}">{label.capitalize()}</a></li>'
            for source, label in SOURCES
            if any(claim["source"] == source for claim in section.claims)
        )
        parts.append(
            f'<li><a href="#{section.anchor}">{escape(section.title)}</a><ol>{lines}{claims}</ol></li>'
        )
    if manifest:
        parts.append('<li><a href="#origin">Origin</a></li>')
    return (
        '<nav class="contents" aria-label="Contents"><details open><summary>Contents</summary>'
        f"<ol>{''.join(parts)}</ol></details></nav>"
    )


def _entry(section: Section, table: ShownTable) -> str:
    sheet = table.stored.sheet
    mine = section.claims_on(sheet.key)
    counts = [(kind, sum(claim["holds"] is holds for claim in mine)) for holds, kind in KINDS.items()]
    chips = "".join(
        f'<span class="chip {kind}" title="{count} {VERDICTS[kind]}">{count}'
        f'<span class="hidden"> {VERDICTS[kind]}</span></span>'
        for kind, count in counts
        if count
    )
    source = f"{escape(sheet.source)}: " if sheet.source and sheet.source != "not in the paper" else ""
    return (
        f'<li data-item="{section.item_anchor(sheet.key)}"><a href="#{section.item_anchor(sheet.key)}">'
        f"{source}{escape(sheet.title)}</a> {chips}</li>"
    )


def filters(sections: Sequence[Section]) -> str:
    """The form that chooses what is shown; a script answers it, and without one it stays hidden."""
    claims = [claim for section in sections for claim in section.claims]
    verdicts = "".join(
        f'<label class="{kind}"><input type="checkbox" name="verdict" value="{kind}" checked> '
        f"{VERDICTS[kind]} ({sum(claim['holds'] is holds for claim in claims)})</label>"
        for holds, kind in KINDS.items()
    )
    present = [(source, label) for source, label in SOURCES if any(c["source"] == source for c in claims)]
    whose = "".join(f'<option value="{source}">{label}</option>' for source, label in present)
    groups = "".join(
        f'<optgroup label="{escape(section.title)}">'
        + "".join(
            f'<option value="{section.item_anchor(table.stored.sheet.key)}">'
            f"{escape(table.stored.sheet.key)}: {escape(table.stored.sheet.title)}</option>"
            for table in section.tables
        )
        + "</optgroup>"
        for section in sections
    )
    judged = (
        f"<fieldset><legend>Claims</legend>{verdicts}</fieldset>"
        f'<label>From <select name="source"><option value="">paper and ours</option>{whose}</select></label>'
        if claims
        else ""
    )
    return (
        '<form id="filters" hidden aria-label="Filters">'
        f"{judged}"
        f'<label>Item <select name="item"><option value="">all</option>{groups}</select></label>'
        '<label>Words <input type="search" name="words" autocomplete="off"></label>'
        '<button type="reset">Show all</button>'
        '<button type="button" id="fold" aria-pressed="false">Collapse items</button>'
        '<output id="shown" aria-live="polite"></output></form>'
    )


def _agreement(table: ShownTable) -> printed.Agreement:
    about = table.stored.about.get("printed")
    return printed.stored(about["all"]) if about else printed.Agreement(0, 0, (), "")


# A curved bill and a wing: two strokes.
_BIRD = (
    '<svg viewBox="0 0 32 20" aria-hidden="true"><path d="M1 17c5-1 7-9 14-11 3-1 6-1 8 1 3 0 6 2 8 7" '
    'fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"/>'
    '<path d="M9 12c4 4 9 4 13-3" fill="none" stroke="currentColor" stroke-width="2" '
    'stroke-linecap="round"/></svg>'
)
