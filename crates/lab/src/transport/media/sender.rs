//! The end that sends media.

use std::any::Any;

use whimbrel_control::media::{External, MediaController, Probe, Reception, SentPacket, SentPackets};
use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet, PacketId};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::congestion_feedback::{ArrivalOffset, CongestionFeedback};

use super::HEADERS;
use super::content::MediaContent;
use super::details::Settings;
use super::encoder::Encoder;
use super::repairing::Repairing;
use crate::metrics::{FrameSummary, Meter, PacketOutcome, seconds};
use crate::payload::{Envelope, SimPayload};
use crate::transport::{FlowEnd, FlowSetup, SenderEstimate};

/// Most packets that await a report.
const REMEMBERED: usize = 1 << 15;
/// Most bytes of padding in an RTP packet (RFC 3550, Section 5.1).
const MOST_PADDING: u32 = 255;

/// A probe under way.
#[derive(Clone, Copy, Debug)]
struct RunningProbe {
    probe: Probe,
    bytes: u64,
    packets: u32,
}

/// The end that sends.
#[derive(Debug)]
pub struct MediaSender {
    peer: NodeId,
    flow: FlowId,
    controller: Box<dyn MediaController>,
    encoder: Encoder,
    sent: SentPackets,
    sequence: u64,
    /// Time from which the pacer lets the next packet leave.
    next_send: Instant,
    probe: Option<RunningProbe>,
    /// Time from which padding fills what the media leave of the rate that the law asks for.
    next_padding: Instant,
    /// `true` if the window holds data back.
    is_blocked: bool,
    rtt: Option<Duration>,
    loss: f64,
    receptions: Vec<(u64, Reception)>,
    repair: Option<Box<Repairing>>,
    meter: Meter,
}

impl MediaSender {
    pub(super) fn new(flow: &FlowSetup<'_>, settings: &Settings, repair: Option<Box<Repairing>>) -> Self {
        let counted = flow.counted_frames();
        let (interval, delay, parts) = (settings.frame_interval, settings.send_delay, flow.frame_parts());
        Self {
            peer: flow.to,
            flow: flow.id,
            controller: settings.controller.clone(),
            encoder: Encoder::new(flow.source(), flow.headers, interval, delay, parts, counted),
            sent: SentPackets::new(REMEMBERED),
            sequence: 0,
            next_send: Instant::ZERO,
            probe: None,
            next_padding: Instant::ZERO,
            is_blocked: false,
            rtt: None,
            loss: f64::NAN,
            receptions: Vec::new(),
            repair,
            meter: flow.meter(),
        }
    }

    /// The rate that a program sets; `None` if a law sets it.
    pub fn external(&mut self) -> Option<&mut External> {
        let controller: &mut dyn Any = &mut *self.controller;
        controller.downcast_mut()
    }

    #[cfg(test)]
    pub(super) fn in_flight(&self) -> u64 {
        self.sent.in_flight().as_u64()
    }

    #[cfg(test)]
    pub(super) fn encoder_mut(&mut self) -> &mut Encoder {
        &mut self.encoder
    }

    fn handle_feedback(&mut self, now: Instant, report: &CongestionFeedback) {
        let Some(last) = self.sequence.checked_sub(1) else { return };
        let timestamp = unwrap_timestamp(report.timestamp, now);
        self.receptions.clear();
        let mut newest = None;
        for stream in &report.streams {
            // The report is on packets sent, so its first is at most 65535 before the last.
            let behind = (last as u16).wrapping_sub(stream.first);
            let Some(first) = last.checked_sub(u64::from(behind)) else { continue };
            for (sequence, metric) in (first..=last).zip(&stream.metrics) {
                self.sent.cover(sequence);
                let reception = match metric.offset() {
                    None => Reception::Missing,
                    Some(ArrivalOffset::Before(offset)) => {
                        let held = Duration::from_nanos(u64::from(offset) * 125_000_000 / 128);
                        newest = newest.max(Some(core::cmp::Reverse(held)));
                        Reception::Arrived { at: timestamp.saturating_sub(held), ecn: metric.ecn() }
                    }
                    // The law learns nothing of packets whose arrival time is unknown, rather than a guess.
                    Some(ArrivalOffset::OverRange | ArrivalOffset::Unavailable) => continue,
                };
                self.receptions.push((sequence, reception));
            }
        }
        let held = newest.map_or(Duration::ZERO, |core::cmp::Reverse(held)| held);
        let Some(feedback) = self.sent.on_report(now, self.receptions.drain(..), held) else { return };
        if let Some(rtt) = feedback.rtt {
            self.rtt = Some(self.rtt.map_or(rtt, |old| old.mul_f64(0.875) + rtt.mul_f64(0.125)));
        }
        let missing = feedback.packets.iter().filter(|packet| packet.arrival().is_none()).count();
        if !feedback.packets.is_empty() {
            self.loss = missing as f64 / feedback.packets.len() as f64;
        }
        self.controller.on_feedback(&feedback);
        self.is_blocked = false;
    }

    /// `true` if padding is to be sent where there are no media.
    fn is_padding_due(&self, now: Instant) -> bool {
        self.probe.is_some()
            || (self.sequence > 0 && !self.controller.padding().is_zero() && self.next_padding <= now)
    }

    /// The packet to be sent next: media or padding.
    fn next_packet(&mut self, now: Instant) -> Option<MediaContent> {
        let timestamp = |at: Instant| (u128::from(at.as_nanos()) * 9 / 100_000) as u32;
        let sequence = self.sequence;
        if let Some(message) = self.repair.as_mut().and_then(|repair| repair.pop()) {
            let (padding, message) = (message.length(), Some(Box::new(message)));
            return Some(MediaContent::Rtp {
                sequence,
                tag: 0,
                length: 0,
                padding,
                timestamp: timestamp(now),
                message,
            });
        }
        if let Some(queued) = self.encoder.pop() {
            let message = self.repair.as_mut().and_then(|repair| repair.send(now, &queued)).map(Box::new);
            let (tag, length) = (queued.emission.tag, queued.emission.size);
            let timestamp = timestamp(queued.captured);
            return Some(MediaContent::Rtp { sequence, tag, length, padding: 0, timestamp, message });
        }
        let (tag, padding, timestamp) = (0, MOST_PADDING, timestamp(now));
        Some(MediaContent::Rtp { sequence, tag, length: 0, padding, timestamp, message: None })
    }

    /// Starts the probe that the controller asks for, if any.
    fn start_probe(&mut self, now: Instant) {
        if self.probe.is_none() {
            let start =
                |probe: Probe| RunningProbe { probe, bytes: probe.size.as_u64(), packets: probe.packets };
            self.probe = self.controller.poll_probe(now).map(start);
        }
    }

    fn pace(&mut self, now: Instant, size: u32) {
        let after = |from: Instant, rate: DataRate| {
            // A pacer that was idle does not save up what it could have sent.
            from.max(now) + ByteCount::new(u64::from(size)) / rate.max(DataRate::from_bits_per_second(1.0))
        };
        let padding = self.controller.padding();
        if !padding.is_zero() {
            self.next_padding = after(self.next_padding, padding);
        }
        let mut rate = self.controller.allowance().pacing;
        if let Some(running) = &mut self.probe {
            rate = running.probe.rate;
            running.bytes = running.bytes.saturating_sub(u64::from(size));
            running.packets = running.packets.saturating_sub(1);
            if running.bytes == 0 && running.packets == 0 {
                self.probe = None;
            }
        }
        self.next_send = after(self.next_send, rate);
    }
}

/// The time of a report's timestamp, which wraps in 65536 s, near `now`. The simulated clocks agree.
fn unwrap_timestamp(timestamp: u32, now: Instant) -> Instant {
    let now = super::receiver::timestamp_units(now);
    let behind = (now as u32).wrapping_sub(timestamp);
    let units = now.saturating_sub(u64::from(behind));
    Instant::from_nanos((u128::from(units) * 1_000_000_000 / 65_536) as u64)
}

impl FlowEnd for MediaSender {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, now: Instant, _: u32, _: Ecn, envelope: &mut Envelope) {
        match &mut envelope.content {
            SimPayload::Media(MediaContent::Feedback(report)) => self.handle_feedback(now, report),
            SimPayload::Media(MediaContent::Repair(message)) => {
                if let Some(repair) = &mut self.repair {
                    repair.handle(now, (**message).clone(), &mut self.meter);
                }
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.controller.next_timer().is_some_and(|due| due <= now) {
            self.controller.on_timer(now);
            self.is_blocked = false;
        }
        if let Some(repair) = &mut self.repair {
            repair.handle_timeout(now, &mut self.meter);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        let target = self.controller.allowance().target;
        let target = self.repair.as_ref().map_or(target, |repair| repair.target(target));
        self.encoder.produce(now, target);
        while let Some(emission) = self.encoder.pop_expired(now) {
            self.meter.on_given_up(now, emission.tag, emission.size, PacketOutcome::Expired);
        }
        if self.sequence > 0 || self.encoder.front().is_some() {
            self.controller.on_application_limited(now, self.encoder.is_limited());
            self.controller.on_pacer_queue(now, ByteCount::new(self.encoder.queued_bytes()));
            self.start_probe(now);
        }
        if now < self.next_send {
            return None;
        }
        // A window never stops a sender that has nothing in the network: no report would open it again.
        let repair = self.repair.as_ref().and_then(|repair| repair.front());
        let size = match repair.or(self.encoder.front().map(|front| front.emission.size)) {
            Some(length) => length + HEADERS,
            None if self.is_padding_due(now) => MOST_PADDING + HEADERS,
            None => return None,
        };
        let window = self.controller.allowance().window.filter(|_| self.probe.is_none());
        self.is_blocked =
            window.is_some_and(|window| self.sent.in_flight() + ByteCount::new(u64::from(size)) > window);
        if self.is_blocked && self.sent.in_flight() > ByteCount::new(0) {
            return None;
        }
        let next = self.encoder.front().filter(|_| repair.is_none());
        let captured_at = next.map_or(now, |front| front.captured);
        let content = self.next_packet(now)?;
        let probe = self.probe.map(|running| running.probe.id);
        let packet = SentPacket {
            sequence: self.sequence,
            sent_at: now,
            captured_at,
            size: ByteCount::new(u64::from(size)),
            probe,
        };
        self.sequence += 1;
        self.sent.on_sent(packet);
        self.controller.on_sent(&packet);
        self.pace(now, size);
        let has_data = matches!(content, MediaContent::Rtp { length: 1.., .. });
        let payload = Envelope { sent: now, content: content.into() };
        if has_data {
            self.meter.on_sent(size);
            self.meter.log_sent(|| payload.packet_info(size));
        } else {
            self.meter.on_feedback_sent(size);
        }
        Some(Packet {
            id: PacketId(0),
            flow: self.flow,
            source: NodeId::default(),
            destination: self.peer,
            size,
            ecn: self.controller.ecn(),
            payload,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let has_repair = self.repair.as_ref().is_some_and(|repair| repair.front().is_some());
        let has_data = self.probe.is_some() || self.encoder.front().is_some() || has_repair;
        let paced = (has_data && !self.is_blocked).then_some(self.next_send);
        let is_padded = self.sequence > 0 && !self.is_blocked && !self.controller.padding().is_zero();
        let padded = is_padded.then_some(self.next_padding.max(self.next_send));
        let repair = self.repair.as_ref().and_then(|repair| repair.next());
        let times = [paced, padded, self.encoder.next(), self.controller.next_timer(), repair];
        times.into_iter().flatten().min()
    }

    fn handle_loss(&mut self, _: Instant, _: Packet<Envelope>, _: LossCause) {
        self.meter.on_feedback_lost();
    }

    fn frames(&self) -> Option<FrameSummary> {
        self.repair.as_ref().map(|repair| repair.summary(self.encoder.sent_frames()))
    }

    fn estimate(&self) -> SenderEstimate {
        let allowance = self.controller.allowance();
        SenderEstimate {
            cwnd: allowance.window.map_or(f64::NAN, |window| window.as_f64() / 1000.0),
            allowed_rate: allowance.target.as_bits_per_second(),
            rtt: self.rtt.map_or(f64::NAN, seconds),
            loss_event_rate: self.loss,
            ..SenderEstimate::NONE
        }
    }
}
