//! Many connections behind one address.

use core::net::SocketAddr;

use whimbrel_units::Instant;
use whimbrel_wire::{Packet, ServiceCode};

use crate::{
    Config, ConnectError, Connection, Datagram, DatagramId, Event, ListenError, ReceiveMeta, SendError,
    Transmit,
};

/// What an [`Endpoint`] allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndpointConfig {
    /// Server connections it holds at most, TIMEWAIT not counted; further Requests get Reset 9, "Too Busy".
    pub max_accepted: usize,
    /// Resets sent to strangers per second at most (RFC 4340, Section 8.1.3: 1024 is the example).
    pub resets_per_second: u32,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self { max_accepted: 65_536, resets_per_second: 1024 }
    }
}

/// Names a connection of an [`Endpoint`]. Handles are reused after [`Event::Drained`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionHandle(pub usize);

/// What an endpoint tells its application about one of its connections.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum EndpointEvent {
    /// A client's Request was accepted: the first event of every server connection.
    Accepted {
        /// Where the client is.
        remote: SocketAddr,
        /// The DCCP port it asked for.
        port: u16,
        /// The Service Code it asked for.
        service_code: ServiceCode,
    },
    /// An event of the connection itself.
    Connection(Event),
}

/// Many connections behind one address.
///
/// Addresses are those of the packets' carrier: with UDP encapsulation (RFC 6773) the peer's UDP
/// address, else its IP address with port 0. DCCP's own ports stand in the packets.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
}

impl Endpoint {
    /// An endpoint that serves nothing yet. `seed`: entropy for ports and initial sequence numbers.
    pub fn new(config: EndpointConfig, seed: u64) -> Self {
        let _ = seed;
        Self { config }
    }
    /// Accepts connections to a DCCP port with the config's Service Code. One port may serve several Service Codes.
    pub fn listen(&mut self, port: u16, config: Config) -> Result<(), ListenError> {
        let _ = (port, config, self.config);
        Ok(())
    }
    /// Opens a connection from an unused port, chosen at random.
    pub fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        destination_port: u16,
        config: Config,
    ) -> Result<ConnectionHandle, ConnectError> {
        let _ = (now, remote, destination_port, config);
        Err(ConnectError::NoPort)
    }
    /// Queues a datagram on a connection.
    pub fn send(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        datagram: Datagram,
    ) -> Result<DatagramId, SendError> {
        let _ = (now, handle, datagram);
        Err(SendError::Closed)
    }
    /// Closes a connection: see [`Connection::close`].
    pub fn close(&mut self, now: Instant, handle: ConnectionHandle) {
        let _ = (now, handle);
    }
    /// Aborts a connection: see [`Connection::abort`].
    pub fn abort(&mut self, now: Instant, handle: ConnectionHandle) {
        let _ = (now, handle);
    }
    /// The network said (ICMP) that this destination cannot be reached.
    pub fn handle_unreachable(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        source_port: u16,
        destination_port: u16,
    ) {
        let _ = (now, remote, source_port, destination_port);
    }
    /// Gives a packet to its connection, accepts it, or answers with a Reset.
    pub fn handle_packet(&mut self, now: Instant, remote: SocketAddr, meta: ReceiveMeta, packet: Packet) {
        let _ = (now, remote, meta, packet);
    }
    /// Runs the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }
    /// The next packet to put on the network, and where to send it.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(SocketAddr, Transmit)> {
        let _ = now;
        None
    }
    /// When to call [`Endpoint::handle_timeout`] or [`Endpoint::poll_transmit`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    /// The next event of any connection.
    pub fn poll_event(&mut self) -> Option<(ConnectionHandle, EndpointEvent)> {
        None
    }
    /// A connection, to look at.
    pub fn connection(&self, handle: ConnectionHandle) -> Option<&Connection> {
        let _ = handle;
        None
    }
    /// A connection, to command. Call [`Endpoint::wake`] afterwards.
    pub fn connection_mut(&mut self, handle: ConnectionHandle) -> Option<&mut Connection> {
        let _ = handle;
        None
    }
    /// Says that a connection was given a command through [`Endpoint::connection_mut`].
    pub fn wake(&mut self, handle: ConnectionHandle) {
        let _ = handle;
    }
}
