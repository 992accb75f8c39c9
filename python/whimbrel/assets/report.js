// The theme button, and the charts: each is drawn when it scrolls into view, and again when the theme changes.
(() => {
  "use strict";
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const remembered = () => {
    try { return localStorage.getItem("whimbrel-theme"); } catch { return null; }
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  if (remembered()) root.dataset.theme = remembered();

  const element = document.getElementById("charts");
  const charts = element ? JSON.parse(element.textContent) : {};
  const drawn = new Map();

  const theme = () => {
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(name).trim();
    const font = getComputedStyle(document.body).fontFamily;
    return {
      background: "transparent",
      font,
      view: { stroke: null },
      axis: {
        labelColor: colour("--soft"), titleColor: colour("--soft"), titleFontWeight: 500,
        gridColor: colour("--line"), domainColor: colour("--faint"), tickColor: colour("--faint"),
      },
      legend: { labelColor: colour("--ink"), titleColor: colour("--soft") },
      title: {
        anchor: "start", color: colour("--ink"), fontSize: 14, fontWeight: 600,
        subtitleColor: colour("--soft"), subtitleFontSize: 11, subtitlePadding: 4,
      },
      text: { color: colour("--soft") },
      rule: { color: colour("--soft") },
      style: { paper: { color: colour("--ink"), opacity: 1 } },
    };
  };

  const draw = async (place) => {
    const specification = { ...charts[place.dataset.chart], autosize: { type: "fit-x", contains: "padding" } };
    if (specification.layer || specification.mark) specification.width = "container";
    const before = drawn.get(place);
    drawn.set(place, null);
    if (before) before.finalize();
    const shown = await window.vegaEmbed(place, specification, {
      actions: false, renderer: "svg", config: theme(), tooltip: { theme: isDark() ? "dark" : "light" },
    });
    drawn.set(place, shown);
  };

  const redraw = () => drawn.forEach((_, place) => draw(place));
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("whimbrel-theme", root.dataset.theme); } catch { /* local files may not store settings */ }
    redraw();
  });
  system.addEventListener("change", () => { if (!root.dataset.theme) redraw(); });

  if (!window.vegaEmbed) return;
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        near.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: "600px" });
  document.querySelectorAll("[data-chart]").forEach((place) => near.observe(place));
})();
