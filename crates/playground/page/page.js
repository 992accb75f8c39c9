// The page: what is chosen, what the worker says, and what is kept.

const startPlayground = () => {
  const worker = new Worker(URL.createObjectURL(new Blob([element("worker").textContent], { type: "text/javascript" })));
  let [examples, exercises, frame] = [[], [], null];
  let ran = ""; // the text of the run in progress
  let chosen = ""; // the example that the text came from
  let checked = 0; // number of the last check
  let running = 0; // number of the run in progress
  let runs = 0;
  let isValid = false;
  let wanted = false; // a run, once the text is checked
  let takesSeed = false; // the seed is the scenario's own, once it is known
  let last = null; // the last run that ended
  let timer = 0;

  const say = (text) => (element("outcome").textContent = text);
  const exampleOf = (name) => examples.find((each) => each.name === name);
  const name = () => chosen.split("/").at(-1) || "scenario";
  const seed = () => {
    try {
      return String(BigInt.asUintN(64, BigInt(element("seed").value)));
    } catch {
      return "1";
    }
  };

  const check = () => worker.postMessage({ task: "check", text: editor.text, number: ++checked });
  const editor = makeEditor(() => {
    clearTimeout(timer);
    timer = setTimeout(check, 200);
  });
  const showKnobs = makeKnobs(element("knobs"), {
    changed: (from, to, text) => {
      editor.replace(from, to, text);
      clearTimeout(timer);
      timer = setTimeout(check, 200);
    },
    settled: () => askForRun(),
  });

  const completion = makeCompletion({
    ask: (place, number) => worker.postMessage({ task: "complete", text: editor.text, place, number }),
    chosen: editor.write,
  });
  const exercise = makeExercise(element("exercise"));

  const showRunning = (is) => {
    element("stop").hidden = element("progress").hidden = !is;
    element("save-capture").disabled = is || !isValid;
    element("run").disabled = !isValid;
  };
  const stop = (text) => {
    if (running) worker.postMessage({ task: "stop" });
    running = 0;
    showRunning(false);
    if (text) say(text);
  };
  const run = (captures = false) => {
    stop();
    running = ++runs;
    element("progress").value = 0;
    showRunning(true);
    say(captures ? "Running again, to capture the packets." : "Running.");
    if (!captures) frame.restart();
    ran = editor.text;
    worker.postMessage({ task: "run", text: ran, seed: seed(), number: running, captures });
    keepAddress();
  };
  // Runs the text once it is known to be a scenario.
  const askForRun = () => {
    clearTimeout(timer);
    wanted = true;
    check();
  };

  const choose = (example, text = null) => {
    const found = exampleOf(example);
    chosen = found ? example : "";
    element("example").value = chosen;
    element("about").textContent = text === null && found ? found.about : "A changed scenario, from the address of this page.";
    editor.text = text ?? found.text;
    exercise.show(exercises.find((each) => each.example === chosen), editor.text);
  };
  const state = () => ({ example: chosen, text: editor.text, original: exampleOf(chosen)?.text, seed: seed() });
  const keepAddress = async () => {
    const before = location.hash;
    const address = await addressOf(state());
    // Meanwhile the visitor may have gone to another one.
    if (location.hash === before) history.replaceState(null, "", address);
  };
  const open = async () => {
    let given = {};
    try {
      given = await readAddress(location.hash);
    } catch {
      say("The address has a scenario that cannot be read.");
    }
    if (given.seed) element("seed").value = given.seed;
    takesSeed = !given.seed;
    const known = exampleOf(given.example) ? given.example : examples[0].name;
    if (given.text) choose("", given.text);
    else choose(known);
    askForRun();
  };

  const keep = (file, parts, type) => {
    const link = make("a", { href: URL.createObjectURL(new Blob(parts, { type })), download: file });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const told = {
    ready: (given) => {
      ({ examples, exercises } = given);
      frame = makeFrame(element("frame"), given.livePage);
      const groups = new Map();
      for (const { name, group } of examples) {
        if (!groups.has(group)) groups.set(group, make("optgroup", { label: group }));
        groups.get(group).append(new Option(name.split("/").at(-1), name));
      }
      element("example").replaceChildren(new Option("(changed)", "", false, false), ...groups.values());
      open();
    },
    checked: ({ number, error, line, knobs, seed: own }) => {
      if (number !== checked) return;
      isValid = !error;
      editor.complain(error, line);
      if (isValid) showKnobs(knobs);
      if (isValid && takesSeed) element("seed").value = own;
      if (isValid) takesSeed = false;
      if (!running) showRunning(false);
      const isWanted = wanted;
      wanted = false;
      if (isValid && isWanted) run();
      if (!isValid) say("The scenario has an error.");
      else if (!isWanted && !running) say("");
    },
    completed: (found) => completion.show(found),
    progress: ({ now, end }) => (element("progress").value = now / end),
    event: ({ event }) => event && frame.tell(JSON.parse(event)),
    failed: ({ error, line }) => {
      stop("The run failed.");
      editor.complain(error, line);
    },
    ended: ({ facts, seconds, page, record, digest, capture }) => {
      const isCapture = page === null;
      stop();
      if (isCapture) {
        keep(`${name()}.pcapng`, capture, "application/octet-stream");
        say("The capture is saved.");
        return;
      }
      last = { page, record };
      exercise.judge(ran, record);
      frame.show(page);
      for (const id of ["save-record", "save-page"]) element(id).disabled = false;
      const pace = seconds > 0 ? facts.end / seconds : Infinity;
      say(`${shortNumber(facts.end)} s simulated in ${seconds.toFixed(2)} s, ${Math.round(pace)} times as fast as real time.`);
      element("same").hidden = !digest;
      element("digest").textContent = `whimbrel run ${name()}.toml --seed ${seed()} --json | sha256sum prints ${digest}, the SHA-256 digest of the record.`;
      dispatchEvent(new CustomEvent("ended", { detail: { facts, seconds, digest, record, since: performance.now() } }));
    },
    broken: ({ error }) => say(`The simulator does not run in this browser: ${error}`),
  };
  worker.addEventListener("message", ({ data }) => {
    // Of a run that was stopped nothing is heard any more.
    if (["progress", "event", "failed", "ended"].includes(data.kind) && data.number !== running) return;
    told[data.kind](data);
  });

  const on = (id, type, handler) => element(id).addEventListener(type, handler);
  on("example", "change", () => {
    if (!element("example").value) return;
    choose(element("example").value);
    takesSeed = true;
    askForRun();
  });
  on("run", "click", () => askForRun());
  on("stop", "click", () => stop("Stopped."));
  on("seed", "change", () => askForRun());
  on("propose", "click", completion.open);
  on("save-scenario", "click", () => keep(`${name()}.toml`, [editor.text], "text/plain"));
  on("save-record", "click", () => keep(`${name()}.json`, [last.record], "application/json"));
  on("save-page", "click", () => keep(`${name()}.html`, [last.page], "text/html"));
  on("save-capture", "click", () => run(true));
  on("link", "click", async () => {
    await keepAddress();
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied.");
    } catch {
      say("The link is in the address bar.");
    }
  });
  addEventListener("hashchange", open);
  addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (!element("run").disabled) askForRun();
  });

  worker.postMessage({ task: "begin", module: element("module").textContent, files: element("files").textContent });
  for (const id of ["module", "files", "worker"]) element(id).remove();
  // A page from a server is kept for visits without a network.
  if (location.protocol.startsWith("http")) navigator.serviceWorker?.register("offline.js").catch(() => {});
};

startPlayground();
