//! What an application chooses about handovers.

pub use whimbrel_control::freeze::{Restart, RestoreLimit, Silence};
use whimbrel_units::Duration;

use super::check;
use crate::{ConfigError, config_setters};

/// What an application chooses about [`Connection::freeze`](crate::Connection::freeze). By default an end can be frozen by
/// itself, but tells and hears nothing of it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct FreezeConfig {
    /// Whether the other end is asked to take part, by the feature Freezing (120): to freeze and unfreeze at this end's
    /// word and have this end do so, and with CCIDs 3 and 4 to help the sender restore its rate and probe. With an end that does not,
    /// everything is as without.
    pub offer: bool,
    /// How a sender comes back from a freeze (CCIDs 3 and 4).
    pub restart: Restart,
    /// The most that a restored rate may be (CCIDs 3 and 4).
    pub restore_at_most: RestoreLimit,
    /// How long the other end has to be silent for that to count as a freeze that nobody announced (CCIDs 3 and 4).
    /// Never without.
    pub silence: Option<Silence>,
    /// How long a freeze lasts at most that this end's application asked for: then it ends by itself. For ever
    /// without.
    pub local_limit: Option<Duration>,
    /// How long a freeze lasts at most that the other end asked for. The packet that asked may be a forgery.
    pub remote_limit: Duration,
}

impl Default for FreezeConfig {
    /// No offer; the restart that did best over wider, equal and narrower paths (`papers/freeze`, `restart-rules`), which is
    /// [`Restart::Following`]; no limit to own freezes, and ten minutes to the other end's.
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
    /// What of it concerns the congestion control.
    pub(crate) fn control(&self) -> whimbrel_control::freeze::FreezeConfig {
        let Self { restart, restore_at_most, silence, .. } = *self;
        whimbrel_control::freeze::FreezeConfig { restart, restore_at_most, silence }
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let at_most = self.restore_at_most.is_valid();
        check(at_most, "freeze.restore_at_most", 0, "a rate, or a fraction above 0 and at most 1")?;
        let silence = self.silence.is_none_or(Silence::is_valid);
        check(silence, "freeze.silence", 0, "a time or a number of round-trip times, or none")?;
        let local = self.local_limit.is_none_or(|limit| !limit.is_zero());
        check(local, "freeze.local_limit", 0, "a time, or none")?;
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
