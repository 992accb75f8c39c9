// The state of the page: the time, what is selected, and the address that keeps both.

const SPEEDS = [-5, -4, -3, -2, -1, 0, 1].flatMap((power) => [1, 2, 5].map((factor) => Number(`${factor}e${power}`)));
const WINDOWS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((milliseconds) => milliseconds / 1000);
const SHARES = 0.1; // a longer window shows shares of the stations, not single frames
const FLOWS_SHOWN = 8; // of a run with more flows, until others are chosen
const FAST = 0.02; // faster than this, single frames pass too quickly for the eye

const limit = (value, low, high) => Math.min(Math.max(value, low), high);
// The next larger or smaller value of a sorted list; its end, if there is none.
const neighbour = (list, value, direction) =>
  direction > 0 ? list.find((each) => each > value * 1.001) ?? list.at(-1) : list.findLast((each) => each < value * 0.999) ?? list[0];

// The state, with the operations on it; each of them asks for a new drawing by `invalidate`.
const makeState = (invalidate) => {
  let frames = { start: [], kind: [], count: 0 };
  const state = {
    time: 0, playing: false, speed: 1, window: 1, node: -1, hover: -1, theme: readTheme(), still: false, invalidate, run: null,
    flows: new Set(), kinds: new Set(),
    shows: (i) => state.kinds.has(frames.kind[i]),
    fast: () => state.playing && state.speed > FAST,
  };
  const change = (name, value) => {
    state[name] = value;
    invalidate();
  };
  state.setScene = (run) => {
    frames = run.frames;
    Object.assign(state, { run, flows: new Set([...run.flows.keys()].slice(0, FLOWS_SHOWN)), kinds: new Set(run.kinds.keys()) });
  };
  state.setTime = (time) => change("time", limit(time, ...state.bounds()));
  state.setSpeed = (speed) => change("speed", limit(speed, SPEEDS[0], SPEEDS.at(-1)));
  state.setWindow = (length) => change("window", limit(length, WINDOWS[0], WINDOWS.at(-1)));
  state.setNode = (n) => change("node", state.run?.nodes[n] ? n : -1);
  state.setHover = (n) => n !== state.hover && change("hover", n);
  state.setFlows = (flows) => change("flows", new Set(flows));
  state.setPlaying = (playing) => {
    if (playing && state.time >= state.bounds()[1]) [state.time] = state.bounds();
    if (playing) state.following = false;
    change("playing", playing);
  };
  // Pauses, at the start of the next or previous frame of a kind that is shown.
  state.stepFrame = (direction) => {
    state.setPlaying(false);
    if (state.window > SHARES) state.setWindow(0.02);
    let i = firstAfter(frames.start, state.time) - (direction > 0 ? 0 : 1);
    while (i >= 0 && i < frames.count && (frames.start[i] === state.time || !state.shows(i))) i += direction;
    if (i >= 0 && i < frames.count) state.setTime(frames.start[i]);
  };
  return state;
};

// The part of the address after "#", from which `readAddress` restores a moment.
const addressOf = (state) => {
  const parts = [`t=${Number(state.time.toFixed(9))}`, `speed=${Number(state.speed.toPrecision(4))}`, `window=${Number(state.window.toPrecision(4))}`];
  const subset = (name, chosen, usual) => {
    const text = [...chosen].sort((a, b) => a - b).join(".");
    if (text !== [...Array(usual).keys()].join(".")) parts.push(`${name}=${text}`);
  };
  if (state.first > 0) parts.push(`track=${state.first}`);
  if (state.second >= 0) parts.push(`beside=${state.second}`);
  const { run } = state;
  if (!run) return `#${parts.join("&")}`;
  if (state.node >= 0) parts.push(`node=${state.node}`);
  subset("flows", state.flows, Math.min(run.flows.length, FLOWS_SHOWN));
  subset("kinds", state.kinds, run.kinds.length);
  return `#${parts.join("&")}`;
};
const readAddress = (state) => {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = (name) => Number(given.get(name) || NaN);
  const indices = (name, count) => given.get(name).split(".").filter(Boolean).map(Number).filter((n) => Number.isInteger(n) && n >= 0 && n < count);
  if (number("t") >= 0) {
    state.following = false;
    state.setTime(number("t"));
  }
  if (number("speed") > 0) state.setSpeed(number("speed"));
  if (number("window") > 0) state.setWindow(number("window"));
  if (number("track") >= 0) state.first = number("track");
  if (number("beside") >= 0) state.second = number("beside");
  const { run } = state;
  if (!run) return;
  if (given.has("node")) state.setNode(number("node"));
  if (given.has("flows")) state.setFlows(indices("flows", run.flows.length));
  if (given.has("kinds")) state.kinds = new Set(indices("kinds", run.kinds.length));
};
