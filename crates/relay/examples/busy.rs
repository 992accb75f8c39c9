//! Many near ends in one process, each with a stream of its own, and the program that gets their datagrams:
//! the load of `benches/busy.py`.
//!
//! Usage: `busy keys FOLDER STREAMS` makes a key for each near end, and the file `peers` with their
//! fingerprints; `busy run FOLDER SERVER ITS-KEY SINK STREAMS KBIT/S SECONDS LATENCY-MS` sends. The last line
//! is JSON: datagrams sent and received, and the median and the 99th percentile of their delay in ms.

#![allow(clippy::disallowed_types, reason = "it measures real delays")]

use std::fs::File;
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use bytes::Bytes;
use whimbrel_net::{Ccid, Fingerprint, Identity, Security, Trust};
use whimbrel_relay::{
    Embedded, Near, Notice, Observer, Options, Payload, Programs, Protection, Stop, connect,
};

/// Bytes of a datagram: RTP's header, the time at which it was sent, and zeros.
const SIZE: usize = 1200;
/// The place of the time, in nanoseconds since the begin.
const STAMP: std::ops::Range<usize> = 12..20;
/// Time for which all connections have to be established.
const PATIENCE: Duration = Duration::from_secs(60);
const DRAIN: Duration = Duration::from_millis(500);

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["keys", folder, streams] => make_keys(Path::new(folder), streams.parse()?),
        ["run", folder, ref rest @ ..] if rest.len() == 7 => run(Path::new(folder), rest),
        _ => bail!(
            "busy keys FOLDER STREAMS | busy run FOLDER SERVER ITS-KEY SINK STREAMS KBIT/S SECONDS LATENCY-MS"
        ),
    }
}

fn make_keys(folder: &Path, streams: usize) -> anyhow::Result<()> {
    let mut peers = File::create(folder.join("peers"))?;
    for stream in 0..streams {
        let identity = Identity::generate()?;
        std::fs::write(folder.join(format!("{stream}.pem")), &*identity.to_pem())?;
        writeln!(peers, "{}", identity.fingerprint())?;
    }
    Ok(())
}

fn run(folder: &Path, words: &[&str]) -> anyhow::Result<()> {
    let [server, key, sink, streams, rate, seconds, latency] = words else { bail!("seven values") };
    let key: Fingerprint = key.parse()?;
    let (streams, seconds): (usize, u64) = (streams.parse()?, seconds.parse()?);
    let gap = Duration::from_secs_f64(SIZE as f64 * 8.0 / 1e3 / rate.parse::<f64>()?);
    let latency = whimbrel_net::Duration::from_millis(latency.parse()?);
    let begin = Instant::now();
    let (is_over, delays) = listen(sink.parse()?, begin)?;
    let connected = Arc::new(AtomicUsize::new(0));
    let (end, stop) = Stop::new();
    let programs: Vec<Embedded> = (0..streams).map(|_| Embedded::new(|_, _| true)).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let sent = runtime.block_on(async {
        for (stream, program) in programs.iter().enumerate() {
            let pem = std::fs::read_to_string(folder.join(format!("{stream}.pem")))?;
            let security = Security::new(Identity::from_pem(&pem)?, Trust::Pinned(vec![key]));
            program.announce(0, Payload::Rtp);
            let near = Near {
                options: Options { latency: Some(latency), ..Options::default() },
                host: server.parse()?,
                from: Programs::Embedded(program.clone()),
                ccid: Ccid::TFRC,
                freezes: false,
                follows: false,
                paths: Vec::new(),
                outages: tokio::sync::broadcast::channel(1).0,
                protection: Protection { security: Some(security), ..Protection::default() },
            };
            let count = connected.clone();
            let observer: Observer = Arc::new(move |_, notice: &Notice<'_>| {
                count.fetch_add(usize::from(matches!(notice, Notice::Connected { .. })), Ordering::Relaxed);
                Ok(())
            });
            let stop = stop.clone();
            tokio::spawn(async move {
                if let Err(error) = connect(near, observer, stop).await {
                    eprintln!("busy: {error:#}");
                }
            });
        }
        while connected.load(Ordering::Relaxed) < streams {
            if begin.elapsed() > PATIENCE {
                bail!("{} of {streams} connections", connected.load(Ordering::Relaxed));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        println!("all are connected");
        Ok(send(&programs, begin, gap, Duration::from_secs(seconds)).await)
    })?;
    is_over.store(true, Ordering::Relaxed);
    let mut delays = delays.join().expect("no panic");
    end.send_replace(true);
    delays.sort_unstable();
    let at =
        |share: f64| delays.get((delays.len() as f64 * share) as usize).map_or(0.0, |ns| *ns as f64 / 1e6);
    println!(
        "{{\"sent\": {sent}, \"received\": {}, \"p50_ms\": {:.3}, \"p99_ms\": {:.3}}}",
        delays.len(),
        at(0.5),
        at(0.99)
    );
    Ok(())
}

/// Sends a datagram of each stream in turn, evenly spread, and returns their number.
async fn send(programs: &[Embedded], begin: Instant, gap: Duration, time: Duration) -> usize {
    let (from, apart) = (begin.elapsed(), gap / programs.len() as u32);
    let mut sent = 0_usize;
    loop {
        let now = begin.elapsed();
        if now > from + time {
            tokio::time::sleep(DRAIN).await;
            return sent;
        }
        while from + apart * sent as u32 <= now {
            let (stream, round) = (sent % programs.len(), sent / programs.len());
            let mut payload = vec![0; SIZE];
            // Version 2, payload type 96, each packet a frame.
            payload[..2].copy_from_slice(&[0x80, 96 | 0x80]);
            payload[2..4].copy_from_slice(&(round as u16).to_be_bytes());
            payload[4..8].copy_from_slice(&((gap * round as u32).as_micros() as u32 / 100 * 9).to_be_bytes());
            payload[8..12].copy_from_slice(&(stream as u32 + 1).to_be_bytes());
            payload[STAMP].copy_from_slice(&(begin.elapsed().as_nanos() as u64).to_be_bytes());
            programs[stream].send(0, Bytes::from(payload));
            sent += 1;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Receives datagrams at a port in a thread until it is stopped, and returns their delays in nanoseconds.
fn listen(
    sink: SocketAddr,
    begin: Instant,
) -> anyhow::Result<(Arc<AtomicBool>, thread::JoinHandle<Vec<u64>>)> {
    let socket = UdpSocket::bind(sink)?;
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = is_over.clone();
    let thread = thread::spawn(move || {
        let (mut delays, mut room) = (Vec::new(), [0; 2048]);
        while !ends.load(Ordering::Relaxed) {
            let Ok(size) = socket.recv(&mut room) else { continue };
            if let Some(stamp) = room[..size].get(STAMP).and_then(|bytes| bytes.try_into().ok()) {
                let now = begin.elapsed().as_nanos() as u64;
                delays.push(now.saturating_sub(u64::from_be_bytes(stamp)));
            }
        }
        delays
    });
    Ok((is_over, thread))
}
