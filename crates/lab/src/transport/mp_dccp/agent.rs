//! One end of a multipath connection in the simulated network.

use std::collections::BTreeSet;

use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet, PacketId};
use whimbrel_proto::multipath::{
    MultipathConfig, MultipathConnection, MultipathEndpoint, MultipathEvent, MultipathSnapshot,
};
use whimbrel_proto::{
    Config, ConnectionHandle, Datagram, DatagramId, DropReason, EndpointConfig, EndpointEvent, ReceiveMeta,
    SendError,
};
use whimbrel_units::Instant;
use whimbrel_wire::Payload;

use super::MultipathContent;
use super::paths::{Paths, Subflows, addresses, number};
use crate::metrics::{Meter, PacketInfo, PacketOutcome, seconds};
use crate::payload::{Envelope, SimPayload};
use crate::traffic::TrafficSource;
use crate::transport::secured::Secured;
use crate::transport::{FlowEnd, SenderEstimate};

/// Queued datagrams of a greedy application: one to send, and one that shows the congestion control that more would
/// follow.
pub(super) const GREEDY_QUEUE: u32 = 2;
/// The DCCP port that servers listen on: that of the discard service.
const SERVER_PORT: u16 = 9;

/// The peer of an end, and the size of the lower headers of its packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attachment {
    /// The peer's node.
    pub peer: NodeId,
    /// The flow.
    pub flow: FlowId,
    /// Bytes of the headers below DCCP.
    pub lower_headers: u32,
}

/// What an end is made of.
#[derive(Debug)]
pub(super) struct End {
    /// The peer.
    pub attachment: Attachment,
    /// The configuration of each subflow.
    pub config: Config,
    /// The configuration of the multipath connection.
    pub settings: MultipathConfig,
    /// The secret from which the end draws its keys and numbers.
    pub secret: [u8; 32],
}

/// One end of a multipath connection. The client sends data, the server receives it.
#[derive(Debug)]
pub struct MpDccpAgent {
    attachment: Attachment,
    endpoint: MultipathEndpoint,
    config: Config,
    settings: MultipathConfig,
    handle: Option<ConnectionHandle>,
    is_client: bool,
    start: Option<Instant>,
    source: Option<TrafficSource>,
    /// The subflows, at the end that adds them.
    subflows: Option<Subflows>,
    /// Datagrams in the send queue. Each leaves once for each of its copies.
    queued: BTreeSet<DatagramId>,
    /// Packets that arrived and whose data are not delivered yet.
    undelivered: Vec<(PacketInfo, u32)>,
    /// The greatest number delivered.
    delivered: Option<u64>,
    /// The last estimate of a connection that is over: the endpoint keeps only the end of TIMEWAIT.
    last_estimate: SenderEstimate,
    /// DTLS above the connection.
    secured: Option<Box<Secured<MultipathConnection>>>,
    meter: Meter,
}

impl MpDccpAgent {
    /// The end that waits for a connection and receives, with a layer of DTLS or without.
    pub(super) fn server(end: End, secured: Option<Box<Secured<MultipathConnection>>>, meter: Meter) -> Self {
        let mut agent = Self::client(end, secured, meter);
        agent.is_client = false;
        let (config, settings) = (agent.config.clone(), agent.settings.clone());
        // The flow's configuration is valid, and the port is the only one.
        let _ = agent.endpoint.listen(SERVER_PORT, config, settings);
        agent
    }
    /// The end that connects, with a layer of DTLS or without.
    pub(super) fn client(end: End, secured: Option<Box<Secured<MultipathConnection>>>, meter: Meter) -> Self {
        let End { attachment, config, settings, secret } = end;
        Self {
            attachment,
            endpoint: MultipathEndpoint::with_entropy(EndpointConfig::default(), secret),
            config,
            settings,
            handle: None,
            is_client: true,
            start: None,
            source: None,
            subflows: None,
            queued: BTreeSet::new(),
            undelivered: Vec::new(),
            delivered: None,
            last_estimate: SenderEstimate::NONE,
            secured,
            meter,
        }
    }
    /// The same end, which connects at `start`, sends the datagrams of `source` and closes when the source has ended.
    #[must_use]
    pub(super) fn with_source(self, start: Instant, source: TrafficSource, paths: Paths) -> Self {
        Self { start: Some(start), source: Some(source), subflows: Some(Subflows::new(paths)), ..self }
    }
    /// A snapshot of the connection; `None` while there is none.
    pub fn snapshot(&self) -> Option<MultipathSnapshot> {
        self.connection().map(MultipathConnection::snapshot)
    }
    fn connection(&self) -> Option<&MultipathConnection> {
        self.endpoint.connection(self.handle?)
    }
    /// Gives the connection a command, after which it is polled. `None`: there is no connection.
    fn command<T>(
        &mut self,
        command: impl FnOnce(&mut MultipathConnection, Option<&mut Secured<MultipathConnection>>) -> T,
    ) -> Option<T> {
        let handle = self.handle?;
        let result = command(self.endpoint.connection_mut(handle)?, self.secured.as_deref_mut());
        self.endpoint.wake(handle);
        Some(result)
    }
    /// `true` while data wait for the handshake of DTLS.
    fn awaits_handshake(&self) -> bool {
        self.secured.as_ref().is_some_and(|secured| !secured.is_open())
    }

    /// Passes the datagrams due to the connection; a greedy application keeps its queue filled.
    fn feed(&mut self, now: Instant) {
        if self.awaits_handshake() {
            return;
        }
        let Some(mut source) = self.source.take() else { return };
        if self.connection().is_none() {
            self.source = Some(source).filter(|_| self.handle.is_none());
            return;
        }
        while !source.is_greedy() || self.queued.len() < GREEDY_QUEUE as usize {
            let Some(emission) = source.poll_emission(now) else { break };
            let payload = Payload::Opaque { length: emission.size, tag: emission.tag };
            let datagram = Datagram { deadline: emission.deadline, ..Datagram::new(payload) };
            let sent = self.command(|connection, secured| match secured {
                Some(secured) => secured.send(now, connection, datagram, emission.tag),
                None => connection.send(now, datagram),
            });
            match sent {
                Some(Ok(id)) => {
                    self.queued.insert(id);
                }
                None | Some(Err(SendError::Closed)) => return,
                Some(Err(_)) => {
                    self.meter.on_given_up(now, emission.tag, emission.size, PacketOutcome::Overflowed);
                }
            }
        }
        if source.has_ended(now) {
            self.command(|connection, secured| {
                if let Some(secured) = secured {
                    secured.close(now, connection);
                }
                connection.close(now);
            });
        } else {
            self.source = Some(source);
        }
    }
    /// Adds the subflows that may join now.
    fn join(&mut self, now: Instant) {
        let Some(handle) = self.handle else { return };
        let Some(subflows) = &mut self.subflows else { return };
        let Some(connection) = self.endpoint.connection(handle) else { return };
        for path in subflows.take_joining(connection) {
            if let Ok(subflow) = self.endpoint.join(now, handle, addresses(path, true), None)
                && let Some(connection) = self.endpoint.connection_mut(handle)
            {
                subflows.add(now, connection, subflow, path);
                self.endpoint.wake(handle);
            }
        }
    }

    fn handle_events(&mut self, now: Instant) {
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                EndpointEvent::Accepted { .. } => self.handle = Some(handle),
                EndpointEvent::Connection(event) => {
                    if matches!(event, MultipathEvent::Closed(_)) {
                        self.count_reordered();
                        self.last_estimate = self.estimate();
                    }
                    self.follow_paths(now, &event);
                    self.pass(now, event);
                }
                _ => {}
            }
        }
        self.count_reordered();
    }
    fn count_reordered(&mut self) {
        if let Some(reordering) = self.snapshot().and_then(|snapshot| snapshot.reordering) {
            self.meter.set_reordering(reordering.reordered, reordering.expired + reordering.overflowed);
        }
    }
    /// Adds and leaves subflows. Paths join during the handshake of DTLS, which can then use them.
    fn follow_paths(&mut self, now: Instant, event: &MultipathEvent) {
        let Some(handle) = self.handle else { return };
        let Some(subflows) = &mut self.subflows else { return };
        let Some(connection) = self.endpoint.connection_mut(handle) else { return };
        match event {
            MultipathEvent::Established { is_multipath: true } => subflows.on_established(now, connection),
            MultipathEvent::PathFailed(subflow) => subflows.on_failure(now, connection, *subflow),
            _ => return,
        }
        self.endpoint.wake(handle);
    }
    /// Passes an event of the connection to the application, through the layer if there is one.
    fn pass(&mut self, now: Instant, event: MultipathEvent) {
        if self.secured.is_none() {
            return self.handle_event(now, event);
        }
        self.with_layer(|secured, connection| secured.handle_event(now, connection, event));
        while let Some(event) = self.secured.as_mut().and_then(|secured| secured.poll_event()) {
            self.handle_event(now, event);
        }
    }
    /// Calls the layer, and polls the connection if the layer has given it a command.
    fn with_layer(&mut self, call: impl FnOnce(&mut Secured<MultipathConnection>, &mut MultipathConnection)) {
        let (Some(handle), Some(secured)) = (self.handle, &mut self.secured) else { return };
        let Some(connection) = self.endpoint.connection_mut(handle) else { return };
        call(secured, connection);
        if secured.take_acted() {
            self.endpoint.wake(handle);
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
            MultipathEvent::DatagramSent { id, .. } => {
                self.queued.remove(&id);
            }
            MultipathEvent::DatagramDropped { id, reason } => {
                if !self.queued.remove(&id) {
                    return;
                }
                let outcome = if reason == DropReason::Expired {
                    PacketOutcome::Expired
                } else {
                    PacketOutcome::Overflowed
                };
                self.meter.on_given_up(now, 0, 0, outcome);
            }
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
        self.with_layer(|secured, connection| secured.handle_timeout(now, connection));
        self.handle_events(now);
        self.join(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        self.feed(now);
        let (path, transmit) = self.endpoint.poll_transmit(now)?;
        self.handle_events(now);
        let size = transmit.packet.encoded_len() as u32 + self.attachment.lower_headers;
        let hidden = self.secured.as_mut().map(|secured| secured.take_left());
        let content = MultipathContent::new(transmit.packet, number(path, self.is_client), hidden);
        let payload = Envelope { sent: now, content: content.into() };
        match payload.content.data_length() {
            0 => self.meter.on_feedback_sent(size),
            _ => self.meter.on_sent(size),
        }
        let Attachment { peer, flow, .. } = self.attachment;
        let ecn = transmit.ecn;
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
        let secured = self.secured.as_ref().and_then(|secured| secured.poll_timeout());
        let source = self.source.as_ref().filter(|_| !self.awaits_handshake()).and_then(|source| {
            // A greedy source is polled whenever there is room; it needs a timer for its end only.
            if source.is_greedy() { source.stop() } else { source.poll_timeout() }
        });
        [self.endpoint.poll_timeout(), secured, source].into_iter().flatten().min()
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
        let Some(snapshot) = self.snapshot() else { return self.last_estimate };
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
