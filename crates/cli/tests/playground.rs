//! The playground in a browser: the same record as the command's, the errors of the command at their line,
//! values that change the text, completions, exercises, and visits without a network.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::live_page_browser::{PATIENCE, chromium, reported};
use crate::processes::{finish, stdout, whimbrel};

/// The page, built once from the source. `None` without the target for browsers, unless it is required.
fn page() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc");
        let target = Path::new(String::from_utf8_lossy(&sysroot.stdout).trim())
            .join("lib/rustlib/wasm32-unknown-unknown");
        if !target.exists() {
            let required = std::env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
            assert!(!required, "install the target: rustup target add wasm32-unknown-unknown");
            println!("skipped: install the target: rustup target add wasm32-unknown-unknown");
            return None;
        }
        let folder = TempDir::new().expect("a folder");
        let out = folder.path().join("playground");
        let script = root.join("scripts/build_playground.py");
        let build = Command::new("python3").arg(script).arg(&out).output().expect("python3");
        assert!(build.status.success(), "{build:?}");
        Some((folder, out))
    });
    built.as_ref().map(|(_, out)| out.as_path())
}

/// Packaged scenarios over wires, Wi-Fi and cells, each with a shorter duration.
const SCENARIOS: [(&str, &str); 12] = [
    ("wb", "30 s"),
    ("tcp_dumbbell", "7 s"),
    ("media", "24 s"),
    ("repaired", "8 s"),
    ("lte", "12 s"),
    ("call", "20 s"),
    ("two_radios", "18 s"),
    ("mesh", "7 s"),
    ("home_ax", "3 s"),
    ("vehicles", "10 s"),
    ("drive", "24 s"),
    ("commute", "60 s"),
];

/// Pastes scenarios into the page, runs them one after the other, and reports digests.
const RUN_ALL: &str = r#"
addEventListener("load", async () => {
  const ended = () => new Promise((done) => addEventListener("ended", ({ detail }) => done(detail), { once: true }));
  await ended(); // the page begins with an example
  const results = [];
  for (const { text, seed } of GIVEN) {
    const area = document.getElementById("text");
    area.value = text;
    area.dispatchEvent(new Event("input"));
    document.getElementById("seed").value = seed;
    document.getElementById("run").click();
    const { digest, record, seconds } = await ended();
    results.push({ digest, length: record.length, seconds });
  }
  report(results);
});
"#;

#[test]
fn a_browser_has_the_record_of_the_command() {
    let Some(page) = page() else { return };
    let folder = TempDir::new().expect("a folder");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let scenarios = folder.path().join("scenarios");
    fs::create_dir(&scenarios).expect("a folder");
    symlink(examples.join("traces"), folder.path().join("traces")).expect("a link");
    for name in ["clip.csv", "talk.csv"] {
        fs::copy(examples.join("scenarios").join(name), scenarios.join(name)).expect("a copy");
    }
    let (mut given, mut native) = (Vec::new(), Vec::new());
    for (number, (name, duration)) in SCENARIOS.into_iter().enumerate() {
        let file = format!("{name}.toml");
        let text = fs::read_to_string(examples.join("scenarios").join(&file)).expect("an example");
        let (before, rest) = text.split_once("[simulation]\nduration = ").expect("a duration");
        let after = rest.split_once('\n').expect("a line").1;
        let text = format!("{before}[simulation]\nduration = \"{duration}\"\n{after}");
        let seed = (number + 3).to_string();
        let path = scenarios.join(file);
        fs::write(&path, &text).expect("it is written");
        let command = whimbrel(&["run", path.to_str().expect("a plain path"), "--seed", &seed, "--json"]);
        let output = finish({ command }.spawn().expect("it starts"));
        assert!(output.status.success(), "{output:?}");
        native.push(stdout(&output));
        given.push(json!({ "text": text, "seed": seed }));
    }
    let html = fs::read_to_string(page.join("index.html")).expect("a page");
    let script = RUN_ALL.replace("GIVEN", &Value::from(given).to_string().replace('<', "\\u003c"));
    let Some(results) = reported(folder.path(), &html, &script, "seed=1", 1200, &[]) else { return };
    for (number, (name, _)) in SCENARIOS.into_iter().enumerate() {
        let [result, record] = [&results[number], &json!(native[number].len())];
        let hash = Sha256::digest(&native[number]);
        let digest: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("{name}: {digest}, {} bytes, {} s", record, result["seconds"]);
        assert_eq!((&result["length"], &result["digest"]), (record, &json!(digest)), "{name}");
    }
}

/// Edits, values, keys and stops, at that width.
const USE: &str = r##"
addEventListener("load", async () => {
  const element = (id) => document.getElementById(id);
  const ended = () => new Promise((done) => addEventListener("ended", ({ detail }) => done(detail), { once: true }));
  const until = async (holds) => {
    while (!holds()) await new Promise((done) => setTimeout(done, 20));
  };
  const { since, seconds } = await ended();
  const found = { since, first: seconds, width: innerWidth };
  // The page of the whole run takes the place of the live one.
  const inside = () => element("frame").contentDocument;
  await until(() => inside()?.querySelector("#follow")?.hidden && inside().querySelector(".uplot") && element("frame").clientHeight > 700);
  found.charts = inside().querySelectorAll(".uplot").length;
  found.inner = [inside().documentElement.scrollWidth, element("frame").clientWidth];
  found.fits = document.documentElement.scrollWidth <= innerWidth;
  // A slider changes the text, and runs it when it is let go.
  const slider = [...document.querySelectorAll(".knob")].find((knob) => knob.textContent.startsWith("camera–viewer: loss")).querySelector("input");
  slider.value = 0.1;
  slider.dispatchEvent(new Event("input"));
  slider.dispatchEvent(new Event("change"));
  await ended();
  found.text = element("text").value.includes('loss = { model = "bernoulli", rate = 0.1 }');
  // The text is compressed in the background.
  await until(() => location.hash.startsWith("#toml="));
  found.address = location.hash.slice(0, 6);
  // The address alone leads to the same text.
  const changed = element("text").value;
  const kept = location.hash;
  location.hash = "#example=scenarios/radio&seed=5";
  await ended();
  found.other = [element("text").value.includes("A call over a radio link"), element("seed").value];
  location.hash = kept;
  await ended();
  found.same = element("text").value === changed;
  // An error has its line, and nothing runs.
  const area = element("text");
  area.value = changed.replace('delay = "20 ms"', 'delay = "20 m"');
  area.dispatchEvent(new Event("input"));
  await until(() => !element("problem").hidden);
  found.problem = element("problem").textContent.slice(0, 60);
  found.line = element("lines").querySelector("b").textContent.trim();
  found.disabled = element("run").disabled;
  // A long run shows its beginning, and can be stopped; keys start another.
  area.value = changed.replace('duration = "30 s"', 'duration = "30000 s"');
  area.dispatchEvent(new Event("input"));
  await until(() => element("problem").hidden);
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
  await until(() => element("progress").value > 0 && element("progress").value < 1);
  await until(() => inside()?.querySelector("#follow")?.getAttribute("aria-pressed") === "true");
  element("stop").click();
  found.stopped = [element("outcome").textContent, element("stop").hidden];
  area.value = changed;
  area.dispatchEvent(new Event("input"));
  await until(() => element("outcome").textContent === "");
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
  await ended();
  // The capture of the same run.
  const capture = new Promise((done) => {
    const original = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
      if (blob.type === "application/octet-stream") blob.arrayBuffer().then((bytes) => done(new Uint8Array(bytes)));
      return original(blob);
    };
  });
  element("save-capture").click();
  const bytes = await capture;
  found.capture = [...bytes.slice(0, 4)];
  found.large = bytes.length > 100000;
  const controls = [...document.querySelectorAll("button, select, input, textarea, progress, iframe")];
  const isNamed = (each) => each.ariaLabel || each.title || each.textContent.trim() || each.labels?.[0]?.textContent.trim();
  found.unnamed = controls.filter((each) => each.checkVisibility() && !isNamed(each)).map((each) => each.outerHTML.slice(0, 80));
  report(found);
});
"##;

#[test]
fn values_errors_keys_and_addresses_work_on_a_desk_and_on_a_phone() {
    let Some(page) = page() else { return };
    let html = fs::read_to_string(page.join("index.html")).expect("a page");
    for width in [1400, 400] {
        let folder = TempDir::new().expect("a folder");
        let options = ["--window-size=1400,1000"];
        let Some(found) = reported(folder.path(), &html, USE, "", width, &options) else { return };
        println!(
            "{width} px: first run {} ms after opening, of it {} s in the simulator",
            found["since"], found["first"]
        );
        assert_eq!((&found["width"], &found["fits"]), (&json!(width), &json!(true)), "{found}");
        // The content is not wider than the frame. It is less wide while the frame has not its height, and a
        // scroll bar takes some of the width.
        assert!(found["inner"][0].as_u64() <= found["inner"][1].as_u64(), "{found}");
        assert!(found["charts"].as_u64() >= Some(3), "{found}");
        assert_eq!((&found["text"], &found["same"]), (&json!(true), &json!(true)), "{found}");
        assert_eq!((&found["address"], &found["other"]), (&json!("#toml="), &json!([true, "5"])), "{found}");
        let problem = found["problem"].as_str().expect("a message");
        assert!(problem.starts_with("Line 16: link[0].delay = \"20 m\": expected a time"), "{found}");
        assert_eq!((&found["line"], &found["disabled"]), (&json!("16"), &json!(true)), "{found}");
        assert_eq!(found["stopped"], json!(["Stopped.", true]), "{found}");
        assert_eq!((&found["capture"], &found["large"]), (&json!([0x0a, 0x0d, 0x0d, 0x0a]), &json!(true)));
        assert_eq!(found["unnamed"], json!([]));
    }
}

/// Answers exercises, wrongly and rightly, and reports what the page says to each.
const ANSWERS: &str = r##"
addEventListener("load", async () => {
  const ended = () => new Promise((done) => addEventListener("ended", done, { once: true }));
  const verdicts = () => [...document.querySelectorAll(".verdict")].map((each) => each.className.endsWith("right"));
  const said = (n) => document.querySelectorAll(".verdict")[n].textContent;
  const answer = (value, n = 0) => {
    const form = document.querySelectorAll("#exercise form")[n];
    form.querySelector("input").value = value;
    form.requestSubmit();
  };
  const change = async (...changes) => {
    const area = document.getElementById("text");
    for (const [from, to] of changes) {
      if (!area.value.includes(from)) throw new Error(from);
      area.value = area.value.replace(from, to);
    }
    area.dispatchEvent(new Event("input"));
    document.getElementById("run").click();
    await ended();
    return verdicts();
  };
  const exercise = async (name) => {
    location.hash = `#example=teaching/${name}`;
    await ended();
  };
  await ended();
  const found = [verdicts()];
  answer("500");
  found.push(said(0));
  answer("75");
  found.push(said(0));
  answer("600");
  found.push(await change(['kind = "droptail"', 'kind = "codel"']));
  found.push(await change(['kind = "codel"', 'kind = "fq-codel"'], ['rate = "2 Mbit/s"', 'rate = "3 Mbit/s"']), said(1));
  await change(['rate = "3 Mbit/s"', 'rate = "2 Mbit/s"'], ['delay = "15 ms"', 'delay = "15 ms"\nloss = { model = "none" }']);
  found.push(said(1));
  found.push(await change(['loss = { model = "none" }', ""]));
  found.push(await change(['kind = "fq-codel"', 'kind = "codel"'])); // a solved question stays solved
  await exercise("4_radio_losses");
  answer("670,5");
  found.push(await change(['classifier = "none"', 'classifier = "omniscient"']), said(1));
  found.push(await change(['classifier = "omniscient"', 'classifier = "zbs3"'], ['delay = "30 ms"', 'delay = "30 ms" # as before']));
  await exercise("7_handover");
  answer("120");
  found.push(said(0));
  answer("130");
  found.push(await change(['lead = "0 ms"', 'lead = "130 ms"']));
  found.push(await change(["freeze = {}", 'freeze = { restart = "following" }']));
  report(found);
});
"##;

#[test]
fn exercises_accept_what_is_right_and_nothing_else() {
    let Some(page) = page() else { return };
    let html = fs::read_to_string(page.join("index.html")).expect("a page");
    let folder = TempDir::new().expect("a folder");
    let place = "example=teaching/3_queues";
    let Some(found) = reported(folder.path(), &html, ANSWERS, place, 1200, &[]) else { return };
    let expected = json!([
        [false, false],
        "More than that.",
        "Bits, not bytes.",
        [true, false],
        [true, false],
        "The question is about rate = \"2 Mbit/s\".",
        "Without loss = { model = \"none\" }, please.",
        [true, true],
        [true, true],
        [true, false],
        "Without classifier = \"omniscient\", please.",
        [true, true],
        "The last packet also crosses the wire before the queue.",
        [true, true, false],
        [true, true, true],
    ]);
    assert_eq!(found, expected);
}

/// Completes a text by keys, by the button and by a pointer, and reports what is proposed.
const COMPLETE: &str = r##"
addEventListener("load", async () => {
  const element = (id) => document.getElementById(id);
  await new Promise((done) => addEventListener("ended", done, { once: true }));
  const [area, list] = [element("text"), element("proposals")];
  const wait = (holds) => new Promise((done) => setInterval(() => holds() && done(), 20));
  const place = (text) => {
    area.value = text.replace("|", "");
    area.focus();
    area.setSelectionRange(text.indexOf("|"), text.indexOf("|"));
    area.dispatchEvent(new Event("input"));
  };
  // True if the page took the key, and the browser does nothing with it.
  const press = (key, more = {}) => !area.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
  const ask = async (text) => {
    place(text);
    press(" ", { ctrlKey: true });
    await wait(() => !list.hidden);
    return [...list.querySelectorAll("code")].map((each) => each.textContent);
  };
  const selected = () => [...list.querySelectorAll('[role="option"][aria-selected="true"]')];
  const found = {};
  found.keys = await ask('[[link]]\nname = "radio"\nra|\ndelay = "20 ms"\n');
  const option = selected()[0];
  found.active = [selected().length, area.getAttribute("aria-activedescendant") === option.id, document.activeElement.id];
  found.named = [list.role ?? list.getAttribute("role"), list.getAttribute("aria-label"), area.getAttribute("aria-controls")];
  found.enter = press("Enter");
  found.text = [area.value, area.selectionStart, list.hidden, area.hasAttribute("aria-activedescendant")];
  found.plain = press("Enter");
  document.execCommand("undo");
  found.undone = area.value;
  // At the right end of the last line, where the list has to move.
  const [lines, spaces] = ["\n".repeat(60), " ".repeat(60)];
  place(`${lines}[[link]]\n${spaces}discipline = { kind = "|" }`);
  area.scrollTop = area.scrollHeight;
  await wait(() => element("lines").scrollTop > 0);
  found.numbers = Math.abs(element("lines").scrollTop - area.scrollTop) < 1;
  press(" ", { ctrlKey: true });
  await wait(() => !list.hidden);
  found.values = [...list.querySelectorAll("code")].map((each) => each.textContent);
  press("ArrowDown");
  found.second = selected()[0].querySelector("code").textContent;
  press("ArrowUp");
  press("ArrowUp");
  found.last = [selected()[0] === list.lastChild, selected().length];
  const { left, right, top, bottom } = list.getBoundingClientRect();
  const around = element("editor").getBoundingClientRect();
  found.inside = left >= 0 && right <= innerWidth && top >= around.top && bottom <= around.bottom;
  found.fits = document.documentElement.scrollWidth <= innerWidth;
  found.escape = [press("Escape"), list.hidden, area.value.trim().replace(spaces, "")];
  // Typing selects among the proposals.
  await ask("[[link]]\nd|");
  area.setRangeText("el", area.selectionStart, area.selectionEnd, "end");
  area.dispatchEvent(new Event("input"));
  await wait(() => [...list.children].every((each) => each.textContent.startsWith("del")));
  list.firstChild.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  found.clicked = area.value;
  place("[si|");
  element("seed").focus();
  element("propose").click();
  await wait(() => !list.hidden);
  press("Enter");
  found.table = [area.value, document.activeElement.id];
  place("# nothing|");
  press(" ", { ctrlKey: true });
  await wait(() => element("hint").textContent.startsWith("Nothing"));
  found.nothing = list.hidden;
  await ask("[[link]]\nd|");
  area.dispatchEvent(new Event("blur"));
  found.left = list.hidden;
  report(found);
});
"##;

#[test]
fn keys_and_values_are_completed_on_a_desk_and_on_a_phone() {
    let Some(page) = page() else { return };
    let html = fs::read_to_string(page.join("index.html")).expect("a page");
    for width in [1400, 400] {
        let folder = TempDir::new().expect("a folder");
        let options = ["--window-size=1400,1000"];
        let Some(found) = reported(folder.path(), &html, COMPLETE, "", width, &options) else { return };
        assert_eq!(found["keys"], json!(["rate"]));
        assert_eq!(found["active"], json!([1, true, "text"]));
        assert_eq!(found["named"], json!(["listbox", "Proposals", "proposals"]));
        assert_eq!((&found["enter"], &found["plain"]), (&json!(true), &json!(false)));
        let text = "[[link]]\nname = \"radio\"\nrate = \ndelay = \"20 ms\"\n";
        assert_eq!(found["text"], json!([text, 31, true, false]));
        assert_eq!(found["undone"], json!(text.replace("rate = ", "ra")));
        let kinds = ["codel", "droptail", "dualpi2", "fq-codel", "pie", "red"];
        assert_eq!(found["values"], json!(kinds.map(|kind| format!("\"{kind}\""))));
        assert_eq!((&found["second"], &found["last"]), (&found["values"][1], &json!([true, 1])));
        assert_eq!(found["numbers"], json!(true), "the numbers are beside their lines");
        assert_eq!((&found["inside"], &found["fits"]), (&json!(true), &json!(true)), "{found}");
        assert_eq!(found["escape"], json!([true, true, "[[link]]\ndiscipline = { kind = \"\" }"]));
        assert_eq!(found["clicked"], json!("[[link]]\ndelay = "));
        assert_eq!(found["table"], json!(["[simulation]", "text"]));
        assert_eq!((&found["nothing"], &found["left"]), (&json!(true), &json!(true)), "{found}");
    }
}

/// Opens the page, waits until the browser keeps it, and opens it again when the server has gone.
const OFFLINE: &str = r#"<body><script>
const visit = (frame) => new Promise((done) => {
  frame.onload = () => frame.contentWindow.addEventListener("ended", ({ detail }) => done(detail.digest));
});
const start = async () => {
  const frame = document.body.appendChild(document.createElement("iframe"));
  const first = visit(frame);
  frame.src = "/playground/";
  const digests = [await first];
  await frame.contentWindow.navigator.serviceWorker.ready;
  while (!(await (await caches.open("playground")).match("/playground/"))) await new Promise((done) => setTimeout(done, 20));
  await fetch("/down");
  const second = visit(frame);
  frame.contentWindow.location.reload();
  digests.push(await second);
  await fetch("/up");
  await fetch("/done", { method: "POST", body: JSON.stringify(digests) });
};
start();
</script></body>"#;

#[test]
fn the_page_works_without_a_network_after_the_first_visit_and_asks_for_nothing_else() {
    let Some(page) = page() else { return };
    let folder = TempDir::new().expect("a folder");
    let Some(mut command) = chromium(folder.path(), &[]) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let url = format!("http://{}/", listener.local_addr().expect("bound"));
    let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let (seen, is_down) = (asked.clone(), AtomicBool::new(false));
    let (done, results) = mpsc::channel();
    let [html, script] =
        ["index.html", "offline.js"].map(|name| fs::read_to_string(page.join(name)).expect("a file"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while reader.read_line(&mut head).is_ok_and(|size| size > 2) {}
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let (kind, answer) = match path.as_str() {
                // A connection for later.
                "" => continue,
                "/" => ("text/html", OFFLINE),
                // Of a page that is down nothing is heard.
                _ if path.starts_with("/playground/") && is_down.load(Ordering::Relaxed) => continue,
                "/playground/" => ("text/html", html.as_str()),
                "/playground/offline.js" => ("text/javascript", script.as_str()),
                "/down" | "/up" => {
                    is_down.store(path == "/down", Ordering::Relaxed);
                    ("text/plain", "")
                }
                _ => ("text/plain", ""),
            };
            seen.lock().expect("sound").insert(path.clone());
            if path == "/done" {
                let mut body = vec![0; 2 * 64 + 7];
                let _ = reader.read_exact(&mut body);
                let _ = done.send(String::from_utf8_lossy(&body).into_owned());
            }
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}", answer.len());
            let _ = write!(reader.get_mut(), "{head}\r\nConnection: close\r\n\r\n{answer}");
        }
    });
    command.args(["--remote-debugging-port=0", &url]).stdout(Stdio::null());
    let mut browser = command.spawn().expect("it starts");
    let result = results.recv_timeout(PATIENCE);
    let _ = browser.kill();
    let _ = browser.wait();
    let digests: Value = serde_json::from_str(&result.expect("a result in time")).expect("JSON");
    assert_eq!(digests[0].as_str().map(str::len), Some(64), "{digests}");
    assert_eq!(digests[0], digests[1], "{digests}");
    let mut asked = asked.lock().expect("sound").clone();
    asked.remove("/favicon.ico");
    let expected = ["/", "/done", "/down", "/playground/", "/playground/offline.js", "/up"];
    assert_eq!(asked, expected.map(str::to_owned).into());
}
