//! The end that acknowledges the data (RFC 4341, Section 6; RFC 4340, Section 11.3).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::{Elapsed, FeatureNumber};
use whimbrel_wire::{DccpOption, Ecn, Options, SeqNo};

use super::ack_ratio::AckRatio;
use super::{DEFAULT_RTT, DELAYED_ACK};
use crate::ReceiverSnapshot;
use crate::ccid::{HcReceiver, ReceivedPacket};

/// The end that acknowledges the data: one acknowledgement per Ack Ratio data packets, immediate ones for
/// possible losses and for marks, and a delay of at most 0.2 s.
#[derive(Debug)]
pub struct Receiver {
    ack_ratio: u64,
    /// Number of data packets received since the last acknowledgement.
    unacknowledged: u64,
    /// `true` once data has arrived.
    has_data: bool,
    /// An acknowledgement is due, regardless of the number of packets.
    is_due: bool,
    /// Time of the delayed acknowledgement.
    deadline: Option<Instant>,
    /// The newest packet, and its arrival time.
    newest: Option<(SeqNo, Instant)>,
    /// Time from which a mark causes an immediate acknowledgement again.
    quiet_until: Instant,
    rtt: Option<Duration>,
    marked: u64,
}

impl Receiver {
    /// Creates the receiver of a half-connection under that CCID; `rtt` is the round-trip time of the
    /// handshake, if measured.
    pub fn new(rtt: Option<Duration>) -> Self {
        Self {
            ack_ratio: AckRatio::INITIAL,
            unacknowledged: 0,
            has_data: false,
            is_due: false,
            deadline: None,
            newest: None,
            quiet_until: Instant::ZERO,
            rtt,
            marked: 0,
        }
    }
}

impl HcReceiver for Receiver {
    fn on_received(&mut self, now: Instant, packet: ReceivedPacket<'_>) {
        self.rtt = packet.rtt_hint.or(self.rtt);
        let step = self.newest.map_or(1, |(newest, _)| packet.sequence.distance_from(newest));
        if step > 0 {
            self.newest = Some((packet.sequence, now));
        }
        if !packet.packet_type.carries_data() {
            // Data may be missing before the packet, unless its NDP Count shows that there were none. On a
            // half-connection that was never used none are missing.
            let without_data = packet.ndp_count.unwrap_or(0);
            self.is_due |= self.has_data && step > 1 && (step - 1).unsigned_abs() > without_data;
            return;
        }
        self.has_data = true;
        self.unacknowledged += 1;
        if self.deadline.is_none() {
            self.deadline = Some(now + DELAYED_ACK);
        }
        // RFC 4340, Section 11.3: immediately if a packet may be lost, or a missing one arrives; and for
        // marks once per round-trip time.
        self.is_due |= step != 1;
        if packet.ecn == Ecn::Ce {
            self.marked += 1;
            if now >= self.quiet_until {
                self.is_due = true;
                self.quiet_until = now + self.rtt.unwrap_or(DEFAULT_RTT);
            }
        }
    }

    fn feedback_due(&self, now: Instant) -> bool {
        let is_late = || self.deadline.is_some_and(|deadline| deadline <= now);
        self.is_due || self.unacknowledged >= self.ack_ratio || is_late()
    }

    fn has_news(&self) -> bool {
        // Acknowledgements on data packets do not count against the Ack Ratio (RFC 4340, Section 11.3).
        self.unacknowledged > 0
    }

    fn write_feedback(&mut self, now: Instant, ack: SeqNo, options: &mut Options) {
        if let Some((newest, arrived)) = self.newest
            && newest == ack
        {
            let elapsed = Elapsed::from_nanos((now - arrived).as_nanos());
            // A missing option means zero as well.
            if elapsed.units() > 0 {
                options.push(DccpOption::ElapsedTime(elapsed));
            }
        }
        self.unacknowledged = 0;
        self.is_due = false;
        self.deadline = None;
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            self.is_due = true;
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    fn on_feature(&mut self, _now: Instant, feature: FeatureNumber, value: u64) {
        if feature == FeatureNumber::AckRatio {
            // Zero: the sender does not use the Ack Ratio. CCID 2 always does.
            self.ack_ratio = if value == 0 { AckRatio::INITIAL } else { value };
        }
    }

    fn snapshot(&self) -> ReceiverSnapshot {
        ReceiverSnapshot { rtt: self.rtt, marked: self.marked, ..ReceiverSnapshot::default() }
    }
}
