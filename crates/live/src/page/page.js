// The page: its controls, its keys, the loop that draws, and where the recording comes from.

const SPANS = [["all", Infinity], ["30 s", 30], ["2 min", 120], ["10 min", 600], ["1 h", 3600]];
const SPEEDS_LISTED = [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 50];

// Calls `changed` with the outcome of a media query, now and at each change.
const follow = (query, changed) => {
  const media = window.matchMedia(query);
  media.addEventListener("change", () => changed(media.matches));
  changed(media.matches);
};

const startPage = (recording, isLive) => {
  let pending = false; // a drawing is due
  let dirty = false; // the charts have other data or another span
  let drawnFrom = 0; // the beginning of the time that they show
  let before = null; // the time on the wall of the last drawing while playing
  let writing = 0;
  let beside = null; // a second recording
  const state = makeState(() => {
    if (!pending) requestAnimationFrame(tick);
    pending = true;
  });
  // `tops`: the ends of the scales of the charts that are shown, by panel.
  Object.assign(state, { following: isLive, length: isLive ? 120 : Infinity, first: 0, second: -1, pixels: 600, tops: new Map() });
  state.bounds = () => [Math.min(recording.start(), beside?.start() ?? Infinity), Math.max(recording.end(), beside?.end() ?? 0, 1e-3)];
  state.span = () => {
    const [start, end] = state.bounds();
    if (end - start <= state.length) return [start, Math.max(end, start + 1e-3)];
    // It moves by whole pixels: what is drawn would be the same.
    const pixel = state.length / state.pixels;
    const from = limit(Math.floor((state.following ? end - state.length : state.time - state.length / 2) / pixel) * pixel, start, end - state.length);
    return [from, from + state.length];
  };
  state.refresh = () => {
    dirty = true;
    state.invalidate();
  };
  state.scrubTo = (time) => {
    state.following = isLive && time >= recording.end();
    state.setTime(time);
  };

  // The scene of a simulated run with stations.
  const scene = recording.scene?.nodes.some((node) => node.points.length) ? prepare(recording.scene, recording) : null;
  let map = null;
  let tables = null;
  let parts = [];
  if (scene) {
    element("scene").hidden = false;
    element("scene-keys").hidden = false;
    state.setScene(scene);
    element("limit").textContent = scene.framesEnd ? `Frames are recorded up to ${Number(scene.framesUntil.toFixed(3))} s, to limit the size of this file.` : "";
    element("window").append(new Option("", ""), ...WINDOWS.map((each) => new Option(durationText(each), String(each))));
    map = makeMap(scene, state);
    tables = makeTables(scene, state);
    // Without Wi-Fi there are no frames.
    for (const part of document.querySelectorAll(".of-frames")) part.hidden = !scene.media.length;
    parts = scene.media.length ? [map, makeAirChart(scene, state)] : [map];
  }

  let views = [];
  const showViews = () => {
    views.forEach((view) => view.remove());
    const another = beside ?? (state.second >= 0 ? recording : null);
    const name = (each) => (beside ? each.title : "");
    views = [makeView(recording, state.first, name(recording), state, (track) => {
      state.first = track;
      showViews();
    })];
    if (another) {
      views.push(makeView(another, state.second, name(another), state, (track) => {
        state.second = track;
        showViews();
      }));
    }
    if (scene) document.querySelector("main").prepend(element("scene"));
    element("views").replaceChildren(...views.map((view) => view.box));
    element("views").classList.toggle("two", views.length > 1);
    // The sentence is above the map.
    if (scene && views.length === 1) views[0].below.after(element("scene"));
    views.forEach((view) => view.fill(views));
    const chosen = element("beside");
    chosen.replaceChildren(new Option("nothing", "none"), ...recording.tracks.map((track, n) => new Option(`${track.kind} ${track.name}`, n)), new Option("a saved recording…", "file"));
    if (beside) chosen.add(new Option(beside.title, "beside"));
    chosen.value = beside ? "beside" : state.second >= 0 ? state.second : "none";
    state.refresh();
  };
  const redraw = () => {
    state.pixels = views[0].width();
    views.forEach((view) => view.redraw(views));
  };
  const showTables = () => element("tables").replaceChildren(...recording.tables.map(({ title, columns, rows }) => {
    const row = (tag) => (texts) => make("tr", {}, ...texts.map((text) => make(tag, {}, text)));
    return make("section", { className: "chart-box" }, make("h3", {}, title), make("table", {}, make("thead", {}, row("th")(columns)), make("tbody", {}, ...rows.map(row("td")))));
  }));
  const writeTexts = () => {
    document.title = recording.title;
    element("title").textContent = recording.title;
    element("facts").textContent = [...recording.facts, recording.tracks.length > 1 ? counted(recording.tracks.length, "track") : ""].filter(Boolean).join(", ");
    element("follow").hidden = !isLive;
    element("save").hidden = !isLive || !location.protocol.startsWith("http");
    element("screen").hidden = !isLive || !recording.video;
    element("save").href = `recording.html${location.search}`; // with the token, if one is needed
  };

  // The time below the slider, with a tick for each event.
  let scaled = "";
  const drawScale = ([start, end]) => {
    const scale = element("scale");
    const marks = recording.marksOf(state.first);
    const key = [start, end, scale.clientWidth, state.first, marks.length].join();
    if (key === scaled || !scale.clientWidth) return;
    scaled = key;
    const step = niceStep(((end - start) * 80) / scale.clientWidth);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const at = (time) => `left: ${(((time - start) / (end - start)) * 100).toFixed(2)}%`;
    const labels = [];
    for (let k = Math.ceil(start / step - 1e-9); k * step <= end + step * 1e-6; k++) labels.push(make("span", { style: at(k * step) }, `${(k * step).toFixed(digits)} s`));
    const ticks = [...new Set(marks.filter(({ t }) => t >= start && t <= end).map(({ t }) => at(t)))].slice(-200);
    scale.replaceChildren(...labels, ...ticks.map((style) => make("i", { style })));
  };
  let controlled = "";
  new ResizeObserver(() => {
    controlled = "";
    state.invalidate();
  }).observe(element("scale"));
  const updateControls = () => {
    const [start, end] = state.bounds();
    if (document.activeElement !== element("clock")) element("clock").value = state.time.toFixed(scene ? 6 : 2);
    element("scrub").value = state.time;
    // The rest stays while the time passes.
    const key = [state.playing, state.following, state.speed, state.window, state.first, start, end, recording.marks.length].join();
    if (key === controlled) return;
    controlled = key;
    drawScale([start, end]);
    element("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
    element("play-icon").setAttribute("d", state.playing ? "M3 1h4v14H3zM9 1h4v14H9z" : "M3 1l11 7-11 7z");
    element("follow").setAttribute("aria-pressed", state.following);
    Object.assign(element("scrub"), { min: start, max: end });
    element("scrub").value = state.time;
    element("speed").value = SPEEDS_LISTED.find((each) => Math.abs(each - state.speed) < each * 1e-3) ?? "";
    if (!scene) return;
    const select = element("window");
    const listed = WINDOWS.find((each) => Math.abs(each - state.window) < each * 1e-3);
    select.options[0].textContent = listed ? "other" : durationText(state.window);
    select.value = listed ?? "";
    element("air").setAttribute("aria-valuemin", 0);
    element("air").setAttribute("aria-valuemax", end);
  };
  // What is read aloud, once the time rests.
  const describe = () => {
    views.forEach((view) => view.describe());
    element("scrub").setAttribute("aria-valuetext", `${state.time.toFixed(2)} seconds`);
    element("air").setAttribute("aria-valuenow", state.time.toFixed(6));
  };
  const connectControls = () => {
    const on = (id, type, handler) => element(id).addEventListener(type, handler);
    element("speed").append(...SPEEDS_LISTED.map((each) => new Option(`${each} ×`, each)));
    element("span").append(...SPANS.map(([text, length]) => new Option(text, length)));
    element("span").value = state.length;
    on("play", "click", () => state.setPlaying(!state.playing));
    on("follow", "click", goLive);
    on("scrub", "input", () => state.scrubTo(Number(element("scrub").value)));
    on("speed", "change", () => state.setSpeed(Number(element("speed").value)));
    on("span", "change", () => {
      state.length = Number(element("span").value);
      state.refresh();
    });
    on("help-button", "click", () => element("help").showModal());
    on("beside", "change", () => {
      const { value } = element("beside");
      if (value === "file") {
        element("file").click();
        element("beside").value = beside ? "beside" : "none";
        return;
      }
      if (value !== "beside") beside = null;
      state.second = value === "none" || value === "beside" ? -1 : Number(value);
      showViews();
    });
    on("file", "change", async () => {
      const [file] = element("file").files;
      const found = file && readRecording(await file.text());
      element("status").textContent = file && !found ? `${file.name} is no recording` : "";
      if (!found) return;
      found.title ||= file.name;
      beside = found;
      state.second = 0;
      showViews();
    });
    on("clock", "change", () => {
      const time = Number(element("clock").value.replace(",", "."));
      if (Number.isFinite(time)) state.scrubTo(time);
    });
    on("clock", "keydown", (event) => event.key === "Enter" && element("clock").blur());
    window.addEventListener("hashchange", () => readAddress(state));
    window.addEventListener("beforeprint", redraw);
    if (!scene) return;
    on("previous", "click", () => state.stepFrame(-1));
    on("next", "click", () => state.stepFrame(1));
    on("map-in", "click", () => map.zoom(1.5));
    on("map-out", "click", () => map.zoom(1 / 1.5));
    on("map-fit", "click", map.fit);
    on("window", "change", () => state.setWindow(Number(element("window").value || state.window)));
    on("node", "change", () => state.setNode(Number(element("node").value)));
  };
  const goLive = () => {
    Object.assign(state, { following: isLive, playing: false });
    state.setTime(recording.end());
    state.refresh();
  };
  const nextMark = () => {
    const marks = recording.marks.filter((mark) => mark.t > state.time + 1e-3);
    if (marks.length) state.scrubTo(Math.min(...marks.map((mark) => mark.t)));
  };
  const connectKeys = () => {
    const move = (share) => () => {
      const [from, to] = state.span();
      state.scrubTo(state.time + (to - from) * share);
    };
    const keys = {
      " ": () => state.setPlaying(!state.playing),
      l: () => isLive && goLive(),
      m: nextMark,
      PageUp: move(-1 / 20),
      PageDown: move(1 / 20),
      Home: () => state.scrubTo(state.bounds()[0]),
      End: () => state.scrubTo(state.bounds()[1]),
      "+": () => state.setSpeed(neighbour(SPEEDS_LISTED, state.speed, 1)),
      "-": () => state.setSpeed(neighbour(SPEEDS_LISTED, state.speed, -1)),
      "?": () => element("help").showModal(),
      ArrowLeft: (shift) => (scene && !shift ? state.stepFrame(-1) : move(-1 / 100)()),
      ArrowRight: (shift) => (scene && !shift ? state.stepFrame(1) : move(1 / 100)()),
    };
    keys["="] = keys["+"]; // the same key without shift
    if (scene) {
      Object.assign(keys, {
        ArrowUp: () => state.setWindow(neighbour(WINDOWS, state.window, -1)),
        ArrowDown: () => state.setWindow(neighbour(WINDOWS, state.window, 1)),
        f: () => map.fit(),
        Escape: () => state.setNode(-1),
      });
    }
    // A control that has the focus keeps the keys that it uses itself.
    const keeps = (target, key) =>
      target.closest("dialog, #clock, select") || (target.type === "range" && key.length > 1) || (key === " " && target.matches("button, a, [type=checkbox]"));
    document.addEventListener("keydown", (event) => {
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[key] || keeps(event.target, key)) return;
      event.preventDefault();
      keys[key](event.shiftKey);
    });
  };

  // Writes the address once nothing has changed for a moment: browsers limit how often it may change.
  const keepAddress = () => {
    clearTimeout(writing);
    writing = setTimeout(() => {
      describe();
      if (!state.playing && !state.following && location.hash !== addressOf(state)) history.replaceState(null, "", addressOf(state));
    }, 250);
  };
  // Moves the time by what has passed on the wall; a hidden page does not catch up.
  const advance = (now) => {
    if (state.following) state.time = recording.end();
    else if (state.playing && before !== null) {
      const [, end] = state.bounds();
      state.setTime(state.time + (Math.min(now - before, 250) / 1000) * state.speed);
      if (state.time >= end) {
        state.setPlaying(false);
        state.following = isLive;
      }
    }
    before = state.playing ? now : null;
  };
  const tick = (now) => {
    advance(now);
    pending = false;
    const [from] = state.span();
    if (dirty || from !== drawnFrom) redraw();
    [dirty, drawnFrom] = [false, state.span()[0]];
    for (const part of parts) part.draw();
    views.forEach((view) => view.move());
    tables?.update();
    updateControls();
    keepAddress();
    if (state.playing) state.invalidate();
  };

  writeTexts();
  connectVideo(() => recording);
  connectControls();
  connectKeys();
  follow("(prefers-color-scheme: dark)", () => {
    state.theme = readTheme();
    tables?.paint();
    if (scene) element("on-air").dataset.key = "other colours";
    views.forEach((view) => view.repaint());
    state.invalidate();
  });
  follow("(prefers-reduced-motion: reduce)", (reduced) => {
    state.still = reduced;
    state.invalidate();
  });
  state.time = isLive ? recording.end() : worthSeeing(recording);
  const given = location.hash.length > 1;
  readAddress(state);
  showViews();
  showTables();
  // A recording opens playing, unless its address names a moment.
  if (!isLive && !given && !state.still) state.setPlaying(true);
  return {
    // The server has sent more, or another whole.
    grow: (more) => {
      recording.add(more);
      if (more.tables) showTables();
      state.refresh();
    },
    replace: (whole) => {
      recording = whole;
      state.first = Math.min(state.first, recording.tracks.length - 1);
      state.second = Math.min(state.second, recording.tracks.length - 1);
      writeTexts();
      showViews();
      showTables();
    },
    say: (text) => (element("status").textContent = text),
  };
};

const refuse = (text) => {
  element("empty").hidden = false;
  element("empty").textContent = text;
};
// Shows a recording that comes in parts.
const makeReceiver = () => {
  let page = null;
  return {
    all: (given) => {
      const whole = makeRecording(given);
      element("empty").hidden = true;
      element("page").hidden = false;
      if (page) page.replace(whole);
      else page = startPage(whole, true);
      page.say("");
    },
    more: (given) => page.grow(given),
    say: (text) => (page ? page.say(text) : refuse(text)),
  };
};
// Takes the recording from the server that sent this page.
const listen = () => {
  const receiver = makeReceiver();
  const source = new EventSource(`events${location.search}`);
  for (const kind of ["all", "more"]) source.addEventListener(kind, (event) => receiver[kind](JSON.parse(event.data)));
  source.addEventListener("error", () => receiver.say("The program does not answer; the page tries again."));
};
// Takes the recording in messages from the page around this one.
const hear = () => {
  const receiver = makeReceiver();
  addEventListener("message", ({ source, data }) => {
    if (source === parent && (data.kind === "all" || data.kind === "more")) receiver[data.kind](data.recording);
  });
  parent.postMessage({ ready: true }, "*");
};

// A page around this one, which makes room for all of it.
if (parent !== window) new ResizeObserver(() => parent.postMessage({ height: document.documentElement.offsetHeight }, "*")).observe(document.documentElement);

const given = element("data").textContent;
if (given === "null") {
  if (location.protocol.startsWith("http")) listen();
  else if (parent !== window) hear();
  else refuse("This page contains no recording.");
} else {
  const recorded = readRecording(given);
  if (!recorded) refuse("This page contains no recording that it can read.");
  else {
    element("page").hidden = false;
    startPage(recorded, false);
  }
}
