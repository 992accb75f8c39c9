//! The meter of each end of a flow.

use whimbrel_netsim::{Ecn, LinkId, LossCause};
use whimbrel_units::{Duration, Instant};

use super::classified_loss::{ClassifiedLoss, CorruptionNotice, Undecided};
use super::event_log::{EventLog, PacketEvent, PacketEventKind};
use super::{Counters, DelayStatistics, Jitter};

/// Outcome of a packet, or of a datagram that was never sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketOutcome {
    /// The packet arrived.
    Received,
    /// The packet arrived with damaged data, and was accepted.
    Damaged,
    /// The packet arrived after its receiver had given it up.
    Late,
    /// The packet arrived, and its receiver did not accept its data.
    Refused,
    /// The packet was lost in the network.
    Lost(LossCause),
    /// Its data was delivered by repair, at this time. The row of its packet, which was lost, stays.
    Repaired,
    /// The datagram expired in the send queue.
    Expired,
    /// The send queue was full.
    Overflowed,
}

impl PacketOutcome {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Damaged => "damaged",
            Self::Late => "late",
            Self::Refused => "refused",
            Self::Lost(cause) => cause_name(cause),
            Self::Repaired => "repaired",
            Self::Expired => "expired",
            Self::Overflowed => "send-queue",
        }
    }
}

/// The name of a loss cause in tables.
pub(crate) const fn cause_name(cause: LossCause) -> &'static str {
    match cause {
        LossCause::QueueOverflow(_) | LossCause::StationOverflow(_) => "queue",
        LossCause::HostOverflow(_) => "host",
        LossCause::EarlyDrop(_) | LossCause::StationDrop(_) => "early-drop",
        LossCause::Wireless(_) => "wireless",
        LossCause::Medium(_, cause) => cause.name(),
        LossCause::LinkDown(_) => "link-down",
        LossCause::NoRoute(_) => "no-route",
        LossCause::NoAgent(_) => "no-receiver",
        LossCause::HopLimit(_) => "hop-limit",
        _ => "other",
    }
}

/// The row of a packet in the record.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PacketRow {
    /// Its sequence number, of the transport's own kind.
    pub sequence: u64,
    /// The datagram's number at its source.
    pub tag: u64,
    /// Bytes on the link; bytes of application data without a packet.
    pub size: u32,
    /// Time at which its packet was sent, if it has one.
    pub sent: Option<Instant>,
    /// Time at which it arrived, was lost, repaired or given up.
    pub ended: Instant,
    /// Its outcome.
    pub outcome: PacketOutcome,
}

/// The row of a loss in the record, or of a packet that arrived damaged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LossRow {
    /// Time of the loss; for a wireless loss, the time at which it would have arrived at the link's end.
    pub at: Instant,
    /// Its sequence number.
    pub sequence: u64,
    /// The datagram's number at its source.
    pub tag: u64,
    /// The true cause.
    pub cause: LossCause,
    /// `true` if the packet arrived with damaged data.
    pub damaged: bool,
    /// The classification by the flow's receiver; `None` if it never classified the loss.
    pub classification: Option<ClassifiedLoss>,
}

/// Rows to keep for each packet. Either makes memory grow with the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recording {
    /// A row for each packet.
    pub packets: bool,
    /// A row for each loss.
    pub losses: bool,
}

/// The properties of a data packet that the meter records.
#[derive(Clone, Copy, Debug)]
pub struct PacketInfo {
    /// The packet's number at its sender.
    pub sequence: u64,
    /// The number of the datagram in it at its source.
    pub tag: u64,
    /// Time at which it was handed to the network.
    pub sent: Instant,
    /// Bytes of the packet.
    pub size: u32,
}

/// Counts the packets that one end of a flow sends, receives and loses.
#[derive(Debug)]
pub struct Meter {
    counters: Counters,
    measured_from: Instant,
    delay: DelayStatistics,
    jitter: Jitter,
    latest_sent: Instant,
    /// Bytes that complete the application's transfer; the maximum without one and after it.
    goal: u64,
    /// Start of the transfer, if the application has one.
    transfer_start: Option<Instant>,
    completed: Option<Instant>,
    /// The bottleneck and the links behind it.
    bottleneck: Option<LinkId>,
    behind_bottleneck: Vec<LinkId>,
    /// Losses not classified yet, if the receiver has a classifier.
    undecided: Option<Undecided>,
    recording: Recording,
    packets: Vec<PacketRow>,
    losses: Vec<LossRow>,
    events: Option<EventLog>,
}

impl Meter {
    /// A meter whose distributions begin at `measured_from`.
    ///
    /// `path` is the data's path from the bottleneck on, the bottleneck first.
    pub fn new(measured_from: Instant, path: &[LinkId], recording: Recording) -> Self {
        Self {
            counters: Counters::default(),
            measured_from,
            delay: DelayStatistics::default(),
            jitter: Jitter::default(),
            latest_sent: Instant::ZERO,
            goal: u64::MAX,
            transfer_start: None,
            completed: None,
            bottleneck: path.first().copied(),
            behind_bottleneck: path.iter().skip(1).copied().collect(),
            undecided: None,
            recording,
            packets: Vec::new(),
            losses: Vec::new(),
            events: None,
        }
    }

    /// Logs the packets with data, for [`Meter::take_events`].
    #[must_use]
    pub fn with_events(mut self) -> Self {
        self.events = Some(EventLog::default());
        self
    }

    /// The events since the last call, in the order of their times; none without a log.
    pub fn take_events(&self) -> Vec<PacketEvent> {
        self.events.as_ref().map(EventLog::take).unwrap_or_default()
    }

    /// Waits for the receiver's classification of each loss. Otherwise, each counts as congestion.
    #[must_use]
    pub fn with_verdicts(mut self) -> Self {
        self.undecided = Some(Undecided::default());
        self
    }

    /// Records the time at which all `bytes` of an application that starts at `start` are delivered.
    #[must_use]
    pub fn with_transfer(mut self, start: Instant, bytes: u64) -> Self {
        (self.transfer_start, self.goal) = (Some(start), bytes);
        self
    }

    /// Time from the start of the transfer to the delivery of its last byte; `None` if it is not complete.
    pub fn completion_time(&self) -> Option<Duration> {
        Some(self.completed? - self.transfer_start?)
    }

    /// The counts so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// One-way delays, since the measured time began.
    pub fn delay(&self) -> &DelayStatistics {
        &self.delay
    }

    /// Jitter, since the measured time began.
    pub fn jitter(&self) -> &Jitter {
        &self.jitter
    }

    /// `true` if packets are recorded.
    pub fn records_packets(&self) -> bool {
        self.recording.packets
    }

    /// The packets recorded.
    pub fn packets(&self) -> &[PacketRow] {
        &self.packets
    }

    /// The losses recorded.
    pub fn losses(&self) -> &[LossRow] {
        &self.losses
    }

    /// A packet with data was sent.
    pub fn on_sent(&mut self, size: u32) {
        self.counters.sent_packets += 1;
        self.counters.sent_bytes += u64::from(size);
    }

    /// Logs the packet with data that was just sent, if there is a log.
    pub(crate) fn log_sent(&self, packet: impl FnOnce() -> PacketInfo) {
        if let Some(events) = &self.events {
            let packet = packet();
            events.add(packet.sent, PacketEventKind::Sent, packet);
        }
    }

    /// The packet with data that was just sent carries data sent before, if `again`.
    pub fn on_retransmission(&mut self, again: bool) {
        self.counters.retransmitted_packets += u64::from(again);
    }

    pub(crate) fn set_timeouts(&mut self, timeouts: u64) {
        self.counters.timeouts = timeouts;
    }

    /// A packet without data was sent.
    pub fn on_feedback_sent(&mut self, size: u32) {
        self.counters.feedback_packets += 1;
        self.counters.feedback_bytes += u64::from(size);
    }

    /// A packet with `payload` bytes of new application data arrived.
    pub fn on_received(&mut self, now: Instant, packet: PacketInfo, payload: u64, ecn: Ecn) {
        self.on_arrived(now, packet, ecn);
        self.on_delivered(now, packet, payload);
    }

    /// `payload` bytes of a packet's data were delivered to the application.
    pub(crate) fn on_delivered(&mut self, now: Instant, packet: PacketInfo, payload: u64) {
        self.count_delivery(now, packet, payload);
        if self.recording.packets {
            self.record(now, packet, PacketOutcome::Received);
        }
    }

    /// A datagram of `size` bytes was delivered that no first transmission brought.
    pub(crate) fn on_repaired(&mut self, now: Instant, tag: u64, size: u32) {
        self.counters.delivered_bytes += u64::from(size);
        if self.recording.packets {
            let outcome = PacketOutcome::Repaired;
            self.packets.push(PacketRow { sequence: 0, tag, size, sent: None, ended: now, outcome });
        }
    }

    /// A packet that had arrived by `now` was too late for the application.
    pub(crate) fn on_late(&mut self, now: Instant, packet: PacketInfo) {
        self.counters.late_packets += 1;
        if self.recording.packets {
            self.record(now, packet, PacketOutcome::Late);
        }
    }

    /// The data of a packet that arrived were not accepted.
    pub(crate) fn on_refused(&mut self, now: Instant, packet: PacketInfo) {
        self.counters.refused_packets += 1;
        if self.recording.packets {
            self.record(now, packet, PacketOutcome::Refused);
        }
    }

    /// Sets the number of packets that a receiver has held so far because earlier ones were missing, and that
    /// it has given up.
    pub(crate) fn set_reordering(&mut self, held: u64, given_up: u64) {
        self.counters.held_packets = held;
        self.counters.given_up_packets = given_up;
    }

    /// A packet arrived and was accepted, with damaged data of which `payload` bytes were delivered.
    pub(crate) fn on_damaged(
        &mut self,
        now: Instant,
        packet: PacketInfo,
        payload: u64,
        ecn: Ecn,
        cause: LossCause,
        notice: CorruptionNotice,
    ) {
        self.on_arrived(now, packet, ecn);
        if payload > 0 {
            self.count_delivery(now, packet, payload);
        } else {
            self.counters.refused_packets += 1;
        }
        self.counters.damaged_packets += 1;
        let row = self.recording.losses.then_some(self.losses.len());
        let classification =
            (notice == CorruptionNotice::Checksum).then_some(ClassifiedLoss::REPORTED_CORRUPT);
        match (classification, &mut self.undecided) {
            (Some(classification), _) => classification.count(cause, &mut self.counters),
            (None, Some(undecided)) if notice == CorruptionNotice::Trial => {
                undecided.add(packet.sequence, cause, row)
            }
            _ => {}
        }
        if self.recording.losses {
            let (sequence, tag) = (packet.sequence, packet.tag);
            self.losses.push(LossRow { at: now, sequence, tag, cause, damaged: true, classification });
        }
        if self.recording.packets {
            self.record(now, packet, PacketOutcome::Damaged);
        }
    }

    /// The other end has reported a packet as corrupt.
    pub(crate) fn on_reported_corrupt(&mut self) {
        self.counters.reported_corrupt += 1;
    }

    /// A packet arrived that is neither delivered nor discarded yet.
    #[inline]
    pub(crate) fn on_arrived(&mut self, now: Instant, packet: PacketInfo, ecn: Ecn) {
        if let Some(events) = &self.events {
            events.add(now, PacketEventKind::Received, packet);
        }
        let counters = &mut self.counters;
        counters.received_packets += 1;
        counters.received_bytes += u64::from(packet.size);
        counters.bottleneck_packets += 1;
        counters.bottleneck_bytes += u64::from(packet.size);
        counters.marked_packets += u64::from(ecn == Ecn::Ce);
        if packet.sent < self.latest_sent {
            counters.reordered_packets += 1;
        }
        self.latest_sent = self.latest_sent.max(packet.sent);
    }

    #[inline]
    fn count_delivery(&mut self, now: Instant, packet: PacketInfo, payload: u64) {
        self.counters.delivered_bytes += payload;
        self.counters.delivered_packets += u64::from(payload > 0);
        if self.counters.delivered_bytes >= self.goal {
            self.complete(now);
        }
        if now >= self.measured_from {
            let delay: Duration = now - packet.sent;
            self.delay.add(delay);
            self.jitter.on_packet(delay);
        }
    }

    /// The transfer is complete. Out of line: packets without a transfer cost one comparison.
    #[cold]
    fn complete(&mut self, now: Instant) {
        self.goal = u64::MAX;
        self.completed = Some(now);
    }

    /// A packet with data to this end was lost.
    pub fn on_lost(&mut self, now: Instant, packet: PacketInfo, cause: LossCause) {
        if let Some(events) = &self.events {
            events.add(now, PacketEventKind::Lost(cause), packet);
        }
        let counters = &mut self.counters;
        match cause {
            LossCause::HostOverflow(_) => counters.lost_host += 1,
            cause if cause.is_congestion() => counters.lost_queue += 1,
            LossCause::Wireless(_) | LossCause::Medium(..) => counters.lost_wireless += 1,
            LossCause::LinkDown(_) => counters.lost_down += 1,
            _ => counters.lost_other += 1,
        }
        let left_bottleneck = match cause {
            LossCause::Wireless(link) if Some(link) == self.bottleneck => true,
            _ => cause.link().is_some_and(|link| self.behind_bottleneck.contains(&link)),
        };
        if left_bottleneck {
            counters.bottleneck_packets += 1;
            counters.bottleneck_bytes += u64::from(packet.size);
        }
        let row = self.recording.losses.then_some(self.losses.len());
        let classification = match &mut self.undecided {
            Some(undecided) => {
                undecided.add(packet.sequence, cause, row);
                None
            }
            None => {
                ClassifiedLoss::UNCLASSIFIED.count(cause, counters);
                Some(ClassifiedLoss::UNCLASSIFIED)
            }
        };
        if self.recording.losses {
            let (sequence, tag) = (packet.sequence, packet.tag);
            self.losses.push(LossRow { at: now, sequence, tag, cause, damaged: false, classification });
        }
        if self.recording.packets {
            self.record(now, packet, PacketOutcome::Lost(cause));
        }
    }

    /// The receiver has classified a packet that did not arrive. Those that were merely late, and those
    /// without data, do not count.
    pub(crate) fn on_classified(&mut self, sequence: u64, classification: ClassifiedLoss) {
        let loss = self.undecided.as_mut().and_then(|undecided| undecided.take(sequence));
        let Some((truth, row)) = loss else { return };
        classification.count(truth, &mut self.counters);
        if let Some(row) = row {
            self.losses[row].classification = Some(classification);
        }
    }

    /// A packet without data to this end was lost.
    pub fn on_feedback_lost(&mut self) {
        self.counters.lost_feedback += 1;
    }

    /// A datagram of `size` bytes was given up before it was sent.
    pub(crate) fn on_given_up(&mut self, now: Instant, tag: u64, size: u32, outcome: PacketOutcome) {
        match outcome {
            PacketOutcome::Expired => self.counters.expired_datagrams += 1,
            _ => self.counters.overflowed_datagrams += 1,
        }
        if self.recording.packets {
            self.packets.push(PacketRow { sequence: 0, tag, size, sent: None, ended: now, outcome });
        }
    }

    fn record(&mut self, now: Instant, packet: PacketInfo, outcome: PacketOutcome) {
        let PacketInfo { sequence, tag, sent, size } = packet;
        self.packets.push(PacketRow { sequence, tag, size, sent: Some(sent), ended: now, outcome });
    }
}
