//! Both directions of one connection between local programs and the other end's, sans I/O: what is sent next,
//! and what became of each datagram.

use std::collections::VecDeque;

use bytes::Bytes;
use leaving::Leaving;
use whimbrel_net::Mark;
use whimbrel_units::{DataRate, Duration, Instant};

use super::bundle;
use super::commands::{self, Inbox, Outbox};
use super::flow::Flow;
use super::flow_kind::{Announcement, FlowKinds, Kind};
use super::frames::FrameCounts;
use super::lanes::{Lanes, Next};
use super::ledger::streams::{self, StreamId};
use super::ledger::{Ledger, Observed, Reason};
use super::parts::{Divider, Joiner, Room, is_part};
use super::queue::{Drops, Waiting};
use super::report::{self, Report, Reporting};
use super::stream::{Lane, Stream};

mod leaving;

/// Weight of the last datagram in the averages.
const WEIGHT: f64 = 1.0 / 64.0;
/// Bytes that encryption and repair add to a datagram.
const OVERHEAD: usize = 35;
/// Time over which the rate of commands and values is measured at least, and its weight in the average.
const MEASURED: Duration = Duration::from_millis(100);
const RATE_WEIGHT: f64 = 1.0 / 8.0;
/// The size that datagrams are expected to have.
const EXPECTED_SIZE: f64 = 1200.0;

/// The transport's answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Handed {
    Accepted,
    /// Its queue is full: later.
    Later,
    /// The path carries datagrams of up to that many bytes.
    TooLarge(usize),
}

/// Fate of a datagram that was passed to a local program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Delivery {
    /// The system has taken it. That nothing listens at the address is known later, if at all.
    Passed,
    /// There is no such port or flow.
    UnknownFlow,
    /// The system has refused it.
    Undeliverable,
}

/// A datagram of the peer's program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    pub(crate) flow: Flow,
    pub(crate) payload: Bytes,
    pub(crate) is_rtp: bool,
}

/// The datagrams of a connection.
#[derive(Debug)]
pub(crate) struct Carriage {
    queue: Lanes,
    /// The user's streams, by the number of the port.
    streams: Vec<Stream>,
    kinds: FlowKinds,
    ledger: Ledger,
    /// Room for what the queue has dropped.
    drops: Drops,
    reporting: Reporting,
    /// Room of a bundle; none for an end that does not know them.
    bundle_room: usize,
    /// Datagrams that are about to leave together, and commands as they leave.
    leaving: Vec<Leaving>,
    /// Datagrams that have come in a bundle; `true` for one that the path had lost.
    bundled: VecDeque<(Bytes, bool)>,
    divider: Divider,
    joiner: Joiner,
    outbox: Outbox,
    inbox: Inbox,
    rtt: Duration,
    /// Bytes of commands and values that have left since then, and the average of their rate in bit/s.
    urgent: (usize, Instant),
    urgent_bps: f64,
    /// Averages: the size of what programs send, and the time in seconds that it waits here.
    size: f64,
    wait: f64,
}

impl Carriage {
    /// `stale`: age at which a datagram is useless. `announces`: this end is the first to tell the other that
    /// it reports. `room`: the room of all connections for incomplete datagrams.
    pub(crate) fn new(
        stale: Duration,
        mut announced: Announcement,
        announces: bool,
        ledger: Ledger,
        room: Room,
    ) -> Self {
        Self {
            queue: Lanes::new(stale),
            streams: std::mem::take(&mut announced.streams),
            kinds: FlowKinds::new(announced),
            ledger,
            drops: Drops::default(),
            reporting: Reporting::new(announces),
            bundle_room: 0,
            leaving: Vec::new(),
            bundled: VecDeque::new(),
            divider: Divider::default(),
            // A datagram begun in time may take twice that.
            joiner: Joiner::new(stale * 2, room),
            outbox: Outbox::default(),
            inbox: Inbox::default(),
            rtt: Duration::ZERO,
            urgent: (0, Instant::ZERO),
            urgent_bps: 0.0,
            size: EXPECTED_SIZE,
            wait: 0.0,
        }
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn queue(&self) -> &Lanes {
        &self.queue
    }

    /// A stream whose encoder should be asked for a key frame.
    pub(crate) fn take_start(&mut self) -> Option<u64> {
        self.queue.take_start()
    }

    pub(crate) fn kinds(&mut self) -> &mut FlowKinds {
        &mut self.kinds
    }

    /// The frames of the flows that have some.
    pub(crate) fn frames(&self) -> impl Iterator<Item = (Flow, FrameCounts)> {
        self.kinds.frames()
    }

    /// Average size of the datagrams that local programs send.
    pub(crate) fn average_size(&self) -> f64 {
        self.size
    }

    /// Average rate of the commands and values that leave, in bit/s: media do not get it.
    pub(crate) fn urgent_bps(&self) -> f64 {
        self.urgent_bps
    }

    /// Average time in seconds for which datagrams wait here.
    pub(crate) fn average_wait(&self) -> f64 {
        self.wait
    }

    /// A local program has sent a datagram, which the ledger knows already.
    pub(crate) fn take(&mut self, now: Instant, flow: Flow, payload: &[u8]) {
        let stream = self.streams.get(usize::from(flow.port)).unwrap_or(&Stream::Recognized);
        let (lane, keys) = stream.classify(flow.id(), payload);
        self.ledger.on_classified(StreamId { port: flow.port, lane }, stream.is_whole());
        if lane != Lane::Media {
            self.queue.push(now, lane, keys, flow.wrap(payload));
            return self.account();
        }
        let (kind, mark) = self.kinds.of_sent(now, flow, payload);
        self.size += (payload.len() as f64 - self.size) * WEIGHT;
        self.push(now, flow, payload, kind, mark);
    }

    /// This end itself sends a datagram to the other end's program.
    pub(crate) fn take_own(&mut self, now: Instant, flow: Flow, payload: &[u8]) {
        self.ledger.on_sent();
        self.ledger.on_classified(StreamId { port: flow.port, lane: Lane::Media }, false);
        self.push(now, flow, payload, Kind::Essential, Mark::SINGLE);
    }

    fn push(&mut self, now: Instant, flow: Flow, payload: &[u8], kind: Kind, mark: Mark) {
        self.queue.push_media(Waiting { bytes: flow.wrap(payload), kind, mark, arrived: now });
        self.account();
    }

    /// Enters in the ledger what the queue has dropped.
    fn account(&mut self) {
        self.queue.take_drops(&mut self.drops);
        for (id, losses) in self.drops.datagrams.drain(..) {
            losses.occurred().for_each(|(reason, count)| self.ledger.lose_of(id, reason, count));
        }
        let frames = std::mem::take(&mut self.drops.frames);
        if frames > 0 {
            self.ledger.on_dropped_frames(frames);
        }
    }

    /// `true` if nothing waits, and no command is under way.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.queue.is_empty() && self.outbox.is_empty()
    }

    /// `true` if there is something to send.
    pub(crate) fn has_waiting(&mut self, now: Instant) -> bool {
        self.queue.hold_commands(self.outbox.is_full(0));
        self.queue.is_ready(now)
            || self.outbox.due(now).is_some()
            || self.is_report_due(now)
            || self.reporting.is_streams_due(now)
    }

    fn is_report_due(&mut self, now: Instant) -> bool {
        self.reporting.is_due(now, self.ledger.marks())
    }

    /// Hands up to `limit` datagrams to the transport, with the times until which they are worth sending and
    /// their places in frames. `observe` says what the transport has observed, for a report.
    ///
    /// # Errors
    /// Fails with an error of the transport. Datagrams that were not sent stay in the queue.
    pub(crate) fn send<E>(
        &mut self,
        now: Instant,
        limit: usize,
        observe: impl FnOnce() -> Option<Observed>,
        mut transport: impl FnMut(Bytes, Option<Instant>, Mark) -> Result<Handed, E>,
    ) -> Result<(), E> {
        if self.is_report_due(now) {
            if let Some(observed) = observe() {
                self.ledger.observe(observed);
            }
            let commands = Some(self.inbox.state());
            let bytes = Report { commands, knows_bundles: true, ..self.ledger.report() }.encode();
            let size = bytes.len();
            if transport(bytes, None, Mark::SINGLE)? == Handed::Later {
                return Ok(());
            }
            self.ledger.on_report_handed(size);
            self.reporting.on_sent(now);
        }
        // The next one says the same, if there is no room for this one.
        if self.reporting.take_streams_due(now)
            && let Some(bytes) = self.ledger.stream_report()
        {
            let size = bytes.len();
            if transport(bytes, None, Mark::SINGLE)? == Handed::Accepted {
                self.ledger.on_report_handed(size);
            }
        }
        while let Some(command) = self.outbox.due(now) {
            match transport(command, None, Mark::SINGLE)? {
                Handed::Later => return Ok(()),
                Handed::Accepted | Handed::TooLarge(_) => self.outbox.on_repeated(now),
            }
        }
        for _ in 0..limit {
            self.queue.hold_commands(self.outbox.is_full(0));
            let Some(next) = self.queue.pop(now) else { break };
            self.gather(now, next);
            let handed = match &mut self.leaving[..] {
                [one] => one.hand(&mut self.divider, &mut transport),
                all => transport(bundle::join(all.iter().map(Leaving::bytes)), None, Mark::SINGLE),
            };
            match handed {
                Ok(Handed::Accepted) => self.on_left(now),
                // A narrow path has room for smaller bundles.
                Ok(Handed::TooLarge(room)) if self.leaving.len() > 1 => {
                    self.bundle_room = room;
                    self.put_back();
                }
                Ok(Handed::TooLarge(_)) => {
                    for Leaving { next: Next { waiting, lane, .. }, .. } in self.leaving.drain(..) {
                        self.ledger.lose_of(StreamId::of(&waiting.bytes, lane), Reason::TooLarge, 1);
                    }
                }
                Ok(Handed::Later) => {
                    self.put_back();
                    break;
                }
                Err(error) => {
                    self.put_back();
                    self.account();
                    return Err(error);
                }
            }
        }
        self.account();
        Ok(())
    }

    /// Takes a datagram that has arrived on the connection; `is_repaired`: the path had lost it. Returns it
    /// if it belongs to a program. A report stays at this end, and commands and others of a bundle come from
    /// [`Carriage::further`].
    pub(crate) fn receive(&mut self, now: Instant, datagram: Bytes, is_repaired: bool) -> Option<Arrival> {
        if let Some(datagrams) = bundle::split(&datagram) {
            self.bundled.extend(datagrams.map(|datagram| (datagram, is_repaired)));
            return None;
        }
        let datagram = if is_part(&datagram) {
            self.joiner.accept(now, &datagram)?
        } else if commands::is_numbered(&datagram) {
            self.reporting.on_command(now);
            self.inbox.accept(now, &datagram);
            return None;
        } else {
            datagram
        };
        self.unwrap(now, datagram, is_repaired)
    }

    /// The next datagram for a program that came in a bundle, or of the peer's commands, once no earlier one
    /// has to precede it.
    pub(crate) fn further(&mut self, now: Instant) -> Option<Arrival> {
        while let Some((datagram, is_repaired)) = self.bundled.pop_front() {
            if bundle::split(&datagram).is_none()
                && let Some(arrival) = self.receive(now, datagram, is_repaired)
            {
                return Some(arrival);
            }
        }
        while let Some(datagram) = self.inbox.poll(now) {
            if let Some(arrival) = self.unwrap(now, datagram, false) {
                return Some(arrival);
            }
        }
        None
    }

    fn unwrap(&mut self, now: Instant, datagram: Bytes, is_repaired: bool) -> Option<Arrival> {
        let size = datagram.len();
        let Some((flow, payload)) = Flow::unwrap(datagram) else {
            self.ledger.on_arrived();
            self.ledger.lose_arrived(report::HEADER.port, Reason::UnknownFlow, 1);
            return None;
        };
        if flow.port == report::HEADER.port {
            // Reports of other versions are ignored.
            if flow == streams::HEADER {
                self.ledger.on_stream_report(payload, size);
            } else if let Some(report) = Report::decode(payload).filter(|_| flow == report::HEADER) {
                self.ledger.on_report(report, size);
                if report.commands.is_some_and(|commands| commands.is_whole()) {
                    self.divider.set_knows_bulk();
                }
                if report.knows_bundles && self.bundle_room == 0 {
                    self.bundle_room = bundle::MOST_BYTES;
                }
                if self.outbox.on_report(now, report.commands) {
                    // The books of the other end have to know that what was missing has come.
                    self.reporting.on_command(now);
                }
                self.reporting.on_answer(now);
            }
            return None;
        }
        let (lane, _) = Stream::Recognized.classify(flow.id(), &payload);
        self.ledger.on_arrived_of(StreamId { port: flow.port, lane });
        let is_rtp = self.kinds.on_received(now, flow, &payload, is_repaired);
        Some(Arrival { flow, payload, is_rtp })
    }

    /// The result of passing a datagram to a local program.
    pub(crate) fn on_delivery(&self, flow: Flow, delivery: Delivery) {
        match delivery {
            Delivery::Passed => {}
            Delivery::UnknownFlow => self.ledger.lose_arrived(flow.port, Reason::UnknownFlow, 1),
            Delivery::Undeliverable => self.ledger.lose_arrived(flow.port, Reason::Undeliverable, 1),
        }
    }

    /// Drops what is not worth sending any more, and takes what the transport has observed.
    pub(crate) fn update(&mut self, now: Instant, observed: Option<Observed>) {
        self.queue.expire(now);
        let (bytes, since) = self.urgent;
        let time = now.saturating_since(since);
        if time >= MEASURED {
            let rate = 8.0 * bytes as f64 / time.as_secs_f64();
            self.urgent_bps += (rate - self.urgent_bps) * RATE_WEIGHT;
            self.urgent = (0, now);
        }
        self.joiner.expire(now);
        self.account();
        if let Some(observed) = observed {
            self.ledger.observe(observed);
        }
    }

    /// The rate that congestion control allows now, and the age up to which a datagram that is sent arrives
    /// in time, where the transport repairs within a latency.
    pub(crate) fn set_limits(
        &mut self,
        allowed: Option<DataRate>,
        budget: Option<Duration>,
        rtt: Option<Duration>,
    ) {
        self.rtt = rtt.unwrap_or_default();
        self.queue.set_rate(allowed);
        self.queue.set_budget(budget);
    }

    /// Returns memory that traffic has left behind.
    pub(crate) fn shrink(&mut self) {
        self.queue.shrink();
    }
}

impl Drop for Carriage {
    /// The connection has ended: datagrams that still wait are lost.
    fn drop(&mut self) {
        self.ledger.end_connection(self.queue.len());
    }
}

#[cfg(test)]
mod tests;
