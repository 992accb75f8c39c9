//! A guard: how far a classifier may be believed.

use whimbrel_units::{Duration, Instant};

use super::{Evidence, LossClass, LossDifferentiation, LossGap, OptionalDifferentiation, PacketArrival};

/// Packets in the shorter memory of a [`Guard`]: arrivals and losses of that many are one period.
const PERIOD: u64 = 256;

/// What a [`Guard`] allows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GuardConfig {
    /// Until so many packets have arrived, and
    pub young_packets: u64,
    /// so much time has passed since the first, the statistics are young and every loss counts.
    pub young_time: Duration,
    /// At most this part of the packets lost lately may be discounted as wireless.
    pub discounted_share: f64,
    /// At most this part of all packets sent lately may be; above it the path is unusable in any case,
    /// and a sender that does not slow down makes it worse.
    pub discounted_loss: f64,
}

impl GuardConfig {
    /// Whether the limits can be limits: shares are from 0 to 1.
    pub fn is_valid(&self) -> bool {
        [self.discounted_share, self.discounted_loss].iter().all(|share| (0.0..=1.0).contains(share))
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

/// Why a [`Guard`] overruled a verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overruled {
    /// The statistics are young.
    Young,
    /// Too large a part of the losses would be discounted.
    Share,
    /// Too large a part of the packets would be.
    Loss,
}

impl Overruled {
    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Young => "young",
            Self::Share => "share",
            Self::Loss => "loss",
        }
    }
}

/// A classifier that is not believed beyond a limit.
///
/// Who wrongly takes congestion for the radio does not slow down when he must, so a classifier has to
/// bound its own error (RFC 8085, Section 3.1). The guard counts a loss as congestion, whatever the
/// classifier says, while its statistics are young, after a change of the path, and where the losses
/// discounted lately exceed a part of the losses or of the packets. Marks by ECN are none of its
/// business: they always count.
///
/// "Lately" is the current period of 256 packets and the one before.
#[derive(Debug)]
pub struct Guard {
    config: GuardConfig,
    inner: OptionalDifferentiation,
    first: Option<Instant>,
    last: Instant,
    arrived: u64,
    periods: [Period; 2],
    overruled: Option<Overruled>,
    overruled_packets: u64,
}

/// What happened to some packets in a row.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    arrived: u64,
    lost: u64,
    discounted: u64,
}

impl Guard {
    /// Guards `inner`; without one, every loss is congestion anyway.
    pub fn new(config: GuardConfig, inner: OptionalDifferentiation) -> Self {
        Self {
            config,
            inner,
            first: None,
            last: Instant::ZERO,
            arrived: 0,
            periods: [Period::default(); 2],
            overruled: None,
            overruled_packets: 0,
        }
    }
    /// Packets that the classifier called wireless and the guard did not.
    pub fn overruled_packets(&self) -> u64 {
        self.overruled_packets
    }

    fn is_young(&self) -> bool {
        let age = self.first.map_or(Duration::ZERO, |first| self.last - first);
        self.arrived < self.config.young_packets || age < self.config.young_time
    }
    /// What speaks against discounting `count` packets, of which `news` are not on record as lost yet.
    fn objection(&self, count: u64, news: u64) -> Option<Overruled> {
        if self.is_young() {
            return Some(Overruled::Young);
        }
        let [now, before] = self.periods;
        let lost = (now.lost + before.lost + news) as f64;
        let discounted = (now.discounted + before.discounted + count) as f64;
        let packets = (now.arrived + before.arrived) as f64 + lost;
        if discounted > self.config.discounted_loss * packets {
            Some(Overruled::Loss)
        } else if discounted > self.config.discounted_share * lost {
            Some(Overruled::Share)
        } else {
            None
        }
    }
    fn note(&mut self, arrived: u64, lost: u64, discounted: u64) {
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
        let said = self.inner.as_mut().map_or(LossClass::Congestion, |inner| inner.classify(gap));
        self.overruled =
            if said == LossClass::Wireless { self.objection(gap.count, gap.count) } else { None };
        let discounted = said == LossClass::Wireless && self.overruled.is_none();
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
        let said = self.inner.as_mut().map_or(class, |inner| inner.final_class(sequence, class));
        // Only one that knows the truth (Omniscient) changes its mind so late.
        if said == class || said == LossClass::Congestion {
            self.overruled = None;
            return said;
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
