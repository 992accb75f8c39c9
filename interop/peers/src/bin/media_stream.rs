//! A medium over DCCP: sends a recording's datagrams at their times, or records those that arrive.
//!
//! A recording is two files: NAME.csv with the header `time_s,size_bytes` (more columns may follow) and one
//! line per datagram, and NAME.bin with their bytes, one after the other. The receiver writes datagrams in
//! the order in which they are delivered. All times are read from the clock that the whole system shares
//! (CLOCK_MONOTONIC). Both ends print one JSON object at the end.
//!
//! ```text
//! media_stream receive 127.0.0.1:6511 to=/tmp/came reorder_ms=50
//! media_stream send 127.0.0.1:6511 from=/tmp/clip stale_ms=200
//! ```
//!
//! Arguments of both: `ccid=3`, the congestion control of the data. Of the sender: `from=NAME`;
//! `stale_ms=200`, after which a datagram that is still queued is stale. Of the receiver: `to=NAME`;
//! `forgive_late=1`, a late packet withdraws its loss; `reorder_ms=0`, the longest time for which packets
//! wait for earlier ones; `rack=0`, a missing packet is lost after a time rather than after three others.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::{sleep, timeout};
use whimbrel_net::{
    Ccid, Config, Listener, NetError, OverflowPolicy, SendError, SendQueueConfig, ServiceCode, Socket,
};
use whimbrel_proto::config::LossDetection;

const KEYS: [&str; 7] = ["from", "to", "ccid", "stale_ms", "forgive_late", "reorder_ms", "rack"];
/// The DCCP port behind the UDP one.
const PORT: u16 = 5004;
/// Time limit for the appearance of the other end.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Time after which packets in transit have arrived.
const DRAIN_TIME: Duration = Duration::from_millis(1500);
/// Interval between two samples of the congestion control.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);

/// Seconds on the clock that the whole system shares.
fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The arguments `key=value`.
struct Options(BTreeMap<String, String>);

impl Options {
    fn required(&self, key: &str) -> Result<&Path, String> {
        self.0.get(key).map(Path::new).ok_or_else(|| format!("{key}: expected {key}=NAME"))
    }

    fn number(&self, key: &str, default: u64) -> Result<u64, String> {
        let Some(text) = self.0.get(key) else { return Ok(default) };
        text.parse().map_err(|_| format!("{key}={text}: expected a whole number"))
    }

    fn config(&self) -> Result<Config, Box<dyn Error>> {
        let ccid = Ccid(self.number("ccid", 3)?.try_into()?);
        let mut config = Config::default()
            .service_code(ServiceCode(u32::from_be_bytes(*b"RTPV")))
            .sender_ccids([ccid])
            .receiver_ccids([ccid])
            .send_queue(SendQueueConfig::default().max_datagrams(1024).overflow(OverflowPolicy::Refuse));
        let forgive_late = self.number("forgive_late", 1)? != 0;
        config.tune_tfrc(|tfrc| tfrc.forgive_late = forgive_late);
        if self.number("rack", 0)? != 0 {
            config.receive.loss_detection = LossDetection::Rack;
        }
        let wait = whimbrel_net::Duration::from_millis(self.number("reorder_ms", 0)?);
        config.receive.reorder_delay = (!wait.is_zero()).then_some(wait);
        Ok(config)
    }
}

/// A recording: the due time of each datagram, in seconds, and its bytes.
fn read(name: &Path) -> Result<Vec<(f64, Bytes)>, Box<dyn Error>> {
    let text = fs::read_to_string(name.with_extension("csv"))?;
    let mut bytes = Bytes::from(fs::read(name.with_extension("bin"))?);
    let mut datagrams = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        let wrong = || format!("{}.csv: line {}: expected time_s,size_bytes", name.display(), number + 1);
        let mut cells = line.split(',');
        let (time, size) = cells.next().zip(cells.next()).ok_or_else(wrong)?;
        let (time, size): (f64, usize) =
            (time.parse().map_err(|_| wrong())?, size.parse().map_err(|_| wrong())?);
        if size > bytes.len() {
            return Err(format!("{}.bin ends within datagram {number}", name.display()).into());
        }
        datagrams.push((time, bytes.split_to(size)));
    }
    Ok(datagrams)
}

/// Sends a recording, and prints the state of the congestion control meanwhile.
async fn send(address: SocketAddr, options: &Options) -> Result<(), Box<dyn Error>> {
    let datagrams = read(options.required("from")?)?;
    let stale = whimbrel_net::Duration::from_millis(options.number("stale_ms", 200)?);
    let socket = timeout(CONNECT_TIMEOUT, Socket::connect(address, PORT, options.config()?)).await??;
    let (epoch, start) = (now(), socket.now());
    let mut refused = 0;
    let sending = async {
        for (time, bytes) in datagrams {
            let due = epoch + time;
            if due > now() {
                sleep(Duration::from_secs_f64(due - now())).await;
            }
            // Stale from its due time on, not from the send call: a late timer must not extend its life.
            let deadline = start + whimbrel_net::Duration::from_secs_f64(time) + stale;
            match socket.try_send(bytes, Some(deadline)) {
                Ok(_) => {}
                Err(NetError::Send(SendError::QueueFull)) => refused += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    let mut looks = String::new();
    let looking = async {
        loop {
            if let Some(snapshot) = socket.snapshot() {
                let sender = snapshot.sender;
                let rate = sender.allowed_rate.map_or(0.0, |rate| rate.as_bits_per_second().min(1e12));
                let rtt = sender.rtt.map_or(0.0, whimbrel_net::Duration::as_secs_f64);
                let comma = if looks.is_empty() { "" } else { "," };
                let p = sender.loss_event_rate.unwrap_or(0.0);
                let _ = write!(looks, "{comma}[{:.3},{rate:.0},{p:.7},{rtt:.6}]", now() - epoch);
            }
            sleep(SAMPLE_INTERVAL).await;
        }
    };
    tokio::select! {
        sent = sending => sent?,
        () = looking => {}
    }
    sleep(DRAIN_TIME).await;
    let statistics = socket.snapshot().ok_or("the connection ended before the recording")?.statistics;
    socket.close().await?;
    println!(
        "{{\"start_s\":{epoch:.6},\"sent\":{},\"stale\":{},\"refused\":{refused},\"looks\":[{looks}]}}",
        statistics.datagrams_sent, statistics.datagrams_dropped,
    );
    Ok(())
}

/// Records what one sender sends.
async fn receive(address: SocketAddr, options: &Options) -> Result<(), Box<dyn Error>> {
    let name = options.required("to")?;
    let mut lines = BufWriter::new(File::create(name.with_extension("csv"))?);
    let mut data = BufWriter::new(File::create(name.with_extension("bin"))?);
    writeln!(lines, "time_s,size_bytes")?;
    let listener = Listener::bind(address, PORT, options.config()?).await?;
    eprintln!("listening");
    let socket = timeout(CONNECT_TIMEOUT, listener.accept()).await??;
    let (mut received, mut lost) = (0, 0);
    let error = loop {
        match socket.recv().await {
            Ok(datagram) => {
                writeln!(lines, "{:.9},{}", now(), datagram.payload.len())?;
                data.write_all(&datagram.payload)?;
                received += 1;
                lost = socket.snapshot().map_or(lost, |snapshot| snapshot.receiver.lost);
            }
            Err(error) => break error,
        }
    };
    if !matches!(error, NetError::Connection(whimbrel_net::ConnectionError::ClosedByPeer)) {
        return Err(error.into());
    }
    lines.flush()?;
    data.flush()?;
    println!("{{\"received\":{received},\"lost\":{lost}}}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(role), Some(address)) = (words.next(), words.next()) else {
        return Err("media_stream send|receive ADDRESS:PORT [key=value]...".into());
    };
    let options = words
        .map(|word| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or(word))
        .collect::<Result<_, _>>()
        .map(Options)
        .map_err(|word| format!("{word}: expected key=value"))?;
    if let Some(key) = options.0.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("{key}: expected one of {}", KEYS.join(", ")).into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match role.as_str() {
        "send" => runtime.block_on(send(address.parse()?, &options)),
        "receive" => runtime.block_on(receive(address.parse()?, &options)),
        _ => Err(format!("{role}: expected send or receive").into()),
    }
}
