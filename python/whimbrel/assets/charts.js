// The charts: each is drawn when it comes near, and again when the theme or the room for it changes.
// The wheel is the page's. A part of a line chart is chosen by dragging over it, or with its buttons.
(() => {
  "use strict";
  if (!window.vegaEmbed) return;
  const element = document.getElementById("charts");
  const charts = element ? JSON.parse(element.textContent) : {};
  const drawn = new Map();
  const NARROW = 520;

  const theme = (narrow) => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    return {
      background: "transparent",
      font: getComputedStyle(document.body).fontFamily,
      view: { stroke: null },
      axis: {
        labelColor: colour("--soft"), titleColor: colour("--soft"), titleFontWeight: 500,
        gridColor: colour("--line"), domainColor: colour("--faint"), tickColor: colour("--faint"),
        labelLimit: narrow ? 110 : 180, labelFontSize: 11, titleFontSize: 11,
        labelOverlap: "greedy", labelSeparation: 6, // ticks do not touch
      },
      legend: {
        labelColor: colour("--ink"), titleColor: colour("--soft"), labelLimit: 200, labelFontSize: 11,
        ...(narrow ? { orient: "bottom", columns: 2 } : {}),
      },
      text: { color: colour("--soft") },
      rule: { color: colour("--soft") },
      style: { paper: { color: colour("--ink"), opacity: 1 }, event: { color: colour("--soft") } },
    };
  };

  // The whole range of the horizontal axis of a line chart; undefined for other charts.
  const range = (specification) => {
    if (!(specification.params || []).some((each) => each.name === "zoomed")) return undefined;
    const scale = (layer) => layer.encoding && layer.encoding.x && layer.encoding.x.scale;
    const layer = (specification.layer || []).find((each) => scale(each) && scale(each).domain);
    return layer && scale(layer).domain;
  };

  // Shows a part of the axis, which stays within the range of the data and above a thousandth of it.
  const show = (place, part) => {
    const { view, whole } = drawn.get(place);
    let zoomed = null;
    if (part) {
      const wide = Math.min(Math.max(part[1] - part[0], (whole[1] - whole[0]) / 1000), whole[1] - whole[0]);
      const low = Math.min(Math.max(part[0], whole[0]), whole[1] - wide);
      if (wide < whole[1] - whole[0]) zoomed = [low, low + wide];
    }
    place.parentElement.querySelectorAll("[data-zoom]").forEach((button) => {
      // Not `disabled`, which would take the focus from the button that was pressed.
      if (button.dataset.zoom !== "in") button.setAttribute("aria-disabled", String(zoomed === null));
    });
    return view.signal("zoomed", zoomed).runAsync();
  };

  const step = (place, how) => {
    const { view, whole } = drawn.get(place);
    if (!view) return undefined; // it is still being drawn
    const [low, high] = view.signal("zoomed") || whole;
    const wide = high - low;
    const next = {
      in: [low + wide / 4, high - wide / 4], out: [low - wide / 2, high + wide / 2],
      left: [low - wide / 4, high - wide / 4], right: [low + wide / 4, high + wide / 4], whole: null,
    };
    return show(place, next[how]);
  };

  const BUTTONS = [
    ["in", "+", "Zoom in"], ["out", "−", "Zoom out"], ["left", "←", "Earlier part"], ["right", "→", "Later part"],
    ["whole", "Whole range", "Whole range"],
  ];

  const addButtons = (place) => {
    const tools = place.parentElement.querySelector(".tools");
    if (tools.querySelector(".zoom")) return;
    const group = document.createElement("span");
    group.className = "zoom";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Part of the horizontal axis");
    for (const [how, text, label] of BUTTONS) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: text, title: label });
      button.dataset.zoom = how;
      button.setAttribute("aria-label", label);
      button.addEventListener("click", () => {
        if (button.getAttribute("aria-disabled") !== "true") step(place, how);
      });
      group.append(button);
    }
    const choice = document.createElement("span");
    choice.className = "choice";
    tools.prepend(group, choice);
  };

  // A rectangle that was drawn over the chart becomes the part that is shown.
  const watchBrush = (place) => {
    const { view } = drawn.get(place);
    view.addEventListener("dblclick", () => step(place, "whole"));
    const finish = () => {
      const chosen = view.signal("brush");
      const part = chosen && Object.values(chosen)[0];
      if (!part) return;
      view.signal("brush_x", []).runAsync();
      show(place, [Math.min(...part), Math.max(...part)]);
    };
    // Vega takes the end of the gesture in first.
    const ended = () => setTimeout(finish);
    window.addEventListener("pointerup", ended);
    return () => window.removeEventListener("pointerup", ended);
  };

  const draw = async (place) => {
    const before = drawn.get(place);
    if (before && before.finalize) before.finalize();
    const narrow = place.clientWidth < NARROW;
    drawn.set(place, { narrow });
    const { title, ...rest } = charts[place.dataset.chart];
    const specification = { ...rest, autosize: { type: "fit-x", contains: "padding" } };
    if (specification.layer || specification.mark) specification.width = "container";
    const whole = range(specification);
    if (whole) addButtons(place);
    const choice = place.parentElement.querySelector(".choice");
    if (choice) choice.replaceChildren();
    const shown = await window.vegaEmbed(place, specification, {
      actions: false, renderer: "svg", config: theme(narrow), bind: choice || undefined,
      tooltip: { theme: window.whimbrelIsDark() ? "dark" : "light" },
    });
    drawn.set(place, { view: shown.view, whole, narrow });
    const forget = whole ? watchBrush(place) : () => {};
    drawn.get(place).finalize = () => { forget(); shown.finalize(); };
    if (whole) show(place, null);
  };

  document.addEventListener("themechange", () => drawn.forEach((_, place) => draw(place)));
  const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const state = drawn.get(target);
    if (state && state.view && target.clientWidth && state.narrow !== target.clientWidth < NARROW) draw(target);
  }));
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        near.unobserve(entry.target);
        draw(entry.target);
        resized.observe(entry.target);
      }
    }
  }, { rootMargin: "600px" });
  document.querySelectorAll("[data-chart]").forEach((place) => near.observe(place));
})();
