//! A terminal's measurements of its cells, and its changes between them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::config::{NetworkConfig, TerminalConfig};
use super::radio::EPOCH;
use crate::handover::{
    A3, CellIndex, Handover, HandoverConfig, HandoverEvent, InvalidHandover, Phase, RadioLink,
    RadioLinkConfig,
};
use crate::level::{Decibels, PowerLevel};

/// Time between measurements without reports of better cells.
const PERIOD: Duration = Duration::from_millis(200);
/// Above Qout by this much, a link is looked at with the measurements only.
const SAFE: Decibels = Decibels(6.0);

/// A terminal's view of the network.
#[derive(Clone, Debug)]
pub(super) struct Terminal {
    pub(super) handover: Handover,
    a3: Option<A3>,
    link: RadioLink,
    link_config: RadioLinkConfig,
    /// The cell that has its bearers.
    pub(super) holder: CellIndex,
    planned: VecDeque<(Instant, CellIndex)>,
    next_measurement: Instant,
    /// Plans that could not be carried out.
    pub(super) refused: VecDeque<(Instant, InvalidHandover)>,
}

impl Terminal {
    pub(super) fn new(config: &NetworkConfig, own: &TerminalConfig) -> Result<Self, InvalidHandover> {
        let handover = Handover::new(config.handover, own.cell)?;
        let HandoverConfig { preparation, .. } = config.handover;
        // The command is to come at the planned time, and a preparation precedes it.
        let earlier = |at: Instant| Instant::ZERO + at.saturating_since(Instant::ZERO + preparation);
        Ok(Self {
            handover,
            a3: config.a3.map(A3::new),
            link: RadioLink::new(config.radio_link),
            link_config: config.radio_link,
            holder: own.cell,
            planned: own.planned.iter().map(|(at, target)| (earlier(*at), *target)).collect(),
            next_measurement: Instant::ZERO,
            refused: VecDeque::new(),
        })
    }

    /// The next deadline.
    pub(super) fn deadline(&self) -> Instant {
        let is_serving = self.handover.phase() == Phase::Serving;
        let report = self.a3.as_ref().and_then(A3::poll_timeout).filter(|_| is_serving);
        let failure = self.link.poll_timeout().filter(|_| self.handover.serving().is_some());
        let planned = self.planned.front().map(|(at, _)| *at);
        let others = [report, failure, planned, self.handover.poll_timeout()];
        others.into_iter().flatten().fold(self.next_measurement, Instant::min)
    }

    /// `true` if a measurement is due.
    pub(super) fn measures(&self, now: Instant) -> bool {
        self.next_measurement <= now
    }

    /// The levels and ratios of all cells.
    pub(super) fn handle_measurement(
        &mut self,
        now: Instant,
        levels: &[(CellIndex, PowerLevel)],
        ratios: &[(CellIndex, Decibels)],
    ) {
        let next_in = |period: Duration| Instant::ZERO + period * (now.as_nanos() / period.as_nanos() + 1);
        let mut next = next_in(PERIOD);
        if let Some(a3) = &mut self.a3 {
            if a3.next_measurement(now) == now
                && let Some(serving) = self.handover.serving()
            {
                a3.handle_levels(now, serving, levels);
            }
            next = a3.next_measurement(now + Duration::from_nanos(1));
        }
        if let Some(serving) = self.handover.serving() {
            let sinr = ratios[serving.0 as usize].1;
            self.link.handle_sinr(now, sinr);
            if sinr < self.link_config.out + SAFE {
                next = next.min(next_in(EPOCH));
            }
        }
        self.next_measurement = next;
    }

    /// Deadlines but for measurements. `ratios` are the cells' now.
    pub(super) fn handle_timeout(&mut self, now: Instant, ratios: &[(CellIndex, Decibels)]) {
        if self.handover.serving().is_some() && self.link.has_failed(now) {
            self.handover.handle_failure(now);
        }
        self.handover.handle_timeout(now, ratios);
        while let Some((_, target)) = self.planned.front().copied().filter(|(at, _)| *at <= now) {
            self.planned.pop_front();
            if let Err(reason) = self.handover.handle_report(now, target) {
                self.refused.push_back((now, reason));
            }
        }
        if self.handover.phase() == Phase::Serving
            && let Some(a3) = &mut self.a3
            && let Some(target) = a3.handle_timeout(now)
        {
            // A report of the serving cell, from before it served, has no effect.
            let _ = self.handover.handle_report(now, target);
        }
    }

    /// Next event of the terminal, which measures anew after a change.
    pub(super) fn poll_event(&mut self, config: &NetworkConfig) -> Option<(Instant, HandoverEvent)> {
        let (at, event) = self.handover.poll_event()?;
        if !matches!(event, HandoverEvent::Prepared { .. } | HandoverEvent::Commanded { .. }) {
            self.a3 = config.a3.map(A3::new);
            self.link = RadioLink::new(config.radio_link);
            self.next_measurement = self.next_measurement.min(match &self.a3 {
                Some(a3) => a3.next_measurement(at),
                None => Instant::FAR_FUTURE,
            });
        }
        Some((at, event))
    }
}

/// Lists that are kept between measurements.
#[derive(Clone, Default, Debug)]
pub(super) struct Readings {
    pub(super) levels: Vec<(CellIndex, PowerLevel)>,
    pub(super) ratios: Vec<(CellIndex, Decibels)>,
}
