//! The subflows of a connection.

use core::ops::{Deref, DerefMut};

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::Packet;

use super::JoinError;
use crate::Connection;
use crate::multipath::subflow::{Stage, Subflow};
use crate::multipath::watch::PathWatch;
use crate::multipath::{MultipathConfig, Path, SubflowId};

/// The most subflows in memory, including those that have ended and wait for their last timer, per permitted
/// one.
const KEPT_PER_SUBFLOW: usize = 4;
/// RFC 4340's round-trip time without a sample.
const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// The subflows, those that have ended included as long as they have a timer.
#[derive(Debug, Default)]
pub(super) struct Subflows {
    list: Vec<Subflow>,
    /// The number of the next subflow.
    next_id: u32,
    /// Subflows do not probe the path MTU.
    holds_probes: bool,
    /// The application cannot keep up.
    is_slow: bool,
}

impl Deref for Subflows {
    type Target = [Subflow];

    fn deref(&self) -> &[Subflow] {
        &self.list
    }
}

impl DerefMut for Subflows {
    fn deref_mut(&mut self) -> &mut [Subflow] {
        &mut self.list
    }
}

impl Subflows {
    /// Adds one, and returns its place.
    pub(super) fn add(
        &mut self,
        settings: &MultipathConfig,
        path: Path,
        mut connection: Connection,
        stage: Stage,
    ) -> usize {
        connection.set_slow_receiver(self.is_slow);
        let id = SubflowId(self.next_id);
        self.next_id += 1;
        let watch = PathWatch::new(settings.min_path_timeout);
        // The subflow is not open yet: there is nothing to resume.
        connection.hold_path_probes(Instant::ZERO, self.holds_probes);
        self.list.push(Subflow::new(id, path, connection, stage, watch));
        self.list.len() - 1
    }

    /// Removes those whose last timer has expired, and the oldest that have ended if there are too many.
    pub(super) fn retire(&mut self, settings: &MultipathConfig) {
        self.list.retain(|subflow| !(subflow.is_over() && subflow.connection.is_drained()));
        let limit = settings.max_subflows * KEPT_PER_SUBFLOW;
        while self.list.len() > limit
            && let Some(oldest) = self.list.iter().position(Subflow::is_over)
        {
            self.list.remove(oldest);
        }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    pub(super) fn place(&self, id: SubflowId) -> Option<usize> {
        self.iter().position(|subflow| subflow.id == id)
    }

    /// The place of the subflow of a packet, by its path and DCCP ports.
    pub(super) fn find(&self, path: Path, packet: &Packet) -> Option<usize> {
        // A later subflow may use the ports of one that has ended.
        self.iter().rposition(|it| it.is_at(path, [packet.destination_port, packet.source_port]))
    }

    /// `true` if one other than that is not over.
    pub(super) fn has_live(&self) -> bool {
        self.iter().any(|subflow| !subflow.is_over())
    }

    /// Checks that another one may join.
    pub(super) fn check_room(&self, settings: &MultipathConfig) -> Result<(), JoinError> {
        let limit = settings.max_subflows;
        let used = self.iter().filter(|subflow| !subflow.is_over()).count();
        if used < limit { Ok(()) } else { Err(JoinError::TooMany(limit)) }
    }

    /// The largest datagram that all established ones carry, if there is one.
    pub(super) fn max_datagram(&self) -> Option<usize> {
        let open = self.iter().filter(|subflow| subflow.is_established());
        open.map(|subflow| subflow.connection.max_datagram()).min()
    }

    /// The round-trip time of the one at that place, or RFC 4340's default.
    pub(super) fn rtt(&self, place: usize) -> Duration {
        self[place].connection.rtt_estimate().unwrap_or(DEFAULT_RTT)
    }

    /// Sets whether one that has received a CloseReq waits with its Close.
    pub(super) fn hold_closes(&mut self, holds: bool) {
        for subflow in &mut self.list {
            if let Some(out) = subflow.connection.multipath_options() {
                out.holds_close = holds;
            }
        }
    }

    /// Sets whether they probe the path MTU, those that join later included.
    pub(super) fn hold_path_probes(&mut self, now: Instant, holds: bool) {
        self.holds_probes = holds;
        self.list.iter_mut().for_each(|subflow| subflow.connection.hold_path_probes(now, holds));
    }

    /// Sets whether the application cannot keep up, also for those that join later.
    pub(super) fn set_slow_receiver(&mut self, slow: bool) {
        self.is_slow = slow;
        self.list.iter_mut().for_each(|subflow| subflow.connection.set_slow_receiver(slow));
    }
}
