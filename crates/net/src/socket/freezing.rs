//! Freezing of a connection by the application, for an outage of the path.

use whimbrel_proto::FreezeScope;
use whimbrel_units::Instant;

use super::Socket;
use crate::Lead;

impl Socket {
    /// Freezes before an outage of the path: stops sending data, makes the peer stop, or both, until
    /// [`Socket::unfreeze`]. Datagrams of the application are queued meanwhile as long as the send queue has
    /// room and their deadlines allow. The peer is notified if it has negotiated freezing
    /// ([`whimbrel_proto::config::FreezeConfig::offer`]); if the path is gone already, freeze this end only.
    /// Over several paths it has no effect: another path is better than waiting.
    pub fn freeze(&self, scope: FreezeScope) {
        self.command(|connection, now| connection.freeze(now, scope));
    }

    /// Freezes `lead` before an outage predicted for `outage` on this socket's clock; at once if nearer.
    pub async fn freeze_before(&self, outage: Instant, lead: Lead, scope: FreezeScope) {
        let rtt = self.snapshot().and_then(|snapshot| snapshot.sender.rtt.or(snapshot.rtt));
        self.shared.clock.sleep_until(lead.before(outage, rtt)).await;
        self.freeze(scope);
    }

    /// Unfreezes when the path is back: data resume, with CCIDs 3 and 4 at the previous rate, from which they
    /// probe upwards.
    pub fn unfreeze(&self, scope: FreezeScope) {
        self.command(|connection, now| connection.unfreeze(now, scope));
    }

    /// Probes the capacity after a change of path without an outage (CCIDs 3 and 4). Returns `true` if it
    /// does: see [`whimbrel_proto::Connection::probe`].
    pub fn probe(&self) -> bool {
        let mut probes = false;
        self.command(|connection, now| probes = connection.probe(now));
        probes
    }
}
