//! The connection's own timers. CCIDs manage their own.

use whimbrel_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Time limit of RESPOND, PARTOPEN and closing, in maximum segment lifetimes (RFC 4340, Sections 8.1.3 and
/// 8.1.5).
pub(super) const LIMIT_IN_MSL: u64 = 4;

/// Purpose of a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Timer {
    /// Retransmission of the client's Request (RFC 4340, Section 8.1.1), or of the server's Listen (RFC 5596,
    /// Section 2.2.2).
    Request,
    /// The client stops retransmitting its Request (RFC 4340, Section 8.1.1), or the server its invitation.
    Connect,
    /// RESPOND or PARTOPEN has lasted 4 MSL (RFC 4340, Sections 8.1.3 and 8.1.5).
    Handshake,
    /// Retransmission of the acknowledgement in PARTOPEN (RFC 4340, Section 8.1.5).
    PartOpenAck,
    /// Retransmission of Close or CloseReq (RFC 4340, Section 8.3).
    Close,
    /// Closing has lasted 4 MSL without an answer.
    GiveUpClosing,
    /// TIMEWAIT ends after 2 MSL (RFC 4340, Section 8.3).
    TimeWait,
    /// The Sequence Window has been full for a while: a Sync requests an acknowledgement.
    Probe,
    /// The peer could not accept data because of a protocol constraint: none are sent for now (RFC 4340,
    /// Section 11.7.2).
    Constraint,
    /// A minute has passed since a CCID was changed: it may be changed again (RFC 4340, Section 10.5).
    CcidHold,
    /// The idle limit: no packet has been received for that time.
    Idle,
    /// Keep-alive: no packet was sent for as long as NATs keep mappings.
    KeepAlive,
    /// Next step of path MTU discovery (RFC 8899).
    PathMtu,
    /// Repetition of the announcement of this client's address.
    Announce,
    /// This client has received nothing for a while after data.
    Silence,
    /// Data was sent and nothing came back for the time that counts as an outage: Syncs ask for the peer.
    Outage,
    /// Repetition of a Freeze or Unfreeze.
    RepeatFreeze,
    /// Verification of a freeze that the peer requested.
    VerifyFreeze,
    /// The limit of local freezes has passed.
    LocalFreeze,
    /// The limit of freezes requested by the peer has passed.
    RemoteFreeze,
}

impl Timer {
    const ALL: [Self; 20] = [
        Self::Request,
        Self::Connect,
        Self::Handshake,
        Self::PartOpenAck,
        Self::Close,
        Self::GiveUpClosing,
        Self::TimeWait,
        Self::Probe,
        Self::Constraint,
        Self::CcidHold,
        Self::Idle,
        Self::KeepAlive,
        Self::PathMtu,
        Self::Announce,
        Self::Silence,
        Self::Outage,
        Self::RepeatFreeze,
        Self::VerifyFreeze,
        Self::LocalFreeze,
        Self::RemoteFreeze,
    ];
}

/// The deadlines of all timers.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    deadlines: [Instant; Timer::ALL.len()],
    /// The earliest of them.
    next: Instant,
}

impl Timers {
    /// Creates the timers, none of them running.
    pub(crate) const fn new() -> Self {
        Self { deadlines: [Instant::FAR_FUTURE; Timer::ALL.len()], next: Instant::FAR_FUTURE }
    }

    /// Starts or restarts a timer.
    pub(crate) fn set(&mut self, timer: Timer, deadline: Instant) {
        self.deadlines[timer as usize] = deadline;
        self.update();
    }

    /// Stops a timer.
    pub(crate) fn stop(&mut self, timer: Timer) {
        self.set(timer, Instant::FAR_FUTURE);
    }

    /// Stops all timers.
    pub(crate) fn stop_all(&mut self) {
        *self = Self::new();
    }

    /// `true` if the timer is running.
    pub(crate) fn is_running(&self, timer: Timer) -> bool {
        self.deadlines[timer as usize] != Instant::FAR_FUTURE
    }

    /// Expiration of a timer.
    #[cfg(test)]
    pub(crate) fn deadline(&self, timer: Timer) -> Instant {
        self.deadlines[timer as usize]
    }

    /// Expiration of the next timer; [`Instant::FAR_FUTURE`] if none is running.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Stops and returns a timer that has expired at `now`, in the order of declaration.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        if self.next > now {
            return None;
        }
        let due = Timer::ALL.into_iter().find(|timer| self.deadlines[*timer as usize] <= now)?;
        self.stop(due);
        Some(due)
    }

    fn update(&mut self) {
        self.next = self.deadlines.iter().copied().min().unwrap_or(Instant::FAR_FUTURE);
    }
}

/// An interval that doubles up to a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    interval: Duration,
    limit: Duration,
}

impl Backoff {
    /// RFC 4340 backs off to one packet every 64 seconds (Sections 8.1.1, 8.3).
    pub(crate) const LIMIT: Duration = Duration::from_secs(64);

    /// Creates a backoff with that first interval, up to 64 s.
    pub(crate) fn new(first: Duration) -> Self {
        Self::within(first, Self::LIMIT)
    }

    /// Creates a backoff with that first interval, up to `limit`.
    pub(crate) fn within(first: Duration, limit: Duration) -> Self {
        Self { interval: first.min(limit), limit }
    }

    /// The current interval.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Doubles the interval, up to the limit.
    pub(crate) fn back_off(&mut self) {
        self.interval = (self.interval * 2).min(self.limit);
    }

    /// Returns the current interval and doubles it.
    pub(crate) fn take(&mut self) -> Duration {
        let interval = self.interval;
        self.back_off();
        interval
    }
}
