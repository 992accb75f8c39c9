//! The DCCP protocol (RFC 4340), sans I/O.
//!
//! A [`Connection`] is one end of one connection; an [`Endpoint`] holds many behind one address.
//! Neither reads a clock, opens a socket or spawns a thread. A driver feeds them input and drains their output:
//!
//! ```text
//! loop {
//!     while let Some(transmit) = connection.poll_transmit(now) { send it }
//!     while let Some(event) = connection.poll_event() { pass it to the application }
//!     wait for a packet, a command of the application, or poll_timeout()
//!     connection.handle_packet(now, meta, packet) / connection.handle_timeout(now) / connection.send(..)
//! }
//! ```
//!
//! Once `poll_transmit(now)` has returned `None`, `poll_timeout()` is later than `now`. Waking early and draining twice
//! are harmless.
//!
//! Two connections in one process, without a network:
//!
//! ```
//! use bytes::Bytes;
//! use whimbrel_proto::{Config, Connection, Datagram, Event, ReceiveMeta, State};
//! use whimbrel_units::{Duration, Instant};
//!
//! let mut now = Instant::ZERO;
//! let mut client = Connection::client(now, Config::default(), 40_000, 5_001, 0x1234)?;
//! client.connect(now);
//! client.send(now, Datagram::new(Bytes::from_static(b"hello")))?;
//! let request = client.poll_transmit(now).expect("a Request").packet;
//!
//! let mut server = Connection::server(now, Config::default(), &request, 0x5678)?;
//! server.handle_packet(now, ReceiveMeta::default(), request);
//! while let Some(response) = server.poll_transmit(now) {
//!     now += Duration::from_millis(20);
//!     client.handle_packet(now, ReceiveMeta { ecn: response.ecn, ..ReceiveMeta::default() }, response.packet);
//! }
//! assert_eq!(client.state(), State::PartOpen);
//! while let Some(answer) = client.poll_transmit(now) {
//!     server.handle_packet(now, ReceiveMeta { ecn: answer.ecn, ..ReceiveMeta::default() }, answer.packet);
//! }
//! let events: Vec<Event> = core::iter::from_fn(|| server.poll_event()).collect();
//! assert!(matches!(events.last(), Some(Event::Datagram { .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Congestion control is chosen by [`Config`] from a [`ccid::Registry`], which an application can extend.

pub mod ack_vector;
pub mod ccid;
pub mod config;
pub mod connection;
pub mod data_dropped;
pub mod endpoint;
pub mod error;
pub mod event;
pub mod feature;
pub mod layer;
pub mod mobility;
pub mod multipath;
mod refusal;
pub mod repair;
mod send_queue;
mod setters;
mod token_bucket;

pub use ccid::{Ccid, HcReceiver, HcSender, ReceiverSnapshot, SendVerdict, SenderSnapshot};
pub use config::{Config, MobilityConfig, PathChange, PathMtuDiscovery};
pub use connection::{
    Connection, ConnectionSnapshot, FreezeScope, FreezeSnapshot, Holdings, PathId, PathMtuPhase, Poll,
    ReceiveMeta, ReorderSnapshot, Role, State, Statistics, Transmit, Wait,
};
pub use endpoint::{
    ConnectionHandle, Endpoint, EndpointConfig, EndpointEvent, EndpointSnapshot, InitCookies, PortSharing,
};
pub use error::{ConfigError, ConnectError, ConnectionError, ListenError, SendError};
pub use event::{DatagramId, DropReason, Event, LossVerdict, UnfreezeCause};
pub use mobility::MobilitySecret;
pub use send_queue::{Datagram, OverflowPolicy, SendQueueConfig};
pub use whimbrel_control::capacity::Estimate as LinkEstimate;
pub use whimbrel_control::reordering::LatenessSummary;

/// The examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/handover.md")]
struct Freezing;
