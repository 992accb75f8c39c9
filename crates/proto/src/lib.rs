//! The DCCP protocol (RFC 4340), sans I/O.
//!
//! A [`Connection`] is one end of one connection; an [`Endpoint`] holds many behind one address.
//! Neither reads a clock, opens a socket or spawns a thread. A driver feeds them and empties them:
//!
//! ```text
//! loop {
//!     while let Some(transmit) = connection.poll_transmit(now) { put it on the network }
//!     while let Some(event) = connection.poll_event() { tell the application }
//!     wait for a packet, a command of the application, or poll_timeout()
//!     connection.handle_packet(now, meta, packet) / connection.handle_timeout(now) / connection.send(..)
//! }
//! ```
//!
//! After a drain at `now`, `poll_timeout()` is later than `now`; waking early does no harm; draining
//! twice is draining once.

pub mod ack_vector;
pub mod ccid;
pub mod config;
pub mod connection;
pub mod endpoint;
pub mod error;
pub mod event;
pub mod feature;
mod refusal;
mod send_queue;
mod token_bucket;

pub use ccid::{Ccid, HcReceiver, HcSender, ReceiverSnapshot, SendVerdict, SenderSnapshot};
pub use config::Config;
pub use connection::{Connection, ConnectionSnapshot, ReceiveMeta, Role, State, Statistics, Transmit};
pub use endpoint::{ConnectionHandle, Endpoint, EndpointConfig, EndpointEvent};
pub use error::{ConfigError, ConnectError, ConnectionError, ListenError, SendError};
pub use event::{DatagramId, DropReason, Event};
pub use send_queue::{Datagram, OverflowPolicy, SendQueueConfig};
