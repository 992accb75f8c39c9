//! The live page in a browser: what it shows, its keys, its contrast, and its speed with an hour of data.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use whimbrel_live::{Panel, Recording, document};

use crate::processes;
use processes::{finish, whimbrel};

/// Time limit for a browser on a machine that does other things at the same time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A browser that shows a page; `None` if there is none and none is required.
pub(crate) fn chromium(folder: &Path, options: &[&str]) -> Option<Command> {
    let found = Command::new("chromium").arg("--version").output();
    if let Err(error) = found {
        let required = std::env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
        assert!(!required, "chromium: {error}. Install it with: sudo apt-get install chromium");
        println!("skipped: chromium: {error}. Install it with: sudo apt-get install chromium");
        return None;
    }
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu"]).args(options).stderr(Stdio::null());
    command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    Some(command)
}

/// The document of a page after a browser has run it.
fn browsed(url: &str, folder: &Path, options: &[&str]) -> Option<String> {
    let mut command = chromium(folder, options)?;
    let output = command.args(["--virtual-time-budget=4000", "--dump-dom", url]).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The file with the page of a run with an interruption of a link; `start`: of the flows.
fn outage(folder: &Path, start: &str) -> PathBuf {
    let scenario = folder.join("outage.toml");
    let text = r#"
        title = "an outage"
        [simulation]
        duration = "12 s"
        [[node]]
        name = "camera"
        [[node]]
        name = "viewer"
        [[link]]
        name = "radio"
        between = ["camera", "viewer"]
        rate = "2 Mbit/s"
        delay = "10 ms"
        [[event]]
        time = "4 s"
        link = "radio"
        up = false
        [[event]]
        time = "6 s"
        link = "radio"
        up = true
        [[flow]]
        name = "video"
        from = "camera"
        to = "viewer"
        transport = "udp"
        packet_size = "1000 B"
        start = "START"
        traffic = { kind = "cbr", rate = "800 kbit/s" }
        [[flow]]
        name = "telemetry"
        from = "camera"
        to = "viewer"
        transport = "udp"
        packet_size = "100 B"
        start = "START"
        traffic = { kind = "cbr", rate = "20 kbit/s" }
    "#;
    std::fs::write(&scenario, text.replace("START", start)).expect("it is written");
    let page = folder.join("outage.html");
    let [scenario, file] = [&scenario, &page].map(|path| path.to_str().expect("a plain path"));
    let output = finish(whimbrel(&["run", "--quiet", scenario, "--watch", file]).spawn().expect("it starts"));
    assert!(output.status.success(), "{output:?}");
    page
}

/// Report of a script after a page by `report(value)`, in a frame of that width, since no window is
/// narrower than 500 pixels; `place`: the part of the address after "#". `None` without a browser.
pub(crate) fn reported(
    folder: &Path,
    page: &str,
    script: &str,
    place: &str,
    width: u32,
    options: &[&str],
) -> Option<Value> {
    let report = r#"
        const report = (value) => fetch("/done", { method: "POST", body: JSON.stringify(value) });
        addEventListener("unhandledrejection", ({ reason }) => report({ failure: String(reason?.stack ?? reason) }));
    "#;
    let page = page.replace("</body>", &format!("<script>{report}{script}</script></body>"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let url = format!("http://{}/", listener.local_addr().expect("bound"));
    let frame = format!(
        "<body style='margin: 0'><iframe src='/page#{place}' style='border: 0; width: {width}px; height: 1000px'></iframe>"
    );
    let mut command = chromium(folder, options)?;
    command.args(["--remote-debugging-port=0", &url]).stdout(Stdio::null());
    let (done, results) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let (mut head, mut length) = (String::new(), 0);
            while reader.read_line(&mut head).is_ok_and(|size| size > 2) {}
            for line in head.lines() {
                let value = line.to_ascii_lowercase();
                length =
                    value.strip_prefix("content-length: ").and_then(|it| it.parse().ok()).unwrap_or(length);
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let answer = match head.split(' ').nth(1) {
                Some("/") => frame.as_str(),
                Some("/page") => page.as_str(),
                _ => "",
            };
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}", answer.len());
            let _ = write!(reader.get_mut(), "{head}\r\nConnection: close\r\n\r\n{answer}");
            if !body.is_empty() {
                let _ = done.send(String::from_utf8_lossy(&body).into_owned());
            }
        }
    });
    let mut browser = command.spawn().expect("it starts");
    let result = results.recv_timeout(PATIENCE);
    let _ = browser.kill();
    let _ = browser.wait();
    Some(serde_json::from_str(&result.expect("a result in time")).expect("JSON"))
}

/// The page of the interruption, opened at a place of the recording, and its sentence. `None` without a
/// browser.
fn opened(start: &str, place: &str) -> Option<(String, String)> {
    let folder = TempDir::new().expect("a folder");
    let url = format!("file://{}{place}", outage(folder.path(), start).display());
    let document = browsed(&url, folder.path(), &["--window-size=1400,1000"])?;
    let sentence = document.split("<p class=\"sentence").nth(1).and_then(|rest| rest.split("</p>").next());
    let sentence = sentence.expect("a sentence").to_owned();
    Some((document, sentence))
}

/// Two seconds before the first trouble nothing is sent yet.
#[test]
fn a_recording_opens_where_data_begin() {
    let Some((_, sentence)) = opened("3 s", "") else { return };
    assert!(!sentence.contains("othing is sent"), "{sentence}");
}

#[test]
fn a_browser_shows_a_run_and_explains_its_interruption() {
    let Some((document, sentence)) = opened("0 s", "#t=8") else { return };
    // In intervals of 0.1 s: what was under way arrives in the first one after 4 s.
    assert!(sentence.contains("no data from 4.0 to 6.0 s: the link was down;"), "{sentence}");
    for part in [
        "Rate in bit/s over time",
        "Losses by cause in packets/s",
        "Queues in packets",
        "radio down",
        "radio up",
        // The time below the slider, with ticks for events.
        ">12 s</span>",
        "<i style=\"left: 32.77%",
    ] {
        assert!(document.contains(part), "{part}");
    }
}

/// Keys, and what a reader needs to see and to reach: text with a contrast of 4.5 and lines with 3 (WCAG 2.2,
/// 1.4.3 and 1.4.11), names of all controls, nothing beyond the border.
const CHECKS: &str = r#"
addEventListener("load", () => setTimeout(async () => {
  const offences = [];
  const pause = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const numbers = (text) => text.match(/[\d.]+/g).map(Number);
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const contrast = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const { parentElement: holder, data } = walker.currentNode;
    if (!data.trim() || !holder.checkVisibility() || holder.closest("script, style, option, .hidden, dialog")) continue;
    texts += 1;
    const ratio = contrast(numbers(getComputedStyle(holder).color), behind(holder));
    if (ratio < 4.5) offences.push(`${data.trim()}: ${ratio.toFixed(2)}`);
  }
  // The colours of the charts, which are drawn on a panel.
  const probe = document.body.appendChild(document.createElement("i"));
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return numbers(getComputedStyle(probe).color);
  };
  for (const name of ["sent", "good", "received", "allowed", "capacity", "queue", "radio", "down", "late", "choice"]) {
    const ratio = contrast(colour(`line-${name}`), colour("panel"));
    if (ratio < 3) offences.push(`line ${name}: ${ratio.toFixed(2)}`);
  }
  for (const name of ["soft", "ink"]) if (contrast(colour(name), colour("panel")) < 4.5) offences.push(name);
  probe.remove();
  for (const each of document.querySelectorAll("button, select, input:not(.hidden), canvas")) {
    const name = each.ariaLabel || each.getAttribute("aria-label") || each.textContent.trim() || each.labels?.[0]?.textContent.trim();
    if (each.checkVisibility() && !name) offences.push(`no name: ${each.outerHTML.slice(0, 80)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) offences.push(`${document.documentElement.scrollWidth} px wide of ${innerWidth}`);
  const press = async (key, shiftKey = false) => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
    await pause();
    return Number(document.getElementById("clock").value);
  };
  const times = [await press("Home")];
  times.push(await press("m"), await press("m"), await press("PageDown"), await press("ArrowLeft", true), await press("End"));
  await press("Home");
  await press(" ");
  const label = document.getElementById("play").ariaLabel;
  await press(" ");
  await press("?");
  report({
    offences, texts, width: innerWidth, times, label, help: document.getElementById("help").open,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
  });
}, 800));
"#;

#[test]
fn text_lines_and_controls_can_be_seen_and_keys_move_the_time() {
    let folder = TempDir::new().expect("a folder");
    let page = std::fs::read_to_string(outage(folder.path(), "0 s")).expect("a page");
    for (width, scheme, is_dark) in [(1400, 1, false), (1400, 0, true), (400, 1, false)] {
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        let options = ["--window-size=1400,1000", &scheme];
        let result = reported(folder.path(), &page, CHECKS, "t=8&beside=1", width, &options);
        let Some(result) = result else { return };
        assert_eq!(result["offences"], json!([]), "{width} {scheme}");
        assert!(result["texts"].as_u64() > Some(40), "{result}");
        assert_eq!((&result["width"], &result["dark"]), (&json!(width), &json!(is_dark)));
        // From the first sample to the two events, a twentieth of 12 s later, a hundredth earlier, the end.
        assert_eq!(result["times"], json!([0.1, 4, 6, 6.59, 6.48, 12]));
        assert_eq!((&result["label"], &result["help"]), (&json!("Pause"), &json!(true)));
    }
}

/// An hour of ten flows, two samples a second, with all that a flow may have.
fn hour() -> Recording {
    let mut recording = Recording::new("an hour");
    let names = [
        (Panel::Rate, "sent", 2e6),
        (Panel::Rate, "delivered", 1.9e6),
        (Panel::Rate, "allowed", 2.5e6),
        (Panel::Rate, "capacity", 3e6),
        (Panel::Loss, "queue", 1.0),
        (Panel::Loss, "radio", 4.0),
        (Panel::Loss, "repaired", 4.0),
        (Panel::Loss, "late", 0.5),
        (Panel::Delay, "delay", 0.05),
        (Panel::Delay, "round trip", 0.08),
        (Panel::Frames, "whole", 24.0),
        (Panel::Frames, "repaired", 2.0),
        (Panel::Queue, "waiting here", 5.0),
        (Panel::Air, "station", 0.3),
    ];
    let tracks: Vec<_> = (0..10).map(|flow| recording.track("flow", format!("flow {flow}"))).collect();
    let series: Vec<_> = tracks
        .iter()
        .flat_map(|&track| names.map(|(panel, name, value)| (track, panel, name, value)))
        .map(|(track, panel, name, value)| (recording.series(track, panel, name), value))
        .collect();
    let mut noise = 1u32;
    for sample in 1..=7200u32 {
        let row: Vec<_> = series
            .iter()
            .map(|&(series, value)| {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let wave = f64::from((sample % 240).abs_diff(120)) / 60.0 - 1.0;
                (series, value * (1.0 + 0.3 * wave + 0.2 * f64::from(noise >> 8) / f64::from(1u32 << 24)))
            })
            .collect();
        let at = f64::from(sample) / 2.0;
        recording.push(at, &row);
        let track = tracks[sample as usize % tracks.len()];
        if sample % 20 == 0 {
            recording.mark(at, track, "key frame requested");
            recording.say(at, track, &format!("everything arrives; {}.00 Mbit/s delivered", sample % 3 + 1));
        }
    }
    recording
}

/// Counts frames of the browser, and drawings of charts, while the page rests, and while it plays ten minutes
/// of the hour in charts that move: in turns, so that both have the same share of the machine.
const SPEED: &str = r#"
addEventListener("load", async () => {
  let [drawn, points] = [0, 0];
  const count = (kind, method, counted) => {
    const original = kind.prototype[method];
    kind.prototype[method] = function (...place) {
      counted();
      return original.apply(this, place);
    };
  };
  count(CanvasRenderingContext2D, "clearRect", () => (drawn += 1)); // each drawing of a chart begins so
  count(Path2D, "lineTo", () => (points += 1));
  const draws = [];
  const frames = (time) => new Promise((done) => {
    const start = performance.now();
    let count = 0;
    const step = (now) => {
      count += 1;
      if (now - start < time) requestAnimationFrame(step);
      else done(count / ((now - start) / 1000));
    };
    requestAnimationFrame(step);
  });
  const press = () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
  const isPlaying = () => document.getElementById("play").ariaLabel === "Pause";
  const span = document.getElementById("span");
  span.value = "600";
  span.dispatchEvent(new Event("change"));
  await frames(1000);
  const [idle, playing] = [[], []];
  for (let turn = 0; turn < 5; turn++) {
    if (isPlaying()) press();
    await frames(200);
    idle.push(await frames(1000));
    press();
    await frames(200);
    const [before, start] = [drawn, performance.now()];
    playing.push(await frames(1000));
    draws.push((drawn - before) / ((performance.now() - start) / 1000));
  }
  const charts = [...document.querySelectorAll(".uplot")];
  const width = charts[0].querySelector(".u-over").clientWidth;
  report({ idle, playing, draws, points: points / drawn, width, charts: charts.length });
});
"#;

#[test]
fn an_hour_of_ten_flows_costs_a_page_one_drawing_for_each_pixel() {
    let folder = TempDir::new().expect("a folder");
    let page = document(&hour());
    let options = ["--window-size=1400,1000"];
    let result = reported(folder.path(), &page, SPEED, "t=1800&speed=10&beside=1", 1400, &options);
    let Some(result) = result else { return };
    let median = |name: &str| {
        let mut values: Vec<f64> =
            result[name].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let (idle, playing) = (median("idle"), median("playing"));
    // Frame rates depend on the load of the machine, so the test only prints them.
    println!("{idle:.1} frames a second at rest, {playing:.1} while the charts move: {result}");
    assert_eq!(result["charts"], 12, "{result}");
    // Ten minutes are some 500 pixels wide, and ten seconds pass in one: a chart is drawn again for each
    // pixel, and not for each frame.
    let draws = median("draws") / 12.0;
    assert!(draws > 0.0 && draws < 15.0, "{result}");
    // A line has at most the first, least, greatest and last value of each pixel, regardless of the time that
    // it shows: 28 lines in 12 charts.
    let (points, width) = (result["points"].as_f64(), result["width"].as_f64());
    let lines = 28.0 / 12.0;
    assert!(points > Some(lines * 100.0) && points < width.map(|width| lines * 4.0 * width), "{result}");
}
