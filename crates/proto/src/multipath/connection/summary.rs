//! A connection over several paths as one, for observation.

use whimbrel_units::DataRate;

use super::MultipathSnapshot;
use crate::multipath::{SubflowSnapshot, SubflowStage};
use crate::{ConnectionSnapshot, SenderSnapshot};

impl MultipathSnapshot {
    /// The subflows that carry data: established, and not failed.
    pub fn in_use(&self) -> impl Iterator<Item = &SubflowSnapshot> + Clone {
        self.subflows.iter().filter(|it| it.stage == SubflowStage::Established && it.is_alive)
    }

    /// The state of the whole connection: rates are sums over the subflows in use, counts the connection's,
    /// the round-trip time the least, the loss event rate the greatest, and all else comes from the first
    /// subflow in use, or of the first one. `None` while there is no subflow.
    pub fn whole(&self) -> Option<ConnectionSnapshot> {
        let first = self.in_use().next().or(self.subflows.first())?;
        let mut whole = first.connection.clone();
        let used: Vec<_> = self.in_use().map(|it| &it.connection).collect();
        let all = || self.subflows.iter().map(|it| &it.connection);
        if !used.is_empty() {
            let senders = || used.iter().map(|it| &it.sender);
            let total = |of: fn(&SenderSnapshot) -> u32| senders().map(of).sum();
            whole.rtt = used.iter().filter_map(|it| it.rtt).min();
            whole.sender.rtt = senders().filter_map(|it| it.rtt).min();
            // Without a limit on one of them there is none on all.
            whole.sender.allowed_rate = sum(senders().map(|it| it.allowed_rate));
            whole.sender.receive_rate = sum(senders().map(|it| it.receive_rate));
            whole.sender.loss_event_rate = senders().filter_map(|it| it.loss_event_rate).reduce(f64::max);
            whole.sender.cwnd = whole.sender.cwnd.map(|_| total(|it| it.cwnd.unwrap_or(0)));
            whole.sender.pipe = whole.sender.pipe.map(|_| total(|it| it.pipe.unwrap_or(0)));
            whole.receiver.receive_rate = sum(used.iter().map(|it| it.receiver.receive_rate));
        }
        whole.sender.lost = all().map(|it| it.sender.lost).sum();
        whole.sender.marked = all().map(|it| it.sender.marked).sum();
        whole.receiver.lost = self.statistics.missing;
        whole.receiver.lost_wireless = all().map(|it| it.receiver.lost_wireless).sum();
        whole.receiver.marked = all().map(|it| it.receiver.marked).sum();
        (whole.queued_datagrams, whole.queued_bytes) = (self.queued_datagrams, self.queued_bytes);
        (whole.max_datagram, whole.reordering) = (self.max_datagram, self.reordering);
        let counts = &mut whole.statistics;
        counts.packets_sent = all().map(|it| it.statistics.packets_sent).sum();
        counts.packets_received = all().map(|it| it.statistics.packets_received).sum();
        counts.packets_ignored = all().map(|it| it.statistics.packets_ignored).sum();
        counts.datagrams_discarded = all().map(|it| it.statistics.datagrams_discarded).sum();
        counts.datagrams_lost_at_peer = all().map(|it| it.statistics.datagrams_lost_at_peer).sum();
        counts.syncs_sent = all().map(|it| it.statistics.syncs_sent).sum();
        counts.path_probes_sent = all().map(|it| it.statistics.path_probes_sent).sum();
        counts.datagrams_sent = self.statistics.datagrams_sent;
        counts.bytes_sent = self.statistics.bytes_sent;
        counts.datagrams_dropped = self.statistics.datagrams_dropped;
        counts.datagrams_too_large = self.statistics.datagrams_too_large;
        counts.datagrams_received = self.statistics.datagrams_received;
        counts.bytes_received = self.statistics.bytes_received;
        Some(whole)
    }
}

/// The sum; `None` if one is unknown.
fn sum(mut rates: impl Iterator<Item = Option<DataRate>>) -> Option<DataRate> {
    rates
        .try_fold(0.0, |sum, rate| Some(sum + rate?.as_bits_per_second()))
        .map(DataRate::from_bits_per_second)
}
