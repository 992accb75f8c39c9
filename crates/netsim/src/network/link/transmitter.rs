//! Departure times: the moment at which the last bit of a packet leaves.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::LinkRate;
use super::token_bucket::TokenBucket;
use crate::trace::{DeliveryCursor, LoadDependentCursor, StepCursor};

pub(super) enum Transmitter {
    Constant {
        rate: DataRate,
        /// The size of the last packet and what its transmission took: most packets of a link are alike.
        size: u32,
        time: Duration,
    },
    Steps(StepCursor),
    Deliveries(DeliveryCursor),
    LoadDependent(Box<LoadDependentCursor>),
    TokenBucket(Box<TokenBucket>),
}

impl Transmitter {
    pub(super) fn new(rate: LinkRate) -> Self {
        match rate {
            LinkRate::Constant(rate) => Self::Constant { rate, size: 0, time: Duration::ZERO },
            LinkRate::Steps(steps) => Self::Steps(StepCursor::new(steps)),
            LinkRate::Deliveries(trace) => Self::Deliveries(DeliveryCursor::new(trace)),
            LinkRate::LoadDependent(trace) => Self::LoadDependent(Box::new(LoadDependentCursor::new(trace))),
            LinkRate::TokenBucket(config) => Self::TokenBucket(Box::new(TokenBucket::new(config))),
        }
    }

    /// Departure time of a packet accepted at `now`, if all before it have left at `idle_from`. `delay` is
    /// the link's, which a recording may change.
    #[inline]
    pub(super) fn departure(
        &mut self,
        now: Instant,
        idle_from: Instant,
        size: u32,
        delay: &mut Duration,
    ) -> Instant {
        let start = idle_from.max(now);
        match self {
            Self::Constant { rate, size: last_size, time } => {
                if *last_size != size {
                    *time = ByteCount::new(u64::from(size)) / *rate;
                    *last_size = size;
                }
                start + *time
            }
            Self::Steps(cursor) => cursor.departure(start, f64::from(size) * 8.0),
            Self::Deliveries(cursor) => cursor.departure(now, size),
            Self::LoadDependent(cursor) => {
                let before = cursor.base_delay();
                let departure = cursor.departure(now, size);
                *delay = *delay - before + cursor.base_delay();
                departure
            }
            Self::TokenBucket(bucket) => bucket.departure(now, start, size),
        }
    }

    /// The part of the link's delay that comes from its recording.
    pub(super) fn base_delay(&self) -> Duration {
        match self {
            Self::LoadDependent(cursor) => cursor.base_delay(),
            Self::Constant { .. } | Self::Steps(_) | Self::Deliveries(_) | Self::TokenBucket(_) => {
                Duration::ZERO
            }
        }
    }

    /// Departure time of a packet of which only these bits are left to send, beginning at `now`.
    pub(super) fn departure_of_bits(&mut self, now: Instant, bits: f64) -> Instant {
        match self {
            Self::Constant { rate, .. } => {
                // A finished packet leaves at once even if nothing moves; 0 / 0 is NaN and rounds to no time.
                now + Duration::from_secs_f64(bits / rate.as_bits_per_second())
            }
            Self::Steps(cursor) => cursor.departure(now, bits),
            Self::Deliveries(cursor) => cursor.departure(now, libm::ceil(bits / 8.0) as u32),
            Self::LoadDependent(_) | Self::TokenBucket(_) => now,
        }
    }

    /// The bits sent from `now` to the planned `departure` of the packet in service; `None` if that
    /// is undefined, because the link stands still or has deliveries instead of a rate.
    pub(super) fn bits_left(&mut self, now: Instant, departure: Instant) -> Option<f64> {
        if departure == Instant::FAR_FUTURE {
            return None;
        }
        match self {
            Self::Constant { rate, .. } if rate.as_bits_per_second().is_infinite() => None,
            Self::Constant { rate, .. } => Some(rate.as_bits_per_second() * (departure - now).as_secs_f64()),
            Self::Steps(cursor) => Some(cursor.bits_between(now, departure)),
            Self::Deliveries(_) | Self::LoadDependent(_) | Self::TokenBucket(_) => None,
        }
    }

    /// Forgets what was planned after `time`.
    pub(super) fn restart(&mut self, time: Instant) {
        match self {
            Self::Deliveries(cursor) => cursor.restart(time),
            Self::LoadDependent(cursor) => cursor.restart(time),
            Self::TokenBucket(bucket) => bucket.restart(time),
            Self::Constant { .. } | Self::Steps(_) => {}
        }
    }
}
