"use strict";
// The scene of a simulated run: its data with defaults, lookups by time, and text for quantities.
// Times are in seconds, positions in metres, nodes and flows are indices.

const element = (id) => document.getElementById(id);

// The number of sorted values that are not above `value`: the index of the first one after it.
const firstAfter = (values, value) => {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
};

// Entries with a time `t`, in lists by `key` and sorted, with the times apart for the search.
const byKey = (entries, key, count) => {
  const lists = Array.from({ length: count }, () => ({ entries: [], times: [] }));
  for (const entry of [...(entries || [])].sort((a, b) => a.t - b.t)) {
    const list = lists[entry[key]];
    if (!list) continue;
    list.entries.push(entry);
    list.times.push(entry.t);
  }
  return lists;
};
const lastAt = (list, time) => list.entries[firstAfter(list.times, time) - 1];

// Columns of frames, sorted by start, and the longest duration: a frame on the air at a time began at most that long before.
const readFrames = (given) => {
  const start = given.t || [];
  let order = null;
  for (let i = 1; i < start.length && !order; i++) if (start[i] < start[i - 1]) order = start.map((_, index) => index);
  if (order) order.sort((a, b) => start[a] - start[b]);
  const column = (name, missing) => {
    const values = given[name] || Array(start.length).fill(missing);
    return order ? order.map((index) => values[index]) : values;
  };
  const frames = {
    count: start.length, start: Float64Array.from(column("t")), duration: Float64Array.from(column("d", 0)), from: column("from", -1),
    to: column("to", -1), kind: column("kind", 0), ok: column("ok", 1), bytes: column("bytes", 0), flow: column("flow", -1),
    mpdus: column("mpdus", 0), arrived: column("arrived", 0),
  };
  frames.longest = frames.duration.reduce((longest, each) => Math.max(longest, each), 0);
  return frames;
};

// Places for nodes without positions: above the map, at the mean of their placed neighbours, one row for each hop from there.
const placeWired = (run) => {
  const placed = run.nodes.map((node) => (node.points.length ? node.points[0].slice(1) : null));
  const known = run.nodes.flatMap((node) => node.points);
  const range = (axis) => known.reduce(([low, high], point) => [Math.min(low, point[axis]), Math.max(high, point[axis])], [Infinity, -Infinity]);
  const [left, right] = known.length ? range(1) : [0, 100 * run.nodes.length];
  const [bottom, top] = known.length ? range(2) : [0, 0];
  // Near enough that they do not squeeze the others.
  const gap = Math.max(right - left, top - bottom) / 3 || (known.length && run.media[0] ? run.media[0].receive / 4 : 50);
  const neighbours = run.nodes.map(() => []);
  for (const { from, to } of run.links) {
    neighbours[from].push(to);
    neighbours[to].push(from);
  }
  for (let row = 1; placed.includes(null); row++) {
    let found = [...placed.keys()].filter((n) => !placed[n] && neighbours[n].some((other) => placed[other]));
    if (!found.length) found = [placed.indexOf(null)]; // no link leads to a placed node
    const wished = found.map((n) => {
      const xs = neighbours[n].filter((other) => placed[other]).map((other) => placed[other][0]);
      return { n, x: xs.length ? xs.reduce((a, b) => a + b) / xs.length : (left + right) / 2 };
    });
    wished.sort((a, b) => a.x - b.x);
    for (let i = 1; i < wished.length; i++) wished[i].x = Math.max(wished[i].x, wished[i - 1].x + gap);
    const overhang = Math.max(0, (wished.at(-1).x - Math.max(right, wished[0].x)) / 2);
    for (const { n, x } of wished) placed[n] = [x - overhang, top + gap * row];
  }
  run.nodes.forEach((node, n) => {
    if (!node.points.length) node.points = [[0, ...placed[n]]];
    node.times = node.points.map((point) => point[0]);
  });
};

// Fills in what the data may lack, and adds what the lookups need.
const prepare = (run, recording) => {
  run.media ||= [];
  run.links ||= [];
  const delivered = (name) => {
    const track = recording.tracks.findIndex((each) => each.kind === "flow" && each.name === name);
    return recording.series.find((series) => series.track === track && series.name === "delivered")?.values ?? [];
  };
  run.flows = (run.flows || []).map((flow) => ({ ...flow, goodput: delivered(flow.name) }));
  run.sampleAt = recording.at;
  run.airOf = new Map(recording.series.filter((series) => series.panel === "air").map((series) => [series.name, series.values]));
  run.kinds ||= [];
  run.nodes = (run.nodes || []).map((node) => ({ ...node, points: node.points || [], off: node.off || [], isPlaced: Boolean(node.points?.length) }));
  run.nodes.forEach((node, n) => node.role === "base station" && run.links.push({ name: node.name, from: node.gateway, to: n }));
  run.routesOf = byKey(run.routes, "flow", run.flows.length);
  run.associationsOf = byKey(run.associations, "node", run.nodes.length);
  run.servingOf = byKey(run.serving, "node", run.nodes.length);
  // A gap names the cell before it.
  for (const { entries } of run.servingOf) entries.forEach((entry, k) => (entry.before = entries[k - 1]?.station ?? entries[k - 1]?.before));
  run.frames = readFrames(run.frames || {});
  run.framesUntil = run.frames_until ?? run.duration;
  run.framesEnd = run.framesUntil < run.duration;
  placeWired(run);
  return run;
};

const positionAt = (node, time) => {
  const after = firstAfter(node.times, time);
  if (after === 0) return node.points[0].slice(1);
  const [t0, x0, y0] = node.points[after - 1];
  if (after === node.points.length) return [x0, y0];
  const [t1, x1, y1] = node.points[after];
  const share = (time - t0) / (t1 - t0);
  return [x0 + (x1 - x0) * share, y0 + (y1 - y0) * share];
};
// The base station that serves node `n`; null in a gap, undefined without a cell.
const servedBy = (run, n, time) => run.servingOf[n] && lastAt(run.servingOf[n], time)?.station;
// A path with the base station between a gateway and a terminal.
const overCells = (run, path, time) =>
  path.flatMap((n, k) => {
    const before = path[k - 1];
    const station = [servedBy(run, n, time), servedBy(run, before, time)].find((each) => each !== null && each !== undefined);
    const gateway = run.nodes[station]?.gateway;
    return gateway !== undefined && [n, before].includes(gateway) ? [station, n] : [n];
  });
const isOff = (node, time) => node.off.some(([from, to]) => from <= time && time < (to ?? Infinity));
const goodputAt = (run, flow, time) => flow.goodput[run.sampleAt(time)] || 0;

// The frames of which a part is between two times, in the order of their start.
const framesBetween = (frames, from, to) => {
  const found = [];
  for (let i = firstAfter(frames.start, from - frames.longest - 1e-12); i < frames.count && frames.start[i] <= to; i++) {
    if (frames.start[i] + frames.duration[i] > from || frames.start[i] === from) found.push(i);
  }
  return found;
};

// Numbers with a prefix and three significant digits, as in "1.25 Mbit/s".
const withUnit = (value, unit) => {
  const scales = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
  const [scale, prefix] = (value && scales.find(([scale]) => Math.abs(value) >= scale * 0.9995)) || [1, ""];
  return `${Number((value / scale).toPrecision(3))} ${prefix}${unit}`;
};
const rateText = (rate) => withUnit(rate, "bit/s");
const durationText = (seconds) => (seconds >= 1 ? `${Number(seconds.toPrecision(4))} s` : withUnit(seconds, "s"));
const nodeName = (run, n) => (n < 0 ? "all" : run.nodes[n] ? run.nodes[n].name : `node ${n}`);
const OUTCOMES = ["lost", "received", "no receiver"];
const frameTitle = (run, i) =>
  `${run.kinds[run.frames.kind[i]] || "frame"} ${nodeName(run, run.frames.from[i])} → ${nodeName(run, run.frames.to[i])}`;
const frameFacts = (run, i) => {
  const { frames } = run;
  const flow = run.flows[frames.flow[i]];
  const outcome = frames.mpdus[i] ? `${frames.arrived[i]} of ${frames.mpdus[i]} MPDUs received` : OUTCOMES[frames.ok[i]];
  const facts = [`duration ${durationText(frames.duration[i])}`, `${frames.bytes[i]} bytes`, outcome];
  return flow ? [...facts, `flow ${flow.name}`] : facts;
};

// The next larger of 1, 2 and 5 times a power of ten, for steps of axes and scales.
const niceStep = (least) => {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least * 0.999999) || 10);
};
