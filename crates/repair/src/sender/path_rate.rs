//! The rate of a path, from the queueing delays of two packets and what was sent between them.

use alloc::collections::VecDeque;

use whimbrel_units::{DataRate, Duration};

use super::flight::Packet;
use super::reported::Echo;
use crate::fecframe::Esi;

/// The least queueing delay, and time between two arrivals, that show the rate of the path. Between two
/// packets in a row, a receiver that was busy for some milliseconds would look like a slow path.
const LEAST: Duration = Duration::from_millis(15);
/// The longest time of an octet, in seconds.
const SLOWEST: f64 = 1e-3;
/// Halvings of the search, for a picosecond.
const STEPS: usize = 30;
/// The most packets between two arrivals; a receiver reports after 64.
const MOST_BETWEEN: i32 = 512;

/// Packets in flight: those from the symbol `first` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    pub(super) first: Esi,
    pub(super) packets: &'a VecDeque<Packet>,
}

impl Window<'_> {
    /// The times and octets from one packet to the next, from `earlier` to `later`.
    fn between(&self, earlier: Esi, later: Esi) -> Option<impl Iterator<Item = (Duration, u64)> + Clone> {
        let skipped = usize::try_from(earlier.since(self.first)).ok()?;
        let count = Some(later.since(earlier)).filter(|count| (1..=MOST_BETWEEN).contains(count))?;
        let packets = self.packets.iter().skip(skipped);
        let pairs = packets.clone().zip(packets.skip(1)).take(count as usize);
        Some(pairs.map(|(one, next)| (next.sent.saturating_since(one.sent), next.octets - one.octets)))
    }
}

/// The rate of the path, by the packets that reports echo.
#[derive(Debug, Default)]
pub(super) struct PathRate {
    /// The longest budget: the path was empty.
    longest: Duration,
    /// The last packet with a rate, and its budget.
    last: Option<(Echo, Duration)>,
    /// The last two rates.
    rates: [Option<f64>; 2],
}

impl PathRate {
    /// The rate; `None` where no queue shows it. The higher one of two, since a pause of the receiver is no
    /// slower path.
    pub(super) fn get(&self) -> Option<DataRate> {
        let [one, other] = self.rates;
        Some(DataRate::from_bytes_per_second(one?.max(other?)))
    }

    /// A report echoes a packet, which shows that `budget`.
    pub(super) fn on_echo(&mut self, echo: Echo, budget: Duration, packets: Window<'_>) {
        self.longest = self.longest.max(budget);
        let queue_of = |budget| self.longest.saturating_sub(budget);
        let rate = match self.last {
            Some((last, before)) => {
                let (before, after) = (queue_of(before), queue_of(budget));
                if echo.sent + after < last.sent + before + LEAST {
                    return;
                }
                let sent = packets.between(last.esi, echo.esi).filter(|_| after >= LEAST);
                sent.map(|sent| rate_of(before, after, sent))
            }
            None => None,
        };
        self.last = Some((echo, budget));
        self.rates = [self.rates[1], rate];
    }
}

/// The rate, in octets per second, of a queue that delayed a packet by `before` and a later one by `after`.
/// `sent` are the packets between, the later one included: the time since the last one, and octets.
///
/// Octets divided by the time between the arrivals would be less where the queue was empty for a part of that
/// time, for example before a large frame.
fn rate_of(before: Duration, after: Duration, sent: impl Iterator<Item = (Duration, u64)> + Clone) -> f64 {
    let delay_at = |time: f64| {
        sent.clone().fold(before.as_secs_f64(), |queue, (gap, octets)| {
            (queue - gap.as_secs_f64()).max(0.0) + octets as f64 * time
        })
    };
    let (mut low, mut high) = (0.0, SLOWEST);
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        *(if delay_at(middle) > after.as_secs_f64() { &mut high } else { &mut low }) = middle;
    }
    1.0 / high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(before: u64, after: u64, sent: &[(u64, u64)]) -> f64 {
        let sent = sent.iter().map(|&(gap, octets)| (Duration::from_millis(gap), octets));
        rate_of(Duration::from_millis(before), Duration::from_millis(after), sent)
    }

    #[test]
    fn a_rate_explains_the_delays() {
        let is_near = |rate: f64, expected: f64| (rate / expected - 1.0).abs() < 2e-3;
        // 1,000 octets every 10 ms to a path that carries 50,000 octets per second.
        assert!(is_near(rate(0, 30, &[(10, 1000), (10, 1000), (10, 1000)]), 60e3));
        assert!(is_near(rate(20, 40, &[(10, 1000), (10, 1000)]), 50e3));
        // The queue becomes shorter.
        assert!(is_near(rate(90, 40, &[(40, 0), (30, 1000)]), 50e3));
        // An empty queue for 80 ms before a large frame.
        assert!(is_near(rate(0, 40, &[(100, 0), (0, 1000), (0, 1000)]), 50e3));
    }
}
