//! DCCP sockets for tokio, over UDP (RFC 6773): no kernel support, no privileges. With privileges, on
//! Linux, also as IP protocol 33 (RFC 4340): see [`Host`].
//!
//! A [`Listener`] accepts [`Socket`]s on one UDP port, thousands of them; [`Socket::connect`] opens
//! one, over one path or over several ([`multipath`]). A socket carries datagrams under congestion control:
//! those that may not be sent yet wait in a bounded queue, and stale data is dropped before new data.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use bytes::Bytes;
//! use whimbrel_net::{Config, Listener, ServiceCode, Socket};
//!
//! let config = Config::default().service_code(ServiceCode(42));
//! let listener = Listener::bind("127.0.0.1:6511".parse()?, 5001, config.clone()).await?;
//! let client = Socket::connect("127.0.0.1:6511".parse()?, 5001, config).await?;
//! client.send(Bytes::from_static(b"hello")).await?;
//! let server = listener.accept().await?;
//! println!("{:?}", server.recv().await?.payload);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Socket`] is a [`Stream`](futures_core::Stream) of received datagrams and a
//! [`Sink`](futures_sink::Sink) of sent ones; [`Socket::split`] makes two halves of it for two tasks:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use futures_util::{SinkExt, StreamExt};
//! use whimbrel_net::{Bytes, Config, Duration, Listener, Socket};
//!
//! let listener = Listener::bind("127.0.0.1:0".parse()?, 5001, Config::default()).await?;
//! let (sending, _) = Socket::connect(listener.local(), 5001, Config::default()).await?.split();
//! // Live data: what could not be sent within 150 ms is dropped.
//! let mut sending = sending.with_lifetime(Duration::from_millis(150));
//! sending.send(Bytes::from_static(b"hello")).await?;
//! let mut receiving = listener.accept().await?;
//! assert_eq!(receiving.next().await.expect("a datagram")?.payload[..], *b"hello");
//! // The stream ends where the peer closes the connection; an error is an item of its own.
//! tokio::join!(async { sending.close().await }, async { while receiving.next().await.is_some() {} }).0?;
//! # Ok(())
//! # }
//! ```
//!
//! Programs without an asynchronous runtime use `polled` (on Unix): sockets with a file descriptor for `poll`
//! and `epoll`.
//!
//! With the feature `tracing`, each connection is a span `connection` of the `tracing` crate with the fields
//! `remote` and `role`, and its events are recorded there under the target `whimbrel_net::connection`: the
//! handshake, freezes, moves and the end at the level DEBUG, failures of security at WARN, each datagram,
//! loss and drop at TRACE. Without the feature nothing of it is compiled.
//!
//! The protocol itself is in `whimbrel-proto`; this crate reads the clock, moves bytes between the
//! kernel and the protocol in batches (with segmentation offload where packets allow it), and wakes tasks.
//!
//! # Design
//!
//! - *Handovers in applications* have three independent parts: `net`'s `LinkMonitor` reports the link's
//!   state, `net`'s `Socket` freezes and moves, and the application that uses both decides (`perf`'s
//!   `handover`). The monitor keeps no table of links and routes: after each notification it queries the
//!   kernel's current route, because Linux drops routes of a lost interface without a notification.
//! - `net` has one `Socket`, one `Listener` and one `Host`, whose paths are one or several.
//!   `net::connections` is the state of the connections of one kind: an endpoint, layers, mailboxes, and what
//!   waits to be accepted; `kind` lists what differs between the kinds. A mailbox has the same datagrams and
//!   events for both; a connection over several paths additionally reports `Event::Paths`. `state` holds both
//!   kinds, and a socket reaches the connections of its kind through the object-safe trait `AnyKind`.
//! - The driver (`net::driver`) is a task per local address (`state::Outlet`), all of the same code. Each
//!   polls the connections over several paths, takes the packets of its own address, and passes the packets
//!   of other addresses to their tasks. The first one also has the connections over one path, and the timers;
//!   it goes on without a socket where its address disappears. An endpoint finds joining subflows by their
//!   Connection Identifier.
//! - The *time of arrival* belongs to the packet (`ReceiveMeta::arrival`), not to the call: a driver receives
//!   packets in batches, and the kernel recorded each arrival. Timers use `now`, which never runs backwards;
//!   measurements of times between packets use the arrival. The kernel's clock can be set at any time:
//!   `net`'s `arrival_times` maps its times to the driver's clock.
//! - At a server, connections over one path and over several share a UDP port: Requests with multipath
//!   options, and the packets of their connections, belong to the latter (`Endpoint::concerns`); at further
//!   addresses of the host, all packets do. A client has a carrier for each local address, bound to an
//!   interface if it is named, because the routes of a host with two radios usually lead over one of them.
//!   DTLS is above MP_SEQ (`dtls::Transport`), so that a session survives all of its paths, and one
//!   reordering buffer below it keeps records within its replay window.
//! - A DSCP is sent by a system call of `net` (`carrier/marked`), because the library that sends all other
//!   packets writes a TOS byte with the ECN codepoint alone, which overrides the socket's own.
//! - Sockets in other languages are `net::polled`: a thread with the runtime, calls that never wait, and file
//!   descriptors. A task for each socket sets a descriptor and watches again only after the application has
//!   read everything, so that a readable descriptor costs one write and one read per burst. Datagrams and
//!   events have a descriptor each: an application that never reads events would otherwise find its
//!   descriptor readable for ever. `whimbrel.aio` waits for the descriptors in the event loop instead of
//!   completing futures from the thread, because a future that is cancelled after its datagram was taken
//!   would lose it.

#![cfg_attr(
    not(feature = "dtls"),
    allow(unreachable_code, unreachable_patterns, unused_variables, reason = "nothing has a layer of DTLS")
)]

mod alarm;
mod arrival_times;
mod carrier;
mod clock;
mod connections;
mod delivery;
mod driver;
mod dscp;
mod dtls;
mod error;
mod feedback;
mod halves;
mod host;
mod host_port;
mod inbox;
mod interfaces;
mod kind;
mod layers;
mod lead;
mod link_monitor;
mod listener;
mod mailbox;
mod options;
#[cfg(unix)]
pub mod polled;
mod receive_buffers;
mod received;
mod setup;
mod socket;
mod socket_buffers;
#[cfg(target_os = "linux")]
mod socket_option;
mod state;
mod streams;
mod trace;
mod unread;
mod waiters;
#[cfg(unix)]
mod watched;
#[cfg(not(unix))]
#[path = "watched/portable.rs"]
mod watched;

pub use bytes::Bytes;
pub use carrier::{TimedReceiver, is_refusal};
pub use clock::{Clock, entropy};
pub use dscp::Dscp;
pub use dtls::*;
pub use error::NetError;
pub use halves::{ReceiveHalf, ReuniteError, SendHalf};
pub use host::Host;
pub use host_port::{HostPort, ParseHostPortError, connect_any};
pub use interfaces::{InterfaceAddress, InterfaceMonitor, interface_addresses};
pub use lead::Lead;
pub use link_monitor::{LinkEvent, LinkMonitor, Route};
pub use listener::Listener;
pub use options::{HostOptions, SocketOptions};
pub use received::Received;
pub use setup::Setup;
pub use socket::Socket;
pub use socket_buffers::{SOCKET_BUFFER, enlarge_buffers, enlarge_receive_buffer, kernel_drops};
#[cfg(target_os = "linux")]
pub use socket_option::option_words;
pub use watched::WatchedSocket;
pub use whimbrel_proto::ccid::{Mechanism, Registry};
pub use whimbrel_proto::config::{
    BufferSize, CcidPreference, ComparedTrip, DataChecksumUse, Differentiation, FreezeConfig, GuardConfig,
    IntegrityConfig, LatePolicy, LossDetection, LossEventRate, Parameters, ReceiveConfig, RequestSchedule,
    Restart, RestoreLimit, RetransmitTimeout, Scheme, Silence, TfrcConfig, TimerConfig,
};
pub use whimbrel_proto::event::{Evidence, LossClass, LossVerdict, Overruled, UnfreezeCause};
pub use whimbrel_proto::repair::{
    Delivery, Groups, Mark, Policy as RepairPolicy, ReceiverCounts, RepairConfig, RepairCounts,
    Role as FrameRole, SOURCE_OVERHEAD, StreamFrame,
};
pub use whimbrel_proto::{
    Ccid, Config, ConnectionError, ConnectionSnapshot, DatagramId, DropReason, EndpointConfig, Event,
    FreezeScope, FreezeSnapshot, Holdings, InitCookies, LatenessSummary, MobilityConfig, OverflowPolicy,
    PathChange, PathMtuDiscovery, PathMtuPhase, PortSharing, ReceiverSnapshot, ReorderSnapshot, Role,
    SendError, SendQueueConfig, SenderSnapshot, State, Statistics,
};
pub use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
pub use whimbrel_wire::option::data_dropped::DropCode;
pub use whimbrel_wire::{Ecn, Payload, Reset, ResetCode, SeqNo, ServiceCode};

/// Connections over several paths (MP-DCCP, RFC 9897): [`Setup::over_paths`].
///
/// ```no_run
/// use whimbrel_net::multipath::MultipathConfig;
/// use whimbrel_net::{Bytes, Config, Setup, Socket};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// // An address of each radio; the ports are chosen by the system.
/// let radios = ["192.0.2.10:0".parse()?, "198.51.100.10:0".parse()?];
/// let setup = Setup::from(Config::default()).over_paths(radios, MultipathConfig::default());
/// let socket = Socket::connect("203.0.113.1:6511".parse()?, 5001, setup).await?;
/// socket.send(Bytes::from_static(b"over either radio")).await?;
/// # Ok(())
/// # }
/// ```
pub mod multipath {
    pub use whimbrel_proto::multipath::{
        Dialect, JoinError, KeyType, MultipathConfig, MultipathEvent, MultipathSnapshot, MultipathStatistics,
        Path, PathPriority, SchedulerKind, SubflowId, SubflowSnapshot, SubflowStage,
    };
}

/// The UDP port registered for DCCP over UDP (RFC 6773, Section 3.8).
pub const DCCP_UDP_PORT: u16 = 6511;

/// The guide to security compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/security.md")]
struct SecurityGuide;

/// The page's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embed.md")]
struct Embedding;
