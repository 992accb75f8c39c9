//! A congestion control for tests: CCID 249 sends at a fixed rate and acknowledges every second packet.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{DccpOption, OptionBytes, Options, PacketType, Reset, SeqNo};

use crate::ccid::CcidProfile;
use crate::ccid::{
    FeatureRequest, Feedback, HalfConnection, HcReceiver, HcSender, Mechanism, ReceivedPacket, SenderMarks,
    SentPacket,
};
use crate::{Ccid, ReceiverSnapshot, SendVerdict, SenderSnapshot};

/// The CCID's number, one of those for experiments.
pub(crate) const FIXED_RATE: Ccid = Ccid(249);
/// An option that its receivers send: how many data packets they have seen, in one byte.
pub(crate) const SEEN: u8 = 200;
/// Time for which an acknowledgement waits for a second packet.
const ACK_DELAY: Duration = Duration::from_millis(100);

/// Makes senders that send a packet per `interval`; [`Duration::ZERO`] is no limit and
/// [`Duration::MAX`] lets nothing pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedRate {
    pub(crate) ccid: Ccid,
    pub(crate) interval: Duration,
    /// An Ack Ratio to ask for after the first feedback.
    pub(crate) ack_ratio: Option<u64>,
    pub(crate) needs_ack_vector: bool,
    /// The receivers' reaction to the first packet that arrives.
    pub(crate) violation: Option<Reset>,
}

impl FixedRate {
    pub(crate) fn every(interval: Duration) -> Self {
        Self { ccid: FIXED_RATE, interval, ack_ratio: None, needs_ack_vector: false, violation: None }
    }
}

impl Mechanism for FixedRate {
    fn ccid(&self) -> Ccid {
        self.ccid
    }

    fn sender(&self, half: &HalfConnection) -> Box<dyn HcSender> {
        let next_at = if self.interval == Duration::MAX { Instant::FAR_FUTURE } else { half.now };
        Box::new(Sender {
            mechanism: *self,
            next_at,
            rtt: half.rtt,
            acked: Vec::new(),
            dropped: 0,
            slowed: false,
            features: Vec::new(),
            request: None,
        })
    }

    fn receiver(&self, _half: &HalfConnection) -> Box<dyn HcReceiver> {
        Box::new(Receiver { violation: self.violation, seen: 0, unacknowledged: 0, due_at: None, marked: 0 })
    }

    fn profile(&self) -> CcidProfile {
        CcidProfile { options: &[SEEN], needs_ack_vector: self.needs_ack_vector, ..CcidProfile::PLAIN }
    }
}

#[derive(Debug)]
struct Sender {
    mechanism: FixedRate,
    next_at: Instant,
    rtt: Option<Duration>,
    acked: Vec<SeqNo>,
    dropped: u64,
    slowed: bool,
    features: Vec<(u8, u64)>,
    request: Option<FeatureRequest>,
}

impl HcSender for Sender {
    fn poll_send(&mut self, now: Instant, _size: usize) -> SendVerdict {
        match self.next_at {
            Instant::FAR_FUTURE => SendVerdict::Blocked,
            at if at <= now => SendVerdict::Now,
            at => SendVerdict::At(at),
        }
    }

    fn on_sent(&mut self, now: Instant, packet: SentPacket, marks: SenderMarks<'_>) {
        *marks.ccval = 5;
        if matches!(packet.packet_type, PacketType::Data | PacketType::DataAck) {
            self.next_at = now + self.mechanism.interval;
        }
    }

    fn needs_ack_of_ack(&self, _now: Instant) -> bool {
        self.mechanism.needs_ack_vector && self.acked.len() >= 4
    }

    fn on_feedback(&mut self, _now: Instant, feedback: &Feedback<'_>) {
        self.acked.extend(feedback.ack_vector.iter().map(|packet| packet.sequence));
        self.dropped += feedback.data_dropped.len() as u64;
        let value = self.mechanism.ack_ratio.take();
        self.request = value.map(|value| FeatureRequest { feature: FeatureNumber::AckRatio, value });
    }

    fn on_slow_receiver(&mut self, _now: Instant) {
        self.slowed = true;
    }

    fn handle_timeout(&mut self, _now: Instant) {}
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn poll_feature_request(&mut self, _now: Instant) -> Option<FeatureRequest> {
        self.request.take()
    }

    fn on_feature(&mut self, _now: Instant, feature: FeatureNumber, value: u64) {
        self.features.push((feature.into(), value));
    }

    fn snapshot(&self) -> SenderSnapshot {
        // The fields that this control does not use return its inputs to tests.
        let ack_ratio =
            self.features.iter().rev().find(|(feature, _)| *feature == 5).map(|(_, value)| *value);
        SenderSnapshot {
            rtt: self.rtt,
            lost: self.acked.len() as u64,
            marked: self.dropped,
            ssthresh: self.slowed.then_some(1),
            ack_ratio,
            ..SenderSnapshot::default()
        }
    }
}

#[derive(Debug)]
struct Receiver {
    violation: Option<Reset>,
    seen: u64,
    unacknowledged: u32,
    due_at: Option<Instant>,
    marked: u64,
}

impl HcReceiver for Receiver {
    fn on_received(&mut self, now: Instant, packet: ReceivedPacket<'_>) {
        if !matches!(packet.packet_type, PacketType::Data | PacketType::DataAck) {
            return;
        }
        self.seen += 1;
        self.marked += u64::from(packet.ecn == whimbrel_wire::Ecn::Ce);
        self.unacknowledged += 1;
        self.due_at = Some(if self.unacknowledged >= 2 { now } else { now + ACK_DELAY });
    }

    fn feedback_due(&self, now: Instant) -> bool {
        self.due_at.is_some_and(|at| at <= now)
    }

    fn write_feedback(&mut self, _now: Instant, _ack: SeqNo, options: &mut Options) {
        self.unacknowledged = 0;
        self.due_at = None;
        let data = OptionBytes::from_slice(&[self.seen as u8]);
        options.push(DccpOption::CcidSpecific { kind: SEEN, data });
    }

    fn take_violation(&mut self) -> Option<Reset> {
        self.violation.take()
    }

    fn handle_timeout(&mut self, _now: Instant) {}
    fn poll_timeout(&self) -> Option<Instant> {
        self.due_at
    }

    fn snapshot(&self) -> ReceiverSnapshot {
        ReceiverSnapshot { marked: self.marked, lost: self.seen, ..ReceiverSnapshot::default() }
    }
}
