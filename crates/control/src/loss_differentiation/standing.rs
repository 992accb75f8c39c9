//! Standing: classification by the standing queue of the path.

use whimbrel_units::{Duration, Instant};

use super::common_size::{CommonSize, TripTime};
use super::inherent::excess;
use super::{Evidence, LossClass, LossDifferentiation, LossGap, PacketArrival, Rott};

mod extremes;

use extremes::{Extremes, Least};

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
/// packets of a burst, which arrive together, have the weight of one. The frames of a video that uses half
/// of a slow link have a mean of 5 ms as well, but empty the queue between them. `f`, the mean over the same
/// time of the least queueing delay in each 100 ms, tells the two apart, as CoDel's minimum does. With `m`
/// the first mean, `q` the queueing delay of the packet that reveals the loss and `M` the longest one, a
/// loss is congestion if
///
/// ```text
/// f > 1 ms:     m > max(1 ms, min(5 ms, M/2)) and q > m/4,   or   q > max(5 ms, M/2)
/// otherwise:    q > max(1 ms, M/2)                           and  N D(n/N || s) > 10
/// ```
///
/// A queue that has left is part of `m` for more than a second, while `q` is short.
///
/// `n` of the last `N` losses were revealed with `q` above that limit, as was a share of `s` of the packets:
/// a radio loses alike, however long the queue, and so exceeds the limit less than once in e^10 times
/// (Chernoff's bound; D is the Kullback-Leibler divergence). A row of lost packets counts as one. A queue of
/// three or four packets lasts for 6 to 9 ms at 4 Mbit/s, and the packet after a drop finds half of that:
/// CoDel's target is no limit here. 5 ms is that target (RFC 8289, Section 4.2): CoDel drops nothing from a
/// queue that is shorter. A second is longer than RED, CoDel and PIE need to answer a queue. 1 ms is the
/// error of timestamps on a loaded host.
///
/// A path may also stand still for a moment: a radio looks for other stations, a cell hands over, a host does
/// something else. The backlog is no queue that the sender has filled. It begins with a packet after a time
/// of more than 20 ms without any, of which it has waited for at least three quarters, and lasts as long as
/// each packet has waited for less than the one before it, for four times as long at most. Its packets have
/// no trip time. Where the path has become slow, each waits for longer.
///
/// A sender on a path with wireless losses alone thus increases its rate until a queue begins to stand.
/// The condition requires that trip times do not vary otherwise: with 5 ms of jitter on average, every loss
/// is congestion. The minimum and `M` cover the last one to two minutes, so that a longer route does not pass
/// for a queue for ever. The minimum is the second least of the trip times of each 100 ms, but not more than
/// 1 ms above the least: one packet whose trip time was too short by 0.9 ms made every queue stand for a
/// minute. Only packets of a common size have a trip time. Without trip times, every loss is congestion.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    sizes: CommonSize,
    queue: Option<Queue>,
    levels: Levels,
    evidence: Evidence,
}

/// Losses by the level of the queue.
#[derive(Clone, Copy, Debug, Default)]
struct Levels {
    /// Below half of the longest queue, and above.
    low: Share,
    high: Share,
}

/// Packets that arrived and rows of packets that were lost, of the last [`LEVELS_MEMORY`] of both levels.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    arrived: f64,
    lost: f64,
}

impl Levels {
    fn at(&mut self, is_high: bool) -> &mut Share {
        if is_high { &mut self.high } else { &mut self.low }
    }

    fn on_arrival(&mut self, is_high: bool) {
        for share in [&mut self.low, &mut self.high] {
            share.arrived -= share.arrived / LEVELS_MEMORY;
            share.lost -= share.lost / LEVELS_MEMORY;
        }
        self.at(is_high).arrived += 1.0;
    }

    /// A row of packets was lost. A fade loses many of them at one level.
    fn on_loss(&mut self, is_high: bool) {
        self.at(is_high).lost += 1.0;
    }

    /// `true` if more is lost from a long queue than from a short one, and not by chance: a radio does not
    /// see the queue.
    fn is_queue_to_blame(&self) -> bool {
        let Self { low, high } = self;
        let share = high.arrived / (low.arrived + high.arrived).max(1.0);
        excess(low.lost + high.lost, high.lost, share) > SIGNIFICANT
    }
}

/// The queue of the path.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Extremes of the current period and the one before.
    extremes: [Extremes; 2],
    period_end: Instant,
    /// Time of the first packet.
    began: Instant,
    /// Mean trip time, relative to `origin`, in nanoseconds.
    mean: f64,
    /// The same of the least ones.
    floor: f64,
    /// The least one of the present burst, and when it becomes part of `floor`.
    least: Rott,
    least_end: Instant,
    origin: Rott,
    last: Rott,
    /// Time of the last arrival, of any size.
    at: Instant,
    /// The path stood still.
    pause: Option<Pause>,
}

/// A backlog that leaves after the path stood still.
#[derive(Clone, Copy, Debug)]
struct Pause {
    /// The last trip time.
    rott: Rott,
    /// The time by which the backlog has left; another pause does not begin before.
    until: Instant,
    /// Each packet so far has waited for less than the one before it.
    is_leaving: bool,
}

/// Time constant of the mean, in seconds.
const MEMORY: f64 = 1.0;
/// Queueing delay that active queue management tolerates, in nanoseconds.
const TOLERATED: f64 = 5e6;
/// Error of trip times, in nanoseconds.
const NOISE: f64 = 1e6;
/// Time in which the packets of a burst leave the queue.
const BURST: Duration = Duration::from_millis(100);
/// The shortest pause of a path, and the share of it that the next packet must have waited.
const PAUSE: Duration = Duration::from_millis(20);
const HELD: f64 = 0.75;
/// The longest time in which a backlog drains, as a multiple of the pause: four at a utilisation of 80 %.
const DRAINS: u64 = 4;
/// Packets in which the losses of both levels are counted.
const LEVELS_MEMORY: f64 = 2000.0;
/// Excess of a long queue over its share of the losses, as the negative logarithm of its probability.
const SIGNIFICANT: f64 = 10.0;
/// Period of the extremes.
const PERIOD: Duration = Duration::from_secs(60);

impl Queue {
    fn new(at: Instant, rott: Rott) -> Self {
        Self {
            extremes: [Extremes::new(rott); 2],
            period_end: at + PERIOD,
            began: at,
            mean: 0.0,
            floor: 0.0,
            least: rott,
            least_end: at + BURST,
            origin: rott,
            last: rott,
            at,
            pause: None,
        }
    }

    /// `true` for a packet of the backlog after the path stood still.
    fn is_backlog(&mut self, at: Instant, rott: Rott) -> bool {
        let is_left = rott - self.last <= NOISE;
        self.pause = self.pause.filter(|pause| at <= pause.until && !is_left);
        if let Some(pause) = &mut self.pause {
            pause.is_leaving &= rott - pause.rott < 0.0;
            pause.rott = rott;
            return pause.is_leaving;
        }
        let silence = at.saturating_since(self.at);
        let begins = silence > PAUSE && rott - self.last > HELD * silence.as_nanos() as f64;
        self.pause = begins.then_some(Pause { rott, until: at + silence * DRAINS, is_leaving: true });
        begins
    }

    fn on_trip_time(&mut self, at: Instant, rott: Rott) {
        if self.is_backlog(at, rott) {
            return;
        }
        if at >= self.period_end {
            self.extremes = [Extremes::new(rott), self.extremes[0]];
            self.period_end = at + PERIOD;
        }
        let current = &mut self.extremes[0];
        current.maximum = current.maximum.max(rott);
        let elapsed = at.saturating_since(self.at).as_secs_f64();
        self.mean += self.weight(self.at, elapsed) * (rott - self.origin - self.mean);
        if at < self.least_end {
            self.least = self.least.min(rott);
        } else {
            self.extremes[0].least.add(self.least);
            let elapsed = (at.saturating_since(self.least_end) + BURST).as_secs_f64();
            self.floor += self.weight(self.least_end.saturating_sub(BURST), elapsed)
                * (self.least - self.origin - self.floor);
            (self.least, self.least_end) = (rott, at + BURST);
        }
        self.last = rott;
    }

    /// Weight in a mean of the time `elapsed` from `since` on, in seconds. Before the memory is full, each
    /// time has the same: the first packet of a connection may have waited.
    fn weight(&self, since: Instant, elapsed: f64) -> f64 {
        // Two packets may arrive at once.
        let all = since.saturating_since(self.began).as_secs_f64().min(MEMORY) + elapsed;
        if all > 0.0 { elapsed / all } else { 0.0 }
    }

    /// The minimum and the greatest trip time.
    fn range(&self) -> (Rott, Rott) {
        let [now, before] = self.extremes;
        let mut least = Least::default();
        for rott in now.least.all().chain(before.least.all()).chain([self.least]) {
            least.add(rott);
        }
        (least.minimum(NOISE).unwrap_or(self.least), now.maximum.max(before.maximum))
    }

    /// Half of the longest queueing delay.
    fn half(&self) -> f64 {
        let (minimum, maximum) = self.range();
        (maximum - minimum) / 2.0
    }

    /// Excess of a trip time relative to `origin` over the minimum.
    fn above(&self, rott: f64) -> f64 {
        rott - (self.range().0 - self.origin)
    }

    /// `true` if the last packet found the queue more than half full, and longer than `least`.
    fn is_high(&self, least: f64) -> bool {
        self.above(self.last - self.origin) > self.half().max(least)
    }

    /// `true` if the queue is empty between bursts.
    fn empties(&self) -> bool {
        self.above(self.floor) <= NOISE
    }

    fn stands(&self) -> bool {
        let mean = self.above(self.mean);
        mean > TOLERATED.min(self.half()).max(NOISE) && self.above(self.last - self.origin) > mean / 4.0
    }

    fn evidence(&self) -> Evidence {
        let (minimum, maximum) = self.range();
        let standing = self.above(self.mean).max(0.0);
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
            self.levels.on_arrival(queue.is_high(NOISE));
        }
    }

    fn classify(&mut self, _gap: &LossGap) -> LossClass {
        let Some(queue) = &self.queue else {
            self.evidence = Evidence::None;
            return LossClass::Congestion;
        };
        self.evidence = queue.evidence();
        let is_high = queue.is_high(NOISE);
        self.levels.on_loss(is_high);
        let is_congestion = if queue.empties() {
            is_high && self.levels.is_queue_to_blame()
        } else {
            queue.is_high(TOLERATED) || queue.stands()
        };
        LossClass::wireless_if(!is_congestion)
    }

    fn evidence(&self) -> Evidence {
        self.evidence
    }

    fn on_path_change(&mut self) {
        *self = Self::new();
    }
}
