//! Forwarding between local programs and one connection, in both directions.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration as StdDuration;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};
use whimbrel_net::{ConnectionSnapshot, FreezeSnapshot, NetError, SendError, Socket};
use whimbrel_units::{DataRate, Duration};

use super::Options;
use super::follow::{Change, Follow};
use super::frames::{Kind, classify};
use super::output::{Counts, Lines};
use super::ports::{Flow, HEADER, Ports};
use super::queue::{Queue, Waiting};
use super::remb;
use super::status::{Connection, Entry, Totals};
use crate::interrupt::Interrupt;

/// Time between two updates of the state, and of the message to encoders.
const UPDATE_TIME: StdDuration = StdDuration::from_millis(100);
/// Datagrams moved in one direction before the other has its turn.
const BATCH: usize = 32;
/// Weight of the last datagram in the average size.
const SIZE_WEIGHT: f64 = 1.0 / 64.0;
/// Bytes of RTP's fixed header, and of a record of DTLS beside its data.
const RTP_HEADER: f64 = 12.0;
const RECORD: f64 = 22.0;
/// The SSRC of this end in messages to encoders. No stream has it: it is one in 2^32.
const OWN_SSRC: u32 = 0x5748_494d;

/// The end of one connection.
pub(super) enum Ending {
    /// Ctrl-C was pressed.
    Interrupted,
    /// The connection is over.
    Over(NetError),
    /// A newer connection takes its place.
    Replaced,
}

/// Forwards between local programs and a connection.
pub(super) struct Engine<'a> {
    socket: &'a Socket,
    ports: &'a mut Ports,
    options: &'a Options,
    entry: Entry,
    peer: SocketAddr,
    queue: Queue,
    totals: Totals,
    /// The streams of local programs, by flow.
    streams: BTreeMap<Flow, u32>,
    /// Average size of datagrams to send.
    size: f64,
}

impl<'a> Engine<'a> {
    pub(super) fn new(socket: &'a Socket, ports: &'a mut Ports, options: &'a Options, entry: Entry) -> Self {
        Self {
            socket,
            ports,
            options,
            entry,
            peer: socket.remote(),
            queue: Queue::new(options.stale),
            totals: Totals::default(),
            streams: BTreeMap::new(),
            size: 1200.0,
        }
    }

    /// Forwards until the connection ends.
    ///
    /// # Errors
    /// The output or the link monitor fails.
    pub(super) async fn run(
        mut self,
        lines: &mut Lines,
        interrupt: &mut Interrupt,
        mut follow: Option<Follow>,
        mut replaced: oneshot::Receiver<()>,
    ) -> anyhow::Result<Ending> {
        self.ports.discard_old();
        let (mut ticks, mut updates) = (interval(lines.interval()), interval(UPDATE_TIME));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        updates.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        let mut received = Vec::new();
        let socket = self.socket;
        loop {
            let has_waiting = !self.queue.is_empty();
            tokio::select! {
                (flow, payload) = self.ports.next(|| socket.now()) => self.take(flow, &payload),
                room = socket.writable(1), if has_waiting => {
                    let result = match room {
                        Ok(()) => self.send(lines),
                        Err(error) => Err(error),
                    };
                    if let Err(error) = result {
                        self.report(lines)?;
                        return Ok(Ending::Over(error));
                    }
                }
                taken = socket.recv_many(&mut received, BATCH) => {
                    if let Err(error) = taken {
                        self.report(lines)?;
                        return Ok(Ending::Over(error));
                    }
                    for datagram in received.drain(..) {
                        self.deliver(datagram.payload).await;
                    }
                }
                _ = updates.tick() => self.update().await,
                _ = ticks.tick() => self.report(lines)?,
                change = next_change(&mut follow, socket) => {
                    if let Some(follow) = &mut follow {
                        follow.apply(change?, socket).await;
                    }
                }
                _ = &mut replaced => return Ok(Ending::Replaced),
                () = interrupt.raised() => {
                    self.report(lines)?;
                    return Ok(Ending::Interrupted);
                }
            }
        }
    }

    /// Queues a datagram of a local program.
    fn take(&mut self, flow: Flow, payload: &[u8]) {
        let kind = classify(flow.id(), payload, self.options.video);
        if let Kind::Part { frame, .. } = kind {
            self.streams.insert(flow, frame.source);
        }
        let bytes = flow.wrap(payload);
        self.size += (payload.len() as f64 - self.size) * SIZE_WEIGHT;
        self.queue.push(Waiting { bytes, kind, arrived: self.socket.now() });
    }

    /// Sends what may be sent now.
    fn send(&mut self, lines: &Lines) -> Result<(), NetError> {
        for _ in 0..BATCH {
            let Some(waiting) = self.queue.pop(self.socket.now()) else { break };
            let deadline = self.queue.deadline(&waiting);
            match self.socket.try_send(waiting.bytes.clone(), Some(deadline)) {
                Ok(()) => {}
                Err(NetError::Send(SendError::QueueFull)) => {
                    self.queue.put_back(waiting);
                    break;
                }
                Err(NetError::Send(SendError::TooLarge { size, limit })) => {
                    if self.totals.too_large == 0 {
                        let (size, limit) = (size.saturating_sub(HEADER), limit.saturating_sub(HEADER));
                        lines.warn(&format!(
                            "a datagram of {size} bytes exceeds the limit of {limit} bytes: reduce the packet size of the program"
                        ));
                    }
                    self.totals.too_large += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Passes a datagram of the peer to a local program.
    async fn deliver(&mut self, datagram: Bytes) {
        let is_known = match Flow::unwrap(datagram) {
            Some((flow, payload)) => self.ports.deliver(self.socket.now(), flow, &payload).await,
            None => false,
        };
        self.totals.unknown += u64::from(!is_known);
    }

    /// Updates the state for programs, and reports the rate to encoders.
    async fn update(&mut self) {
        let now = self.socket.now();
        self.queue.expire(now);
        let Some(snapshot) = self.socket.snapshot() else { return };
        let state = self.state(&snapshot);
        self.queue.set_rate(state.allowed_rate_bps.map(DataRate::from_bits_per_second));
        let rate = state.encoder_rate_bps.filter(|_| self.options.remb);
        self.entry.set(state);
        // Streams that continue are noticed again.
        for (flow, source) in std::mem::take(&mut self.streams) {
            if let Some(rate) = rate {
                self.ports.deliver(now, flow, &remb::message(OWN_SSRC, source, rate)).await;
            }
        }
    }

    fn state(&self, snapshot: &ConnectionSnapshot) -> Connection {
        let allowed = snapshot
            .sender
            .allowed_rate
            .map(|rate| rate.as_bits_per_second())
            .filter(|rate| rate.is_finite());
        let key = self.socket.peer();
        let around = HEADER as f64 + if key.is_some() { RECORD } else { 0.0 };
        let share = (self.size - RTP_HEADER).max(1.0) / (self.size + around).max(1.0);
        let statistics = snapshot.statistics;
        let mut totals = Totals {
            datagrams_sent: statistics.datagrams_sent,
            bytes_sent: statistics.bytes_sent,
            datagrams_received: statistics.datagrams_received,
            bytes_received: statistics.bytes_received,
            lost: snapshot.receiver.lost,
            overrun: self.ports.lost(),
            forged: self.socket.forgeries(),
            dropped: self.queue.drops(),
            ..self.totals
        };
        // Those that became stale in DCCP's own short queue.
        totals.dropped.stale += statistics.datagrams_dropped;
        Connection {
            peer: self.peer,
            key: key.map(|key| key.to_string()),
            allowed_rate_bps: allowed,
            encoder_rate_bps: allowed.map(|rate| rate * share),
            rtt_s: snapshot.rtt.map(Duration::as_secs_f64),
            is_frozen: is_frozen(&snapshot.freeze),
            queued_datagrams: self.queue.len() + snapshot.queued_datagrams,
            queued_bytes: self.queue.bytes() + snapshot.queued_bytes,
            queue_age_s: self.queue.age(self.socket.now()).as_secs_f64(),
            flows: self.ports.flows(),
            totals,
        }
    }

    fn report(&self, lines: &mut Lines) -> anyhow::Result<()> {
        let Some(snapshot) = self.socket.snapshot() else { return Ok(()) };
        let counts = Counts {
            drops: self.queue.drops(),
            overrun: self.ports.lost(),
            too_large: self.totals.too_large,
            forged: self.socket.forgeries(),
        };
        self.entry.set(self.state(&snapshot));
        Ok(lines.interval_of(&snapshot, counts)?)
    }
}

fn is_frozen(freeze: &FreezeSnapshot) -> bool {
    freeze.local || freeze.by_peer
}

/// The next change of the link, if it is followed. Cancel safe.
async fn next_change(follow: &mut Option<Follow>, socket: &Socket) -> anyhow::Result<Change> {
    match follow {
        Some(follow) => follow.next(socket).await,
        None => std::future::pending().await,
    }
}
