//! The video itself on the live page (WHEP): what a browser decodes, the delay that its page names, and what
//! strangers may do.

#![allow(clippy::disallowed_types, reason = "it measures real time")]

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use tempfile::TempDir;

use crate::live_page_browser::{PATIENCE, chromium};
use crate::relays;
use relays::{Relay, get, secret, socket};

/// The pictures: their sides, their number until they repeat, and the bits of it that each shows as a bar.
const SIDES: (usize, usize) = (192, 128);
const PICTURES: usize = 128;
const BITS: usize = 7;
/// Time between two pictures, and the same in the clock of RTP.
const PERIOD: Duration = Duration::from_millis(40);
const TICKS: u32 = 3600;
/// Delay of the path in each direction, and the tolerance of the page's delay.
const PATH: Duration = Duration::from_millis(60);
const TOLERANCE_MS: f64 = 20.0;

/// The NAL units of each picture, which fit a packet each.
fn pictures(folder: &Path) -> Option<Vec<Vec<Vec<u8>>>> {
    let (width, height) = SIDES;
    let mut raw = Vec::new();
    for number in 0..PICTURES {
        let bar = |x: usize| if number >> (x * BITS / width) & 1 == 1 { 235 } else { 16 };
        let line: Vec<u8> = (0..width).map(bar).collect();
        (0..height).for_each(|_| raw.extend_from_slice(&line));
        raw.resize(raw.len() + width * height / 2, 128);
    }
    let (source, coded) = (folder.join("raw.yuv"), folder.join("coded.h264"));
    std::fs::write(&source, raw).expect("it is written");
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-r", "25"]);
    command.args(["-s", &format!("{width}x{height}"), "-i"]).arg(&source);
    command.args([
        "-c:v",
        "libx264",
        "-profile:v",
        "baseline",
        "-tune",
        "zerolatency",
        "-g",
        "32",
        "-x264-params",
    ]);
    command.arg("aud=1:repeat-headers=1:scenecut=0:slice-max-size=1100:threads=1").arg(&coded);
    match command.status() {
        Ok(status) => assert!(status.success(), "ffmpeg"),
        Err(error) => {
            assert_ne!(std::env::var("REQUIRE_ALL").as_deref(), Ok("1"), "ffmpeg: {error}");
            println!("skipped: ffmpeg: {error}");
            return None;
        }
    }
    let coded = std::fs::read(&coded).expect("a file");
    let starts: Vec<usize> = (0..coded.len().saturating_sub(3))
        .filter(|&at| coded[at..].starts_with(&[0, 0, 1]))
        .map(|at| at + 3)
        .collect();
    let mut pictures: Vec<Vec<Vec<u8>>> = Vec::new();
    for (place, &start) in starts.iter().enumerate() {
        let end = starts.get(place + 1).map_or(coded.len(), |next| next - 3);
        let unit = coded[start..end].strip_suffix(&[0]).unwrap_or(&coded[start..end]);
        // Type 9 is a delimiter of pictures.
        match unit[0] & 0x1f {
            9 => pictures.push(Vec::new()),
            _ => pictures.last_mut().expect("a delimiter").push(unit.to_vec()),
        }
    }
    assert_eq!(pictures.len(), PICTURES);
    Some(pictures)
}

/// Sends the pictures in a loop at their frame times until stopped, and counts the requests for key frames.
fn camera(
    to: SocketAddr,
    pictures: Vec<Vec<Vec<u8>>>,
    begin: Instant,
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicU64>,
) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let answers = socket.try_clone().expect("a descriptor");
    answers.set_read_timeout(Some(Duration::from_secs(1))).expect("a time");
    let is_over = stop.clone();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while !is_over.load(Ordering::Relaxed) {
            // A Picture Loss Indication: payload-specific feedback (206) of format 1 about the SSRC 9.
            let Ok(size) = answers.recv(&mut buffer) else { continue };
            let is_request = size == 12 && buffer[..2] == [0x81, 206] && buffer[8..12] == [0, 0, 0, 9];
            asked.fetch_add(u64::from(is_request), Ordering::Relaxed);
        }
    });
    thread::spawn(move || {
        let mut sequence = 65_000u16;
        for number in 0u32.. {
            thread::sleep((begin + PERIOD * number).saturating_duration_since(Instant::now()));
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let units = &pictures[number as usize % PICTURES];
            for (place, unit) in units.iter().enumerate() {
                let marker = u8::from(place + 1 == units.len()) << 7;
                let mut packet = vec![0x80, 96 | marker];
                packet.extend(sequence.to_be_bytes());
                packet.extend((number * TICKS).to_be_bytes());
                packet.extend([0, 0, 0, 9]);
                packet.extend(unit);
                let _ = socket.send_to(&packet, to);
                sequence = sequence.wrapping_add(1);
            }
        }
    });
}

/// A path to `to` that takes [`PATH`] in each direction. Returns its address.
fn slow_path(to: SocketAddr) -> SocketAddr {
    let (outside, inside) = (UdpSocket::bind("127.0.0.1:0"), UdpSocket::bind("127.0.0.1:0"));
    let (outside, inside) = (outside.expect("loopback"), inside.expect("loopback"));
    inside.connect(to).expect("loopback");
    let at = outside.local_addr().expect("bound");
    let client = Arc::new(std::sync::Mutex::new(None));
    let clone = |socket: &UdpSocket| socket.try_clone().expect("a descriptor");
    for is_forward in [true, false] {
        let (from, to) =
            if is_forward { (clone(&outside), clone(&inside)) } else { (clone(&inside), clone(&outside)) };
        let client = client.clone();
        thread::spawn(move || {
            let mut under_way = VecDeque::<(Instant, Vec<u8>)>::new();
            let mut buffer = [0; 65_536];
            loop {
                let due = under_way.front().map(|(due, _)| due.saturating_duration_since(Instant::now()));
                if due.is_some_and(|due| due.is_zero()) {
                    let (_, datagram) = under_way.pop_front().expect("one is due");
                    let known = *client.lock().expect("no panic");
                    let _ = if is_forward {
                        to.send(&datagram)
                    } else {
                        known.map_or(Ok(0), |at| to.send_to(&datagram, at))
                    };
                    continue;
                }
                from.set_read_timeout(due.or(Some(Duration::from_secs(1)))).expect("a time");
                if let Ok((size, source)) = from.recv_from(&mut buffer) {
                    under_way.push_back((Instant::now() + PATH, buffer[..size].to_vec()));
                    if is_forward {
                        *client.lock().expect("no panic") = Some(source);
                    }
                }
            }
        });
    }
    at
}

/// The page of a relay as a browser asks for it, with a script of the test, at another port: what the script
/// posts to `/done` is reported.
fn with_script(relay: SocketAddr, script: String) -> (SocketAddr, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let at = listener.local_addr().expect("bound");
    let (done, results) = mpsc::channel();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (script, done) = (script.clone(), done.clone());
            thread::spawn(move || forward(client, relay, (at, &script), &done));
        }
    });
    (at, results)
}

fn forward(
    mut client: TcpStream,
    relay: SocketAddr,
    (own, script): (SocketAddr, &str),
    done: &mpsc::Sender<String>,
) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match client.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = head
        .to_ascii_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    if client.read_exact(&mut body).is_err() {
        return;
    }
    if head.starts_with("POST /done ") {
        let _ = done.send(String::from_utf8_lossy(&body).into_owned());
        let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return;
    }
    let mut server = TcpStream::connect(relay).expect("it listens");
    let head = head.replace(&own.to_string(), &relay.to_string()).replace("keep-alive", "close");
    let _ = server.write_all(head.as_bytes()).and_then(|()| server.write_all(&body));
    if head.starts_with("GET / ") {
        let mut page = String::new();
        let _ = server.read_to_string(&mut page);
        let page = page.split_once("\r\n\r\n").map_or("", |(_, page)| page);
        let page = page.replace("</body>", &format!("<script>{script}</script></body>"));
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}", page.len());
        let _ = write!(client, "{head}\r\nConnection: close\r\n\r\n{page}");
    } else {
        let _ = std::io::copy(&mut server, &mut client);
    }
}

/// Watches the video, reads the number of each picture from its bars, and compares the page's delay with that
/// from the time at which the picture was taken. `BEGIN` is the time of the first picture.
const WATCH: &str = r#"
addEventListener("load", async () => {
  const pause = (time) => new Promise((done) => setTimeout(done, time));
  while (document.getElementById("screen").hidden) await pause(50);
  await pause(1500); // the round trip is known
  document.getElementById("watch").click();
  const video = document.getElementById("video");
  const context = Object.assign(document.createElement("canvas"), { width: 192, height: 128 }).getContext("2d", { willReadFrequently: true });
  const samples = [];
  const frame = (now, { expectedDisplayTime }) => {
    video.requestVideoFrameCallback(frame);
    context.drawImage(video, 0, 0, 192, 128);
    let number = 0;
    for (let bit = 0; bit < 7; bit++) number |= (context.getImageData(Math.round((bit + 0.5) * 192 / 7), 64, 1, 1).data[0] > 128) << bit;
    const shown = performance.timeOrigin + expectedDisplayTime - BEGIN;
    const age = (((shown - number * 40) % 5120) + 5120) % 5120;
    samples.push([number, age, parseFloat(document.getElementById("seen").textContent)]);
    if (samples.length === 200) {
      const { width, height } = video.getBoundingClientRect();
      fetch("/done", { method: "POST", body: JSON.stringify({ samples, size: [video.videoWidth, video.videoHeight, width, height] }) });
    }
  };
  video.requestVideoFrameCallback(frame);
});
"#;

#[test]
fn a_browser_shows_the_video_and_its_page_names_the_true_delay() {
    let folder = TempDir::new().expect("a folder");
    let Some(pictures) = pictures(folder.path()) else { return };
    let Some(mut browser) = chromium(folder.path(), &["--autoplay-policy=no-user-gesture-required"]) else {
        return;
    };
    let secret = secret(&folder);
    let player = socket();
    let to = player.local_addr().expect("bound").to_string();
    let listen = [
        "relay",
        "server",
        "--bind",
        "127.0.0.1:0",
        "--to",
        &to,
        "--http",
        "127.0.0.1:0",
        "--secret-file",
        &secret,
    ];
    let mut far = Relay::start(&listen);
    let at = slow_path(far.address("at UDP ")).to_string();
    let page = far.address("http://");
    let connect =
        ["relay", "client", &at, "--from", "127.0.0.1:0", "--video", "h264", "--secret-file", &secret];
    let mut near = Relay::start(&connect);
    let port = near.address("at UDP ");
    near.event("connected");
    let (begin, begun) = (Instant::now(), SystemTime::UNIX_EPOCH.elapsed().expect("a clock"));
    let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    camera(port, pictures, begin, stop.clone(), asked.clone());
    let script = WATCH.replace("BEGIN", &format!("{:.3}", begun.as_secs_f64() * 1e3));
    let (at, results) = with_script(page, script);
    browser.args(["--remote-debugging-port=0", &format!("http://{at}/")]).stdout(Stdio::null());
    let mut browser = browser.spawn().expect("it starts");
    let result = results.recv_timeout(PATIENCE);
    let _ = browser.kill();
    let _ = browser.wait();
    stop.store(true, Ordering::Relaxed);
    let result: Value = serde_json::from_str(&result.expect("pictures in time")).expect("JSON");
    assert_eq!((&result["size"][0], &result["size"][1]), (&192.into(), &128.into()), "{result}");
    let samples: Vec<[f64; 3]> = serde_json::from_value(result["samples"].clone()).expect("numbers");
    // The pictures go on: by one, or more if the browser was busy.
    let steps = samples.windows(2).map(|pair| (pair[1][0] - pair[0][0]).rem_euclid(PICTURES as f64));
    assert!(steps.clone().filter(|step| (1.0..=63.0).contains(step)).count() > 150, "{samples:?}");
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    // After two seconds the least transit is known.
    let late = &samples[50..];
    let truth = median(late.iter().map(|sample| sample[1]).collect());
    let wrong = median(late.iter().map(|sample| (sample[2] - sample[1]).abs()).collect());
    let requests = asked.load(Ordering::Relaxed);
    println!(
        "{truth:.0} ms from camera to picture, by the page {wrong:.1} ms more or less; {requests} requests for key frames"
    );
    assert!(truth > PATH.as_secs_f64() * 1e3, "{samples:?}");
    assert!(wrong < TOLERANCE_MS, "{samples:?}");
    // The first picture needs a key frame.
    assert!(requests > 0);
}

/// An offer to receive H.264, as a browser makes it.
const OFFER: &str = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
    m=video 9 UDP/TLS/RTP/SAVPF 102\r\nc=IN IP4 0.0.0.0\r\na=rtcp:9 IN IP4 0.0.0.0\r\na=ice-ufrag:abcd\r\n\
    a=ice-pwd:abcdefghijklmnopqrstuvwx\r\na=fingerprint:sha-256 \
    AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99\r\n\
    a=setup:actpass\r\na=mid:0\r\na=recvonly\r\na=rtcp-mux\r\na=rtpmap:102 H264/90000\r\na=rtcp-fb:102 nack\r\n\
    a=rtcp-fb:102 nack pli\r\na=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f\r\n";

/// The head and the body of the answer to a request with a body, with more header lines.
fn send(at: SocketAddr, line: &str, headers: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(at).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    let length = body.len();
    let _ = write!(
        stream,
        "{line} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    let mut text = Vec::new();
    // A server that refuses a body may end the connection before it has read all of it.
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    (head.to_owned(), body.to_owned())
}

#[test]
fn strangers_get_no_video_and_viewers_are_few() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let start = |http: &str| {
        let mut relay = Relay::start(&[
            "relay",
            "server",
            "--bind",
            "127.0.0.1:0",
            "--to",
            "127.0.0.1:9",
            "--http",
            http,
            "--secret-file",
            &secret,
        ]);
        let page = relay.address("http://");
        (relay, SocketAddr::from(([127, 0, 0, 1], page.port())))
    };
    let (_relay, page) = start("127.0.0.1:0");
    let code = |line: &str, headers: &str, body: &str| {
        let (head, _) = send(page, line, headers, body);
        head.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    // No site of the web offers a session through a browser of this host, and reading changes nothing.
    assert_eq!(code("POST /whep", "Origin: http://rebound.example\r\n", OFFER), "403");
    assert_eq!(code("GET /whep", "", ""), "404");
    assert_eq!(code("POST /whep/", "", OFFER), "405");
    for (offer, expected) in [("", "400"), ("v=0\r\n", "400"), ("\u{0}", "400"), (&"a".repeat(70_000), "413")]
    {
        assert_eq!(code("POST /whep", "", offer), expected, "{} bytes", offer.len());
    }
    assert_eq!(code("POST /whep", "", &OFFER.replace("H264", "VP8")), "400");
    let (head, answer) = send(page, "POST /whep", &format!("Origin: http://{page}\r\n"), OFFER);
    assert!(head.starts_with("HTTP/1.1 201") && head.contains("application/sdp"), "{head}");
    assert!(
        answer.contains("a=sendonly") && answer.contains(" 127.0.0.1 ") && answer.contains("H264/90000"),
        "{answer}"
    );
    let place = |head: &str| {
        head.lines().find_map(|line| line.strip_prefix("location: ")).expect("a place").to_owned()
    };
    let first = place(&head);
    assert_eq!(code("DELETE /whep/none", "", ""), "404");
    assert_eq!(code(&format!("DELETE {first}"), "Origin: http://rebound.example\r\n", ""), "403");
    assert_eq!(code(&format!("DELETE {first}"), "", ""), "200");
    assert_eq!(code(&format!("DELETE {first}"), "", ""), "404");
    // Each session has a socket: the oldest ends when there are too many.
    let places: Vec<String> = (0..10).map(|_| place(&send(page, "POST /whep", "", OFFER).0)).collect();
    let ended = || places.iter().filter(|place| code(&format!("DELETE {place}"), "", "") == "404").count();
    assert_eq!(ended(), 2);
    let state: Value = serde_json::from_str(&get(page, "/").1).expect("JSON");
    assert_eq!(state["established"], 0);
    // At an address of other hosts nobody watches without the token.
    let (_relay, page) = start("0.0.0.0:0");
    for line in ["POST /whep", "DELETE /whep/none", "POST /whep?token=0"] {
        assert!(send(page, line, "", OFFER).0.starts_with("HTTP/1.1 401"), "{line}");
    }
}
