// Views: a track with its sentence and its charts. Two of them side by side compare tracks or recordings.

// Colours of lines by their meaning, as variables of the style sheet; others take turns.
const LINES = {
  sent: "sent", "frames sent": "sent", delivered: "good", "whole in time": "good", received: "received", allowed: "allowed", capacity: "capacity",
  queue: "queue", "all queues": "queue", radio: "radio", path: "radio", "link down": "down", late: "late", "dropped by choice": "choice",
  "frames dropped": "choice", other: "down", repaired: "good", "given up": "late", delay: "sent", "least so far": "capacity", "round trip": "received",
  "in this end's queue": "queue", "half the round trip": "received", "waiting here": "queue", whole: "good", "queueing delay": "queue",
};
// What the same name means among frames.
const FRAME_LINES = { repaired: "received", "given up": "radio" };
const DASHED = new Set(["allowed", "capacity", "least so far"]);
const lineColour = (panel, name, n, theme) => {
  const line = (panel === "frames" && FRAME_LINES[name]) || LINES[name];
  return line ? theme.lines[line] : flowColour(n, theme);
};

const axisText = (panel, value) => {
  if (panel === "air") return `${Math.round(value * 100)} %`;
  const { unit } = PANELS[panel];
  return unit === "bit/s" || unit === "s" ? withUnit(value, unit) : `${Number(value.toPrecision(4))}`;
};
const valueText = (panel, value) => {
  if (value === null || value === undefined) return "–";
  if (panel === "air") return `${(value * 100).toFixed(1)} %`;
  return PANELS[panel].unit === "bit/s" || PANELS[panel].unit === "s" ? withUnit(value, PANELS[panel].unit) : `${Number(value.toPrecision(3))}`;
};

// A chart of a panel. Its playhead is an element of its own: moving it draws nothing again.
const makeChart = (holder, recording, { panel, shown }, marks, state) => {
  const { title, unit } = PANELS[panel];
  const heading = make("h3", { textContent: title });
  heading.append(make("small", {}, unit));
  const place = make("div", { className: "plot" });
  const legend = make("ul", { className: "legend" });
  const box = make("section", { className: "chart-box" }, heading, place, legend);
  holder.append(box);
  const head = make("div", { className: "playhead" });
  const axis = (more) => ({ stroke: () => state.theme.soft, grid: { stroke: () => state.theme.line, width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif", ...more });
  const drawMarks = (u) => {
    const { ctx } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    const ratio = window.devicePixelRatio || 1;
    Object.assign(ctx, { strokeStyle: state.theme.accent, fillStyle: state.theme.ink, lineWidth: ratio, font: `${11 * ratio}px system-ui, sans-serif`, textBaseline: "top", textAlign: "left" });
    ctx.setLineDash([4 * ratio, 3 * ratio]);
    const free = []; // the right end of the last label in each row
    const seen = marks().filter(({ t }) => t >= u.scales.x.min && t <= u.scales.x.max);
    // Many of them are ticks at the top, which do not cover what is drawn.
    const isDense = seen.length > u.bbox.width / (24 * ratio);
    for (const { t, until, text } of seen) {
      const x = Math.round(u.valToPos(t, "x", true)) + 0.5;
      if (until > t) {
        ctx.fillStyle = state.theme.gap;
        ctx.fillRect(x, u.bbox.top, Math.max(1, u.valToPos(until, "x", true) - x), u.bbox.height);
      }
      ctx.beginPath();
      ctx.moveTo(x, u.bbox.top);
      ctx.lineTo(x, u.bbox.top + (isDense ? 7 * ratio : u.bbox.height));
      ctx.stroke();
      if (panel !== "rate" || isDense) continue;
      const wide = ctx.measureText(text).width;
      const left = x + 4 * ratio + wide > u.bbox.left + u.bbox.width ? x - 4 * ratio - wide : x + 4 * ratio;
      const row = [0, 1, 2].find((each) => (free[each] ?? -Infinity) < left);
      if (row === undefined) continue;
      ctx.globalAlpha = 0.85;
      ctx.fillStyle = state.theme.panel;
      ctx.fillRect(left - ratio, u.bbox.top + (2 + row * 14) * ratio, wide + 2 * ratio, 13 * ratio);
      ctx.globalAlpha = 1;
      ctx.fillStyle = state.theme.ink;
      ctx.fillText(text, left, u.bbox.top + (3 + row * 14) * ratio);
      free[row] = left + wide + 8 * ratio;
    }
    ctx.restore();
  };
  const series = shown.map(({ name }, n) => ({
    label: name,
    stroke: () => lineColour(panel, name, n, state.theme),
    width: DASHED.has(name) ? 1.5 : 2,
    dash: DASHED.has(name) ? [6, 4] : undefined,
    points: { show: false },
    spanGaps: true, // streams of a capture have intervals of their own
    fill: panel === "loss" || panel === "queue" ? () => `${lineColour(panel, name, n, state.theme)}33` : undefined,
    paths: panel === "loss" ? uPlot.paths.stepped({ align: -1 }) : undefined,
  }));
  const isOn = shown.map(() => true);
  const least = { air: 0.1, loss: 1, queue: 2, frames: 1 }[panel] ?? 0;
  const highest = (some, from, to) => {
    let high = 0;
    for (const { values } of some) for (let i = from; i < to; i++) if (values[i] > high) high = values[i];
    return high;
  };
  // The end of the scale: above all that is seen. A rate allowed, or a capacity, far above what is sent does not flatten the rest.
  const top = () => {
    const [start, end] = state.span();
    const [from, to] = [Math.max(0, firstAfter(recording.times, start) - 1), firstAfter(recording.times, end)];
    const seen = shown.filter((_, n) => isOn[n]);
    let high = highest(seen, from, to);
    if (panel === "rate") high = Math.min(high, 3 * highest(seen.filter(({ name }) => !DASHED.has(name)), from, to) || Infinity);
    return Math.max(least, high * (panel === "rate" && marks().length ? 1.25 : 1.08)) || 1;
  };
  state.tops.set(panel, (state.tops.get(panel) ?? new Set()).add(top));
  // With several samples for a pixel, thin lines are clearer, and much faster to draw.
  const thin = (u) => {
    const [start, end] = state.span();
    const count = firstAfter(recording.times, end) - firstAfter(recording.times, start);
    const width = count > u.bbox.width ? 1 : 0;
    u.series.forEach((each, n) => n && (each.width = width || (DASHED.has(each.label) ? 1.5 : 2)));
  };
  const plot = new uPlot({
    width: Math.max(200, place.clientWidth),
    height: 190,
    legend: { show: false },
    cursor: { drag: { setScale: false, x: false, y: false }, points: { show: false }, y: false },
    scales: {
      x: { time: false, range: () => state.span() },
      // Charts side by side have equal scales.
      y: { range: () => [0, Math.max(...[...state.tops.get(panel)].map((each) => each()))] },
    },
    axes: [
      axis({ space: 70, size: 26, values: (u, times) => times.map((time) => `${Number(time.toFixed(6))} s`) }),
      axis({ space: 36, size: 84, values: (u, values) => values.map((value) => axisText(panel, value)) }),
    ],
    series: [{}, ...series],
    hooks: { drawClear: [thin], draw: [drawMarks], setScale: [state.invalidate], setSize: [state.invalidate] },
  }, [recording.times, ...shown.map(({ values }) => values)], place);
  plot.over.append(head);
  const canvas = plot.root.querySelector("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${title} in ${unit} over time`);
  // A press moves the time, and so does a drag.
  const seek = (event) => state.scrubTo(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
  plot.over.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    plot.over.setPointerCapture(event.pointerId);
    seek(event);
  });
  plot.over.addEventListener("pointermove", (event) => event.buttons === 1 && seek(event));
  const outputs = shown.map(({ name }, n) => {
    const input = make("input", { type: "checkbox", checked: true });
    input.addEventListener("change", () => {
      isOn[n] = input.checked;
      plot.setSeries(n + 1, { show: input.checked });
      state.refresh();
    });
    const swatch = make("span", { className: DASHED.has(name) ? "swatch dashed" : "swatch" });
    const output = make("output");
    legend.append(make("li", {}, make("label", {}, input, swatch, make("span", { className: "name" }, name), output)));
    return { output, swatch };
  });
  const resize = new ResizeObserver(() => requestAnimationFrame(() => place.clientWidth && plot.setSize({ width: place.clientWidth, height: 190 })));
  resize.observe(place);

  const values = () => {
    const index = recording.at(state.time);
    return shown.map((each) => valueText(panel, each.values.slice(Math.max(0, index - 3), index + 1).findLast((value) => value !== null)));
  };
  const paint = () => outputs.forEach(({ swatch }, n) => swatch.style.setProperty("--colour", lineColour(panel, shown[n].name, n, state.theme)));
  paint();
  return {
    // Its width in pixels.
    width: () => plot.bbox.width,
    // New samples, another span or other colours.
    redraw: () => plot.setData([recording.times, ...shown.map((each) => each.values)]),
    repaint: () => {
      paint();
      plot.redraw(false, true);
    },
    // Another time.
    move: () => {
      // Nothing is read from the document here: each chart's change of it would make the next one wait for the layout.
      const x = plot.valToPos(state.time, "x");
      head.hidden = !(x >= 0 && x <= plot.bbox.width / devicePixelRatio);
      head.style.transform = `translateX(${x}px)`;
      const texts = values();
      outputs.forEach(({ output }, n) => output.textContent !== texts[n] && (output.textContent = texts[n]));
    },
    describe: () => {
      const texts = values().map((text, n) => `${shown[n].name} ${text}`);
      canvas.setAttribute("aria-label", `${title} in ${unit} over time; at ${state.time.toFixed(1)} s: ${texts.join(", ")}`);
    },
    remove: () => {
      resize.disconnect();
      state.tops.get(panel).delete(top);
      plot.destroy();
    },
  };
};

// A view of a track of a recording, with a choice of the track.
const makeView = (recording, first, name, state, changed) => {
  const view = { recording, track: Math.max(0, Math.min(first, recording.tracks.length - 1)) };
  const select = make("select");
  select.append(...recording.tracks.map((track, n) => new Option(`${track.kind} ${track.name}${track.is_over ? " (ended)" : ""}`, n)));
  select.value = view.track;
  select.addEventListener("change", () => changed(Number(select.value)));
  const sentence = make("p", { className: "sentence" });
  sentence.setAttribute("aria-live", "polite");
  const choice = make("label", { className: "choice" }, make("span", { className: "hidden" }, "Track "), select);
  const events = make("p", { className: "events note" });
  const charts = make("div", { className: "charts" });
  view.box = make("article", { className: "view" }, make("div", { className: "heading" }, make("h2", {}, name), choice), sentence, events, charts);
  view.below = events;
  choice.hidden = recording.tracks.length < 2;
  let drawn = [];
  let panels = "";
  view.has = (panel) => recording.panels(view.track).some((each) => each.panel === panel);
  // Charts of the same kind are at the same height, also if another view has one that this one has not.
  view.fill = (others) => {
    const found = recording.panels(view.track);
    const places = Object.keys(PANELS).filter((panel) => others.some((other) => other.has(panel)));
    const key = [places, ...found.map(({ panel, shown }) => `${panel}:${shown.map((each) => each.name).join()}`)].join("|");
    if (key === panels) return;
    panels = key;
    drawn.forEach((chart) => chart.remove());
    charts.replaceChildren();
    const marks = () => recording.marksOf(view.track);
    drawn = places.flatMap((panel) => {
      const own = found.find((each) => each.panel === panel);
      if (own) return [makeChart(charts, recording, own, marks, state)];
      charts.append(make("section", { className: "chart-box" }, make("h3", {}, PANELS[panel].title), make("p", { className: "note" }, "Nothing of this kind is recorded here.")));
      return [];
    });
  };
  view.redraw = (others) => {
    view.fill(others);
    drawn.forEach((chart) => chart.redraw());
  };
  view.repaint = () => drawn.forEach((chart) => chart.repaint());
  view.move = () => {
    drawn.forEach((chart) => chart.move());
    const text = recording.sentence(view.track, state.time);
    if (sentence.textContent !== text) sentence.textContent = text;
    sentence.classList.toggle("trouble", /^(no data|there is no|the link is down)/.test(text));
    const last = recording.marksOf(view.track).filter((mark) => mark.t <= state.time).slice(-3);
    const shown = last.map((mark) => `${mark.t.toFixed(2)} s ${mark.text}`).join(" · ");
    if (events.textContent !== shown) events.textContent = shown;
  };
  view.width = () => drawn[0]?.width() || 600;
  view.describe = () => drawn.forEach((chart) => chart.describe());
  view.remove = () => drawn.forEach((chart) => chart.remove());
  return view;
};
