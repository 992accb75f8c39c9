//! A flow of datagrams that a model of another program repairs.

use std::collections::VecDeque;

use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet, PacketId};
use whimbrel_units::Instant;

use super::UdpContent;
use crate::metrics::{FrameSummary, Meter};
use crate::payload::{Envelope, SimPayload};
use crate::repair_models::{Datagram, End, Message, Output};
use crate::traffic::TrafficSource;
use crate::transport::repair::{Repair, RepairKind, Viewer};
use crate::transport::{Content, FlowEnd, FlowSetup, FrameParts, IpHeaders};

/// Schemes for UDP flows.
pub(super) const KINDS: [RepairKind; 8] = [
    RepairKind::None,
    RepairKind::Srt,
    RepairKind::Rist,
    RepairKind::Nack,
    RepairKind::NackFec,
    RepairKind::WfbNg,
    RepairKind::Tambur,
    RepairKind::Hairpin,
];

/// The header of a datagram: SRT's, wfb-ng's (a nonce, its authentication tag, and the length), or RTP's.
pub(super) fn overhead(repair: &Repair) -> u32 {
    match repair.kind {
        RepairKind::None => 0,
        RepairKind::Srt => 16,
        RepairKind::WfbNg => 28,
        _ => 12,
    }
}

/// A message of a model, and the data in it that is sent for the first time.
#[derive(Clone, Debug)]
struct ModelContent {
    message: Message,
    tag: u64,
    /// Bytes above UDP.
    length: u32,
    is_of_receiver: bool,
}

impl Content for ModelContent {
    fn data_length(&self) -> u32 {
        match &self.message {
            Message::Data { datagram, is_repeat: false } => datagram.size,
            _ => 0,
        }
    }

    fn repair_message(&mut self) -> Option<&mut Message> {
        Some(&mut self.message)
    }

    fn numbers(&self) -> (u64, u64) {
        (self.tag, self.tag)
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        let IpHeaders { flow_port, sink_port, .. } = *headers;
        let headers = match self.is_of_receiver {
            true => IpHeaders { flow_port: sink_port, sink_port: flow_port, ..*headers },
            false => *headers,
        };
        UdpContent { tag: self.tag, length: self.length }.capture_bytes(&headers, out)
    }
}

/// One end.
#[derive(Debug)]
pub(super) struct RepairedUdp {
    peer: NodeId,
    flow: FlowId,
    lower_headers: u32,
    overhead: u32,
    model: Box<dyn End>,
    output: Output,
    ready: VecDeque<Message>,
    /// At the sending end.
    source: Option<TrafficSource>,
    parts: FrameParts,
    number: u64,
    sent_frames: u64,
    repair_bytes: u64,
    source_bytes: u64,
    viewer: Viewer,
    meter: Meter,
}

impl RepairedUdp {
    /// The sending and the receiving end.
    pub(super) fn pair(flow: &FlowSetup<'_>, repair: &Repair, lower_headers: u32) -> [Self; 2] {
        let [sender, receiver] = repair.ends();
        let end = |peer, model, source| Self {
            peer,
            flow: flow.id,
            lower_headers,
            overhead: overhead(repair),
            model,
            output: Output::default(),
            ready: VecDeque::new(),
            source,
            parts: flow.frame_parts(),
            number: 0,
            sent_frames: 0,
            repair_bytes: 0,
            source_bytes: 0,
            viewer: Viewer::new(flow, repair),
            meter: flow.meter(),
        };
        [end(flow.to, sender, Some(flow.source())), end(flow.from, receiver, None)]
    }

    /// Bytes of a message above UDP.
    fn length(&self, message: &Message) -> u32 {
        let has_header = matches!(message, Message::Data { .. } | Message::Parity { .. });
        message.length() + if has_header { self.overhead } else { 0 }
    }

    /// Takes what the model wants done.
    fn collect(&mut self, now: Instant) {
        self.ready.extend(self.output.messages.drain(..));
        for datagram in self.output.delivered.drain(..) {
            self.viewer.take(now, datagram, &mut self.meter);
        }
    }

    fn feed(&mut self, now: Instant) {
        while let Some(emission) = self.source.as_mut().and_then(|source| source.poll_emission(now)) {
            let part = self.parts.part(emission.tag);
            if part.index + 1 == part.count && self.viewer.counts(now) {
                self.sent_frames += 1;
            }
            let datagram = Datagram { number: self.number, part, size: emission.size, captured: now };
            self.number += 1;
            self.model.send(now, datagram, &mut self.output);
            self.collect(now);
        }
    }
}

impl FlowEnd for RepairedUdp {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn frames(&self) -> Option<FrameSummary> {
        let (repair_bytes, source_bytes) = (self.repair_bytes, self.source_bytes);
        Some(FrameSummary { sent: self.sent_frames, repair_bytes, source_bytes, ..self.viewer.summary() })
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        let packet_info = envelope.packet_info(size);
        let SimPayload::Other(content) = &mut envelope.content else { return };
        let Some(message) = content.repair_message() else { return };
        if let Message::Data { datagram, is_repeat: false } = *message {
            self.meter.on_received(now, packet_info, u64::from(datagram.size), ecn);
            self.viewer.on_arrival(now, message);
        }
        let message = std::mem::replace(message, Message::Request(Vec::new()));
        self.viewer.deliver(now);
        self.model.handle(now, message, &mut self.output);
        self.collect(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.model.next().is_some_and(|next| next <= now) {
            self.model.handle_timeout(now, &mut self.output);
            self.collect(now);
        }
        self.viewer.deliver(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        self.feed(now);
        let message = self.ready.pop_front()?;
        let length = self.length(&message);
        let size = length + self.lower_headers;
        let tag = if let Message::Data { datagram, .. } = &message { datagram.number } else { 0 };
        let content = ModelContent { message, tag, length, is_of_receiver: self.source.is_none() };
        let data = content.data_length();
        let payload = Envelope { sent: now, content: SimPayload::Other(Box::new(content)) };
        if data > 0 {
            self.meter.on_sent(size);
            self.meter.log_sent(|| payload.packet_info(size));
        } else {
            self.meter.on_feedback_sent(size);
        }
        self.source_bytes += u64::from(data);
        self.repair_bytes += u64::from(length - data);
        Some(Packet {
            id: PacketId(0),
            flow: self.flow,
            source: NodeId::default(),
            destination: self.peer,
            size,
            ecn: Ecn::NotEct,
            payload,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let source = self.source.as_ref().and_then(TrafficSource::poll_timeout);
        [self.model.next(), source, self.viewer.next()].into_iter().flatten().min()
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
        if packet.payload.content.data_length() == 0 {
            return self.meter.on_feedback_lost();
        }
        self.meter.on_lost(now, packet.payload.packet_info(packet.size), cause);
    }
}
