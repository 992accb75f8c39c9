//! One end of one connection.

use whimbrel_control::loss_differentiation::LossCause;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Ecn, Packet, SeqNo};

use crate::{
    Ccid, Config, ConfigError, Datagram, DatagramId, Event, ReceiverSnapshot, SendError, SenderSnapshot,
};

/// Which end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The end that sent the Request.
    Client,
    /// The end that answered it.
    Server,
}

/// The states of RFC 4340, Section 4.3. They print as the RFC writes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are the RFC's")]
pub enum State {
    Closed,
    Listen,
    Request,
    Respond,
    PartOpen,
    Open,
    CloseReq,
    Closing,
    TimeWait,
}

/// What the driver knows about a packet besides its contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiveMeta {
    /// How the network marked it.
    pub ecn: Ecn,
}

/// A packet to put on the network.
#[derive(Clone, PartialEq, Debug)]
pub struct Transmit {
    /// The packet.
    pub packet: Packet,
    /// The ECN codepoint to send it with.
    pub ecn: Ecn,
}

/// What can be seen of a connection.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ConnectionSnapshot {
    /// Where in its life it is.
    pub state: State,
    /// Which end this is.
    pub role: Role,
    /// The congestion control of the data it sends.
    pub sender_ccid: Ccid,
    /// The congestion control of the data it receives.
    pub receiver_ccid: Ccid,
    /// What its HC-sender knows.
    pub sender: SenderSnapshot,
    /// What its HC-receiver knows.
    pub receiver: ReceiverSnapshot,
    /// The best round-trip time it has from any source.
    pub rtt: Option<Duration>,
    /// Datagrams in the send queue.
    pub queued_datagrams: usize,
    /// Bytes of application data in the send queue.
    pub queued_bytes: usize,
    /// The largest datagram `send` takes now, in bytes.
    pub max_datagram: usize,
    /// Counters since the start.
    pub statistics: Statistics,
}

/// Counters of a connection since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Packets sent, of any type.
    pub packets_sent: u64,
    /// Packets received that were valid.
    pub packets_received: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Bytes of application data sent.
    pub bytes_sent: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Bytes of application data received.
    pub bytes_received: u64,
    /// Datagrams dropped from the send queue.
    pub datagrams_dropped: u64,
    /// Packets that were malformed, out of sequence or not allowed in the state.
    pub packets_ignored: u64,
    /// Sync packets sent.
    pub syncs_sent: u64,
}

/// One end of one connection.
#[derive(Debug)]
pub struct Connection {
    role: Role,
    state: State,
    config: Config,
}

impl Connection {
    /// A client that will send a Request once [`Connection::connect`] is called. `seed`: entropy
    /// for the initial sequence number and the like, from the driver.
    pub fn client(
        now: Instant,
        config: Config,
        source_port: u16,
        destination_port: u16,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let _ = (now, source_port, destination_port, seed);
        Ok(Self { role: Role::Client, state: State::Closed, config })
    }
    /// A server for a Request that just arrived. Afterwards give it that Request with [`Connection::handle_packet`].
    pub fn server(now: Instant, config: Config, request: &Packet, seed: u64) -> Result<Self, ConfigError> {
        let _ = (now, request, seed);
        Ok(Self { role: Role::Server, state: State::Listen, config })
    }
    /// Which end this is.
    pub fn role(&self) -> Role {
        self.role
    }
    /// Where in its life it is.
    pub fn state(&self) -> State {
        self.state
    }
    /// What can be seen of it.
    pub fn snapshot(&self) -> ConnectionSnapshot {
        ConnectionSnapshot {
            state: self.state,
            role: self.role,
            sender_ccid: Ccid::TCP_LIKE,
            receiver_ccid: Ccid::TCP_LIKE,
            sender: SenderSnapshot::default(),
            receiver: ReceiverSnapshot::default(),
            rtt: None,
            queued_datagrams: 0,
            queued_bytes: 0,
            max_datagram: self.config.max_datagram,
            statistics: Statistics::default(),
        }
    }
    /// Command: sends a Request, and repeats it until the server answers.
    pub fn connect(&mut self, now: Instant) {
        let _ = now;
    }
    /// Command: queues a datagram.
    pub fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        let _ = (now, datagram);
        Err(SendError::Closed)
    }
    /// Command: closes the connection once the send queue is empty.
    pub fn close(&mut self, now: Instant) {
        let _ = now;
    }
    /// Command: resets the connection at once (Reset 2, "Aborted") and forgets the send queue.
    pub fn abort(&mut self, now: Instant) {
        let _ = now;
    }
    /// The network said (ICMP) that the destination cannot be reached.
    pub fn handle_unreachable(&mut self, now: Instant) {
        let _ = now;
    }
    /// A packet for this connection arrived.
    pub fn handle_packet(&mut self, now: Instant, meta: ReceiveMeta, packet: Packet) {
        let _ = (now, meta, packet);
    }
    /// Runs the timers that are due. An early call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }
    /// The next packet to put on the network.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let _ = now;
        None
    }
    /// When to call [`Connection::handle_timeout`] and [`Connection::poll_transmit`] next, pacing included.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    /// The next thing the application should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        None
    }
    /// The truth about a packet that the network lost on the way to this end, from an omniscient simulator.
    pub fn inform_loss(&mut self, sequence: SeqNo, cause: LossCause) {
        let _ = (sequence, cause);
    }
}
