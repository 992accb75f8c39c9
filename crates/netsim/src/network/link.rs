//! A simplex link: a queue, a transmitter, a delay.
//!
//! A FIFO link needs no event for its transmitter: when a packet is accepted, the time at which the
//! packets before it have left is known, and so are its own departure and arrival. The link keeps its
//! packets in one ring in this order; the first of them is the link's entry in the event queue. How many
//! have departed, which the queue limit depends on, is counted only when the answer can matter. When a
//! rate, a delay or the link's state changes, the plan is made again (`replan.rs`).
//!
//! A link with a queue discipline other than drop-tail holds only what has entered service in this way; what
//! waits is in the discipline (`managed.rs`), which is asked for a packet each time the transmitter is free.

mod config;
mod damage;
mod delay_stage;
mod managed;
mod replan;
mod token_bucket;
mod transmitter;

pub use config::{DownPolicy, LinkConfig, LinkRate, QueueLimit};
pub(crate) use damage::Damage;
pub(crate) use delay_stage::{DelayStage, Delays, RecordedDelays};
pub(crate) use managed::ManagedQueue;
pub use token_bucket::TokenBucketConfig;

use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use crate::events::EventSource;
use crate::impairment::LossProcess;
use crate::network::{Count, LinkStats, QueueSnapshot};
use crate::packets::PacketSlot;
use transmitter::Transmitter;
use whimbrel_units::Ecn;

/// A packet at or on the link.
#[derive(Clone, Copy)]
pub(crate) struct InTransit {
    pub(crate) departure: Instant,
    pub(crate) arrival: Instant,
    pub(crate) insertion: u64,
    pub(crate) slot: PacketSlot,
    size: u32,
}

/// Outcome of offering a packet to a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// In the queue, behind others.
    Queued,
    /// In the queue, and the next to arrive at the link's end.
    QueuedFirst,
    Overflow,
    Down,
    /// The link's discipline decides.
    Managed,
}

/// Effect of the medium on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MediumEffect {
    /// Nothing.
    None,
    /// The packet arrives with damaged content.
    Damaged,
    /// The packet is lost.
    Lost,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Up,
    Down(DownPolicy),
}

pub(crate) struct Link {
    /// Of the first packet's arrival.
    pub(crate) source: EventSource,
    /// In the order of acceptance, and so of departure and of arrival.
    packets: VecDeque<InTransit>,
    /// Number of them, from the front, that are known to have departed.
    departed: usize,
    /// The others; an upper bound of the packets at the link until [`Link::settle`] is called.
    queued: Count,
    /// With fewer packets at the link than this, limit, marking and state need no check.
    look_at: u64,
    limit_bytes: u64,
    limit_packets: u64,
    mark_at: u64,
    transmitter: Transmitter,
    /// Departure and arrival times of the last accepted packet.
    idle_from: Instant,
    last_arrival: Instant,
    delay: Duration,
    state: State,
    /// Losses behind the queue.
    pub(crate) loss: Option<Box<LossProcess>>,
    /// The share of them that arrives damaged instead.
    pub(crate) damage: Option<Box<Damage>>,
    /// Bits left of the packet in service while the link stands still.
    stalled_bits: Option<f64>,
    /// Delay stage at the link's end.
    pub(crate) delay_stage: Option<Box<DelayStage>>,
    /// The queue, unless it is drop-tail.
    pub(crate) managed: Option<Box<ManagedQueue>>,
    tally: Tally,
}

/// Counters of packets.
#[derive(Default)]
struct Tally {
    enqueued: Count,
    dropped: Count,
    marked: Count,
    wireless_lost: Count,
    damaged: Count,
    /// Lost because the link was or went down: before acceptance, in the queue, under way.
    refused: Count,
    flushed: Count,
    severed: Count,
}

impl Link {
    /// The configuration's impairment is made into a process by the caller, which has the random streams.
    pub(crate) fn new(config: LinkConfig, source: EventSource) -> Self {
        let (limit_packets, limit_bytes) = match config.limit {
            QueueLimit::Packets(packets) => (u64::from(packets), u64::MAX),
            QueueLimit::Bytes(bytes) => (u64::MAX, bytes),
            QueueLimit::Unlimited => (u64::MAX, u64::MAX),
        };
        let mark_at = config.mark_at.map_or(u64::MAX, u64::from);
        Self {
            source,
            packets: VecDeque::new(),
            departed: 0,
            queued: Count::default(),
            look_at: limit_packets.min(mark_at),
            limit_bytes,
            limit_packets,
            mark_at,
            transmitter: Transmitter::new(config.rate),
            idle_from: Instant::ZERO,
            last_arrival: Instant::ZERO,
            delay: config.delay,
            state: State::Up,
            loss: None,
            damage: None,
            stalled_bits: None,
            delay_stage: None,
            managed: None,
            tally: Tally::default(),
        }
    }

    /// Accepts or refuses a packet, marking it if need be.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        now: Instant,
        slot: PacketSlot,
        size: u32,
        ecn: &mut Ecn,
        insertion: u64,
    ) -> Verdict {
        let bytes = u64::from(size);
        // `queued` still counts packets that have departed since the last `settle`, so it is an upper bound:
        // below the limits it decides alone, and only above them the departures are counted. `look_at` is 0
        // on a link that is down or has a discipline, which sends every packet to the slow path.
        if (self.queued.packets >= self.look_at || self.queued.bytes.saturating_add(bytes) > self.limit_bytes)
            && let Some(refusal) = self.look(now, size, ecn)
        {
            return refusal;
        }
        if self.accept(now, slot, size, insertion) { Verdict::QueuedFirst } else { Verdict::Queued }
    }

    /// Plans a packet's transmission behind those accepted before. Returns whether it is the first to arrive.
    // Left to itself, the compiler calls it for each hop, with a twentieth more instructions.
    #[inline(always)]
    pub(crate) fn accept(&mut self, now: Instant, slot: PacketSlot, size: u32, insertion: u64) -> bool {
        // Packets leave in order, so this one starts when the last one has left: all times are known now, and
        // the transmitter needs no event. `replan` makes them again when something changes.
        let departure = if self.is_held() {
            Instant::FAR_FUTURE
        } else {
            self.transmitter.departure(now, self.idle_from, size, &mut self.delay)
        };
        self.idle_from = departure;
        // A delay that was cut must not let this packet overtake the one before it.
        let arrival = (departure + self.delay).max(self.last_arrival);
        self.last_arrival = arrival;
        self.queued.add_packet(size);
        self.tally.enqueued.add_packet(size);
        let first = self.packets.is_empty();
        self.packets.push_back(InTransit { departure, arrival, insertion, slot, size });
        first
    }

    /// The slow path of [`Link::offer`]: state, marking and limit.
    #[cold]
    fn look(&mut self, now: Instant, size: u32, ecn: &mut Ecn) -> Option<Verdict> {
        if matches!(self.state, State::Down(DownPolicy::DropQueue | DownPolicy::DropAll)) {
            self.tally.refused.add_packet(size);
            return Some(Verdict::Down);
        }
        if self.managed.is_some() {
            return Some(Verdict::Managed);
        }
        self.settle(now);
        let Count { packets, bytes } = self.queued;
        let full = packets >= self.limit_packets || bytes.saturating_add(u64::from(size)) > self.limit_bytes;
        if packets > 0 && full {
            self.tally.dropped.add_packet(size);
            return Some(Verdict::Overflow);
        }
        if packets >= self.mark_at && ecn.is_capable() && *ecn != Ecn::Ce {
            *ecn = Ecn::Ce;
            self.tally.marked.add_packet(size);
        }
        None
    }

    /// Takes the packet that arrives first.
    pub(crate) fn take_first(&mut self) -> Option<InTransit> {
        let first = self.packets.pop_front()?;
        if self.departed > 0 {
            self.departed -= 1;
        } else {
            self.queued.packets -= 1;
            self.queued.bytes -= u64::from(first.size);
        }
        Some(first)
    }

    /// Arrival time and insertion number of the first packet; `None` if nothing will arrive as things
    /// stand.
    pub(crate) fn next_arrival(&self) -> Option<(Instant, u64)> {
        let first = self.packets.front()?;
        (first.arrival < Instant::FAR_FUTURE).then_some((first.arrival, first.insertion))
    }

    /// Applies the impairment to this packet, which has just reached the link's end.
    pub(crate) fn apply_medium(&mut self, packet: &InTransit) -> MediumEffect {
        let Some(loss) = &mut self.loss else { return MediumEffect::None };
        if !loss.loses(packet.departure, packet.size) {
            return MediumEffect::None;
        }
        if self.damage.as_mut().is_some_and(|damage| damage.spares_headers()) {
            self.tally.damaged.add_packet(packet.size);
            return MediumEffect::Damaged;
        }
        self.tally.wireless_lost.add_packet(packet.size);
        MediumEffect::Lost
    }

    /// Brings the count of departed packets up to date. A packet that departs at `now` has departed.
    fn settle(&mut self, now: Instant) {
        while let Some(packet) = self.packets.get(self.departed)
            && packet.departure <= now
        {
            self.departed += 1;
            self.queued.packets -= 1;
            self.queued.bytes -= u64::from(packet.size);
        }
    }

    fn is_held(&self) -> bool {
        self.state == State::Down(DownPolicy::Hold)
    }

    /// The capacity of the queue.
    pub(crate) fn limit(&self) -> QueueLimit {
        match (self.limit_packets, self.limit_bytes) {
            (u64::MAX, u64::MAX) => QueueLimit::Unlimited,
            (u64::MAX, bytes) => QueueLimit::Bytes(bytes),
            (packets, _) => QueueLimit::Packets(u32::try_from(packets).unwrap_or(u32::MAX)),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.state == State::Up
    }

    /// The packets that wait and those under way at `now`.
    pub(crate) fn snapshot(&self, now: Instant) -> QueueSnapshot {
        let mut snapshot = QueueSnapshot::default();
        for packet in &self.packets {
            if packet.departure > now {
                snapshot.queued.add_packet(packet.size);
            } else {
                snapshot.under_way.add_packet(packet.size);
            }
        }
        if let Some(delay_stage) = &self.delay_stage {
            snapshot.under_way += delay_stage.present();
        }
        if let Some(managed) = &self.managed {
            snapshot.queued += managed.backlog();
        }
        snapshot
    }

    pub(crate) fn stats(&self, now: Instant) -> LinkStats {
        let snapshot = self.snapshot(now);
        let tally = &self.tally;
        let mut enqueued = tally.enqueued;
        if let Some(managed) = &self.managed {
            enqueued += managed.backlog();
        }
        let mut departed = enqueued;
        departed -= tally.flushed;
        departed -= snapshot.queued;
        let delay_stage = self.delay_stage.as_ref();
        let crowded_out = delay_stage.map(|delay_stage| delay_stage.refused()).unwrap_or_default();
        let duplicated = delay_stage.map(|delay_stage| delay_stage.duplicated()).unwrap_or_default();
        let mut delivered = departed;
        delivered += duplicated;
        delivered -= snapshot.under_way;
        delivered -= tally.wireless_lost;
        delivered -= tally.severed;
        delivered -= crowded_out;
        let mut dropped = tally.dropped;
        dropped += crowded_out;
        let mut down_lost = tally.refused;
        down_lost += tally.flushed;
        down_lost += tally.severed;
        LinkStats {
            enqueued,
            departed,
            delivered,
            dropped,
            wireless_lost: tally.wireless_lost,
            damaged: tally.damaged,
            duplicated,
            down_lost,
            marked: tally.marked,
        }
    }
}

#[cfg(test)]
mod tests;
