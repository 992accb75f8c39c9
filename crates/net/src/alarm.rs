//! Wakes the driver when something is due.

use std::pin::Pin;

use tokio::time::Sleep;
use whimbrel_units::Instant;

use crate::clock::Clock;

/// Wakes the driver when something is due.
#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Clock,
    sleep: Option<Pin<Box<Sleep>>>,
    armed: Instant,
}

impl Alarm {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, sleep: None, armed: Instant::FAR_FUTURE }
    }

    pub(crate) fn set(&mut self, deadline: Option<Instant>) {
        let deadline = deadline.unwrap_or(Instant::FAR_FUTURE);
        if deadline == self.armed {
            return;
        }
        self.armed = deadline;
        if deadline < Instant::FAR_FUTURE {
            let at = self.clock.system_instant(deadline);
            match &mut self.sleep {
                Some(sleep) => sleep.as_mut().reset(at),
                None => self.sleep = Some(Box::pin(tokio::time::sleep_until(at))),
            }
        }
    }

    pub(crate) async fn ring(&mut self) {
        match &mut self.sleep {
            Some(sleep) if self.armed < Instant::FAR_FUTURE => sleep.as_mut().await,
            _ => std::future::pending().await,
        }
        self.armed = Instant::FAR_FUTURE;
    }
}
