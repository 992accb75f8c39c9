//! The laboratory: transports and traffic on the network simulator, driven by scenarios.
//!
//! A scenario is data ([`scenario`]), from which a [`scenario::Plan`] is resolved. A plan with a seed is a
//! run ([`runner`]), whose results are tables ([`record`]). [`transport`] is the table of transports:
//! the DCCP code of the sockets, a simulated TCP ([`tcp`]) and bare datagrams; [`traffic`] generates the data
//! of applications.
//!
//! ```
//! use whimbrel_lab::{Document, run};
//!
//! let document = Document::from_toml(r#"
//!     [simulation]
//!     duration = "5 s"
//!     [[node]]
//!     name = "a"
//!     [[node]]
//!     name = "b"
//!     [[link]]
//!     between = ["a", "b"]
//!     rate = "1 Mbit/s"
//!     delay = "10 ms"
//!     [[flow]]
//!     name = "voice"
//!     from = "a"
//!     to = "b"
//!     transport = "udp"
//!     packet_size = "200 B"
//!     traffic = { kind = "cbr", rate = "80 kbit/s" }
//! "#)?;
//! let record = run(&document.plan()?, 1);
//! let flows = record.table("flows").unwrap();
//! assert_eq!(flows.number("sent_packets", 0), Some(250.0));
//! assert_eq!(flows.number("throughput_bps", 0).map(f64::round), Some(80_000.0));
//! # Ok::<(), whimbrel_lab::ScenarioError>(())
//! ```
//!
//! # Design
//!
//! - A router law at an egress is a `Controller` of `lab` (`runner/controllers`), which converts between the
//!   simulator's packets and the law's headers. At an 802.11 station it also passes the MAC's steps to
//!   rt-Winf. The estimates of a node are in its `CrossLayer`, which MAC, router law and senders of the node
//!   share; a station's acknowledgement carries the estimate of its receiver, without bytes of its own. A
//!   DCCP sender with the keys `link_cap`, `follows_station` or a restart at the rate of the link observes
//!   its station: it passes estimates to the connection, and freezes it between access points.
//! - Logs of packets (`run --qlog`) are events in the meters of both ends, which the command takes and writes
//!   between pieces of the run, as it does with a capture; without logs a packet costs two comparisons more.
//! - `lab::runner::Parts` names the simulator's identifiers of all parts of a plan; building, sampling, the
//!   replay and the tables take it as one. `lab::replay` samples routes while a run proceeds and `lab::watch`
//!   what flows, links and stations do, for the live page (`cli::live`).
//! - A flow with `encryption = "dtls"` or `repair` has the sockets' layers between connection and source
//!   (`transport/layers`), with real datagrams and records. An end's draws come from its seed
//!   (`whimbrel_dtls::simulated`): keys of the exchange from a generator that the session lends to the
//!   library, signatures by RFC 6979. A content next to the packet has tag, length and capture time of the
//!   datagram, which layers hide from meters.
//! - Simulated ends have only the timers that RFC 4340 defines (`TimerConfig::rfc4340`): their peers die only
//!   by configuration, and no paper has keep-alive traffic.
//! - `lab::transport::dccp::agent` drives the protocol in about sixty lines; the rest of it records, expires
//!   datagrams, provides ground truth to the omniscient classifier, and passes verdicts on losses to the
//!   meter.
//! - With a buffer, a simulated flow's delay, jitter and goodput are measured at the application: a packet
//!   counts when it leaves the buffer.

pub mod capture;
pub mod emulation;
pub mod metrics;
pub mod payload;
pub mod record;
pub mod repair_models;
mod replay;
pub mod routing;
pub mod runner;
pub mod scenario;
pub mod tcp;
pub mod traffic;
#[macro_use]
#[path = "transport/table.rs"]
mod table;
pub mod transport;
pub mod watch;

pub use record::Record;
pub use runner::{Run, run, run_many};
pub use scenario::{Document, Plan, Scenario, ScenarioError, schema};
