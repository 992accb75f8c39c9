//! The DCCP protocol (RFC 4340), sans I/O.
//!
//! A [`Connection`] is one end of one connection; an [`Endpoint`] holds many behind one address.
//! Neither reads a clock, opens a socket or spawns a thread. A driver feeds them input and drains their
//! output:
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
//! Once `poll_transmit(now)` has returned `None`, `poll_timeout()` is later than `now`. Waking early and
//! draining twice are harmless.
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
//!
//! # Design
//!
//! - A connection's `CCID` is looked up in a registry of *mechanisms* (`proto::ccid::registry`), which build
//!   both ends and declare the options and features of the CCID and each end's preferences, so that
//!   negotiation depends on no CCID number (Add a congestion control; `examples/custom_ccid` is an external
//!   one). The interfaces of the two ends are small; handovers, resequencing and verdicts on losses are
//!   extensions (`ccid/extensions`).
//! - CCIDs 3 and 4 are two values of `ccid::tfrc::Variant`, as RFC 5622 describes CCID 4 by its differences.
//!   The receiver's law is `control::tfrc::TfrcReceiver`, for RFC 5348 as for DCCP; `ccid::tfrc::Receiver`
//!   translates packets and options. CCID 250 is CCID 3 with another drop policy (`tfrc::Variant`),
//!   registered on request only. CCID 252 is CCID 3 with an upper bound of the rate,
//!   `control::tfrc::DelayBound`: TFRC's own state does not depend on it (`SendRate::set_bound`), so that the
//!   bound can rise at any time.
//! - A path that is reset begins with new halves of the congestion control, as a renegotiated CCID does,
//!   instead of a method that clears each of their fields.
//! - While a sender restarts after a handover with the rule `following`, its marks carry its round-trip time.
//!   The receiver measures X_recv and synthesizes its history over that, because its own estimate, by the
//!   window counter, remains the old path's for too long.
//! - *Addresses* belong to the endpoint: a connection does not see them. A moving client is identified by its
//!   connection (`proto::mobility`, `connection/mobility`), found, challenged and followed by the endpoint
//!   (`endpoint/moves`), and given another socket by `net`. The key is derived by X25519 and HKDF, the
//!   authenticator by HMAC-SHA-256, from well-maintained crates, not by the SipHash of the Init Cookie: a key
//!   sent in the clear, or of 64 bits, would be the weakest part.
//! - A `proto::multipath::MultipathConnection` owns one `Connection` per path and is driven by the same
//!   verbs, together with the path of each packet. Congestion control per path follows from that. Existing
//!   code has one seam: the concern `connection/subflow` adds options to packets of their types and stores
//!   the options of valid packets, and `connection/joining` is the interface to it.
//! - `proto::Endpoint` is generic in what it holds (`endpoint/held`): a `Connection` (`endpoint/single`) or a
//!   `MultipathConnection` (`endpoint/paths`). Limits per source, Init Cookies, TIMEWAIT, turns and deadlines
//!   belong to the endpoint, so that both kinds have them. All copies of a Request get the same keys and
//!   Connection Identifier, because they are derived from it and the endpoint's secret: the answer with a
//!   cookie needs no state.
//! - Datagrams wait in one queue, and a subflow gets one when the scheduler has chosen it and its congestion
//!   control permits it (`Connection::send_time`); a path that fails holds at most one datagram that has not
//!   left.
//! - The failure of a path is found from data whose acknowledgements cease (`multipath/watch`), not from
//!   packets that arrive: a path may be dead in one direction.
//! - A verdict is polled from the HC-receiver when the application polls events, not queued with them: 256
//!   are kept, however many a peer provokes.
//! - *Reordering* is handled in the connection (`connection/resequencer`). By default one buffer
//!   (`resequencer/delivery`) precedes loss detection and application; with `LossDetection::Packets` or
//!   `Rack` loss detection has a queue of its own (`resequencer/detection_queue`). With one buffer they agree
//!   on losses. An HC-receiver then processes a packet twice: on arrival, for time-based state
//!   (acknowledgements, X_recv), and in order, for order-based state (loss events, their differentiation).
//!   Detection after RACK is the same with data that do not wait.
//! - `proto::repair` is a layer above `dtls`, or directly above the connection: `RepairLayer` passes
//!   datagrams through the `Sender` and `Receiver` of `repair`. A layer drives a connection by the
//!   trait `proto::layer::Transport`. `net::layers` holds both layers of each connection. In the lab,
//!   `transport::dccp::repaired` runs the same layer, and `repair_models` has the rules of other programs
//!   (SRT, RIST, libwebrtc, wfb-ng, Tambur, Hairpin), without I/O.

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
