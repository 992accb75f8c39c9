//! One end of a multipath connection in the simulated network.

use std::net::SocketAddr;

use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet};
use whimbrel_proto::multipath::{
    MultipathConfig, MultipathConnection, MultipathEndpoint, MultipathEndpointConfig, MultipathEndpointEvent,
    MultipathEvent, MultipathHandle, MultipathSnapshot, Path, PathPriority, SubflowId,
};
use whimbrel_proto::{Config, Datagram, DropReason, ReceiveMeta, SendError};
use whimbrel_units::Instant;
use whimbrel_wire::Payload;

use super::{Join, MultipathContent};
use crate::metrics::{Meter, PacketInfo, PacketOutcome, seconds};
use crate::payload::{Envelope, SimPayload};
use crate::traffic::TrafficSource;
use crate::transport::{FlowEnd, SenderEstimate};

/// Queued datagrams of a greedy application: one to send, and one that shows the congestion control that more would
/// follow.
pub(super) const GREEDY_QUEUE: u32 = 2;
/// The DCCP port that servers listen on: that of the discard service.
const SERVER_PORT: u16 = 9;

/// The peer of an end, and the size of the lower headers of its packets.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// The peer's node.
    pub peer: NodeId,
    /// The flow.
    pub flow: FlowId,
    /// Bytes of the headers below DCCP.
    pub lower_headers: u32,
}

/// The paths of a flow.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Their number.
    pub count: usize,
    /// When all but the first join.
    pub join: Join,
    /// Their priorities, if they differ.
    pub priorities: Vec<PathPriority>,
    /// Their weights, if they differ.
    pub weights: Vec<u32>,
    /// Their costs, if they differ.
    pub costs: Vec<u32>,
}

/// One end of a multipath connection. The client sends data, the server receives it.
#[derive(Debug)]
pub struct MpDccpAgent {
    attachment: Attachment,
    endpoint: MultipathEndpoint,
    config: Config,
    settings: MultipathConfig,
    handle: Option<MultipathHandle>,
    is_client: bool,
    start: Option<Instant>,
    source: Option<TrafficSource>,
    paths: Option<Paths>,
    /// The path of each subflow, and whether its parameters are set.
    subflows: Vec<(SubflowId, usize)>,
    /// Paths that wait to join.
    to_join: Vec<usize>,
    /// Datagrams in the send queue.
    queued: u32,
    /// Packets that arrived and whose data are not delivered yet.
    undelivered: Vec<(PacketInfo, u32)>,
    /// The greatest number delivered.
    delivered: Option<u64>,
    meter: Meter,
}

/// The addresses of a path, of which only the number matters. `is_client`: of the client's end.
fn addresses(number: usize, is_client: bool) -> Path {
    let client = SocketAddr::from(([10, 0, number as u8, 1], 0));
    let server = SocketAddr::from(([10, 0, 255, 1], 0));
    if is_client { Path { local: client, remote: server } } else { Path { local: server, remote: client } }
}

/// The number of a path.
fn number(path: Path, is_client: bool) -> usize {
    let address = if is_client { path.local } else { path.remote };
    match address {
        SocketAddr::V4(address) => usize::from(address.ip().octets()[2]),
        SocketAddr::V6(_) => 0,
    }
}

impl MpDccpAgent {
    /// The end that waits for a connection and receives.
    pub fn server(
        attachment: Attachment,
        config: Config,
        settings: MultipathConfig,
        secret: [u8; 32],
        meter: Meter,
    ) -> Self {
        let mut agent = Self::client(attachment, config, settings, secret, meter);
        agent.is_client = false;
        let (config, settings) = (agent.config.clone(), agent.settings.clone());
        // The flow's configuration is valid, and the port is the only one.
        let _ = agent.endpoint.listen(SERVER_PORT, config, settings);
        agent
    }
    /// The end that connects.
    pub fn client(
        attachment: Attachment,
        config: Config,
        settings: MultipathConfig,
        secret: [u8; 32],
        meter: Meter,
    ) -> Self {
        Self {
            attachment,
            endpoint: MultipathEndpoint::new(MultipathEndpointConfig::default(), secret),
            config,
            settings,
            handle: None,
            is_client: true,
            start: None,
            source: None,
            paths: None,
            subflows: Vec::new(),
            to_join: Vec::new(),
            queued: 0,
            undelivered: Vec::new(),
            delivered: None,
            meter,
        }
    }
    /// The same end, which connects at `start`, sends the datagrams of `source` and closes when the source has ended.
    #[must_use]
    pub fn with_source(self, start: Instant, source: TrafficSource, paths: Paths) -> Self {
        Self { start: Some(start), source: Some(source), paths: Some(paths), ..self }
    }
    /// A snapshot of the connection; `None` while there is none.
    pub fn snapshot(&self) -> Option<MultipathSnapshot> {
        self.connection().map(MultipathConnection::snapshot)
    }
    fn connection(&self) -> Option<&MultipathConnection> {
        self.endpoint.connection(self.handle?)
    }
    fn command<T>(&mut self, command: impl FnOnce(&mut MultipathConnection) -> T) -> Option<T> {
        let handle = self.handle?;
        let result = command(self.endpoint.connection_mut(handle)?);
        self.endpoint.wake(handle);
        Some(result)
    }

    /// Passes the datagrams due to the connection; a greedy application keeps its queue filled.
    fn feed(&mut self, now: Instant) {
        let Some(mut source) = self.source.take() else { return };
        if self.connection().is_none() {
            self.source = Some(source).filter(|_| self.handle.is_none());
            return;
        }
        while !source.is_greedy() || self.queued < GREEDY_QUEUE {
            let Some(emission) = source.poll_emission(now) else { break };
            let payload = Payload::Opaque { length: emission.size, tag: emission.tag };
            let datagram = Datagram { payload, deadline: emission.deadline };
            match self.command(|connection| connection.send(now, datagram)) {
                Some(Ok(_)) => self.queued += 1,
                None | Some(Err(SendError::Closed)) => return,
                Some(Err(_)) => {
                    self.meter.on_given_up(now, emission.tag, emission.size, PacketOutcome::Overflowed);
                }
            }
        }
        if source.has_ended(now) {
            self.command(|connection| connection.close(now));
        } else {
            self.source = Some(source);
        }
    }
    /// Adds the subflows that may join now.
    fn join(&mut self, now: Instant) {
        let Some(handle) = self.handle else { return };
        if self.to_join.is_empty() || !self.connection().is_some_and(MultipathConnection::may_join) {
            return;
        }
        for path in std::mem::take(&mut self.to_join) {
            if let Ok(subflow) = self.endpoint.join(now, handle, addresses(path, true), None) {
                self.subflows.push((subflow, path));
                self.adjust(now, subflow, path);
            }
        }
    }
    /// Sets the parameters of a subflow.
    fn adjust(&mut self, now: Instant, subflow: SubflowId, path: usize) {
        let Some(paths) = self.paths.clone() else { return };
        self.command(|connection| {
            let weight = paths.weights.get(path).copied().unwrap_or(1);
            let cost = paths.costs.get(path).copied().unwrap_or(0);
            connection.set_shares(subflow, weight, cost);
            if let Some(priority) = paths.priorities.get(path) {
                connection.set_priority(now, subflow, *priority);
            }
        });
    }
    /// Leaves a path that has failed for the next one, if the paths are used one after the other.
    fn on_failure(&mut self, now: Instant, subflow: SubflowId) {
        let Some(paths) = self.paths.as_ref().filter(|paths| paths.join == Join::OnFailure) else { return };
        let Some((_, path)) = self.subflows.iter().find(|(id, _)| *id == subflow) else { return };
        let next = (path + 1) % paths.count;
        self.to_join.push(next);
        self.command(|connection| connection.abandon_subflow(now, subflow));
    }

    fn handle_events(&mut self, now: Instant) {
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                MultipathEndpointEvent::Accepted { .. } => self.handle = Some(handle),
                MultipathEndpointEvent::Connection(event) => self.handle_event(now, event),
                _ => {}
            }
        }
        if let Some(reordering) = self.snapshot().and_then(|snapshot| snapshot.reordering) {
            self.meter.set_reordering(reordering.reordered, reordering.expired + reordering.overflowed);
        }
    }
    fn handle_event(&mut self, now: Instant, event: MultipathEvent) {
        match event {
            MultipathEvent::Datagram { sequence, .. } => {
                let sequence = sequence.value();
                let place = self.undelivered.iter().position(|(info, _)| info.sequence == sequence);
                if let Some((info, length)) = place.map(|place| self.undelivered.remove(place)) {
                    self.meter.on_delivered(now, info, u64::from(length));
                }
                self.delivered = self.delivered.max(Some(sequence));
            }
            MultipathEvent::DatagramSent { .. } => self.queued = self.queued.saturating_sub(1),
            MultipathEvent::DatagramDropped { reason, .. } => {
                self.queued = self.queued.saturating_sub(1);
                let outcome = if reason == DropReason::Expired {
                    PacketOutcome::Expired
                } else {
                    PacketOutcome::Overflowed
                };
                self.meter.on_given_up(now, 0, 0, outcome);
            }
            MultipathEvent::Established { is_multipath: true } if self.is_client => {
                self.subflows.push((SubflowId(0), 0));
                self.adjust(now, SubflowId(0), 0);
                if let Some(paths) = self.paths.as_ref().filter(|paths| paths.join == Join::AtOnce) {
                    self.to_join = (1..paths.count).collect();
                }
            }
            MultipathEvent::PathFailed(subflow) => self.on_failure(now, subflow),
            _ => {}
        }
    }
    /// Discards what arrived and will never be delivered: duplicates, and data that came too late.
    fn discard(&mut self, now: Instant) {
        let is_ordered = self.config.receive.reorder_delay.is_some();
        let (delivered, meter) = (self.delivered, &mut self.meter);
        self.undelivered.retain(|(info, _)| {
            let is_over = !is_ordered || delivered.is_some_and(|delivered| info.sequence <= delivered);
            if is_over {
                meter.on_refused(now, *info);
            }
            !is_over
        });
    }
}

impl FlowEnd for MpDccpAgent {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        let info = envelope.packet_info(size);
        let SimPayload::MpDccp(content) = &envelope.content else { return };
        let length = envelope.content.data_length();
        if length > 0 {
            self.meter.on_arrived(now, info, ecn);
            self.undelivered.push((info, length));
        }
        let path = addresses(content.number_of_path(), self.is_client);
        let meta = ReceiveMeta { ecn, ..ReceiveMeta::default() };
        self.endpoint.handle_packet(now, path, meta, content.packet().clone());
        self.handle_events(now);
        self.join(now);
        if !self.undelivered.is_empty() {
            self.discard(now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.start.is_some_and(|start| start <= now) {
            self.start = None;
            let (config, settings) = (self.config.clone(), self.settings.clone());
            self.handle = self.endpoint.connect(now, addresses(0, true), SERVER_PORT, config, settings).ok();
        }
        self.endpoint.handle_timeout(now);
        self.handle_events(now);
        self.join(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        self.feed(now);
        let (path, transmit) = self.endpoint.poll_transmit(now)?;
        self.handle_events(now);
        let size = transmit.packet.encoded_len() as u32 + self.attachment.lower_headers;
        let content = MultipathContent::new(transmit.packet, number(path, self.is_client));
        let payload = Envelope { sent: now, content: content.into() };
        match payload.content.data_length() {
            0 => self.meter.on_feedback_sent(size),
            _ => self.meter.on_sent(size),
        }
        let Attachment { peer, flow, .. } = self.attachment;
        let ecn = transmit.ecn;
        Some(Packet { id: 0, flow, source: NodeId::default(), destination: peer, size, ecn, payload })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.start.is_some() {
            return self.start;
        }
        let source = self.source.as_ref().and_then(|source| {
            // A greedy source is polled whenever there is room; it needs a timer for its end only.
            if source.is_greedy() { source.stop() } else { source.poll_timeout() }
        });
        [self.endpoint.poll_timeout(), source].into_iter().flatten().min()
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
        if packet.payload.content.data_length() == 0 {
            return self.meter.on_feedback_lost();
        }
        self.meter.on_lost(now, packet.payload.packet_info(packet.size), cause);
    }

    fn undelivered(&self) -> [u64; 2] {
        [self.undelivered.len() as u64, 0]
    }

    fn estimate(&self) -> SenderEstimate {
        let Some(snapshot) = self.snapshot() else { return SenderEstimate::NONE };
        let live = snapshot.subflows.iter().filter(|subflow| subflow.is_alive);
        let senders = || live.clone().map(|subflow| &subflow.connection.sender);
        let total = |rate: Option<f64>, sum: f64| rate.map_or(sum, |rate| rate + sum);
        let rate = |of: fn(&whimbrel_proto::SenderSnapshot) -> Option<f64>| {
            senders().fold(f64::NAN, |sum, sender| total(of(sender), if sum.is_nan() { 0.0 } else { sum }))
        };
        let rtt = senders().filter_map(|sender| sender.rtt).min();
        SenderEstimate {
            cwnd: rate(|sender| sender.cwnd.map(f64::from)),
            allowed_rate: rate(|sender| sender.allowed_rate.map(|rate| rate.as_bits_per_second())),
            rtt: rtt.map_or(f64::NAN, seconds),
            receive_rate: rate(|sender| sender.receive_rate.map(|rate| rate.as_bits_per_second())),
            ..SenderEstimate::NONE
        }
    }
}
