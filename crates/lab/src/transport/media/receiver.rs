//! The end that receives media and reports on it.

use std::collections::VecDeque;

use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet, PacketId};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::congestion_feedback::{CongestionFeedback, MAX_METRICS, PacketMetric, StreamReport};

use super::content::{MEDIA_SSRC, MediaContent, RECEIVER_SSRC};
use super::repairing::Repairing;
use crate::metrics::{FrameSummary, Meter};
use crate::payload::{Envelope, SimPayload};
use crate::transport::{FlowEnd, FlowSetup};

/// Bytes of the headers of UDP and IPv4.
const HEADERS: u32 = 28;
/// Most packets in a report, so that it fits a path of 1500 bytes. More take several reports (RFC 8888,
/// Section 3.1).
const MOST_PACKETS: usize = 512;

/// The end that receives.
#[derive(Debug)]
pub struct MediaReceiver {
    peer: NodeId,
    flow: FlowId,
    interval: Duration,
    /// Time of the next report; `None` before the first packet.
    next_report: Option<Instant>,
    /// Sequence number of the first packet that the next report covers.
    first: u64,
    /// Receptions from `first` on; `None` for a packet that has not arrived.
    receptions: VecDeque<Option<(Instant, Ecn)>>,
    /// Receptions that the reports under way have covered; 0 between reports.
    covered: usize,
    /// Sequence number after the last one that a report covered.
    reported: u64,
    has_news: bool,
    repair: Option<Box<Repairing>>,
    meter: Meter,
}

impl MediaReceiver {
    pub(super) fn new(flow: &FlowSetup<'_>, interval: Duration, repair: Option<Box<Repairing>>) -> Self {
        Self {
            peer: flow.from,
            flow: flow.id,
            interval,
            next_report: None,
            first: 0,
            receptions: VecDeque::new(),
            covered: 0,
            reported: 0,
            has_news: false,
            repair,
            meter: flow.meter(),
        }
    }

    /// A packet for the sender.
    fn feedback(&mut self, now: Instant, size: u32, content: MediaContent) -> Packet<Envelope> {
        self.meter.on_feedback_sent(size);
        Packet {
            id: PacketId(0),
            flow: self.flow,
            source: NodeId::default(),
            destination: self.peer,
            size,
            ecn: Ecn::NotEct,
            payload: Envelope { sent: now, content: content.into() },
        }
    }

    fn record(&mut self, now: Instant, sequence: u64, ecn: Ecn) {
        // A packet older than what the next report covers is not reported again.
        let Some(mut index) = sequence.checked_sub(self.first) else { return };
        if index >= MAX_METRICS as u64 {
            // After a gap of a quarter of the sequence numbers, the oldest packets are left out: RTP could
            // not name them.
            let left_out = index + 1 - MAX_METRICS as u64;
            self.receptions
                .drain(..usize::try_from(left_out).unwrap_or(MAX_METRICS).min(self.receptions.len()));
            self.first += left_out;
            index -= left_out;
        }
        let index = index as usize;
        if self.receptions.len() <= index {
            self.receptions.resize(index + 1, None);
        }
        let reception = &mut self.receptions[index];
        // Of duplicates the first arrival counts, with any mark (RFC 8888, Section 3.1).
        match reception {
            None => *reception = Some((now, ecn)),
            Some((_, mark)) if ecn == Ecn::Ce => *mark = ecn,
            Some(_) => {}
        }
        self.has_news = true;
    }

    /// Packets that no report has covered.
    fn unreported(&self) -> u64 {
        (self.first + self.receptions.len() as u64).saturating_sub(self.reported)
    }

    /// The next of the reports on the packets since the last ones. They begin with the first packet that the
    /// last ones had as missing, so that a packet that arrives late is reported (RFC 8888, Section 3.1).
    fn report(&mut self, now: Instant) -> CongestionFeedback {
        let timestamp = timestamp_units(now) as u32;
        let metric = |reception: &Option<(Instant, Ecn)>| match reception {
            Some((at, ecn)) => PacketMetric::received(*ecn, units(now.saturating_since(*at))),
            None => PacketMetric::NOT_RECEIVED,
        };
        let first = self.first + self.covered as u64;
        let metrics: Vec<_> =
            self.receptions.iter().skip(self.covered).take(MOST_PACKETS).map(metric).collect();
        self.covered += metrics.len();
        let stream = StreamReport { ssrc: MEDIA_SSRC, first: first as u16, metrics };
        CongestionFeedback { sender: RECEIVER_SSRC, streams: vec![stream], timestamp }
    }

    /// All packets are reported. The next reports cover again what is missing in these and was not in the
    /// last, and all that follow it.
    fn end_reports(&mut self) {
        let old =
            usize::try_from(self.reported.saturating_sub(self.first)).unwrap_or(0).min(self.receptions.len());
        let arrived = self.receptions.iter().skip(old).take_while(|reception| reception.is_some()).count();
        self.receptions.drain(..old + arrived);
        self.first += (old + arrived) as u64;
        self.reported = self.first + self.receptions.len() as u64;
        (self.covered, self.has_news) = (0, false);
    }
}

/// A time in units of 1/65536 s, of which a report's timestamp is the low 32 bits.
pub(super) fn timestamp_units(now: Instant) -> u64 {
    (u128::from(now.as_nanos()) * 65_536 / 1_000_000_000) as u64
}

/// A time in units of 1/1024 s.
fn units(time: Duration) -> u64 {
    time.as_nanos() * 128 / 125_000_000
}

impl FlowEnd for MediaReceiver {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        let packet_info = envelope.packet_info(size);
        let SimPayload::Media(MediaContent::Rtp { sequence, length, message, .. }) = &mut envelope.content
        else {
            return;
        };
        let (sequence, length, message) = (*sequence, u64::from(*length), message.take());
        self.record(now, sequence, ecn);
        if self.unreported() >= MOST_PACKETS as u64 {
            self.next_report = Some(now);
        }
        self.next_report.get_or_insert(now + self.interval);
        if length > 0 {
            self.meter.on_received(now, packet_info, length, ecn);
        }
        if let (Some(repair), Some(message)) = (&mut self.repair, message) {
            repair.handle(now, *message, &mut self.meter);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(repair) = &mut self.repair {
            repair.handle_timeout(now, &mut self.meter);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        if let Some(message) = self.repair.as_mut().and_then(|repair| repair.pop()) {
            let size = HEADERS + message.length();
            return Some(self.feedback(now, size, MediaContent::Repair(Box::new(message))));
        }
        let due = self.next_report.filter(|due| *due <= now)?;
        if !self.has_news {
            // Nothing arrived: the next packet starts the interval again.
            self.next_report = None;
            return None;
        }
        let report = self.report(now);
        if self.covered == self.receptions.len() {
            self.end_reports();
            self.next_report = Some(due + self.interval);
        }
        let size = HEADERS + report.encoded_len() as u32;
        Some(self.feedback(now, size, MediaContent::Feedback(Box::new(report))))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        [self.next_report, self.repair.as_ref().and_then(|repair| repair.next())].into_iter().flatten().min()
    }

    fn frames(&self) -> Option<FrameSummary> {
        self.repair.as_ref().map(|repair| repair.summary(0))
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
        if packet.payload.content.data_length() == 0 {
            self.meter.on_feedback_lost();
        } else {
            self.meter.on_lost(now, packet.payload.packet_info(packet.size), cause);
        }
    }
}
