//! The times of a client's Requests.

use whimbrel_units::Duration;

use crate::ConfigError;
use crate::error::check;

/// Least interval between two Requests: at most ten per second leave, regardless of the configuration.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// RFC 4340, Section 8.1.1 backs off to not less than one packet every 64 seconds.
const LONGEST_INTERVAL: Duration = Duration::from_secs(64);

/// Intervals between the Requests of a client that has no answer. They double from the first to the longest
/// one.
///
/// RFC 4340, Section 8.1.1 names about one second for the first and requires at least one Request every 64
/// seconds, and permits "whatever retransmission strategy is followed for retransmitting TCP SYNs" instead.
/// Its example waits so long after a few losses that a path with bursts of loss stays closed while it would
/// carry data for most of the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestSchedule {
    /// Interval before the first retransmission.
    pub first: Duration,
    /// The longest interval, also between the acknowledgements that a client repeats in PARTOPEN. At most 64
    /// s.
    pub longest: Duration,
}

impl RequestSchedule {
    /// Requests after 0, 1, 3, 7, 15, 31, 63, 127 s, as RFC 4340 names them.
    pub const RFC4340: Self = Self { first: Duration::from_secs(1), longest: Duration::from_secs(64) };
    /// Requests after 0, 0.1, 0.3, 0.5 s, and five per second from then on: a Request and its Response have
    /// some 100 bytes each, so that an attempt costs each direction 4 kbit/s. A server answers each Request
    /// with one Response, so that no reply is larger for it.
    ///
    /// A burst of losses that takes eight packets on average, as bursts of a stream's packets do, takes 1.6 s
    /// of Requests in each direction. With two per second it takes 4 s.
    pub const MEDIA: Self = Self { first: Duration::from_millis(100), longest: Duration::from_millis(200) };
}

impl RequestSchedule {
    /// Checks the intervals.
    pub(super) fn validate(self) -> Result<(), ConfigError> {
        check(
            self.first >= LEAST_INTERVAL,
            "timers.requests.first",
            self.first.as_nanos(),
            "at least 100 ms, in nanoseconds",
        )?;
        check(
            (self.first..=LONGEST_INTERVAL).contains(&self.longest),
            "timers.requests.longest",
            self.longest.as_nanos(),
            "from the first interval to 64 s (RFC 4340, Section 8.1.1), in nanoseconds",
        )
    }
}

impl Default for RequestSchedule {
    fn default() -> Self {
        Self::MEDIA
    }
}
