//! Detection of randomness in a plan.

use whimbrel_netsim::netem::NetemConfig;
use whimbrel_netsim::{LinkConfig, SpreadBy};

use super::{EventPlan, FlowPlan, HandoverPlan, Plan, TrafficPlan};
use crate::TransportPlan;
use crate::handover::HandoverDuration;

impl<P: TransportPlan> Plan<P> {
    /// `true` if runs with different seeds may differ in more than initial sequence numbers. Without
    /// randomness, one run suffices, and its numbers have no confidence interval.
    pub fn is_random(&self) -> bool {
        self.links.iter().any(|link| link.random_start.is_used() || link_is_random(&link.config))
            || self.events.iter().any(event_is_random)
            || self.handovers.iter().any(handover_is_random)
            || self.routes.iter().any(|route| route.by == SpreadBy::Chance && route.links.len() > 1)
            || self.flows.iter().any(flow_is_random)
            // Backoffs of 802.11 stations are drawn.
            || !self.wifi.is_empty()
            // Shadows, fades and errors of blocks are drawn.
            || !self.cellular.is_empty()
    }
}

fn event_is_random(event: &EventPlan) -> bool {
    event.losses_start_anywhere || event.impairment.as_ref().is_some_and(|loss| loss.is_random())
}

fn link_is_random(config: &LinkConfig) -> bool {
    let damage_is_drawn = config.damaged > 0.0 && config.damaged < 1.0;
    config.impairment.is_random()
        // An event may bring losses later.
        || damage_is_drawn
        || config.discipline.is_random()
        || config.netem.as_ref().is_some_and(netem_is_random)
        || config.delay_variation.is_some()
}

fn netem_is_random(config: &NetemConfig) -> bool {
    let reorders =
        config.reorder.is_some_and(|reorder| reorder.probability > 0.0 && reorder.probability < 1.0);
    let duplicates =
        config.duplicate.is_some_and(|duplicate| duplicate.probability > 0.0 && duplicate.probability < 1.0);
    !config.jitter.is_zero() || reorders || duplicates
}

fn handover_is_random(handover: &HandoverPlan) -> bool {
    !handover.jitter.is_zero() || matches!(handover.duration, HandoverDuration::Recorded(_))
}

fn flow_is_random<P: TransportPlan>(flow: &FlowPlan<P>) -> bool {
    flow.transport.is_random()
        || !flow.start.1.is_zero()
        || match flow.traffic {
            TrafficPlan::OnOff { .. } | TrafficPlan::Downloads { .. } | TrafficPlan::Poisson { .. } => true,
            TrafficPlan::Cbr { jitter, .. } => !jitter.is_zero(),
            _ => false,
        }
}
