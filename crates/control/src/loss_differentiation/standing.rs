//! Standing: classification by the standing queue of the path.

use whimbrel_units::{Duration, Instant};

use super::full_size::{FullSize, TripTime};
use super::{Evidence, LossClass, LossDifferentiation, LossGap, PacketArrival, Rott};

/// A loss is congestion if a queue stands on the path, or if it is more than half full; others are wireless.
///
/// [`Spike`](super::Spike) compares the present queueing delay with the range of all trip times. Two kinds of
/// path contradict that comparison:
///
/// - Active queue management drops long before the queue is full. The range comes from slow start, and in
///   comparison the queue of CoDel, PIE or RED is short whenever it drops.
/// - Where nothing else fills the queue, the range comes from the stream's own bursts. The packets of a frame
///   leave together, and the later half of them is above the middle of the range.
///
/// A *standing* queue persists over many packets (RFC 8289, Section 3). Its delay is measured here by the
/// mean over about a second, in which a trip time has the weight of the time since the arrival before it: the
/// packets of a burst, which arrive together, have the weight of one. With `m` this mean, `q` the queueing
/// delay of the packet that reveals the loss and `M` the longest one, a loss is congestion if
///
/// ```text
/// m > max(1 ms, min(5 ms, M/2))    or    q > max(5 ms, M/2)
/// ```
///
/// 5 ms is the target of CoDel (RFC 8289, Section 4.2), which drops nothing from a queue that is shorter. A
/// second is longer than RED, CoDel and PIE need to answer a queue. 1 ms is the error of timestamps on a
/// loaded host.
///
/// A sender on a path with wireless losses alone thus increases its rate until a queue begins to stand.
/// The condition requires that trip times do not vary otherwise: with 5 ms of jitter on average, every loss
/// is congestion. The minimum and `M` cover the last one to two minutes, so that a longer route does not pass
/// for a queue for ever. Only packets of full size have a trip time. Without trip times, every loss is
/// congestion.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    sizes: FullSize,
    queue: Option<Queue>,
    evidence: Evidence,
}

/// The queue of the path.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Extremes of the current period and the one before.
    extremes: [Extremes; 2],
    period_end: Instant,
    /// Mean trip time, relative to `origin`, in nanoseconds.
    mean: f64,
    origin: Rott,
    last: Rott,
    /// Time of the last arrival, of any size.
    at: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Extremes {
    minimum: Rott,
    maximum: Rott,
}

/// Time constant of the mean, in seconds.
const MEMORY: f64 = 1.0;
/// Queueing delay that active queue management tolerates, in nanoseconds.
const TOLERATED: f64 = 5e6;
/// Error of trip times, in nanoseconds.
const NOISE: f64 = 1e6;
/// Period of the extremes.
const PERIOD: Duration = Duration::from_secs(60);

impl Queue {
    fn new(at: Instant, rott: Rott) -> Self {
        let extremes = Extremes { minimum: rott, maximum: rott };
        Self { extremes: [extremes; 2], period_end: at + PERIOD, mean: 0.0, origin: rott, last: rott, at }
    }

    fn on_trip_time(&mut self, at: Instant, rott: Rott) {
        if at >= self.period_end {
            self.extremes = [Extremes { minimum: rott, maximum: rott }, self.extremes[0]];
            self.period_end = at + PERIOD;
        }
        let current = &mut self.extremes[0];
        current.minimum = current.minimum.min(rott);
        current.maximum = current.maximum.max(rott);
        let elapsed = at.saturating_since(self.at).as_secs_f64();
        self.mean += elapsed / (MEMORY + elapsed) * (rott - self.origin - self.mean);
        self.last = rott;
    }

    /// The least and the greatest trip time.
    fn range(&self) -> (Rott, Rott) {
        let [now, before] = self.extremes;
        (now.minimum.min(before.minimum), now.maximum.max(before.maximum))
    }

    fn evidence(&self) -> Evidence {
        let (minimum, maximum) = self.range();
        let standing = (self.mean - (minimum - self.origin)).max(0.0);
        Evidence::Standing { rott: self.last, minimum, maximum, standing }
    }
}

impl Standing {
    /// A classifier without statistics.
    pub fn new() -> Self {
        Self::default()
    }
}

impl LossDifferentiation for Standing {
    fn on_arrival(&mut self, arrival: &PacketArrival) {
        match self.sizes.trip_time(arrival) {
            TripTime::First(rott) => self.queue = Some(Queue::new(arrival.at, rott)),
            TripTime::Next(rott) => {
                self.queue.get_or_insert_with(|| Queue::new(arrival.at, rott)).on_trip_time(arrival.at, rott);
            }
            TripTime::None => {}
        }
        if let Some(queue) = &mut self.queue {
            queue.at = arrival.at;
        }
    }

    fn classify(&mut self, _gap: &LossGap) -> LossClass {
        self.evidence = self.queue.map_or(Evidence::None, |queue| queue.evidence());
        let Evidence::Standing { rott, minimum, maximum, standing } = self.evidence else {
            return LossClass::Congestion;
        };
        let (level, longest) = (rott - minimum, maximum - minimum);
        let half = longest / 2.0;
        let stands = standing > TOLERATED.min(half).max(NOISE);
        LossClass::wireless_if(!stands && level <= TOLERATED.max(half))
    }

    fn evidence(&self) -> Evidence {
        self.evidence
    }

    fn on_path_change(&mut self) {
        *self = Self::new();
    }
}
