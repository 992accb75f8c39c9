//! An application tells a connection that there will be no path for a while.

use whimbrel_proto::FreezeScope;
use whimbrel_units::Instant;

use crate::{Lead, Socket};

impl Socket {
    /// There will be no path for a while: sends no data any more, has the peer send none, or both, until
    /// [`Socket::unfreeze`]. What the application hands over meanwhile waits as long as the send queue has room and its
    /// deadlines allow. The peer is told if it knows of freezing ([`whimbrel_proto::config::FreezeConfig::offer`]); where there is
    /// no path already, tell this end only.
    pub fn freeze(&self, scope: FreezeScope) {
        self.command(|connection, now| connection.freeze(now, scope));
    }

    /// Freezes `lead` before an outage that is foreseen for `outage` on this socket's clock; at once where that is nearer.
    pub async fn freeze_before(&self, outage: Instant, lead: Lead, scope: FreezeScope) {
        let rtt = self.snapshot().and_then(|snapshot| snapshot.sender.rtt.or(snapshot.rtt));
        self.shared.clock.sleep_until(lead.before(outage, rtt)).await;
        self.freeze(scope);
    }

    /// There is a path again: data go on, with CCIDs 3 and 4 at the rate of before, which is then probed beyond.
    pub fn unfreeze(&self, scope: FreezeScope) {
        self.command(|connection, now| connection.unfreeze(now, scope));
    }

    /// Packets take another path, without a gap, which may carry more: tries to find out (CCIDs 3 and 4). Says whether it
    /// will: see [`whimbrel_proto::Connection::probe`].
    pub fn probe(&self) -> bool {
        let mut probes = false;
        self.command(|connection, now| probes = connection.probe(now));
        probes
    }
}
