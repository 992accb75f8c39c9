//! The live page: what its server sends, and the page itself in a browser.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::{processes, relays};
use processes::{finish, whimbrel};
use relays::{Relay, get, listening, receive, request, secret, socket};

/// A relay that connects to another one, and the address of its page.
fn connected(folder: &TempDir, video: SocketAddr) -> (Relay, Relay, SocketAddr, SocketAddr) {
    let secret = secret(folder);
    let (far, at) = listening(&video.to_string(), &secret);
    let at = at.to_string();
    let mut near = Relay::start(&[
        "relay",
        "connect",
        &at,
        "--from",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
        "--secret-file",
        &secret,
    ]);
    let port = near.address("at UDP ");
    let page = near.address("http://");
    near.event("connected");
    (near, far, port, page)
}

/// A request with an `Accept` header, of which the answer is read line by line.
fn accepting(at: SocketAddr, path: &str, kind: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(at).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {at}\r\nAccept: {kind}\r\n\r\n").expect("it reads");
    BufReader::new(stream)
}

/// The data of the next event of a kind.
fn event(stream: &mut BufReader<TcpStream>, kind: &str) -> Value {
    let mut is_it = false;
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).expect("an event in time") > 0, "no end before {kind}");
        if let Some(name) = line.strip_prefix("event: ") {
            is_it = name.trim() == kind;
        }
        if let Some(data) = line.strip_prefix("data: ").filter(|_| is_it) {
            return serde_json::from_str(data).expect("JSON");
        }
    }
}

#[test]
fn a_browser_gets_the_page_and_events_and_a_program_the_state() {
    let folder = TempDir::new().expect("a folder");
    let video = socket();
    let (_near, _far, port, page) = connected(&folder, video.local_addr().expect("bound"));
    let mut html = accepting(page, "/", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8");
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(html.read_line(&mut head).expect("a head") > 0);
    }
    for header in ["200 OK", "text/html", "no-store", "nosniff", "x-frame-options: DENY"] {
        assert!(head.contains(header), "{header}: {head}");
    }
    let state: Value = serde_json::from_str(&get(page, "/").1).expect("JSON for programs");
    assert_eq!(state["established"], 1);

    let mut events = accepting(page, "/events", "text/event-stream");
    // The connection has a track from its first sample on.
    let mut all = event(&mut events, "all");
    while all["tracks"][0].is_null() {
        all = event(&mut events, "all");
    }
    assert_eq!(all["tracks"][0]["kind"], "connection");
    let program = socket();
    for number in 0..40u8 {
        program.send_to(&[number; 400], port).expect("loopback");
        receive(&video);
        std::thread::sleep(Duration::from_millis(20));
    }
    // The first samples bring the series, and with them everything anew.
    let mut sentences = Vec::new();
    while !sentences.iter().any(|text: &String| text.starts_with("everything arrives")) {
        let more = event(&mut events, "more");
        sentences.extend(
            more["sentences"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|each| each["text"].as_str().expect("a text").to_owned()),
        );
    }
    let file = get(page, "/recording.html").1;
    assert!(file.contains("everything arrives") && file.contains("\"name\":\"sent\""));
    assert!(request(page, "POST", "/recording.html", "127.0.0.1").0.starts_with("HTTP/1.1 405"));
    assert!(request(page, "GET", "/events", "rebound.example").0.starts_with("HTTP/1.1 421"));
}

/// The document of a page after a browser has run it; `None` if there is no browser and none is required.
fn browsed(url: &str, folder: &Path) -> Option<String> {
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let mut command = Command::new("chromium");
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1400,1000",
        "--virtual-time-budget=4000",
    ]);
    command.args([&profile, "--dump-dom", url]).stderr(Stdio::null());
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Err(error) => {
            let required = std::env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
            assert!(!required, "chromium: {error}. Install it with: sudo apt-get install chromium");
            println!("skipped: chromium: {error}. Install it with: sudo apt-get install chromium");
            None
        }
    }
}

/// The page of a run with an interruption, at a moment after it: the sentence, the events and the charts are there.
#[test]
fn a_browser_shows_a_run_and_explains_its_interruption() {
    let folder = TempDir::new().expect("a folder");
    let scenario = folder.path().join("outage.toml");
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
        traffic = { kind = "cbr", rate = "800 kbit/s" }
    "#;
    std::fs::write(&scenario, text).expect("it is written");
    let page = folder.path().join("outage.html");
    let [scenario, file] = [&scenario, &page].map(|path| path.to_str().expect("a plain path"));
    let output = finish(whimbrel(&["run", "--quiet", scenario, "--watch", file]).spawn().expect("it starts"));
    assert!(output.status.success(), "{output:?}");
    let Some(document) = browsed(&format!("file://{file}#t=8"), folder.path()) else { return };
    let sentence = document.split("<p class=\"sentence").nth(1).and_then(|rest| rest.split("</p>").next());
    // In intervals of 0.1 s: in the first one after 4 s arrives what was under way.
    let sentence = sentence.expect("a sentence");
    assert!(
        sentence.contains("no data from 4.10 to 6.00 s: the link was down; 189 packets missing"),
        "{sentence}"
    );
    for part in [
        "Rate in bit/s over time",
        "Losses by cause in packets/s",
        "Queues in packets",
        "radio down",
        "radio up",
    ] {
        assert!(document.contains(part), "{part}");
    }
}
