//! Step 8: options of a valid packet, and acknowledgements in both directions (RFC 4340, Sections 5.8 and
//! 8.5).

use core::ops::ControlFlow::{self, Continue};

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::NdpCount;
use whimbrel_wire::{DccpOption, Packet, PacketType, Reset};

use super::handshake::Handshake;
use super::{Connection, ReceiveMeta};
use crate::ccid::{Feedback, ReceivedPacket};
use crate::feature::ReceivedFeatures;

/// Results of the options that the connection itself reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Findings {
    pub(super) ndp_count: Option<u64>,
    timestamp_rtt: Option<Duration>,
    /// `true` if the application data does not match the Data Checksum (RFC 4340, Section 9.3).
    pub(super) is_corrupt: bool,
}

impl Connection {
    /// Step 8: processes the options; the packet becomes acknowledgeable. A Mandatory option that cannot be
    /// processed, or a failed negotiation, resets the connection.
    pub(super) fn step8_process_options(
        &mut self,
        now: Instant,
        meta: ReceiveMeta,
        packet: &Packet,
    ) -> ControlFlow<(), Findings> {
        self.fx.statistics.packets_received += 1;
        self.cx.sequence.on_valid(now);
        let resized = self.mtu.on_valid_packet(now, &mut self.fx);
        self.resize(now, resized);
        if let Some(answered) = Handshake::answered(&self.cx, packet) {
            self.cx.rtt.on_handshake_answered(now, answered);
        }
        let findings = if packet.options.is_empty() {
            Findings::default()
        } else {
            self.negotiate(now, packet)?;
            self.read_options(now, packet)
        };
        if self.subflow.is_enabled() {
            self.subflow.on_packet(packet);
        }
        if self.congestion.starts_with(&self.cx, packet.packet_type()) {
            self.start_congestion(now);
        }
        let change = self.freezing.on_packet(now, &self.cx, &mut self.fx, packet);
        self.on_freeze_change(now, change);
        self.acknowledged(now, packet, findings)?;
        self.received(now, meta, packet, findings);
        if self.mobility.is_allowed() && packet.packet_type().carries_data() {
            self.mobility.await_more(now, &self.cx, &mut self.fx);
        }
        if !packet.options.is_empty() {
            // A CCID may find one of its options invalid (RFC 6323, Section 3.3, for example).
            let violation = self.congestion.take_violation();
            self.reset_for(violation)?;
        }
        Continue(findings)
    }

    fn negotiate(&mut self, now: Instant, packet: &Packet) -> ControlFlow<()> {
        let received = ReceivedFeatures {
            packet_type: packet.packet_type(),
            sequence: packet.sequence,
            ack: packet.ack(),
            options: &packet.options,
        };
        self.cx.features.negotiation.on_greatest_received(self.cx.sequence.numbers.gsr());
        let (congestion, is_open) = (&self.congestion, self.cx.state.is_at_least_open());
        let is_subflow = self.subflow.is_enabled();
        let understands = |option: &DccpOption| match option {
            // Section 8.1.4: ignored from OPEN on.
            DccpOption::InitCookie(_) if is_open => false,
            DccpOption::Multipath(_) if is_subflow => option.counts_on(packet.packet_type()),
            option => congestion.understands(option, packet.packet_type()),
        };
        let result = self.cx.features.negotiation.handle_options(received, understands);
        self.reset_for(result.err())?;
        self.adopt_features(now);
        Continue(())
    }

    fn read_options(&mut self, now: Instant, packet: &Packet) -> Findings {
        let mut findings = Findings::default();
        let mut data_checksum = None;
        let packet_type = packet.packet_type();
        for option in packet.options.iter().filter(|option| option.counts_on(packet_type)) {
            match option {
                DccpOption::NdpCount(count) => findings.ndp_count = Some(NdpCount::count(*count)),
                DccpOption::Timestamp(timestamp) => self.cx.rtt.on_timestamp(now, *timestamp),
                DccpOption::TimestampEcho { timestamp, elapsed } => {
                    let sample = self.cx.rtt.on_timestamp_echo(now, *timestamp, *elapsed);
                    findings.timestamp_rtt = sample.or(findings.timestamp_rtt);
                }
                DccpOption::SlowReceiver => {
                    self.congestion.on_slow_receiver(now);
                    self.dropped.on_slow_receiver(now, &self.cx, &mut self.fx);
                }
                DccpOption::DataChecksum(checksum) => data_checksum = Some(*checksum),
                DccpOption::Mobility { .. } => {
                    let is_path_known = self.mobility.on_option(&self.cx, &mut self.fx, option, packet);
                    if is_path_known {
                        let resized = self.mtu.on_path_known(now, &self.cx, &mut self.fx);
                        self.resize(now, resized);
                    }
                }
                _ => {}
            }
        }
        // RFC 4340, Section 9.3: "may check" as long as the feature does not say "must".
        findings.is_corrupt =
            data_checksum.is_some_and(|checksum| packet.payload.data_checksum() != checksum);
        findings
    }

    /// Processes the packet's acknowledgement.
    fn acknowledged(&mut self, now: Instant, packet: &Packet, findings: Findings) -> ControlFlow<()> {
        let packet_type = packet.packet_type();
        // A Sync may acknowledge a packet that was not processed (RFC 4340, Section 5.7).
        let Some(ack) = packet.ack().filter(|_| packet_type != PacketType::Sync) else {
            return Continue(());
        };
        if !self.congestion.is_started() {
            return Continue(());
        }
        let vectors = self.ack_vectors.on_acknowledgement(ack, packet);
        self.dropped.on_acked(ack, self.ack_vectors.news());
        self.freezing.on_acked(&mut self.fx, ack);
        let drops = self.dropped.read(now, self.cx.rtt.or_default(), ack, packet);
        if vectors.is_err() || drops.is_err() {
            self.reset_for(false_report(packet, vectors.is_err(), drops.is_err()))?;
        }
        let feedback = Feedback {
            ack,
            sequence: packet.sequence,
            packet_type,
            options: &packet.options,
            ack_vector: self.ack_vectors.news(),
            data_dropped: self.dropped.news(),
            timestamp_rtt: findings.timestamp_rtt,
        };
        self.congestion.on_acknowledgement(now, &feedback);
        if !self.dropped.news().is_empty() && self.dropped.process_news(now, &self.cx, &mut self.fx) {
            // A coverage that the peer refuses is not used again.
            self.cx.features.refuse_partial_coverage();
        }
        self.ack_vectors.forget_news();
        self.dropped.forget_news();
        if self.cx.sequence.take_data_acked() {
            self.cx.rtt.on_sender_estimate(now, self.congestion.sender_rtt());
        }
        self.adopt_feature_requests(now);
        Continue(())
    }

    /// Records the packet for acknowledgement.
    fn received(&mut self, now: Instant, meta: ReceiveMeta, packet: &Packet, findings: Findings) {
        self.cx.sequence.numbers.on_processed(packet.sequence);
        self.ack_vectors.on_received(packet.sequence, meta.ecn);
        let arrival = meta.arrival.unwrap_or(now);
        self.reception.measure_lateness(arrival, packet.sequence);
        if let Some(resequencer) = &mut self.resequencer {
            resequencer.adapt(arrival, self.reception.lateness_meter());
        }
        let discarded =
            self.resequencer.as_ref().is_some_and(|resequencer| resequencer.discards(packet.sequence));
        let detects_in_order =
            self.resequencer.as_ref().is_some_and(|resequencer| resequencer.detects_losses());
        let rtt_hint = self.cx.rtt.best();
        let shown = ReceivedPacket { rtt_hint, discarded, ..received_packet(meta, packet, findings) };
        if detects_in_order {
            self.congestion.on_arrival(now, &shown);
        } else {
            self.congestion.on_received(now, shown);
        }
    }
}

/// Returns the Reset for reports that cannot be true, if their option was Mandatory (RFC 4340, Section
/// 5.8.2). Otherwise they are ignored (Sections 11.4 and 11.7).
#[cold]
fn false_report(packet: &Packet, vectors: bool, drops: bool) -> Option<Reset> {
    let is_false = |option: &DccpOption| match option {
        DccpOption::AckVector { .. } => vectors,
        DccpOption::DataDropped(_) => drops,
        _ => false,
    };
    let mut pairs = packet.options.iter().zip(packet.options.iter().skip(1));
    let (_, option) = pairs.find(|(first, second)| **first == DccpOption::Mandatory && is_false(second))?;
    Some(Reset::mandatory_error(option))
}

/// A packet in the form passed to a CCID, without the connection's estimate of the round-trip time.
pub(super) fn received_packet(meta: ReceiveMeta, packet: &Packet, findings: Findings) -> ReceivedPacket<'_> {
    ReceivedPacket {
        sequence: packet.sequence,
        packet_type: packet.packet_type(),
        ccval: packet.ccval,
        payload: if packet.packet_type().carries_data() { packet.payload.len() } else { 0 },
        ecn: meta.ecn,
        corrupt: findings.is_corrupt,
        discarded: false,
        options: &packet.options,
        ndp_count: findings.ndp_count,
        rtt_hint: None,
        arrived: meta.arrival,
    }
}
