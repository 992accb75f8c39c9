//! One end of a DCCP connection in the simulated network: the real protocol code and the simulator's clock.

use super::freezing;
use super::station::{Station, StationChange};
use rustc_hash::FxHashMap;
use whimbrel_control::reordering::LatenessSummary;
use whimbrel_netsim::medium::Observation;
use whimbrel_netsim::{Ecn, FlowId, LinkId, LossCause, NodeId, Packet, PacketId};
use whimbrel_proto::{
    Config, Connection, ConnectionSnapshot, Datagram, DatagramId, DropReason, Event, LossVerdict, Poll,
    ReceiveMeta, SendError, Wait,
};
use whimbrel_scenario::signals::{Command, Scope};
use whimbrel_units::Instant;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{PacketType, Payload, SeqNo};

use crate::metrics::{ClassifiedLoss, CorruptionNotice, Meter, PacketInfo, PacketOutcome, cause_of, seconds};
use crate::payload::{Envelope, SimPayload};
use crate::traffic::TrafficSource;
use crate::transport::secured::{Secured, SecuredContent};
use crate::transport::{FlowEnd, SenderEstimate};

mod local_clock;

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

/// One end of a DCCP connection. The client sends data, the server receives it.
#[derive(Debug)]
pub struct DccpAgent {
    clock: LocalClock,
    attachment: Attachment,
    config: Config,
    seed: u64,
    connection: Option<Connection>,
    /// When the connection wanted to be called again after the last packet to send. A wake-up before any timer is due
    /// need not run them.
    wait: Wait,
    start: Option<Instant>,
    source: Option<TrafficSource>,
    /// Datagrams in the send queue.
    queued: u32,
    /// Tag and size of the queued datagrams, if packets are recorded.
    waiting: Option<FxHashMap<DatagramId, (u64, u32)>>,
    /// Packets that arrived and whose data are not delivered yet: one, unless the receiver puts them into order.
    undelivered: Vec<Arrived>,
    /// The newest packet whose data were delivered.
    newest_delivered: Option<SeqNo>,
    /// DTLS above the connection.
    secured: Option<Box<Secured<Connection>>>,
    /// The 802.11 station that the sender follows or takes estimates from.
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
pub(super) const GREEDY_QUEUE: u32 = 2;

/// The DCCP port that servers listen on: that of the discard service.
pub(super) const SERVER_PORT: u16 = 9;

impl DccpAgent {
    /// The end that connects at `start`, sends the datagrams of `source` and closes when the source has ended.
    pub fn client(
        attachment: Attachment,
        config: Config,
        seed: u64,
        start: Instant,
        source: TrafficSource,
        meter: Meter,
    ) -> Self {
        let waiting = meter.records_packets().then(FxHashMap::default);
        let mut agent = Self::server(attachment, config, seed, meter);
        agent.start = Some(start);
        agent.source = Some(source);
        agent.waiting = waiting;
        agent
    }

    /// The end that waits for a connection and receives.
    pub fn server(attachment: Attachment, config: Config, seed: u64, meter: Meter) -> Self {
        Self {
            clock: LocalClock::default(),
            attachment,
            undelivered: Vec::new(),
            newest_delivered: None,
            config,
            seed,
            connection: None,
            wait: Wait { timer: Instant::ZERO, transmit: Instant::FAR_FUTURE },
            start: None,
            source: None,
            queued: 0,
            waiting: None,
            secured: None,
            station: None,
            meter,
        }
    }

    /// The same end with DTLS, if there is a layer.
    #[must_use]
    pub(super) fn with_security(self, secured: Option<Box<Secured<Connection>>>) -> Self {
        Self { secured, ..self }
    }

    /// Replaces the clock by one that gains `drift` nanoseconds on simulated time in each second.
    #[must_use]
    pub fn with_clock_drift(self, drift: i64) -> Self {
        Self { clock: LocalClock::gaining(drift), ..self }
    }

    /// The same end with its 802.11 station.
    #[must_use]
    pub(super) fn with_station(self, station: Option<Station>) -> Self {
        Self { station: station.map(Box::new), ..self }
    }

    /// A snapshot of the connection; `None` before there is one.
    pub fn snapshot(&self) -> Option<ConnectionSnapshot> {
        self.connection.as_ref().map(Connection::snapshot)
    }

    /// Passes the datagrams due to the connection; a greedy application keeps its queue filled.
    fn feed(&mut self, now: Instant) {
        let (Some(connection), Some(source)) = (&mut self.connection, &mut self.source) else { return };
        let mut secured = self.secured.as_deref_mut();
        // Data wait for the handshake at their source.
        if secured.as_ref().is_some_and(|secured| !secured.is_open()) {
            return;
        }
        while !source.is_greedy() || self.queued < GREEDY_QUEUE {
            let Some(emission) = source.poll_emission(now) else { break };
            let payload = Payload::Opaque { length: emission.size, tag: emission.tag };
            let deadline = emission.deadline.map(|at| self.clock.local(at));
            let (local, datagram) = (self.clock.local(now), Datagram { deadline, ..Datagram::new(payload) });
            let sent = match &mut secured {
                Some(secured) => secured.send(local, connection, datagram, emission.tag),
                None => connection.send(local, datagram),
            };
            match sent {
                Ok(id) => {
                    self.queued += 1;
                    if let Some(waiting) = &mut self.waiting {
                        waiting.insert(id, (emission.tag, emission.size));
                    }
                }
                Err(SendError::Closed) => {
                    self.source = None;
                    return;
                }
                Err(_) => self.meter.on_given_up(now, emission.tag, emission.size, PacketOutcome::Overflowed),
            }
        }
        if source.has_ended(now) {
            self.source = None;
            let local = self.clock.local(now);
            if let Some(secured) = secured {
                secured.close(local, connection);
            }
            connection.close(local);
        }
    }

    fn handle_events(&mut self, now: Instant) {
        let Some(connection) = &mut self.connection else { return };
        let local = self.clock.local(now);
        while let Some(event) = match &mut self.secured {
            Some(secured) => secured.next_event(local, connection),
            None => connection.poll_event(),
        } {
            match event {
                Event::Datagram { sequence, .. } => {
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
                        discard_late(&mut self.meter, &mut self.undelivered, *newest);
                    }
                }
                Event::DatagramSent { id, .. } => {
                    self.queued -= 1;
                    if let Some(waiting) = &mut self.waiting {
                        waiting.remove(&id);
                    }
                }
                Event::DatagramDropped { id, reason } => {
                    self.queued -= 1;
                    let outcome = if reason == DropReason::Expired {
                        PacketOutcome::Expired
                    } else {
                        PacketOutcome::Overflowed
                    };
                    let waiting = self.waiting.as_mut().and_then(|waiting| waiting.remove(&id));
                    let (tag, size) = waiting.unwrap_or_default();
                    self.meter.on_given_up(now, tag, size, outcome);
                }
                Event::DataDropped { code: DropCode::Corrupt | DropCode::DeliveredCorrupt, .. } => {
                    self.meter.on_reported_corrupt();
                }
                Event::LossClassified(LossVerdict { first, count, cause, evidence, overruled }) => {
                    let classification = ClassifiedLoss { cause, evidence, overruled };
                    for number in 0..count {
                        self.meter.on_classified(first.add(number).value(), classification);
                    }
                }
                _ => {}
            }
        }
        if let Some(reordering) = connection.reordering() {
            self.meter.set_reordering(reordering.reordered, reordering.expired + reordering.overflowed);
        }
    }
}

impl FlowEnd for DccpAgent {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        let packet_info = envelope.packet_info(size);
        let length = envelope.content.data_length();
        if length > 0 {
            self.meter.on_arrived(now, packet_info, ecn);
            self.undelivered.push(Arrived { at: now, packet_info, length });
        }
        let Some(dccp) = packet_in(&mut envelope.content) else { return };
        if self.connection.is_none() && self.start.is_none() && dccp.packet_type() == PacketType::Request {
            self.connection =
                Connection::server(self.clock.local(now), self.config.clone(), dccp, self.seed).ok();
        }
        if let Some(connection) = &mut self.connection {
            let meta = ReceiveMeta { ecn, ..ReceiveMeta::default() };
            connection.handle_packet_in_place(self.clock.local(now), meta, dccp);
        }
        self.handle_events(now);
        if self.undelivered.is_empty() {
            return;
        }
        if self.config.receive.reorder_delay.is_none() {
            // Without a buffer, data that were not delivered at once never will be.
            for refused in self.undelivered.drain(..) {
                self.meter.on_refused(now, refused.packet_info);
            }
        } else if let Some(newest) = self.newest_delivered {
            discard_late(&mut self.meter, &mut self.undelivered, newest);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.connection.is_none() && self.start.is_some_and(|start| start <= now) {
            let port = 49_152 + (self.attachment.flow.0 % 16_384) as u16;
            let local = self.clock.local(now);
            self.connection =
                Connection::client(local, self.config.clone(), port, SERVER_PORT, self.seed).ok();
            self.start = None;
            if let Some(connection) = &mut self.connection {
                connection.connect(local);
            }
        }
        if self.station.as_mut().is_some_and(|station| station.take_completion(now)) {
            self.handle_command(now, Command::Unfreeze, Scope::Local);
        }
        let local = self.clock.local(now);
        match &mut self.connection {
            // Most wake-ups are for a packet that congestion control has held back, not for a timer.
            Some(connection)
                if local < self.wait.timer && !connection.has_events() && self.secured.is_none() => {}
            Some(connection) => {
                connection.handle_timeout(local);
                if let Some(secured) = &mut self.secured {
                    secured.handle_timeout(local, connection);
                }
                self.handle_events(now);
            }
            None => {}
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        self.feed(now);
        let connection = self.connection.as_mut()?;
        if let Some(estimate) = self.station.as_mut().and_then(|station| station.changed_estimate()) {
            connection.set_link_estimate(self.clock.local(now), estimate);
        }
        let transmit = match connection.poll(self.clock.local(now)) {
            Poll::Transmit(transmit) => transmit,
            Poll::Wait(wait) => {
                self.wait = wait;
                return None;
            }
        };
        self.handle_events(now);
        let size = transmit.packet.encoded_len() as u32 + self.attachment.lower_headers;
        let ecn = transmit.ecn;
        let content = match &mut self.secured {
            Some(secured) => {
                let (packet, hidden) = (transmit.packet, secured.take_left());
                SimPayload::Other(Box::new(SecuredContent { packet, hidden }))
            }
            None => transmit.packet.into(),
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
        if self.connection.is_none() {
            return self.start;
        }
        let connection = self.wait.deadline().map(|at| self.clock.simulated(at));
        let station = self.station.as_ref().and_then(|station| station.poll_timeout());
        let mut connection = earlier(connection, station);
        if let Some(secured) = &self.secured {
            connection = earlier(connection, secured.poll_timeout().map(|at| self.clock.simulated(at)));
            if !secured.is_open() {
                return connection;
            }
        }
        let Some(source) = &self.source else { return connection };
        // A greedy source is polled whenever there is room; it needs a timer for its end only.
        let source = if source.is_greedy() { source.stop() } else { source.poll_timeout() };
        earlier(connection, source)
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

    fn handle_damaged(&mut self, now: Instant, packet: Packet<Envelope>, link: LinkId) {
        let (packet_info, length) =
            (packet.payload.packet_info(packet.size), packet.payload.content.data_length());
        let cause = LossCause::Wireless(link);
        let (Some(connection), true) = (&mut self.connection, has_bare_data(&packet.payload.content)) else {
            return self.handle_loss(now, packet, cause);
        };
        let SimPayload::Dccp(mut dccp) = packet.payload.content else { return };
        if let Payload::Opaque { tag, .. } = &mut dccp.payload {
            // Other data of the same length, whose checksum is another.
            *tag = !*tag;
        }
        let notice = CorruptionNotice::of(&self.config);
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
        let held = self.snapshot().map_or(0, |snapshot| snapshot.holdings.datagrams as u64).min(all);
        [held, all - held]
    }

    fn handle_observation(&mut self, now: Instant, observation: &Observation) {
        let Some(station) = &mut self.station else { return };
        match station.on_observation(now, observation) {
            Some(StationChange::Left) => self.handle_command(now, Command::Freeze, Scope::Local),
            Some(StationChange::Stayed) => self.handle_command(now, Command::Unfreeze, Scope::Local),
            None => {}
        }
    }

    fn handle_command(&mut self, now: Instant, command: Command, scope: Scope) {
        let scope = freezing::of_protocol(scope);
        let Some(connection) = &mut self.connection else { return };
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
        self.connection.as_ref().map(Connection::lateness).unwrap_or_default()
    }

    fn estimate(&self) -> SenderEstimate {
        let Some(connection) = &self.connection else { return SenderEstimate::NONE };
        let sender = connection.sender_snapshot();
        SenderEstimate {
            cwnd: sender.cwnd.map_or(f64::NAN, f64::from),
            allowed_rate: sender.allowed_rate.map_or(f64::NAN, |rate| rate.as_bits_per_second()),
            rtt: sender.rtt.map_or(f64::NAN, seconds),
            loss_event_rate: sender.loss_event_rate.unwrap_or(f64::NAN),
            receive_rate: sender.receive_rate.map_or(f64::NAN, |rate| rate.as_bits_per_second()),
            freeze: sender.freeze.map_or("", |state| state.name()),
        }
    }
}

/// The DCCP packet of a content.
fn packet_in(content: &mut SimPayload) -> Option<&mut whimbrel_wire::Packet> {
    match content {
        SimPayload::Dccp(packet) => Some(packet),
        SimPayload::Other(content) => content.dccp_packet(),
        _ => None,
    }
}

/// The earlier of two deadlines.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Discards the packets older than the newest one delivered: they will never be delivered.
fn discard_late(meter: &mut Meter, undelivered: &mut Vec<Arrived>, newest: SeqNo) {
    undelivered.retain(|arrived| {
        let is_late = SeqNo::new(arrived.packet_info.sequence).distance_from(newest) < 0;
        if is_late {
            meter.on_late(arrived.at, arrived.packet_info);
        }
        !is_late
    });
}

/// `true` if the packet has data that its checksum does not cover. It does not matter which of them are damaged.
fn has_bare_data(content: &SimPayload) -> bool {
    match content {
        SimPayload::Dccp(packet) => {
            let length = packet.payload.len();
            packet.checksum_coverage.covered(length).is_some_and(|covered| covered < length)
        }
        _ => false,
    }
}
