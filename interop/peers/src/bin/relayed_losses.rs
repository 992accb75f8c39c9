//! Losses classified by real sockets, over a relay with a known path: a link with a rate, a queue and a
//! delay, and behind it a radio that loses packets.
//!
//! The relay records the cause of each loss. The program compares the causes with the receiver's verdicts,
//! and prints one JSON object, which `interop/emulation/relayed_losses.py` compares with a simulation of the
//! same path.

use std::collections::{BTreeMap, VecDeque};
use std::net::{SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use whimbrel_net::{
    Clock, Config, Differentiation, Duration, Event, Instant, Listener, LossClass, PathMtuDiscovery, Scheme,
    Socket,
};
use whimbrel_wire::{Packet, PacketType};

const PORT: u16 = 5001;
const USAGE: &str = "usage: relayed_losses SCHEME SECONDS RATE_KBPS DELAY_MS QUEUE_PACKETS LOSS SEED";
/// Application data per datagram, in bytes.
const SIZE: usize = 1000;
/// Bytes of a datagram on the link besides the UDP payload: headers of UDP and IPv4.
const HEADERS: usize = 28;

/// The path, from the arguments.
#[derive(Clone, Copy, Debug)]
struct Path {
    bits_per_second: f64,
    /// One way.
    delay: Duration,
    /// The most packets that wait for the link.
    queue: usize,
    /// The share of packets that the radio loses.
    loss: f64,
    seed: u64,
}

/// Causes of losses, by the low 48 bits of the packets' numbers.
type Truth = Arc<Mutex<BTreeMap<u64, LossClass>>>;

/// Reproducible pseudo-random numbers: SplitMix64.
struct Random(u64);

impl Random {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) as f64 / 2f64.powi(64)
    }
}

/// A packet in transit.
struct InTransit {
    at: Instant,
    /// The least time after the packet before it.
    takes: Duration,
    bytes: Vec<u8>,
}

/// The longest sleep of the relay between two polls of its sockets. Shortly before a packet is due, it stays
/// awake.
const MAX_SLEEP: Duration = Duration::from_micros(500);
/// After a delay of the relay, the least time between two packets, as a share of the link's time for one:
/// clocks and interrupts of real hosts jitter as well.
const LEAST_SPACING: f64 = 0.95;

/// Carries packets from a client to `server` over the path, and back without a queue. Delays of this thread
/// make packets late, but the link's spacing is kept.
fn relay(path: Path, server: SocketAddr, truth: Truth) -> std::io::Result<SocketAddr> {
    let (outside, inside) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    inside.connect(server)?;
    outside.set_nonblocking(true)?;
    inside.set_nonblocking(true)?;
    let address = outside.local_addr()?;
    std::thread::spawn(move || {
        let clock = Clock::start();
        let (mut random, mut buffer, mut client) = (Random(path.seed), [0; 2048], None);
        let (mut there, mut back): (VecDeque<InTransit>, VecDeque<InTransit>) =
            (VecDeque::new(), VecDeque::new());
        // Departure time of each packet on the link or waiting for it.
        let mut leaving: VecDeque<Instant> = VecDeque::new();
        // Arrival time of the last packet at the other end.
        let mut arrived = Instant::ZERO;
        loop {
            let now = clock.now();
            while let Ok((length, from)) = outside.recv_from(&mut buffer) {
                client = Some(from);
                let bytes = &buffer[..length];
                let packet = Packet::decode_slice(bytes).ok();
                let number = packet.as_ref().map(|packet| packet.sequence.value());
                let is_data = packet.is_some_and(|packet| {
                    matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck)
                });
                while leaving.front().is_some_and(|left| *left <= now) {
                    leaving.pop_front();
                }
                let lose = |cause| {
                    let mut truth = truth.lock().unwrap_or_else(PoisonError::into_inner);
                    truth.extend(number.map(|number| (number, cause)));
                };
                if is_data && leaving.len() > path.queue {
                    lose(LossClass::Congestion);
                    continue;
                }
                let takes = Duration::from_secs_f64((length + HEADERS) as f64 * 8.0 / path.bits_per_second);
                let left = leaving.back().copied().unwrap_or(now).max(now) + takes;
                leaving.push_back(left);
                if is_data && random.roll() < path.loss {
                    lose(LossClass::Wireless);
                    continue;
                }
                let takes = Duration::from_secs_f64(takes.as_secs_f64() * LEAST_SPACING);
                there.push_back(InTransit { at: left + path.delay, takes, bytes: bytes.to_vec() });
            }
            while let Ok(length) = inside.recv(&mut buffer) {
                let (at, takes) = (now + path.delay, Duration::ZERO);
                back.push_back(InTransit { at, takes, bytes: buffer[..length].to_vec() });
            }
            let is_due = |packet: &InTransit| packet.at.max(arrived + packet.takes) <= clock.now();
            let due = there.front().is_some_and(is_due).then(|| there.pop_front()).flatten();
            if let Some(packet) = due {
                arrived = clock.now();
                let _ = inside.send(&packet.bytes);
            }
            while let (Some(client), true) =
                (client, back.front().is_some_and(|packet| packet.at <= clock.now()))
            {
                let _ = back.pop_front().map(|packet| outside.send_to(&packet.bytes, client));
            }
            let next =
                there.front().map_or(Instant::FAR_FUTURE, |packet| packet.at.max(arrived + packet.takes));
            if next > clock.now() + MAX_SLEEP * 2 {
                std::thread::sleep(MAX_SLEEP.into());
            }
        }
    });
    Ok(address)
}

/// A receiver's verdicts on the packets lost to one cause.
#[derive(Default)]
struct VerdictCount {
    right: u64,
    wrong: u64,
}

impl VerdictCount {
    fn json(&self) -> String {
        let all = self.right + self.wrong;
        let share = if all > 0 { self.right as f64 / all as f64 } else { f64::NAN };
        format!("{{\"lost\": {all}, \"right\": {}, \"share\": {share:.3}}}", self.right)
    }
}

async fn measure(scheme: Scheme, seconds: u64, path: Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Config::default().path_mtu(PathMtuDiscovery::Off);
    config.tune_tfrc(|tfrc| tfrc.differentiation = Some(Differentiation::unguarded(scheme)));
    let listener = Listener::bind("127.0.0.1:0".parse()?, PORT, config.clone()).await?;
    let truth = Truth::default();
    let client = Socket::connect(relay(path, listener.local(), truth.clone())?, PORT, config).await?;
    client.send(Bytes::from_static(&[0; SIZE])).await?;
    let server = listener.accept().await?;
    let (mut wireless, mut congestion) = (VerdictCount::default(), VerdictCount::default());
    let end = tokio::time::sleep(std::time::Duration::from_secs(seconds));
    tokio::pin!(end);
    // Enough is queued at any time.
    let mut pace = tokio::time::interval(std::time::Duration::from_millis(5));
    loop {
        tokio::select! {
            () = &mut end => break,
            _ = pace.tick() => {
                let waiting = client.snapshot().map_or(0, |snapshot| snapshot.queued_datagrams);
                let wanted = 64usize.saturating_sub(waiting);
                client.send_many((0..wanted).map(|_| Bytes::from_static(&[0; SIZE])), None).await?;
            }
            event = server.event() => {
                let Event::LossClassified(verdict) = event? else { continue };
                let truth = truth.lock().unwrap_or_else(PoisonError::into_inner);
                for n in 0..verdict.count {
                    let cause = truth.get(&verdict.first.add(n).value());
                    let count = match cause {
                        Some(LossClass::Wireless) => &mut wireless,
                        Some(LossClass::Congestion) => &mut congestion,
                        None => continue,
                    };
                    let is_right = cause == Some(&verdict.cause);
                    count.right += u64::from(is_right);
                    count.wrong += u64::from(!is_right);
                }
            }
        }
    }
    let received = server.snapshot().map_or(0, |snapshot| snapshot.statistics.datagrams_received);
    println!(
        "{{\"scheme\": \"{scheme}\", \"received\": {received}, \"wireless\": {}, \"congestion\": {}}}",
        wireless.json(),
        congestion.json()
    );
    Ok(())
}

fn arguments() -> Option<(Scheme, u64, Path)> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scheme, seconds, rate, delay, queue, loss, seed] = arguments.as_slice() else { return None };
    let path = Path {
        bits_per_second: rate.parse::<f64>().ok()? * 1e3,
        delay: Duration::from_secs_f64(delay.parse::<f64>().ok()? / 1e3),
        queue: queue.parse().ok()?,
        loss: loss.parse().ok()?,
        seed: seed.parse().ok()?,
    };
    Some((scheme.parse().ok()?, seconds.parse().ok()?, path))
}

fn main() -> ExitCode {
    let Some((scheme, seconds, path)) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result =
        runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(measure(scheme, seconds, path)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("relayed_losses: {error}");
            ExitCode::FAILURE
        }
    }
}
