//! The laboratory: transports and traffic on the network simulator, driven by scenarios.
//!
//! A scenario is data ([`scenario`]), from which a [`scenario::Plan`] is resolved. A plan with a seed is a
//! run ([`runner`]), whose results are tables ([`record`]). [`transport`] is the table of transports:
//! the DCCP code of the sockets, a simulated TCP ([`tcp`]) and bare datagrams; [`traffic`] generates the data of applications.
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
