//! `whimbrel relay` and `whimbrel carry`, the built program, between programs on the loopback interface.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::processes;
use crate::relays;
use processes::{finish, signal, stderr, stdout, wait_until, whimbrel};
use relays::{Relay, get, listening, receive, request, secret, socket};

/// Both ends: of two ports, with the state at the near one. Returns them, the near ports and the address of
/// the state.
fn pair(secret: &str, targets: [&UdpSocket; 2]) -> (Relay, Relay, Vec<SocketAddr>, SocketAddr) {
    let to = targets.map(|target| target.local_addr().expect("bound").to_string());
    let mut far = Relay::start(&[
        "relay",
        "server",
        "--bind",
        "127.0.0.1:0",
        "--to",
        &to[0],
        "--to",
        &to[1],
        "--secret-file",
        secret,
    ]);
    let at = far.address("at UDP ").to_string();
    let near = ["relay", "client", &at, "--from", "127.0.0.1:0", "--from", "127.0.0.1:0"];
    let rest = ["--http", "127.0.0.1:0", "--interval", "0.2", "--secret-file", secret];
    let mut near = Relay::start(&[&near[..], &rest].concat());
    let text = near.event("ready");
    let ports = text.split("at UDP ").nth(1).and_then(|text| text.split(" go to").next()).expect("addresses");
    let ports = ports.split(", ").map(|port| port.parse().expect("an address")).collect();
    let state = near.address("http://");
    assert!(near.event("connected").contains("encrypted; its key is SHA256:"));
    (near, far, ports, state)
}

#[test]
fn several_programs_talk_through_one_connection_and_answers_find_their_way() {
    let folder = TempDir::new().expect("a folder");
    let (video, control) = (socket(), socket());
    let (near, _far, ports, state) = pair(&secret(&folder), [&video, &control]);
    let programs: Vec<_> = (0..5).map(|_| socket()).collect();
    let mut sources = Vec::new();
    for (n, program) in (0u8..).zip(&programs) {
        for (port, target) in ports.iter().zip([&video, &control]) {
            program.send_to(&[n, 1, 2, 3], port).expect("loopback");
            let (data, source) = receive(target);
            assert_eq!(data, [n, 1, 2, 3]);
            target.send_to(&[n, 9], source).expect("loopback");
            let (answer, from) = receive(program);
            assert_eq!((answer, from), (vec![n, 9], *port));
            sources.push(source);
        }
    }
    sources.sort_unstable();
    sources.dedup();
    assert_eq!(sources.len(), 10, "each flow has a socket of its own");

    let (head, body) = get(state, "/rate");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/json"), "{head}");
    let rate: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(rate["connected"], true);
    let rates = ["allowed_rate_bps", "encoder_rate_bps"].map(|key| rate[key].as_f64().expect("a rate"));
    // On a loaded machine a datagram may be repeated.
    let overhead = rate["repair"]["overhead"].as_f64().expect("a share");
    assert!(rates[1] > 0.9 * rates[0] / (1.0 + overhead) && rates[1] < rates[0], "{rate}");
    thread::sleep(Duration::from_millis(600));
    let everything: Value = serde_json::from_str(&get(state, "/").1).expect("JSON");
    assert_eq!(everything["connections"][0]["flows"], 10);
    assert_eq!(everything["connections"][0]["datagrams_sent"], 10);
    let metrics = get(state, "/metrics").1;
    for line in [
        "whimbrel_relay_connections 1",
        "whimbrel_relay_sent_datagrams_total 10",
        "whimbrel_relay_received_datagrams_total 10",
        "whimbrel_relay_program_datagrams_total{direction=\"to_peer\"} 10",
        "whimbrel_relay_delivered_datagrams_total{direction=\"from_peer\"} 10",
        "whimbrel_relay_lost_datagrams_total{direction=\"to_peer\",reason=\"stale\"} 0",
    ] {
        assert!(metrics.lines().any(|each| each == line), "{line}: {metrics}");
    }
    assert!(get(state, "/secret").0.starts_with("HTTP/1.1 404"));
    let idle: Vec<_> = (0..64).map(|_| std::net::TcpStream::connect(state).expect("it listens")).collect();
    assert!(get(state, "/rate").0.starts_with("HTTP/1.1 200"), "with clients that send nothing");
    drop(idle);
    let (head, body) = request(state, "HEAD", "/rate", "127.0.0.1");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("content-length") && body.is_empty(), "{head}");
    assert!(request(state, "POST", "/rate", "127.0.0.1").0.contains("allow: GET, HEAD"));
    assert!(request(state, "GET", "/rate", "rebound.example").0.starts_with("HTTP/1.1 421"));
    drop(near);
}

/// An RTP packet of H.264.
fn rtp(sequence: u16, timestamp: u32, nal: &[u8], size: usize) -> Vec<u8> {
    let mut packet = vec![0x80, 96];
    packet.extend(sequence.to_be_bytes());
    packet.extend(timestamp.to_be_bytes());
    packet.extend([0, 0, 0, 1]);
    packet.extend(nal);
    packet.resize(size, 0x55);
    packet
}

/// A path of 600 kbit/s with a queue of 20 packets towards `far`, and an unlimited one back. Returns its near
/// address.
fn narrow_path(far: SocketAddr) -> SocketAddr {
    const BITS_PER_SECOND: f64 = 600e3;
    let (near_side, far_side) = (UdpSocket::bind("127.0.0.1:0").expect("loopback"), socket());
    far_side.set_read_timeout(None).expect("no time");
    far_side.connect(far).expect("loopback");
    let at = near_side.local_addr().expect("bound");
    let (queue, queued) = std::sync::mpsc::sync_channel::<Vec<u8>>(20);
    let client = std::sync::Arc::new(std::sync::OnceLock::new());
    let (back, known) = (near_side.try_clone().expect("a descriptor"), client.clone());
    let returning = far_side.try_clone().expect("a descriptor");
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((size, source)) = near_side.recv_from(&mut buffer) {
            let _ = client.set(source);
            // A full queue drops.
            let _ = queue.try_send(buffer[..size].to_vec());
        }
    });
    thread::spawn(move || {
        while let Ok(packet) = queued.recv() {
            thread::sleep(Duration::from_secs_f64((packet.len() + 28) as f64 * 8.0 / BITS_PER_SECOND));
            let _ = far_side.send(&packet);
        }
    });
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok(size) = returning.recv(&mut buffer) {
            if let Some(source) = known.get() {
                let _ = back.send_to(&buffer[..size], source);
            }
        }
    });
    at
}

#[test]
fn when_the_rate_is_short_whole_frames_are_dropped_and_parameter_sets_are_not() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let video = socket();
    let to = video.local_addr().expect("bound").to_string();
    let (_far, at) = listening(&to, &secret);
    let at = narrow_path(at).to_string();
    let options = ["--video", "h264", "--remb", "--http", "127.0.0.1:0", "--secret-file", &secret];
    let mut near = Relay::start(&[&["relay", "client", &at, "--from", "127.0.0.1:0"][..], &options].concat());
    let port = near.address("at UDP ");
    let state = near.address("http://");
    near.event("connected");
    let viewer = video.try_clone().expect("a descriptor");
    viewer.set_read_timeout(Some(Duration::from_millis(1500))).expect("a time");
    let (frames, packets) = (150u32, 5u16);
    let watching = thread::spawn(move || {
        let (mut sets, mut parts) = (0, std::collections::BTreeMap::<u32, u16>::new());
        let mut buffer = [0; 2048];
        while let Ok(size) = viewer.recv(&mut buffer) {
            let timestamp = u32::from_be_bytes(buffer[4..8].try_into().expect("4 bytes"));
            if size == 30 {
                sets += 1;
            } else {
                *parts.entry(timestamp).or_default() += 1;
            }
        }
        (sets, parts)
    });
    let camera = socket();
    let mut rates = vec![];
    // 1.2 Mbit/s, twice what the path carries.
    for frame in 0..frames {
        let first = (frame * u32::from(packets + 1)) as u16;
        camera.send_to(&rtp(first, frame, &[0x67, 0x42], 30), port).expect("loopback");
        for packet in 1..=packets {
            camera.send_to(&rtp(first + packet, frame, &[0x65], 1200), port).expect("loopback");
        }
        thread::sleep(Duration::from_millis(40));
        if frame >= frames / 3 && frame % 10 == 0 {
            let status: Value = serde_json::from_str(&get(state, "/").1).expect("JSON");
            rates.push(status["connections"][0]["allowed_rate_bps"].as_f64().expect("a rate"));
        }
    }
    let (sets, parts) = watching.join().expect("no panic");
    let status: Value = serde_json::from_str(&get(state, "/").1).expect("JSON");
    let connection = &status["connections"][0];
    let whole = parts.values().filter(|count| **count == packets).count();
    println!("{sets} parameter sets, {whole} whole frames of {}; {connection}", parts.len());
    println!("{rates:?}");
    assert!(connection["dropped_frames"].as_u64().expect("a number") > 30, "{status}");
    // Parameter sets are dropped by the path alone, as it is full.
    assert!(sets > frames * 3 / 4, "{sets} of {frames}: {status}");
    // Only the path drops parts of frames: each of its losses spoils a frame at most.
    let lost = connection["to_peer"]["lost"]["path"].as_u64().expect("a number") as usize;
    assert!(whole > 30 && parts.len() - whole <= lost, "{lost} lost, {whole} whole frames: {parts:?}");
    rates.sort_by(f64::total_cmp);
    let median = rates[rates.len() / 2];
    assert!((200e3..1e6).contains(&median), "{rates:?}");
    // The encoder was given the rate, at the port from which it sends: RTCP, REMB.
    let (message, _) = receive(&camera);
    assert_eq!((&message[..4], &message[12..16]), (&[0x8f, 206, 0, 5][..], &b"REMB"[..]));
}

#[test]
fn a_relay_connects_again_after_the_other_end_was_killed() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let program = socket();
    let to = program.local_addr().expect("bound").to_string();
    let (mut far, at) = listening(&to, &secret);
    let at = at.to_string();
    let mut near = Relay::start(&["relay", "client", &at, "--from", "127.0.0.1:0", "--secret-file", &secret]);
    let port = near.address("at UDP ");
    near.event("connected");
    signal(&far.child, Signal::KILL);
    let _ = far.child.wait();
    // The kernel reports at the next datagram that the port is closed.
    let camera = socket();
    let mut far = Relay::start(&["relay", "server", "--bind", &at, "--to", &to, "--secret-file", &secret]);
    far.address("at UDP ");
    let sending = thread::spawn(move || {
        for n in 0..200u8 {
            camera.send_to(&[n], port).expect("loopback");
            thread::sleep(Duration::from_millis(50));
        }
    });
    near.event("ended");
    near.event("connected");
    receive(&program);
    drop((near, far));
    sending.join().expect("no panic");
}

/// Two cameras with the secret of one.
#[test]
fn senders_that_take_turns_because_they_share_a_secret_are_told_so_at_both_ends() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let program = socket();
    let to = program.local_addr().expect("bound").to_string();
    let (mut far, at) = listening(&to, &secret);
    let at = at.to_string();
    let arguments = ["relay", "client", &at, "--from", "127.0.0.1:0", "--secret-file", &secret];
    let mut first = Relay::start(&arguments);
    first.event("connected");
    let mut second = Relay::start(&arguments);
    second.event("connected");
    let ended = first.event("ended");
    assert!(ended.contains("another sender has connected in its place"), "{ended}");
    // The first connects again, and ends the second.
    second.event("ended");
    let mut notes = BufReader::new(far.child.stderr.take().expect("piped")).lines();
    let advises = |line: std::io::Result<String>| line.expect("text").contains("give each a key of its own");
    // On a loaded machine the clients know before the server has printed.
    let told = thread::spawn(move || notes.any(advises));
    wait_until("the server says what to do", || told.is_finished());
    assert!(told.join().expect("no panic"), "the server ended");
}

#[test]
fn a_client_without_the_secret_is_refused_and_a_stranger_learns_nothing() {
    let folder = TempDir::new().expect("a folder");
    let (ours, other) = (secret(&folder), TempDir::new().expect("a folder"));
    let theirs = secret(&other);
    let program = socket();
    let to = program.local_addr().expect("bound").to_string();
    let mut far =
        Relay::start(&["relay", "server", "--bind", "127.0.0.1:0", "--to", &to, "--secret-file", &ours]);
    let at = far.address("at UDP ").to_string();
    for (options, expected) in [
        (&["--secret-file", &theirs][..], "the secrets of the two ends differ"),
        (&[], "listens with encryption and this end is without"),
    ] {
        let mut arguments = vec!["relay", "client", &at, "--from", "127.0.0.1:0"];
        arguments.extend(options);
        let text = Relay::start(&arguments).event("ended");
        assert!(text.contains(expected) || text.contains("not trusted"), "{text}");
    }
    program.set_read_timeout(Some(Duration::from_millis(100))).expect("a time");
    assert!(program.recv(&mut [0; 16]).is_err());
    // To other hosts nothing goes in the clear.
    let output = finish(
        whimbrel(&["relay", "client", "192.0.2.1", "--from", "127.0.0.1:0"]).spawn().expect("it starts"),
    );
    assert!(stderr(&output).contains("would not be encrypted"), "{output:?}");
}

#[test]
fn the_ends_keep_their_other_names() {
    for (verb, names) in
        [("relay", ["listen", "connect"]), ("relay", ["receive", "send"]), ("pipe", ["listen", "connect"])]
    {
        for (name, end) in names.into_iter().zip(["server", "client"]) {
            let help = |end: &str| whimbrel(&[verb, end, "--help"]).output().expect("it runs");
            assert!(help(name).status.success(), "{verb} {name}");
            assert_eq!(help(name).stdout, help(end).stdout, "{verb} {name}");
        }
        // The help has one pair of names.
        let overview = whimbrel(&[verb, "--help"]).output().expect("it runs");
        assert!(!names.iter().any(|name| stdout(&overview).contains(&format!("  {name}"))), "{overview:?}");
    }
}

#[test]
fn carry_is_a_relay_of_one_flow() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let program = socket();
    let to = program.local_addr().expect("bound").to_string();
    let mut far = Relay::start(&[
        "carry",
        "receive",
        "--bind",
        "127.0.0.1:0",
        "--to",
        &to,
        "--one-off",
        "--secret-file",
        &secret,
    ]);
    let at = far.address("at UDP ").to_string();
    let mut near = Relay::start(&["carry", "send", &at, "--from", "127.0.0.1:0", "--secret-file", &secret]);
    let port = near.address("at UDP ");
    near.event("connected");
    let camera = socket();
    for n in 0..50u8 {
        camera.send_to(&[n; 900], port).expect("loopback");
        let (data, source) = receive(&program);
        assert_eq!(data, [n; 900]);
        program.send_to(&[n], source).expect("loopback");
        assert_eq!(receive(&camera).0, [n]);
    }
    signal(&near.child, Signal::TERM);
    assert_eq!(near.child.wait().expect("it ran").code(), Some(130));
    assert_eq!(far.child.wait().expect("it ran").code(), Some(0));
}

/// The number of video frames in a file, by ffprobe.
fn frames(file: &Path) -> usize {
    let arguments = ["-v", "error", "-count_frames", "-select_streams", "v:0"];
    let show = ["-show_entries", "stream=nb_read_frames", "-of", "csv=p=0"];
    let output = Command::new("ffprobe").args(arguments).args(show).arg(file).output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).trim().trim_end_matches(',').parse().unwrap_or(0)
}

#[test]
fn an_unmodified_ffmpeg_sends_a_video_through_it() {
    let has_ffmpeg =
        |name: &str| Command::new(name).arg("-version").output().is_ok_and(|output| output.status.success());
    if !has_ffmpeg("ffmpeg") || !has_ffmpeg("ffprobe") {
        eprintln!("left out: no ffmpeg");
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    // ffmpeg listens at a port and the next one, for RTCP.
    let port = loop {
        let free = socket().local_addr().expect("bound").port() & !1;
        let both = [free, free + 1].map(|port| UdpSocket::bind(("127.0.0.1", port)));
        if both.iter().all(Result::is_ok) {
            break free;
        }
    };
    let to = format!("127.0.0.1:{port}");
    let (_far, at) = listening(&to, &secret);
    let at = at.to_string();
    let connect =
        ["relay", "client", &at, "--from", "127.0.0.1:0", "--video", "h264", "--secret-file", &secret];
    let mut near = Relay::start(&connect);
    let from = near.address("at UDP ");
    near.event("connected");
    let description = folder.path().join("camera.sdp");
    let sdp = format!(
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video {port} RTP/AVP 96\na=rtpmap:96 H264/90000\na=fmtp:96 packetization-mode=1\n"
    );
    std::fs::write(&description, sdp).expect("written");
    let recorded = folder.path().join("recorded.mkv");
    let viewer =
        ["-v", "error", "-y", "-protocol_whitelist", "file,udp,rtp", "-analyzeduration", "1000000", "-i"];
    let mut viewer = Command::new("ffmpeg")
        .args(viewer)
        .arg(&description)
        .args(["-c", "copy", "-t", "30"])
        .arg(&recorded)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    thread::sleep(Duration::from_millis(700));
    let url = format!("rtp://{from}?pkt_size=1200");
    let source = ["-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25", "-t", "4"];
    let encoder =
        ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-b:v", "400k", "-g", "25"];
    let parameters = ["-x264-params", "repeat-headers=1", "-f", "rtp"];
    let sent = Command::new("ffmpeg")
        .args(source)
        .args(encoder)
        .args(parameters)
        .arg(&url)
        .stdout(Stdio::null())
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    assert!(sent.status.success(), "{sent:?}");
    thread::sleep(Duration::from_millis(700));
    viewer.stdin.take().expect("piped").write_all(b"q").expect("it reads");
    let _ = viewer.wait();
    let seen = frames(&recorded);
    println!("{seen} of 100 frames arrived");
    // The viewer starts at the first key frame it gets, and may not have written the last frame.
    assert!((90..=100).contains(&seen), "{seen} of 100 frames");
}
