// The page: its controls, its keys and the loop that draws.

// Texts, options and limits of sliders, which do not change.
const writeTexts = (run) => {
  document.title = run.title;
  element("title").textContent = run.title;
  const counts = [counted(run.nodes.length, "node"), counted(run.flows.length, "flow"), counted(run.frames.count, "frame")];
  element("facts").textContent = [...counts, `${Number(run.duration.toFixed(3))} s`, `seed ${run.seed}`].join(", ");
  element("limit").textContent = run.framesEnd
    ? `Frames are recorded up to ${Number(run.framesUntil.toFixed(6))} s only, to limit the size of this file.`
    : "";
  element("window").append(new Option("", ""), ...WINDOWS.map((each) => new Option(durationText(each), String(each))));
  element("speed").max = SPEEDS.length - 1;
  for (const id of ["run", "air"]) {
    element(id).setAttribute("aria-valuemin", 0);
    element(id).setAttribute("aria-valuemax", run.duration);
  }
};

const updateControls = (state) => {
  element("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
  element("play-icon").setAttribute("d", state.playing ? "M3 1h4v14H3zM9 1h4v14H9z" : "M3 1l11 7-11 7z");
  if (document.activeElement !== element("clock")) element("clock").value = state.time.toFixed(6);
  const text = `${Number(state.speed.toPrecision(2))} × (1 s shows ${withUnit(state.speed, "s")})`;
  element("speed").value = SPEEDS.findLastIndex((each) => each <= state.speed * 1.001);
  element("speed").setAttribute("aria-valuetext", text);
  element("speed-text").value = text;
  const select = element("window");
  const listed = WINDOWS.find((each) => Math.abs(each - state.window) < each * 1e-3);
  select.options[0].textContent = listed ? "other" : durationText(state.window);
  select.value = listed ?? "";
  for (const id of ["run", "air"]) {
    element(id).setAttribute("aria-valuenow", state.time.toFixed(6));
    element(id).setAttribute("aria-valuetext", `${state.time.toFixed(6)} seconds`);
  }
};

const connectControls = (run, state, map) => {
  const on = (id, type, handler) => element(id).addEventListener(type, handler);
  on("play", "click", () => state.setPlaying(!state.playing));
  on("previous", "click", () => state.stepFrame(-1));
  on("next", "click", () => state.stepFrame(1));
  on("map-in", "click", () => map.zoom(1.5));
  on("map-out", "click", () => map.zoom(1 / 1.5));
  on("map-fit", "click", map.fit);
  on("help-button", "click", () => element("help").showModal());
  on("match", "click", () => state.setSpeed(state.window / 5));
  on("speed", "input", () => state.setSpeed(SPEEDS[element("speed").value]));
  on("window", "change", () => state.setWindow(Number(element("window").value || state.window)));
  on("node", "change", () => state.setNode(Number(element("node").value)));
  on("clock", "change", () => {
    const time = Number(element("clock").value.replace(",", "."));
    if (Number.isFinite(time)) state.setTime(time);
    element("clock").value = state.time.toFixed(6);
  });
  on("clock", "keydown", (event) => event.key === "Enter" && element("clock").blur());
  window.addEventListener("hashchange", () => readAddress(run, state));
};

const connectKeys = (run, state, map) => {
  const keys = {
    " ": () => state.setPlaying(!state.playing),
    ArrowLeft: (shift) => (shift ? state.setTime(state.time - state.window / 10) : state.stepFrame(-1)),
    ArrowRight: (shift) => (shift ? state.setTime(state.time + state.window / 10) : state.stepFrame(1)),
    ArrowUp: () => state.setWindow(neighbour(WINDOWS, state.window, -1)),
    ArrowDown: () => state.setWindow(neighbour(WINDOWS, state.window, 1)),
    PageUp: () => state.setTime(state.time - run.duration / 20),
    PageDown: () => state.setTime(state.time + run.duration / 20),
    Home: () => state.setTime(0),
    End: () => state.setTime(run.duration),
    "+": () => state.setSpeed(neighbour(SPEEDS, state.speed, 1)),
    "-": () => state.setSpeed(neighbour(SPEEDS, state.speed, -1)),
    f: () => map.fit(),
    Escape: () => state.setNode(-1),
    "?": () => element("help").showModal(),
  };
  keys["="] = keys["+"]; // the same key without shift
  // A control that has the focus keeps the keys that it uses itself.
  const keeps = (target, key) =>
    target.closest("dialog, #clock, select") || (target.type === "range" && key.length > 1) || (key === " " && target.matches("button, [type=checkbox]"));
  document.addEventListener("keydown", (event) => {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[key] || keeps(event.target, key)) return;
    event.preventDefault();
    keys[key](event.shiftKey);
  });
};

// Calls `changed` with the outcome of a media query, now and at each change.
const follow = (query, changed) => {
  const media = window.matchMedia(query);
  media.addEventListener("change", () => changed(media.matches));
  changed(media.matches);
};

const startViewer = (run) => {
  let pending = false; // a drawing is due
  let before = null; // the time on the wall of the last drawing while playing
  let writing = 0;
  const state = makeState(run, () => {
    if (!pending) requestAnimationFrame(tick);
    pending = true;
  });
  writeTexts(run);
  const map = makeMap(run, state);
  const tables = makeTables(run, state);
  const parts = [map, makeRunChart(run, state), makeAirChart(run, state)];

  // Writes the address once nothing has changed for a moment: browsers limit how often it may change.
  const keepAddress = () => {
    clearTimeout(writing);
    writing = setTimeout(() => {
      if (!state.playing && location.hash !== addressOf(run, state)) history.replaceState(null, "", addressOf(run, state));
    }, 250);
  };
  // Moves the time by what has passed on the wall; a hidden page does not catch up.
  const advance = (now) => {
    if (state.playing && before !== null) state.setTime(state.time + (Math.min(now - before, 250) / 1000) * state.speed);
    if (state.playing && state.time >= run.duration) state.setPlaying(false);
    before = state.playing ? now : null;
  };
  const tick = (now) => {
    advance(now);
    pending = false;
    for (const part of parts) part.draw();
    tables.update();
    updateControls(state);
    keepAddress();
    if (state.playing) state.invalidate();
  };

  connectControls(run, state, map);
  connectKeys(run, state, map);
  follow("(prefers-color-scheme: dark)", () => {
    state.theme = readTheme();
    tables.paint();
    element("on-air").dataset.key = "other colours";
    state.invalidate();
  });
  follow("(prefers-reduced-motion: reduce)", (reduced) => {
    state.still = reduced;
    state.invalidate();
  });
  readAddress(run, state);
};

const recorded = readRun();
if (recorded && (recorded.nodes || []).length && recorded.duration > 0) {
  element("page").hidden = false;
  startViewer(prepare(recorded));
} else element("empty").hidden = false;
