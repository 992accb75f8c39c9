//! Notices to the user of a connection, each once or seldom.

use whimbrel_units::{Duration, Instant};

use crate::link::View;

/// Time between two notices of the same kind.
const AGAIN: Duration = Duration::from_secs(10);

/// Notices so far.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The user knows that nothing listens for some datagrams.
    pub(super) is_unheard: bool,
    /// The ends have agreed on repair, or have not.
    repairs: Option<bool>,
    /// Frames so far of which no repeat could arrive in time.
    without_round: u64,
    /// Time of the last notice on the latency.
    short_at: Option<Instant>,
}

impl Told {
    /// A notice, if repair within `latency` cannot do what the user expects of it.
    pub(super) fn of_repair(
        &mut self,
        now: Instant,
        latency: Option<Duration>,
        view: &View,
    ) -> Option<String> {
        let latency = latency?;
        // The ends agree before the connection opens; counters are also absent once it has ended.
        let is_first = self.repairs.is_none();
        let repairs = *self.repairs.get_or_insert(view.repair.is_some());
        if !repairs {
            let text = "the other end does not repair (--latency 0 there, or an earlier version): lost datagrams stay lost";
            return is_first.then(|| text.to_owned());
        }
        let without_round = view.repair?.without_round;
        let goes_on = without_round > std::mem::replace(&mut self.without_round, without_round);
        let rtt = view.rtt.filter(|rtt| *rtt > latency && goes_on)?;
        if self.short_at.is_some_and(|at| now < at + AGAIN) {
            return None;
        }
        self.short_at = Some(now);
        Some(format!(
            "latency {} ms is below the round-trip time of {} ms: no repeat arrives in time, parity alone repairs",
            milliseconds(latency),
            milliseconds(rtt)
        ))
    }
}

/// Milliseconds, to a tenth where there are several.
fn milliseconds(time: Duration) -> f64 {
    let digits = if time < Duration::from_millis(10) { 1e3 } else { 1e1 };
    (time.as_secs_f64() * 1e3 * digits).round() / digits
}

#[cfg(test)]
mod tests {
    use whimbrel_net::RepairCounts;

    use super::*;

    /// A connection with that round-trip time, and that counter if the ends have agreed on repair.
    fn view(rtt_ms: u64, without_round: Option<u64>) -> View {
        let repair = without_round.map(|without_round| {
            let mut counts = RepairCounts::default();
            counts.sent.without_round = without_round;
            counts.into()
        });
        View { rtt: Some(Duration::from_millis(rtt_ms)), repair, ..View::default() }
    }

    #[test]
    fn a_latency_below_the_round_trip_time_is_told_again_if_it_goes_on() {
        let (mut told, latency) = (Told::default(), Some(Duration::from_millis(20)));
        let mut at =
            |s, rtt, frames| told.of_repair(Instant::from_secs(s), latency, &view(rtt, Some(frames)));
        let text = "latency 20 ms is below the round-trip time of 60 ms: no repeat arrives in time, parity alone repairs";
        // Frames that waited for the rate miss their round as well.
        assert_eq!((at(0, 60, 0), at(1, 19, 5)), (None, None));
        assert_eq!(at(2, 60, 6).as_deref(), Some(text));
        assert_eq!((at(11, 60, 7), at(12, 60, 7)), (None, None));
        assert_eq!(at(13, 60, 8).as_deref(), Some(text));
        assert_eq!(told.of_repair(Instant::from_secs(60), None, &view(60, Some(9))), None);
    }

    #[test]
    fn an_end_that_does_not_repair_is_told_once() {
        let (mut told, latency) = (Told::default(), Some(Duration::from_millis(150)));
        let text = told.of_repair(Instant::ZERO, latency, &view(10, None)).expect("a notice");
        assert!(text.contains("the other end does not repair"), "{text}");
        assert_eq!(told.of_repair(Instant::from_secs(60), latency, &view(10, None)), None);
        // Without repair at this end nothing is expected.
        assert_eq!(Told::default().of_repair(Instant::ZERO, None, &view(10, None)), None);
        // A connection that repaired has ended.
        let mut told = Told::default();
        assert_eq!(told.of_repair(Instant::ZERO, latency, &view(10, Some(0))), None);
        assert_eq!(told.of_repair(Instant::from_secs(1), latency, &view(10, None)), None);
    }

    #[test]
    fn short_times_keep_their_digits() {
        let [short, long] = [Duration::from_micros(1), Duration::from_micros(60_123)].map(milliseconds);
        assert_eq!((short, long), (0.001, 60.1));
    }
}
