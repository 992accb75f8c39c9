//! Wakes the driver at a deadline.
//!
//! The runtime's timers have a grain of a millisecond. Pacing needs a finer one if the round-trip
//! time is no longer than that: TFRC may catch up on what it missed, but only within a round-trip
//! time (RFC 5348, Section 4.6), so that on a path of 0.1 ms a sender that wakes every millisecond
//! gets a tenth of its rate. Deadlines in the near future therefore use a timer of the kernel.

use std::pin::Pin;

use tokio::time::Sleep;
use whimbrel_units::{Duration, Instant};

use crate::clock::Clock;
use fine_timer::FineTimer;

#[cfg(target_os = "linux")]
mod fine_timer;
#[cfg(not(target_os = "linux"))]
#[path = "alarm/no_fine_timer.rs"]
mod fine_timer;

/// Further ahead than this, the runtime's timers are good enough.
const SOON: Duration = Duration::from_millis(5);
/// Wake-ups are at least this far apart: each costs some microseconds of processor time.
const GRAIN: Duration = Duration::from_micros(50);

/// Wakes the driver at a deadline.
#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Clock,
    /// The deadline; [`Instant::FAR_FUTURE`] if there is none.
    deadline: Instant,
    /// The fine timer is the one to wait for.
    is_fine: bool,
    fine: FineTimer,
    coarse: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            deadline: Instant::FAR_FUTURE,
            is_fine: false,
            fine: FineTimer::default(),
            coarse: None,
        }
    }

    /// Rings at `deadline`, or never.
    pub(crate) fn set(&mut self, deadline: Option<Instant>) {
        let deadline = deadline.unwrap_or(Instant::FAR_FUTURE);
        if deadline == self.deadline {
            return;
        }
        self.deadline = deadline;
        if deadline == Instant::FAR_FUTURE {
            return;
        }
        let ahead = deadline - self.clock.now();
        self.is_fine = ahead < SOON && self.fine.set(ahead.max(GRAIN));
        if !self.is_fine {
            let at = self.clock.system_instant(deadline);
            match &mut self.coarse {
                Some(sleep) => sleep.as_mut().reset(at),
                None => self.coarse = Some(Box::pin(tokio::time::sleep_until(at))),
            }
        }
    }

    /// Waits for the deadline.
    pub(crate) async fn ring(&mut self) {
        match &mut self.coarse {
            _ if self.deadline == Instant::FAR_FUTURE => std::future::pending().await,
            _ if self.is_fine => self.fine.expired().await,
            Some(sleep) => sleep.as_mut().await,
            None => std::future::pending().await,
        }
        self.deadline = Instant::FAR_FUTURE;
    }
}

#[cfg(test)]
mod tests;
