//! The connection of an end: over one path here, over several in [`mp_dccp`](crate::transport::mp_dccp).

use std::fmt;

use whimbrel_netsim::{Ecn, FlowId};
use whimbrel_proto::layer::Transport;
use whimbrel_proto::{Config, Connection, Poll, ReceiveMeta, SenderSnapshot, Transmit, Wait};
use whimbrel_units::Instant;
use whimbrel_wire::PacketType;

use super::packet::packet_in;
use crate::metrics::seconds;
use crate::payload::SimPayload;
use crate::transport::SenderEstimate;
use crate::transport::layers::Secures;

/// The DCCP port that servers listen on: the discard service's.
pub(in crate::transport) const SERVER_PORT: u16 = 9;

/// A packet that leaves, with the number of its path if there are several.
pub(in crate::transport) type Leaving = (Transmit, Option<usize>);

/// The connection of an end, over one path or over several. Times are by the end's clock.
pub(in crate::transport) trait Line: fmt::Debug + Send + 'static {
    /// The type of the connection.
    type Connection: Secures;

    /// The configuration of each path.
    fn config(&self) -> &Config;
    /// Opens the connection, at a client.
    fn connect(&mut self, now: Instant, flow: FlowId);
    /// The connection, if there is one.
    fn connection(&self) -> Option<&Self::Connection>;
    /// Lets a layer act on the connection.
    fn with<T>(&mut self, act: impl FnOnce(&mut Self::Connection) -> T) -> Option<T>;
    /// The layer has given the connection a command.
    fn wake(&mut self) {}
    /// The connection, if it has one path.
    fn single(&self) -> Option<&Connection> {
        None
    }

    /// The same, for commands.
    fn single_mut(&mut self) -> Option<&mut Connection> {
        None
    }

    /// A packet arrived; a Request may open the connection.
    fn handle_packet(&mut self, now: Instant, ecn: Ecn, content: &mut SimPayload);
    /// Runs the timers that are due. `false` if nothing can have happened.
    fn handle_timeout(&mut self, now: Instant) -> bool;
    /// The next packet to send.
    fn poll(&mut self, now: Instant) -> Option<Leaving>;
    /// Time of the next timer or packet.
    fn poll_timeout(&self) -> Option<Instant>;
    /// The next event.
    fn poll_event(&mut self, now: Instant) -> Option<<Self::Connection as Transport>::Event>;
    /// A path is interrupted, or usable again. A connection over one path is frozen instead.
    fn set_usable(&mut self, now: Instant, path: usize, is_usable: bool) {
        let _ = (now, path, is_usable);
    }

    /// All events have been processed.
    fn settle(&mut self, now: Instant) {
        let _ = now;
    }

    /// Datagrams that the connection holds for earlier ones.
    fn held(&self) -> u64;
    /// Datagrams that the reorder buffer has held, and given up; `None` without one.
    fn reordering(&self) -> Option<[u64; 2]>;
    /// The estimates of the congestion control.
    fn estimate(&self) -> SenderEstimate;
}

/// A connection over one path.
#[derive(Debug)]
pub struct Single {
    config: Config,
    seed: u64,
    is_client: bool,
    connection: Option<Connection>,
    /// When the connection wanted to be called again after the last packet to send. A wake-up before any
    /// timer is due need not run them.
    wait: Wait,
}

impl Single {
    /// No connection yet.
    pub(super) fn new(config: Config, seed: u64, is_client: bool) -> Self {
        let wait = Wait { timer: Instant::ZERO, transmit: Instant::FAR_FUTURE };
        Self { config, seed, is_client, connection: None, wait }
    }
}

impl Line for Single {
    type Connection = Connection;

    #[inline]
    fn config(&self) -> &Config {
        &self.config
    }

    fn connect(&mut self, now: Instant, flow: FlowId) {
        let port = 49_152 + (flow.0 % 16_384) as u16;
        self.connection = Connection::client(now, self.config.clone(), port, SERVER_PORT, self.seed).ok();
        self.with(|connection| connection.connect(now));
    }

    #[inline]
    fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    #[inline]
    fn with<T>(&mut self, act: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        self.connection.as_mut().map(act)
    }

    #[inline]
    fn single(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    #[inline]
    fn single_mut(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut()
    }

    #[inline]
    fn handle_packet(&mut self, now: Instant, ecn: Ecn, content: &mut SimPayload) {
        let Some(packet) = packet_in(content) else { return };
        if self.connection.is_none() && !self.is_client && packet.packet_type() == PacketType::Request {
            self.connection = Connection::server(now, self.config.clone(), packet, self.seed).ok();
        }
        if let Some(connection) = &mut self.connection {
            connection.handle_packet_in_place(now, ReceiveMeta { ecn, ..ReceiveMeta::default() }, packet);
        }
    }

    #[inline]
    fn handle_timeout(&mut self, now: Instant) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        // Most wake-ups are for a packet that congestion control has held back, not for a timer.
        let is_due = now >= self.wait.timer;
        if is_due {
            connection.handle_timeout(now);
        }
        is_due || connection.has_events()
    }

    #[inline]
    fn poll(&mut self, now: Instant) -> Option<Leaving> {
        match self.connection.as_mut()?.poll(now) {
            Poll::Transmit(transmit) => Some((transmit, None)),
            Poll::Wait(wait) => {
                self.wait = wait;
                None
            }
        }
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(|_| self.wait.deadline())
    }

    #[inline]
    fn poll_event(&mut self, _: Instant) -> Option<whimbrel_proto::Event> {
        self.connection.as_mut()?.poll_event()
    }

    fn held(&self) -> u64 {
        self.connection.as_ref().map_or(0, |connection| connection.snapshot().holdings.datagrams as u64)
    }

    #[inline]
    fn reordering(&self) -> Option<[u64; 2]> {
        let reordering = self.connection.as_ref()?.reordering()?;
        Some([reordering.reordered, reordering.expired + reordering.overflowed])
    }

    fn estimate(&self) -> SenderEstimate {
        let sender = self.connection.as_ref().map(Connection::sender_snapshot);
        sender.map_or(SenderEstimate::NONE, |sender| estimate_of(&sender))
    }
}

/// The estimates of a connection's sender.
pub(super) fn estimate_of(sender: &SenderSnapshot) -> SenderEstimate {
    SenderEstimate {
        cwnd: sender.cwnd.map_or(f64::NAN, f64::from),
        allowed_rate: sender.allowed_rate.map_or(f64::NAN, |rate| rate.as_bits_per_second()),
        rtt: sender.rtt.map_or(f64::NAN, seconds),
        loss_event_rate: sender.loss_event_rate.unwrap_or(f64::NAN),
        receive_rate: sender.receive_rate.map_or(f64::NAN, |rate| rate.as_bits_per_second()),
        freeze: sender.freeze.map_or("", |state| state.name()),
    }
}
