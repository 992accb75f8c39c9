//! Telemetry, commands, video and bulk data over one connection whose path nearly fails for some seconds.
#![allow(clippy::disallowed_types, reason = "the programs run in real time")]

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::relays::{Relay, get, secret};
use crate::support_relay::{self, Path};

/// The path: its rate before and after, and in between; the bytes of its queue, which take 0.75 s then.
const RATE: f64 = 2e6;
const LOW: f64 = 64e3;
const QUEUE: f64 = 6000.0;
const DELAY: Duration = Duration::from_millis(20);
/// When it is low, and when the programs end.
const FALL: Duration = Duration::from_secs(3);
const RISE: Duration = Duration::from_secs(9);
const END: Duration = Duration::from_secs(12);
/// Components that send their attitude ten times a second: with headers, more than the low path carries.
const COMPONENTS: u8 = 12;

/// The commands of docs/relay.md, without the program's name.
fn commands() -> [String; 2] {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/relay.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let part = page.split("\n## Telemetry and bulk data with the video\n").nth(1).expect("the part");
    let block = part.split("```").nth(1).and_then(|block| block.strip_prefix("sh\n")).expect("commands");
    let commands = block.lines().map(|line| line.strip_prefix("whimbrel ").expect("whimbrel").to_owned());
    <[String; 2]>::try_from(commands.collect::<Vec<_>>()).expect("two commands")
}

/// A frame of MAVLink 1 with that payload; `checksum`: the byte that stands for the message's definition.
fn mavlink(component: u8, message: u8, payload: &[u8], checksum: u8) -> Vec<u8> {
    let mut frame = vec![0xfe, payload.len() as u8, 0, 1, component, message];
    frame.extend(payload);
    let sum = frame[1..].iter().chain([&checksum]).fold(0xffff_u16, |sum, byte| {
        let mut low = byte ^ sum as u8;
        low ^= low << 4;
        let low = u16::from(low);
        (sum >> 8) ^ (low << 8) ^ (low << 3) ^ (low >> 4)
    });
    frame.extend(sum.to_le_bytes());
    frame
}

/// A program that sends a datagram each `step` until the end.
fn program(
    to: SocketAddr,
    start: Instant,
    step: Duration,
    datagrams: impl Fn(u32) -> Vec<Vec<u8>> + Send + 'static,
) {
    thread::spawn(move || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        for n in 0.. {
            let due = start + step * n;
            if due > start + END {
                return;
            }
            thread::sleep(due.saturating_duration_since(Instant::now()));
            datagrams(n).iter().for_each(|each| _ = socket.send_to(each, to));
        }
    });
}

/// Arrivals at a port: time and datagram.
fn arrivals(
    socket: UdpSocket,
    start: Instant,
    is_over: Arc<AtomicBool>,
) -> thread::JoinHandle<Vec<(Duration, Vec<u8>)>> {
    thread::spawn(move || {
        socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a time");
        let (mut all, mut buffer) = (Vec::new(), [0; 2048]);
        while !is_over.load(Ordering::Relaxed) {
            if let Ok(size) = socket.recv(&mut buffer) {
                all.push((start.elapsed(), buffer[..size].to_vec()));
            }
        }
        all
    })
}

/// Fates of the datagrams.
struct Outcome {
    /// The greatest age of a value on arrival, and the longest time between two of a component, in seconds.
    oldest: f64,
    longest: f64,
    commands: Vec<u32>,
    /// Datagrams of bulk that arrived.
    bulk: usize,
    account: Value,
}

/// Runs the commands of the page.
fn run() -> Outcome {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let sockets: [UdpSocket; 3] = std::array::from_fn(|_| UdpSocket::bind("127.0.0.1:0").expect("loopback"));
    let targets = sockets.each_ref().map(|socket| socket.local_addr().expect("bound").to_string());
    let [telemetry, video, bulk] = &targets;
    let [listen, connect] = commands();
    let listen = listen.replace("camera.secret", &secret);
    // Whole addresses, because a free port may begin with the digits of a port of the page.
    let listen = listen.split_whitespace().map(|word| match word.rsplit_once("127.0.0.1:") {
        Some((before, "14550")) => format!("{before}{telemetry}"),
        Some((before, "5004")) => format!("{before}{video}"),
        Some((before, "5600")) => format!("{before}{bulk}"),
        _ => word.to_owned(),
    });
    let listen: Vec<_> = listen.chain(["--bind", "127.0.0.1:0"].map(str::to_owned)).collect();
    let listen: Vec<_> = listen.iter().map(String::as_str).collect();
    let mut far = Relay::start(&listen);
    let at = far.address("at UDP ");
    let direction = Path { rate_bps: RATE, queue: QUEUE, delay: DELAY, lose_each: 0 };
    let path = support_relay::Relay::start(at.port(), direction, direction);
    let peer = format!("127.0.0.1:{}", path.port);
    let connect = ["14550", "5004", "5600", "9611"]
        .iter()
        .fold(connect, |command, port| command.replace(&format!("127.0.0.1:{port}"), "127.0.0.1:0"))
        .replace("VIEWER", &peer)
        .replace("camera.secret", &secret);
    let mut near = Relay::start(&connect.split_whitespace().collect::<Vec<_>>());
    let text = near.event("ready");
    let ports: Vec<SocketAddr> = text
        .split([' ', ','])
        .filter_map(|word| word.trim_end_matches(';').parse().ok())
        .filter(|at: &SocketAddr| at.port() != path.port)
        .collect();
    let [telemetry, video, bulk] = ports[..] else { panic!("three ports in {text:?}") };
    let state = near.address("http://");
    near.event("connected");

    let (start, is_over) = (Instant::now(), Arc::new(AtomicBool::new(false)));
    let received = sockets.map(|socket| arrivals(socket, start, is_over.clone()));
    program(telemetry, start, Duration::from_millis(100), move |_| {
        let sent = (start.elapsed().as_millis() as u32).to_le_bytes();
        let attitude = [&sent[..], &[0; 24]].concat();
        (0..COMPONENTS).map(|component| mavlink(component, 30, &attitude, 39)).collect()
    });
    program(telemetry, start, Duration::from_millis(500), move |n| {
        let long = [&n.to_le_bytes()[..], &[0; 29]].concat();
        vec![mavlink(200, 76, &long, 152)]
    });
    program(video, start, Duration::from_millis(40), |_| vec![vec![1; 1000]; 3]);
    program(bulk, start, Duration::from_millis(10), |_| vec![vec![2; 1000]; 2]);
    thread::sleep(FALL);
    path.set_rate(LOW);
    thread::sleep(RISE - FALL);
    path.set_rate(RATE);
    // The rest arrives within the time for which a command is of use.
    thread::sleep(END - RISE + Duration::from_secs(4));
    is_over.store(true, Ordering::Relaxed);
    let [telemetry, _video, bulk] = received.map(|thread| thread.join().expect("no panic"));

    let number = |bytes: &[u8]| u32::from_le_bytes(bytes[6..10].try_into().expect("four bytes"));
    let (mut ages, mut longest, mut last) = (Vec::new(), 0.0_f64, [Duration::ZERO; COMPONENTS as usize]);
    let mut commands = Vec::new();
    for (at, frame) in &telemetry {
        match frame[5] {
            76 => commands.push(number(frame)),
            _ => {
                let age = *at - Duration::from_millis(number(frame).into());
                ages.push(age.as_secs_f64());
                let last = &mut last[usize::from(frame[4])];
                longest = longest.max((*at - *last).as_secs_f64());
                *last = *at;
            }
        }
    }
    // And until the programs end.
    longest = last.iter().fold(longest, |longest, last| longest.max(END.saturating_sub(*last).as_secs_f64()));
    let low = |(at, _): &&(Duration, Vec<u8>)| (FALL + Duration::from_secs(2)..RISE).contains(at);
    let bulk_when_low = bulk.iter().filter(low).count();
    let oldest = ages.iter().copied().fold(0.0, f64::max);
    let all: Value = serde_json::from_str(&get(state, "/rate").1).expect("JSON");
    let outcome = Outcome { oldest, longest, commands, bulk: bulk.len(), account: all["to_peer"].clone() };
    println!(
        "{} values, {oldest:.2} s old at most, {longest:.2} s between two of a component; commands {:?}; {} bulk, {bulk_when_low} while low; {}",
        ages.len(),
        outcome.commands,
        bulk.len(),
        outcome.account
    );
    outcome
}

/// The numbers of the commands that were sent.
fn sent() -> BTreeSet<u32> {
    (0..=(END.as_millis() / 500) as u32).collect()
}

#[test]
fn telemetry_is_fresh_and_commands_arrive_beside_video_and_bulk_while_the_path_is_almost_nothing() {
    let Outcome { oldest, longest, commands, bulk, account } = run();
    // Half a round trip with the path's queue full, the latency of repair, and a second for a busy machine.
    assert!(oldest < 0.75 + 0.02 + 0.15 + 1.0, "{oldest}");
    // Each component is heard while the path is low; without lanes, none is.
    assert!(longest < (RISE - FALL).as_secs_f64(), "{longest}");
    assert_eq!(commands.len(), sent().len(), "each arrives once: {commands:?}");
    assert_eq!(commands.into_iter().collect::<BTreeSet<_>>(), sent());
    assert!(bulk > 50, "{bulk}");
    assert!(account["lost"]["superseded"].as_u64() > Some(20), "{account}");
}
