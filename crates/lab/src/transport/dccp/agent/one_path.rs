//! The agent of a connection over one path.

use whimbrel_proto::repair::RepairLayer;
use whimbrel_proto::{Config, Connection, ConnectionSnapshot};
use whimbrel_units::Instant;

use super::super::line::{Line, Single};
use super::local_clock::LocalClock;
use super::{Attachment, DccpAgent};
use crate::metrics::Meter;
use crate::traffic::TrafficSource;

impl DccpAgent {
    /// The end that connects at `start`, sends the datagrams of `source` and closes when the source ends.
    pub fn client(
        attachment: Attachment,
        config: Config,
        seed: u64,
        start: Instant,
        source: TrafficSource,
        meter: Meter,
    ) -> Self {
        Self::new(attachment, Single::new(config, seed, true), meter).with_source(start, source)
    }

    /// The end that waits for a connection and receives.
    pub fn server(attachment: Attachment, config: Config, seed: u64, meter: Meter) -> Self {
        Self::new(attachment, Single::new(config, seed, false), meter)
    }

    /// Replaces the clock by one that gains `drift` nanoseconds on simulated time in each second.
    #[must_use]
    pub fn with_clock_drift(self, drift: i64) -> Self {
        Self { clock: LocalClock::gaining(drift), ..self }
    }

    /// A snapshot of the connection; `None` before there is one.
    pub fn snapshot(&self) -> Option<ConnectionSnapshot> {
        self.line.connection().map(Connection::snapshot)
    }

    /// The repair whose policy a program sets; `None` if the library decides, or nothing is repaired.
    pub fn external_repair(&mut self) -> Option<&mut RepairLayer> {
        self.layers.as_mut()?.external()
    }
}
