//! The messages of the TCP connection: a JSON value per line.

use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use whimbrel_relay::text::quoted;
use whimbrel_units::{DataRate, Duration};

use super::Mode;
use super::probe::{Arrival, Class};

/// The version of the protocol.
pub(super) const VERSION: u32 = 2;
/// The most probes of a direction.
pub(super) const MAX_PROBES: u64 = 5_000_000;
/// Arrivals per line.
const CHUNK: usize = 500;
const LONGEST_LINE: u64 = 1 << 16;

/// The parameters of a recording.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) version: u32,
    pub(super) mode: Mode,
    /// Time for which each direction is loaded.
    pub(super) load_ms: u64,
    /// Rate of the probes with their headers, in bit/s.
    pub(super) rate_bps: f64,
}

impl Plan {
    /// Time without load at both ends, for the delays of the empty path.
    pub(super) const QUIET: Duration = Duration::from_secs(1);
    /// Time between the loads of the two directions.
    const BETWEEN: Duration = Duration::from_millis(500);
    /// Time from the request of an early end to that end, which is more than a round-trip time: both ends
    /// stop together.
    const NOTICE: Duration = Duration::from_secs(1);

    pub(super) fn rate(&self) -> DataRate {
        DataRate::from_bits_per_second(self.rate_bps)
    }

    /// Begin and end of the load from the client (or from the server), since the start.
    pub(super) fn load(&self, from_server: bool) -> (Duration, Duration) {
        let length = Duration::from_millis(self.load_ms);
        let begin = match self.mode {
            Mode::Saturate if from_server => Self::QUIET + length + Self::BETWEEN,
            Mode::Saturate | Mode::Gentle => Self::QUIET,
        };
        (begin, begin + length)
    }

    /// The plan if both ends stop early, by a message that is sent `since` after the start. `None` before
    /// both directions have a load, or if only one at a time has.
    pub(super) fn shortened(&self, since: Duration) -> Option<Self> {
        let (begin, _) = self.load(true);
        let may_end = self.mode == Mode::Gentle && since >= begin;
        may_end.then(|| self.limited((since - begin + Self::NOTICE).as_nanos() / 1_000_000))
    }

    /// The plan with a load of at most `load_ms` milliseconds.
    pub(super) fn limited(&self, load_ms: u64) -> Self {
        Self { load_ms: self.load_ms.min(load_ms), ..*self }
    }

    /// The whole time in which probes are sent.
    pub(super) fn length(&self) -> Duration {
        self.load(true).1 + Self::QUIET
    }

    /// The most full probes of a direction.
    pub(super) fn probes(&self) -> u64 {
        let bytes = super::probe::FULL as f64;
        (self.rate_bps / 8.0 / bytes * self.load_ms as f64 / 1e3) as u64
    }

    /// A number that no probe of any class reaches.
    pub(super) fn numbers(&self) -> u64 {
        /// More than the pings, and than the packets of trains, of a second.
        const OTHERS: f64 = 100.0;
        let load = self.rate_bps / 8.0 / super::probe::LEAST as f64 * self.load_ms as f64 / 1e3;
        (load + OTHERS * (self.length().as_secs_f64() + 1.0)) as u64
    }
}

/// A message.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub(super) enum Message {
    /// The client's first.
    Plan(Plan),
    /// The server's answer: the token of the datagrams.
    Accepted { token: u64 },
    /// The server's answer: the reason.
    Refused { reason: String },
    /// The server has seen the client's address: the recording starts.
    Start,
    /// The client's: the load ends earlier than planned.
    Stop { load_ms: u64 },
    /// A part of the server's log: class, number, times by the clocks of sender and receiver in microseconds,
    /// bytes.
    Arrivals { packets: Vec<(usize, u64, i64, i64, u32)> },
    /// The end of the log, and the number of probes that the server sent by class.
    Done { sent: [u64; 3] },
}

/// The lines of a connection.
#[derive(Debug)]
pub(super) struct Lines {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    line: Vec<u8>,
}

impl Lines {
    pub(super) fn new(stream: TcpStream) -> Self {
        let _ = stream.set_nodelay(true);
        let (read, writer) = stream.into_split();
        Self { reader: BufReader::new(read), writer, line: Vec::new() }
    }

    /// The next message; `None` at the end of the connection. Cancel safe.
    pub(super) async fn next(&mut self) -> anyhow::Result<Option<Message>> {
        let room = LONGEST_LINE.saturating_sub(self.line.len() as u64);
        (&mut self.reader).take(room).read_until(b'\n', &mut self.line).await?;
        let line = std::mem::take(&mut self.line);
        match line.last() {
            None => Ok(None),
            Some(b'\n') => Ok(Some(
                serde_json::from_slice(&line)
                    .map_err(|error| anyhow!(quoted(&error.to_string())))
                    .context("the other end does not speak this version of whimbrel record")?,
            )),
            Some(_) => {
                bail!("the other end sent an unfinished or overlong line: it does not speak whimbrel record")
            }
        }
    }

    pub(super) async fn send(&mut self, message: &Message) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.writer.write_all(&line).await.context("the control connection broke")
    }

    /// Sends a log of arrivals and its end.
    pub(super) async fn send_log(&mut self, log: &[Arrival], sent: [u64; 3]) -> anyhow::Result<()> {
        for chunk in log.chunks(CHUNK) {
            let packets = chunk
                .iter()
                .map(|one| (one.class.index(), one.number, one.sent_us, one.arrived_us, one.bytes));
            self.send(&Message::Arrivals { packets: packets.collect() }).await?;
        }
        self.send(&Message::Done { sent }).await
    }

    /// Receives the log of a recording by this plan.
    pub(super) async fn receive_log(&mut self, plan: &Plan) -> anyhow::Result<(Vec<Arrival>, [u64; 3])> {
        let (numbers, most) = (plan.numbers(), 2 * MAX_PROBES);
        let mut log = Vec::new();
        loop {
            match self.next().await? {
                Some(Message::Arrivals { packets }) => {
                    for (class, number, sent_us, arrived_us, bytes) in packets {
                        let class = *Class::ALL.get(class).context("the server sent an unknown class")?;
                        let arrival = Arrival { class, number, sent_us, arrived_us, bytes };
                        if !arrival.is_plausible(numbers) {
                            bail!("the server reports a probe that cannot have arrived: {arrival:?}");
                        }
                        log.push(arrival);
                    }
                    if log.len() as u64 > most {
                        bail!("the server reports more than the {most} probes that can have arrived");
                    }
                }
                Some(Message::Done { sent }) => return Ok((log, sent)),
                Some(other) => bail!("expected the log of arrivals, found {}", quoted(&format!("{other:?}"))),
                None => bail!("the server has gone without its log of arrivals"),
            }
        }
    }
}
