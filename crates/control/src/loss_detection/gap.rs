//! Holes in the sequence numbers: their classes, and their positions in time.

use whimbrel_units::{Duration, Instant};

/// Number of consecutive missing packets that constitutes an outage: the number of loss intervals in a TFRC
/// receiver's history, which an outage would replace as a whole.
pub(crate) const OUTAGE: u64 = 8;

/// The same in a stream of less than a packet per round-trip time, in which each loss is an event of its own.
///
/// The newest six of the eight closed intervals have 5.4 of the weight of 6 (RFC 5348, Section 5.4). With
/// seven losses in a row, p exceeds 1/2, and a stream of 16 kbit/s sends a packet in 12 s for minutes after
/// an outage of 3 s. A lower limit takes random losses for outages: at 30 % losses the rate of TFRC is 0.9 %
/// above that without this limit for six, 3 % for five, and 10 % for four.
const SLOW_OUTAGE: u64 = 6;

/// Class of a lost packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LossClass {
    /// A queue overflowed: the sender must reduce its rate.
    Congestion,
    /// The link corrupted the packet: a lower rate would not help.
    Wireless,
}

impl LossClass {
    /// Lower-case name of the class.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congestion => "congestion",
            Self::Wireless => "wireless",
        }
    }

    /// `Wireless` if `condition` is true, else `Congestion`.
    pub const fn wireless_if(condition: bool) -> Self {
        if condition { Self::Wireless } else { Self::Congestion }
    }
}

/// A run of missing sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossGap {
    /// The first missing sequence number.
    pub first: u64,
    /// Number of missing packets (n in the paper); at least one.
    pub count: u64,
    /// Arrival time of the last packet before the gap.
    pub before: Instant,
    /// Arrival time of the packet that revealed the gap. T_i of the Biaz scheme is `after - before`.
    pub after: Instant,
}

/// Position of a hole in time, from which the arrival times of its packets are interpolated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// S_before and T_before: the last packet to arrive before the hole opened.
    pub(super) before: (u64, Instant),
    /// S_after and T_after: the packet that opened it.
    pub(super) after: (u64, Instant),
    /// The first packet missing in the hole.
    pub(super) first: u64,
    /// Time between the last two arrivals before the hole opened; zero if there were none.
    pub(super) spacing: Duration,
    /// Result of loss differentiation when the hole opened.
    pub class: LossClass,
}

impl Gap {
    /// An empty hole: a packet that arrived itself.
    pub fn at(sequence: u64, at: Instant) -> Self {
        let here = (sequence, at);
        let (first, class) = (sequence, LossClass::Congestion);
        Self { before: here, after: here, first, spacing: Duration::ZERO, class }
    }

    /// `true` if the hole is an outage, all losses of which form one loss event regardless of its duration:
    /// at least [`OUTAGE`] packets are missing, or no packet arrived for longer than t_RTO = 4R in a stream
    /// of at least a packet per round-trip time, as estimated from the last two arrivals. In a slower stream,
    /// at least [`SLOW_OUTAGE`] packets must be missing as well.
    ///
    /// RFC 5348, Section 5.2, interpolates arrival times over the hole, so that an outage of many round-trip
    /// times becomes that many loss events, which replace the whole history and bring p close to 1. The
    /// outage is at most one sign of congestion: for a TCP it is one timeout, and by the window counters of
    /// RFC 4342, Section 10.2, it is one event, as no received packet lies between the losses. Section 5.2
    /// applies to shorter holes. There consecutive losses of a slow stream are separate signs, and at loss
    /// rates of 30 % holes of some round-trip times are common without any outage.
    pub(crate) fn is_outage(&self, rtt: Duration) -> bool {
        let missing = self.after.0 - self.first;
        let is_silence = self.after.1 - self.before.1 > rtt * 4;
        missing >= OUTAGE || is_silence && (self.spacing <= rtt || missing >= SLOW_OUTAGE)
    }

    /// The first packet missing in the hole.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// T_loss: interpolated arrival time of a packet in the hole (RFC 5348, Section 5.2).
    pub fn arrival_time(&self, sequence: u64) -> Instant {
        let (before, span) = self.span();
        if span == 0 {
            return self.after.1;
        }
        let elapsed = u128::from((self.after.1 - before.1).as_nanos());
        let part = elapsed * u128::from(sequence.saturating_sub(before.0)) / u128::from(span);
        Instant::from_nanos(before.1.as_nanos() + part as u64)
    }

    /// The first sequence number with an interpolated arrival time after `instant`; it may lie beyond the
    /// hole.
    pub fn first_later_than(&self, instant: Instant) -> u64 {
        let (before, span) = self.span();
        let elapsed = u128::from((self.after.1 - before.1).as_nanos());
        if elapsed == 0 {
            return if instant < self.after.1 { before.0 } else { u64::MAX };
        }
        if instant < before.1 {
            return before.0;
        }
        let wanted = u128::from((instant - before.1).as_nanos()) + 1;
        let steps = (wanted * u128::from(span)).div_ceil(elapsed);
        before.0.saturating_add(u64::try_from(steps).unwrap_or(u64::MAX))
    }

    fn span(&self) -> ((u64, Instant), u64) {
        (self.before, self.after.0 - self.before.0)
    }
}
