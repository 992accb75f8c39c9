//! The rate that encoders are told.
//!
//! Congestion control allows what the path carries, and on most paths learns that it is less when a queue
//! overflows: seconds after the first frame was late. With repair, reports state how much of the latency the
//! queue on the path takes, and how fast it grows. An encoder that follows the rate keeps that queue short.

use whimbrel_units::Duration;

/// Share of the latency that is left when the rate has to fall.
const SHORT: f64 = 0.6;
/// Part of the rate of the path that empties the queue.
const FALL: f64 = 0.85;
/// Share of the last rate below which encoders learn of a lower one at once.
const NEWS: f64 = 0.95;
/// Growth of the rate per update.
const GROWTH: f64 = 1.02;

/// Limits of an encoder's rate, besides the allowed one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Room {
    /// Age up to which a datagram that is sent arrives in time.
    pub(super) budget: Duration,
    /// The same on an empty path.
    pub(super) latency: Duration,
    /// The rate of the path in bit/s, where a queue shows it.
    pub(super) path_bps: Option<f64>,
}

/// The rate for encoders, between updates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EncoderRate {
    /// The present limit in bit/s; `None` while there was no queue.
    limit: Option<f64>,
    /// The rate of the last update.
    told: f64,
}

impl EncoderRate {
    /// The rate in bit/s where congestion control allows `allowed`.
    pub(super) fn update(&mut self, allowed: f64, room: Option<Room>) -> f64 {
        self.told = self.within(allowed, room);
        self.told
    }

    /// `true` if the rate has fallen since the last update, so that encoders should learn it at once.
    pub(super) fn has_fallen(mut self, allowed: f64, room: Option<Room>) -> bool {
        self.within(allowed, room) < NEWS * self.told
    }

    fn within(&mut self, allowed: f64, room: Option<Room>) -> f64 {
        let Some(Room { budget, latency, path_bps }) = room else { return allowed };
        let is_short = budget.as_secs_f64() < SHORT * latency.as_secs_f64();
        let limit = self.limit.unwrap_or(f64::INFINITY);
        let limit =
            if is_short { path_bps.map_or(limit, |rate| limit.min(FALL * rate)) } else { limit * GROWTH };
        self.limit = Some(limit).filter(|limit| *limit < allowed);
        limit.min(allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_lowers_the_rate_below_what_arrives_and_it_grows_again() {
        let room = |budget| {
            let latency = Duration::from_millis(120);
            Some(Room { budget: Duration::from_millis(budget), latency, path_bps: Some(1e6) })
        };
        let mut rate = EncoderRate::default();
        assert_eq!(rate.update(5e6, None), 5e6);
        assert_eq!(rate.update(5e6, room(100)), 5e6);
        assert_eq!(rate.update(5e6, room(71)), 0.85e6);
        // A lower limit is not raised by a queue that is still there.
        assert_eq!(rate.update(0.5e6, room(72)), 0.5e6);
        assert_eq!(rate.update(5e6, room(120)), 5e6);
        assert_eq!(rate.update(5e6, room(30)), 0.85e6);
        let grown = (0..35).map(|_| rate.update(5e6, room(120))).last().unwrap_or(0.0);
        assert!((1.69e6..1.71e6).contains(&grown), "{grown}");
    }

    #[test]
    fn a_queue_that_does_not_show_the_rate_of_the_path_leaves_the_rate_where_it_is() {
        let latency = Duration::from_millis(120);
        let room = |path_bps| Some(Room { budget: Duration::from_millis(30), latency, path_bps });
        let mut rate = EncoderRate::default();
        assert_eq!(rate.update(5e6, room(Some(1e6))), 0.85e6);
        assert_eq!(rate.update(5e6, room(None)), 0.85e6);
        assert_eq!(rate.update(5e6, room(Some(0.5e6))), 0.425e6);
    }

    #[test]
    fn a_fall_is_known_without_an_update_and_growth_is_no_news() {
        let room = |budget| {
            let latency = Duration::from_millis(120);
            Some(Room { budget: Duration::from_millis(budget), latency, path_bps: Some(1e6) })
        };
        let mut rate = EncoderRate::default();
        assert!(!rate.has_fallen(1e6, None), "nothing was told");
        rate.update(2e6, room(120));
        assert!(!rate.has_fallen(1.95e6, room(120)) && !rate.has_fallen(4e6, room(120)));
        assert!(rate.has_fallen(1.8e6, room(120)), "it is allowed less");
        assert!(rate.has_fallen(2e6, room(60)), "a queue takes half of the latency");
        rate.update(2e6, room(60));
        assert!(!rate.has_fallen(2e6, room(60)), "it was told");
    }
}
