//! A recording of a path in both directions, as traces that scenarios replay.
//!
//! A TCP connection carries the plan and the server's log of arrivals; the probes are datagrams of the same
//! port number. The server probes only an address from which a datagram with the token of the TCP connection
//! has come, and echoes are shorter than the probes that they answer, so that its traffic cannot be directed
//! at third parties.
//!
//! ```no_run
//! use whimbrel_measure::record::{self, Mode, Settings};
//! use whimbrel_relay::Stop;
//! use whimbrel_units::{DataRate, Duration};
//!
//! # async fn run() -> anyhow::Result<()> {
//! let settings = Settings {
//!     host: "192.0.2.7".parse()?,
//!     mode: Mode::Gentle,
//!     time: Duration::from_secs(60),
//!     rate: DataRate::from_bits_per_second(200e3),
//! };
//! let (_end, mut stop) = Stop::new();
//! if let Some(recording) = record::record(&settings, &|_| {}, &mut stop).await? {
//!     recording.write("recorded".as_ref())?;
//! }
//! # Ok(())
//! # }
//! ```

mod analysis;
mod clocks;
mod files;
mod probe;
mod prober;
mod protocol;
mod server;
mod session;

use whimbrel_units::Duration;

pub use files::{Recording, prepare};
pub use prober::Figures;
pub use server::{RecordNotice, RecordObserver, RecordServer, serve};
pub use session::{Progress, Settings, record};

/// The port of servers, TCP and UDP.
const PORT: u16 = 6512;
/// The longest load of a direction.
pub const LONGEST: Duration = Duration::from_secs(600);

/// Load on the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Keep a queue in front of the bottleneck, one direction after the other: every packet that the path can
    /// carry.
    Saturate,
    /// A constant rate in both directions, and a short train of packets per second for the capacity.
    Gentle,
}
