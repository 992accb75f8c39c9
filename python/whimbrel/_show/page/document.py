"""The whole page: head, sections, origin of the results, scripts."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from whimbrel._base import extras
from whimbrel._base.files import cached_text
from whimbrel._show.page.claims import claims
from whimbrel._show.page.items import item
from whimbrel._show.page.overview import bar, contents, filters, overview
from whimbrel._show.page.sections import Section, asset, whole


def render(sections: Sequence[Section], manifest: Mapping[str, Any]) -> str:
    """The whole page. It fetches nothing from the network: styles, scripts and charts are embedded."""
    charts = {name: chart for section in sections for name, chart in _charts(section).items()}
    title = "Whimbrel: " + ", ".join(section.folder for section in sections)
    body = [
        bar(sections, manifest),
        '<div class="layout wide">',
        contents(sections, manifest),
        "<main>",
        overview(sections),
        filters(sections),
        '<div id="results">',
        *(_section(section) for section in sections),
        "</div>",
        _origin(manifest),
        "</main>",
        "</div>",
    ]
    return whole(title, [*body, *_scripts(charts)])


def _section(section: Section) -> str:
    parts = [
        f'<section class="paper" id="{section.anchor}">',
        f"<h2>{escape(section.title)}</h2>",
    ]
    if section.subtitle:
        parts.append(f'<p class="subtitle">{escape(section.subtitle)}</p>')
    if section.about:
        parts.append(f'<p class="lead">{escape(section.about)}</p>')
    parts += [item(section, table) for table in section.tables]
    parts.append(claims(section))
    if section.command:
        parts.append(f'<p class="again">Again: <code>{escape(section.command)}</code></p>')
    parts.append("</section>")
    return "\n".join(part for part in parts if part)


def _charts(section: Section) -> dict[str, Mapping[str, Any]]:
    return {
        f"{section.folder}/{name}": chart for table in section.tables for name, chart in table.charts.items()
    }


def _scripts(charts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    scripts = [f"<script>\n{asset('report.js')}{asset('charts.js')}</script>"]
    if charts:
        specifications = json.dumps(charts, sort_keys=True, ensure_ascii=False).replace("<", "\\u003c")
        libraries = _drawing_libraries()
        scripts = [
            f'<script type="application/json" id="charts">{specifications}</script>',
            f"<script>\n{libraries}\n</script>",
            *scripts,
        ]
    return scripts


@functools.cache
def _drawing_libraries() -> str:
    """Vega, Vega-Lite and vega-embed as one script, with `vegaEmbed` as a global name."""
    vl_convert = extras.load("vl_convert", "charts", "a report")
    # Bundling takes longer than most sweeps.
    bundle = cached_text(
        f"vega-{vl_convert.__version__}.js",
        lambda: str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")),
    )
    # A closing tag inside would end the page's script early.
    return bundle.replace("</script", "<\\/script")


_FORMS = {"quick": "quick pass", "full": "full", "mixed": "some items full, others of a quick pass"}


def _origin(manifest: Mapping[str, Any]) -> str:
    if not manifest:
        return ""
    machine = manifest.get("machine", {})
    facts = {
        "Form": _FORMS.get(str(manifest.get("form"))),
        "Command": manifest.get("command"),
        "Version": manifest.get("version"),
        "Commit": manifest.get("git"),
        "Made": manifest.get("created"),
        "Machine": ", ".join(str(machine[key]) for key in ("processor", "system") if machine.get(key)),
        "Python": machine.get("python"),
    }
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(fact))}</dd>" for name, fact in facts.items() if fact
    )
    items = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{item["seed"]}</td><td>{item["runs"]}</td>'
        f"<td>{'–'.join(str(n) for n in dict.fromkeys(item['repetitions']))}</td>"
        f"<td>{'quick' if item['quick'] else 'full'}</td></tr>"
        for name, item in manifest.get("items", {}).items()
    )
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("item", "first seed", "runs", "repetitions", "form")
    )
    return (
        '<section id="origin"><h2>Origin</h2>'
        f'<dl>{listed}</dl><details class="numbers"><summary>Runs by item</summary>'
        '<div class="scroll" role="region" tabindex="0" aria-label="Runs by item: table">'
        '<table class="plain"><caption class="hidden">Runs by item</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{items}</tbody></table></div></details>"
        '<p class="files"><a href="manifest.json">manifest.json</a></p></section>'
    )
