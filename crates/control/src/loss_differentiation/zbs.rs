//! ZBS, ZBS2 and ZBS3: whichever of ZigZag, modified Biaz and Spike suits the path.

use whimbrel_units::{Duration, Instant};

use super::inter_arrival::InterArrival;
use super::packet_time::Estimate;
use super::{
    Biaz, Evidence, LossClass, LossDifferentiation, LossGap, PacketArrival, Parameters, Spike, ZigZag,
};

/// The least time for which a scheme is used (paper, Section 7.1).
const LOCK_TIME: Duration = Duration::from_secs(3);
/// The same in packets received, whichever comes first.
const LOCK_PACKETS: u32 = 50;
/// Weight of a new sample in T_avg (paper, Section 7).
const AVERAGE_GAIN: f64 = 0.25;
/// T_narr below which T_min cannot be right yet.
const BELOW_MINIMUM: f64 = 0.95;
/// T_narr below which the slowest link is not shared.
const UNSHARED: f64 = 1.1;
/// T_narr above which it is.
const SHARED: f64 = 1.5;
/// rott_dev below this part of T_min: the queue is not at the link that T_min measures (Section 7.2).
const STEADY: f64 = 0.5;
/// Trip times within this part of T_min of the least: the queues are empty (Section 7.3).
const EMPTY: f64 = 0.05;

/// A base scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Base {
    ZigZag,
    ModifiedBiaz,
    Spike,
}

/// Which hybrid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Variant {
    Zbs,
    Zbs2,
    Zbs3,
}

/// Chooses among ZigZag, modified Biaz and Spike by what the times between packets say about the
/// topology (paper, Section 7).
///
/// Where the slowest link is not shared, packets come about T_min apart (`T_narr = T_avg / T_min`
/// is near 1): modified Biaz. Where N flows share it, T_narr is about N: Spike. In between, and
/// until it is clear: ZigZag. A scheme once chosen is used for 3 s or 50 packets at least.
///
/// ZBS2 uses ZigZag instead of Spike where `rott_dev < T_min / 2`. ZBS3 uses Spike where the trip
/// time is within `0.05 T_min` of its least, else ZigZag where `rott_dev < T_min / 2`, else ZBS;
/// these two depend on the moment and are therefore not locked, only the ZBS inside is, unless
/// [`Parameters::zbs3_locked`] says so.
///
/// Made [robust](Parameters::robust), where jitter hides T_min, or packets do not come one right after the other, T_narr says nothing, and
/// all three go by the conditions of ZBS3 on trip times, and take Spike where neither holds.
#[derive(Clone, Debug)]
pub struct Zbs {
    variant: Variant,
    parameters: Parameters,
    zigzag: ZigZag,
    biaz: Biaz,
    spike: Spike,
    topology: Topology,
    lock: Lock,
    evidence: Evidence,
}

impl Zbs {
    /// ZBS (paper, Section 7.1).
    pub fn new() -> Self {
        Self::variant(Variant::Zbs, Parameters::PUBLISHED)
    }
    /// ZBS2 (paper, Section 7.2).
    pub fn zbs2() -> Self {
        Self::variant(Variant::Zbs2, Parameters::PUBLISHED)
    }
    /// ZBS3 (paper, Section 7.3).
    pub fn zbs3() -> Self {
        Self::variant(Variant::Zbs3, Parameters::PUBLISHED)
    }
    /// The same, made of parts with these parameters.
    #[must_use]
    pub fn with(self, parameters: Parameters) -> Self {
        Self::variant(self.variant, parameters)
    }
    fn variant(variant: Variant, parameters: Parameters) -> Self {
        let biaz = Biaz::with_upper(parameters.modified_upper);
        Self {
            variant,
            zigzag: ZigZag::new().comparing(parameters.zigzag_trip),
            biaz: if parameters.robust { biaz.robust() } else { biaz },
            spike: Spike::with_thresholds(parameters.spike_start, parameters.spike_end),
            topology: Topology::new(parameters.robust),
            lock: Lock::new(),
            evidence: Evidence::None,
            parameters,
        }
    }

    /// Whether rott_dev is small beside T_min.
    fn is_steady(&self, minimum: f64) -> bool {
        self.zigzag.deviation().is_some_and(|deviation| deviation < STEADY * minimum)
    }
    /// What the moment and the topology ask for.
    fn wanted(&self) -> Option<Base> {
        if self.parameters.zbs3_locked
            && let Some(base) = self.wanted_at_the_moment()
        {
            return Some(base);
        }
        let estimate = self.biaz.minimum_interval()?;
        let minimum = estimate.nanos();
        if estimate.is_hidden {
            return Some(self.by_trip_time(&estimate).unwrap_or(Base::Spike));
        }
        let relative = self.topology.average? / minimum;
        Some(if relative < BELOW_MINIMUM {
            Base::ZigZag
        } else if relative < UNSHARED {
            Base::ModifiedBiaz
        } else if relative < SHARED || (self.variant == Variant::Zbs2 && self.is_steady(minimum)) {
            Base::ZigZag
        } else {
            Base::Spike
        })
    }
    /// What the two conditions of ZBS3's own ask for, if either holds.
    fn wanted_at_the_moment(&self) -> Option<Base> {
        if self.variant != Variant::Zbs3 {
            return None;
        }
        self.by_trip_time(&self.biaz.minimum_interval()?)
    }
    /// What these ask for: Spike where the queues are empty, else ZigZag where trip times vary little.
    fn by_trip_time(&self, estimate: &Estimate) -> Option<Base> {
        let Estimate { time, spread, .. } = *estimate;
        let (minimum, spread) = (time.as_nanos() as f64, spread.as_nanos() as f64);
        if self.spike.excess().is_some_and(|excess| excess < EMPTY * minimum + spread) {
            return Some(Base::Spike);
        }
        self.is_steady(minimum).then_some(Base::ZigZag)
    }
    /// What judges now.
    fn base(&self) -> Base {
        let moment = if self.parameters.zbs3_locked { None } else { self.wanted_at_the_moment() };
        moment.unwrap_or(self.lock.base)
    }
}

impl Default for Zbs {
    fn default() -> Self {
        Self::new()
    }
}

impl LossDifferentiation for Zbs {
    fn on_arrival(&mut self, arrival: &PacketArrival) {
        self.zigzag.on_arrival(arrival);
        self.biaz.on_arrival(arrival);
        self.spike.on_arrival(arrival);
        self.topology.on_arrival(arrival);
        if self.lock.on_arrival(arrival.at)
            && let Some(wanted) = self.wanted()
        {
            self.lock.choose(arrival.at, wanted);
        }
    }

    fn classify(&mut self, gap: &LossGap) -> LossClass {
        let base: &mut dyn LossDifferentiation = match self.base() {
            Base::ZigZag => &mut self.zigzag,
            Base::ModifiedBiaz => &mut self.biaz,
            Base::Spike => &mut self.spike,
        };
        let cause = base.classify(gap);
        self.evidence = base.evidence();
        cause
    }

    fn evidence(&self) -> Evidence {
        self.evidence
    }

    fn on_path_change(&mut self) {
        *self = Self::variant(self.variant, self.parameters);
    }
}

/// T_avg: the average time from packet to packet, those that were lost included (paper, Section 7).
#[derive(Clone, Debug)]
struct Topology {
    arrivals: InterArrival,
    greatest: Option<u64>,
    average: Option<f64>,
}

impl Topology {
    fn new(is_robust: bool) -> Self {
        Self { arrivals: InterArrival::new(is_robust), greatest: None, average: None }
    }
    fn on_arrival(&mut self, arrival: &PacketArrival) {
        let Some(interval) = self.arrivals.on_arrival(arrival) else {
            self.greatest = self.greatest.max(Some(arrival.sequence));
            return;
        };
        let greatest = self.greatest.replace(arrival.sequence).unwrap_or(arrival.sequence);
        if arrival.sequence <= greatest {
            // A late packet is no measure of the time between packets.
            self.greatest = Some(greatest);
            return;
        }
        let sample = interval.as_nanos() as f64 / (arrival.sequence - greatest) as f64;
        self.average = Some(match self.average {
            Some(average) => (1.0 - AVERAGE_GAIN) * average + AVERAGE_GAIN * sample,
            None => sample,
        });
    }
}

/// The scheme in use, and since when.
#[derive(Clone, Copy, Debug)]
struct Lock {
    base: Base,
    since: Option<Instant>,
    packets: u32,
}

impl Lock {
    /// "ZBS starts with the ZigZag scheme" (paper, Section 7.1).
    fn new() -> Self {
        Self { base: Base::ZigZag, since: None, packets: 0 }
    }
    /// A packet arrived. Whether another scheme may be chosen.
    fn on_arrival(&mut self, now: Instant) -> bool {
        let since = *self.since.get_or_insert(now);
        self.packets = self.packets.saturating_add(1);
        self.packets >= LOCK_PACKETS || now - since >= LOCK_TIME
    }
    fn choose(&mut self, now: Instant, base: Base) {
        if base != self.base {
            *self = Self { base, since: Some(now), packets: 0 };
        }
    }
}
