//! Detection of randomness in a plan.

use whimbrel_netsim::netem::NetemConfig;
use whimbrel_netsim::{LinkConfig, SpreadBy};
use whimbrel_units::Duration;

use super::{FlowPlan, HandoverPlan, Plan, TrafficPlan, TransportPlan};
use crate::scenario::handover::HandoverDuration;

impl Plan {
    /// `true` if runs with different seeds may differ in more than initial sequence numbers. Without randomness, one
    /// run suffices, and its numbers have no confidence interval.
    pub fn is_random(&self) -> bool {
        self.links.iter().any(|link| link_is_random(&link.config))
            || self.events.iter().any(|event| event.impairment.as_ref().is_some_and(|loss| loss.is_random()))
            || self.handovers.iter().any(handover_is_random)
            || self.routes.iter().any(|route| route.by == SpreadBy::Chance && route.links.len() > 1)
            || self.flows.iter().any(flow_is_random)
    }
}

fn link_is_random(config: &LinkConfig) -> bool {
    let damage_is_drawn = config.damaged > 0.0 && config.damaged < 1.0;
    config.impairment.is_random()
        // An event may bring losses later.
        || damage_is_drawn
        || config.discipline.is_random()
        || config.netem.as_ref().is_some_and(netem_is_random)
}

fn netem_is_random(config: &NetemConfig) -> bool {
    let reorders =
        config.reorder.is_some_and(|reorder| reorder.probability > 0.0 && reorder.probability < 1.0);
    !config.jitter.is_zero() || reorders
}

fn handover_is_random(handover: &HandoverPlan) -> bool {
    !handover.jitter.is_zero() || matches!(handover.duration, HandoverDuration::Recorded(_))
}

fn flow_is_random(flow: &FlowPlan) -> bool {
    let transport = match &flow.transport {
        // The phase of a coarse clock, and the times by which packets are held back, are drawn.
        TransportPlan::Tcp(tcp) => tcp.rto.tick > Duration::from_nanos(1) || !tcp.sending.jitter.is_zero(),
        // Only initial sequence numbers are.
        TransportPlan::Dccp(_) | TransportPlan::Udp => false,
    };
    transport || !flow.start_jitter.is_zero() || matches!(flow.traffic, TrafficPlan::OnOff { .. })
}

#[cfg(test)]
mod tests;
