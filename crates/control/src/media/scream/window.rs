//! The reference window (`updateCwnd`).

use whimbrel_units::Instant;

use super::{ScreamConfig, since};

/// Round-trip times after a congestion until growth is multiplicative in full (`kPostCongestionDelayRtts`).
const POST_CONGESTION_ROUNDS: f64 = 200.0;
/// Round-trip time below which growth is scaled down (`kSrttVirtual`).
const VIRTUAL_RTT: f64 = 0.025;
/// Least scale of growth and reaction near the inflection point.
const INFLECTION_SCALE_MIN: f64 = 0.25;
/// Least ratio of bytes in flight to the window (`kMinWindowHeadroom`).
const HEADROOM_MIN: f64 = 1.5;
/// Factor of a reaction while the media rate is already below the received rate.
const OVERSHOOT_FACTOR: f64 = 0.25;
/// Round-trip times without congestion after which the window first falls to the bytes in flight.
const LONG_UNCONGESTED_ROUNDS: f64 = 100.0;

/// The state of the path that an update answers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Congestion {
    pub(super) now: Instant,
    /// Factor of the window after a loss event.
    pub(super) loss: Option<f64>,
    /// After a mark: the factor of the window for classic ECN (`Ok`), or the share by which it shrinks for
    /// L4S (`Err`).
    pub(super) marked: Option<Result<f64, f64>>,
    /// Share by which the window shrinks after a virtual mark.
    pub(super) virtually: Option<f64>,
    /// Reactions in a round-trip time, at least 1.
    pub(super) reactions_in_rtt: f64,
    /// `true` if the media rate is below 0.8 of the received rate: a reduction is under way.
    pub(super) overshoot: bool,
    /// `true` if the queueing delay is below a quarter of its target.
    pub(super) short_queue: bool,
    /// 1 for a constant queueing delay, down to 0.
    pub(super) steadiness: f64,
    /// Smoothed round-trip time in seconds.
    pub(super) srtt: f64,
    /// Segment size in bytes.
    pub(super) segment: f64,
    /// Bytes acknowledged without a mark.
    pub(super) acknowledged: f64,
    /// Most bytes in flight, in this period of 50 ms and the one before; and in the one before.
    pub(super) in_flight: f64,
    pub(super) in_flight_before: f64,
    /// `true` if the encoder has its greatest rate.
    pub(super) at_greatest_rate: bool,
}

/// The reference window, in bytes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ReferenceWindow {
    pub(super) size: f64,
    pub(super) least: f64,
    /// Bytes in flight may exceed the window by this factor.
    pub(super) headroom: f64,
    /// `true` while the bytes in flight do not fill the window.
    pub(super) application_limited: bool,
    /// The window at the last congestion.
    inflection: f64,
    /// `true` until the window has grown since the inflection point was set.
    inflection_is_set: bool,
    last_congestion: Option<Instant>,
}

impl ReferenceWindow {
    pub(super) fn new(size: f64, headroom: f64) -> Self {
        Self {
            size,
            least: 0.0,
            headroom,
            application_limited: false,
            inflection: 1.0,
            inflection_is_set: false,
            last_congestion: None,
        }
    }

    /// Forgets the window at the last congestion.
    pub(super) fn forget_inflection(&mut self) {
        *self = Self { size: self.size, least: self.least, ..Self::new(self.size, self.headroom) };
    }

    pub(super) fn update(&mut self, state: &Congestion, config: &ScreamConfig) {
        self.headroom =
            HEADROOM_MIN + (config.window_headroom_max - HEADROOM_MIN).max(0.0) * state.steadiness;
        let since_congestion = self.last_congestion.map(|at| since(state.now, at));
        let mut post_congestion = since_congestion
            .map_or(1.0, |time| (time / (POST_CONGESTION_ROUNDS * state.srtt)).clamp(0.0, 1.0));
        let distance = 8.0 * (self.size - self.inflection) / self.inflection;
        let inflection_scale = (distance * distance).clamp(0.1, 1.0);

        if state.loss.is_some() || state.marked.is_some() || state.virtually.is_some() {
            if !self.inflection_is_set {
                (self.inflection, self.inflection_is_set) = (self.size, true);
            }
            self.shrink(state, inflection_scale, since_congestion);
            self.last_congestion = Some(state.now);
            post_congestion = 0.0;
        }

        let ratio = self.size / state.segment;
        let mut increment = state.acknowledged / ratio
            * inflection_scale.max(INFLECTION_SCALE_MIN)
            * (state.srtt / VIRTUAL_RTT).min(1.0)
            * state.steadiness.clamp(0.1, 1.0);
        increment *= 1.0 + config.multiplicative_increase * ratio * post_congestion * inflection_scale;
        let allowed = state.segment + state.in_flight * config.in_flight_headroom;
        self.application_limited = allowed < self.size;
        let grown = self.size + increment;
        if grown <= allowed && !state.at_greatest_rate && increment > 0.0 {
            self.size = grown;
            self.inflection_is_set = false;
        }
        self.size = self.size.max(self.least);
    }

    fn shrink(&mut self, state: &Congestion, inflection_scale: f64, since_congestion: Option<f64>) {
        let overshoot = if state.overshoot { OVERSHOOT_FACTOR } else { 1.0 };
        if let Some(beta) = state.loss {
            self.size *= beta;
        } else if let Some(Ok(beta)) = state.marked {
            self.size *= beta;
        } else if let Some(Err(share)) = state.marked {
            let mut share = share * overshoot / state.reactions_in_rtt;
            if state.short_queue {
                // The scales of growth, so that the balance of growth and reaction stays.
                share *= inflection_scale.max(INFLECTION_SCALE_MIN) * state.steadiness.clamp(0.25, 1.0);
            }
            let long = LONG_UNCONGESTED_ROUNDS * state.srtt.max(VIRTUAL_RTT);
            if since_congestion.is_none_or(|time| time > long) && state.in_flight_before > 0.0 {
                self.size = self.size.min(state.in_flight_before);
            }
            self.size *= 1.0 - share;
        } else if let Some(share) = state.virtually {
            self.size *= 1.0 - share * overshoot / state.reactions_in_rtt;
        }
        self.size = self.size.max(self.least);
    }
}
