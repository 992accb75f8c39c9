//! rt-Winf with RTS and CTS (paper `winf`, Section 3.1, Figures 1 and 2).

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::averaging::CapacityMean;
use super::busy_time::BusyTime;
use super::{
    Averaging, CollisionTimes, Estimate, FrameKind, Heard, StationState, backoff_share, state_of,
    without_collisions,
};

/// Number of SIFS that the receiver subtracts from DATA time - RTS time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ReceiverSpacing {
    /// Three, as printed in Figure 1 and in the text. The third is not in the interval: it precedes the ACK.
    #[default]
    Printed,
    /// Two, those before the CTS and before the data.
    Counted,
}

/// Parameters of rt-Winf.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RtWinfConfig {
    /// SIFS.
    pub sifs: Duration,
    /// DIFS, of the correction for collisions.
    pub difs: Duration,
    /// Highest rate of the PHY: no capacity is above it.
    pub nominal: DataRate,
    /// SIFS that the receiver subtracts.
    pub receiver_spacing: ReceiverSpacing,
    /// Average of the capacity.
    pub averaging: Averaging,
    /// Period of the busy time; `None` since the start.
    pub period: Option<Duration>,
    /// Time per exchange that the formulae of Figure 1 leave out, and that is to be added to each exchange:
    /// DIFS, backoff, RTS, CTS and three SIFS for the denominator of equation 3. Zero as printed.
    pub overhead: Duration,
    /// `true` to correct the available bandwidth in the sender state for collisions (equation 9).
    pub corrects_collisions: bool,
    /// `true` to correct the capacity in the sender state by the same factor.
    pub corrects_capacity: bool,
}

impl RtWinfConfig {
    /// 802.11b: SIFS 10 us, slots of 20 us, 11 Mbit/s. As printed in paper `winf`, without the correction for
    /// collisions.
    pub fn hr_dsss() -> Self {
        Self {
            sifs: Duration::from_micros(10),
            difs: Duration::from_micros(50),
            nominal: DataRate::from_megabits_per_second(11.0),
            receiver_spacing: ReceiverSpacing::default(),
            averaging: Averaging::default(),
            period: None,
            overhead: Duration::ZERO,
            corrects_collisions: false,
            corrects_capacity: false,
        }
    }
}

/// A frame that reserves the medium.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reservation {
    at: Instant,
    airtime: Duration,
    nav: Duration,
}

/// An exchange of RTS, CTS, DATA and ACK that is under way.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Exchange {
    state: StationState,
    rts: Option<Reservation>,
    cts: Option<Reservation>,
    data: Option<(Instant, ByteCount, Duration)>,
    backoff: Option<Duration>,
    /// End of the reservation, with which the ACK ends.
    until: Instant,
}

/// rt-Winf: the estimates of a station.
///
/// Each state of the station has its own capacity (Figure 1): packet size over
///
/// - sender and onlooker: ACK time - CTS time - 2 SIFS, the times of DATA and ACK (the text of Section 3.1
///   has one SIFS; equation 4.3 of the author's thesis has two);
/// - receiver: DATA time - RTS time - 3 SIFS, the times of CTS and DATA less one SIFS.
///
/// The available bandwidth is the capacity times the share of the total elapsed time without NAV. Each
/// exchange that the station takes part in or overhears adds one NAV: the sender the CTS's, the receiver the
/// RTS's, an onlooker the RTS's or, if it has not received the RTS (a hidden node), the CTS's. The sum runs
/// over all states, because a station changes between them with each exchange and the medium is the same. RTS
/// without CTS, DIFS and backoff count as idle, and so do frames without the handshake, such as broadcasts.
#[derive(Clone, Debug)]
pub struct RtWinf {
    config: RtWinfConfig,
    busy: BusyTime,
    exchange: Option<Exchange>,
    onlooker: CapacityMean,
    sender: CapacityMean,
    receiver: CapacityMean,
    /// The receiver's estimate in the last ACK to this station.
    received: Option<Estimate>,
    /// K of the last exchange as sender.
    backoff_share: f64,
}

impl RtWinf {
    /// A station that begins to observe at `start`.
    pub fn new(config: RtWinfConfig, start: Instant) -> Self {
        Self {
            config,
            busy: BusyTime::new(start, config.period),
            exchange: None,
            onlooker: CapacityMean::default(),
            sender: CapacityMean::default(),
            receiver: CapacityMean::default(),
            received: None,
            backoff_share: 0.0,
        }
    }

    /// Extends the total elapsed time to `now`: the available bandwidth of an idle medium increases.
    pub fn on_time(&mut self, now: Instant) {
        self.busy.extend(now);
    }

    /// The parameters.
    pub fn config(&self) -> &RtWinfConfig {
        &self.config
    }

    /// Processes a frame. Frames are in the order of their ends; others are assigned to no exchange.
    pub fn on_heard(&mut self, heard: &Heard) {
        match heard.kind {
            FrameKind::Rts => self.on_rts(heard),
            FrameKind::Cts => self.on_cts(heard),
            FrameKind::Data | FrameKind::Probe => self.on_data(heard),
            FrameKind::Ack => self.on_ack(heard),
        }
    }

    /// The state of the station at `now`: an onlooker outside its own exchanges.
    pub fn state(&self, now: Instant) -> StationState {
        self.exchange
            .filter(|exchange| now <= exchange.until)
            .map_or(StationState::Onlooker, |exchange| exchange.state)
    }

    /// The share of the total elapsed time without NAV, in \[0, 1\].
    pub fn idle_share(&self) -> f64 {
        self.busy.idle_share()
    }

    /// The estimate in `state`; in the two others, the onlooker's capacity is used until there is an own one.
    /// `None` without a capacity.
    ///
    /// As a sender, the smaller of the own values and those that the receiver has returned in the last ACK.
    pub fn estimate(&self, state: StationState) -> Option<Estimate> {
        let nominal = self.config.nominal;
        let own = match state {
            StationState::Onlooker => None,
            StationState::Sender => self.sender.rate(nominal),
            StationState::Receiver => self.receiver.rate(nominal),
        };
        let mut capacity = own.or_else(|| self.onlooker.rate(nominal))?;
        let mut available = capacity * self.idle_share();
        if state != StationState::Sender {
            return Some(Estimate { capacity, available });
        }
        if self.config.corrects_collisions {
            available = without_collisions(available, self.backoff_share);
        }
        if self.config.corrects_capacity {
            capacity = without_collisions(capacity, self.backoff_share);
        }
        let own = Estimate { capacity, available };
        Some(self.received.map_or(own, |received| own.min(received)))
    }

    fn on_rts(&mut self, heard: &Heard) {
        let rts = Reservation { at: heard.at, airtime: heard.airtime, nav: heard.nav };
        self.exchange = Some(Exchange {
            state: state_of(heard, true),
            rts: Some(rts),
            cts: None,
            data: None,
            backoff: heard.backoff,
            until: heard.at + heard.nav,
        });
    }

    fn on_cts(&mut self, heard: &Heard) {
        let state = state_of(heard, false);
        let cts = Some(Reservation { at: heard.at, airtime: heard.airtime, nav: heard.nav });
        let answers = |exchange: &Exchange| {
            exchange.state == state
                && exchange.cts.is_none()
                && exchange.data.is_none()
                && heard.at <= exchange.until
        };
        self.exchange = Some(match self.exchange.filter(answers) {
            Some(exchange) => Exchange { cts, ..exchange },
            // The station is hidden from the sender of the RTS.
            None => {
                let until = heard.at + heard.nav;
                Exchange { state, rts: None, cts, data: None, backoff: None, until }
            }
        });
    }

    fn on_data(&mut self, heard: &Heard) {
        let state = state_of(heard, true);
        let belongs = |exchange: &Exchange| {
            exchange.state == state && exchange.data.is_none() && heard.at <= exchange.until
        };
        let Some(mut exchange) = self.exchange.take().filter(belongs) else { return };
        exchange.data = Some((heard.at, heard.size, heard.airtime));
        self.exchange = Some(exchange);
        if let (StationState::Receiver, Some(rts)) = (state, exchange.rts) {
            let spacing = match self.config.receiver_spacing {
                ReceiverSpacing::Printed => 3,
                ReceiverSpacing::Counted => 2,
            };
            let time = (heard.at - rts.at) - self.config.sifs * spacing;
            // CTS and DATA less a SIFS: DIFS, backoff, RTS, ACK and four SIFS are missing, the ACK as long as
            // a CTS.
            let cycle = if self.config.overhead.is_zero() {
                time
            } else {
                time + self.config.overhead + self.config.sifs
            };
            self.receiver.on_exchange(heard.size, cycle, self.config.averaging);
            // The receiver's own ACK ends with the reservation.
            self.busy.add(rts.nav, exchange.until);
        }
    }

    fn on_ack(&mut self, heard: &Heard) {
        let state = state_of(heard, false);
        if state == StationState::Sender {
            self.received = heard.estimate;
        }
        // The Duration field counts whole microseconds, rounded up; a capture may round down.
        let is_in_time = |exchange: &Exchange| heard.at <= exchange.until + self.config.sifs;
        let exchange =
            self.exchange.take().filter(|exchange| exchange.state == state && is_in_time(exchange));
        let Some(exchange) = exchange else { return };
        let nav = match state {
            StationState::Receiver => return,
            StationState::Sender => exchange.cts,
            StationState::Onlooker => exchange.rts.or(exchange.cts),
        };
        let Some(nav) = nav else { return };
        self.busy.add(nav.nav, heard.at);
        // An onlooker in range of the receiver alone does not know the size of the packet.
        let (Some(cts), Some((_, size, data))) = (exchange.cts, exchange.data) else { return };
        let time = (heard.at - cts.at) - self.config.sifs * 2;
        let mean = if state == StationState::Sender { &mut self.sender } else { &mut self.onlooker };
        mean.on_exchange(size, time + self.config.overhead, self.config.averaging);
        if let (StationState::Sender, Some(rts), Some(backoff)) = (state, exchange.rts, exchange.backoff) {
            let RtWinfConfig { difs, sifs, .. } = self.config;
            let times = CollisionTimes { difs, sifs, backoff, rts: rts.airtime, cts: cts.airtime, data };
            self.backoff_share = backoff_share(&times);
        }
    }
}

#[cfg(test)]
mod tests;
