//! A connection over several paths, and the endpoint that holds it.

use whimbrel_netsim::{Ecn, FlowId};
use whimbrel_proto::multipath::{
    MultipathConfig, MultipathConnection, MultipathEndpoint, MultipathEvent, MultipathSnapshot, PathPriority,
};
use whimbrel_proto::{Config, ConnectionHandle, EndpointConfig, EndpointEvent, ReceiveMeta, SenderSnapshot};
use whimbrel_units::Instant;

use super::paths::{Paths, Subflows, addresses, number};
use crate::metrics::seconds;
use crate::payload::SimPayload;
use crate::transport::dccp::line::{Leaving, Line, SERVER_PORT};
use crate::transport::{Content, SenderEstimate};

/// A connection over several paths.
#[derive(Debug)]
pub struct Several {
    endpoint: MultipathEndpoint,
    config: Config,
    settings: MultipathConfig,
    handle: Option<ConnectionHandle>,
    /// The subflows, at the client, which adds them.
    subflows: Option<Subflows>,
    /// The priorities of the paths, if they differ.
    priorities: Vec<PathPriority>,
    /// The last estimate and counts of a connection that has ended: the endpoint keeps only the end of
    /// TIMEWAIT.
    last: (SenderEstimate, Option<[u64; 2]>),
}

impl Several {
    /// No connection yet. `secret`: the end draws its keys and numbers from it.
    pub(super) fn new(
        config: Config,
        settings: MultipathConfig,
        secret: [u8; 32],
        paths: Paths,
        is_client: bool,
    ) -> Self {
        let mut endpoint = MultipathEndpoint::with_entropy(EndpointConfig::default(), secret);
        if !is_client {
            // The flow's configuration is valid, and the port is the only one.
            let _ = endpoint.listen(SERVER_PORT, config.clone(), settings.clone());
        }
        let (priorities, last) = (paths.priorities.clone(), (SenderEstimate::NONE, None));
        let subflows = is_client.then(|| Subflows::new(paths));
        Self { endpoint, config, settings, handle: None, subflows, priorities, last }
    }

    fn is_client(&self) -> bool {
        self.subflows.is_some()
    }

    fn snapshot(&self) -> Option<MultipathSnapshot> {
        self.connection().map(MultipathConnection::snapshot)
    }

    /// Adds and leaves subflows. Paths join during the handshake of DTLS, which can then use them.
    fn follow_paths(&mut self, now: Instant, event: &MultipathEvent) {
        let (Some(handle), Some(subflows)) = (self.handle, &mut self.subflows) else { return };
        let Some(connection) = self.endpoint.connection_mut(handle) else { return };
        match event {
            MultipathEvent::Established { is_multipath: true } => subflows.on_established(now, connection),
            MultipathEvent::PathFailed(subflow) => subflows.on_failure(now, connection, *subflow),
            _ => return,
        }
        self.endpoint.wake(handle);
    }
}

impl Line for Several {
    type Connection = MultipathConnection;

    fn config(&self) -> &Config {
        &self.config
    }

    fn connect(&mut self, now: Instant, _: FlowId) {
        let (config, settings) = (self.config.clone(), self.settings.clone());
        self.handle = self.endpoint.connect(now, addresses(0, true), SERVER_PORT, config, settings).ok();
    }

    fn connection(&self) -> Option<&MultipathConnection> {
        self.endpoint.connection(self.handle?)
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut MultipathConnection) -> T) -> Option<T> {
        self.endpoint.connection_mut(self.handle?).map(act)
    }

    fn wake(&mut self) {
        if let Some(handle) = self.handle {
            self.endpoint.wake(handle);
        }
    }

    fn handle_packet(&mut self, now: Instant, ecn: Ecn, content: &mut SimPayload) {
        let SimPayload::Annotated(content) = content else { return };
        let path = addresses(content.path().unwrap_or(0), self.is_client());
        let meta = ReceiveMeta { ecn, ..ReceiveMeta::default() };
        self.endpoint.handle_packet(now, path, meta, content.packet().clone());
    }

    fn handle_timeout(&mut self, now: Instant) -> bool {
        self.endpoint.handle_timeout(now);
        true
    }

    fn poll(&mut self, now: Instant) -> Option<Leaving> {
        let (path, transmit) = self.endpoint.poll_transmit(now)?;
        Some((transmit, Some(number(path, self.is_client()))))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }

    fn poll_event(&mut self, now: Instant) -> Option<MultipathEvent> {
        loop {
            match self.endpoint.poll_event()? {
                (_, EndpointEvent::Connection(event)) => {
                    if matches!(event, MultipathEvent::Closed(_)) {
                        self.last = (self.estimate(), self.reordering());
                    }
                    self.follow_paths(now, &event);
                    return Some(event);
                }
                (handle, EndpointEvent::Accepted { .. }) => self.handle = Some(handle),
                _ => {}
            }
        }
    }

    /// MP_PRIO on the path itself informs the peer.
    fn set_usable(&mut self, now: Instant, path: usize, is_usable: bool) {
        let is_client = self.is_client();
        let Some(handle) = self.handle else { return };
        let Some(connection) = self.endpoint.connection_mut(handle) else { return };
        let usual = self.priorities.get(path).copied().unwrap_or_default();
        let priority = if is_usable { usual } else { PathPriority::UNUSABLE };
        let found = connection.subflows().find(|(_, own)| number(*own, is_client) == path);
        if let Some((subflow, _)) = found {
            connection.set_priority(now, subflow, priority);
            self.endpoint.wake(handle);
        }
    }

    /// Adds the subflows that may join now.
    fn settle(&mut self, now: Instant) {
        let (Some(handle), Some(subflows)) = (self.handle, &mut self.subflows) else { return };
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

    fn held(&self) -> u64 {
        u64::MAX
    }

    fn reordering(&self) -> Option<[u64; 2]> {
        let Some(snapshot) = self.snapshot() else { return self.last.1 };
        let reordering = snapshot.reordering?;
        Some([reordering.reordered, reordering.expired + reordering.overflowed])
    }

    fn estimate(&self) -> SenderEstimate {
        let Some(snapshot) = self.snapshot() else { return self.last.0 };
        let live = snapshot.subflows.iter().filter(|subflow| subflow.is_alive);
        let senders = || live.clone().map(|subflow| &subflow.connection.sender);
        let rate = |of: fn(&SenderSnapshot) -> Option<f64>| {
            senders()
                .map(|sender| of(sender).unwrap_or(0.0))
                .reduce(|sum, rate| sum + rate)
                .unwrap_or(f64::NAN)
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
