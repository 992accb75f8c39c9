//! A receiver buffer that puts packets back into order, within a delay that the application bears.
//!
//! Sarwar, Lochin and Boreli, "Mitigating the Impact of Packet Reordering to Maximize Performance of Multimedia
//! Applications" (2011, `papers/reorder`), Section II. A packet behind a gap waits for the packets that are missing. If they
//! come, everything leaves at once; if they have not come after D_max, or if the buffer has no room left, they count as lost
//! *then*, and come too late afterwards. A packet that arrives in order is never held, so that the buffer adds nothing
//! to a path that does not reorder.
//!
//! What the paper leaves open, and what is done:
//!
//! - *"The buffer is kept full at all times"* (Section II.B) contradicts Figure 1, where packets in order pass and the buffer "is
//!   flushed without delay" when the gap fills. Figure 1 is followed: Q is a limit, not a delay that all packets pay.
//! - *The size* Q counts packets that wait; the one that is missing needs no room. Q = X D_max is rounded down, as the paper
//!   does (1 Mbit/s for 50 ms in packets of 500 bytes is 12), and is one packet at least.
//! - *D_max* counts from a packet's own arrival. When the one that has waited longest must go, everything before it that
//!   is missing is given up, also what was missed only a moment ago: order comes before completeness.
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

/// How a [`ReorderBuffer`] works.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReorderConfig {
    /// D_max: the longest that a packet waits.
    pub delay: Duration,
    /// Q: how many packets wait at most.
    pub size: BufferSize,
    /// Packets that wait at most, whatever Q is.
    pub max_packets: usize,
    /// Bytes that wait at most, whatever Q is.
    pub max_bytes: ByteCount,
}

impl Default for ReorderConfig {
    /// D_max of 50 ms, as the paper has it for video; Q follows the rate; 4096 packets and 4 MiB at most.
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(50),
            size: BufferSize::Dynamic,
            max_packets: 4096,
            max_bytes: ByteCount::new(4 << 20),
        }
    }
}

/// What became of a packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// It is the next in order: it leaves at the next [`poll`](ReorderBuffer::poll).
    InOrder,
    /// It waits for others.
    Held,
    /// Its turn is over: it had been given up, or it is a copy of one that has left. It is discarded.
    Late,
    /// It is there already. It is discarded.
    Duplicate,
}

/// What leaves a buffer, in the order of sequence numbers, which is strictly increasing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output<T> {
    /// A packet.
    Packet {
        /// Its sequence number.
        sequence: u64,
        /// When it arrived: what a receive rate goes by.
        arrived: Instant,
        /// What was given with it.
        value: T,
    },
    /// Packets that did not come in time. They are lost from now on.
    Lost {
        /// The first one's sequence number.
        first: u64,
        /// How many there are.
        count: u64,
    },
}

/// What a buffer has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReorderCounts {
    /// The most packets that were there at the same time.
    pub most_held: u64,
    /// Packets that waited and left in order.
    pub reordered: u64,
    /// Packets given up because one behind them had waited for D_max.
    pub expired: u64,
    /// Packets given up because there was no room.
    pub overflowed: u64,
    /// Packets that came after they had been given up, or had left.
    pub late: u64,
    /// Packets that came while they were there.
    pub duplicates: u64,
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Held<T> {
    sequence: u64,
    /// The number that may leave next at the earliest for this packet to follow: nothing is missed from there on.
    from: u64,
    arrived: Instant,
    size: ByteCount,
    /// Whether it came before its turn.
    had_to_wait: bool,
    value: T,
}

/// Puts packets into order. `T` is what the caller keeps of a packet.
///
/// After each [`on_packet`](Self::on_packet), and when [`poll_timeout`](Self::poll_timeout) has come, call
/// [`poll`](Self::poll) until it has nothing more. There is one deadline for the whole buffer, no timer per packet.
/// Memory grows to what has waited at the same time and is then used again.
#[derive(Clone, Debug)]
pub struct ReorderBuffer<T> {
    config: ReorderConfig,
    sizing: Sizing,
    /// The sequence number that is to leave next.
    next: u64,
    /// By sequence number.
    held: VecDeque<Held<T>>,
    held_bytes: ByteCount,
    /// The packets that had to wait, by arrival. Those below `next` have left; the first has not.
    waiting: VecDeque<(Instant, u64)>,
    counts: ReorderCounts,
}

impl<T> ReorderBuffer<T> {
    /// A buffer before the packet `first`.
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

    /// A packet arrived.
    pub fn on_packet(&mut self, now: Instant, sequence: u64, size: ByteCount, value: T) -> Placement {
        self.on_packet_behind(now, sequence, 0, size, value)
    }

    /// A packet arrived before which `not_missed` numbers are not waited for: packets that carry no data, if they are
    /// missing (DCCP's NDP Count tells, RFC 4340, Section 7.7).
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
        // Most packets follow all that wait. Others are searched for: in a block that arrives in descending order, each packet belongs
        // before all others, and a scan from the end would take time proportional to the block.
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
                // Those that left before one which came earlier and waits on are remembered no longer than that.
                let next = self.next;
                self.waiting.retain(|(_, waiting)| *waiting >= next);
            }
            self.waiting.push_back((now, sequence));
            Placement::Held
        } else {
            Placement::InOrder
        }
    }

    /// Whether a packet is the next and nothing waits: then it has left already, need not be put in, and nothing else
    /// leaves for it.
    pub fn pass(&mut self, sequence: u64, not_missed: u64, size: ByteCount) -> bool {
        let is_next =
            self.held.is_empty() && sequence >= self.next && sequence.saturating_sub(not_missed) <= self.next;
        if is_next {
            self.sizing.on_packet(size);
            self.next = sequence + 1;
        }
        is_next
    }

    /// What leaves next, if something does.
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

    /// When something leaves for its time being over.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.front().map(|(arrived, _)| *arrived + self.config.delay)
    }

    /// The rate X at which packets come, for a [`BufferSize::Dynamic`].
    pub fn set_rate(&mut self, rate: whimbrel_units::DataRate) {
        self.sizing.set_rate(rate);
    }

    /// D_max from now on, also for packets that wait: a shorter one may make some of them due at once.
    pub fn set_delay(&mut self, delay: Duration) {
        self.config.delay = delay;
        self.sizing.set_delay(delay);
    }

    /// Q from now on.
    pub fn set_size(&mut self, size: BufferSize) {
        self.sizing.set_size(size);
    }

    /// Q: how many packets may wait now.
    pub fn capacity(&self) -> usize {
        self.sizing.packets().min(self.config.max_packets)
    }

    /// Packets that are in the buffer.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The sequence number that is to leave next.
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// The highest sequence number that came; the one before the next where nothing waits.
    pub fn greatest_sequence(&self) -> u64 {
        self.held.back().map_or(self.next.saturating_sub(1), |held| held.sequence)
    }

    /// What it has counted.
    pub fn counts(&self) -> ReorderCounts {
        self.counts
    }

    fn is_overfull(&self) -> bool {
        self.held.len() > self.capacity() || self.held_bytes > self.config.max_bytes
    }

    /// Everything before `first` is lost.
    fn give_up(&mut self, first: u64) -> Output<T> {
        let lost = Output::Lost { first: self.next, count: first - self.next };
        self.next = first;
        lost
    }
}
