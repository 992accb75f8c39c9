// The air time of each station: its frames in a window around the current time, or its shares of a longer window.

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

  // In a long window single frames are too short for the eye; one that passes in less than a quarter of a second only flickers.
  const tooFast = () => state.window > SHARES || (state.playing && state.speed > 4 * state.window);
  // The time over which shares are taken: a quarter of a second on the wall at least.
  const sharesOver = () => Math.max(state.window, state.playing ? state.speed / 4 : 0);
  // Shares of the time on the air by station and kind of frame; from the samples where frames were not recorded.
  const shares = () => {
    const [from, to] = [Math.max(0, state.time - sharesOver()), state.time];
    const found = new Map(run.nodes.flatMap((node, n) => (node.medium === null ? [] : [[n, new Map()]])));
    if (to > run.framesUntil || !frames.count) {
      for (const [n, kinds] of found) kinds.set(0, run.airOf.get(run.nodes[n].name)?.[run.sampleAt(state.time)] ?? 0);
      return found;
    }
    for (const i of framesBetween(frames, from, to)) {
      if (!state.shows(i)) continue;
      const part = Math.min(frames.start[i] + frames.duration[i], to) - Math.max(frames.start[i], from);
      const kinds = found.get(frames.from[i]);
      kinds?.set(frames.kind[i], (kinds.get(frames.kind[i]) ?? 0) + Math.max(0, part) / Math.max(to - from, 1e-9));
    }
    return found;
  };
  const drawShares = (context, bottom) => {
    const found = [...shares()].map(([n, kinds]) => ({ n, kinds: [...kinds].sort((a, b) => a[0] - b[0]), sum: [...kinds.values()].reduce((a, b) => a + b, 0) }));
    const known = found.filter(({ n, sum }) => sum > 0 || held.has(n));
    known.forEach(({ n }) => held.add(n)); // a station that was silent for a while keeps its place
    const least = Math.min(LANE[1], Math.max(LANE[0], bottom / Math.max(1, known.length)));
    const most = niceStep(Math.max(0.05, ...known.map(({ sum }) => sum)));
    const wide = plotWidth() - 60;
    Object.assign(context, { strokeStyle: state.theme.line, fillStyle: state.theme.soft, lineWidth: 1, textAlign: "center" });
    for (let k = 0; k <= 4; k++) {
      const px = left() + (wide * k) / 4;
      strokeLine(context, px, 0, px, bottom);
      context.fillText(`${Number(((most * k) / 4) * 100).toPrecision(3).replace(/\.?0+$/, "")} %`, limit(px, left() + 12, target.width - 20), bottom + AXIS / 2);
    }
    height = least;
    const more = Math.max(0, known.length * least - bottom);
    element("air-more").style.height = `${more}px`;
    known.forEach(({ n, kinds, sum }, lane) => {
      const top = lane * least - scroller.scrollTop;
      if (top > bottom - least / 2 || top < -least) return;
      let px = left();
      for (const [kind, share] of kinds) {
        context.fillStyle = kindColour(kind, state.theme);
        context.fillRect(px, top + 2, (share / most) * wide, least - 4);
        px += (share / most) * wide;
      }
      context.textAlign = "left";
      context.fillStyle = state.theme.ink;
      context.fillText(`${(sum * 100).toFixed(1)} %`, px + 4, top + least / 2 + 1);
      context.textAlign = "right";
      context.fillStyle = n === state.node ? state.theme.accent : state.theme.ink;
      context.fillText(shorten(context, nodeName(run, n), left() - 12), left() - 8, top + least / 2 + 1);
    });
    context.textAlign = "left";
    haloText(context, state.theme, `shares of the last ${durationText(sharesOver())}`, Math.max(left() + 4, target.width - 190), bottom - 9);
    if (!known.length) haloText(context, state.theme, "No station has transmitted yet.", left() + 8, 12);
  };
  const held = new Set();
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
    } else if (frames.mpdus[i] > frames.arrived[i]) {
      // The share of the MPDUs that are lost, from below.
      const lost = (height - 4) * (1 - frames.arrived[i] / frames.mpdus[i]);
      context.fillStyle = state.theme.hatch;
      context.fillRect(from, top + height - 2 - lost, wide, lost);
    }
    const kind = run.kinds[frames.kind[i]] || "";
    const text = frames.mpdus[i] ? `${kind} × ${frames.mpdus[i]}` : kind;
    if (frames.ok[i] === 0 || wide < 24 || context.measureText(text).width > wide - 6) return;
    context.fillStyle = state.theme.panel;
    context.fillText(text, from + 4, top + height / 2 + 1);
  };
  const message = () => {
    if (!frames.count) return "No frames were recorded in this run.";
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
    if (tooFast() && (frames.count || run.airOf.size)) return drawShares(context, bottom);
    const fast = false;
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
