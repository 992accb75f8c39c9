//! Times at which the state of a connection is updated: often while it carries something, seldom while it
//! does not.
//!
//! A relay may have thousands of connections, most of which are idle: ten updates a second of each would
//! keep a processor busy.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// Time between two updates of the state, and of the message to encoders.
pub(super) const UPDATE_TIME: Duration = Duration::from_millis(100);
/// Time between two looks whether the rate has fallen, where programs send: half a frame of a camera at 25
/// frames a second. An encoder that learns of it with the next update has filled the queue for three frames.
const GLANCE_TIME: Duration = Duration::from_millis(20);
/// Time between two updates while there is no traffic.
const REST_TIME: Duration = Duration::from_secs(5);
/// Updates without traffic before a connection rests, about a second: one with ten datagrams a second would
/// return its memory, and expand its keys again, for each of them.
const QUIET: u8 = 10;

/// Due task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// An update.
    Update,
    /// A look whether an update should be earlier.
    Glance,
}

/// Times of the updates of one connection.
#[derive(Debug)]
pub(super) struct Pace {
    timer: Pin<Box<Sleep>>,
    /// From the end of the timer to the next update.
    left: Duration,
    /// Time between two updates without traffic.
    rest: Duration,
    has_traffic: bool,
    /// Programs of this end have sent since the last update.
    has_sent: bool,
    /// Programs had sent before the last update: there are looks until the next one.
    glances: bool,
    /// Updates in a row without traffic.
    quiet: u8,
}

impl Pace {
    /// The first update is due at once. Without traffic, one is due each `rest`, or each 5 s if that is
    /// shorter.
    pub(super) fn new(rest: Duration) -> Self {
        let timer = Box::pin(sleep(Duration::ZERO));
        let left = Duration::ZERO;
        let rest = rest.min(REST_TIME);
        Self { timer, left, rest, has_traffic: true, has_sent: false, glances: false, quiet: 0 }
    }

    /// Waits until something is due. Cancel safe.
    pub(super) async fn due(&mut self) -> Due {
        self.timer.as_mut().await;
        if self.left.is_zero() { Due::Update } else { Due::Glance }
    }

    /// Waits for the next look, or the update.
    pub(super) fn look_on(&mut self) {
        let time = if self.glances { self.left.min(GLANCE_TIME) } else { self.left };
        self.left -= time;
        self.timer.as_mut().set(sleep(time));
    }

    /// The connection carries something.
    pub(super) fn mark(&mut self) {
        self.has_traffic = true;
        if self.is_resting() {
            self.quiet = 0;
            self.left = UPDATE_TIME;
            self.look_on();
        }
    }

    /// Programs of this end have sent something.
    pub(super) fn mark_sent(&mut self) {
        self.has_sent = true;
        self.mark();
    }

    /// `true` if there was no traffic for a second before this update.
    pub(super) fn is_idle(&self) -> bool {
        !self.has_traffic && self.quiet + 1 >= QUIET
    }

    fn is_resting(&self) -> bool {
        self.quiet >= QUIET
    }

    /// Sets the time of the next update, which is `line` from now at the latest.
    pub(super) fn next(&mut self, line: Duration) {
        self.glances = std::mem::take(&mut self.has_sent);
        self.quiet = if std::mem::take(&mut self.has_traffic) { 0 } else { (self.quiet + 1).min(QUIET) };
        if self.is_resting() {
            self.left = Duration::ZERO;
            self.timer.as_mut().set(sleep(self.rest));
        } else {
            self.left = UPDATE_TIME.min(line);
            self.look_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    /// `true` if an update is due within that time.
    async fn is_due(pace: &mut Pace, milliseconds: u64) -> bool {
        let update = async {
            while pace.due().await == Due::Glance {
                pace.look_on();
            }
        };
        timeout(Duration::from_millis(milliseconds), update).await.is_ok()
    }

    #[tokio::test]
    async fn updates_are_rare_without_traffic_and_frequent_with_it() {
        let mut pace = Pace::new(Duration::from_secs(60));
        assert!(is_due(&mut pace, 50).await);
        for update in 0..=QUIET {
            pace.next(Duration::from_secs(1));
            assert!(is_due(&mut pace, 300).await);
            assert_eq!(pace.is_idle(), update == QUIET, "{update}");
            if update == 0 {
                pace.mark();
            }
        }
        pace.next(Duration::from_secs(1));
        assert!(!is_due(&mut pace, 300).await, "it rests");
        pace.mark();
        assert!(is_due(&mut pace, 300).await && !pace.is_idle());
        // A line is due before the next regular update.
        pace.next(Duration::from_millis(1));
        assert!(is_due(&mut pace, 60).await);
    }

    #[tokio::test(start_paused = true)]
    async fn there_are_looks_between_updates_where_programs_send() {
        let mut pace = Pace::new(Duration::from_secs(5));
        assert_eq!(pace.due().await, Due::Update);
        for (sends, looks) in [(true, 4), (false, 0), (true, 4)] {
            pace.mark();
            if sends {
                pace.mark_sent();
            }
            pace.next(Duration::from_secs(1));
            let mut found = 0;
            while pace.due().await == Due::Glance {
                found += 1;
                pace.look_on();
            }
            assert_eq!(found, looks, "programs send: {sends}");
        }
    }
}
