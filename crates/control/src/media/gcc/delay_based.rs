//! The delay-based estimate: groups of packets, the trend of their delay, the detector and the rate.

use whimbrel_units::{DataRate, Duration, Instant};

use super::DelayConfig;
use super::aimd::Aimd;
use super::inter_arrival::InterArrival;
use super::overuse::{OveruseDetector, Usage};
use super::trendline::Trendline;
use crate::media::PacketReport;

/// Time without reports after which the detector begins again.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Outcome of a report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct DelayOutcome {
    /// The new rate; `None` if it was not updated.
    pub(super) rate: Option<DataRate>,
    /// `true` if a probe measured the rate.
    pub(super) is_probe: bool,
    /// `true` if a queue has drained.
    pub(super) recovered: bool,
}

/// The delay-based estimator.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct DelayBased {
    config: DelayConfig,
    groups: InterArrival,
    trendline: Trendline,
    detector: OveruseDetector,
    aimd: Aimd,
    reported: Option<Instant>,
}

impl DelayBased {
    pub(super) fn new(config: DelayConfig) -> Self {
        Self {
            groups: InterArrival::new(config.group_length),
            trendline: Trendline::new(config.window, config.smoothing),
            detector: OveruseDetector::new(&config),
            aimd: Aimd::new(config.beta, config.initial_rate, config.initial_rtt),
            reported: None,
            config,
        }
    }

    pub(super) const fn aimd(&mut self) -> &mut Aimd {
        &mut self.aimd
    }

    /// The estimate.
    pub(super) const fn rate(&self) -> DataRate {
        self.aimd.rate()
    }

    pub(super) const fn usage(&self) -> Usage {
        self.detector.usage()
    }

    /// Processes the packets that arrived, in the order of arrival.
    pub(super) fn process(
        &mut self,
        arrived: &[PacketReport],
        acknowledged: Option<DataRate>,
        probed: Option<DataRate>,
        now: Instant,
    ) -> DelayOutcome {
        let mut recovered = false;
        let mut before = self.detector.usage();
        for packet in arrived {
            self.record(packet, now);
            let usage = self.detector.usage();
            recovered |= before == Usage::Under && usage == Usage::Normal;
            before = usage;
        }
        if arrived.is_empty() {
            return DelayOutcome { rate: None, is_probe: false, recovered: false };
        }
        if self.detector.usage() == Usage::Over {
            let rate = self.back_off(acknowledged, now);
            return DelayOutcome { rate, is_probe: false, recovered: false };
        }
        if let Some(probed) = probed {
            self.aimd.set_rate(probed, now);
            return DelayOutcome { rate: Some(self.aimd.rate()), is_probe: true, recovered: false };
        }
        DelayOutcome { rate: self.update(acknowledged, now), is_probe: false, recovered }
    }

    fn record(&mut self, packet: &PacketReport, now: Instant) {
        if self.reported.is_none_or(|reported| now.saturating_since(reported) > TIMEOUT) {
            self.groups = InterArrival::new(self.config.group_length);
            self.trendline = Trendline::new(self.config.window, self.config.smoothing);
            self.detector = OveruseDetector::new(&self.config);
        }
        self.reported = Some(now);
        let Some(arrival) = packet.arrival() else { return };
        if let Some(deltas) = self.groups.record(packet.sent.sent_at, arrival, now) {
            let trend = self.trendline.update(deltas, arrival);
            self.detector.detect(trend, self.trendline.groups(), deltas.sent, arrival);
        }
    }

    fn back_off(&mut self, acknowledged: Option<DataRate>, now: Instant) -> Option<DataRate> {
        match acknowledged {
            Some(rate) => self.aimd.may_decrease(now, rate).then(|| self.update(acknowledged, now))?,
            // Overuse before any rate is acknowledged: half, each 200 ms.
            None => self.aimd.may_halve(now).then(|| {
                let half = self.aimd.rate() / 2.0;
                self.aimd.set_rate(half, now);
                self.aimd.rate()
            }),
        }
    }

    fn update(&mut self, acknowledged: Option<DataRate>, now: Instant) -> Option<DataRate> {
        let rate = self.aimd.update(self.detector.usage(), acknowledged, now);
        self.aimd.is_initialized().then_some(rate)
    }
}

#[cfg(test)]
mod tests;
