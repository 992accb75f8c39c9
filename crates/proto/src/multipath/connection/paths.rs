//! The packet size and the reachability of single paths, as the driver reports them.

use whimbrel_units::Instant;

use super::MultipathConnection;
use crate::multipath::{Path, SubflowId};
use crate::{Connection, Role};

/// Counts of datagrams of a multipath connection. A datagram of which several subflows carry copies counts
/// once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct MultipathStatistics {
    /// Number of datagrams sent.
    pub datagrams_sent: u64,
    /// Number of their bytes of application data.
    pub bytes_sent: u64,
    /// Number of datagrams that were dropped instead of being sent.
    pub datagrams_dropped: u64,
    /// Dropped datagrams that were larger than the paths carried by then.
    pub datagrams_too_large: u64,
    /// Number of datagrams delivered to the application.
    pub datagrams_received: u64,
    /// Number of their bytes.
    pub bytes_received: u64,
    /// Number of packets of the peer, by their MP_SEQ, that have not arrived: lost, or still under way on a
    /// slower path. In a regular connection the count of lost packets.
    pub missing: u64,
}

impl MultipathConnection {
    /// The largest datagram that [`MultipathConnection::send`] accepts now, in bytes: the least over all
    /// subflows (Section 3.9).
    pub fn max_datagram(&self) -> usize {
        self.subflows.max_datagram().unwrap_or(self.cx.config.max_datagram)
    }

    /// Passes a report about a subflow's path to its connection: see [`Connection::set_max_datagram`],
    /// [`Connection::handle_too_large`] and [`Connection::handle_unreachable`], by which a subflow whose
    /// handshake is under way ends. Returns `false` if the subflow does not exist.
    pub fn on_path(
        &mut self,
        now: Instant,
        subflow: SubflowId,
        report: impl FnOnce(&mut Connection),
    ) -> bool {
        let Some(index) = self.subflows.place(subflow) else { return false };
        report(&mut self.subflows[index].connection);
        self.collect(now, index, None);
        self.fit_datagrams();
        self.fx.report();
        true
    }

    /// `true` if a subflow has that path and these DCCP ports of this end and of the peer, or had them until
    /// recently.
    pub(crate) fn has_subflow(&self, path: Path, ports: [u16; 2]) -> bool {
        self.subflows.iter().any(|subflow| subflow.is_at(path, ports))
    }

    /// This end's role in the first handshake.
    pub fn role(&self) -> Role {
        self.cx.identity.role
    }

    pub(super) fn statistics(&self) -> MultipathStatistics {
        let [datagrams_sent, bytes_sent, datagrams_dropped, datagrams_too_large] = self.fx.sending.counts();
        let missing = match self.cx.is_multipath() {
            true => self.delivery.missing(),
            false => self.subflows.iter().map(|subflow| subflow.connection.snapshot().receiver.lost).sum(),
        };
        MultipathStatistics {
            datagrams_sent,
            bytes_sent,
            datagrams_dropped,
            datagrams_too_large,
            datagrams_received: self.fx.events.delivered,
            bytes_received: self.fx.events.delivered_bytes,
            missing,
        }
    }
}
