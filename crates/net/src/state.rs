//! The protocol and the mailboxes of its connections: what the driver and the handles share.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use whimbrel_proto::endpoint::EndpointEvent;
use whimbrel_proto::{Config, ConnectError, ConnectionHandle, Endpoint, Event, PathMtuDiscovery};
use whimbrel_units::Instant;

use crate::HostOptions;
use crate::carrier::{Carrier, Quoted, Trouble};
use crate::clock::secret;
use crate::mailbox::{Mailbox, Wake};

/// The largest datagram for a path that turned out to be narrow, in bytes. Every path that carries
/// IPv6 carries packets of 1280 bytes (RFC 8200, Section 5): 40 of them IPv6's, 8 UDP's, 52 the
/// header and options that may go with a datagram.
const NARROW_PATH: usize = 1280 - 40 - 8 - 52;

/// What is left to the driver in a configuration, for paths that nobody knows.
pub(crate) fn on_a_real_path(config: Config) -> Config {
    let path_mtu = match config.path_mtu {
        PathMtuDiscovery::Automatic => PathMtuDiscovery::FromLargest,
        chosen => chosen,
    };
    config.path_mtu(path_mtu)
}

/// The protocol and the mailboxes of its connections.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) endpoint: Endpoint,
    /// By handle.
    mailboxes: Vec<Option<Arc<Mailbox>>>,
    /// Mailboxes whose connection has not ended.
    open: usize,
    /// Accepted connections that nobody has asked for.
    unclaimed: VecDeque<(ConnectionHandle, Arc<Mailbox>)>,
    /// The ports that a listener serves, while it exists.
    listening: Option<Vec<u16>>,
    /// Listener and sockets that still exist.
    pub(crate) handles: usize,
    /// The driver has ended.
    pub(crate) stopped: bool,
    /// The driver knows that it has something to do.
    pub(crate) commanded: bool,
    /// Unread datagrams kept for each socket.
    inbox_limit: usize,
    /// This host's address.
    pub(crate) local: SocketAddr,
    /// What packets shall travel in from now on.
    pub(crate) next_carrier: Option<Carrier>,
    /// Packets take another way than before: which of this host's addresses that begins at, the system knows.
    pub(crate) way_changed: bool,
    /// Connections on a way whose packet size the system has not been asked for, and their peers.
    pub(crate) unmeasured: Vec<(ConnectionHandle, SocketAddr)>,
}

impl State {
    pub(crate) fn new(options: &HostOptions, is_alone: bool, local: SocketAddr) -> io::Result<Self> {
        let config = options.endpoint.is_alone(is_alone && options.endpoint.is_alone);
        let mut endpoint = Endpoint::with_secret(config, secret()?);
        endpoint.set_mobility_secret(secret()?);
        Ok(Self {
            endpoint,
            mailboxes: Vec::new(),
            open: 0,
            unclaimed: VecDeque::new(),
            listening: None,
            handles: 0,
            stopped: false,
            commanded: false,
            inbox_limit: options.receive_queue,
            local,
            next_carrier: None,
            way_changed: false,
            unmeasured: Vec::new(),
        })
    }

    /// Opens a connection.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        source_port: Option<u16>,
        port: u16,
        config: Config,
    ) -> Result<(ConnectionHandle, Arc<Mailbox>), ConnectError> {
        let handle = match source_port {
            Some(source_port) => {
                self.endpoint.connect_from(now, remote, source_port, port, on_a_real_path(config))?
            }
            None => self.endpoint.connect(now, remote, port, on_a_real_path(config))?,
        };
        let mailbox = self.add_mailbox(handle, remote, false);
        mailbox.inbox().claim();
        Ok((handle, mailbox))
    }

    /// Whether somebody accepts connections.
    pub(crate) fn is_serving(&self) -> bool {
        self.listening.is_some()
    }

    /// Invites a client.
    pub(crate) fn invite(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        port: u16,
        client_port: u16,
        config: Config,
    ) -> Result<(), ConnectError> {
        let handle = self.endpoint.invite(now, remote, port, client_port, on_a_real_path(config))?;
        self.add_mailbox(handle, remote, true);
        Ok(())
    }

    /// Accepts connections to that port from now on.
    pub(crate) fn serve(&mut self, port: u16) {
        self.listening.get_or_insert_default().push(port);
    }

    /// Accepts connections to that port no more. Whether it did.
    pub(crate) fn stop_listening(&mut self, port: u16) -> bool {
        if let Some(listening) = &mut self.listening {
            listening.retain(|served| *served != port);
        }
        self.endpoint.stop_listening(port)
    }

    /// Nobody will accept connections any more: those that nobody has are closed.
    pub(crate) fn stop_serving(&mut self, now: Instant) {
        for port in self.listening.take().unwrap_or_default() {
            self.endpoint.stop_listening(port);
        }
        for (handle, _) in std::mem::take(&mut self.unclaimed) {
            self.endpoint.close(now, handle);
        }
        // Nobody has those either whose handshake is not complete.
        for index in 0..self.mailboxes.len() {
            let waits = self.mailboxes[index].as_ref().is_some_and(|mailbox| {
                let inbox = mailbox.inbox();
                mailbox.is_server && inbox.connected.is_none() && inbox.closed.is_none()
            });
            if waits {
                self.endpoint.abort(now, ConnectionHandle(index));
            }
        }
    }

    /// The next accepted connection.
    pub(crate) fn claim(&mut self) -> Option<(ConnectionHandle, Arc<Mailbox>)> {
        let claimed = self.unclaimed.pop_front()?;
        claimed.1.inbox().claim();
        Some(claimed)
    }

    /// Whether the handle still names the mailbox's connection: handles are used again.
    pub(crate) fn knows(&self, handle: ConnectionHandle, mailbox: &Arc<Mailbox>) -> bool {
        matches!(self.mailboxes.get(handle.0), Some(Some(known)) if Arc::ptr_eq(known, mailbox))
    }

    /// Whether nothing is left to do for anybody.
    pub(crate) fn is_finished(&self) -> bool {
        self.handles == 0 && self.open == 0
    }

    fn add_mailbox(&mut self, handle: ConnectionHandle, remote: SocketAddr, is_server: bool) -> Arc<Mailbox> {
        let mailbox = Arc::new(Mailbox::new(remote, is_server, self.inbox_limit));
        if self.mailboxes.len() <= handle.0 {
            self.mailboxes.resize(handle.0 + 1, None);
        }
        self.mailboxes[handle.0] = Some(mailbox.clone());
        self.open += 1;
        self.unmeasured.push((handle, remote));
        mailbox
    }

    /// All connections take another way.
    pub(crate) fn measure_all(&mut self) {
        let mailboxes = self.mailboxes.iter().enumerate();
        let known = mailboxes.filter_map(|(index, mailbox)| Some((index, mailbox.as_ref()?.remote())));
        self.unmeasured = known.map(|(index, remote)| (ConnectionHandle(index), remote)).collect();
    }

    /// The system says how large datagrams to `remote` may be.
    pub(crate) fn limit_datagrams(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        remote: SocketAddr,
        limit: usize,
    ) {
        let is_there = self.endpoint.remote(handle) == Some(remote);
        let Some(connection) = self.endpoint.connection_mut(handle).filter(|_| is_there) else { return };
        if limit < connection.snapshot().max_datagram {
            connection.set_max_datagram(now, limit);
            self.endpoint.wake(handle);
        }
    }

    /// Hands the protocol's events to the mailboxes and wakes who waits for them. True: connections
    /// were accepted.
    pub(crate) fn deliver_events(&mut self, now: Instant) -> bool {
        let waited = self.unclaimed.len();
        let mut next = self.endpoint.poll_event();
        while let Some((handle, event)) = next {
            next = match event {
                EndpointEvent::Accepted { remote, .. } => {
                    self.add_mailbox(handle, remote, true);
                    self.endpoint.poll_event()
                }
                EndpointEvent::Connection(event) => self.deliver(now, handle, event),
                _ => self.endpoint.poll_event(),
            };
        }
        self.unclaimed.len() > waited
    }

    /// Delivers an event and all that follow it on the same connection; returns the first of another.
    fn deliver(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        first: Event,
    ) -> Option<(ConnectionHandle, EndpointEvent)> {
        let Some(Some(mailbox)) = self.mailboxes.get(handle.0) else { return self.endpoint.poll_event() };
        let mut wake = Wake::default();
        let (mut is_new_server, mut is_drained) = (false, false);
        let mut inbox = mailbox.inbox();
        let was_open = inbox.closed.is_none();
        let mut event = first;
        let other = loop {
            is_new_server |=
                matches!(event, Event::Connected { .. }) && mailbox.is_server && self.listening.is_some();
            is_drained |= event == Event::Drained;
            if let Event::PeerMoved { to, .. } = event {
                mailbox.set_remote(to);
            }
            inbox.push(event, now, &mut wake);
            match self.endpoint.poll_event() {
                Some((same, EndpointEvent::Connection(next))) if same == handle => event = next,
                other => break other,
            }
        };
        self.open -= usize::from(was_open && inbox.closed.is_some());
        if inbox.has_report()
            && let Some(connection) = self.endpoint.connection_mut(handle)
        {
            inbox.report_to(connection);
        }
        drop(inbox);
        mailbox.wake(wake);
        if is_new_server {
            self.unclaimed.push_back((handle, mailbox.clone()));
        }
        if is_drained {
            // The handle will name another connection; who has the mailbox may still read it.
            self.mailboxes[handle.0] = None;
        }
        other
    }

    /// Whether a connection waits for its first answer.
    pub(crate) fn is_requesting(&self) -> bool {
        let handles = self.mailboxes.iter().enumerate().filter(|(_, mailbox)| mailbox.is_some());
        let mut connections =
            handles.filter_map(|(index, _)| self.endpoint.connection(ConnectionHandle(index)));
        connections.any(|connection| connection.state() == whimbrel_proto::State::Request)
    }

    /// The system said that a packet to `remote` did not leave, or did not get there.
    pub(crate) fn handle_trouble(&mut self, now: Instant, remote: SocketAddr, trouble: Trouble) {
        for (index, mailbox) in self.mailboxes.iter().enumerate() {
            let handle = ConnectionHandle(index);
            if mailbox.as_ref().is_some_and(|mailbox| mailbox.remote() == remote)
                && let Some(connection) = self.endpoint.connection_mut(handle)
            {
                match trouble {
                    Trouble::Unreachable => connection.handle_unreachable(now),
                    Trouble::TooLarge(Some(limit)) => {
                        let snapshot = connection.snapshot();
                        if limit < snapshot.max_datagram || snapshot.path_mtu.is_some() {
                            connection.set_max_datagram(now, limit);
                        } else {
                            // What the kernel knows of the path is not what made it refuse.
                            connection.handle_too_large(now, NARROW_PATH);
                        }
                    }
                    Trouble::TooLarge(None) => connection.handle_too_large(now, NARROW_PATH),
                }
                self.endpoint.wake(handle);
            }
        }
    }

    /// Somebody in the network said that one packet to `remote` did not get there.
    pub(crate) fn handle_report(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        quoted: Quoted,
        trouble: Trouble,
    ) {
        let found = self.endpoint.find(remote, quoted.source_port, quoted.destination_port);
        let Some(handle) = found else { return };
        let Some(connection) = self.endpoint.connection_mut(handle) else { return };
        // RFC 4340, Section 14.1: forgers do not know the numbers of packets sent recently.
        let is_ours = quoted.sequence.map(|sequence| connection.has_sent(sequence));
        match trouble {
            Trouble::Unreachable if is_ours != Some(false) => connection.handle_unreachable(now),
            // Lowering the packet size is for good, so that a message without a number does not do it.
            Trouble::TooLarge(limit) if is_ours == Some(true) => {
                // A path that grows is none (RFC 1191, Section 3), but for one that is being probed.
                let snapshot = connection.snapshot();
                match limit {
                    Some(limit) if limit < snapshot.max_datagram || snapshot.path_mtu.is_some() => {
                        connection.set_max_datagram(now, limit);
                    }
                    Some(_) => {}
                    None => connection.handle_too_large(now, NARROW_PATH),
                }
            }
            _ => return,
        }
        self.endpoint.wake(handle);
    }

    /// The driver has ended: tells everybody.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        for mailbox in self.mailboxes.iter().flatten() {
            mailbox.inbox().stopped = true;
            mailbox.wake(Wake::ALL);
        }
    }
}

#[cfg(test)]
mod tests;
