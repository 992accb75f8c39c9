//! A flow whose lost datagrams are repaired within a latency budget: the layer of the sockets above the connection, with datagrams as they
//! are on the wire.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use whimbrel_netsim::{Ecn, LossCause, NodeId, Packet, PacketId};
use whimbrel_proto::repair::{
    Delivery, Mark, REPAIR_OVERHEAD, RepairConfig, RepairLayer, Role, SOURCE_OVERHEAD,
};
use whimbrel_proto::{Config, Connection, Datagram, DatagramId, DropReason, Event, Poll, ReceiveMeta, Wait};
use whimbrel_units::Instant;
use whimbrel_wire::{PacketType, Payload};

use super::agent::Attachment;
use super::line::{SERVER_PORT, estimate_of};
use super::packet::{AnnotatedPacket, packet_in};
use crate::metrics::{FrameMeter, FrameSummary, Meter, PacketOutcome, cause_of};
use crate::payload::Envelope;
use crate::traffic::TrafficSource;
use crate::transport::repair::{Repair, RepairKind};
use crate::transport::secured::Hidden;
use crate::transport::{FlowEnd, FlowSetup, FrameParts, SenderEstimate};

/// Bytes of the headers of the layer in a datagram that is sent for the first time.
const OVERHEAD: u32 = SOURCE_OVERHEAD as u32;
/// The same at most: in a coded packet.
pub(super) const MOST_OVERHEAD: u32 = REPAIR_OVERHEAD as u32;
/// The number and the capture time of a datagram, which its receiver reads.
pub(super) const LEAST: u32 = 16;
/// The first byte of a datagram that the layer sends for the first time.
const ORIGINAL: u8 = 1;
/// Bytes of the layer before the data in it.
const BEFORE: usize = 9;

/// The layer of the sockets for a flow, if it repairs.
fn layer(repair: &Repair) -> Option<RepairLayer> {
    let delivery = if repair.early { Delivery::Early } else { Delivery::Constant };
    let config = RepairConfig { delivery, ..RepairConfig::new(repair.latency.0) };
    (repair.kind == RepairKind::Whimbrel).then(|| RepairLayer::new(config))
}

/// The headers of the layer in a datagram that is sent for the first time.
pub(super) fn overhead(repair: &Repair) -> u32 {
    if repair.kind == RepairKind::None { 0 } else { OVERHEAD }
}

/// The number and the capture time in a datagram.
fn read(data: &[u8]) -> Option<(u64, Instant)> {
    let (tag, rest) = data.split_first_chunk()?;
    let captured = rest.first_chunk()?;
    Some((u64::from_be_bytes(*tag), Instant::from_nanos(u64::from_be_bytes(*captured))))
}

/// One end.
#[derive(Debug)]
pub(super) struct RepairedEnd {
    attachment: Attachment,
    config: Config,
    seed: u64,
    connection: Option<Connection>,
    layer: Option<RepairLayer>,
    wait: Wait,
    start: Option<Instant>,
    source: Option<TrafficSource>,
    is_open: bool,
    parts: FrameParts,
    waiting: BTreeMap<DatagramId, (u64, u32)>,
    /// Datagrams that arrived for the first time and are not delivered.
    arrived: BTreeSet<u64>,
    sent_frames: u64,
    repaired: u64,
    frames: FrameMeter,
    meter: Meter,
}

impl RepairedEnd {
    /// The client, which sends, and the server.
    pub(super) fn pair(
        flow: &FlowSetup<'_>,
        repair: Repair,
        config: &Config,
        at: [Attachment; 2],
        seeds: [u64; 2],
        receiver_meter: Meter,
    ) -> [Self; 2] {
        let parts = flow.frame_parts();
        let counted = flow.counted_frames();
        let mut meters = [Some(flow.meter()), Some(receiver_meter)];
        let [client, server] = [0, 1].map(|side| Self {
            attachment: at[side],
            config: config.clone().repair(repair.kind == RepairKind::Whimbrel),
            seed: seeds[side],
            connection: None,
            layer: layer(&repair),
            wait: Wait { timer: Instant::ZERO, transmit: Instant::FAR_FUTURE },
            start: (side == 0).then_some(flow.start),
            source: (side == 0).then(|| flow.source()),
            is_open: false,
            parts: parts.clone(),
            waiting: BTreeMap::new(),
            arrived: BTreeSet::new(),
            sent_frames: 0,
            repaired: 0,
            frames: FrameMeter::new(counted.start, counted.end, repair.latency.0),
            meter: meters[side].take().unwrap_or_else(|| flow.meter()),
        });
        [client, server]
    }

    /// Passes the datagrams that are due to the layer.
    fn feed(&mut self, now: Instant) {
        while self.is_open {
            let Some(source) = &mut self.source else { return };
            let Some(emission) = source.poll_emission(now) else { break };
            let part = self.parts.part(emission.tag);
            let mut data = emission.tag.to_be_bytes().to_vec();
            data.extend_from_slice(&now.as_nanos().to_be_bytes());
            data.resize(emission.size as usize, 0);
            let mark = Mark {
                role: Role::Disposable,
                captured: Some(now),
                ..Mark::part(part.index as usize, part.count as usize)
            };
            let datagram = Datagram { deadline: emission.deadline, ..Datagram::new(Bytes::from(data)) };
            let datagram = datagram.with_mark(mark);
            let sent = match (&mut self.layer, &mut self.connection) {
                (Some(layer), Some(connection)) => layer.send(now, connection, datagram),
                (None, Some(connection)) => connection.send(now, datagram),
                (_, None) => return,
            };
            if mark.ends_frame && self.frames.counts(now) {
                self.sent_frames += 1;
            }
            match sent {
                Ok(id) => drop(self.waiting.insert(id, (emission.tag, emission.size))),
                Err(_) => self.meter.on_given_up(now, emission.tag, emission.size, PacketOutcome::Overflowed),
            }
        }
        if self.source.as_ref().is_some_and(|source| source.has_ended(now)) {
            self.source = None;
            let Some(connection) = &mut self.connection else { return };
            if let Some(layer) = &mut self.layer {
                layer.close(now, connection);
            }
            connection.close(now);
        }
    }

    fn handle_events(&mut self, now: Instant) {
        while let Some(event) = self.next_event(now) {
            match event {
                Event::Connected { .. } => self.is_open = true,
                Event::Datagram { payload, .. } => self.deliver(now, &payload.to_bytes()),
                Event::DatagramSent { id, .. } => drop(self.waiting.remove(&id)),
                Event::DatagramDropped { id, reason } => {
                    let (tag, size) = self.waiting.remove(&id).unwrap_or_default();
                    let is_expired = reason == DropReason::Expired;
                    let outcome = if is_expired { PacketOutcome::Expired } else { PacketOutcome::Overflowed };
                    self.meter.on_given_up(now, tag, size, outcome);
                }
                Event::Closed(_) => (self.is_open, self.source) = (false, None),
                _ => {}
            }
        }
    }
    fn next_event(&mut self, now: Instant) -> Option<Event> {
        let connection = self.connection.as_mut()?;
        let Some(layer) = &mut self.layer else { return connection.poll_event() };
        loop {
            if let Some(event) = layer.poll_event() {
                return Some(event);
            }
            let event = connection.poll_event()?;
            layer.handle_event(now, connection, event);
        }
    }
    fn deliver(&mut self, now: Instant, data: &[u8]) {
        let Some((tag, captured)) = read(data) else { return };
        if !self.arrived.remove(&tag) {
            self.repaired += 1;
            self.meter.on_repaired(data.len() as u64);
        }
        self.frames.on_delivery(now, captured, self.parts.part(tag));
    }

    /// The datagram that a packet carries for the first time.
    fn original<'a>(&self, payload: &'a Payload) -> Option<&'a [u8]> {
        let Payload::Bytes(bytes) = payload else { return None };
        if self.layer.is_none() {
            return Some(bytes);
        }
        let is_original = bytes.first() == Some(&ORIGINAL);
        let end = bytes.len().checked_sub(OVERHEAD as usize - BEFORE).filter(|_| is_original)?;
        bytes.get(BEFORE..end)
    }
    /// The frames and the repair of this end.
    fn summary(&self) -> FrameSummary {
        let sent = self.layer.as_ref().and_then(RepairLayer::counts).unwrap_or_default().sent;
        FrameSummary {
            sent: self.sent_frames,
            repaired: self.repaired,
            repair_bytes: sent.repair_bytes + sent.source * u64::from(OVERHEAD),
            source_bytes: sent.source_bytes - sent.source * u64::from(OVERHEAD),
            ..self.frames.summary()
        }
    }
}

impl FlowEnd for RepairedEnd {
    fn meter(&self) -> &Meter {
        &self.meter
    }
    fn frames(&self) -> Option<FrameSummary> {
        Some(self.summary())
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        let (packet_info, length) = (envelope.packet_info(size), envelope.content.data_length());
        let Some(dccp) = packet_in(&mut envelope.content) else { return };
        if let Some((tag, captured)) = self.original(&dccp.payload).and_then(read).filter(|_| length > 0) {
            self.meter.on_received(now, packet_info, u64::from(length), ecn);
            self.frames.on_arrival(now, captured);
            self.arrived.insert(tag);
        }
        if self.connection.is_none() && self.start.is_none() && dccp.packet_type() == PacketType::Request {
            self.connection = Connection::server(now, self.config.clone(), dccp, self.seed).ok();
        }
        if let Some(connection) = &mut self.connection {
            connection.handle_packet_in_place(now, ReceiveMeta { ecn, ..ReceiveMeta::default() }, dccp);
        }
        self.handle_events(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.connection.is_none() && self.start.is_some_and(|start| start <= now) {
            let port = 49_152 + (self.attachment.flow.0 % 16_384) as u16;
            self.connection = Connection::client(now, self.config.clone(), port, SERVER_PORT, self.seed).ok();
            self.start = None;
            if let Some(connection) = &mut self.connection {
                connection.connect(now);
            }
        }
        let Some(connection) = &mut self.connection else { return };
        connection.handle_timeout(now);
        if let Some(layer) = &mut self.layer {
            layer.handle_timeout(now, connection);
        }
        self.handle_events(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        self.feed(now);
        let transmit = match self.connection.as_mut()?.poll(now) {
            Poll::Transmit(transmit) => transmit,
            Poll::Wait(wait) => {
                self.wait = wait;
                return None;
            }
        };
        self.handle_events(now);
        let size = transmit.packet.encoded_len() as u32 + self.attachment.lower_headers;
        let data = self.original(&transmit.packet.payload);
        let length = data.map_or(0, |data| data.len() as u32);
        let tag = data.and_then(read).map_or(0, |(tag, _)| tag);
        let content = AnnotatedPacket::new(transmit.packet, None, Some(Hidden { tag, length }));
        let payload = Envelope { sent: now, content: content.into() };
        match length {
            0 => self.meter.on_feedback_sent(size),
            _ => {
                self.meter.on_sent(size);
                self.meter.log_sent(|| payload.packet_info(size));
            }
        }
        let Attachment { peer, flow, .. } = self.attachment;
        Some(Packet {
            id: PacketId(0),
            flow,
            source: NodeId::default(),
            destination: peer,
            size,
            ecn: transmit.ecn,
            payload,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.connection.is_none() {
            return self.start;
        }
        let layer = self.layer.as_ref().and_then(RepairLayer::poll_timeout);
        let source = self.source.as_ref().filter(|_| self.is_open).and_then(TrafficSource::poll_timeout);
        [self.wait.deadline(), layer, source].into_iter().flatten().min()
    }

    fn handle_loss(&mut self, now: Instant, mut packet: Packet<Envelope>, cause: LossCause) {
        if packet.payload.content.data_length() == 0 {
            return self.meter.on_feedback_lost();
        }
        self.meter.on_lost(now, packet.payload.packet_info(packet.size), cause);
        if let (Some(connection), Some(dccp)) = (&mut self.connection, packet_in(&mut packet.payload.content))
        {
            connection.inform_loss(dccp.sequence, cause_of(cause));
        }
    }

    fn estimate(&self) -> SenderEstimate {
        let sender = self.connection.as_ref().map(Connection::sender_snapshot);
        sender.map_or(SenderEstimate::NONE, |sender| estimate_of(&sender))
    }
}
