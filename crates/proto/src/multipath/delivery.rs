//! Delivery of datagrams from all subflows: each at most once and, if configured, in the order of MP_SEQ.

use whimbrel_control::reordering::{LatenessMeter, Output, Placement, ReorderBuffer, ReorderConfig};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::{Ecn, Payload, SeqNo};

use super::SubflowId;
use crate::Config;
use crate::ReorderSnapshot;
use crate::connection::Duplicates;

/// Interval over which the receive rate is measured.
const RATE_INTERVAL: Duration = Duration::from_millis(500);
/// Factor from the receive rate to X of the buffer: a sender may double its rate (RFC 5348, Section 4.3).
const RATE_AHEAD: f64 = 2.0;
/// Lower bound on an adaptive D_max, as a fraction of the configured one.
const FLOOR_DIVISOR: u64 = 8;

/// A received datagram.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    pub(super) payload: Payload,
    pub(super) subflow: SubflowId,
    pub(super) ecn: Ecn,
    /// Number of its packet on the subflow.
    pub(super) packet: SeqNo,
}

/// Duplicate detection, and the reorder buffer across subflows (`papers/reorder`).
#[derive(Debug)]
pub(super) struct Delivery {
    /// Numbers received; `None` before the first.
    seen: Option<Duplicates>,
    buffer: Option<ReorderBuffer<Option<Arrived>>>,
    config: ReorderConfig,
    is_ordered: bool,
    adapts: bool,
    delay: Duration,
    lateness: LatenessMeter,
    rate: ReceiveRate,
    late: u64,
    duplicates: u64,
    span: Span,
    /// The application takes no more datagrams.
    has_ended: bool,
}

/// A datagram that leaves, with its number.
pub(super) type Delivered = (SeqNo, Arrived);

impl Delivery {
    pub(super) fn new(config: &Config) -> Self {
        let receive = &config.receive;
        let delay = receive.reorder_delay.unwrap_or_default();
        Self {
            seen: None,
            buffer: None,
            config: ReorderConfig {
                delay,
                size: receive.reorder_size,
                max_packets: receive.max_datagrams,
                max_bytes: ByteCount::new(receive.max_bytes as u64),
            },
            is_ordered: receive.reorder_delay.is_some(),
            adapts: receive.reorder_adapts,
            delay,
            lateness: LatenessMeter::new(),
            rate: ReceiveRate::default(),
            late: 0,
            duplicates: 0,
            span: Span::default(),
            has_ended: false,
        }
    }

    /// The application takes no more datagrams: those that wait are dropped.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        self.buffer = None;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Processes an arrived packet with that number. `datagram`: its data, if it has some. Returns the
    /// datagram if it is delivered at once; otherwise it waits, or is a duplicate or too late.
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        sequence: SeqNo,
        datagram: Option<Arrived>,
    ) -> Option<Delivered> {
        let seen = self.seen.get_or_insert_with(|| Duplicates::new(sequence));
        if !seen.is_first(sequence) {
            self.duplicates += 1;
            return None;
        }
        self.span.on_number(sequence);
        let size = datagram.as_ref().map_or(0, |datagram| datagram.payload.len());
        let x = self.rate.on_bytes(now, size);
        let place = sequence.unwrap_or_first(self.lateness.next_sequence());
        self.lateness.on_packet(now, place);
        if !self.is_ordered {
            return datagram.map(|datagram| (sequence, datagram));
        }
        // Leaves one cycle of sequence numbers below the first.
        let config = self.config;
        let buffer =
            self.buffer.get_or_insert_with(|| ReorderBuffer::new(config, SeqNo::MODULUS + sequence.value()));
        if let Some(rate) = x {
            buffer.set_rate(rate * RATE_AHEAD);
        }
        if self.adapts {
            let floor = self.config.delay / FLOOR_DIVISOR;
            let delay = self.lateness.delay(now, floor, self.config.delay).unwrap_or(self.config.delay);
            if delay != self.delay {
                self.delay = delay;
                buffer.set_delay(delay);
            }
        }
        let place = sequence.unwrap_near(buffer.next_sequence());
        let has_data = datagram.is_some();
        let placement = buffer.on_packet(now, place, ByteCount::new(size as u64), datagram);
        self.late += u64::from(has_data && placement == Placement::Late);
        None
    }

    /// Returns the next datagram that has waited long enough, or need not wait any longer.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Delivered> {
        let buffer = self.buffer.as_mut()?;
        loop {
            if let Output::Packet { sequence, value: Some(arrived), .. } = buffer.poll(now)? {
                return Some((SeqNo::new(sequence), arrived));
            }
        }
    }

    /// Time at which the next datagram has waited long enough.
    pub(super) fn deadline(&self) -> Instant {
        self.buffer.as_ref().and_then(ReorderBuffer::poll_timeout).unwrap_or(Instant::FAR_FUTURE)
    }

    /// Number of numbers received more than once.
    pub(super) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Number of numbers below the greatest that have not arrived: lost, or still under way on a slower path.
    pub(super) fn missing(&self) -> u64 {
        if self.has_ended { 0 } else { self.span.missing }
    }

    pub(super) fn snapshot(&self) -> Option<ReorderSnapshot> {
        let buffer = self.buffer.as_ref()?;
        let counts = buffer.counts();
        Some(ReorderSnapshot {
            held: buffer.held(),
            most_held: counts.most_held,
            capacity: buffer.capacity(),
            delay: Some(self.delay),
            reordered: counts.reordered,
            expired: counts.expired,
            overflowed: counts.overflowed,
            late: self.late,
        })
    }
}

/// The gaps among the numbers received.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    greatest: Option<SeqNo>,
    missing: u64,
}

impl Span {
    /// A number was received for the first time.
    fn on_number(&mut self, sequence: SeqNo) {
        match self.greatest {
            Some(greatest) if sequence.is_after(greatest) => {
                self.missing += sequence.distance_from(greatest).unsigned_abs() - 1;
                self.greatest = Some(sequence);
            }
            // A number below the first one that was received was not counted.
            Some(_) => self.missing = self.missing.saturating_sub(1),
            None => self.greatest = Some(sequence),
        }
    }
}

/// The rate at which data arrives on all subflows.
#[derive(Clone, Copy, Debug, Default)]
struct ReceiveRate {
    since: Option<Instant>,
    bytes: u64,
    greatest: DataRate,
}

impl ReceiveRate {
    /// Returns X after each interval: the rate of the last one, or half the greatest before it if that is
    /// more.
    fn on_bytes(&mut self, now: Instant, bytes: usize) -> Option<DataRate> {
        let since = *self.since.get_or_insert(now);
        self.bytes += bytes as u64;
        let elapsed = now.saturating_since(since);
        if elapsed < RATE_INTERVAL {
            return None;
        }
        let rate = ByteCount::new(self.bytes) / elapsed;
        self.greatest = rate.max(self.greatest * 0.5);
        (self.since, self.bytes) = (Some(now), 0);
        (!self.greatest.is_zero()).then_some(self.greatest)
    }
}
