//! One end of a DCCP connection in the simulated network: the real protocol code and the simulator's clock.

use super::freezing;
use super::line::{Line, Single};
use super::packet::{AnnotatedPacket, hidden_in, packet_in};
use super::station::{Station, StationChange};
use rustc_hash::FxHashMap;
use whimbrel_control::reordering::LatenessSummary;
use whimbrel_netsim::medium::Observation;
use whimbrel_netsim::{Ecn, FlowId, LinkId, LossCause, NodeId, Packet, PacketId, StationId};
use whimbrel_proto::layer::Transport;
use whimbrel_proto::{
    Connection, Datagram, DatagramId, DropReason, LossVerdict, ReceiveMeta, SendError, Transmit,
};
use whimbrel_scenario::signals::{Command, Scope};
use whimbrel_units::Instant;
use whimbrel_wire::{Payload, SeqNo};

use crate::metrics::{
    ClassifiedLoss, CorruptionNotice, FrameSummary, Meter, PacketInfo, PacketOutcome, cause_of,
};
use crate::payload::{Envelope, SimPayload};
use crate::traffic::TrafficSource;
use crate::transport::layers::{Layers, Note, Secures};
use crate::transport::{FlowEnd, SenderEstimate};

mod local_clock;
mod one_path;

use local_clock::LocalClock;

/// The peer of an end, and the size of the lower headers of its packets.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// The peer's node.
    pub peer: NodeId,
    /// The flow, which also gives the ports.
    pub flow: FlowId,
    /// Bytes of the headers below DCCP.
    pub lower_headers: u32,
}

/// One end of a DCCP connection over one path or several. The client sends data, the server receives it.
#[derive(Debug)]
#[allow(private_bounds, reason = "the two lines are those of this crate")]
pub struct DccpAgent<L: Line = Single> {
    clock: LocalClock,
    attachment: Attachment,
    line: L,
    start: Option<Instant>,
    source: Option<TrafficSource>,
    /// Datagrams in the send queue.
    queued: u32,
    /// Tag and size of the queued datagrams, if packets are recorded or leave several times.
    waiting: Option<FxHashMap<DatagramId, (u64, u32)>>,
    /// Packets that arrived and whose data is not delivered yet: one, unless the receiver orders them.
    undelivered: Vec<Arrived>,
    /// The newest packet whose data was delivered.
    newest_delivered: Option<SeqNo>,
    /// DTLS and repair above the connection.
    layers: Option<Box<Layers<L::Connection>>>,
    /// The station that the end follows or takes estimates from.
    station: Option<Box<Station>>,
    meter: Meter,
}

/// A packet that arrived and is neither delivered nor discarded yet.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    at: Instant,
    packet_info: PacketInfo,
    length: u32,
}

/// Queued datagrams of a greedy application: one to send, and one that shows the congestion control that
/// more would follow.
pub(in crate::transport) const GREEDY_QUEUE: u32 = 2;

#[allow(private_bounds, reason = "the two lines are those of this crate")]
impl<L: Line> DccpAgent<L> {
    /// An end that sends nothing of its own.
    pub(in crate::transport) fn new(attachment: Attachment, line: L, meter: Meter) -> Self {
        Self {
            clock: LocalClock::default(),
            attachment,
            line,
            start: None,
            source: None,
            queued: 0,
            waiting: None,
            undelivered: Vec::new(),
            newest_delivered: None,
            layers: None,
            station: None,
            meter,
        }
    }

    /// The same end, which connects at `start`, sends the datagrams of `source` and closes when the source
    /// has ended.
    #[must_use]
    pub(in crate::transport) fn with_source(self, start: Instant, source: TrafficSource) -> Self {
        let has_names = L::Connection::COPIES > 0 || self.meter.records_packets();
        let waiting = has_names.then(FxHashMap::default);
        Self { start: Some(start), source: Some(source), waiting, ..self }
    }

    /// The same end with layers, if there are any.
    #[must_use]
    pub(in crate::transport) fn with_layers(self, layers: Option<Box<Layers<L::Connection>>>) -> Self {
        Self { layers, ..self }
    }

    /// The same end with its station, if it follows one.
    #[must_use]
    pub(in crate::transport) fn with_station(self, station: Option<Station>) -> Self {
        Self { station: station.map(Box::new), ..self }
    }

    /// The path with that number is interrupted, or usable again: one connection stops, several shift.
    fn follow_station(&mut self, now: Instant, path: usize, is_usable: bool) {
        let Some(scope) = self.station.as_ref().map(|station| station.scope()) else { return };
        self.line.set_usable(self.clock.local(now), path, is_usable);
        self.handle_command(now, if is_usable { Command::Unfreeze } else { Command::Freeze }, scope);
    }

    /// Passes the datagrams due to the connection; a greedy application keeps its queue filled.
    fn feed(&mut self, now: Instant) {
        let Some(source) = &mut self.source else { return };
        // Data waits for the handshakes at its source.
        if self.layers.as_ref().is_some_and(|layers| !layers.is_open()) {
            return;
        }
        let local = self.clock.local(now);
        let mut layers = self.layers.as_deref_mut();
        if self.line.connection().is_none() {
            // Not yet, or no longer.
            self.source.take_if(|_| self.start.is_none());
            return;
        }
        while !source.is_greedy() || self.queued < GREEDY_QUEUE {
            let Some(emission) = source.poll_emission(now) else { break };
            let payload = Payload::Opaque { length: emission.size, tag: emission.tag };
            let deadline = emission.deadline.map(|at| self.clock.local(at));
            let datagram = Datagram { deadline, ..Datagram::new(payload) };
            let sent = self.line.with(|connection| match &mut layers {
                Some(layers) => layers.send([now, local], connection, datagram),
                None => connection.send(local, datagram),
            });
            self.line.wake();
            match sent {
                Some(Ok(id)) => {
                    self.queued += 1;
                    if let Some(waiting) = &mut self.waiting {
                        waiting.insert(id, (emission.tag, emission.size));
                    }
                }
                None | Some(Err(SendError::Closed)) => {
                    self.source = None;
                    return;
                }
                Some(Err(_)) => {
                    self.meter.on_given_up(now, emission.tag, emission.size, PacketOutcome::Overflowed);
                }
            }
        }
        if source.has_ended(now) {
            self.source = None;
            self.line.with(|connection| {
                if let Some(layers) = layers {
                    layers.close(local, connection);
                }
                connection.close(local);
            });
            self.line.wake();
        }
    }

    /// The next event for the application, through the layers if there are any.
    fn next_event(&mut self, local: Instant) -> Option<<L::Connection as Transport>::Event> {
        let Some(layers) = &mut self.layers else { return self.line.poll_event(local) };
        loop {
            if let Some(event) = layers.poll_event() {
                return Some(event);
            }
            let event = self.line.poll_event(local)?;
            self.line.with(|connection| layers.handle_event(local, connection, event));
            if layers.take_acted() {
                self.line.wake();
            }
        }
    }

    fn handle_events(&mut self, now: Instant) {
        let local = self.clock.local(now);
        while let Some(event) = self.next_event(local) {
            match L::Connection::note(&event) {
                Note::Arrived(sequence, payload) => {
                    match self.layers.as_mut().and_then(|layers| layers.frames.as_mut()) {
                        Some(frames) => frames.on_delivery(now, payload, &mut self.meter),
                        None => self.deliver(now, sequence),
                    }
                }
                Note::Sent(id) => drop(self.dequeue(id)),
                Note::Dropped(id, reason) => {
                    let Some((tag, size)) = self.dequeue(id) else { continue };
                    let is_expired = reason == DropReason::Expired;
                    let outcome = if is_expired { PacketOutcome::Expired } else { PacketOutcome::Overflowed };
                    self.meter.on_given_up(now, tag, size, outcome);
                }
                Note::ReportedCorrupt => self.meter.on_reported_corrupt(),
                Note::Classified(LossVerdict { first, count, cause, evidence, overruled }) => {
                    let classification =
                        ClassifiedLoss { cause: *cause, evidence: *evidence, overruled: *overruled };
                    for number in 0..*count {
                        self.meter.on_classified(first.add(number).value(), classification);
                    }
                }
                Note::Open | Note::Other => {}
            }
        }
        if let Some([held, given_up]) = self.line.reordering() {
            self.meter.set_reordering(held, given_up);
        }
    }

    fn deliver(&mut self, now: Instant, sequence: SeqNo) {
        let arrived = match self.undelivered.as_slice() {
            // The usual case: no other packet waits.
            [only] if only.packet_info.sequence == sequence.value() => self.undelivered.pop(),
            all => all
                .iter()
                .position(|it| it.packet_info.sequence == sequence.value())
                .map(|position| self.undelivered.remove(position)),
        };
        if let Some(Arrived { packet_info, length, .. }) = arrived {
            self.meter.on_delivered(now, packet_info, u64::from(length));
        }
        let newest = self.newest_delivered.get_or_insert(sequence);
        if sequence.distance_from(*newest) > 0 {
            *newest = sequence;
        }
        if !self.undelivered.is_empty() {
            self.discard_late(now);
        }
    }

    /// A datagram left the queue: its tag and size, if they are known. `None`: it had left before.
    fn dequeue(&mut self, id: DatagramId) -> Option<(u64, u32)> {
        let known = match &mut self.waiting {
            Some(waiting) => waiting.remove(&id)?,
            None => (0, 0),
        };
        self.queued -= 1;
        Some(known)
    }

    /// Discards the packets that will never be delivered: those older than the newest one delivered, and its
    /// other copies.
    fn discard_late(&mut self, now: Instant) {
        let (Some(newest), meter) = (self.newest_delivered, &mut self.meter) else { return };
        let has_copies = L::Connection::COPIES > 0;
        self.undelivered.retain(|arrived| {
            let distance = SeqNo::new(arrived.packet_info.sequence).distance_from(newest);
            let is_over = distance < 0 || (has_copies && distance == 0);
            if is_over && has_copies {
                // Late, or another copy.
                meter.on_refused(now, arrived.packet_info);
            } else if is_over {
                meter.on_late(arrived.at, arrived.packet_info);
            }
            !is_over
        });
    }
}

#[allow(private_bounds, reason = "the two lines are those of this crate")]
impl<L: Line> FlowEnd for DccpAgent<L> {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        let packet_info = envelope.packet_info(size);
        let length = envelope.content.data_length();
        let frames = self.layers.as_mut().and_then(|layers| layers.frames.as_mut());
        if let Some(frames) = frames.filter(|_| length > 0) {
            // Repair delivers at times of its own, also what never arrived.
            self.meter.on_received(now, packet_info, u64::from(length), ecn);
            frames.on_arrival(now, hidden_in(&envelope.content));
        } else if length > 0 {
            self.meter.on_arrived(now, packet_info, ecn);
            self.undelivered.push(Arrived { at: now, packet_info, length });
        }
        self.line.handle_packet(self.clock.local(now), ecn, &mut envelope.content);
        self.handle_events(now);
        self.line.settle(self.clock.local(now));
        if self.undelivered.is_empty() {
            return;
        }
        if self.line.config().receive.reorder_delay.is_none() {
            // Without a buffer, data that was not delivered at once never will be.
            for refused in self.undelivered.drain(..) {
                self.meter.on_refused(now, refused.packet_info);
            }
        } else {
            self.discard_late(now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.start.take_if(|start| *start <= now).is_some() {
            self.line.connect(self.clock.local(now), self.attachment.flow);
        }
        if self.station.as_mut().is_some_and(|station| station.take_completion(now)) {
            self.follow_station(now, 0, true);
        }
        let local = self.clock.local(now);
        let may_have_acted = self.line.handle_timeout(local);
        if let Some(layers) = &mut self.layers {
            self.line.with(|connection| layers.handle_timeout(local, connection));
            if layers.take_acted() {
                self.line.wake();
            }
        } else if !may_have_acted {
            return;
        }
        self.handle_events(now);
        self.line.settle(local);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        self.feed(now);
        let local = self.clock.local(now);
        if let Some(estimate) = self.station.as_mut().and_then(|station| station.changed_estimate())
            && let Some(connection) = self.line.single_mut()
        {
            connection.set_link_estimate(local, estimate);
        }
        let (Transmit { packet, ecn }, path) = self.line.poll(local)?;
        self.handle_events(now);
        let size = packet.encoded_len() as u32 + self.attachment.lower_headers;
        let hidden = self.layers.as_mut().map(|layers| layers.take_left());
        let content = match (path, hidden) {
            (None, None) => packet.into(),
            _ => AnnotatedPacket::new(packet, path, hidden).into(),
        };
        let payload = Envelope { sent: now, content };
        match payload.content.data_length() {
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
            ecn,
            payload,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.start.is_some() {
            return self.start;
        }
        let connection = self.line.poll_timeout().map(|at| self.clock.simulated(at));
        let station = self.station.as_ref().and_then(|station| station.poll_timeout());
        let mut connection = earlier(connection, station);
        if let Some(layers) = &self.layers {
            connection = earlier(connection, layers.poll_timeout().map(|at| self.clock.simulated(at)));
            if !layers.is_open() {
                return connection;
            }
        }
        let Some(source) = &self.source else { return connection };
        // A greedy source is polled whenever there is room; it needs a timer for its end only.
        let source = if source.is_greedy() { source.stop() } else { source.poll_timeout() };
        earlier(connection, source)
    }

    fn handle_loss(&mut self, now: Instant, mut packet: Packet<Envelope>, cause: LossCause) {
        let (info, length) = (packet.payload.packet_info(packet.size), packet.payload.content.data_length());
        if let (Some(connection), Some(dccp)) =
            (self.line.single_mut(), packet_in(&mut packet.payload.content))
        {
            // Packets without data, too: a receiver cannot know which packets of a gap had some.
            connection.inform_loss(dccp.sequence, cause_of(cause));
        }
        if length == 0 { self.meter.on_feedback_lost() } else { self.meter.on_lost(now, info, cause) }
    }

    fn handle_damaged(&mut self, now: Instant, packet: Packet<Envelope>, link: LinkId) {
        let (packet_info, length) =
            (packet.payload.packet_info(packet.size), packet.payload.content.data_length());
        let cause = LossCause::Wireless(link);
        let notice = CorruptionNotice::of(self.line.config());
        let (Some(connection), true) = (self.line.single_mut(), has_bare_data(&packet.payload.content))
        else {
            return self.handle_loss(now, packet, cause);
        };
        let SimPayload::Dccp(mut dccp) = packet.payload.content else { return };
        if let Payload::Opaque { tag, .. } = &mut dccp.payload {
            // Other data of the same length, whose checksum is another.
            *tag = !*tag;
        }
        if notice == CorruptionNotice::Trial {
            connection.inform_loss(dccp.sequence, cause_of(cause));
        }
        // Including the packets in the reorder buffer.
        let taken = |connection: &Connection| {
            let snapshot = connection.snapshot();
            snapshot.statistics.datagrams_received + snapshot.holdings.datagrams as u64
        };
        let before = taken(connection);
        let ecn = packet.ecn;
        connection.handle_packet(self.clock.local(now), ReceiveMeta { ecn, ..ReceiveMeta::default() }, dccp);
        let delivered = if taken(connection) > before { u64::from(length) } else { 0 };
        self.meter.on_damaged(now, packet_info, delivered, packet.ecn, cause, notice);
        self.handle_events(now);
    }

    fn undelivered(&self) -> [u64; 2] {
        let all = self.undelivered.len() as u64;
        let held = self.line.held().min(all);
        [held, all - held]
    }

    fn handle_observation(&mut self, now: Instant, id: StationId, observation: &Observation) {
        let Some(station) = &mut self.station else { return };
        let Some(change) = station.on_observation(now, observation) else { return };
        let path = station.path(id);
        self.follow_station(now, path, change == StationChange::Back);
    }

    fn handle_command(&mut self, now: Instant, command: Command, scope: Scope) {
        let scope = freezing::of_protocol(scope);
        let Some(connection) = self.line.single_mut() else { return };
        match command {
            Command::Freeze => connection.freeze(self.clock.local(now), scope),
            Command::Unfreeze => connection.unfreeze(self.clock.local(now), scope),
            Command::Probe => {
                connection.probe(self.clock.local(now));
            }
        }
        self.handle_events(now);
    }

    fn lateness(&self) -> LatenessSummary {
        self.line.single().map(Connection::lateness).unwrap_or_default()
    }

    fn frames(&self) -> Option<FrameSummary> {
        self.layers.as_ref()?.summary()
    }

    fn estimate(&self) -> SenderEstimate {
        self.line.estimate()
    }
}

/// The earlier of two deadlines.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// `true` if the packet has data that its checksum does not cover. Which of them are damaged does not matter.
fn has_bare_data(content: &SimPayload) -> bool {
    match content {
        SimPayload::Dccp(packet) => {
            let length = packet.payload.len();
            packet.checksum_coverage.covered(length).is_some_and(|covered| covered < length)
        }
        _ => false,
    }
}
