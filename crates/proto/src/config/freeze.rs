//! Configuration of handovers.

pub use whimbrel_control::freeze::{Restart, RestoreLimit, Silence};
use whimbrel_units::Duration;

use crate::error::check;
use crate::{ConfigError, config_setters};

/// Configuration of [`Connection::freeze`](crate::Connection::freeze). By default the application can freeze
/// an end, but the peer takes no part.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct FreezeConfig {
    /// `true` to negotiate the feature Freezing (120) with the peer: each end then freezes and unfreezes at
    /// the other's request, and with CCIDs 3 and 4 the receiver helps the sender restore its rate and probe.
    /// With a peer that does not support it, the connection behaves as without.
    pub offer: bool,
    /// Rule by which a sender restarts after a freeze (CCIDs 3 and 4).
    pub restart: Restart,
    /// Upper bound on a restored rate (CCIDs 3 and 4).
    pub restore_at_most: RestoreLimit,
    /// Time without packets from the peer that counts as an unannounced freeze (CCIDs 3 and 4). From then on
    /// Syncs ask for the peer, at intervals of 1/32 of the time so far, at least of 25 ms and of a quarter of
    /// the round-trip time. `None`: never.
    pub silence: Option<Silence>,
    /// Longest duration of a freeze that this end's application requested, after which it ends by itself.
    /// `None`: no limit.
    pub local_limit: Option<Duration>,
    /// Longest duration of a freeze that the peer requested. The packet that requested it may be forged.
    pub remote_limit: Duration,
}

impl Default for FreezeConfig {
    /// No offer; [`Restart::Following`], the restart rule that did best over wider, equal and narrower paths
    /// (`papers/freeze`, `restart-rules`); no limit to local freezes, and ten minutes for the peer's.
    fn default() -> Self {
        Self {
            offer: false,
            restart: Restart::Following,
            restore_at_most: RestoreLimit::default(),
            silence: None,
            local_limit: None,
            remote_limit: Duration::from_secs(600),
        }
    }
}

impl FreezeConfig {
    /// The part of the configuration that concerns congestion control.
    pub(crate) fn control(&self) -> whimbrel_control::freeze::FreezeConfig {
        let Self { restart, restore_at_most, silence, .. } = *self;
        whimbrel_control::freeze::FreezeConfig { restart, restore_at_most, silence }
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let at_most = self.restore_at_most.is_valid();
        check(at_most, "freeze.restore_at_most", 0, "a rate, or a fraction above 0 and at most 1")?;
        let silence = self.silence.is_none_or(Silence::is_valid);
        check(silence, "freeze.silence", 0, "a positive duration or number of round-trip times, or none")?;
        let local = self.local_limit.is_none_or(|limit| !limit.is_zero());
        check(local, "freeze.local_limit", 0, "a positive duration, or none")?;
        check(!self.remote_limit.is_zero(), "freeze.remote_limit", 0, "a time")
    }
}

config_setters!(FreezeConfig {
    offer: bool,
    restart: Restart,
    restore_at_most: RestoreLimit,
    silence: Option<Silence>,
    local_limit: Option<Duration>,
    remote_limit: Duration,
});
