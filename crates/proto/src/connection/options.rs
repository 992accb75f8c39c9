//! Step 8: a valid packet's options, and what acknowledges and is acknowledged (RFC 4340, Sections 5.8 and 8.5).

use core::ops::ControlFlow::{self, Break, Continue};

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::NdpCount;
use whimbrel_wire::{DccpOption, Packet, PacketType};

use super::{Connection, ReceiveMeta, State};
use crate::ccid::{Feedback, ReceivedPacket};
use crate::feature::Arrival;

/// What the connection itself reads out of the options.
#[derive(Clone, Copy, Debug, Default)]
struct Findings {
    ndp_count: Option<u64>,
    timestamp_rtt: Option<Duration>,
}

impl Connection {
    /// Step 8: options are processed and the packet becomes acknowledgeable. A Mandatory that
    /// cannot be honoured, or a negotiation that fails, resets the connection.
    pub(super) fn step8_process_options(
        &mut self,
        now: Instant,
        meta: ReceiveMeta,
        packet: &Packet,
    ) -> ControlFlow<()> {
        self.statistics.packets_received += 1;
        self.sync.on_valid(now);
        self.measure_handshake(now, packet);
        let findings = if packet.options.is_empty() {
            Findings::default()
        } else {
            self.negotiate(now, packet)?;
            self.read_options(now, packet)
        };
        self.start_congestion_control(now, packet.packet_type());
        self.acknowledged(now, packet, findings);
        self.received(now, meta, packet, findings);
        Continue(())
    }

    fn negotiate(&mut self, now: Instant, packet: &Packet) -> ControlFlow<()> {
        let arrival = Arrival {
            packet_type: packet.packet_type(),
            sequence: packet.sequence,
            ack: packet.ack(),
            options: &packet.options,
        };
        self.features.negotiation.on_greatest_received(self.sequence.numbers.gsr());
        let congestion = &self.congestion;
        let understands = |option: &DccpOption| congestion.understands(option, packet.packet_type());
        match self.features.negotiation.handle_options(arrival, understands) {
            Ok(()) => {
                self.adopt_features(now);
                Continue(())
            }
            Err(reset) => {
                self.reset(reset);
                Break(())
            }
        }
    }

    fn read_options(&mut self, now: Instant, packet: &Packet) -> Findings {
        let mut findings = Findings::default();
        let packet_type = packet.packet_type();
        for option in packet.options.iter().filter(|option| option.counts_on(packet_type)) {
            match option {
                DccpOption::NdpCount(count) => findings.ndp_count = Some(NdpCount::count(*count)),
                DccpOption::Timestamp(timestamp) => self.rtt.on_timestamp(now, *timestamp),
                DccpOption::TimestampEcho { timestamp, elapsed } => {
                    let sample = self.rtt.on_timestamp_echo(now, *timestamp, *elapsed);
                    findings.timestamp_rtt = sample.or(findings.timestamp_rtt);
                }
                _ => {}
            }
        }
        findings
    }

    /// Congestion control starts with the packet by which this end learns that the other is there:
    /// the Response at the client, the first packet after the Request at the server. By then the
    /// CCIDs are agreed on and there is a round-trip time.
    fn start_congestion_control(&mut self, now: Instant, packet_type: PacketType) {
        if self.congestion.is_started() {
            return;
        }
        let is_time = match self.state {
            State::Request => packet_type == PacketType::Response,
            State::Respond => packet_type != PacketType::Request,
            _ => false,
        };
        if is_time {
            self.start_congestion(now);
        }
    }

    /// The packet acknowledges something.
    fn acknowledged(&mut self, now: Instant, packet: &Packet, findings: Findings) {
        let packet_type = packet.packet_type();
        // A Sync may name a packet that was not processed (RFC 4340, Section 5.7).
        let Some(ack) = packet.ack().filter(|_| packet_type != PacketType::Sync) else {
            return;
        };
        if !self.congestion.is_started() {
            return;
        }
        let feedback = Feedback {
            ack,
            sequence: packet.sequence,
            packet_type,
            options: &packet.options,
            ack_vector: self.ack_vectors.on_acknowledgement(ack, packet),
            data_dropped: &[],
            timestamp_rtt: findings.timestamp_rtt,
        };
        self.congestion.on_acknowledgement(now, &feedback);
        if self.sequence.take_data_acked() {
            self.rtt.on_sender_estimate(now, self.congestion.sender_rtt());
        }
        self.adopt_feature_requests(now);
    }

    /// The packet is to be acknowledged.
    fn received(&mut self, now: Instant, meta: ReceiveMeta, packet: &Packet, findings: Findings) {
        self.ack_vectors.on_received(packet.sequence, meta.ecn);
        self.congestion.on_received(
            now,
            ReceivedPacket {
                sequence: packet.sequence,
                packet_type: packet.packet_type(),
                ccval: packet.ccval,
                payload: if packet.packet_type().carries_data() { packet.payload.len() } else { 0 },
                ecn: meta.ecn,
                options: &packet.options,
                ndp_count: findings.ndp_count,
                rtt_hint: self.rtt.best(),
            },
        );
    }
}
