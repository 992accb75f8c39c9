//! A test of a path, like iperf's: DCCP, UDP or TCP, between a client and a server.
//!
//! A TCP connection to the same port number carries the control messages (the test's parameters, interval
//! figures, the final report); the measured datagrams travel separately. [`serve`] is one end and [`measure`]
//! the other.
//!
//! ```no_run
//! use whimbrel_measure::perf::{self, Client, Direction, Handovers, Native, Plan};
//! use whimbrel_relay::{Protection, Stop};
//!
//! # async fn run() -> anyhow::Result<()> {
//! let client = Client {
//!     server: "192.0.2.7:6511".parse()?,
//!     plan: Plan { direction: Direction::Down, ..Plan::new()? },
//!     native: Native::default(),
//!     dscp: whimbrel_net::Dscp::DEFAULT,
//!     handover: Handovers::default(),
//!     outages: tokio::sync::broadcast::channel(1).0,
//!     protection: Protection { is_plaintext_allowed: true, ..Protection::default() },
//! };
//! let (_end, stop) = Stop::new();
//! let (outcome, result) = perf::measure(&client, &|_| Ok(()), stop).await;
//! let (_streams, all) = outcome.totals(&client.plan);
//! println!("{} bit/s", all.down.map_or(0.0, |down| down.goodput_bps));
//! result
//! # }
//! ```

mod client;
mod connect;
mod control;
mod control_channel;
mod datagram;
mod dscp;
mod ends;
mod frames;
mod handover;
mod limits;
mod link;
mod meter;
mod native;
mod outcome;
mod pace;
mod plan;
mod sender;
mod server;
mod size;
mod stream;
mod tcp;
mod test_client;
mod test_ports;
mod udp;

pub use client::{Observer, Progress, measure};
pub use ends::{Client, Handovers};
pub use handover::HandoverReport;
pub use limits::Limits;
pub use meter::ReceiverFigures;
pub use native::{Native, ParseTunError, Tun};
pub use outcome::{Outcome, Row, Span};
pub use plan::{DccpUse, Detection, Direction, Load, MAX_SIZE, MIN_SIZE, Plan, Reception, Times, Transport};
pub use sender::SenderFigures;
pub use server::{Served, Server, ServerNotice, ServerObserver, serve};
pub use tcp::{LARGEST_WRITE, write_size};

use whimbrel_net::ServiceCode;

/// The DCCP port behind the UDP port; the following ones are for single tests.
const DCCP_PORT: u16 = 5001;
/// The Service Code of servers.
pub const SERVICE_CODE: &str = "perf";
/// The Service Code in its place if the data is encrypted: RFC 5238, Section 3.6.
const SECURED_SERVICE_CODE: &str = "prfs";

/// The Service Code of tests, of which `plain` is asked for, with encryption or without.
pub fn service_code(plain: ServiceCode, is_secured: bool) -> ServiceCode {
    match ServiceCode::from_letters(SECURED_SERVICE_CODE) {
        Some(secured) if is_secured && Some(plain) == ServiceCode::from_letters(SERVICE_CODE) => secured,
        _ => plain,
    }
}
