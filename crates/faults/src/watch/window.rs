//! CCID 2: the packets certainly in the network fit into the congestion window, and the window grows by
//! no more than the packets acknowledged (RFC 4341, Section 5), but for the return to its size before a
//! reduction that was needless.

use std::collections::VecDeque;

use whimbrel_proto::SenderSnapshot;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

/// The greatest initial window in packets (RFC 3390).
const INITIAL: u32 = 4;
/// The least time between two timeouts of a sender.
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// An observer's lower bound of the packets in the network.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Data packets that no acknowledgement can have covered, and that no timeout has removed: they are in
    /// the network, or lost without detection.
    in_flight: VecDeque<SeqNo>,
    /// Data packets that were given up, and may be acknowledged after all.
    given_up: VecDeque<SeqNo>,
    /// Data packets that can have been acknowledged.
    acknowledged: u64,
    /// The window's size when last seen, and how much it grew in all.
    cwnd: Option<u32>,
    grown: u64,
    /// The window before the last reduction, to which it returns if the reduction was needless (RFC 4015).
    reduced_from: u32,
    /// Time of the sender's last timeout.
    timed_out: Option<Instant>,
}

impl Window {
    /// A window that restarts, at any size.
    pub(crate) fn resumed() -> Self {
        Self { cwnd: Some(u32::MAX), ..Self::default() }
    }

    /// Something happened to the sender.
    pub(crate) fn on_change(&mut self, now: Instant, seen: &SenderSnapshot) {
        if seen.pipe == Some(0) {
            self.on_empty(now);
        }
        let Some(cwnd) = seen.cwnd else { return };
        match self.cwnd {
            None => assert!(cwnd <= INITIAL, "an initial window of {cwnd} packets"),
            Some(before) => {
                if cwnd < before {
                    self.reduced_from = before;
                }
                let returned = if cwnd >= self.reduced_from { self.reduced_from.max(before) } else { before };
                self.grown += u64::from(cwnd.saturating_sub(returned));
                // Fractions of packets add up, too.
                assert!(
                    self.grown <= self.acknowledged + 1,
                    "the window grew by {} packets, of which {} were acknowledged",
                    self.grown,
                    self.acknowledged
                );
            }
        }
        self.cwnd = Some(cwnd);
    }

    /// A data packet left.
    pub(crate) fn on_data(
        &mut self,
        now: Instant,
        sequence: SeqNo,
        before: &SenderSnapshot,
        after: &SenderSnapshot,
    ) {
        if after.pipe == Some(1) {
            self.on_empty(now);
        }
        self.in_flight.push_back(sequence);
        let cwnd = before.cwnd.max(after.cwnd).unwrap_or(u32::MAX);
        assert!(
            self.in_flight.len() <= cwnd as usize,
            "{} packets in the network at {now}, with a window of {cwnd}",
            self.in_flight.len()
        );
    }

    /// An acknowledgement arrived.
    pub(crate) fn on_acknowledged(&mut self, ack: SeqNo) {
        for packets in [&mut self.given_up, &mut self.in_flight] {
            while packets.front().is_some_and(|packet| !packet.is_after(ack)) {
                packets.pop_front();
                self.acknowledged += 1;
            }
        }
    }

    /// The sender counts no packet in the network. Unless all were acknowledged, its timer has
    /// expired.
    fn on_empty(&mut self, now: Instant) {
        let may_expire = self.timed_out.is_none_or(|last| now - last >= LEAST_TIMEOUT);
        if !self.in_flight.is_empty() && may_expire {
            self.timed_out = Some(now);
            self.given_up.append(&mut self.in_flight);
        }
    }
}
