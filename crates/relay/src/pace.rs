//! Times at which the state of a connection is updated: often while it carries something, seldom while it does not.
//!
//! A relay may have thousands of connections, most of which are idle: ten updates a second of each would keep a processor
//! busy.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// Time between two updates of the state, and of the message to encoders.
const UPDATE_TIME: Duration = Duration::from_millis(100);
/// Time between two updates while there is no traffic.
const REST_TIME: Duration = Duration::from_secs(5);

/// Times of the updates of one connection.
#[derive(Debug)]
pub(super) struct Pace {
    timer: Pin<Box<Sleep>>,
    /// Time between two updates without traffic.
    rest: Duration,
    has_traffic: bool,
    is_resting: bool,
}

impl Pace {
    /// The first update is due at once. Without traffic, one is due each `rest`, or each 5 s if that is shorter.
    pub(super) fn new(rest: Duration) -> Self {
        let timer = Box::pin(sleep(Duration::ZERO));
        Self { timer, rest: rest.min(REST_TIME), has_traffic: true, is_resting: false }
    }
    /// Waits until an update is due. Cancel safe.
    pub(super) async fn due(&mut self) {
        self.timer.as_mut().await;
    }
    /// The connection carries something.
    pub(super) fn mark(&mut self) {
        self.has_traffic = true;
        if std::mem::take(&mut self.is_resting) {
            self.timer.as_mut().set(sleep(UPDATE_TIME));
        }
    }
    /// `true` if there was no traffic since the last update.
    pub(super) fn is_idle(&self) -> bool {
        !self.has_traffic
    }
    /// Sets the time of the next update, which is `line` from now at the latest.
    pub(super) fn next(&mut self, line: Duration) {
        self.is_resting = !std::mem::take(&mut self.has_traffic);
        let time = if self.is_resting { self.rest } else { UPDATE_TIME.min(line) };
        self.timer.as_mut().set(sleep(time));
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    /// `true` if an update is due within that time.
    async fn is_due(pace: &mut Pace, milliseconds: u64) -> bool {
        timeout(Duration::from_millis(milliseconds), pace.due()).await.is_ok()
    }

    #[tokio::test]
    async fn updates_are_rare_without_traffic_and_frequent_with_it() {
        let mut pace = Pace::new(Duration::from_secs(60));
        assert!(is_due(&mut pace, 50).await);
        pace.next(Duration::from_secs(1));
        assert!(is_due(&mut pace, 300).await);
        assert!(pace.is_idle());
        pace.next(Duration::from_secs(1));
        assert!(!is_due(&mut pace, 300).await, "it rests");
        pace.mark();
        assert!(is_due(&mut pace, 300).await && !pace.is_idle());
        // A line is due before the next regular update.
        pace.next(Duration::from_millis(1));
        assert!(is_due(&mut pace, 60).await);
    }
}
