//! ZBS, ZBS2 and ZBS3: hybrids of ZigZag, modified Biaz and Spike.

use whimbrel_units::{Duration, Instant};

use super::inter_arrival::InterArrival;
use super::packet_time::Estimate;
use super::{
    Biaz, Evidence, LossClass, LossDifferentiation, LossGap, PacketArrival, Parameters, Spike, ZigZag,
};

/// Minimum time for which a scheme is used (paper, Section 7.1).
const LOCK_TIME: Duration = Duration::from_secs(3);
/// Minimum number of received packets, as an alternative to [`LOCK_TIME`]; the first to be reached counts.
const LOCK_PACKETS: u32 = 50;
/// Weight of a new sample in T_avg (paper, Section 7).
const AVERAGE_GAIN: f64 = 0.25;
/// T_narr below which T_min is not plausible yet.
const BELOW_MINIMUM: f64 = 0.95;
/// T_narr below which the bottleneck link is not shared.
const UNSHARED: f64 = 1.1;
/// T_narr above which the bottleneck link is shared.
const SHARED: f64 = 1.5;
/// rott_dev below this fraction of T_min: the queue is not at the link that T_min measures (Section 7.2).
const STEADY: f64 = 0.5;
/// Trip times within this fraction of T_min above the minimum: the queues are empty (Section 7.3).
const EMPTY: f64 = 0.05;

/// A base scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Base {
    ZigZag,
    ModifiedBiaz,
    Spike,
}

/// The hybrid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Variant {
    Zbs,
    Zbs2,
    Zbs3,
}

/// Selects ZigZag, modified Biaz or Spike by the topology inferred from inter-arrival times (paper, Section
/// 7).
///
/// On an unshared bottleneck link, packets arrive about T_min apart (`T_narr = T_avg / T_min` is
/// near 1): modified Biaz. Where N flows share it, T_narr is about N: Spike. In between, and until there is
/// an estimate: ZigZag. A selected scheme is used for at least 3 s or 50 packets.
///
/// ZBS2 uses ZigZag instead of Spike if `rott_dev < T_min / 2`. ZBS3 uses Spike if the trip time is within
/// `0.05 T_min` of its minimum, else ZigZag if `rott_dev < T_min / 2`, else ZBS; these two conditions are
/// momentary and therefore not locked unless [`Parameters::zbs3_locked`] is set; only the ZBS within is.
///
/// In the [robust](Parameters::robust) variant, where jitter hides T_min or packets are not sent back to
/// back, T_narr is not meaningful: all three then use the conditions of ZBS3 on trip times, and Spike if
/// neither holds.
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

    /// Sets the parameters of the base schemes.
    #[must_use]
    pub fn with(self, parameters: Parameters) -> Self {
        Self::variant(self.variant, parameters)
    }

    fn variant(variant: Variant, parameters: Parameters) -> Self {
        Self {
            variant,
            zigzag: parameters.zigzag(),
            biaz: parameters.biaz(parameters.modified_upper),
            spike: parameters.spike(),
            topology: Topology::new(parameters.robust),
            lock: Lock::new(),
            evidence: Evidence::None,
            parameters,
        }
    }

    /// `true` if rott_dev is small compared with T_min.
    fn is_steady(&self, minimum: f64) -> bool {
        self.zigzag.deviation().is_some_and(|deviation| deviation < STEADY * minimum)
    }

    /// The scheme selected by the momentary conditions and the topology.
    fn choice(&self) -> Option<Base> {
        if self.parameters.zbs3_locked
            && let Some(base) = self.momentary_choice()
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

    /// The scheme selected by the two additional conditions of ZBS3, if either holds.
    fn momentary_choice(&self) -> Option<Base> {
        if self.variant != Variant::Zbs3 {
            return None;
        }
        self.by_trip_time(&self.biaz.minimum_interval()?)
    }

    /// Selects Spike if the queues are empty, else ZigZag if trip times vary little.
    fn by_trip_time(&self, estimate: &Estimate) -> Option<Base> {
        let Estimate { time, spread, .. } = *estimate;
        let (minimum, spread) = (time.as_nanos() as f64, spread.as_nanos() as f64);
        if self.spike.excess().is_some_and(|excess| excess < EMPTY * minimum + spread) {
            return Some(Base::Spike);
        }
        self.is_steady(minimum).then_some(Base::ZigZag)
    }

    /// The scheme that classifies the next loss.
    fn base(&self) -> Base {
        let momentary = if self.parameters.zbs3_locked { None } else { self.momentary_choice() };
        momentary.unwrap_or(self.lock.base)
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
            && let Some(choice) = self.choice()
        {
            self.lock.choose(arrival.at, choice);
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

/// T_avg: the average time between packets, lost packets included (paper, Section 7).
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
            // A late packet yields no inter-arrival sample.
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

/// The scheme in use, the time since it was selected and the packets received since then.
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

    /// Processes an arrival. Returns `true` if another scheme may be selected.
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
