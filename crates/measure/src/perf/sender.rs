//! Generates one stream's datagrams and sends them on its link.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use whimbrel_net::{Clock, FrameRole, Mark, RepairCounts, SOURCE_OVERHEAD};
use whimbrel_units::{Duration, Instant};

use super::datagram::{Head, Kind, Place};
use super::link::Link;
use super::pace;
use super::plan::{Plan, Transport};
use super::size::DatagramSize;
use super::tcp::LARGEST_WRITE;

/// Figures of one stream at its sender, over an interval or the whole test.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SenderFigures {
    /// Datagrams that left in a packet (TCP: writes).
    pub datagrams: u64,
    /// Their application data in bytes.
    pub bytes: u64,
    /// Datagrams that congestion control held back until they were stale or the queue full.
    pub dropped: u64,
    /// Dropped datagrams that became stale in the queue.
    #[serde(default)]
    pub expired: u64,
    /// Smoothed round-trip time in seconds, at the end of the span.
    pub rtt_s: Option<f64>,
    /// p, at the end of the span (CCID 3).
    pub loss_event_rate: Option<f64>,
    /// X, in bit/s, at the end of the span.
    pub allowed_rate_bps: Option<f64>,
    /// cwnd in packets, at the end of the span (CCID 2, and TCP where the kernel reports it).
    pub cwnd: Option<u32>,
    /// Segments that the kernel's TCP has retransmitted.
    #[serde(default)]
    pub retransmits: Option<u64>,
    /// With repair: repeats.
    #[serde(default)]
    pub repeats: u64,
    /// Coded packets.
    #[serde(default)]
    pub coded: u64,
    /// Bytes of both, and of the headers of all.
    #[serde(default)]
    pub repair_bytes: u64,
    /// Length of the span in seconds.
    pub seconds: f64,
}

impl SenderFigures {
    /// Application data sent, in bit/s.
    pub fn send_rate(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 * 8.0 / self.seconds } else { 0.0 }
    }

    /// Adds a parallel stream's figures: counts, rates and windows add up, of the rest the worse.
    pub fn add(&mut self, other: &Self) {
        fn join<T>(a: Option<T>, b: Option<T>, with: impl FnOnce(T, T) -> T) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(with(a, b)),
                (a, b) => a.or(b),
            }
        }
        self.datagrams = self.datagrams.saturating_add(other.datagrams);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.expired = self.expired.saturating_add(other.expired);
        self.repeats = self.repeats.saturating_add(other.repeats);
        self.coded = self.coded.saturating_add(other.coded);
        self.repair_bytes = self.repair_bytes.saturating_add(other.repair_bytes);
        self.rtt_s = join(self.rtt_s, other.rtt_s, f64::max);
        self.loss_event_rate = join(self.loss_event_rate, other.loss_event_rate, f64::max);
        self.allowed_rate_bps = join(self.allowed_rate_bps, other.allowed_rate_bps, |a, b| a + b);
        self.cwnd = join(self.cwnd, other.cwnd, u32::saturating_add);
        self.retransmits = join(self.retransmits, other.retransmits, u64::saturating_add);
        self.seconds = self.seconds.max(other.seconds);
    }

    /// The figures since those that were counted at an earlier time.
    fn since(&self, earlier: &Self) -> Self {
        let retransmits = self.retransmits.map(|now| now.saturating_sub(earlier.retransmits.unwrap_or(0)));
        Self {
            datagrams: self.datagrams.saturating_sub(earlier.datagrams),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            dropped: self.dropped.saturating_sub(earlier.dropped),
            expired: self.expired.saturating_sub(earlier.expired),
            repeats: self.repeats.saturating_sub(earlier.repeats),
            coded: self.coded.saturating_sub(earlier.coded),
            repair_bytes: self.repair_bytes.saturating_sub(earlier.repair_bytes),
            seconds: self.seconds - earlier.seconds,
            retransmits,
            ..*self
        }
    }
}

/// The data to write. All streams share one block, because a client may request a thousand streams.
static BLOCK: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![0; LARGEST_WRITE as usize]));
/// At a given rate, data that waited this long is not worth sending any more.
const STALE_AFTER: Duration = Duration::from_millis(200);

/// Time between two looks at a queue that empties at the end of a test.
const QUEUE_CHECK: Duration = Duration::from_millis(5);

/// Datagrams and bytes passed to a link.
#[derive(Clone, Copy, Debug, Default)]
struct Handed {
    datagrams: u64,
    bytes: u64,
    refused: u64,
}

/// One stream's sender.
#[derive(Debug)]
pub(crate) struct StreamSender {
    link: Link,
    clock: Clock,
    /// Greetings that went before the measured datagrams.
    greetings: u64,
    handed: Mutex<Handed>,
    started: Instant,
    ended: Mutex<Option<Instant>>,
    /// The figures since the start at the end of the last interval.
    last: Mutex<SenderFigures>,
    /// The newest figures of the connection, which stand when its state is gone.
    seen: Mutex<SenderFigures>,
    /// The figures since the start at which the measured part began.
    omitted: Mutex<SenderFigures>,
}

impl StreamSender {
    /// A sender on a link that carried `greetings` greetings before.
    pub(crate) fn new(link: Link, clock: Clock, greetings: u64) -> Arc<Self> {
        Arc::new(Self {
            link,
            clock,
            greetings,
            handed: Mutex::default(),
            started: clock.now(),
            ended: Mutex::default(),
            last: Mutex::default(),
            seen: Mutex::default(),
            omitted: Mutex::default(),
        })
    }

    /// Sends until stopped or until the plan's time has passed.
    pub(crate) async fn run(
        self: Arc<Self>,
        plan: Plan,
        stream: u16,
        mut stop: watch::Receiver<bool>,
    ) -> anyhow::Result<()> {
        let result = tokio::select! {
            result = self.send_all(&plan, stream) => result,
            _ = stop.wait_for(|stop| *stop) => Ok(()),
        };
        *lock(&self.ended) = Some(self.clock.now());
        // The peer may end the connection before the next look.
        self.since_start();
        result
    }

    async fn send_all(&self, plan: &Plan, stream: u16) -> anyhow::Result<()> {
        match plan.transport {
            Transport::Tcp => self.write(plan).await,
            Transport::Dccp | Transport::Udp => self.send_datagrams(plan, stream).await,
        }?;
        // A test that ends with its data ends when they have left.
        while plan.load.bytes.is_some() && self.link.snapshot().is_some_and(|seen| seen.queued_datagrams > 0)
        {
            self.clock.sleep_until(self.clock.now() + QUEUE_CHECK).await;
        }
        Ok(())
    }

    /// `true` once as many bytes were passed to the link as the plan asks for.
    fn has_sent_enough(&self, plan: &Plan) -> bool {
        plan.load.bytes.is_some_and(|bytes| lock(&self.handed).bytes >= bytes)
    }

    /// Writes to a connection without datagrams. Unlike datagrams, delayed writes are made up for.
    async fn write(&self, plan: &Plan) -> anyhow::Result<()> {
        let start = self.clock.now();
        let end = start + plan.times.total();
        let block = BLOCK.slice(..plan.load.size.min(LARGEST_WRITE) as usize);
        for number in 0.. {
            if let Some(spacing) = plan.load.spacing() {
                self.clock.sleep_until(start + spacing * number).await;
            }
            if self.clock.now() >= end || self.has_sent_enough(plan) {
                break;
            }
            self.link.send(&block).await?;
            self.count(block.len() as u64, true);
        }
        Ok(())
    }

    async fn send_datagrams(&self, plan: &Plan, stream: u16) -> anyhow::Result<()> {
        let start = self.clock.now();
        let end = start + plan.times.total();
        let is_live = pace::datagram(plan, 0).0.is_some();
        // Datagrams are cut from large blocks: one allocation for many.
        let mut sizes = DatagramSize::new(plan.load.size as usize);
        let mut block = BytesMut::new();
        // The number of the datagram among those that the link has taken: the receiver counts gaps as losses.
        let mut sequence = 0;
        let mut frames = pace::Frames::default();
        for number in 0.. {
            let (offset, size) = pace::datagram(plan, number);
            if let Some(due) = offset.map(|offset| start + offset).filter(|due| *due > self.clock.now()) {
                self.clock.sleep_until(due).await;
            }
            let now = self.clock.now();
            if now >= end || self.has_sent_enough(plan) {
                break;
            }
            let size = sizes.next().min(size);
            if block.len() < size {
                block.clear();
                block.reserve(64 * size);
                block.resize(64 * size, 0);
            }
            let mut datagram = block.split_to(size);
            Head { token: plan.token, stream, kind: Kind::Data, sequence, sent: now.as_nanos() }
                .write(&mut datagram);
            let place = frames.place(plan, number);
            place.iter().for_each(|place| place.write(&mut datagram));
            // No frame refers to another one: each counts for itself.
            let mark = place.map_or(Mark::SINGLE, |Place { index, count, .. }| Mark {
                role: FrameRole::Disposable,
                ..Mark::part(index.into(), count.into())
            });
            let mut datagram = datagram.freeze();
            let taken = loop {
                let result = if is_live {
                    self.link.send_live(&datagram, STALE_AFTER, mark)
                } else {
                    self.link.send(&datagram).await.map(|()| true)
                };
                match result {
                    Ok(taken) => break taken,
                    // A path that never carried the requested size cannot be measured with it.
                    Err(refusal) if number == 0 => return Err(refusal),
                    Err(refusal) => datagram = sizes.cut(datagram, refusal)?,
                }
            };
            self.count(datagram.len() as u64, taken);
            sequence += u64::from(taken);
            if number % 64 == 63 {
                // A link that never blocks must not starve the task that empties it.
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    fn count(&self, bytes: u64, taken: bool) {
        let mut handed = lock(&self.handed);
        if taken {
            handed.datagrams += 1;
            handed.bytes += bytes;
        } else {
            handed.refused += 1;
        }
    }

    /// The measured part of the test begins.
    pub(crate) fn begin_measuring(&self) {
        *lock(&self.omitted) = self.since_start();
    }

    /// The figures of the measured part.
    pub(crate) fn total(&self) -> SenderFigures {
        self.since_start().since(&lock(&self.omitted))
    }

    /// The figures since the start.
    fn since_start(&self) -> SenderFigures {
        let end = lock(&self.ended).unwrap_or_else(|| self.clock.now());
        let seconds = (end - self.started).as_secs_f64();
        let handed = *lock(&self.handed);
        match &self.link {
            Link::Dccp(socket) => match socket.snapshot() {
                Some(snapshot) => self.seen(SenderFigures {
                    datagrams: snapshot.statistics.datagrams_sent.saturating_sub(self.greetings),
                    bytes: snapshot.statistics.bytes_sent.saturating_sub(self.greetings * Head::LEN as u64),
                    dropped: snapshot.statistics.datagrams_dropped + handed.refused,
                    expired: snapshot.statistics.datagrams_dropped,
                    rtt_s: snapshot.sender.rtt.or(snapshot.rtt).map(Duration::as_secs_f64),
                    loss_event_rate: snapshot.sender.loss_event_rate,
                    allowed_rate_bps: snapshot.sender.allowed_rate.map(|rate| rate.as_bits_per_second()),
                    cwnd: snapshot.sender.cwnd,
                    seconds,
                    ..SenderFigures::default()
                }),
                None => *lock(&self.seen),
            },
            Link::Udp(_) | Link::Tcp(_) => {
                let Handed { datagrams, bytes, refused } = handed;
                let kernel = self.link.tcp_figures();
                SenderFigures {
                    datagrams,
                    bytes,
                    dropped: refused,
                    seconds,
                    rtt_s: kernel.map(|kernel| kernel.rtt_s),
                    cwnd: kernel.map(|kernel| kernel.cwnd),
                    retransmits: kernel.map(|kernel| kernel.retransmits),
                    ..SenderFigures::default()
                }
            }
        }
    }

    /// Keeps the figures of a connection.
    fn seen(&self, figures: SenderFigures) -> SenderFigures {
        let figures = self.with_repair(figures);
        *lock(&self.seen) = figures;
        figures
    }

    /// The figures of a connection, which count each datagram once where it repairs.
    fn with_repair(&self, figures: SenderFigures) -> SenderFigures {
        let Some(RepairCounts { sent, .. }) = self.link.repair() else { return figures };
        let headers = SOURCE_OVERHEAD as u64 * sent.source;
        let greetings = self.greetings * Head::LEN as u64;
        SenderFigures {
            datagrams: sent.source.saturating_sub(self.greetings),
            bytes: sent.source_bytes.saturating_sub(headers + greetings),
            dropped: figures.dropped + sent.dropped_frames,
            expired: sent.dropped_frames,
            repeats: sent.repeats,
            coded: sent.parity + sent.surplus,
            repair_bytes: sent.repair_bytes + headers,
            ..figures
        }
    }

    /// The figures since the last call, or since the start.
    pub(crate) fn take_interval(&self) -> SenderFigures {
        let now = self.since_start();
        let mut last = lock(&self.last);
        let figures = now.since(&last);
        *last = now;
        figures
    }
}

/// A panic elsewhere must not hide the figures.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
