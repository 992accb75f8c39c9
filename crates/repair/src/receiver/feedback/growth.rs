//! Growth of the delay since the last report.

use whimbrel_units::{Duration, Instant};

use crate::wire::AduHeader;

/// The packet of the last report.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// Its arrival, and its timestamp.
    reported: Option<(Instant, u32)>,
}

impl Growth {
    /// A report is about the packet with the timestamp `time`, which arrived `at` that time.
    pub(super) fn on_report(&mut self, at: Instant, time: u32) {
        self.reported = Some((at, time));
    }

    /// `true` if the packet with the timestamp `time` was on its way for longer than the reported one, by
    /// `least`.
    pub(super) fn is_news(&self, now: Instant, time: u32, least: Duration) -> bool {
        self.reported.is_some_and(|(at, before)| {
            let passed = (now - at).as_nanos().cast_signed();
            passed.saturating_sub(AduHeader::difference(time, before)) >= least.as_nanos().cast_signed()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(20);

    #[test]
    fn a_delay_that_grows_is_news() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let time = |ms| AduHeader::time_of(at(ms));
        let mut growth = Growth::default();
        assert!(!growth.is_news(at(500), time(0), LEAST), "nothing was reported");
        growth.on_report(at(70), time(50));
        assert!(!growth.is_news(at(219), time(180), LEAST), "19 ms more");
        assert!(growth.is_news(at(221), time(180), LEAST), "21 ms more");
        assert!(!growth.is_news(at(181), time(180), LEAST), "19 ms less");
        growth.on_report(at(221), time(180));
        assert!(!growth.is_news(at(240), time(200), LEAST), "as long as reported");
    }
}
