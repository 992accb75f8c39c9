// The two charts below the map: goodput over the whole run, and the frames of each station in a window around the current time.

const AXIS = 18; // height of the labels of time

// Labels and grid lines of time between two times over a width that begins at `left`.
const drawTimes = (context, theme, from, to, left, width, top, bottom) => {
  const step = niceStep(((to - from) * 90) / width);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  Object.assign(context, { strokeStyle: theme.line, fillStyle: theme.soft, lineWidth: 1, textAlign: "center" });
  for (let k = Math.ceil(Math.max(0, from) / step - 1e-9); k * step <= to + step * 1e-6; k++) {
    const x = left + ((k * step - from) / (to - from)) * width;
    strokeLine(context, x, top, x, bottom);
    const text = `${(k * step).toFixed(digits)} s`;
    const half = context.measureText(text).width / 2;
    context.fillText(text, limit(x, left + half, left + width - half), bottom + AXIS / 2);
  }
  context.textAlign = "left";
};

// The whole run: goodput of the shown flows, the part without frames, the current time.
const makeRunChart = (run, state) => {
  const target = surface(element("run"), state.invalidate);
  const background = layer();
  const LEFT = 8;
  const plotWidth = () => Math.max(1, target.width - 2 * LEFT);
  const x = (time) => LEFT + (time / run.duration) * plotWidth();
  const goTo = (at) => state.setTime(((at.x - LEFT) / plotWidth()) * run.duration);
  gestures(target.canvas, {
    drag: (_, to) => goTo(to),
    click: goTo,
    hover: (at, event) => showTip(event, at && tipText(((at.x - LEFT) / plotWidth()) * run.duration)),
  });
  const tipText = (time) => {
    if (time < 0 || time > run.duration) return "";
    const shown = [...state.flows].slice(0, 12).map((f) => `${run.flows[f].name}: ${rateText(goodputAt(run, run.flows[f], time))}`);
    return [`${time.toFixed(3)} s`, ...shown].join("\n");
  };

  // Goodput as steps; the highest interval of each pixel, if there are more intervals than pixels.
  const drawCurve = (c, f, y) => {
    const { goodput } = run.flows[f];
    const every = Math.max(1, Math.floor(goodput.length / plotWidth()));
    Object.assign(c, { strokeStyle: flowColour(f, state.theme), lineWidth: 1.75 });
    c.setLineDash(flowDash(f, state.theme));
    c.beginPath();
    for (let i = 0; i < goodput.length; i += every) {
      const most = Math.max(...goodput.slice(i, i + every));
      c.lineTo(x(i * run.interval), y(most));
      c.lineTo(x(Math.min((i + every) * run.interval, run.duration)), y(most));
    }
    c.stroke();
    c.setLineDash([]);
  };
  const drawBackground = (c) => {
    const { theme } = state;
    const bottom = target.height - AXIS;
    c.fillStyle = theme.nothing;
    if (run.framesEnd) c.fillRect(x(run.framesUntil), 0, x(run.duration) - x(run.framesUntil), bottom);
    c.fillStyle = theme.line;
    c.globalAlpha = 0.5;
    if (run.measured_from > 0) c.fillRect(LEFT, 0, x(run.measured_from) - LEFT, bottom);
    c.globalAlpha = 1;
    drawTimes(c, theme, 0, run.duration, LEFT, plotWidth(), 0, bottom);
    const most = [...state.flows].reduce((top, f) => run.flows[f].goodput.reduce((a, b) => Math.max(a, b), top), 0);
    for (const f of state.flows) drawCurve(c, f, (rate) => bottom - 1 - (most ? rate / most : 0) * (bottom - AXIS - 4));
    haloText(c, theme, most ? `goodput up to ${rateText(most)}` : "no goodput of the selected flows", LEFT + 4, 9);
    if (run.measured_from > 0 && x(run.measured_from) > 95) haloText(c, theme, "not measured", LEFT + 4, bottom - 9);
    if (run.framesEnd) drawEnd(c);
  };
  // The statement where the frames end, on its left if there is room.
  const drawEnd = (c) => {
    const text = `frames recorded up to ${Number(run.framesUntil.toFixed(3))} s`;
    const { width } = c.measureText(text);
    const right = limit(x(run.framesUntil) - 4, LEFT + 4 + width, target.width - LEFT);
    haloText(c, state.theme, text, right - width, right - width > LEFT + 170 ? 9 : 24);
  };
  const draw = () => {
    const context = begin(target);
    background(target, `${[...state.flows]} ${state.theme.page}`, drawBackground);
    const wide = Math.max(3, (state.window / run.duration) * plotWidth());
    Object.assign(context, { fillStyle: state.theme.accent, globalAlpha: 0.3 });
    context.fillRect(x(state.time) - wide / 2, 0, wide, target.height - AXIS);
    context.globalAlpha = 1;
    context.fillRect(x(state.time) - 1, 0, 2, target.height - AXIS);
    fillCircle(context, x(state.time), target.height - AXIS, 5);
  };
  return { draw };
};

// One lane for each station that transmits near the current time, which is in the middle; frames are bars.
const makeAirChart = (run, state) => {
  const { frames } = run;
  const target = surface(element("air"), state.invalidate);
  const scroller = element("air-box");
  const LANE = [15, 26]; // least and greatest height of a lane
  let lanes = { key: null, nodes: [] };
  let height = LANE[0];
  scroller.addEventListener("scroll", state.invalidate);
  const left = () => (target.width < 500 ? 66 : 92);
  const plotWidth = () => Math.max(1, target.width - left() - 6);
  const x = (time) => left() + (0.5 + (time - state.time) / state.window) * plotWidth();
  const timeAt = (px) => state.time + ((px - left()) / plotWidth() - 0.5) * state.window;

  const frameAt = (at) => {
    const n = lanes.nodes[Math.floor((at.y + scroller.scrollTop) / height)];
    const reach = (3 / plotWidth()) * state.window; // three pixels
    const middle = timeAt(at.x);
    if (at.x < left() || n === undefined || tooFast()) return -1;
    const near = framesBetween(frames, middle - reach, middle + reach).filter((i) => frames.from[i] === n && state.shows(i));
    const distance = (i) => Math.max(0, frames.start[i] - middle, middle - frames.start[i] - frames.duration[i]);
    return near.reduce((best, i) => (best < 0 || distance(i) < distance(best) ? i : best), -1);
  };
  gestures(target.canvas, {
    drag: (from, to) => {
      scroller.scrollTop -= to.y - from.y;
      state.setTime(state.time - ((to.x - from.x) / plotWidth()) * state.window);
    },
    click: (at) => {
      const i = frameAt(at);
      if (i >= 0 || at.x >= left()) state.setTime(i >= 0 ? frames.start[i] : timeAt(at.x));
    },
    hover: (at, event) => {
      const i = at ? frameAt(at) : -1;
      showTip(event, i < 0 ? "" : [frameTitle(run, i), `start ${frames.start[i].toFixed(6)} s`, ...frameFacts(run, i)].join("\n"));
    },
    wheel: (_, event) => {
      if (event.deltaX) state.setTime(state.time + (event.deltaX / plotWidth()) * state.window);
      if (event.deltaY) state.setWindow(state.window * Math.exp(limit(event.deltaY, -100, 100) * 0.003));
    },
  });

  // A window that passes in less than a quarter of a second only flickers.
  const tooFast = () => state.playing && state.speed > 4 * state.window;
  // The lanes change once per window, so that they do not jump: those of any window with its middle in the same block.
  const findLanes = () => {
    const block = Math.floor(state.time / state.window);
    const key = `${block} ${state.window} ${[...state.kinds]}`;
    if (key === lanes.key) return;
    const near = framesBetween(frames, (block - 0.5) * state.window, (block + 1.5) * state.window).filter(state.shows);
    lanes = { key, nodes: [...new Set(near.map((i) => frames.from[i]))].sort((a, b) => a - b) };
  };
  const drawBar = (context, i, top) => {
    const from = Math.max(x(frames.start[i]), left());
    const wide = Math.max(1, Math.min(x(frames.start[i] + frames.duration[i]), target.width) - from);
    if (from + wide < left()) return;
    context.fillStyle = kindColour(frames.kind[i], state.theme);
    context.fillRect(from, top + 2, wide, height - 4);
    if (frames.ok[i] === 0) {
      context.fillStyle = state.theme.hatch;
      context.fillRect(from, top + 2, wide, height - 4);
    }
    const text = run.kinds[frames.kind[i]] || "";
    if (frames.ok[i] === 0 || wide < 24 || context.measureText(text).width > wide - 6) return;
    context.fillStyle = state.theme.panel;
    context.fillText(text, from + 4, top + height / 2 + 1);
  };
  const message = () => {
    if (!frames.count) return "No frames were recorded in this run.";
    if (tooFast()) return `At this speed the window passes in ${durationText(state.window / state.speed)}. Pause, or match the speed.`;
    if (state.time - state.window / 2 > run.framesUntil) return `Frames are recorded up to ${Number(run.framesUntil.toFixed(6))} s only.`;
    return lanes.nodes.length ? "" : "No station transmits near this time.";
  };
  const drawLanes = (context, bottom) => {
    const bars = framesBetween(frames, timeAt(left()), timeAt(target.width)).filter(state.shows);
    const laneOf = new Map(lanes.nodes.map((n, lane) => [n, lane]));
    const topOf = (lane) => lane * height - scroller.scrollTop;
    const ended = []; // the pixel up to which each lane is painted: shorter frames within it cannot be seen
    for (const i of bars) {
      const lane = laneOf.get(frames.from[i]);
      const end = x(frames.start[i] + frames.duration[i]);
      if (lane === undefined || topOf(lane) > bottom || topOf(lane) < -height || end < (ended[lane] ?? -1) + 0.4) continue;
      ended[lane] = end;
      drawBar(context, i, topOf(lane));
    }
    context.clearRect(0, 0, left() - 2, bottom);
    context.textAlign = "right";
    lanes.nodes.forEach((n, lane) => {
      context.strokeStyle = state.theme.line;
      strokeLine(context, 0, topOf(lane) + height, target.width, topOf(lane) + height);
      context.fillStyle = n === state.node ? state.theme.accent : state.theme.ink;
      context.fillText(shorten(context, nodeName(run, n), left() - 12), left() - 8, topOf(lane) + height / 2 + 1);
    });
    context.textAlign = "left";
  };
  // The end of a name that is too long: names of copies of a node differ there.
  const shorten = (context, text, room) => {
    if (context.measureText(text).width <= room) return text;
    let cut = 1;
    while (cut < text.length && context.measureText(`…${text.slice(cut)}`).width > room) cut++;
    return `…${text.slice(cut)}`;
  };
  const draw = () => {
    const context = begin(target);
    const bottom = target.height - AXIS;
    findLanes();
    const fast = tooFast();
    height = Math.min(LANE[1], Math.max(LANE[0], bottom / Math.max(1, lanes.nodes.length)));
    const more = fast ? 0 : Math.max(0, lanes.nodes.length * height - bottom);
    element("air-more").style.height = `${more}px`;
    const text = message();
    if (!fast) {
      drawTimes(context, state.theme, timeAt(left()), timeAt(left() + plotWidth()), left(), plotWidth(), 0, bottom);
      context.fillStyle = state.theme.nothing;
      const end = Math.max(left(), x(run.framesUntil));
      if (run.framesEnd && end < target.width) context.fillRect(end, 0, target.width - end, bottom);
      context.save();
      context.beginPath();
      context.rect(0, 0, target.width, bottom);
      context.clip();
      if (frames.count) drawLanes(context, bottom);
      context.restore();
      context.fillStyle = state.theme.accent;
      context.fillRect(x(state.time) - 1, 0, 2, bottom);
    }
    if (!text) return;
    Object.assign(context, { textAlign: "center", font: "13px system-ui, sans-serif" });
    const lines = context.measureText(text).width > plotWidth() - 10 ? text.split(/(?<=[.,]) | (?=up )/) : [text];
    lines.forEach((line, k) => haloText(context, state.theme, line, left() + plotWidth() / 2, bottom / 2 + 18 * (k - (lines.length - 1) / 2)));
    context.textAlign = "left";
  };
  return { draw };
};
