//! The live page: what its server sends.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::processes::whimbrel;
use crate::relays;
use relays::{Relay, get, listening, receive, request, secret, socket};

/// A relay that connects to another one, and the address of its page.
fn connected(folder: &TempDir, video: SocketAddr) -> (Relay, Relay, SocketAddr, SocketAddr) {
    let secret = secret(folder);
    let (far, at) = listening(&video.to_string(), &secret);
    let at = at.to_string();
    let mut near = Relay::start(&[
        "relay",
        "client",
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

#[test]
fn beyond_this_host_a_page_shows_nothing_without_its_token() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let mut relay = Relay::start(&[
        "relay",
        "server",
        "--bind",
        "127.0.0.1:0",
        "--to",
        "127.0.0.1:9",
        "--http",
        "0.0.0.0:0",
        "--secret-file",
        &secret,
    ]);
    relay.address("at UDP ");
    let text = loop {
        let text = relay.event("ready");
        if text.contains("http://") {
            break text;
        }
    };
    // The token is printed once, as a part of the URL.
    let (_, url) = text.split_once("http://").expect("a URL");
    let (address, token) = url.split_once("/?token=").expect("a token");
    assert!(token.len() == 32 && token.bytes().all(|it| it.is_ascii_hexdigit()), "{token}");
    let port = address.parse::<SocketAddr>().expect("an address").port();
    let at = SocketAddr::from(([127, 0, 0, 1], port));
    let wrong = format!("/?token={}", "0".repeat(32));
    for path in ["/", "/rate", "/metrics", "/events", "/recording.html", "/none", &wrong] {
        let (head, body) = get(at, path);
        assert!(
            head.starts_with("HTTP/1.1 401") && head.contains("www-authenticate: Bearer"),
            "{path}: {head}"
        );
        assert!(!body.contains(token) && !body.contains("established"), "{body}");
    }
    assert!(get(at, &format!("/?token={token}")).1.contains("established"));
    assert!(get(at, &format!("/metrics?token={token}")).1.contains("whimbrel_relay_connections"));
    // The token opens no page to another site.
    let rebound = request(at, "GET", &format!("/?token={token}"), "rebound.example");
    assert!(rebound.0.starts_with("HTTP/1.1 421"));
    let post = request(at, "POST", &format!("/?token={token}"), "127.0.0.1");
    assert!(post.0.starts_with("HTTP/1.1 405"));
}

#[test]
fn a_chosen_token_stays_the_same_and_is_not_printed() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let file = folder.path().join("page.token").to_str().expect("text").to_owned();
    assert!(whimbrel(&["key", "secret", "--file", &file]).status().expect("it runs").success());
    let token = std::fs::read_to_string(&file).expect("a file");
    let token = token.trim_end();
    let arguments = |file: &str| {
        let listen = "relay server --bind 127.0.0.1:0 --to 127.0.0.1:9 --http 127.0.0.1:0 --http-token-file";
        let mut all: Vec<String> = listen.split(' ').map(str::to_owned).collect();
        all.extend([file, "--secret-file", &secret].map(str::to_owned));
        all
    };
    let start = |file: &str| {
        let arguments = arguments(file);
        Relay::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let mut relay = start(&file);
    let text = loop {
        let text = relay.event("ready");
        if text.contains("http://") {
            break text;
        }
    };
    assert!(!text.contains(token), "{text}");
    let (_, url) = text.split_once("http://").expect("a URL");
    let at: SocketAddr = url.split('/').next().and_then(|at| at.parse().ok()).expect("an address");
    // Also at an address of the loopback interface.
    assert!(get(at, "/metrics").0.starts_with("HTTP/1.1 401"));
    assert!(get(at, &format!("/metrics?token={token}")).1.contains("whimbrel_relay_connections"));
    let mut stream = TcpStream::connect(at).expect("it listens");
    write!(
        stream,
        "GET /metrics HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    )
    .expect("it reads");
    let mut first = String::new();
    BufReader::new(stream).read_line(&mut first).expect("an answer");
    assert!(first.starts_with("HTTP/1.1 200"), "{first}");
    // An invalid token is an error of usage, and so is a file that others can read, with its name.
    let short = folder.path().join("short").to_str().expect("text").to_owned();
    std::fs::write(&short, "too short\n").expect("it is written");
    for (mode, reason) in [(0o600, "expected a token of 16"), (0o644, "chmod 600")] {
        std::fs::set_permissions(&short, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        let arguments = arguments(&short);
        let output = whimbrel(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).output();
        let output = output.expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(
            text.contains("--http-token-file") && text.contains(&short) && text.contains(reason),
            "{text}"
        );
    }
}
