//! The events of flows while a run proceeds.

use whimbrel_units::Instant;

use super::Run;
use crate::metrics::PacketEvent;
use crate::transport::SenderEstimate;

/// An event of a flow.
#[derive(Clone, Copy, Debug)]
pub enum FlowEvent {
    /// Of a packet with data.
    Packet(PacketEvent),
    /// The estimates of its sender, sampled.
    Estimate(Instant, SenderEstimate),
}

impl FlowEvent {
    /// Its time.
    pub fn at(&self) -> Instant {
        match self {
            Self::Packet(event) => event.at,
            Self::Estimate(at, _) => *at,
        }
    }
}

impl Run<'_> {
    /// The events of each flow of the plan since the last call, in the order of their times; none unless the
    /// plan requests them ([`whimbrel_scenario::Plan::log_packets`]), and none of background flows. Later
    /// calls return later events.
    pub fn take_flow_events(&mut self) -> Vec<Vec<FlowEvent>> {
        let estimates = std::mem::take(&mut self.estimates);
        let mut found: Vec<Vec<FlowEvent>> = vec![Vec::new(); self.parts.flows.len()];
        for (events, ends) in found.iter_mut().zip(&self.parts.flows) {
            for end in ends {
                let taken = self.simulator.agent(*end).meter().take_events();
                events.extend(taken.into_iter().map(FlowEvent::Packet));
            }
        }
        for (flow, at, estimate) in estimates {
            found[flow].push(FlowEvent::Estimate(at, estimate));
        }
        for events in &mut found {
            // Stable: a packet is sent before it arrives, also at the same time.
            events.sort_by_key(FlowEvent::at);
        }
        found
    }

    /// Samples the senders' estimates.
    pub(super) fn log_estimates(&mut self, now: Instant) {
        if !self.plan.log_packets {
            return;
        }
        for (flow, (plan, ends)) in self.plan.flows.iter().zip(&self.parts.flows).enumerate() {
            if !plan.background {
                let estimate = self.simulator.agent(ends[0]).end().estimate();
                self.estimates.push((flow, now, estimate));
            }
        }
    }
}
