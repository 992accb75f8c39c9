//! A guard that bounds the errors of a classifier.

use whimbrel_units::{Duration, Instant};

use super::{
    Evidence, LossClass, LossDifferentiation, LossGap, OptionalDifferentiation, PacketArrival, Scheme,
};

/// Number of packets, arrived or lost, in a period of a [`Guard`].
const PERIOD: u64 = 256;
/// Losses that may be discounted in addition because fewer than the maximum were before.
const MOST_UNUSED: f64 = 2.0;
/// Packets below which the fraction of them that may be discounted says nothing: it is one of these then. Of
/// 20 packets, random losses of 5 % exceed 15 % in 16 of 1,000 cases, and of 100 in 4 of 100,000.
const FEW: f64 = 100.0;
/// Error of sums of fractions.
const ROUNDING: f64 = 1e-6;

/// Limits of a [`Guard`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GuardConfig {
    /// Statistics are young, and every loss counts as congestion, until this number of packets has arrived
    /// and
    pub young_packets: u64,
    /// this time has passed since the first arrival.
    pub young_time: Duration,
    /// Maximum fraction of the lost packets that may be discounted as wireless.
    pub discounted_share: f64,
    /// Maximum fraction of all recently sent packets that may be discounted. Above it, a sender that
    /// does not slow down may cause the losses.
    pub discounted_loss: f64,
}

impl GuardConfig {
    /// `true` if the fractions are from 0 to 1.
    pub fn is_valid(&self) -> bool {
        [self.discounted_share, self.discounted_loss].iter().all(|share| (0.0..=1.0).contains(share))
    }
}

impl GuardConfig {
    /// The limits for `scheme`: [`Self::default`], but for [`Scheme::Standing`] no time of youth, no limit to
    /// the fraction of the losses, and 30 % of the packets.
    ///
    /// `standing` needs no full queue to compare with, and hardly ever takes a loss of active queue
    /// management for a radio's. The delay that it tolerates bounds the rate. One loss that counts costs more
    /// the longer the round trip: at 240 ms one in 1,000 packets of 1,240 bytes leaves 1.6 Mbit/s, where
    /// video of 1.3 Mbit/s with its repair of 5 % of losses needs 1.9 (RFC 5348, Section 3.1).
    ///
    /// A radio that loses 20 % of the packets is usable with repair. The path that the limit protects has a
    /// queue of two packets, in which `standing` sees no delay: eight flows of it there lose 29 %.
    pub fn of(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Standing => Self {
                young_time: Duration::ZERO,
                young_packets: 0,
                discounted_share: 1.0,
                discounted_loss: 0.3,
            },
            _ => Self::default(),
        }
    }
}

impl Default for GuardConfig {
    /// 100 packets and 2 s, nine losses in ten, 15 % of the packets.
    fn default() -> Self {
        Self {
            young_packets: 100,
            young_time: Duration::from_secs(2),
            discounted_share: 0.9,
            discounted_loss: 0.15,
        }
    }
}

/// Reason for which a [`Guard`] overruled a classification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overruled {
    /// The statistics are young.
    Young,
    /// Too large a fraction of the losses would be discounted.
    Share,
    /// Too large a fraction of the packets would be discounted.
    Loss,
}

impl Overruled {
    /// Lower-case name of the reason.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Young => "young",
            Self::Share => "share",
            Self::Loss => "loss",
        }
    }
}

/// A classifier with a bound on its errors.
///
/// A sender whose receiver mistakes congestion losses for wireless losses does not slow down when it must, so
/// that a classifier has to bound its own error (RFC 8085, Section 3.1). The guard counts a loss as
/// congestion, regardless of its class, while the statistics are young, after a path change, and where the
/// losses discounted exceed a fraction of the losses, or of the recent packets. ECN marks do not pass through
/// the guard: they always count.
///
/// "Recent" are the current period of 256 packets and the previous one. The fraction of the losses is one of
/// all of them: of the few losses of such a period, one is more than a tenth. What congestion losses leave
/// unused of it is limited to two losses.
#[derive(Debug)]
pub struct Guard {
    config: GuardConfig,
    inner: OptionalDifferentiation,
    first: Option<Instant>,
    last: Instant,
    arrived: u64,
    periods: [Period; 2],
    /// Losses that may be discounted, less those that were.
    unused: f64,
    overruled: Option<Overruled>,
    overruled_packets: u64,
}

/// Counts of one period of packets.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    arrived: u64,
    lost: u64,
    discounted: u64,
}

impl Guard {
    /// Guards `inner`; without a classifier, every loss is congestion.
    pub fn new(config: GuardConfig, inner: OptionalDifferentiation) -> Self {
        Self {
            config,
            inner,
            first: None,
            last: Instant::ZERO,
            arrived: 0,
            periods: [Period::default(); 2],
            unused: 0.0,
            overruled: None,
            overruled_packets: 0,
        }
    }

    /// Number of packets classified as wireless that the guard counted as congestion.
    pub fn overruled_packets(&self) -> u64 {
        self.overruled_packets
    }

    fn is_young(&self) -> bool {
        let age = self.first.map_or(Duration::ZERO, |first| self.last - first);
        self.arrived < self.config.young_packets || age < self.config.young_time
    }

    /// Reason for not discounting `count` packets, of which `unrecorded` have not been recorded as lost yet.
    fn objection(&self, count: u64, unrecorded: u64) -> Option<Overruled> {
        if self.is_young() {
            return Some(Overruled::Young);
        }
        let [now, before] = self.periods;
        let lost = (now.lost + before.lost + unrecorded) as f64;
        let discounted = (now.discounted + before.discounted + count) as f64;
        let packets = (now.arrived + before.arrived) as f64 + lost;
        if discounted > self.config.discounted_loss * packets.max(FEW) {
            Some(Overruled::Loss)
        } else if count as f64 > self.unused + self.discountable(unrecorded) + ROUNDING {
            Some(Overruled::Share)
        } else {
            None
        }
    }

    /// Of `lost` packets, those that may be discounted.
    fn discountable(&self, lost: u64) -> f64 {
        self.config.discounted_share * lost as f64
    }

    fn note(&mut self, arrived: u64, lost: u64, discounted: u64) {
        self.unused += self.discountable(lost) - discounted as f64;
        let [now, before] = &mut self.periods;
        now.arrived += arrived;
        now.lost += lost;
        now.discounted += discounted;
        if now.arrived + now.lost >= PERIOD {
            *before = core::mem::take(now);
        }
    }
}

impl LossDifferentiation for Guard {
    fn on_arrival(&mut self, arrival: &PacketArrival) {
        self.first.get_or_insert(arrival.at);
        self.last = arrival.at;
        self.arrived += 1;
        self.note(1, 0, 0);
        if let Some(inner) = &mut self.inner {
            inner.on_arrival(arrival);
        }
    }

    fn classify(&mut self, gap: &LossGap) -> LossClass {
        let confirmed = self.inner.as_mut().map_or(LossClass::Congestion, |inner| inner.classify(gap));
        self.unused = self.unused.min(MOST_UNUSED);
        self.overruled =
            if confirmed == LossClass::Wireless { self.objection(gap.count, gap.count) } else { None };
        let discounted = confirmed == LossClass::Wireless && self.overruled.is_none();
        self.note(0, gap.count, if discounted { gap.count } else { 0 });
        if self.overruled.is_some() {
            self.overruled_packets += gap.count;
        }
        LossClass::wireless_if(discounted)
    }

    fn evidence(&self) -> Evidence {
        self.inner.as_ref().map_or(Evidence::None, |inner| inner.evidence())
    }

    fn overruled(&self) -> Option<Overruled> {
        self.overruled
    }

    fn final_class(&mut self, sequence: u64, class: LossClass) -> LossClass {
        let confirmed = self.inner.as_mut().map_or(class, |inner| inner.final_class(sequence, class));
        // Only Omniscient changes a class when a packet is declared lost.
        if confirmed == class || confirmed == LossClass::Congestion {
            self.overruled = None;
            return confirmed;
        }
        self.overruled = self.objection(1, 0);
        match self.overruled {
            Some(_) => self.overruled_packets += 1,
            None => self.note(0, 0, 1),
        }
        LossClass::wireless_if(self.overruled.is_none())
    }

    fn inform(&mut self, sequence: u64, cause: LossClass) {
        if let Some(inner) = &mut self.inner {
            inner.inform(sequence, cause);
        }
    }

    fn on_path_change(&mut self) {
        if let Some(inner) = &mut self.inner {
            inner.on_path_change();
        }
        let (config, inner) = (self.config, self.inner.take());
        let overruled_packets = self.overruled_packets;
        *self = Self { overruled_packets, ..Self::new(config, inner) };
    }
}
