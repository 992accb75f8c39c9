//! Queue protection: packets of flows that build a queue leave the low-latency queue (RFC 9957).
//!
//! Each flow has a score: the bytes that it sends while the low-latency queue marks, weighted with the
//! probability of marks, minus what has aged since. A flow that sends fewer congestion-bytes per second than
//! the aging rate keeps a score near zero. If the queue is too long, packets of flows with a high score are
//! redirected to the Classic queue.

use whimbrel_units::{DataRate, Duration, Instant};

use super::pace::Pace;
use crate::queue::{DisciplineError, FlowKey};

/// The parameters of queue protection (RFC 9957, Section 4.1).
#[derive(Clone, PartialEq, Debug)]
pub struct QueueProtectionConfig {
    /// `CRITICALqL`: the low-latency queue's delay above which packets may be redirected. By default the
    /// delay at which its marking is certain, `minTh + range` of DualPI2 (the RFC's `MAXTH`).
    pub critical_delay: Option<Duration>,
    /// `CRITICALqLSCORE`: the score above which a flow's packets are redirected at the critical delay. At
    /// twice this delay, half the score suffices. Default 4 ms.
    pub critical_score: Duration,
    /// `AGING`: the congestion-bytes per second that a flow may send at length without a score. Default 2^19
    /// bytes per second (`LG_AGING` of 19), about 4.2 Mbit/s.
    pub aging: DataRate,
    /// `NBUCKETS`: the number of flows with a score at a time, a power of two. Further flows share one score.
    /// Default 32.
    pub buckets: u32,
}

impl Default for QueueProtectionConfig {
    fn default() -> Self {
        Self {
            critical_delay: None,
            critical_score: Duration::from_millis(4),
            aging: DataRate::from_bytes_per_second(524_288.0),
            buckets: 32,
        }
    }
}

/// `FLOOR` of RFC 9957, Section 4.1, in bytes: two frames of `MAX_FRAME_SIZE`. A shorter low-latency queue
/// adds to no flow's score, because a slow link has a long delay even with a few packets.
pub(super) const FLOOR: u64 = 2 * 2_000;

/// `ATTEMPTS`: buckets that a flow may use, besides the shared one.
const ATTEMPTS: u32 = 2;

/// `qLSCORE_MAX`: no score exceeds it, and a flow that reaches it is redirected at any delay.
const MAX_SCORE: Duration = Duration::from_secs(5);

/// The state of a flow.
#[derive(Clone, Copy, Default)]
struct Bucket {
    flow: FlowKey,
    /// `t_exp`: the time at which the score has aged to zero. The score is the time until then.
    expiry: Instant,
}

/// The scores of flows, and the decision which packets are redirected.
pub(super) struct Protection {
    critical_delay: Duration,
    critical_score: Duration,
    aging: DataRate,
    /// The pace of the low-latency queue.
    pub(super) pace: Pace,
    /// The buckets of flows and, as the last one, the bucket that all other flows share (the "dregs").
    buckets: Box<[Bucket]>,
}

impl Protection {
    /// No flow has a score. `upper_threshold` is the delay at which the low-latency queue marks all packets.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub(super) fn new(
        config: &QueueProtectionConfig,
        upper_threshold: Duration,
    ) -> Result<Self, DisciplineError> {
        let QueueProtectionConfig { critical_score, aging, buckets, .. } = *config;
        let critical_delay = config.critical_delay.unwrap_or(upper_threshold);
        let check = DisciplineError::check;
        check(critical_delay > Duration::ZERO, "protection.critical_delay", &critical_delay, "above 0")?;
        check(critical_score > Duration::ZERO, "protection.critical_score", &critical_score, "above 0")?;
        check(!aging.is_zero() && aging < DataRate::INFINITE, "protection.aging", &aging, "above 0, finite")?;
        // The indices of two attempts come from 32 bits of a hash (`BI_SIZE` of at most 16).
        let sound = buckets.is_power_of_two() && buckets <= 65_536;
        check(sound, "protection.buckets", &buckets, "a power of two, at most 65536")?;
        let buckets = vec![Bucket::default(); buckets as usize + 1].into_boxed_slice();
        Ok(Self { critical_delay, critical_score, aging, pace: Pace::default(), buckets })
    }

    /// `qprotect`: adds a packet to its flow's score, and returns whether the packet is to be redirected.
    ///
    /// `delay` is the low-latency queue's delay, `probability` its own marking probability at this delay.
    pub(super) fn redirects(
        &mut self,
        now: Instant,
        flow: FlowKey,
        size: u32,
        delay: Duration,
        probability: f64,
    ) -> bool {
        let bucket = self.pick(now, flow);
        let score = self.fill(now, bucket, size, probability);
        let product =
            |delay: Duration, score: Duration| u128::from(delay.as_nanos()) * u128::from(score.as_nanos());
        let harmful = delay > self.critical_delay
            && product(delay, score) > product(self.critical_delay, self.critical_score);
        harmful || score >= MAX_SCORE
    }

    /// `pick_bucket`: the flow's bucket. A flow without one takes a bucket that has expired, or shares the
    /// last one.
    fn pick(&mut self, now: Instant, flow: FlowKey) -> usize {
        let shared = self.buckets.len() - 1;
        let mut hash = flow.hash() as usize;
        let mut free = shared;
        for _ in 0..ATTEMPTS {
            // The number of buckets is a power of two.
            let index = hash & (shared - 1);
            let bucket = &self.buckets[index];
            if bucket.flow == flow {
                free = index;
                break;
            }
            if free == shared && bucket.expiry <= now {
                free = index;
            }
            hash >>= shared.trailing_zeros();
        }
        let bucket = &mut self.buckets[free];
        bucket.flow = flow;
        bucket.expiry = bucket.expiry.max(now);
        free
    }

    /// `fill_bucket`: adds the packet's congestion-bytes to the score, which is returned.
    fn fill(&mut self, now: Instant, bucket: usize, size: u32, probability: f64) -> Duration {
        let added = probability * f64::from(size) / self.aging.as_bytes_per_second();
        let expiry = &mut self.buckets[bucket].expiry;
        let score = (*expiry - now + Duration::from_secs_f64(added)).min(MAX_SCORE);
        *expiry = now + score;
        score
    }
}

#[cfg(test)]
mod tests;
