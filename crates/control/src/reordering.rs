//! A reorder buffer at the receiver with a bounded delay.
//!
//! Sarwar, Lochin and Boreli, "Mitigating the Impact of Packet Reordering to Maximize Performance of
//! Multimedia Applications" (2011, `papers/reorder`), Section II. A packet behind a gap waits for the missing
//! packets. If they arrive, all are released at once; if they have not arrived after D_max, or if the buffer
//! is full, they are declared lost *then*, and are late afterwards. A packet that arrives in order is never
//! held, so that the buffer adds no delay on a path without reordering.
//!
//! Points that the paper leaves open, and their resolution:
//!
//! - *"The buffer is kept full at all times"* (Section II.B) contradicts Figure 1, where packets in order
//!   pass and the buffer "is flushed without delay" when the gap is filled. Figure 1 is followed: Q is a
//!   limit, not a delay of all packets.
//! - *The size* Q counts held packets; a missing packet takes no room. Q = X D_max is rounded down, as in the
//!   paper (1 Mbit/s for 50 ms in packets of 500 bytes is 12), and is at least one packet.
//! - *D_max* counts from a packet's own arrival. When the packet held longest is due, all missing packets
//!   before it are declared lost, including those that were found missing only shortly before: order takes
//!   precedence over completeness.
//!
//! ```
//! use whimbrel_control::reordering::{BufferSize, Output, ReorderBuffer, ReorderConfig};
//! use whimbrel_units::{ByteCount, Duration, Instant};
//!
//! let config = ReorderConfig { delay: Duration::from_millis(50), ..ReorderConfig::default() };
//! let mut buffer = ReorderBuffer::new(config, 1);
//! for (ms, sequence) in [(0, 1), (10, 3), (20, 4), (30, 2)] {
//!     buffer.on_packet(Instant::from_millis(ms), sequence, ByteCount::new(500), ());
//!     while let Some(Output::Packet { sequence, arrived, .. }) = buffer.poll(Instant::from_millis(ms)) {
//!         println!("{sequence} of {arrived:?} leaves {ms} ms after the start");
//!     }
//! }
//! assert_eq!(buffer.held(), 0);
//! ```

use alloc::collections::VecDeque;

use whimbrel_units::{ByteCount, Duration, Instant};

mod lateness;
mod rack;
mod sizing;
#[cfg(test)]
mod tests;

pub use lateness::{LATENESS_PERIOD, LatenessMeter, LatenessSummary};
pub use rack::{MIN_RTT_PERIOD, PERSISTENCE, ReorderWindow};
pub use sizing::BufferSize;
use sizing::Sizing;

/// Configuration of a [`ReorderBuffer`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReorderConfig {
    /// D_max: maximum time for which a packet is held.
    pub delay: Duration,
    /// Q: maximum number of held packets.
    pub size: BufferSize,
    /// Maximum number of held packets, regardless of Q.
    pub max_packets: usize,
    /// Maximum number of held bytes, regardless of Q.
    pub max_bytes: ByteCount,
}

impl Default for ReorderConfig {
    /// D_max of 50 ms, as in the paper for video; Q follows the rate; at most 4096 packets and 4 MiB.
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(50),
            size: BufferSize::Dynamic,
            max_packets: 4096,
            max_bytes: ByteCount::new(4 << 20),
        }
    }
}

/// Outcome of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// The packet is the next in order: the next [`poll`](ReorderBuffer::poll) releases it.
    InOrder,
    /// The packet waits for missing packets.
    Held,
    /// The packet had been declared lost, or is a duplicate of one that was released. It is discarded.
    Late,
    /// The packet is already held. It is discarded.
    Duplicate,
}

/// Output of a buffer, in strictly increasing order of sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output<T> {
    /// A packet.
    Packet {
        /// Its sequence number.
        sequence: u64,
        /// Arrival time, which determines the receive rate.
        arrived: Instant,
        /// The value given with it.
        value: T,
    },
    /// Packets that did not arrive in time and are now declared lost.
    Lost {
        /// Sequence number of the first one.
        first: u64,
        /// Number of packets.
        count: u64,
    },
}

/// Counters of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReorderCounts {
    /// Maximum number of packets held at the same time.
    pub most_held: u64,
    /// Packets that were held and released in order.
    pub reordered: u64,
    /// Packets declared lost because one behind them had been held for D_max.
    pub expired: u64,
    /// Packets declared lost because the buffer was full.
    pub overflowed: u64,
    /// Packets that arrived after they had been declared lost or released.
    pub late: u64,
    /// Packets that arrived while a copy was held.
    pub duplicates: u64,
}

/// A held packet.
#[derive(Clone, Copy, Debug)]
struct Held<T> {
    sequence: u64,
    /// Lowest value of the next sequence number at which this packet may be released: packets from there on
    /// are not waited for.
    from: u64,
    arrived: Instant,
    size: ByteCount,
    /// `true` if it arrived before a preceding packet.
    had_to_wait: bool,
    value: T,
}

/// Reorder buffer. `T` is the value kept with each packet.
///
/// After each [`on_packet`](Self::on_packet), and at [`poll_timeout`](Self::poll_timeout), call
/// [`poll`](Self::poll) until it returns `None`. There is one deadline for the whole buffer, no timer per
/// packet. Memory grows to the maximum held at the same time and is then reused.
#[derive(Clone, Debug)]
pub struct ReorderBuffer<T> {
    config: ReorderConfig,
    sizing: Sizing,
    /// The next sequence number to release.
    next: u64,
    /// Held packets by sequence number.
    held: VecDeque<Held<T>>,
    held_bytes: ByteCount,
    /// Packets that had to wait, by arrival. Those below `next` have been released; the first has not.
    waiting: VecDeque<(Instant, u64)>,
    counts: ReorderCounts,
}

impl<T> ReorderBuffer<T> {
    /// A buffer that starts with sequence number `first`.
    pub fn new(config: ReorderConfig, first: u64) -> Self {
        Self {
            config,
            sizing: Sizing::new(config.size, config.delay),
            next: first,
            held: VecDeque::new(),
            held_bytes: ByteCount::ZERO,
            waiting: VecDeque::new(),
            counts: ReorderCounts::default(),
        }
    }

    /// Processes an arrival.
    pub fn on_packet(&mut self, now: Instant, sequence: u64, size: ByteCount, value: T) -> Placement {
        self.on_packet_behind(now, sequence, 0, size, value)
    }

    /// Processes an arrival that is preceded by `not_missed` sequence numbers that are not waited for:
    /// packets that carry no data, if they are missing (DCCP's NDP Count, RFC 4340, Section 7.7).
    pub fn on_packet_behind(
        &mut self,
        now: Instant,
        sequence: u64,
        not_missed: u64,
        size: ByteCount,
        value: T,
    ) -> Placement {
        if sequence < self.next {
            self.counts.late += 1;
            return Placement::Late;
        }
        // Most packets follow all held ones. Others use a binary search: in a block that arrives in
        // descending order, each packet precedes all others, and a scan from the end would take time
        // proportional to the block.
        let place = match self.held.back() {
            Some(last) if last.sequence >= sequence => {
                self.held.partition_point(|held| held.sequence < sequence)
            }
            _ => self.held.len(),
        };
        if self.held.get(place).is_some_and(|held| held.sequence == sequence) {
            self.counts.duplicates += 1;
            return Placement::Duplicate;
        }
        self.sizing.on_packet(size);
        let from = sequence.saturating_sub(not_missed);
        let had_to_wait = from > self.next;
        self.held.insert(place, Held { sequence, from, arrived: now, size, had_to_wait, value });
        self.held_bytes += size;
        self.counts.most_held = self.counts.most_held.max(self.held.len() as u64);
        if had_to_wait {
            if self.waiting.len() > 2 * self.held.len() {
                // Released packets are kept in the list only as long as one that arrived earlier is held.
                let next = self.next;
                self.waiting.retain(|(_, waiting)| *waiting >= next);
            }
            self.waiting.push_back((now, sequence));
            Placement::Held
        } else {
            Placement::InOrder
        }
    }

    /// Returns `true` if a packet is the next in order and none is held: it then counts as released, need not
    /// be inserted, and releases no other packet.
    pub fn pass(&mut self, sequence: u64, not_missed: u64, size: ByteCount) -> bool {
        let is_next =
            self.held.is_empty() && sequence >= self.next && sequence.saturating_sub(not_missed) <= self.next;
        if is_next {
            self.sizing.on_packet(size);
            self.next = sequence + 1;
        }
        is_next
    }

    /// Releases the next packet or loss, if there is one.
    pub fn poll(&mut self, now: Instant) -> Option<Output<T>> {
        let first = self.held.front()?.from;
        if first > self.next {
            let count = first - self.next;
            if self.is_overfull() {
                self.counts.overflowed += count;
            } else if self.poll_timeout().is_some_and(|deadline| deadline <= now) {
                self.counts.expired += count;
            } else {
                return None;
            }
            return Some(self.give_up(first));
        }
        let Held { sequence, arrived, size, had_to_wait, value, .. } = self.held.pop_front()?;
        self.next = sequence + 1;
        self.held_bytes = self.held_bytes - size;
        self.counts.reordered += u64::from(had_to_wait);
        while self.waiting.front().is_some_and(|(_, waiting)| *waiting <= sequence) {
            self.waiting.pop_front();
        }
        Some(Output::Packet { sequence, arrived, value })
    }

    /// Time at which the next packet is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.front().map(|(arrived, _)| *arrived + self.config.delay)
    }

    /// Sets the rate X at which packets arrive, for a [`BufferSize::Dynamic`].
    pub fn set_rate(&mut self, rate: whimbrel_units::DataRate) {
        self.sizing.set_rate(rate);
    }

    /// Sets D_max, also for held packets: a shorter one may make some of them due at once.
    pub fn set_delay(&mut self, delay: Duration) {
        self.config.delay = delay;
        self.sizing.set_delay(delay);
    }

    /// Sets Q.
    pub fn set_size(&mut self, size: BufferSize) {
        self.sizing.set_size(size);
    }

    /// Q: current maximum number of held packets.
    pub fn capacity(&self) -> usize {
        self.sizing.packets().min(self.config.max_packets)
    }

    /// Number of held packets.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The next sequence number to release.
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// The highest sequence number received; the one before the next to release if none is held.
    pub fn greatest_sequence(&self) -> u64 {
        self.held.back().map_or(self.next.saturating_sub(1), |held| held.sequence)
    }

    /// The counters.
    pub fn counts(&self) -> ReorderCounts {
        self.counts
    }

    fn is_overfull(&self) -> bool {
        self.held.len() > self.capacity() || self.held_bytes > self.config.max_bytes
    }

    /// Declares all packets before `first` lost.
    fn give_up(&mut self, first: u64) -> Output<T> {
        let lost = Output::Lost { first: self.next, count: first - self.next };
        self.next = first;
        lost
    }
}
